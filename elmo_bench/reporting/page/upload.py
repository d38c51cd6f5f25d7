"""The tables and figures as one run on wandb. Only this part of a report uses a network, and only if asked to."""

import os
import tempfile
from pathlib import Path

from elmo_bench.reporting.leaderboard import Leaderboard


def upload(board: Leaderboard, out: Path, *, project: str) -> str:
    """Log every table and figure that was written to `out`. Returns the run's address or, offline, its folder.

    Offline unless a key is set (`$WANDB_API_KEY`, `wandb login`) or `$WANDB_MODE` is online; `wandb sync FOLDER`
    uploads an offline run later.
    """
    import wandb

    online = bool(os.environ.get("WANDB_API_KEY") or wandb.api.api_key)
    mode = os.environ.get("WANDB_MODE", "online" if online else "offline")
    tables = {
        table.stem: wandb.Table(
            columns=[column.name for column in table.columns], data=[[cell.text for cell in row] for row in table.rows]
        )
        for table in board.tables
    }
    figures = {
        f"figure {figure.stem}": wandb.Image(str(out / "figures" / f"{figure.stem}.png"), caption=figure.title)
        for figure in board.figures
    }
    folder = os.environ.get("WANDB_DIR", tempfile.gettempdir() if mode == "online" else ".")
    with wandb.init(project=project, name="report", job_type="report", mode=mode, dir=folder) as run:  # type: ignore[arg-type]
        run.log({**tables, **figures})
        return run.url or str(Path(run.dir).parent)
