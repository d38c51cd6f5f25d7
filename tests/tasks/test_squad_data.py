"""Reading SQuAD: made-up files, the Hub's parquet, tokens and sentences of a text, predictions written and scored."""

import json
import random

import pytest
from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.config import compose
from elmo_bench.tasks.squad.build import question_tokens
from elmo_bench.tasks.squad.data import Data
from elmo_bench.tasks.squad.metric import Metric
from elmo_bench.text.sentences import sentences
from tests.golden_cases import score
from tests.runs import first_ones
from tests.whole.test_bad_formats import squad_json

OPTIONS = OmegaConf.to_container(compose("config", ["task=squad"]).task.data, resolve=True)
LIMITS = {limit: OPTIONS.pop(limit) for limit in ("longest_answer", "longest_word")}
SQUAD = Data(**LIMITS, **OPTIONS)
PASSAGE = 'Ada said "no" in 1843-44.\n She moved to St. James\u2019s Square.'
TOKENS = 'Ada said " no " in 1843 - 44 . She moved to St. James \u2019 s Square .'.split()  # noqa: SIM905
QUESTIONS = [("When did she say it?", [("1843", 17), ("in 1843-44", 14)]), ("Where to?", [("James\u2019s Square", 44)])]


def squad(titles, questions=QUESTIONS):
    """SQuAD JSON of one article a title, each with the passage."""
    return squad_json(
        {title: (PASSAGE, [(f"{title}-{number}", *each) for number, each in enumerate(questions)]) for title in titles}
    )


@pytest.fixture
def root(tmp_path):
    """A data folder with the files of both suites, made up."""
    (tmp_path / "squad").mkdir()
    for name, titles in {
        "new_wiki_v1.0.json": "abcde", "train-v1.1.part.json": "fghij", "train-v1.1.json": "abcdefghij",
        "dev-v1.1.json": "xy",
    }.items():  # fmt: skip
        (tmp_path / "squad" / name).write_bytes(squad(titles).encode())
    return tmp_path


def titles(examples):
    return {example.id.split("-")[0] for example in examples}


@pytest.mark.parametrize("suite", ["open", "paper"])
def test_the_suites_of_the_yaml(root, suite):
    splits = SQUAD.read(suite, root)
    assert {split: len(examples) for split, examples in splits.items()} == {"train": 18, "dev": 2, "test": 4}
    assert titles(splits["train"]) | titles(splits["dev"]) == set("abcdefghij")
    assert titles(splits["test"]) == {"x", "y"}
    first, second = splits["test"][:2]
    assert list(first.passage.tokens) == TOKENS
    assert first.texts == (("When", "did", "she", "say", "it", "?"), tuple(TOKENS))
    assert first.gold == ("1843", "in 1843-44")
    assert first.spans == ((6, 6), (5, 8))
    assert [first.passage.cut(*span) for span in first.spans] == list(first.gold)
    assert second.passage.cut(*second.spans[0]) == "James\u2019s Square"
    assert second.passage is first.passage


def test_dev_is_whole_articles_drawn_with_the_seed(root):
    def dev(share, seed):
        options = {**OPTIONS["open"], "dev": {"share": share, "seed": seed}}
        splits = Data(**LIMITS, open=options).read("open", root)
        assert not titles(splits["train"]) & titles(splits["dev"])
        return titles(splits["dev"])

    assert len(dev(0.1, 0)) == 1
    assert len(dev(0.25, 0)) == 3
    assert len(dev(0.99, 0)) == 9  # one article is left for training
    assert dev(0.3, 5) == dev(0.3, 5)
    assert len({frozenset(dev(0.3, seed)) for seed in range(5)}) > 1
    assert dev(0.1, 0) < dev(0.3, 0)


def test_answers_and_words_over_the_limits_of_the_head_are_noted(root):
    """Of two questions, "James’s Square" answers one; of its 24 words, these have six characters or more."""
    data = Data(longest_answer=1, longest_word=5, paper=OPTIONS["paper"])
    with noted() as notes:
        data.read("paper", root)
    answers = "questions have no answer of 1 tokens or fewer. They count, but the whole answer is never found"
    words = "words of over 5 characters: 1 of 24; the character CNN reads the first 5 of each"
    assert notes == [
        f"train: {words}", f"dev: 1 of 2 {answers}", f"dev: {words}", f"test: 2 of 4 {answers}", f"test: {words}",
    ]  # fmt: skip


def test_answers_that_end_within_a_token_are_widened_and_counted(root, capsys):
    path = root / "squad" / "x.json"
    path.write_text(
        squad("x", questions=[("Who?", [("da sai", 1), ("Ada", 0), (" Ada ".strip(), 0)])]), encoding="utf-8"
    )
    [example] = SQUAD.read_file(path)
    assert example.spans == ((0, 1), (0, 0), (0, 0))
    assert example.gold[0] == "da sai"
    said = capsys.readouterr().err
    assert said == f"{path}: 1 of 3 answers end within a token; training uses the whole tokens\n"


def test_questions_without_answers_can_be_predicted_and_not_trained_on(root):
    path = root / "squad" / "dev-v1.1.json"
    data = json.loads(squad("x"))
    del data["data"][0]["paragraphs"][0]["qas"][0]["answers"]
    path.write_text(json.dumps(data), encoding="utf-8")
    first, second = SQUAD.read_file(path)
    assert (first.gold, first.spans) == ((), ())
    assert second.gold == ("James\u2019s Square",)
    with pytest.raises(UserError, match=r"question x-0: no answers. Use SQuAD 1.1"):
        SQUAD.read("open", root)


@pytest.mark.parametrize("is_ascii", [True, False])
def test_the_line_of_a_question_is_found_by_any_spelling_of_its_id_and_of_a_second_one(root, is_ascii):
    data = json.loads(squad("é"))
    questions = data["data"][0]["paragraphs"][0]["qas"]
    questions[1]["question"] = ""
    path = root / "squad" / "dev-v1.1.json"

    def number_of_last_id():
        text = json.dumps(data, ensure_ascii=is_ascii, indent=1)
        path.write_text(text, encoding="utf-8")
        return [number for number, line in enumerate(text.splitlines(), 1) if '"id"' in line][-1]

    with pytest.raises(UserError, match=rf"json:{number_of_last_id()}: question é-1: its question has no words"):
        SQUAD.read_file(path)
    questions[1]["id"] = questions[0]["id"]
    with pytest.raises(UserError, match=rf"json:{number_of_last_id()}: question é-0: a second question with this id"):
        SQUAD.read_file(path)


def test_answers_without_their_character_can_be_predicted_and_not_trained_on(root):
    """The official scorer does not need it."""
    path = root / "squad" / "dev-v1.1.json"
    data = json.loads(squad("x"))
    answers = data["data"][0]["paragraphs"][0]["qas"][0]["answers"]
    del answers[0]["answer_start"]
    path.write_text(json.dumps(data), encoding="utf-8")
    first, _ = SQUAD.read_file(path)
    assert (first.gold, first.spans) == (("1843", "in 1843-44"), ((5, 8),))
    with pytest.raises(UserError, match=r"question x-0: answer '1843' is not at character -1"):
        SQUAD.read("open", root)


def test_predictions_are_written_as_the_official_scorer_reads_them(root, tmp_path):
    path = root / "squad" / "dev-v1.1.json"
    examples = SQUAD.read_file(path)
    predicted = ["1843", "Square", "in 1843-44", "St. James\u2019s Square"]
    SQUAD.write(tmp_path / "p.json", examples, predicted)
    written = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert written == dict(zip(["x-0", "x-1", "y-0", "y-1"], predicted, strict=True))
    metric = Metric()
    scores = score(metric, [example.gold for example in examples], predicted)["overall"]
    assert metric.score_files(path, tmp_path / "p.json") == {key: scores[key] for key in ("exact_match", "f1")}
    assert scores["exact_match"] == 50
    assert SQUAD.ending == ".json"


def test_dev_cannot_be_cut_out_of_one_article(root):
    (root / "squad" / "train-v1.1.json").write_text(squad("a"), encoding="utf-8")
    with pytest.raises(UserError, match="the training files hold one article"):
        SQUAD.read("paper", root)


def test_the_hubs_table_gives_the_same_questions(root, monkeypatch):
    """In the form of rajpurkar/squad."""
    from datasets import Dataset

    def table(repo, file, *, revision):
        asked.append((repo, file, revision))
        rows = [
            {
                "id": f"{title}-{number}", "title": title, "context": PASSAGE, "question": question,
                "answers": {"text": [text for text, _ in answers], "answer_start": [start for _, start in answers]},
            }
            for title in ("xy" if "validation" in file else "abcdefghij")
            for number, (question, answers) in enumerate(QUESTIONS)
        ]  # fmt: skip
        return Dataset.from_list(rows)

    asked = []
    monkeypatch.setattr("elmo_bench.base.hub.hub_table", table)
    found = Data(**LIMITS, paper={**OPTIONS["paper"], "source": "hub"}).read("paper", None)
    assert found == SQUAD.read("paper", root)
    revision = "7b6d24c440a36b6815f21b70d25016731768db1f"
    names = ("train-00000-of-00001", "validation-00000-of-00001")
    assert asked == [("rajpurkar/squad", f"plain_text/{name}.parquet", revision) for name in names]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"context": None}, "row 1 has None where text belongs"),
        ({"answers": {"text": [None], "answer_start": [0]}}, "row 1 has None where text belongs"),
        ({"answers": {"text": ["Ada"], "answer_start": [None]}}, r"row 1 is not as expected \(TypeError"),
        ({"answers": {"text": ["Ada"], "answer_start": []}}, r"row 1 is not as expected \(ValueError"),
        ({"answers": {"text": ["Ada"]}}, r"row 1 is not as expected \(KeyError\('answer_start'\)\)"),
        ({"answers": None}, r"row 1 is not as expected \(TypeError"),
    ],
)
def test_a_damaged_table_of_the_hub_is_one_line(monkeypatch, changed, message):
    sound = {"id": "a", "title": "x", "context": PASSAGE, "question": "Who?"}
    sound["answers"] = {"text": ["Ada"], "answer_start": [0]}
    table = type("Table", (list,), {"column_names": list(sound)})([sound, sound | {"id": "b"} | changed])
    monkeypatch.setattr("elmo_bench.base.hub.hub_table", lambda *_, **__: table)
    with pytest.raises(UserError, match=rf"00000-of-00001\.parquet: {message}.* Use your own files instead"):
        Data(**LIMITS, paper={**OPTIONS["paper"], "source": "hub"}).read("paper", None)


def test_quotes_that_the_tokeniser_rewrote():
    text = "He said \"it isn't ''so''\" and ``left''."
    found = [text[start:end] for start, end in question_tokens(text)[1]]
    assert found == ["He", "said", '"', "it", "is", "n't", "''", "so", "''", '"', "and", "``", "left", "''", "."]


def test_every_character_of_any_text_is_in_one_token():
    """Random strings of all that the tokeniser has rules for."""
    rng = random.Random(0)
    pieces = [
        "a", "cannot", "don't", "'s", '"', "''", "``", "'", "...", ".", "--", "(", "]", "$5", "%", ":", "1,000", "«",
    ]  # fmt: skip
    for _ in range(300):
        text = "".join(rng.choice(pieces) + rng.choice(["", "", " ", "\u00a0 "]) for _ in range(rng.randint(1, 15)))
        _, spans = question_tokens(text)
        covered = [place for start, end in spans for place in range(start, end)]
        assert covered == [place for place, character in enumerate(text) if not character.isspace()]


CASES = [
    "It rained. | Nobody came.",
    "Did it rain? | No! | It snowed.",
    "Mr. Smith met Dr. J. R. Jones of the U.S. Army, No. 5 Co. Ltd. in St. Ives. | They talked.",
    'He said "No." | Then he left.',
    "(It was late.) | Nobody knew.",
    "Version 2.0 came out in the 3.5 m long box. | 1984 was the year.",
    "She works for e.g. a bank. | So does he.",
    "It stopped . . . and went on...  | Then it stopped.",
    "A heading | A line that ends with no stop | Another.",
    "“Yes.” | “No.”",
    "It is written in lower case. and this goes on.",
    "Łódź is a city. | Ústí is one too.",
    "He waited… | Then he left.",
    "No full stop",
]


@pytest.mark.parametrize("case", CASES)
def test_a_reader_finds_the_same_sentences(case):
    expected = case.split(" | ")
    text = case.replace(" | ", "\n" if case.startswith("A heading") else " ")
    assert [text[start:end].strip() for start, end in sentences(text)] == [part.strip() for part in expected]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    first_ones(["a" * 500_000 + " b. C", "." * 500_000, "A. " * 30_000], 2),
    ids=["word", "stops", "initials"],
)
def test_time_grows_with_the_text_and_not_with_its_square(text):
    assert len(list(sentences(text))) == 1
