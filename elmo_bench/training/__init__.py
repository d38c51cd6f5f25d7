"""Training a head: batches, the Lightning module, callbacks, optimisers, schedules and loggers by name."""
