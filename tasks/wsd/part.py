"""The part of a repository's archive that is SemCor's tag files, as an archive of its own."""

import gzip
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.reading import reading

LARGEST = 2**25  # bytes of the tag files together; SemCor 3.0 has 22 MB


def make(source: Path, path: Path, *, folders: Sequence[str]) -> None:
    """Write a .tar.gz with the files in `FOLDER/tagfiles` of these folders, sorted by name. Raises UserError.

    Equal files give an equal archive.
    """
    found: dict[str, bytes] = {}
    with reading(source, "an archive of SemCor", "Delete it to download it again."), tarfile.open(source) as archive:
        for member in archive:
            parts = PurePosixPath(member.name).parts
            if parts[-2:-1] == ("tagfiles",) and parts[-3:-2] and parts[-3] in folders and member.isreg():
                file = archive.extractfile(member)
                assert file is not None
                found["/".join(parts[-3:])] = file.read(LARGEST + 1)
            if sum(map(len, found.values())) > LARGEST:
                raise UserError(f"{source}: more than {LARGEST:,} bytes of tag files. Delete it to download it again.")
    if missing := set(folders) - {name.split("/")[0] for name in found}:
        raise UserError(f"{source}: no folder {min(missing)}/tagfiles. Delete it to download it again.")
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, data in sorted(found.items()):
            about = tarfile.TarInfo(f"semcor3.0/{name}")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    with atomic_write(path) as handle:
        handle.write(gzip.compress(content.getvalue(), mtime=0))
