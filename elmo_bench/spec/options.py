"""Reading `key=value` options."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import OverrideParseException

from elmo_bench.base.errors import UserError

LONGEST, LONGEST_KEY = 10_000, 200  # characters of an option: parsing takes time, and a group is a folder's name
_PATH = re.compile(r"[^'\"\\,\[\]{}$]+")  # no list, no interpolation, one value


def parse(options: Sequence[str]) -> list[Override]:
    """Hydra's view of every option. Raises UserError for one that it cannot read."""
    parsed: list[Override] = []
    for given in options:
        key, _, value = given.partition("=")
        if len(given) > LONGEST or len(key) > LONGEST_KEY:
            raise UserError(f"an option of {len(given):,} characters: {given[:40]}…. Give a shorter one.")
        found = _overrides(given)
        if not found and _PATH.fullmatch(value):  # of letters or signs that Hydra wants in quotes
            found = _overrides(f"{key}='{os.path.expanduser(value)}'")  # noqa: PTH111  # ~ after = is not the shell's
        if not found:
            quoted = "a value with , [ ] { } or quotes as \"key='a,b'\""
            raise UserError(f"'{given}' is not a valid option: write key=value, and {quoted}")
        parsed += found
    return parsed


def _overrides(given: str) -> list[Override]:
    """What Hydra makes of an option; nothing if it cannot read it."""
    with suppress(OverrideParseException):
        return [each for each in OverridesParser.create().parse_overrides([given]) if each.key_or_group]
    return []
