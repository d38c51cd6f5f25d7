"""The tasks' readers, found through their contract: `read_file`, `read` and `score_files` of every task."""

import io
import json
import lzma
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from elmo_bench.spec.config import choices
from elmo_bench.spec.names import task_class
from tests.fuzz.cases import Case
from tests.fuzz.text_cases import CONLLU
from tests.test_bad_formats import COREF, NER, PREMISES, SRL, TREE, adapter, squad

TAGGED = "Ada\tNNP\nran\tVBD\n\nIt\tPRP\n"
PROPS = "-\t(ARG0*)\ngive\t(V*)\n-\t(ARG1*\n-\t*)\n\n-\n\n"
TAGFILE = """<contextfile concordance=brown>
<s snum=1>
<wf cmd=ignore pos=DT>The</wf>
<wf cmd=done pos=NN lemma=bank wnsn=1;2 lexsn=1:14:00::;1:17:01::>bank</wf>
<wf cmd=done pos=VB lemma=take_place wnsn=1 lexsn=2:30:00::>took_place</wf>
<punc>.</punc>
</s>
"""
SENTENCE = """<sentence id="{0}.d000.s000"><wf lemma="the" pos="DET">The</wf>
<instance id="{0}.d000.s000.t000" lemma="bank" pos="NOUN">river bank</instance></sentence>
"""
SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
EVALUATION = f"<corpus><text>{''.join(map(SENTENCE.format, SETS))}</text></corpus>\n"
KEYS = "".join(f"{name}.d000.s000.t000 bank%1:14:00:: bank%1:17:01::\n" for name in SETS)


def semcor() -> bytes:
    """An archive like SemCor's."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("semcor3.0/brown1/tagfiles/br-a01")
        member.size = len(TAGFILE)
        archive.addfile(member, io.BytesIO(TAGFILE.encode()))
    return lzma.compress(packed.getvalue())


# Of each task: the files of its open suite, a file for `predict`, and the files that `score` compares.
TEXTS: dict[str, tuple[dict[str, str | bytes], str, tuple[str, ...]]] = {
    "ner": (
        {f"wnut17/{name}": NER * 5 for name in ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")},
        NER * 5, ("Ada B-person I-person\nran O O\n\nParis B-location O\n",),
    ),
    "sst5": ({f"sst/{split}.txt": TREE * 5 for split in ("train", "dev", "test")}, TREE * 5, ("3\t2\tIt works\n" * 5,)),
    "snli": (
        {"snli/snli_1.0_dev.jsonl": PREMISES, "snli/snli_1.0_test.jsonl": PREMISES[:2000].rpartition("\n")[0] + "\n"},
        PREMISES[:2000].rpartition("\n")[0] + "\n", ("neutral\tneutral\ta\tb\n-\tentailment\ta\tb\n",),
    ),
    "srl": ({f"ewt_propbank/{split}.conll": SRL * 2 for split in ("train", "dev", "test")}, SRL * 2, (PROPS, PROPS)),
    "coref": (
        {f"ontogum/{split}.v4_gold_conll": COREF for split in ("train", "dev", "test")}, COREF, (COREF, COREF)
    ),
    "squad": (
        {"squad/train-v1.1.part.json": squad(), "squad/dev-v1.1.json": squad(), "squad/new_wiki_v1.0.json": squad()},
        squad(), (squad(), json.dumps({"a1": "Paris", "b1": "in Rome"})),
    ),
    "pos": (
        {f"ud_ewt/en_ewt-ud-{split}.conllu": CONLLU * 3 for split in ("train", "dev", "test")}, TAGGED,
        (TAGGED.replace("\t", "\tNN\t"),)
    ),
    "wsd": (
        {"wsd/semcor3.0.tar.xz": semcor(), "wsd/ALL.data.xml": EVALUATION, "wsd/ALL.gold.key.txt": KEYS,
         "wsd/first_sense.tsv.xz": lzma.compress(b"bank\tNOUN\tbank%1:17:01::\nsay\tVERB\tsay%2:32:00::\n")},
        EVALUATION, (KEYS, KEYS),
    ),
    "deprel": (
        {f"ud_ewt/en_ewt-ud-{split}.conllu": CONLLU * 3 for split in ("train", "dev", "test")}, CONLLU * 3,
        (TAGGED.replace("\t", "\tNN\t"),)
    ),
}  # fmt: skip
FORMAT = {"snli": "x.jsonl", "squad": "x.json"}  # how the files of a task are damaged


def task_cases() -> list[Case]:
    """For each task: a file to predict, the files of a suite, and the files to score."""
    return [case for task in choices("task") for case in _of_task(task)]


def _of_task(task: str) -> list[Case]:
    suite, text, scored = TEXTS[task]
    metric = task_class(task, "metric")()
    names = [f"{number}.txt" for number in range(len(scored))]

    def score(folder: Path) -> str:
        return str(metric.table(metric.score_files(*(folder / name for name in names))))

    return [
        Case(reader=f"{task}:read_file", make=_files({"x.txt": text}), format=FORMAT.get(task, ""),
             read=lambda folder: canonical(task, adapter(task).read_file(folder / "x.txt"))),
        Case(reader=f"{task}:read", make=_files(suite), format=FORMAT.get(task, ""), damaged="*/*",
             read=lambda folder: [canonical(task, some) for some in adapter(task).read("open", folder).values()]),
        Case(reader=f"{task}:score_files", make=_files(dict(zip(names, scored, strict=True))), read=score,
             format=FORMAT.get(task, "") if task == "squad" else ""),
    ]  # fmt: skip


def _files(contents: Mapping[str, str | bytes]) -> Callable[[Path], Any]:
    def make(folder: Path) -> None:
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return make


def canonical(task: str, examples: list[Any]) -> list[str]:
    """As the data digest sees them."""
    return [json.dumps(adapter(task).canonical(example)) for example in examples]
