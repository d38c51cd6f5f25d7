"""`options.json`: the shape of a biLM, in bilm-tf's schema."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.text.chars import CHARACTERS, WORD_LENGTH


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
    def from_file(cls, path: Path) -> "BiLMOptions":
        """Read and check an `options.json`. Raises UserError with the file and the wrong key."""
        try:
            return cls.from_json(json.loads(path.read_text(encoding="utf-8-sig")))
        except FileNotFoundError:
            raise UserError(f"{path}: no such file. Put the options.json of the biLM next to its weights.") from None
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise UserError(f"{path}: not valid JSON ({error})") from None
        except KeyError as error:
            raise UserError(f"{path}: the key {error} is missing. Give the options.json of a biLM.") from None
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}: {error}") from None

    @classmethod
    def from_json(cls, options: dict[str, Any]) -> "BiLMOptions":
        """From the published schema. Raises KeyError or ValueError if this encoder cannot compute it."""
        cnn, lstm = options["char_cnn"], options["lstm"]
        required = {
            "char_cnn.n_characters": (cnn["n_characters"], CHARACTERS),
            "char_cnn.max_characters_per_token": (cnn["max_characters_per_token"], WORD_LENGTH),
            "lstm.use_skip_connections": (lstm["use_skip_connections"], True),
        }
        for key, (found, wanted) in required.items():
            if found != wanted:
                hint = " (261 is for training; set 262)" if found == CHARACTERS - 1 else ""
                raise ValueError(f"{key} is {found}, expected {wanted}{hint}")
        if cnn["activation"] not in ("relu", "tanh"):
            raise ValueError(f"char_cnn.activation is {cnn['activation']!r}. Choose relu or tanh.")
        for key in ("dim", "projection_dim", "n_layers"):
            if int(lstm[key]) < 1:
                raise ValueError(f"lstm.{key} is {lstm[key]}. Give an integer from 1 on.")
        return cls(
            filters=tuple((int(width), int(number)) for width, number in cnn["filters"]),
            character_dim=int(cnn["embedding"]["dim"]),
            highways=int(cnn["n_highway"]),
            activation=cnn["activation"],
            lstm_dim=int(lstm["dim"]),
            projection_dim=int(lstm["projection_dim"]),
            layers=int(lstm["n_layers"]),
            cell_clip=float(lstm["cell_clip"]),
            projection_clip=float(lstm["proj_clip"]),
        )
