"""Word senses: SemCor, the evaluation data, first senses, the framework's F1, the nearest sense vector."""

import io
import lzma
import tarfile

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.spec.task_files import task_yaml
from elmo_bench.tasks.wsd import data as semcor
from elmo_bench.tasks.wsd.data import Data, read_first_senses
from elmo_bench.tasks.wsd.evaluation import Sentence, Target, entry, keys_beside, read_evaluation, read_keys
from elmo_bench.tasks.wsd.head import Head
from elmo_bench.tasks.wsd.metric import Metric
from elmo_bench.text.batch import Indexer
from tests.golden_cases import score
from tests.runs import DATA

TAGFILE = """<contextfile concordance=brown>
<context filename=br-a01 paras=yes>
<p pnum=1>
<s snum=1>
<wf cmd=ignore pos=DT>The</wf>
<wf cmd=done rdf=group pos=NNP lemma=group wnsn=1 lexsn=1:03:00:: pn=group>Grand_Jury</wf>
<wf cmd=done pos=JJ lemma=sorry wnsn=1;0 lexsn=3:00:02::;5:00:00:unhappy:00>sorry</wf>
<wf cmd=done pos=NN ot=notag>x</wf>
<punc>.</punc>
</s>
<s snum=2>
<wf cmd=ignore pos=DT>No</wf>
</s>
</p>
"""
READ = Sentence(
    ("The", "Grand", "Jury", "sorry", "x", "."),
    (
        Target("0", 1, 3, "group", "NOUN", ("group%1:03:00::",)),
        Target("1", 3, 4, "sorry", "ADJ", ("sorry%3:00:02::", "sorry%5:00:00:unhappy:00")),
    ),
)
XML = """<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en"><text id="semeval2007.d000"><sentence id="semeval2007.d000.s000">
<wf lemma="it" pos="PRON">It</wf>
<instance id="semeval2007.d000.s000.t000" lemma="take_place" pos="VERB">took place</instance>
<wf lemma="&amp;" pos=".">&amp;</wf>
</sentence><sentence id="senseval2.d000.s000">
<instance id="senseval2.d000.s000.t000" lemma="Art" pos="NOUN">Art</instance>
</sentence><sentence id="senseval2.d000.s001"><wf lemma="no" pos="DET">No</wf></sentence></text></corpus>
"""
KEYS = "semeval2007.d000.s000.t000 take_place%2:30:00::\nsenseval2.d000.s000.t000 art%1:09:00:: art%1:06:00::\n"


def archive(path, **members):
    """A tar.xz with these texts; `pax` and types other than files by TarInfo."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in members.items():
            member = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            text = b"" if isinstance(content, tarfile.TarInfo) else content.encode("latin-1")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    path.write_bytes(lzma.compress(packed.getvalue()))
    return path


def test_semcor(tmp_path):
    link = tarfile.TarInfo("semcor3.0/brown1/tagfiles/br-a02")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    members = {"../../tagfiles/br-a01": TAGFILE, "semcor3.0/LICENSE": "<wf broken", "link": link}
    path = archive(tmp_path / "s.tar.xz", **members)
    assert semcor.read_semcor(path) == [READ]
    assert [each.name for each in tmp_path.iterdir()] == ["s.tar.xz"]  # nothing is unpacked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TAGFILE.replace("</wf>\n<punc", "</w>\n<punc"), "'br-a01': line 8 is not a word of a tag file"),
        (TAGFILE.replace("1:03:00::", "1:03"), "line 6: '1:03' is not a sense of WordNet"),
        ("", "no annotated sentence"),
    ],
)
def test_a_damaged_tag_file_is_one_line(tmp_path, text, said):
    with pytest.raises(UserError, match=said):
        semcor.read_semcor(archive(tmp_path / "s.tar.xz", **{"a/tagfiles/br-a01": text}))


def evaluation(folder, xml=XML, keys=KEYS):
    (folder / "ALL.data.xml").write_bytes(xml if isinstance(xml, bytes) else xml.encode())
    (folder / "ALL.gold.key.txt").write_text(keys)
    return folder / "ALL.data.xml"


def test_evaluation_data(tmp_path):
    path = evaluation(tmp_path)
    first, second = read_evaluation(path, read_keys(keys_beside(path)))
    assert first.tokens == ("It", "took", "place", "&")
    assert first.targets == (
        Target("semeval2007.d000.s000.t000", 1, 3, "take_place", "VERB", ("take_place%2:30:00::",)),
    )
    assert second.targets[0].lemma == "art"
    assert second.targets[0].senses == ("art%1:09:00::", "art%1:06:00::")
    with noted() as notes:
        assert Data().read_file(path) == [first, second]
    assert notes == ["ALL.data.xml: 1 sentences without a target skipped"]
    (tmp_path / "index.sense").write_text("art%1:06:00:: 02743547 1 22\n")
    assert [each.targets[0].first for each in Data().read_file(path)] == ["", "art%1:06:00::"]
    (tmp_path / "index.sense").unlink()
    keys_beside(path).unlink()
    assert [target.senses for each in Data().read_file(path) for target in each.targets] == [(), ()]


@pytest.mark.parametrize(
    ("xml", "keys", "said"),
    [
        (XML.replace("<corpus", '<!DOCTYPE corpus [<!ENTITY a "b">]><corpus'), KEYS, "has a document type"),
        ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'.encode("utf-16"), KEYS, "has a document type"),
        (XML, KEYS.splitlines()[0], "ALL.data.xml: senseval2.d000.s000.t000 has no line in"),
        (XML.replace('pos="VERB"', ""), KEYS, "ALL.data.xml: sentence .*: an instance without id, lemma or pos"),
        (XML[:400], KEYS, "ALL.data.xml: not evaluation data in XML, or damaged"),
        ("<corpus></corpus>", KEYS, "no sentence with a target"),
        (XML, "", "ALL.gold.key.txt: no sense keys. Each line must have a target and its sense keys"),
    ],
)
def test_damaged_evaluation_data_is_one_line(tmp_path, xml, keys, said):
    path = evaluation(tmp_path, xml, keys)
    with pytest.raises(UserError, match=said):
        read_evaluation(path, read_keys(keys_beside(path)))


def test_first_senses(tmp_path):
    """WordNet's index where there is one: its third column is the number of the sense."""
    table, index = tmp_path / "first_sense.tsv", tmp_path / "index.sense"
    table.write_text("art\tNOUN\tart%1:06:00::\n")
    index.write_text("art%1:06:00:: 02743547 1 22\nart%1:04:00:: 00933420 2 9\nold%5:00:00:past:00 01729384 1 0\n")
    assert read_first_senses(table) == {("art", "NOUN"): "art%1:06:00::"}
    assert read_first_senses(index) == {("art", "NOUN"): "art%1:06:00::", ("old", "ADJ"): "old%5:00:00:past:00"}
    for path, text in ((table, "art\tNN\tart%1:06:00::\n"), (index, "art%1:06:00:: 02743547 1\n")):
        path.write_text(text)
        with pytest.raises(UserError, match=f"{path.name}:1: "):
            read_first_senses(path)


def test_f1_by_hand(tmp_path):
    """As Scorer.java: any gold key is right, two answers share a point, a target without an answer costs recall."""
    gold, found = tmp_path / "gold", tmp_path / "found"
    gold.write_text("a x%1:00:00:: y%1:00:00::\nb z%2:00:00::\nc u%4:00:00::\n")
    found.write_text("a y%1:00:00::\nb z%2:00:00:: w%2:00:00::\n")
    scores = Metric().score_files(gold, found)
    assert scores["overall"] == {
        "f1": pytest.approx(60), "precision": 75, "recall": 50, "correct": 1.5, "guessed": 2, "gold": 3,
    }  # fmt: skip
    assert scores["by_type"]["NOUN"]["f1"] == 100
    assert scores["by_type"]["ADV"]["f1"] == 0
    assert "ADV" in Metric().table(scores)
    found.write_text("d x%1:00:00::\n")
    with pytest.raises(UserError, match="none of its 1 targets has a key in"):
        Metric().score_files(gold, found)


def test_answers_are_counted_as_by_the_scorer_of_the_framework(tmp_path):
    """By hand after Scorer.java: sets of keys, joined lines, and nothing of a target that one side lacks."""
    gold, found = tmp_path / "gold", tmp_path / "found"
    gold.write_text("a x%1:00:00::\nb z%2:00:00::\nc\na y%1:00:00::\n")
    found.write_text("a y%1:00:00:: w%1:00:00:: y%1:00:00::\nb z%2:00:00::\nb q%2:00:00::\nc z%2:00:00::\nd x\n")
    with noted() as notes:
        overall = Metric().score_files(gold, found)["overall"]
    assert (overall["correct"], overall["guessed"], overall["gold"]) == (0.5 + 0.5, 2, 2)
    assert notes == [
        "gold: lines joined to an earlier line of their target: 1",
        "gold: targets without a sense key, which do not count: 1 of 3",
        "found: lines joined to an earlier line of their target: 1",
        "found: targets without a key in gold, which are ignored: 2 of 4, the first is c",
    ]
    gold.write_text("a\n")
    with pytest.raises(UserError, match=r"gold: no target has a sense key"):
        Metric().score_files(gold, found)


def test_keys_that_do_not_name_a_part_of_speech_count_once(tmp_path):
    """As those of BabelNet."""
    gold, found = tmp_path / "gold", tmp_path / "found"
    gold.write_text("a bn:00000001n\nb bn:00000002v\n")
    found.write_text("a bn:00000001n\n")
    scores = Metric().score_files(gold, found)
    assert (scores["overall"]["correct"], scores["overall"]["gold"]) == (1, 2)
    assert Metric().table(scores).split()[-6:] == ["100.00", "50.00", "66.67", "1", "1", "2"]


def test_a_target_without_gold_does_not_count_in_a_run():
    targets = [Target("a", 0, 1, "x", "NOUN", ("x%1:00:00::",)), Target("b", 1, 2, "y", "NOUN", ())]
    counts = Metric().counts([targets, targets[1:]], [[("x%1:00:00::",), ("y",)], [()]])
    assert [counts[name].tolist() for name in ("correct", "guessed", "gold")] == [[1, 0]] * 3


def test_answers_are_written_as_the_scorer_reads_them(tmp_path):
    path = evaluation(tmp_path)
    examples = Data().read_file(path)
    Data().write(tmp_path / "found", examples, [[("take_place%2:30:00::",)], [()]])
    assert (tmp_path / "found").read_text() == "semeval2007.d000.s000.t000 take_place%2:30:00::\n"
    overall = Metric().score_files(keys_beside(path), tmp_path / "found")["overall"]
    assert (overall["correct"], overall["guessed"], overall["gold"]) == (1, 1, 2)


VECTORS = {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (0.9, 0.2), "d": (0.2, 0.9), "_": (5.0, 5.0)}


class Given(torch.nn.Module):
    """An embedder that looks vectors up by word."""

    probe_dim = 2

    def __init__(self):
        super().__init__()
        self.unused = torch.nn.Parameter(torch.ones(2))

    def for_probe(self, text):
        return text.layers[""]

    def index(self, texts):
        rows = [torch.tensor([VECTORS[word] for word in text]) for text in texts]
        return Indexer(words=None, characters=None, layers={"": lambda _: pad_sequence(rows, True)})(texts)


def one(word, sense, *, lemma="x", first="", width=1):
    return Sentence(("_", *word), (Target("t", 1, 1 + width, lemma, "NOUN", sense, first),))


def trained(examples, batch):
    """A head after one epoch, with the optimiser of the yaml."""
    embedder = Given()
    head = Head(embedder, **Data().vocabulary(examples))
    options = task_yaml("wsd")["training"]
    assert (options["optimizer"], options["epochs"], options["clip"]) == ({"name": "sgd", "lr": 1.0}, 1, None)
    optimiser = torch.optim.SGD([p for p in head.parameters() if p.requires_grad], lr=1.0)
    for start in range(0, len(examples), batch):
        optimiser.zero_grad()
        head.loss(head.collate(examples[start : start + batch], embedder.index)).backward()
        optimiser.step()
    return head, embedder


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_one_epoch_adds_up_the_vectors_of_each_sense(batch):
    s, r, both = ("x%1:00:01::",), ("x%1:00:02::",), ("x%1:00:01::", "x%1:00:02::")
    examples = [one("a", s), one("b", r), one("c", s), one("d", s), one("ab", both, width=2)]
    head, embedder = trained(examples, batch)
    assert list(head.rows) == ["x%1:00:01::", "x%1:00:02::"]  # the most frequent first
    torch.testing.assert_close(head.senses.detach(), torch.tensor([[2.6, 1.6], [0.5, 1.5]]))
    assert torch.equal(embedder.unused, torch.ones(2))
    asked = [one("a", ()), one("b", ()), one("a", (), lemma="z", first="z%1:00:00::"), one("a", (), lemma="z")]
    assert head.predict(head.collate(asked, embedder.index)) == [[s], [r], [("z%1:00:00::",)], [()]]


def test_equal_cosines_are_the_more_frequent_sense():
    r, s = ("x%1:00:09::",), ("x%1:00:01::",)
    head, embedder = trained([one("a", r), one("a", s), one("a", r)], 3)
    assert head.predict(head.collate([one("c", ())], embedder.index)) == [[r]]


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "wsd").is_dir(), reason="needs the open suite's data in $ELMO_BENCH_DATA")
def test_the_real_data_has_the_published_counts_and_the_known_baselines():
    """Figures made without this code: 62.0 for the first senses alone, 62.9 for SemCor's most frequent one on 6,570."""
    data = Data(**task_yaml("wsd")["data"])
    splits = data.read("open", DATA)
    sizes = {split: sum(len(each.targets) for each in sentences) for split, sentences in splits.items()}
    assert sizes == {"train": 192_639, "dev": 455, "test": 6_798}
    asked = [example.targets for split in ("dev", "test") for example in splits[split]]
    first = score(Metric(), asked, [[(t.first,) if t.first else () for t in targets] for targets in asked])["overall"]
    assert (first["guessed"], first["gold"], round(first["recall"], 1)) == (7_179, 7_253, 62.0)
    most: dict[tuple[str, str], str] = {}
    for key in data.vocabulary(splits["train"])["senses"]:
        most.setdefault(entry(key), key)
    found = [[(most[t.lemma, t.pos],) if (t.lemma, t.pos) in most else () for t in targets] for targets in asked]
    frequent = score(Metric(), asked, found)["overall"]
    assert (frequent["guessed"], round(frequent["precision"], 1)) == (6_570, 62.9)


def test_a_sense_of_another_part_of_speech_is_no_candidate():
    noun, verb = ("x%1:00:01::",), ("x%2:00:01::",)
    asked = one("b", ())
    other = Sentence(asked.tokens, (Target("t", 1, 2, "x", "VERB", verb),))
    head, embedder = trained([one("a", noun), other], 2)
    assert head.predict(head.collate([asked], embedder.index)) == [[noun]]


def test_cosines_that_differ_by_rounding_alone_are_the_more_frequent_sense():
    r, s = ("x%1:00:09::",), ("x%1:00:01::",)
    head, embedder = trained([one("d", r), one("d", s), one("d", r)], 3)
    for factor in range(1, 40):
        head.senses.data[1] = factor * torch.tensor(VECTORS["d"])
        assert head.predict(head.collate([one("a", ()), one("c", ())], embedder.index)) == [[r], [r]]
