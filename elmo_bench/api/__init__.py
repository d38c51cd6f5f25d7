"""The commands as calls from Python; the names are exported by `elmo_bench` itself."""
