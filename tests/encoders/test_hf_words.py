"""`encoder=hf` with the tokenisers of each family: words have the pieces of the text, and texts of any length work."""

import copy
import json
import logging
from types import SimpleNamespace

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import hf
from elmo_bench.encoders.cache import LayerStore
from elmo_bench.encoders.hf import HfEncoder

transformers = pytest.importorskip("transformers")
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

from elmo_bench.encoders.hf_words import Pieces, _parts  # noqa: E402

LINES = ["Anna lives here .", "the story of a river", "it's a dog and a bird , she saw 3.5 cats in the U.S. !"] * 30
MARKS = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOOM = r" ?[^(\s|[.,!?…])]+"
WORDS = ["Anna", "saw", "it's", "3.5", "U.S.", "dog", "(", "unbelievable", "!", "…"]


def byte_level(split=None):
    """Byte-level BPE; `split`: the regular expression of a pre-tokeniser before it."""
    tokeniser = Tokenizer(models.BPE())
    own = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    before = [pre_tokenizers.Split(Regex(split), "isolated")] if split else []
    tokeniser.pre_tokenizer = pre_tokenizers.Sequence([*before, own]) if split else own
    tokeniser.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    given = {"special_tokens": MARKS, "initial_alphabet": letters, "show_progress": False}
    tokeniser.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=340, **given))
    return tokeniser


def unigram():
    tokeniser = Tokenizer(models.Unigram())
    tokeniser.pre_tokenizer = pre_tokenizers.Metaspace()
    given = {"special_tokens": MARKS, "unk_token": "<unk>", "show_progress": False}
    tokeniser.train_from_iterator(LINES, trainers.UnigramTrainer(vocab_size=70, **given))
    return tokeniser


def word_piece():
    tokeniser = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokeniser.normalizer, tokeniser.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    given = {"special_tokens": MARKS, "show_progress": False}
    tokeniser.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=120, **given))
    ends = [("<s>", 1), ("</s>", 2)]
    tokeniser.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return tokeniser


BERT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "pad_token_id": 0}
BERT |= {"max_position_embeddings": 34, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 34}
FAMILIES = {  # a name, the model's type, its tokeniser, the class that tokenizer_config.json names, and sizes
    "modernbert": ("modernbert", byte_level, None, BERT),
    "llama-3": ("llama", lambda: byte_level(LLAMA3), None, BERT),
    "bloom": ("bloom", lambda: byte_level(BLOOM), None, {"hidden_size": 16, "n_layer": 2, "n_head": 2}),
    "gpt2": ("gpt2", byte_level, "GPT2Tokenizer", GPT2),
    "qwen2": ("qwen2", lambda: byte_level(LLAMA3), "Qwen2Tokenizer", BERT | {"num_key_value_heads": 2}),
    "mamba": ("mamba", byte_level, None, {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}),
    "t5": ("t5", unigram, "T5Tokenizer", {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}),
    "xlm-roberta": ("xlm-roberta", unigram, "XLMRobertaTokenizer", BERT),
    "electra": ("electra", word_piece, None, BERT | {"embedding_size": 16}),
    "mpt": ("mpt", byte_level, None, {"d_model": 16, "n_heads": 2, "n_layers": 2, "max_seq_len": 34}),
}
UNLIMITED = {"bloom", "mamba", "t5"}


def save(folder, kind, tokeniser, named, sizes):
    """A tiny model of random weights with a tokeniser, as `save_pretrained` writes them, with room for all pieces."""
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokeniser, pad_token="<pad>", unk_token="<unk>")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(kind, vocab_size=len(fast) + 3, **sizes)
        transformers.AutoModel.from_config(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(about | ({"tokenizer_class": named} if named else {})), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return {
        name: HfEncoder(weights=str(save(root / name, kind, make(), *more)))
        for name, (kind, make, *more) in FAMILIES.items()
    }


def without_marks(tokens):
    return [token for token in tokens if token not in MARKS]


@pytest.mark.parametrize("name", FAMILIES)
def test_words_have_the_pieces_of_the_text(encoders, name):
    """The reference is `tokenizers` alone with an unchanged tokeniser. Where spaces are marked, the text starts with a
    space, so that its first word has the same pieces as later on."""
    found = encoders[name].words.backend.encode(WORDS, is_pretokenized=True).tokens
    tokeniser = FAMILIES[name][1]()
    spaced = isinstance(tokeniser.model, models.BPE)
    assert without_marks(found) == without_marks(tokeniser.encode(" " * spaced + " ".join(WORDS)).tokens)


CHANGES = {  # what another version of a tokeniser did to a text; each is seen in the pieces of the samples
    "lower case": normalizers.Lowercase(),
    "accents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    "composed letters": normalizers.NFC(),
    "compatible letters": normalizers.NFKC(),
    "digits": normalizers.Replace(Regex(r"\d"), "0"),
    "apostrophes": normalizers.Replace("'", ""),
    "curved apostrophes": normalizers.Replace("\u2019", "'"),
    "points in words": normalizers.Replace(Regex(r"(?<=\w)\.(?=\w)"), ""),
    "Cyrillic": normalizers.Replace(Regex(r"\p{Cyrillic}"), "?"),
    "Chinese": normalizers.Replace(Regex(r"\p{Han}"), "?"),
    "emoji": normalizers.Replace(Regex(r"\p{Emoji_Presentation}"), ""),
}


def test_pieces_are_a_part_of_the_checksum_and_of_the_key_of_layers(tmp_path, monkeypatch):
    """The files stay; a change of the library is a changed tokeniser."""
    folder = save(tmp_path / "gpt2", "gpt2", byte_level(), "GPT2Tokenizer", GPT2)
    usual = HfEncoder(weights=str(folder))
    assert HfEncoder(weights=str(folder)).checksum == usual.checksum
    found = {usual.checksum: "unchanged"}
    keys = {LayerStore(usual, mode="ram")._key(("a",))}
    model, tokeniser = hf.load_model(folder)
    for name, change in CHANGES.items():
        changed = copy.deepcopy(tokeniser)
        changed.backend_tokenizer.normalizer = change
        monkeypatch.setattr(hf, "load_model", lambda folder, changed=changed: (model, changed))
        encoder = HfEncoder(weights=str(folder))
        assert encoder.checksum.partition(" pieces ")[0] == usual.checksum.partition(" pieces ")[0]
        assert encoder.checksum not in found, (name, found)
        found[encoder.checksum] = name
        keys.add(LayerStore(encoder, mode="ram")._key(("a",)))
    assert len(keys) == len(found)


def test_a_tokeniser_without_a_piece_for_unknown_text_has_a_checksum(tmp_path):
    closed = Tokenizer(models.WordLevel({"a": 0, "dog": 1}, unk_token="<unk>"))
    closed.pre_tokenizer = pre_tokenizers.Whitespace()
    pieces = Pieces(SimpleNamespace(backend_tokenizer=closed), name="closed")
    assert len(pieces.digest()) == 64


@pytest.mark.parametrize("removed", [normalizers.Replace(" ", ""), normalizers.Replace(Regex("(?<=a )dog"), "")])
def test_a_tokeniser_that_joins_or_removes_words_of_a_text_is_refused(removed):
    tokeniser = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "dog": 2, "adog": 3}, unk_token="<unk>"))
    tokeniser.pre_tokenizer = pre_tokenizers.Whitespace()
    Pieces(SimpleNamespace(backend_tokenizer=tokeniser), name="mine")
    tokeniser.normalizer = removed
    said = (
        "encoder.name=mine: its tokeniser reads the words 'a', 'dog' otherwise than the text 'a dog'. "
        "Give a model whose tokeniser keeps words apart."
    )
    with pytest.raises(UserError, match=f"^{said}$"):
        Pieces(SimpleNamespace(backend_tokenizer=tokeniser), name="mine")


@pytest.mark.parametrize("name", FAMILIES)
def test_texts_of_any_length_have_vectors_that_depend_on_nothing_else(encoders, name):
    encoder = encoders[name]
    assert encoder.size > 1
    assert (encoder.longest > 10**8) == (name in UNLIMITED)
    at = ["a"] * (min(encoder.longest, 100) - encoder.words.markers)
    texts = [[], [""], WORDS, at, [*at, "a"], ["dog"], at * 5]
    for text, layers in zip(texts, encoder.encode(texts), strict=True):
        assert layers.shape == (encoder.layers, len(text), encoder.dim)
        torch.testing.assert_close(layers, encoder.encode([text])[0], atol=1e-5, rtol=1e-5)
        assert layers.isfinite().all()
        assert bool(layers.any()) == (text not in ([], [""]))


def test_a_word_of_too_many_pieces_keeps_its_first_ones(encoders):
    encoder = encoders["gpt2"]
    [parts] = encoder.words.parts([["a", "xyz" * 30, "", "a"]], longest=8)
    assert [part.words for part in parts] == [1, 1, 2]
    assert parts[1].ids == encoder.words.backend.encode(" " + "xyz" * 30).ids[1:9]
    assert parts[1].owners == [0] * 8
    assert {*parts[2].owners} == {1}


def test_a_model_that_mixes_its_texts_reads_one_at_a_time_and_says_so(tmp_path, capsys):
    encoder = HfEncoder(weights=str(save(tmp_path / "fnet", "fnet", unigram(), None, BERT)))
    assert "vectors depend on the other sentences, so it reads one at a time" in capsys.readouterr().err
    for text, layers in zip([WORDS, ["a"]], encoder.encode([WORDS, ["a"]]), strict=True):
        torch.testing.assert_close(layers, encoder.encode([text])[0], atol=0, rtol=0)


@pytest.mark.parametrize("wanted", ["flash_attention_2", "stranger/kernel", "paged|stranger/kernel", "flex_attention"])
def test_the_configuration_chooses_no_attention(tmp_path, monkeypatch, encoders, wanted):
    folder = save(tmp_path / "gpt2", "gpt2", byte_level(), "GPT2Tokenizer", GPT2)
    about = json.loads((folder / "config.json").read_text())
    for key in ("attn_implementation", "_attn_implementation"):
        about[key] = wanted
    (folder / "config.json").write_text(json.dumps(about))
    asked = []
    for name in ("lazy_import_flash_attention", "is_kernel"):
        old = getattr(transformers.modeling_utils, name)
        spy = lambda *given, _old=old, **more: asked.append(given[0]) or _old(*given, **more)  # noqa: E731
        monkeypatch.setattr(transformers.modeling_utils, name, spy)
    encoder = HfEncoder(weights=str(folder))
    assert encoder.model.config._attn_implementation == "sdpa"
    assert {*asked} <= {"sdpa", "eager"}
    torch.testing.assert_close(encoder.encode([WORDS])[0], encoders["gpt2"].encode([WORDS])[0])


def test_every_part_of_a_long_text_is_between_the_markers():
    """1 and 2 are the markers; the second of four words has two pieces."""
    found = list(_parts([1, 10, 20, 21, 30, 40, 2], [None, 0, 1, 1, 2, 3, None], 4, 5))
    assert [part.ids for part in found] == [[1, 10, 2], [1, 20, 21, 2], [1, 30, 40, 2]]
    assert [part.owners for part in found] == [[-1, 0, -1], [-1, 0, 0, -1], [-1, 0, 1, -1]]


def test_half_a_surrogate_pair_is_left_out_as_in_elmo(encoders):
    encoder = encoders["gpt2"]
    with_halves, alone = encoder.encode([["dog\ud83d", "\udc00", "a"], ["dog", "", "a"]])
    assert torch.equal(with_halves, alone)


def test_frequencies_stay_exact_in_bfloat16_and_tables_have_the_type_of_the_vectors(tmp_path):
    """Rounded frequencies turn a late position by radians. XGLM adds its table of positions to the vectors."""
    sizes = {"d_model": 16, "num_layers": 2, "attention_heads": 2, "ffn_dim": 32, "max_position_embeddings": 34}
    for kind, more in (("llama", BERT | {"max_position_embeddings": 999}), ("xglm", sizes)):
        folder = save(tmp_path / kind, kind, byte_level(), None, more)
        exact, rounded = (HfEncoder(weights=str(folder), precision=each) for each in ("float32", "bfloat16"))
        [layers], [expected] = rounded.encode([WORDS]), exact.encode([WORDS])
        torch.testing.assert_close(layers, expected, atol=0.1, rtol=0.1)
        assert {each.dtype for each in rounded.model.parameters()} == {torch.bfloat16}
        found = [*zip(rounded.model.named_buffers(), exact.model.buffers(), strict=True)]
        for (name, ours), theirs in found:
            assert torch.equal(ours, theirs) or "freq" not in name
        assert any("freq" in name for (name, _), _ in found) == (kind == "llama")
