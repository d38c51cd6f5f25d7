"""One small table in every format."""

import csv
import io

import pytest

from elmo_bench.reporting.significance import summarise
from elmo_bench.reporting.table import Cell, make_table, number, spread, to_csv, to_latex, to_markdown


@pytest.fixture
def table():
    lines = [
        {
            "a|b": "x_y & 5 %",
            "f1": spread(summarise([1.0, 2.0, 3.0]), mark="▲"),
            "95 %": Cell("−1.50 … +2.25", {"low": -1.5, "high": 2.25}),
            "p": Cell("< 0.001", {"": 0.0001}),
            "empty": number(None),
        },
        {"a|b": "z", "f1": spread(summarise([-4.0])), "p": Cell("0.042", {"": 0.0421})},
    ]
    return make_table("stem", "A title", lines, notes=["A note."])


def test_markdown(table):
    assert to_markdown(table) == (
        "| a\\|b      |            f1 |          95 % |       p |\n"
        "| --------- | ------------: | ------------: | ------: |\n"
        "| x_y & 5 % | 2.00 ± 1.00 ▲ | −1.50 … +2.25 | < 0.001 |\n"
        "| z         |         −4.00 |               |   0.042 |"
    )


def test_csv_is_unrounded_and_has_the_same_columns_in_every_line(table):
    assert to_csv(table) == (
        "a|b,f1 mean,f1 sd,f1 n,95 % low,95 % high,p\nx_y & 5 %,2.0,1.0,3,-1.5,2.25,0.0001\nz,-4.0,,1,,,0.0421\n"
    )


def test_latex_is_booktabs_and_escaped(table):
    text = to_latex(table)
    assert r"\begin{tabular}{lrrr}" in text
    assert r"x\_y \& 5 \% & 2.00 $\pm$ 1.00 $\blacktriangle$ & $-$1.50 \ldots{} +2.25 & $<$ 0.001 \\" in text
    assert [line for line in text.splitlines() if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"\caption{A title}" in text
    assert r"\label{tab:stem}" in text
    assert text.index(r"\end{tabular}") < text.index("A note.") < text.index(r"\end{table}")


def test_names_from_records_are_neither_formulas_nor_headings():
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "a\n# heading"]
    lines = [{"place": name, "=f": number(-1.5)} for name in names]
    table = make_table("stem", "A title", lines)
    head, *rows = csv.reader(io.StringIO(to_csv(table)))
    assert not any(cell.startswith(("=", "+", "@", "\t")) for row in [head, *rows] for cell in row)
    assert [row[0].removeprefix("'") for row in rows] == names and {row[1] for row in rows} == {"-1.5"}
    assert all(line.startswith("|") for line in to_markdown(table).splitlines())
