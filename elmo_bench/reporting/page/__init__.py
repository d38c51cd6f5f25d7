"""The leaderboard as pages and files."""

from elmo_bench.reporting.page.files import upload, write

__all__ = ["upload", "write"]
