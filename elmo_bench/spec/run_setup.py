"""`Setup`: how and where a run is made."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import redacted
from elmo_bench.spec.settings import parts_of


@dataclass(frozen=True)
class Setup:
    """How and where a run is made: all that it needs besides its spec.

    The seed changes a score; whatever else does is in the spec's settings or contents.
    """

    seed: int
    # Arguments of the task's `Data`: the sources of every suite, and options.
    data: dict[str, Any]
    data_root: Path | None  # the user's data folder
    # Arguments of `load_encoder` by part of a stack, with paths and device.
    encoders: dict[str, dict[str, Any]]
    vectors: str | None  # name or path of the static vectors
    suite_vectors: str | None  # of the suite's, on which slices depend
    device: str  # cpu or cuda
    threads: int | None
    store: dict[str, Any]  # arguments of `LayerStore`
    logger: dict[str, Any]  # a node of conf/logger
    experiment: str | None  # groups runs in logs
    ledger: Path
    overwrite: bool  # run again where a record exists
    predictions: bool  # keep them next to the record
    refit: bool = False  # keep a head that was trained on train and dev

    @classmethod
    def of(cls, config: DictConfig) -> Self:
        """The setup in a composed config.

        Raises UserError for a stack of anything but named encoders.
        """
        plain: Any = OmegaConf.to_container(config, resolve=True)
        root = plain["data"]["root"]
        trainer = plain["trainer"]
        return cls(
            seed=plain["seed"],
            data=plain["task"]["data"],
            data_root=Path(root).expanduser() if root else None,
            encoders=parts_of(plain["encoder"]["contextual"]),
            vectors=plain["encoder"]["vectors"],
            suite_vectors=plain["suite"].get("vectors"),
            device=trainer["device"],
            threads=trainer["threads"],
            store=plain["store"],
            logger=plain["logger"],
            experiment=plain["experiment"],
            ledger=Path(plain["ledger"]).expanduser(),
            overwrite=bool(plain["overwrite"]),
            predictions=bool(plain["predictions"]),
            refit=bool(plain["refit"]),
        )

    @property
    def locations(self) -> dict[str, Any]:
        """Where data, weights and vectors are.

        A spec knows the last component of a path alone.
        """
        return {
            "data": self.data,
            "root": str(self.data_root or ""),
            "encoders": self.encoders,
            "vectors": self.vectors,
        }

    @property
    def source(self) -> str:
        """The last three parts of the paths of weights and vectors.

        Empty if these are names. It is not part of a spec.
        """
        files = [options.get("weights") for options in self.encoders.values()]
        files.append(self.vectors)
        ends = []
        for file in files:
            path = str(file or "")
            if "/" in path:
                parts = redacted(path).strip("/").split("/")
                ends.append("/".join(parts[-3:]))
        return " ".join(ends)
