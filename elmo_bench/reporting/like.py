"""What may stand in one column: rows of one suite and task, on the same data, version of the task, and size."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from elmo_bench.reporting.select import Row

PART = "part"  # of data that no row in the ledger was trained on in whole


@dataclass(frozen=True, order=True)
class Like:
    """What the rows of a column have in common."""

    suite: str
    task: str
    version: str  # of the task
    size: str  # cpu or paper
    data: str  # fingerprint of the whole data, 12 digits


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that may be compared, best test score first."""

    rows: tuple[Row, ...]
    likes: tuple[Like, ...]  # one, unless unlike rows were asked for
    apart: str  # what sets the group apart from the others of its suite and task, for its heading; may be empty

    @property
    def suite(self) -> str:
        return self.likes[0].suite

    @property
    def task(self) -> str:
        return self.likes[0].task

    @property
    def name(self) -> str:
        """The task, with what sets the group apart."""
        return f"{self.task}, {self.apart}" if self.apart else self.task

    @property
    def stem(self) -> str:
        """For names of files."""
        return "-".join([self.suite, self.task, *self.apart.replace("=", " ").replace(",", "").split()])

    @property
    def whole(self) -> list[Row]:
        """Rows trained on all of the data; the others have no place in a column of full figures."""
        return [row for row in self.rows if not row.partial]

    @property
    def most(self) -> Row | None:
        """A row that knows how much the whole data is."""
        return max(self.whole, key=lambda row: row.newest["data"]["counts"]["train"], default=None)

    def share(self, row: Row) -> float | None:
        """Which share of the training split the row learned from; None where the whole is not known."""
        if not row.partial:
            return 1.0
        if self.most:
            return row.newest["data"]["counts"]["train"] / self.most.newest["data"]["counts"]["train"]
        fraction = row.variation.get("data.train_fraction")
        return float(fraction) if fraction and "data.max_train" not in row.variation else None


def groups(rows: Sequence[Row], *, unlike: bool = False) -> list[Group]:
    """Rows that may stand in one column, those with most encoders first within a suite and task.

    `unlike`: one group a suite and task, whatever it holds, each row labelled with what sets it apart.
    """
    by_place: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_place[row.place].append(row)
    found: list[Group] = []
    for _, members in sorted(by_place.items()):
        parted = _part(members)
        names = _apart(parted)
        if unlike and len(parted) > 1:
            labelled = {id(row): _labelled(row, names[like]) for like, part in parted.items() for row in part}
            found.append(Group(tuple(labelled[id(row)] for row in members), tuple(parted), ""))
        else:
            found += [Group(tuple(part), (like,), names[like]) for like, part in parted.items()]
    return found


def _part(members: Sequence[Row]) -> dict[Like, list[Row]]:
    """By what they have in common; rows on part of the data beside those on the whole with the same dev and test."""
    parted: dict[Like, list[Row]] = defaultdict(list)
    for row in members:
        if not row.partial:
            parted[_like(row, row.newest["data"]["fingerprint"][:12])].append(row)
    whole = {like: rows[0].newest["data"]["counts"] for like, rows in parted.items()}
    for row in members:
        if row.partial:
            counts = row.newest["data"]["counts"]
            home = [
                like
                for like in whole
                if _like(row, like.data) == like
                and all(whole[like][split] == counts[split] for split in ("dev", "test"))  # type: ignore[literal-required]
            ]
            parted[home[0] if home else _like(row, PART)].append(row)
    order = sorted(parted, key=lambda like: (-len({row.encoder for row in parted[like]}), like))
    rank = {id(row): index for index, row in enumerate(members)}
    return {like: sorted(parted[like], key=lambda row: rank[id(row)]) for like in order}


def _like(row: Row, data: str) -> Like:
    settings, contents = row.newest["identity"]["settings"], row.newest["identity"]["contents"]
    version = contents.get("task_version", contents.get("version", ""))
    return Like(*row.place, str(version), str(settings.get("size", "")), data)


def _apart(parted: Mapping[Like, Sequence[Row]]) -> dict[Like, str]:
    """What sets each of these apart: nothing where there is but one; data by their size where that tells them apart."""
    keys = [key for key in ("version", "size", "data") if len({getattr(like, key) for like in parted}) > 1]
    trained = {like: max(row.newest["data"]["counts"]["train"] for row in rows) for like, rows in parted.items()}
    told = {like: [f"{key}={getattr(like, key)}" for key in keys] for like in parted}
    if "data" in keys and len(set(trained.values())) == len(trained):
        told = {like: [*said[:-1], f"{trained[like]:,} examples"] for like, said in told.items()}
    return {like: ", ".join(said) for like, said in told.items()}


def _labelled(row: Row, apart: str) -> Row:
    said = row.label.split(", ")
    return replace(
        row, label=", ".join([*said, *(part for part in apart.split(", ") if part not in said)]), apart=apart
    )
