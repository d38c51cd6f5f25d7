"""Scores of tags of the user's own: seqeval's strict figures, whatever the scheme and however it is written."""

import random
import re
from pathlib import Path

import pytest

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import measure
from elmo_bench.base.notes import noted
from elmo_bench.ledger import RunPaths
from elmo_bench.spec.describe import command_of
from elmo_bench.spec.names import task_class
from elmo_bench.text.own_checks import PREDICTED
from tests.golden_cases import score
from tests.runs import first_ones, first_rows, run_small
from tests.tasks.test_own_tasks import described, read
from tests.text.test_own_data import write
from tests.text.test_schemes import AS_IOBES, LETTERS, SEQEVAL, drawn

ALL_LETTERS = {  # a sentence that no other scheme has
    "BIO": "B-X I-X B-X O", "IOB1": "I-X I-X B-X O", "IOE2": "I-X E-X E-X O", "BIOES": "B-X I-X E-X S-X",
    "BILOU": "B-X I-X L-X U-X", "BMES": "B-X M-X E-X S-X", "BMEWO": "B-X M-X E-X W-X",
}  # fmt: skip
PLAIN = ["NN", "O", "VB", "O"]


def encoded(scheme: str, spans: list[tuple[str, int]]) -> list[str]:
    """Valid tags of spans (type, tokens), one behind the other; the type O is not a span."""
    tags: list[str] = []
    for kind, size in spans:
        before = tags[-1][2:] if tags else ""
        begin, inside, end, single = {
            "BIO": "BIIB", "IOB1": "BIIB" if before == kind else "IIII", "IOE2": "IIEE", "BIOES": "BIES",
            "BILOU": "BILU", "BMES": "BMES", "BMEWO": "BMEW",
        }[scheme]  # fmt: skip
        letters = [single] if size == 1 else [begin, *[inside] * (size - 2), end]
        tags += ["O"] * size if kind == "O" else [f"{letter}-{kind}" for letter in letters]
    return tags


def guessed(rng: random.Random, scheme: str, gold: list[str]) -> list[str]:
    """Gold with some other tags, which may break the scheme."""
    tags = ["O", *(f"{letter}-{kind}" for letter in LETTERS[scheme] for kind in "XY")]
    return [rng.choice(tags) if rng.random() < 0.3 else tag for tag in gold]


@pytest.mark.parametrize("draws", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scheme", first_ones(SEQEVAL, 2))
def test_files_have_the_strict_figures_of_seqeval(tmp_path, scheme, draws):
    from seqeval.metrics.v1 import precision_recall_fscore_support

    rng = random.Random(scheme)
    metric = task_class("tagging", "metric")()
    path = tmp_path / "x.conll"
    for _ in range(draws):
        gold = [ALL_LETTERS[scheme].split()]
        for _ in range(rng.randrange(4)):
            spans = [(rng.choice("XYO"), rng.randrange(1, 4)) for _ in range(rng.randrange(1, 5))]
            gold.append(encoded(scheme, spans))
        predicted = [guessed(rng, scheme, tags) for tags in gold]
        lines = []
        for pair in zip(gold, predicted, strict=True):
            lines += [f"word {one} {other}" for one, other in zip(*pair, strict=True)]
            lines.append("")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with noted():
            overall = metric.score_files(path)["overall"]
        sides = [
            [[tag[0].translate(AS_IOBES) + tag[1:] for tag in tags] for tags in side] for side in (gold, predicted)
        ]
        strict = precision_recall_fscore_support(*sides, scheme=SEQEVAL[scheme], average="micro", zero_division=0)
        assert [overall[name] for name in ("precision", "recall", "f1")] == pytest.approx([100 * x for x in strict[:3]])


@pytest.mark.parametrize(
    ("gold", "predicted", "f1"),
    [
        ("B I O B", "B O O B", 50.0),
        ("b i o b", "b o o b", 50.0),
        ("B-P I-P 0 B-P", "B-P O O B-P", 50.0),
        ("B_P I_P O B_P", "B_P O O B_P", 50.0),
        ("b-p i-p o b-p", "b-p o o b-p", 50.0),
        ("P-B P-I O P-B", "P-B O O P-B", 50.0),
        ("B E O S", "S O O S", 50.0),
        ("B-P E-P O S-P", "S-P O O S-P", 50.0),
        ("B-P I-P - B-P", "B-P - - B-P", 50.0),
        ("NN O VB O", "NN O O O", 75.0),
        ("U-NN U-O U-O U-O", "U-NN U-O U-O U-VB", 75.0),
        ("U-O U-O", "U-O U-O", 100.0),
    ],
)
def test_f1_of_spans_and_accuracy_of_plain_tags(gold, predicted, f1):
    metric = task_class("tagging", "metric")()
    assert score(metric, [gold.split()], [predicted.split()])["overall"]["f1"] == pytest.approx(f1)


def sentences(tags: list[str]) -> str:
    """A column file of ten sentences with these tags."""
    text = ""
    for number in range(10):
        text += "".join(f"word{number}.{place} {tag}\n" for place, tag in enumerate(tags)) + "\n"
    return text


@pytest.mark.parametrize(
    ("tags", "scheme", "said", "gold"),
    [
        ("B I O B", None, "spans in BIO (without a type), read as BIO", "B-_ I-_ O B-_"),
        ("B I O B", "plain", "plain, a label for each token", "U-B U-I U-O U-B"),
        ("B_P I_P O", None, "spans in BIO (separator _), read as BIO", "B-P I-P O"),
        ("B-P M-P E-P O", None, "spans in BMES, read as BIO", "B-P I-P I-P O"),
        ("I-P I-P B-P O", "IOB2", "spans in BIO, read as BIO", "O O B-P O"),
        ("PER PER O O O", "IO", "spans in IO, read as BIO", "B-PER I-PER O O O"),
        ("PER PER O O O", "plain", "plain, a label for each token", "U-PER U-PER U-O U-O U-O"),
        ("1 2 0 0 0 0", None, "plain, a label for each token; numbers, of which no spans are known",
         "U-1 U-2 U-0 U-0 U-0 U-0"),
        ("B-P - - -", None, "spans in BIO (- for O), read as BIO", "B-P O O O"),
    ],
)  # fmt: skip
def test_what_is_read_is_said_and_an_option_decides(tmp_path, tags, scheme, said, gold):
    splits, notes = read(write(tmp_path / "x.conll", sentences(tags.split())), scheme=scheme)
    assert f"tags: {said}" in notes
    assert {sentence.gold for sentence in splits["train"]} == {tuple(gold.split())}


@pytest.mark.parametrize(
    ("tags", "scheme", "message"),
    [
        (
            "PER PER O O O",
            None,
            "tags: most are O, and PER has no letter of a scheme, such as B-. Decide: data.scheme=IO",
        ),
        ("B_P I_P O O OUT", None, "tags: OUT: not in one scheme"),
        ("B-P I-P O", "BIOS", "data.scheme=BIOS: unknown. Choose one of: BIO, IOB1, IOE2, BIOES"),
        ("B-P S-P O", "BIO", r"letters of two: not in one scheme \(BIO\)"),
    ],
)
def test_what_cannot_be_known_is_refused(tmp_path, tags, scheme, message):
    with pytest.raises(UserError, match=message):
        read(write(tmp_path / "x.conll", sentences(tags.split())), scheme=scheme)


def test_sentences_whose_tags_are_all_null_have_no_gold_only_where_no_other_has_null(tmp_path):
    text = sentences(["B-P", "-", "-"]) + sentences(["-", "-"]).replace("word", "other")
    splits, notes = read(write(tmp_path / "x.conll", text))
    assert not any("left out" in note for note in notes)
    assert sum(map(len, splits.values())) == 20
    text = sentences(["B-P", "O", "O"]) + sentences(["-", "-"]).replace("word", "other")
    _, notes = read(write(tmp_path / "y.conll", text))
    assert "y.conll: 10 of 20 sentences have no gold: all of their tags are -" in notes
    assert "train: 10 of 20 sentences left out, because they have no tags" in notes


@pytest.mark.parametrize(
    ("task", "name", "text", "said"),
    [
        ("tagging", "x.jsonl", '{"gold": ["O", "B-P"], "predicted": ["O"]}\n', "sentence. Predict the file again."),
        ("ner", "x.txt", "\n", "no tokens. Each line must have a token and, in its last two columns, its gold and its"),
    ],
)
def test_a_file_that_cannot_be_scored_says_what_to_do(tmp_path, task, name, text, said):
    with pytest.raises(UserError, match=said):
        task_class(task, "metric")().score_files(Path(write(tmp_path / name, text)))


def test_a_file_without_a_tag_but_o_has_no_score(tmp_path):
    path = Path(write(tmp_path / "x.conll", "a O O\nb O O\n\n"))
    with pytest.raises(UserError, match="no tag but O on either side, so there is nothing to score"):
        task_class("tagging", "metric")().score_files(path)


@pytest.mark.parametrize(
    ("kind", "options", "written"),
    first_rows(
        [
            ("plain", (), {"NN", "VB", "O"}),
            ("nameless", ("data.columns=1:2",), {"B-_", "I-_", "O"}),
            ("types", ("data.columns=1:2", "data.scheme=IO"), {"B-PER", "O"}),
        ],
        1,
    ),
)
def test_a_run_and_its_predictions_have_one_score(tmp_path, kind, options, written):
    """From the file to the record, and through `predict` and `score` to the same F1; the file has a third column."""
    tags = {"plain": "NN O VB O", "nameless": "B I O O", "types": "PER O O O"}[kind].split()
    for split in ("train", "dev", "test"):
        text = sentences(tags).replace("word", split)
        text = re.sub(r"(?m)(?<=.)$", " x", text) if options else text
        write(tmp_path / "data" / f"{split}.conll", text)
    file = f"data.file={tmp_path / 'data'}"
    record = run_small(tmp_path / "runs", "task=tagging", file, "task.training.epochs=1", *options, encoder="none")
    out = tmp_path / "out.conll"
    paths = RunPaths.of(tmp_path / "runs", record)
    assert main(["predict", str(paths.record), str(tmp_path / "data" / "test.conll"), str(out)]) == 0
    gold = {line.split()[1] for line in out.read_text(encoding="utf-8").splitlines() if line}
    assert gold == written
    with noted():
        scores = task_class("tagging", "metric")().score_files(out)
    assert scores["overall"]["f1"] == pytest.approx(record.scores.test.overall["f1"])
    assert measure("f1", scores["overall"]) == ("accuracy" if kind == "plain" else "f1")


def test_plain_predictions_are_written_as_the_tags_are(tmp_path):
    data = task_class("tagging", "data")(scheme="plain")
    path = Path(write(tmp_path / "x.conll", sentences(PLAIN)))
    examples = data.read_file(path)
    predicted = [("U-NN", "U-O", "U-NN", "U-O")] * len(examples)
    for name in ("out.conll", "out.jsonl", "out.csv"):
        data.write(tmp_path / name, examples, predicted)
        with noted():
            overall = task_class("tagging", "metric")().score_files(tmp_path / name)["overall"]
        assert overall["f1"] == pytest.approx(75.0)
    assert PREDICTED in (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_plain_tags_that_look_like_spans_are_scored_as_tags_with_a_prefix(tmp_path):
    """As the card says."""
    tags = [("B-P", "B-P"), ("I-P", "O"), ("O", "O"), ("O", "B-P")]
    scores = []
    for prefix in ("", "U-"):
        lines = [f"a {prefix}{gold} {prefix}{predicted}\n" for gold, predicted in tags]
        path = Path(write(tmp_path / "x.conll", "".join(lines)))
        scores.append(task_class("tagging", "metric")().score_files(path)["overall"])
    spans, plain = scores
    assert (spans["f1"], spans["gold"]) == (0, 1)
    assert (plain["f1"], plain["gold"]) == (50, 4)


def test_the_scheme_is_a_setting_that_leaves_other_runs_as_they_are():
    plain, _ = described("task=tagging", "data.file=x.conll")
    asked, _ = described("task=tagging", "data.file=x.conll", "data.scheme=BIO")
    assert not any(key.startswith("data.scheme") for key in plain.settings)
    assert asked.settings == plain.settings | {"data.scheme": "BIO"}
    assert "data.scheme=BIO" in command_of(asked, 0)
    assert "scheme" not in command_of(described("task=classification", "data.file=x.csv")[0], 0)


def test_drawn_tags_break_their_schemes():
    rng = random.Random(0)
    assert any(tags[0].startswith("I-") for tags in (drawn(rng, "BIO") for _ in range(20)))
