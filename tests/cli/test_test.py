"""`elmo-bench test` on the encoder of README and the task of CONTRIBUTING, as printed there and broken in one way."""

import re
import shutil
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.runner import contract_parts
from elmo_bench.spec import config, task_files
from tests.runs import GOLDEN, first_ones, printed_folder

NETWORK = """
import torch

class Network:
    layers, dim, parameters, device = 1, 4, 12, torch.device("cpu")
    checksum = property(lambda self: f"network-{self.net.weight.sum()}")

    def __init__(self):
        torch.manual_seed(0)
        self.net = torch.nn.Linear(2, 4).eval().requires_grad_(False)

    def encode(self, sentences):
        return [self.net(torch.tensor([[[float(len(w)), 0.5] for w in words]])) for words in sentences]

def load():
    return Network()
"""


def forget() -> None:
    """Whatever this process remembers of the folder's modules and configs."""
    for name in [name for name in sys.modules if re.search(r"\.(mytask|length|network)\b", name)]:
        del sys.modules[name]
    for remembered in (config._choice, config._composed, task_files.task_yaml):
        remembered.cache_clear()


@pytest.fixture
def folder(tmp_path, forgotten):
    """FOLDER/… as the pages show it, with data and a small network."""
    printed_folder(tmp_path)
    (tmp_path / "encoders" / "network.py").write_text(NETWORK)
    yaml = (tmp_path / "conf" / "encoder" / "length.yaml").read_text()
    (tmp_path / "conf" / "encoder" / "network.yaml").write_text(yaml.replace("length", "network"))
    forget()
    yield tmp_path
    forget()


def checked(folder, capsys, *options):
    """(exit code, output lines)"""
    code = main(["test", "--include", str(folder), f"data.root={folder}", *options])
    return code, capsys.readouterr().out.splitlines()


def test_what_the_pages_show_keeps_the_contract(folder, capsys):
    """With the weights and vectors that ship."""
    code, lines = checked(folder, capsys)
    assert [line for line in lines if not line.startswith("ok ")] == []
    assert code == 0
    assert len(lines) == 19


BROKEN = [  # module, what is replaced, by what, and what the line says
    ("length", "float(len(word))", "1 / (len(word) - 1)", 'ZeroDivisionError: division by zero ("{path}", line 7'),
    ("length", "float(len(word))", "float(ord(word[0]))", 'IndexError: string index out of range ("{path}", line 7'),
    ("network", "torch.manual_seed(0)", "pass", "loaded again it has another checksum or other vectors."),
    ("network", "{self.net.weight.sum()}", "1", "its checksum 'network-1' stays when a weight changes. Compute it"),
    ("data", "cells[-1]", "cells[1]", "Data.read_file: other texts than Data.write was given"),
    ("data", "def read_file", "canonical = lambda self, each: 1\n    def read_file", "equal for examples that differ"),
    ("head", "self.labels = embedder,", "self.x, self.labels = embedder, nn.Linear(2, 2),", "reaches x.bias, x.weight"),
    ("head", "x.masked_fill(~text.mask[:, :, None], -2.0).amax(dim=1)", "x.sum(1) * (4 - x.shape[1])", "Mask padding"),
    ("head", 'batch["gold"])', 'batch["gold"]) + 9', "on the same 4 examples. Look at what collate gives"),
    ("head", "return self.scores(", "assert not text; return self.scores(", "line 18, in forward assert not text"),
    ("head", "in self(batch).argmax(dim=1).tolist()", 'in batch["gold"].tolist()', "of dev changes with its gold"),
    ("metric", '"correct": np.array', '"correct": list', "Metric.counts: 'correct': give an array with a whole number"),
    ("metric", '{"accuracy": 100', '{"acc": 100', "Metric.figures: no 'accuracy', which is the main figure. Add it."),
    ("length.yaml", "name: length", "name: lengths", "encoder=length: its yaml has name: lengths. Give file and name"),
    ("network", "def load", "def loaded", "encoders/network.py has no function load. See docs/extend.md."),
    ("mytask.yaml", "test: test.txt", "test: train.txt", "task=mytask: test has the same examples as train"),
    ("mytask.yaml", "epochs: 10", "epochs: 10\n  pacience: 1", "training.pacience: nothing reads it (did you mean"),
    ("head", " if each.gold in self.labels else 0", "", "Head.collate: ValueError ('odd' is not in list) for the gold"),
    ("metric", "cells[1] for", "cells[0] for", "Metric.score_files: {{'accuracy': 100.0}} for a file of Data.write"),
    ("length", "float(len(word))", "float(len(word) * len(sentences))", "other vectors in another call"),
    ("network", "return [", "self.net.bias += 1e-6; return [", "encode changes its weights or buffers"),
    ("head", "self.read =", "self.a = [nn.Linear(embedder.dim, hidden)]; self.read = self.a[0].forward#", "state_dict"),
]  # fmt: skip
MORE = [  # of the same kinds
    ("network", "self.net =", "self.more = [torch.nn.Linear(2, 4)]; self.net =", "its network is in training mode."),
    ("network", ".eval()", "", "its network is in training mode. Call .eval() in load."),
    ("data", "def vocabulary", "def words", "class Data in its data.py has no vocabulary"),
    ("head", "class Head", "class Heads", "no class Head in its head.py"),
    ("metric", "class Metric", "class Metrics", "no class Metric in its metric.py"),
    ("data", "each.gold for each in train", "len(each.gold) for each in train", "Give lists of texts, or numbers"),
    ("metric", 'sums["items"]}', 'sums["words"]}', "outcomes without 'words'. Run again with overwrite=true."),
    ("metric", '/ sums["items"]}', '/ float("inf") * 0 - float("nan")}', "'accuracy', the main figure, is nan. Give"),
    ("metric", '("correct",)', '("corect",)', "Metric.counts has no corect, which Metric.summed names."),
    ("length.yaml", "kind:", "type:", "encoder.contextual: its yaml has no kind. Give the name of a file in"),
    ("mytask.yaml", "epochs: 10", "epochs: -1", "task.training.epochs=-1: give a whole number from 1"),
    ("mytask.yaml", "name: adam", "name: adman", "task.training.optimizer.name=adman: unknown name"),
    ("mytask.yaml", "name: linear", "name: liner", "task.training.schedule.name=liner: give one of: cosine"),
    ("metric", '100 * sums["correct"]', '100 * float(sums["correct"])', "TypeError: only"),
    ("metric", '("FILE",)', '"FILE"', "Metric.files: a text. Give a tuple: ('FILE',)."),
    ("data", "atomic_write(path,", 'atomic_write(path.with_suffix(".x"),', "Data.write: no file. Write the pred"),
    ("data", "def read_file", "canonical = lambda self, each: {1}\n    def read_file", "Return plain JSON."),
    ("head", "self.embedder, self", "self.mine, self", "task=mytask: the Head has no embedder. Write self.embedder ="),
]  # fmt: skip


@pytest.mark.parametrize("broken", first_ones([*BROKEN, *MORE], 5), ids=[said[:40] for *_, said in (*BROKEN, *MORE)])
def test_what_is_broken_is_one_line_that_says_what_to_write(folder, capsys, broken):
    """Of encoders alone or of tasks alone."""
    module, old, new, said = broken
    [path] = folder.rglob(module if "." in module else f"{module}.py")
    other = "task" if path.parent.name.startswith("encoder") else "encoder"
    if said.startswith("Head.collate"):
        with (folder / "mydata" / "test.txt").open("a") as file:
            file.write("odd\tword .\n")
    for unused in (f"conf/{other}", f"{other}s"):
        shutil.rmtree(folder / unused)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    (folder / "vectors.txt").write_text("word 0.1 0.2\n. 0.3 0.4\n")
    code, lines = checked(folder, capsys, f"suite.weights={GOLDEN}", f"suite.vectors={folder}/vectors.txt")
    wrong = [line for line in lines if line.startswith("WRONG")]
    assert said.format(path=path) in wrong[0]
    assert code == 1


class Module(nn.Module):
    """An encoder that is a network itself. As in every encoder, `parameters` is their number."""

    parameters, dim, layers = 9, 4, 1

    def __init__(self, net):
        super().__init__()
        self.net = net

    def encode(self, sentences):
        return [self.net(torch.ones(1, len(words), 2)) for words in sentences]


def namespace(**parts):
    return SimpleNamespace(encode=Module(nn.Linear(2, 4).requires_grad_(False)).encode, **parts)


class Slots:
    """An encoder without `__dict__`."""

    __slots__ = "net"  # noqa: PLC0205  # one name, as Python allows

    def __init__(self, net):
        self.net = net

    encode = staticmethod(Module(nn.Linear(2, 4).requires_grad_(False)).encode)


class MoreSlots(Slots):
    __slots__ = ()


@pytest.mark.parametrize(
    "made",
    [
        Module,
        Slots,
        MoreSlots,
        lambda net: namespace(net=net, again=[net]),
        lambda net: namespace(nets=[{"first": (net,)}]),
    ],
    ids=["module", "slots", "slots of its class", "attribute", "containers"],
)
def test_every_network_of_an_encoder_is_tested(made):
    encoder = made(nn.Linear(2, 4).eval())
    if isinstance(encoder, nn.Module):
        encoder.eval()
    assert [parameter.shape for parameter in contract_parts._parameters(encoder)] == [(4, 2), (4,)]
    with pytest.raises(UserError, match="need gradients"):
        contract_parts._check_frozen(encoder)
    made_in_training = made(nn.Linear(2, 4).requires_grad_(False))
    with pytest.raises(UserError, match="in training mode"):
        contract_parts._check_frozen(made_in_training)


def test_an_encoder_may_refuse_rare_tokens():
    def check_texts(sentences):
        assert sentences == [contract_parts.ANY_TOKENS]
        raise UserError("no layers for these")

    assert contract_parts.check_tokens(namespace(check_texts=check_texts)).startswith("check_texts refuses an empty")


def test_a_head_that_reads_padding_is_found_once_it_has_learned(folder, capsys):
    """Untrained, its scores differ too little to change a prediction."""
    words = [f"w{n}" for n in range(20)]
    for split, first in (("train", 0), ("dev", 40), ("test", 80)):
        made = ([words[(7 * n + k * k) % 20] for k in range(2 + 13 * n % 29)] for n in range(first, first + 40))
        lines = [f"{'odd' if len(line) % 2 else 'even'}\t{' '.join(line)}\n" for line in made]
        (folder / "mydata" / f"{split}.txt").write_text("".join(lines))
    [path] = folder.rglob("head.py")
    path.write_text(
        path.read_text().replace("x.masked_fill(~text.mask[:, :, None], -2.0).amax(dim=1)", "x.mean(dim=1)")
    )
    (folder / "vectors.txt").write_text("".join(f"{word} 0.{n} 0.{97 * n % 89}\n" for n, word in enumerate(words)))
    lines = checked(folder, capsys, f"suite.weights={GOLDEN}", f"suite.vectors={folder}/vectors.txt")[1]
    assert "Mask padding" in next(line for line in lines if line.startswith("WRONG"))
