"""The version, in one place: the package, the wheel and the docs read it here."""

__version__ = "0.1.0"
