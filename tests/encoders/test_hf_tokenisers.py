"""`encoder=hf` reads the pieces of a folder's `tokenizer.json`, whatever class `tokenizer_config.json` names."""

import json
import logging
import shutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.hf_tokenisers import load_tokeniser
from elmo_bench.encoders.hf_words import Pieces

transformers = pytest.importorskip("transformers")
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

LINES = [
    "Anna lives here .",
    "the story of a river in the U.S. , it's a dog and a bird",
    "In 1999 she saw 3.5 cats and 12,345 dogs for $ 60 !",
    "CAFÉ café naïve Straße McDonald's don't DON'T",
    "Москва и шалом 東京 タワー שלום 😀",
] * 30
WORDS = ("Anna", "didn't", "see", "1999", "CAFÉ", "naïve", "dogs", "12,345", "(", "Москва", "東京", "😀", "``", ".")
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
DIGITS = (  # of Qwen2, but for its single digits
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = DIGITS.replace(r"\p{N}{1,3}", r"\p{N}")
QUIET = {"show_progress": False}


def word_piece(marks=BERT, *, lowercase):
    unknown = next(mark for mark in marks if "unk" in mark.lower())
    tokeniser = Tokenizer(models.WordPiece(unk_token=unknown))
    tokeniser.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokeniser.pre_tokenizer, tokeniser.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    tokeniser.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=250, special_tokens=marks, **QUIET))
    return with_ends(tokeniser, marks)


def byte_level(marks=ROBERTA, *, split=None, normalizer=None):
    tokeniser = Tokenizer(models.BPE())
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    before = [pre_tokenizers.Split(Regex(split), "isolated")] if split else []
    tokeniser.pre_tokenizer = pre_tokenizers.Sequence([*before, pieces]) if split else pieces
    tokeniser.decoder = decoders.ByteLevel()
    if normalizer:
        tokeniser.normalizer = normalizer
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=marks, initial_alphabet=letters, **QUIET)
    tokeniser.train_from_iterator(LINES, trainer)
    return with_ends(tokeniser, marks)


def unigram(marks=ROBERTA, *, normalizer=None, pre_tokenizer=None, unknown="<unk>"):
    tokeniser = Tokenizer(models.Unigram())
    if normalizer:
        tokeniser.normalizer = normalizer
    tokeniser.pre_tokenizer = pre_tokenizer or pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=marks, unk_token=unknown, **QUIET)
    tokeniser.train_from_iterator(LINES, trainer)
    return with_ends(tokeniser, marks)


def llama(*, legacy):
    """BPE over pieces of SentencePiece, where a byte of an unknown character is a piece."""
    tokeniser = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    marks = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    if legacy:
        tokeniser.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokeniser.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    latin = [line for line in LINES if line.isascii()]
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=marks, **QUIET)
    tokeniser.train_from_iterator([part for line in latin for part in line.split()], trainer)
    about = json.loads(tokeniser.to_str())
    about["added_tokens"] = about["added_tokens"][:3]  # bytes are pieces, not markers
    return Tokenizer.from_str(json.dumps(about))


def with_ends(tokeniser, marks):
    """With markers around a sentence: the first two of these that are in its vocabulary."""
    first, last = ("[CLS]", "[SEP]") if "[CLS]" in marks else ("<s>", "</s>")
    ends = [(mark, tokeniser.token_to_id(mark)) for mark in (first, last)]
    tokeniser.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ends)
    return tokeniser


class Kind(NamedTuple):
    """A tokeniser, the class that tokenizer_config.json names, the type of its model, and other options of the file."""

    make: object
    named: str | None
    model: str
    options: Mapping = MappingProxyType({})
    differs: bool = False  # the class gives other pieces than the file


NFKC = normalizers.NFKC()
ALBERT = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
DEBERTA = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
XLNET = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"]
T5 = ["<pad>", "</s>", "<unk>", "<s>"]
ACCENTS = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()])
DEBERTA_V2 = normalizers.Sequence(
    [
        normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
        normalizers.NFC(),
        normalizers.Strip(left=False, right=True),
    ]
)
SPACES = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="always")])
KINDS = {
    "bert": Kind(lambda: word_piece(lowercase=True), "BertTokenizer", "bert"),
    "bert, cased": Kind(lambda: word_piece(lowercase=False), "BertTokenizer", "bert", {"do_lower_case": False}),
    "mpnet": Kind(lambda: word_piece([*ROBERTA[:3], "[UNK]", "<mask>"], lowercase=True), "MPNetTokenizer", "mpnet"),
    "electra": Kind(lambda: word_piece(lowercase=True), "ElectraTokenizerFast", "electra"),
    "roberta": Kind(byte_level, "RobertaTokenizer", "roberta"),
    "gpt2": Kind(byte_level, "GPT2TokenizerFast", "gpt2"),
    "modernbert": Kind(lambda: byte_level(BERT), "PreTrainedTokenizerFast", "modernbert"),
    "qwen2": Kind(lambda: byte_level(split=QWEN2, normalizer=normalizers.NFC()), "Qwen2Tokenizer", "qwen2"),
    "deberta": Kind(lambda: byte_level(DEBERTA), "DebertaTokenizer", "deberta"),
    "deberta-v2": Kind(
        lambda: unigram(DEBERTA, normalizer=DEBERTA_V2, pre_tokenizer=SPACES, unknown="[UNK]"), None, "deberta-v2"
    ),
    "xlm-roberta": Kind(unigram, "XLMRobertaTokenizer", "xlm-roberta"),
    "t5": Kind(lambda: unigram(T5), "T5TokenizerFast", "t5"),
    "llama": Kind(lambda: llama(legacy=False), "LlamaTokenizer", "llama"),
    "llama, legacy": Kind(lambda: llama(legacy=True), "LlamaTokenizer", "llama", {"legacy": True}),
    "mamba, no class": Kind(lambda: byte_level(normalizer=normalizers.NFC()), None, "mamba"),
    "distilbert": Kind(lambda: word_piece(lowercase=True), "DistilBertTokenizer", "distilbert"),
    "funnel": Kind(lambda: word_piece(lowercase=True), "FunnelTokenizer", "funnel"),
    "convbert": Kind(lambda: word_piece(lowercase=True), "ConvBertTokenizer", "convbert"),
    "bart": Kind(byte_level, "BartTokenizerFast", "bart"),
    "longformer": Kind(byte_level, "LongformerTokenizer", "longformer"),
    "opt": Kind(byte_level, "GPT2Tokenizer", "opt"),
    "phi": Kind(byte_level, "CodeGenTokenizer", "phi"),
    "bloom": Kind(lambda: byte_level(split=r" ?[^(\s|[.,!?…])]+"), "BloomTokenizerFast", "bloom"),
    "gpt-neox": Kind(byte_level, "GPTNeoXTokenizer", "gpt_neox", differs=True),
    "mistral": Kind(lambda: llama(legacy=False), "LlamaTokenizerFast", "mistral"),
    "gemma": Kind(lambda: llama(legacy=False), "GemmaTokenizer", "gemma3_text", differs=True),
    "camembert": Kind(unigram, "CamembertTokenizerFast", "camembert"),
    "mbart": Kind(unigram, "MBartTokenizerFast", "mbart"),
    "nllb": Kind(unigram, "NllbTokenizerFast", "m2m_100", differs=True),
    "xglm": Kind(unigram, "XGLMTokenizerFast", "xglm"),
    "big-bird": Kind(lambda: unigram(ALBERT), "BigBirdTokenizerFast", "big_bird"),
    "fnet": Kind(lambda: unigram(ALBERT), "FNetTokenizerFast", "fnet"),
    "rembert": Kind(lambda: unigram(ALBERT), "RemBertTokenizerFast", "rembert", differs=True),
    "pegasus": Kind(lambda: unigram(T5), "PegasusTokenizerFast", "pegasus"),
    "camembertv2: WordPiece, RobertaTokenizerFast": Kind(
        lambda: word_piece(lowercase=False), "RobertaTokenizerFast", "roberta", differs=True
    ),
    "another regular expression, Qwen2Tokenizer": Kind(
        lambda: byte_level(split=DIGITS), "Qwen2Tokenizer", "llama", differs=True
    ),
    "BPE, BertTokenizer": Kind(lambda: byte_level(BERT), "BertTokenizer", "bert", differs=True),
    "cased, BertTokenizer of its default": Kind(
        lambda: word_piece(lowercase=False), "BertTokenizer", "bert", differs=True
    ),
    "NFKC, RobertaTokenizer": Kind(lambda: byte_level(normalizer=NFKC), "RobertaTokenizer", "roberta", differs=True),
    "llama-3, GPT2Tokenizer": Kind(lambda: byte_level(split=DIGITS), "GPT2Tokenizer", "gpt2", differs=True),
    "cased, AlbertTokenizer": Kind(lambda: unigram(ALBERT), "AlbertTokenizer", "albert", differs=True),
    "accents, XLNetTokenizer": Kind(lambda: unigram(XLNET), "XLNetTokenizer", "xlnet", differs=True),
    "other unknown piece, XLMRobertaTokenizer": Kind(
        lambda: unigram(T5), "XLMRobertaTokenizer", "xlm-roberta", differs=True
    ),
    "stripped accents, T5Tokenizer": Kind(lambda: unigram(T5, normalizer=ACCENTS), "T5Tokenizer", "t5", differs=True),
    "WordPiece, T5Tokenizer, which cannot be made": Kind(
        lambda: word_piece(lowercase=True), "T5Tokenizer", "t5", differs=True
    ),
    "BPE, CamembertTokenizer, which cannot be made": Kind(byte_level, "CamembertTokenizer", "camembert", differs=True),
    "byte level, LlamaTokenizer of a bert": Kind(lambda: byte_level(T5), "LlamaTokenizer", "bert"),
}


@pytest.fixture(scope="module", params=KINDS)
def saved(request, tmp_path_factory):
    """(its name, a folder with a tokeniser as on a hub, the tokeniser of the file alone)."""
    kind = KINDS[request.param]
    tokeniser = kind.make()
    folder = write(tmp_path_factory.mktemp("model"), tokeniser, kind.named, kind.model, **kind.options)
    return request.param, folder, tokeniser


def write(folder, tokeniser, named, model, **options):
    logging.getLogger("transformers").setLevel(logging.ERROR)
    tokeniser.save(str(folder / "tokenizer.json"))
    about = {"model_max_length": 128, **options} | ({"tokenizer_class": named} if named else {})
    known = tokeniser.get_vocab()
    names = {"pad_token": ("[PAD]", "<pad>"), "unk_token": ("[UNK]", "<unk>"), "mask_token": ("[MASK]", "<mask>")}
    for name, marks in names.items():
        if here := [mark for mark in marks if mark in known]:
            about[name] = here[0]
    (folder / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"model_type": model}), encoding="utf-8")
    return folder


def test_the_pieces_are_those_of_the_file(saved, capsys):
    """As words, where the first begins as it does within a text; the reference is tokenizers alone."""
    name, folder, tokeniser = saved
    loaded = load_tokeniser(folder, name=folder)
    told = capsys.readouterr().err
    assert ("so the file is used" in told) == KINDS[name].differs, told
    pieces = Pieces(loaded, name=name)
    found = pieces.backend.encode(list(WORDS), is_pretokenized=True, add_special_tokens=False)
    spaced = " " if "Ġ" in "".join(found.tokens) else ""
    assert found.tokens == tokeniser.encode(spaced + " ".join(WORDS), add_special_tokens=False).tokens
    assert found.ids == tokeniser.encode(spaced + " ".join(WORDS), add_special_tokens=False).ids
    assert loaded.model_max_length == 128
    if KINDS[name].differs:  # markers, too
        assert pieces.backend.encode("dog").ids[:1] == tokeniser.encode("dog").ids[:1]


def test_a_network_reads_the_pieces_of_the_file(tmp_path):
    """End to end: its layers equal the layers of the same file under a class that takes it unchanged."""
    config = transformers.BertConfig(
        vocab_size=400, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    model = transformers.BertModel(config)
    tokeniser = word_piece(lowercase=False)
    layers, checksums = [], []
    for named in ("RobertaTokenizerFast", "PreTrainedTokenizerFast"):
        folder = tmp_path / named
        folder.mkdir()
        write(folder, tokeniser, named, "bert")
        model.save_pretrained(folder)
        encoder = HfEncoder(weights=str(folder))
        layers.append(encoder.encode([WORDS])[0])
        checksums.append(encoder.checksum.partition(" pieces ")[2])
    assert layers[0].equal(layers[1])
    assert checksums[0] == checksums[1]


def test_a_tokeniser_that_cannot_give_the_pieces_of_the_file_is_refused(tmp_path):
    """A marker of tokenizer_config.json that is a part of words."""
    write(tmp_path, word_piece(lowercase=False), "BertTokenizer", "bert", extra_special_tokens=["nn"])
    with pytest.raises(UserError) as error:
        load_tokeniser(tmp_path, name=tmp_path)
    assert str(error.value) == (
        f"encoder.name={tmp_path}: BertTokenizer of transformers does not give the pieces of tokenizer.json, and "
        "tokenizer_config.json changes these. Save the tokeniser that the model was trained with."
    )


@pytest.mark.parametrize("model", ["bert", "vit"])
def test_code_of_a_tokeniser_never_runs(tmp_path, model):
    """Where transformers has a class for the model, it takes that, and else refuses."""
    tokeniser = word_piece(lowercase=True)
    write(tmp_path, tokeniser, "Mine", model, auto_map={"AutoTokenizer": [None, "code.Mine"]})
    (tmp_path / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    if model == "bert":
        found = load_tokeniser(tmp_path, name=tmp_path).backend_tokenizer
        assert found.encode("Anna lives here").ids == tokeniser.encode("Anna lives here").ids
    else:
        with pytest.raises(ValueError, match="trust_remote_code"):
            load_tokeniser(tmp_path, name=tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_damaged_file_is_one_line(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    about = json.loads((other / "tokenizer.json").read_text(encoding="utf-8"))
    for damaged in ({}, about | {"model": {"type": "WordPiece"}}, about | {"pre_tokenizer": {"type": "None such"}}):
        (other / "tokenizer.json").write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(UserError, match=f"^{other}: not a model that transformers can load, or damaged"):
            HfEncoder(weights=str(other))
