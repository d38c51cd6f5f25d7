"""Import Lightning without what its metrics could use.

Lightning imports torchmetrics, which imports matplotlib, transformers and much of scipy
if they are installed: a third of the time until a run starts. No metric of it is used
here. Import this module before the first `import pytorch_lightning` of a process.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lightning_utilities.core import imports

UNUSED = ("matplotlib", "scipy", "transformers")


@contextmanager
def without_unused() -> Iterator[None]:
    """Lightning's own look for these packages finds none while the block runs."""
    cache_class: Any = imports.RequirementCache
    module: Any = imports
    check = cache_class._check_available
    has_package = module.package_available

    def check_available(cache: imports.RequirementCache) -> None:
        wanted = str(cache.requirement or cache.module)
        if re.split(r"[<>=~! \[]", wanted)[0] in UNUSED:
            cache.available = False
            cache.message = f"{wanted}: not looked for by elmo-bench"
        else:
            check(cache)

    def package_available(name: str) -> bool:
        return name not in UNUSED and bool(has_package(name))

    cache_class._check_available = check_available
    module.package_available = package_available
    try:
        yield
    finally:
        cache_class._check_available = check
        module.package_available = has_package


with without_unused():
    import pytorch_lightning  # noqa: F401
