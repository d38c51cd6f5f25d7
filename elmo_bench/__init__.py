"""elmo-bench: what a frozen encoder is worth on six classic tasks."""
