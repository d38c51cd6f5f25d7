"""The leaderboard as files: README.md, index.html, and the tables and figures as separate files."""

from elmo_bench.reporting.page.files import write
from elmo_bench.reporting.page.upload import upload

__all__ = ["upload", "write"]
