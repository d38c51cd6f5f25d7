"""ELMo of the unmodified wheel `allennlp==2.10.1`, on today's torch.

Its ELMo does not need most of the library's imports, which no longer install with it. The names in STAND_INS are
answered by empty modules, since today's have other names; everything of `allennlp` itself runs as released.
This file, and all of `benchmarks/peer`, runs in an environment of its own (see `benchmarks/README.md`).
"""

import importlib.abc
import importlib.machinery
import sys
import types
import warnings

import torch.distributed
import torch.utils.data  # noqa: F401  torch looks for dill itself: before the stand-ins are there

STAND_INS = {
    *("_jsonnet", "base58", "cached_path", "dill", "fairscale", "huggingface_hub", "lmdb", "more_itertools", "spacy"),
    *("torchvision", "tqdm", "transformers"),
}


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in STAND_INS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)

        def __getattr__(name):
            """Any name is an empty class: enough for annotations and base classes, and an error where it is used."""
            if name.startswith("__"):
                raise AttributeError(name)
            setattr(module, name, type(name, (), {}))
            return getattr(module, name)

        module.__getattr__ = __getattr__  # type: ignore[method-assign]
        return module

    def exec_module(self, module):
        if module.__name__ == "cached_path":
            module.cached_path = lambda path, **_: path  # local files only


sys.meta_path.insert(0, _StandIns())
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from allennlp.modules.elmo import Elmo, _ElmoBiLm, batch_to_ids

__all__ = ["Elmo", "_ElmoBiLm", "batch_to_ids"]
