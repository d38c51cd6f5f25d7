"""`pretrain-masked` on a tiny corpus: rows, masks, resuming, and the folder that the hf encoder reads."""

import csv
import json

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard

from elmo_bench.__main__ import main
from elmo_bench.base import int8
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.pretraining.masked import train
from elmo_bench.pretraining.masked.model import IGNORED, MaskedLoss, capacity, mask_words
from elmo_bench.pretraining.masked.text import CLS, MASK, PAD, SEP, SPECIAL, pack, rows_of, train_tokenizer
from tests.pretraining.corpora import write

WIDTH, PIECES = 32, 60
TINY = (
    "threads=1", f"vocabulary={PIECES}", f"width={WIDTH}", "hidden=32", "layers=2", "heads=2", "batch=4", "warmup=10",
    "learning_rate=0.01", "precision=float32", "compile=false", "log_steps=10", "tokenizer_lines=1000",
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with 200 sentences in two files; one sentence is longer than a row."""
    folder = tmp_path_factory.mktemp("masked")
    write(folder, count=200)
    with (folder / "part-1.txt").open("a", encoding="utf-8") as file:
        file.write("the cats sleep " * 20 + "\n")
    return folder


def pretrain(corpus, out, *more):
    return main(["pretrain-masked", f"corpus='{corpus}/part-*.txt'", f"heldout={corpus}/part-0.txt", f"out={out}",
                 *TINY, *more])  # fmt: skip


def curve(out, name="curve.csv"):
    """The rows of a curve without the seconds."""
    with (out / name).open(encoding="utf-8", newline="") as file:
        return [row[:-1] for row in csv.reader(file)][1:]


@pytest.fixture(scope="module", autouse=True)
def _all_matrices_become_int8():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(int8, "SMALL", 0)  # the matrices of these models are tiny
        yield


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained") / "my-bert"
    assert pretrain(corpus, out, "steps=120", "licence=cc-by-sa-3.0") == 0
    return out


def test_rows_hold_every_stretch_once_behind_and_before_a_marker():
    pieces = np.arange(10, 60, dtype=np.int16)
    lengths = np.array([5, 14, 1, 20, 10])
    starts = np.cumsum(lengths) - lengths
    rows = pack(pieces, starts, lengths, width=22)
    found = []
    for row in rows:
        for stretch in np.split(row, np.flatnonzero(row == SEP) + 1)[:-1]:
            assert (stretch[0], stretch[-1]) == (CLS, SEP)
            found.append(stretch[1:-1].tolist())
    assert sorted(found) == [pieces[s : s + n].tolist() for s, n in zip(starts, lengths, strict=True)]
    assert len(rows) == 3  # 22, 16 and 3, 12 and 7


def test_rows_are_the_text_in_both_ways(corpus):
    files = [corpus / "part-0.txt", corpus / "part-1.txt"]
    tokenizer = train_tokenizer(files, size=PIECES, lines=1000)
    kinds = ("alone", "together", "both")
    rows = rows_of(files, tokenizer, width=WIDTH, kinds=kinds, processes=1)
    words = sum(len(line.split()) for file in files for line in file.read_text().splitlines())
    assert (rows.words, rows.sentences) == (words, 201)
    for kind, times in (("alone", 1), ("together", 1), ("both", 2)):
        table = rows.rows[kind]
        inside = (table < 0) | (table >= len(SPECIAL))
        assert inside.sum() == times * rows.pieces
        assert (inside & (table >= 0)).sum() == times * words  # ~id continues a word
        assert (table == CLS).sum() == (table == SEP).sum()
    assert (rows.rows["together"] == CLS).sum() < (rows.rows["alone"] == CLS).sum() / 2


def made_rows(count=400, width=64):
    """Rows of sentences with words of one to three pieces."""
    draw = np.random.default_rng(0)
    rows = np.full((count, width), PAD, dtype=np.int16)
    for row in rows:
        place = 0
        while place < width - 12:
            row[place] = CLS
            sentence = draw.integers(len(SPECIAL), 1000, size=int(draw.integers(1, 10)))
            continued = draw.random(len(sentence)) < 0.4
            continued[0] = False
            row[place + 1 : place + 1 + len(sentence)] = np.where(continued, ~sentence, sentence)
            place += len(sentence) + 2
            row[place - 1] = SEP
    return torch.from_numpy(rows)


def test_whole_words_are_masked_and_nothing_else_is_predicted():
    rows = made_rows()
    made = mask_words(rows, share=0.15, vocabulary=1000, generator=torch.Generator().manual_seed(1))
    flat = rows.long().flatten()
    ids = torch.where(flat >= 0, flat, ~flat)
    used = made.targets != IGNORED
    chosen = torch.zeros_like(ids, dtype=torch.bool)
    chosen[made.picked[used]] = True
    assert chosen.sum() == used.sum()  # no piece twice
    assert torch.equal(made.targets[used], ids[made.picked[used]])
    read = made.ids.flatten()
    assert torch.equal(read[~chosen], ids[~chosen])
    assert not chosen[ids < len(SPECIAL)].any()
    continued = flat < 0
    assert torch.equal(chosen[continued], chosen.roll(1)[continued])  # as the piece before it
    starts = (flat >= len(SPECIAL)) & ~continued
    assert chosen[starts].float().mean() == pytest.approx(0.15, abs=0.01)
    assert (read[chosen] == MASK).float().mean() == pytest.approx(0.8, abs=0.03)
    assert (read[chosen] == ids[chosen]).float().mean() == pytest.approx(0.1, abs=0.03)


def test_masks_beyond_the_slots_are_dropped():
    rows = torch.full((1, 8), 7, dtype=torch.int16)
    generator = torch.Generator().manual_seed(0)
    assert capacity(8, 1.0) == 8
    made = mask_words(rows, share=1.0, vocabulary=10, generator=generator)
    assert made.targets.tolist() == [7] * 8
    assert made.picked.tolist() == list(range(8))


def test_a_sentence_in_a_row_gives_what_it_gives_alone():
    rows = made_rows(count=4)
    made = mask_words(rows, share=0.0, vocabulary=1000, generator=torch.Generator().manual_seed(0))
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertModel(BertConfig(vocab_size=1000, max_position_embeddings=64, **shape)).eval()
    with torch.no_grad():
        packed = model(input_ids=made.ids, position_ids=made.positions, attention_mask=made.sees).last_hidden_state
        for row, vectors in zip(made.ids, packed, strict=True):
            ends = (row == SEP).nonzero().flatten() + 1
            for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
                alone = model(input_ids=row[None, start:end]).last_hidden_state[0]
                torch.testing.assert_close(vectors[start:end], alone, atol=1e-5, rtol=1e-4)


def test_the_loss_falls_and_the_folder_is_complete(trained, corpus):
    steps = curve(trained)
    assert [int(row[0]) for row in steps] == list(range(10, 121, 10))
    first, last = float(steps[0][2]), float(steps[-1][2])
    assert last < first - 1
    heldout = {name: float(loss) for _, name, loss in curve(trained, "heldout.csv")}
    assert set(heldout) == {"alone", "together"}
    assert heldout["alone"] < first - 1
    names = {
        "config.json", "model.int8.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md", "curve.csv",
        "heldout.csv", "checkpoints", "text.safetensors",
    }  # fmt: skip
    assert {path.name for path in trained.iterdir()} == names
    card = ModelCard.load(trained / "README.md")
    assert card.data.license == "cc-by-sa-3.0"
    assert "part-0.txt to part-1.txt, 2 files" in card.text
    assert "120 steps" in card.text
    said = float(card.text.partition("rows alone | **")[2].partition("**")[0])
    assert said == pytest.approx(heldout["alone"], abs=0.05)  # the card's is of the int8 weights


def test_the_hf_encoder_reads_int8_as_it_reads_float_weights(trained, corpus, tmp_path):
    plain = tmp_path / "plain"
    assert pretrain(corpus, plain, "steps=120", "dtype=float16") == 0
    sentences = [["the", "old", "cats", "sleep", "."], ["dogs", "bark"]]
    packed, floats = (HfEncoder(weights=str(folder)) for folder in (trained, plain))
    assert packed.checksum != floats.checksum
    assert (packed.layers, packed.dim, packed.parameters) == (3, 32, floats.parameters)
    for ours, theirs in zip(packed.encode(sentences), floats.encode(sentences), strict=True):
        assert ours.shape == theirs.shape
        assert torch.nn.functional.cosine_similarity(ours, theirs, dim=2).min() > 0.999
        assert not torch.equal(ours, theirs)


def test_a_killed_training_resumes_and_gives_the_same_curve(trained, corpus, tmp_path, monkeypatch):
    out = tmp_path / "my-bert"
    calls = 0

    def killed(self, *arguments):
        nonlocal calls
        calls += 1
        if calls == 70:
            raise KeyboardInterrupt
        return step(self, *arguments)

    step = train.Training._step
    monkeypatch.setattr(train.Training, "_step", killed)
    with pytest.raises(KeyboardInterrupt):
        pretrain(corpus, out, "steps=120", "checkpoint_minutes=0")
    assert len(list((out / "checkpoints").iterdir())) == 2
    (out / "checkpoints" / "00000060.ckpt").write_bytes(b"cut off")
    monkeypatch.undo()
    assert pretrain(corpus, out, "steps=120", "checkpoint_minutes=0") == 0
    assert curve(out) == curve(trained)
    assert (out / "model.int8.safetensors").read_bytes() == (trained / "model.int8.safetensors").read_bytes()


def test_no_steps_only_prepare_the_text(corpus, tmp_path):
    out = tmp_path / "my-bert"
    assert pretrain(corpus, out, "steps=0") == 0
    assert {path.name for path in out.iterdir()} == {"text.safetensors", "tokenizer.json", "tokenizer_config.json"}


def test_minutes_end_the_training_at_a_rate_of_zero(corpus, tmp_path):
    out = tmp_path / "my-bert"
    assert pretrain(corpus, out, "minutes=0") == 0
    assert {path.name for path in out.iterdir()} == {"text.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert pretrain(corpus, out, "minutes=0.05") == 0
    rates = [float(row[3]) for row in curve(out)]
    assert rates[-1] < 0.05 * max(rates)


def test_a_loss_that_is_not_a_number_ends_in_one_line(corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(MaskedLoss, "forward", lambda self, **batch: self.model.cls.predictions.bias.sum() * torch.nan)
    assert pretrain(corpus, tmp_path / "out", "steps=20") == 2
    assert "step 10: the loss is not a number" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the compiler
def test_compiled_steps_give_the_loss_of_plain_ones(trained, corpus, tmp_path, capsys):
    out = tmp_path / "my-bert"
    assert pretrain(corpus, out, "steps=10", "compile=true") == 0
    said = capsys.readouterr().err
    assert "not compiled" not in said
    assert "compiled after" in said
    plain = tmp_path / "plain"
    assert pretrain(corpus, plain, "steps=10") == 0
    assert float(curve(out)[0][2]) == pytest.approx(float(curve(plain)[0][2]), rel=1e-3)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "give either minutes=… or steps=…"),
        (["steps=1", "minutes=1"], "give either minutes=… or steps=…"),
        (["steps=-1"], "must not be negative"),
        (["steps=1", "vocabulary=5"], "vocabulary=5: give a whole number from 6"),
        (["steps=1", "layers=0"], "layers=0: give a whole number from 1"),
        (["steps=1", "vocabulary=40000"], "Give at most 32767"),
        (["steps=1", "heads=3"], "not a multiple of heads=3"),
        (["steps=1", "dtype=int4"], "Choose int8 or float16"),
        (["steps=1", "corpus=nothing.txt"], "nothing.txt: no file matches"),
    ],
)
def test_mistakes(corpus, tmp_path, more, message, capsys):
    assert pretrain(corpus, tmp_path / "out", *more) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [(["width=16"], "made with other width"), (["hidden=16"], "a model of another shape")],
)
def test_a_folder_of_another_training_is_refused(trained, corpus, more, message, capsys):
    assert pretrain(corpus, trained, "steps=120", *more) == 2
    assert message in capsys.readouterr().err


def test_a_changed_text_of_the_same_name_is_refused(corpus, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_bytes(sorted(corpus.glob("*.txt"))[0].read_bytes())
    assert pretrain(corpus, tmp_path / "out", "steps=0", f"corpus={path}") == 0
    path.write_bytes(path.read_bytes() * 2)
    assert pretrain(corpus, tmp_path / "out", "steps=0", f"corpus={path}") == 2
    assert "text.safetensors: made with other bytes" in capsys.readouterr().err


def test_a_cut_int8_file_is_refused(trained, tmp_path, capsys):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.int8.safetensors"):
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(Exception, match=r"16 of the weights in config\.json are missing"):
        HfEncoder(weights=str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(config | {"hidden_size": 64}))
    with pytest.raises(Exception, match="that transformers can load"):
        HfEncoder(weights=str(tmp_path))
    whole = (tmp_path / "model.int8.safetensors").read_bytes()
    (tmp_path / "model.int8.safetensors").write_bytes(whole[:-10])
    with pytest.raises(Exception, match="not a readable safetensors file"):
        HfEncoder(weights=str(tmp_path))
