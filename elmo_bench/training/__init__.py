"""Training a head.

Batches, the Lightning module, callbacks, and optimisers, schedules and loggers by name.
"""
