"""`options.json`: the shape of a biLM, in bilm-tf's schema."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reader
from elmo_bench.text.chars import CHARACTERS, WORD_LENGTH

MAX_BYTES = 2**20
MOST = 2**16  # of a size; the largest published model has 4096
DEEPEST = 64  # layers


@dataclass(frozen=True, kw_only=True)
class BiLMOptions:
    """The numbers that shape the network (Peters et al. 2018, section 3.4; bilm-tf)."""

    filters: tuple[tuple[int, int], ...]  # (width in characters, number of filters)
    character_dim: int
    highways: int
    activation: str  # relu or tanh, after the convolutions
    lstm_dim: int  # H, cell size per direction
    projection_dim: int  # P, output size per direction
    layers: int
    cell_clip: float
    projection_clip: float

    def to_json(self) -> dict[str, Any]:
        """The published schema."""
        return {
            "lstm": {
                "use_skip_connections": True,
                "projection_dim": self.projection_dim,
                "cell_clip": self.cell_clip,
                "proj_clip": self.projection_clip,
                "dim": self.lstm_dim,
                "n_layers": self.layers,
            },
            "char_cnn": {
                "activation": self.activation,
                "filters": [list(pair) for pair in self.filters],
                "n_highway": self.highways,
                "embedding": {"dim": self.character_dim},
                "n_characters": CHARACTERS,
                "max_characters_per_token": WORD_LENGTH,
            },
        }

    @classmethod
    @reader
    def from_file(cls, path: Path) -> "BiLMOptions":
        """Read and check an `options.json`. Raises UserError with the file and the wrong key."""
        content = read_json(path, max_bytes=MAX_BYTES)
        try:
            return cls.from_json(content)
        except KeyError as error:
            raise UserError(f"{path}: the key {error} is missing. Give the options.json of a biLM.") from None
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}: {error}") from None

    @classmethod
    def from_json(cls, options: dict[str, Any]) -> "BiLMOptions":
        """From the published schema. Raises KeyError or ValueError if this encoder cannot compute it."""
        cnn, lstm = options["char_cnn"], options["lstm"]
        if "projection_dim" not in lstm or lstm["projection_dim"] is None:
            raise ValueError("no lstm.projection_dim: LSTMs without a projection are not read. Train others with one.")
        required = {
            "char_cnn.n_characters": (cnn["n_characters"], CHARACTERS),
            "char_cnn.max_characters_per_token": (cnn["max_characters_per_token"], WORD_LENGTH),
            "lstm.use_skip_connections": (lstm["use_skip_connections"], True),
        }
        for key, (given, wanted) in required.items():
            if given != wanted:
                hint = " (261 is for training; set 262)" if given == CHARACTERS - 1 else ""
                raise ValueError(f"{key} is {given!r:.60}, expected {wanted}{hint}")
        if cnn["activation"] not in ("relu", "tanh"):
            raise ValueError(f"char_cnn.activation is {cnn['activation']!r:.60}. Choose relu or tanh.")
        if not 1 <= len(cnn["filters"]) <= WORD_LENGTH:
            raise ValueError(f"char_cnn.filters has {len(cnn['filters'])} pairs. Give 1 to {WORD_LENGTH}.")
        return cls(
            filters=tuple(
                (_whole("char_cnn.filters", width, WORD_LENGTH), _whole("char_cnn.filters", number, MOST))
                for width, number in cnn["filters"]
            ),
            character_dim=_whole("char_cnn.embedding.dim", cnn["embedding"]["dim"], MOST),
            highways=_whole("char_cnn.n_highway", cnn["n_highway"], DEEPEST, least=0),
            activation=cnn["activation"],
            lstm_dim=_whole("lstm.dim", lstm["dim"], MOST),
            projection_dim=_whole("lstm.projection_dim", lstm["projection_dim"], MOST),
            layers=_whole("lstm.n_layers", lstm["n_layers"], DEEPEST),
            cell_clip=_clip("lstm.cell_clip", lstm["cell_clip"]),
            projection_clip=_clip("lstm.proj_clip", lstm["proj_clip"]),
        )


def _whole(key: str, value: Any, most: int, *, least: int = 1) -> int:
    """A size within bounds, so that no file makes the network too large to be built. Raises ValueError."""
    if type(value) not in (int, float) or not least <= value <= most or value != int(value):
        raise ValueError(f"{key} is {value!r:.60}. Give an integer from {least} to {most:,}.")
    return int(value)


def _clip(key: str, value: Any) -> float:
    if type(value) not in (int, float) or not value > 0:
        raise ValueError(f"{key} is {value!r:.60}. Give a number above 0.")
    return float(value)
