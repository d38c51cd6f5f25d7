"""From seconds to speeds and ratios, and their table."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gemm
from ours import Sentences


@dataclass(frozen=True, kw_only=True)
class Work:
    """What was encoded, and what the machine's products reach: operations a second by precision."""

    options: Mapping[str, Any]
    sentences: Sentences
    peaks: Mapping[str, float | None]

    @property
    def tokens(self) -> int:
        """Without the markers."""
        return sum(map(len, self.sentences))

    def floor(self, precision: str, *, characters: bool) -> float | None:
        """Seconds that the products take at the peak; None where there is none."""
        operations = gemm.lstm_operations(self.options, self.sentences)
        if characters:
            operations += gemm.character_operations(self.options, self.sentences)
        peak = self.peaks[precision]
        return operations / peak if peak else None


def rows(
    names: Mapping[str, Any],
    seconds: Mapping[tuple[str, str], Sequence[float]],
    answers: Sequence[Mapping[str, float]],
    work: Work,
) -> list[dict[str, Any]]:
    """A row for each precision, cold and warm: medians over the rounds; a ratio is that of one round."""
    theirs = [answer["seconds"] for answer in answers]
    found = []
    for (precision, kind), ours in seconds.items():
        ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
        floor = work.floor(precision, characters=kind == "cold")
        found.append(
            {
                **names,
                "precision": precision,
                "vocabulary": kind,
                "tokens": work.tokens,
                "ours": work.tokens / statistics.median(ours),
                "peer": work.tokens / statistics.median(theirs),
                "ratio": statistics.median(ratios),
                "ratios": ratios,
                "seconds": list(ours),
                "peer_seconds": theirs,
                "floor_share": floor and floor / statistics.median(ours),
            }
        )
    return found


def peer_shares(answers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of the peer's time: its character CNN in it, and what making ids would add to it."""
    return {
        part: statistics.median(answer[f"{part}_seconds"] / answer["seconds"] for answer in answers)
        for part in ("characters", "ids")
    }


def show(results: Mapping[str, Any]) -> None:
    """Print what `run_shape` of `encode.py` found."""
    print(
        "\n| shape | batch | precision | vocabulary | ours, tokens/s | peer, tokens/s | ratio (range) | of GEMM floor |"
    )
    print("|---|---:|---|---|---:|---:|---:|---:|")
    for row in results["rows"]:
        share = f"{row['floor_share']:.0%}" if row["floor_share"] else "-"
        spread = f"{row['ratio']:.2f} ({min(row['ratios']):.2f}-{max(row['ratios']):.2f})"
        names = f"{row['shape']} | {row['batch']} | {row['precision']} | {row['vocabulary']}"
        print(f"| {names} | {row['ours']:,.0f} | {row['peer']:,.0f} | {spread} | {share} |")
    for batch, shares in results["peer_shares"].items():
        cnn, ids = shares["characters"], shares["ids"]
        print(f"peer at batch {batch}: {cnn:.0%} in its character CNN; ids would add {ids:.1%}")
