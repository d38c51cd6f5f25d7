"""What every reader makes of a pointer of Git LFS in place of its file, and of NUL bytes in a text."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from tests.fuzz.readers import cases
from tests.fuzz.test_readers import check

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
# Who reads it says what it is for: a holder, a form and layers of the cache are then as if there were no file, a
# ledger lists a problem, options and yamls are no data; a table of the Hub is named by its address.
WITHOUT = {
    "elmo_bench.ledger.locks:read_holder", "elmo_bench.text.csv_rows:form_of_csv",
    "elmo_bench.encoders.layer_files:read_layers", "elmo_bench.ledger.store:read_all",
    "elmo_bench.ledger.costs:read_costs", "elmo_bench.spec.config:compose",
    "elmo_bench.spec.conf_files:experiment_yaml", "elmo_bench.base.hub:hub_table",
}  # fmt: skip
# Texts whose words may be any bytes: each is read, and the note says that it may be damaged.
TEXTS = {
    "elmo_bench.base.files:read_lines", "elmo_bench.elmo.embed:read", "elmo_bench.text.columns:read_columns",
    "elmo_bench.text.sizes:lines_of", "elmo_bench.text.token_labels:read_conllu",
    "elmo_bench.pretraining.encode:Corpus.sentences",
    "coref:read_file", "deprel:read_file", "deprel:score_files", "ner:read_file", "ner:score_files",
    "pos:score_files", "srl:read_file", "tagging:read_file", "tagging:score_files",
}  # fmt: skip


def files_of(case, folder):
    """The files that are damaged in `case`, after it has made them."""
    folder.mkdir(exist_ok=True)
    case.make(folder)
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.match(case.damaged)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.reader)
def test_a_pointer_of_git_lfs_is_named_by_every_reader(case, tmp_path):
    for path in files_of(case, tmp_path / "files"):
        sound = path.read_bytes()
        path.write_bytes(POINTER)
        if case.reader in WITHOUT:
            try:
                check(case.read(tmp_path / "files"), finite=False)
            except UserError as error:
                assert "\n" not in str(error)
        else:
            with pytest.raises(UserError, match=r"a pointer of Git LFS in place of the file\. Get the file: git lfs"):
                check(case.read(tmp_path / "files"), finite=False)
        path.write_bytes(sound)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [case for case in cases() if case.reader in TEXTS], ids=lambda case: case.reader)
def test_nul_bytes_in_a_text_are_noted_by_every_reader(case, tmp_path):
    path, *_ = files_of(case, tmp_path / "files")
    if path.suffix in (".gz", ".xz"):
        return  # damage to what it is packed in
    sound = path.read_bytes()
    for content, is_noted in ((sound, False), (sound.replace(b"\n", b"\n\0", 1), True)):
        path.write_bytes(content)
        with noted() as notes:
            check(case.read(tmp_path / "files"), finite=False)
        assert any("NUL byte" in line for line in notes) == is_noted
