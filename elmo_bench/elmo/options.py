"""`options.json`: the shape of a biLM, in bilm-tf's schema."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reader
from elmo_bench.text.chars import CHARACTERS, WORD_LENGTH

MAX_BYTES = 2**20
DEEPEST = 64  # layers
# Bounds, so that no file makes the network too large to be built.
MOST = 2**30  # numbers of all its weights; the largest published model has 94 million
Size = Annotated[int, Field(ge=1, le=2**16)]  # the largest published model has 4096
Width = Annotated[int, Field(ge=1, le=WORD_LENGTH)]
Filter = tuple[Width, Size]  # width in characters, number of filters
Filters = Annotated[
    tuple[Filter, ...],
    Field(min_length=1, max_length=WORD_LENGTH),
]
Clip = Annotated[float, Field(gt=0)]
KEYS = {  # the keys of the fields in the published schema
    "filters": "char_cnn.filters",
    "character_dim": "char_cnn.embedding.dim",
    "highways": "char_cnn.n_highway",
    "activation": "char_cnn.activation",
    "lstm_dim": "lstm.dim",
    "projection_dim": "lstm.projection_dim",
    "layers": "lstm.n_layers",
    "cell_clip": "lstm.cell_clip",
    "projection_clip": "lstm.proj_clip",
}


@dataclass(frozen=True, kw_only=True, config=ConfigDict(strict=True))
class BiLMOptions:
    """The numbers that shape the network.

    Source: Peters et al. 2018, section 3.4; bilm-tf.
    """

    filters: Filters
    character_dim: Size
    highways: Annotated[int, Field(ge=0, le=DEEPEST)]
    activation: Literal["relu", "tanh"]  # after the convolutions
    lstm_dim: Size  # H, cell size per direction
    projection_dim: Size  # P, output size per direction
    layers: Annotated[int, Field(ge=1, le=DEEPEST)]
    cell_clip: Clip
    projection_clip: Clip

    @property
    def numbers(self) -> int:
        """About how many numbers the network has, counting its matrices."""
        features = sum(count for _, count in self.filters)
        windows = sum(width * count for width, count in self.filters)
        characters = self.character_dim * (CHARACTERS + windows)
        highways = 2 * self.highways * features * features
        projection = features * self.projection_dim
        # Of each direction: the gates' weight 2P(4H), and the projection HP.
        lstm = 2 * 9 * self.lstm_dim * self.projection_dim
        return characters + highways + projection + self.layers * lstm

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
        """Read and check an `options.json`.

        Raises UserError with the file and the wrong key.
        """
        return cls.from_json(read_json(path, max_bytes=MAX_BYTES), path)

    @classmethod
    def from_json(cls, options: Any, where: Path | str) -> "BiLMOptions":
        """From the published schema.

        Raises UserError, which begins with `where`, if this encoder cannot compute it.
        """
        try:
            _check_fixed(options)
            shape = cls._from_published(options)
            _check_size(shape)
            return shape
        except ValidationError as error:
            wrong = error.errors()[0]
            field, *inside = map(str, wrong["loc"])
            name = ".".join([KEYS[field], *inside])
            raise UserError(
                f"{where}: {name} is {wrong['input']!r:.60}. {wrong['msg']}."
            ) from None
        except KeyError as error:
            raise UserError(
                f"{where}: the key {error} is missing. Give the options.json of a biLM."
            ) from None
        except (TypeError, ValueError) as error:
            raise UserError(f"{where}: {error}") from None

    @classmethod
    def _from_published(cls, options: Any) -> "BiLMOptions":
        """Raises ValidationError, or KeyError or TypeError if a key is missing."""
        cnn = options["char_cnn"]
        lstm = options["lstm"]
        return cls(
            filters=tuple(map(tuple, cnn["filters"])),
            character_dim=cnn["embedding"]["dim"],
            highways=cnn["n_highway"],
            activation=cnn["activation"],
            lstm_dim=lstm["dim"],
            projection_dim=lstm["projection_dim"],
            layers=lstm["n_layers"],
            cell_clip=lstm["cell_clip"],
            projection_clip=lstm["proj_clip"],
        )


def _check_fixed(options: Any) -> None:
    """Raise ValueError for a setting that has one value here, KeyError if it lacks."""
    cnn = options["char_cnn"]
    lstm = options["lstm"]
    length = cnn["max_characters_per_token"]
    settings = (
        ("char_cnn.n_characters", cnn["n_characters"], CHARACTERS),
        ("char_cnn.max_characters_per_token", length, WORD_LENGTH),
        ("lstm.use_skip_connections", lstm["use_skip_connections"], True),
    )
    for key, value, wanted in settings:
        if value != wanted:
            training = value == CHARACTERS - 1
            hint = " (261 is for training; set 262)" if training else ""
            raise ValueError(f"{key} is {value!r:.60}, expected {wanted}{hint}")


def _check_size(shape: BiLMOptions) -> None:
    if shape.numbers > MOST:
        raise ValueError(
            f"a network of {shape.numbers:,} numbers, and at most {MOST:,} are read"
        )
