"""Small files of every task, written for the tests: its open suite, and files that `score` compares."""

import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

from elmo_bench.base.sources import SPLITS
from tests.whole.test_bad_formats import COREF, FILES, GOOD, squad

CONLLU = "# id = 1\n1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\n" * 3
TAGFILE = b"<s snum=1>\n<wf cmd=done pos=NN lemma=bank wnsn=1;2 lexsn=1:14:00::;1:17:01::>bank</wf>\n</s>\n"
INSTANCE = '<sentence id="{0}.s0"><instance id="{0}.s0.t0" lemma="bank" pos="NOUN">bank</instance></sentence>'
SETS = [f"{name}.d0" for name in ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")]
KEYS = "".join(f"{name}.s0.t0 bank%1:14:00:: bank%1:17:01::\n" for name in SETS)
TAGGED, PROPS = "Ada\tNN\tNNP\nran\tNN\tVBD\n", "-\t(ARG0*)\ngive\t(V*)\n-\t(ARG1*\n-\t*)\n\n-\n\n"
FIRST = lzma.compress(b"bank\tNOUN\tbank%1:17:01::\nsay\tVERB\tsay%2:32:00::\n")


def semcor() -> bytes:
    """An archive like SemCor's."""
    memory, member = io.BytesIO(), tarfile.TarInfo("semcor3.0/brown1/tagfiles/br-a01")
    member.size = len(TAGFILE)
    with tarfile.open(fileobj=memory, mode="w") as archive:
        archive.addfile(member, io.BytesIO(TAGFILE))
    return lzma.compress(memory.getvalue())


SUITES: dict[str, dict[str, Any]] = {  # the files of each task's open suite; the last one is also one for `predict`
    **{task: {f"{Path(path).parent}/{name}": text for name in FILES[task]} for task, (text, path) in GOOD.items()},
    **{task: {f"ud_ewt/en_ewt-ud-{split}.conllu": CONLLU for split in SPLITS} for task in ("pos", "deprel")},
    "wsd": {"wsd/semcor3.0.tar.xz": semcor(), "wsd/uef/ALL.gold.key.txt": KEYS, "wsd/first_sense.tsv.xz": FIRST,
            "wsd/uef/ALL.data.xml": f"<corpus>{''.join(map(INSTANCE.format, SETS))}</corpus>\n"},
}  # fmt: skip
SCORED = {  # the files that `score` compares
    "ner": ["Ada B-person I-person\nran O O\n\nParis B-location O\n"], "sst5": ["3\t2\tIt works\n" * 5],
    "snli": ["neutral\tneutral\ta\tb\n-\tentailment\ta\tb\n"], "srl": [PROPS, PROPS], "coref": [COREF, COREF],
    "squad": [squad(), json.dumps({"a1": "Paris", "b1": "in Rome"})], "pos": [TAGGED], "deprel": [TAGGED],
    "wsd": [KEYS, KEYS],
}  # fmt: skip
