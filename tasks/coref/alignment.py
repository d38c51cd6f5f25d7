"""The best one-to-one alignment of chains, for CEAF; imports no torch.

scipy's assignment needs a matrix of all pairs of chains, and its sparse matching takes quadratic time. Few pairs share
a mention, and a search that looks at these alone usually needs time near-linear in their number.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush


def best_alignment(weights: Sequence[Mapping[int, float]]) -> float:
    """The highest sum of weights such that no two of them share a row or a column.

    weights: for each row, a positive number by column; the others are zero. Rows are added one after the other, each
    along the cheapest alternating path (Kuhn-Munkres with Dijkstra's algorithm). `rows` and `columns` are the dual
    values: rows[i] + columns[j] >= weights[i][j], with equality where i and j are aligned.
    """
    rows, columns = [0.0] * len(weights), defaultdict[int, float](float)
    row_of: dict[int, int] = {}  # by column
    column_of: dict[int, int] = {}  # by row
    for source in range(len(weights)):
        rows[source] = max((weight - columns[column] for column, weight in weights[source].items()), default=0.0)
        if rows[source] <= 0:
            rows[source] = 0.0
            continue
        reached: dict[int, float] = {}  # distance of each row
        found: dict[int, float] = {}  # shortest known distance of each column
        settled: dict[int, float] = {}  # distance of each column that the path may go through
        before: dict[int, int] = {}  # the row from which a column is reached
        heap: list[tuple[float, int, int]] = []
        row, distance = source, 0.0
        nearest, last = math.inf, source  # where the path ends if it ends at a row, which is then aligned no more
        while True:
            reached[row] = distance
            if distance + rows[row] < nearest:
                nearest, last = distance + rows[row], row
            for column, weight in weights[row].items():
                there = distance + max(0.0, rows[row] + columns[column] - weight)
                if there < found.get(column, nearest):
                    found[column] = there
                    heappush(heap, (there, column, row))
            while heap and heap[0][1] in settled:
                heappop(heap)
            if not heap or heap[0][0] >= nearest:
                column = column_of.pop(last, -1)
                end = nearest
                break
            distance, column, row = heappop(heap)
            settled[column], before[column] = distance, row
            if column not in row_of:
                end = distance
                break
            row = row_of[column]
        for row, distance in reached.items():
            rows[row] -= end - distance
        for reached_column, distance in settled.items():
            columns[reached_column] += end - distance
        while column >= 0:
            row = before[column]
            row_of[column] = row
            column, column_of[row] = column_of.get(row, -1), column
    return math.fsum(weights[row][column] for row, column in column_of.items())
