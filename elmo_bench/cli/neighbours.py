"""`elmo-bench neighbours WORD --in "sentence" text.txt`: the tokens of a text that a frozen layer takes for nearest."""

import argparse
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress

if TYPE_CHECKING:
    from elmo_bench.encoders.nearest import Encode

AROUND = 8  # words shown on each side
_OPTION = re.compile(r"(encoder|suite|trainer)(\.[\w.]+)?=")
EPILOG = """\
Any encoder of conf/encoder, with its options as `run` takes them: encoder=glove, encoder=hf encoder.name=FOLDER. An
encoder with static vectors and layers shows its layers. The text is a stream: memory does not grow with it
(static vectors read it twice, and keep its distinct words)."""


def main(arguments: list[str]) -> int:
    """Print the nearest tokens, one a line, between the words around them. Raises UserError."""
    options = _parse(arguments)
    files = [each for each in options.texts if not _OPTION.match(each)]
    sentence = options.sentence.split()
    if not files:
        raise UserError("no text to search. Give a file, one tokenised sentence a line.")
    if options.show < 1:
        raise UserError(f"--show {options.show}: too few. Give 1 or more.")
    if options.word not in sentence:
        raise UserError(f"--in: no token of the sentence is {options.word!a}. Put spaces between its tokens.")

    # Imported here, so that --help and wrong options do not wait for torch.
    from elmo_bench.base.machine import choose_threads, use_threads
    from elmo_bench.encoders.nearest import nearest
    from elmo_bench.pretraining.encode import Corpus, shard_files

    corpus = Corpus(tuple(shard_files(files)))

    def words() -> set[str]:
        """Every word of the text and the sentence."""
        every = (word for file in corpus.files for words in corpus.sentences(file) for word in words)
        return {*sentence, *every}

    encode, said, static = _encoder([each for each in options.texts if _OPTION.match(each)], options.layer, words)
    with progress("neighbours") as meter, use_threads(choose_threads(None, "neighbours")):
        texts: Iterator[list[str]] = chain.from_iterable(corpus.sentences(file) for file in corpus.files)
        near_ones = nearest(
            encode,
            texts,
            sentence,
            sentence.index(options.word),
            show=options.show,
            only=options.word if options.same_word else None,
            each_word_once=static,
            seen=lambda count: meter.advance(steps=count),
        )
    print(f"{options.sentence}    ({said})")
    for near in near_ones:
        left, right = near.sentence[: near.position], near.sentence[near.position + 1 :]
        before = " ".join((["…"] if len(left) > AROUND else []) + list(left[-AROUND:]))
        after = " ".join(list(right[:AROUND]) + (["…"] if len(right) > AROUND else []))
        print(f"{near.cosine:6.3f}  {before} [{near.sentence[near.position]}] {after}".rstrip())
    if not near_ones:
        print("nothing found: no token to compare with has a vector")
    return 0


def _encoder(given: list[str], layer: int | None, words: Callable[[], set[str]]) -> "tuple[Encode, str, bool]":
    """(vectors of sentences, what they are, whether a word has one vector in any sentence). Raises UserError.

    words: gives every word that will be read; only static vectors need to know them.
    """
    from omegaconf import OmegaConf

    from elmo_bench.encoders.nearest import static_encode
    from elmo_bench.encoders.static import load_static
    from elmo_bench.spec.config import compose
    from elmo_bench.spec.names import load_encoder
    from elmo_bench.spec.settings import parts_of

    config = compose("config", given or ["encoder=elmo_only"])
    name = config.encoder.name
    if config.encoder.contextual is None:
        if config.encoder.words != "static":
            raise UserError(f"encoder={name}: has no frozen vectors. Choose another encoder.")
        if layer is not None:
            raise UserError(f"--layer {layer}: encoder={name} has no layers. Remove the option.")
        return static_encode(load_static(config.encoder.vectors, words())), f"{name}, {config.encoder.vectors}", True
    contextual: Any = OmegaConf.to_container(config.encoder.contextual, resolve=True)
    parts = parts_of(contextual)
    if len(parts) > 1:
        raise UserError(f"encoder={name}: a stack of {', '.join(parts)}, each with layers. Choose one of them.")
    [options] = parts.values()
    encoder = load_encoder(**options)
    chosen = encoder.layers - 1 if layer is None else layer
    if chosen not in range(encoder.layers):
        raise UserError(f"--layer {layer}: encoder={name} has none. Give a number from 0 to {encoder.layers - 1}.")
    encode: Callable = lambda sentences: [layers[chosen].cpu() for layers in encoder.encode(sentences)]  # noqa: E731
    return encode, f"{name}, layer {chosen}", False


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="elmo-bench neighbours",
        description="The tokens of a text whose vectors are nearest to a word's in a sentence, by cosine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("word", help="a token of the sentence; if it occurs twice, the first one is meant")
    parser.add_argument("--in", dest="sentence", required=True, metavar="SENTENCE", help="tokens, separated by spaces")
    parser.add_argument(
        "texts",
        nargs="+",
        metavar="TEXT",
        help="files or patterns: .txt, .gz, .xz, .zst, a tokenised sentence a line; and encoder=NAME (elmo_only)",
    )
    parser.add_argument("--layer", type=int, help="from 0, the lowest (default: the top layer)")
    parser.add_argument("--show", type=int, default=10, help="how many (default: %(default)s)")
    parser.add_argument("--same-word", action="store_true", help="only occurrences of WORD, in any case: much faster")
    return parser.parse_intermixed_args(arguments)
