"""Imported by the fork server of a sweep with an encoder of Hugging Face.

An error here is left to those runs: in the server it would end every run.
"""

from contextlib import suppress

with suppress(Exception):
    import transformers.modeling_utils
    import transformers.models.auto.modeling_auto
    import transformers.models.auto.tokenization_auto  # noqa: F401
