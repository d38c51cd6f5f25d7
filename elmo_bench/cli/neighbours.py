"""`elmo-bench neighbours bank --in "the river bank ." text.txt`.

It lists the tokens nearest to a word in context.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.cli import parser
from elmo_bench.elmo.pretrained import locate
from elmo_bench.pretraining.encode import Corpus, shard_files
from elmo_bench.spec.options import check_once
from elmo_bench.spec.task_files import no_vectors, refuse_floor
from elmo_bench.text.columns import tokens_of, unescaped

if TYPE_CHECKING:
    from elmo_bench.encoders.nearest import Encode, Near
    from elmo_bench.spec.run_setup import Setup
    from elmo_bench.spec.run_spec import RunSpec

AROUND = 8  # words shown on each side
EPILOG = """Any encoder of conf/encoder, with options as `run` takes them:
encoder=glove, encoder=elmo mix=first, encoder=hf encoder.name=FOLDER. An encoder with
static vectors and layers shows its layers. The text is a stream: memory does not grow
with it (static vectors read it twice, and keep its distinct words)."""
_OPTION = re.compile(r"\+{0,2}[\w.]+=")
Words = Callable[[], set[str]]


class _Reader(NamedTuple):
    """An encoder to search with."""

    encode: "Encode"  # vectors of sentences
    title: str
    is_static: bool  # whether a word has one vector in any sentence


def main(arguments: list[str]) -> int:
    """Print the nearest tokens by cosine, one a line, between the words around them.

    Raises UserError.
    """
    options = _parse(arguments)
    run_options, files = _options_and_files(options.texts)
    sentence = tokens_of(options.sentence)
    word = unescaped(options.word)
    _check(options, files, sentence, word)
    corpus = Corpus(tuple(shard_files(files)))
    spec, setup = _described(run_options)

    # Imported here, so that --help and wrong options do not wait for torch.
    from elmo_bench.base.machine import choose_threads, use_threads
    from elmo_bench.encoders.nearest import nearest

    def texts() -> Iterator[list[str]]:
        return chain.from_iterable(map(corpus.sentences, corpus.files))

    def all_words() -> set[str]:
        return {*sentence, *chain.from_iterable(texts())}

    reader = _reader(spec, setup, options.layer, all_words)
    threads = choose_threads(None, "neighbours")
    with progress("neighbours") as meter, use_threads(threads):
        neighbours = nearest(
            reader.encode,
            texts(),
            sentence,
            sentence.index(word),
            show=options.show,
            only=word if options.same_word else None,
            each_word_once=reader.is_static,
            seen=lambda count: meter.advance(steps=count),
        )
    print(f"{options.sentence}    ({reader.title})")
    _print(neighbours, same_word=options.same_word)
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("neighbours", EPILOG)
    add = command.add_argument
    add(
        "word",
        help="a token of the sentence; if it occurs twice, the first one is meant",
    )
    add(
        "--in",
        dest="sentence",
        required=True,
        metavar="SENTENCE",
        help="tokens, separated by spaces",
    )
    add(
        "texts",
        nargs="+",
        metavar="TEXT",
        help="files or patterns: .txt, .gz, .xz, a tokenised sentence a line; "
        "and encoder=NAME (elmo_only)",
    )
    add(
        "--layer",
        type=int,
        help="from 0, the lowest (default: the top layer that a head sees)",
    )
    add("--show", type=int, default=10, help="how many (default: %(default)s)")
    add(
        "--same-word",
        action="store_true",
        help="only occurrences of WORD, in any case: much faster",
    )
    return command.parse_intermixed_args(arguments)


def _options_and_files(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(`key=value` options of a run, files): an existing file is no option."""
    options = []
    files = []
    for word in words:
        if _OPTION.match(word) and not Path(word).exists():
            options.append(word)
        else:
            files.append(word)
    return options, files


def _check(
    options: argparse.Namespace,
    files: Sequence[str],
    sentence: Sequence[str],
    word: str,
) -> None:
    """Raise UserError for options that need no encoder to be refused."""
    if not files:
        raise UserError(
            "no text to search. Give a file, one tokenised sentence a line."
        )
    if options.show < 1:
        raise UserError(f"--show {options.show}: too few. Give 1 or more.")
    if word not in sentence:
        raise UserError(
            f"--in: no token of the sentence is {options.word!a}. "
            "Put spaces between its tokens."
        )


def _print(neighbours: "Sequence[Near]", *, same_word: bool) -> None:
    for near in neighbours:
        left = list(near.sentence[: near.position])
        right = list(near.sentence[near.position + 1 :])
        before = left[-AROUND:]
        after = right[:AROUND]
        if len(left) > AROUND:
            before.insert(0, "…")
        if len(right) > AROUND:
            after.append("…")
        line = f"{' '.join(before)} [{near.word}] {' '.join(after)}"
        print(f"{near.cosine:6.3f}  {line}".rstrip())
    if not neighbours and same_word:
        print("nothing found: no other sentence of the text has this word")
    elif not neighbours:
        print(
            "nothing found: the word, or every token of the text to compare with, "
            "has no vector"
        )


def _described(options: Sequence[str]) -> "tuple[RunSpec, Setup]":
    """A run with the encoder of these options. Raises UserError, also for files of a
    biLM that are missing."""
    from elmo_bench.spec.run_spec import described

    check_once(options, single=True)
    refuse_floor(options)
    is_named = any(option.startswith("encoder=") for option in options)
    usual = [] if is_named else ["encoder=elmo_only"]
    spec, setup = described(*usual, *options)
    for part in setup.encoders.values():
        if part["kind"] == "elmo":
            locate(str(part["weights"]))
    return spec, setup


def _reader(
    spec: "RunSpec", setup: "Setup", layer: int | None, words: Words
) -> _Reader:
    """The encoder of a run, at this layer. Raises UserError.

    words: gives every word that will be read; static vectors, and encoders that read
    some, need to know them.
    """
    if not setup.encoders:
        return _static_reader(spec, setup, layer, words)
    if len(setup.encoders) > 1:
        parts = ", ".join(setup.encoders)
        raise UserError(
            f"encoder={spec.encoder}: a stack of {parts}, each with layers. "
            "Choose one of them."
        )
    return _layer_reader(spec, setup, layer, words)


def _static_reader(
    spec: "RunSpec", setup: "Setup", layer: int | None, words: Words
) -> _Reader:
    from elmo_bench.encoders.nearest import static_encode
    from elmo_bench.encoders.static import load_static

    if spec.settings["encoder.words"] != "static":
        raise no_vectors(spec.encoder)
    if layer is not None:
        where = f"encoder={spec.encoder}"
        raise UserError(f"--layer {layer}: {where} has no layers. Remove the option.")
    table = load_static(str(setup.vectors), words())
    title = f"{spec.encoder}, {setup.vectors}"
    return _Reader(static_encode(table), title, is_static=True)


def _layer_reader(
    spec: "RunSpec", setup: "Setup", layer: int | None, words: Words
) -> _Reader:
    from elmo_bench.spec.names import load_encoder

    [options] = setup.encoders.values()
    encoder: Any = load_encoder(**options)
    expect = getattr(encoder, "expect", None)
    if expect:
        expect(words())
    chosen = _usual_layer(spec, encoder.layers) if layer is None else layer
    if chosen not in range(encoder.layers):
        option = f"mix.layer={chosen}" if layer is None else f"--layer {layer}"
        raise UserError(
            f"{option}: encoder={spec.encoder} has none. "
            f"Give a number from 0 to {encoder.layers - 1}."
        )

    def encode(sentences: Any) -> Any:
        return [layers[chosen].cpu() for layers in encoder.encode(sentences)]

    return _Reader(encode, f"{spec.encoder}, layer {chosen}", is_static=False)


def _usual_layer(spec: "RunSpec", layers: int) -> Any:
    """The layer that a head sees, of a mix of several the top one."""
    mix = spec.settings.get("mix")
    if mix == "first":
        return 0
    if mix == "layer":
        return spec.settings.get("mix.layer")
    return layers - 1
