"""One small table in every format."""

import csv
import io
from html import escape

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from elmo_bench.reporting.formats import interval, number, p_value, short_gain, spread, words
from elmo_bench.reporting.pages import table_lines, to_markdown
from elmo_bench.reporting.render import to_csv, to_latex
from elmo_bench.reporting.tables import make_table


@pytest.fixture
def table():
    frame = pd.DataFrame({
        "name": ["x_y & 5 %", "z"],
        "f1_mean": [2.0, -4.0],
        "f1_sd": [1.0, None],
        "f1_n": [3, 1],
        "mark": ["▲", ""],
        "low": [-1.5, None],
        "high": [2.25, None],
        "p": [0.0001, 0.0421],
        "nothing": [None, None],
    })  # fmt: skip
    formats = [
        words("a|b", "name"),
        spread("f1", "f1", count="f1_n", mark="mark"),
        interval(),
        p_value("p", "p"),
        number("empty", "nothing"),
    ]
    return make_table("stem", "A title", frame, formats, notes=["A note."])


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


def test_labels_are_no_options_of_latex_and_no_other_characters():
    frame = pd.DataFrame({"label": ["[PAD]", "*", "a|b", 'say "x"', "first\n\nsecond\trest"], "f": 1.0})
    rows = to_latex(make_table("stem", "A title", frame, [words("label", "label"), number("f", "f")])).splitlines()
    assert [row.partition(" &")[0] for row in rows if row.endswith(r"& 1.00 \\")] == [
        "{[}PAD{]}", "{*}", r"a\textbar{}b", r"say \texttt{\char34}x\texttt{\char34}", "first second rest"
    ]  # fmt: skip


@pytest.mark.parametrize("label", ["*x*", "__x__", "_", "a_b", "`x`", "~x~", "&amp;", "&#42;", "R&D", r"\*x*", "<b>"])
def test_labels_are_shown_unchanged_in_markdown(label):
    frame = pd.DataFrame({"label": [label], "f": 1.0})
    table = make_table("stem", "A title", frame, [words("label", "label"), number("f", "f")])
    page = MarkdownIt("js-default").render(table_lines(table))
    assert f"<td>{escape(label)}</td>" in page


def test_numbers_that_are_labels_are_numbers_in_csv():
    frame = pd.DataFrame({"label": ["-1", "+1", "-1+2"], "f": 1.0})
    text = to_csv(make_table("stem", "A title", frame, [words("label", "label"), number("f", "f")]))
    assert text == "label,f\n-1,1.0\n+1,1.0\n'-1+2,1.0\n"


def test_names_from_records_are_neither_formulas_nor_headings():
    names = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "a\n# heading"]
    frame = pd.DataFrame({"place": names, "f": -1.5})
    table = make_table("stem", "A title", frame, [words("place", "place"), number("=f", "f")])
    head, *rows = csv.reader(io.StringIO(to_csv(table)))
    assert not any(cell.startswith(("=", "+", "@", "\t")) for row in [head, *rows] for cell in row)
    assert [row[0].removeprefix("'") for row in rows] == names and {row[1] for row in rows} == {"-1.5"}
    assert all(line.startswith("|") for line in to_markdown(table).splitlines())


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.44, 4.36, "+2.4 ▲ (0.4 to 4.4)"),
        (-0.16, 4.96, "+2.4 ▲ (−0.2 to 5.0)"),
        (-0.04, 4.84, "+2.4 ▲ (−0.04 to 4.8)"),  # its second decimal shows on which side of zero it is
        (0.04, 4.76, "+2.4 ▲ (0.04 to 4.8)"),
    ],
)
def test_a_short_gain_has_the_interval_of_its_family(low, high, shown):
    line = {"gain": 2.4, "verdict": "ahead", "conclusion": "ahead", "family_low": low, "family_high": high, "seen": ""}
    assert short_gain(line) == shown
    assert short_gain(line | {"seen": "‡"}) == shown.replace("▲", "▲ ‡")


def test_a_short_gain_of_a_run_that_is_not_converged_has_the_dagger():
    line = {"gain": -27.9, "verdict": "", "conclusion": "not converged", "seen": ""}
    assert short_gain(line) == "−27.9 †"
