"""A biLM that nothing can train: no module, so out of reach of parameters(), train(), state_dict() and apply()."""

import copy
from typing import Any, Self

import torch

from elmo_bench.elmo.bilm import BiLM
from elmo_bench.elmo.character_ids import ids_of
from elmo_bench.elmo.inference import frozen_network
from elmo_bench.elmo.word_vectors import WordVectors


class FrozenBiLM:
    """The weights in float32 on the CPU, and the network that runs with them on a device.

    Copies share both; a pickle holds the weights alone.
    """

    def __init__(self, bilm: BiLM, *, precision: str):
        self.bilm, self.precision = bilm, precision
        self.to(torch.device("cpu"))

    def to(self, device: torch.device) -> None:
        """Run there from now on, with nothing remembered."""
        bilm = self.bilm
        if device.type != "cpu":  # where the network is the module itself, moved and cast
            bilm = copy.deepcopy(bilm)
        self.device = device
        self.network = frozen_network(bilm, precision=self.precision, device=str(device))
        self.vectors = WordVectors(self.network.characters, ids_of, dim=bilm.options.projection_dim, device=str(device))

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {"bilm": self.bilm, "precision": self.precision}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
