"""`elmo-bench neighbours bank --in "the river bank ." text.txt`: the tokens nearest to a word in context."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.cli import encoder_options, parser
from elmo_bench.text.columns import tokens_of, unescaped

if TYPE_CHECKING:
    from elmo_bench.encoders.nearest import Encode

AROUND = 8  # words shown on each side
EPILOG = """Any encoder of conf/encoder, with its options as `run` takes them: encoder=glove, encoder=hf
encoder.name=FOLDER. An encoder with static vectors and layers shows its layers. The text is a stream: memory does not
grow with it (static vectors read it twice, and keep its distinct words)."""


def main(arguments: list[str]) -> int:
    """Print the nearest tokens by cosine, one a line, between the words around them. Raises UserError."""
    add = (command := parser("neighbours", EPILOG)).add_argument
    about = "files or patterns: .txt, .gz, .xz, a tokenised sentence a line; and encoder=NAME (elmo_only)"
    add("word", help="a token of the sentence; if it occurs twice, the first one is meant")
    add("--in", dest="sentence", required=True, metavar="SENTENCE", help="tokens, separated by spaces")
    add("texts", nargs="+", metavar="TEXT", help=about)
    add("--layer", type=int, help="from 0, the lowest (default: the top layer that a head sees)")
    add("--show", type=int, default=10, help="how many (default: %(default)s)")
    add("--same-word", action="store_true", help="only occurrences of WORD, in any case: much faster")
    given = command.parse_intermixed_args(arguments)
    options, files = encoder_options(given.texts)
    sentence, wanted = tokens_of(given.sentence), unescaped(given.word)
    if not files:
        raise UserError("no text to search. Give a file, one tokenised sentence a line.")
    if given.show < 1:
        raise UserError(f"--show {given.show}: too few. Give 1 or more.")
    if wanted not in sentence:
        raise UserError(f"--in: no token of the sentence is {given.word!a}. Put spaces between its tokens.")

    # Imported here, so that --help and wrong options do not wait for torch.
    from elmo_bench.base.machine import choose_threads, use_threads
    from elmo_bench.encoders.nearest import nearest
    from elmo_bench.pretraining.encode import Corpus, shard_files

    corpus = Corpus(tuple(shard_files(files)))

    def texts() -> Iterator[list[str]]:
        return chain.from_iterable(map(corpus.sentences, corpus.files))

    encode, said, static = _encoder(options, given.layer, lambda: {*sentence, *chain.from_iterable(texts())})
    with progress("neighbours") as meter, use_threads(choose_threads(None, "neighbours")):
        near_ones = nearest(
            encode,
            texts(),
            sentence,
            sentence.index(wanted),
            show=given.show,
            only=wanted if given.same_word else None,
            each_word_once=static,
            seen=lambda count: meter.advance(steps=count),
        )
    print(f"{given.sentence}    ({said})")
    for near in near_ones:
        left, right = near.sentence[: near.position], near.sentence[near.position + 1 :]
        before = " ".join((["…"] if len(left) > AROUND else []) + list(left[-AROUND:]))
        after = " ".join(list(right[:AROUND]) + (["…"] if len(right) > AROUND else []))
        print(f"{near.cosine:6.3f}  {before} [{near.word}] {after}".rstrip())
    if not near_ones:
        print("nothing found: the word, or every token of the text to compare with, has no vector")
    return 0


def _encoder(given: list[str], layer: int | None, words: Callable[[], set[str]]) -> "tuple[Encode, str, bool]":
    """(vectors of sentences, what they are, whether a word has one vector in any sentence). Raises UserError.

    words: gives every word that will be read; static vectors, and encoders that read some, need to know them.
    """
    from elmo_bench.encoders.nearest import static_encode
    from elmo_bench.encoders.static import load_static
    from elmo_bench.spec.names import load_encoder
    from elmo_bench.spec.run_spec import described

    usual = [] if any(each.startswith("encoder=") for each in given) else ["encoder=elmo_only"]
    spec, setup = described(*usual, *given)
    where = f"encoder={spec.encoder}"
    if not setup.encoders:
        if spec.settings["encoder.words"] != "static":
            raise UserError(f"{where}: has no frozen vectors. Choose another encoder.")
        if layer is not None:
            raise UserError(f"--layer {layer}: {where} has no layers. Remove the option.")
        table = load_static(str(setup.vectors), words())
        return static_encode(table), f"{spec.encoder}, {setup.vectors}", True
    if len(setup.encoders) > 1:
        raise UserError(f"{where}: a stack of {', '.join(setup.encoders)}, each with layers. Choose one of them.")
    [options] = setup.encoders.values()
    encoder: Any = load_encoder(**options)
    if expect := getattr(encoder, "expect", None):
        expect(words())
    mixed = {"first": 0, "layer": spec.settings.get("mix.layer")}.get(str(spec.settings.get("mix")), encoder.layers - 1)
    chosen = mixed if layer is None else layer
    if chosen not in range(encoder.layers):
        raise UserError(f"--layer {layer}: {where} has none. Give a number from 0 to {encoder.layers - 1}.")
    encode: Encode = lambda sentences: [layers[chosen].cpu() for layers in encoder.encode(sentences)]  # noqa: E731
    return encode, f"{spec.encoder}, layer {chosen}", False
