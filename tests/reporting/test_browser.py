"""The page in a headless Chromium: nothing goes wrong, nothing is asked for, sorting and filtering work."""

import shutil
from contextlib import contextmanager

import pytest

from elmo_bench.cli import report
from elmo_bench.reporting import all_runs
from elmo_bench.reporting.pages import FOLDER
from tests.reporting.ledgers import add, fill

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 180_000  # milliseconds; the machine may have much else to do
MISSING = "no Chromium: `apt-get install chromium`, or one of " + ", ".join(NAMES) + " on the PATH"


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE)
        yield browser
        browser.close()


@contextmanager
def opened(browser, folder):
    """The page, which must end without an error in the console and without having asked for anything but itself."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    errors, requests = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    address = (folder / "index.html").as_uri()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.evaluate("document.querySelectorAll('#details details').forEach(each => { each.open = true; })")
    yield page
    assert errors == []
    assert {url.partition("#")[0] for url in requests} <= {address, "data:,", "about:blank"}
    page.close()


@pytest.fixture
def page(browser, site):
    """Of a ledger with all experiments."""
    with opened(browser, site) as page:
        yield page


@pytest.fixture(scope="module")
def folded_site(tmp_path_factory):
    """Of a page that shows one run of a table, and two on request."""
    folder = tmp_path_factory.mktemp("folded_site")
    fill(folder / "runs", "ner", "glove elmo")
    add(folder / "runs", "ner", "elmo", 0, penalty=1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_runs, "BEST", 1)
        assert report.main(["--ledger", str(folder / "runs"), "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def folded_page(browser, folded_site):
    with opened(browser, folded_site) as page:
        yield page


@pytest.fixture
def small_page(browser, small_site):
    with opened(browser, small_site) as page:
        yield page


def column(page, table, index):
    """The sort keys of a column, as shown from top to bottom."""
    return page.locator(f"#{table} tbody tr > :nth-child({index})").evaluate_all(
        "cells => cells.map(c => c.dataset.order)"
    )


@pytest.mark.slow
def test_sorting_by_mouse_and_keyboard_with_empty_cells_last(page):
    heads = page.locator("#open-gains thead th")
    names = [name.strip() for name in heads.all_inner_texts()]
    index = 1 + next(k for k, name in enumerate(names) if name == "gain")
    button = heads.nth(index - 1).locator("button")
    before = column(page, "open-gains", index)
    button.click()
    down = [float(value) for value in column(page, "open-gains", index)]
    assert down == sorted(map(float, before), reverse=True)
    assert heads.nth(index - 1).get_attribute("aria-sort") == "descending"
    button.focus()
    page.keyboard.press("Enter")
    assert [float(value) for value in column(page, "open-gains", index)] == down[::-1]
    assert heads.nth(index - 1).get_attribute("aria-sort") == "ascending"
    heads.nth(0).locator("button").click()  # words: from A on
    assert column(page, "open-gains", 1) == sorted(column(page, "open-gains", 1))
    assert heads.nth(index - 1).get_attribute("aria-sort") is None


@pytest.mark.slow
def test_the_filter_and_what_is_open_are_in_the_address(small_page):
    page = small_page
    rows = "#details tbody tr:visible"
    assert page.locator("#data-open li").first.is_visible()  # a section without a table
    everything = page.locator(rows).count()
    assert page.locator("#count").inner_text() == f"{everything} of {everything} rows"
    page.locator("#words").fill("mix.penalty elmo")
    shown = page.locator(rows).all_inner_texts()
    assert 0 < len(shown) < everything
    assert all("mix.penalty" in text for text in shown)
    assert not page.locator("#open-glance").is_visible()
    page.locator("#words").fill("")
    page.locator("#task").select_option("snli")
    titles = page.locator("#open-gains tbody tr:visible th").all_inner_texts()
    assert set(titles) == {"Inference (snli)"}
    assert not page.locator("#open-ner-runs").is_visible()
    assert not page.locator("#section-open-regularisation").is_visible()  # a section without a row
    page.locator("#section-open-speed summary").click()
    page.locator("#section-open-speed summary").click()
    page.wait_for_url("**#section-open-speed?task=snli")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert page.locator("#task").input_value() == "snli"
    opened = page.evaluate("[...document.querySelectorAll('details[open]')].map(each => each.id)")
    assert opened == ["section-open-encoders", "section-open-speed"]
    page.goto("about:blank")
    page.goto(address.replace("task=snli", "task=nothing"))
    assert page.locator("#task").input_value() == ""
    page.locator("#task").select_option("")
    page.locator("#words").fill("nothing at all")
    assert page.locator("#count").inner_text() == f"0 of {everything} rows"


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1000, 1600])
def test_nothing_of_table_1_and_of_its_picture_is_cut_off(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tables = page.locator("#table1-open .scroll")
    assert tables.evaluate_all("each => each.every(one => one.scrollWidth <= one.clientWidth)") and tables.count() > 0
    assert page.locator("#open-table1 thead").is_visible() == (width > 390)  # on a phone each cell has its heading
    shown = [page.locator(f"#figure-open-gains .{kind}") for kind in ("narrow", "wide")]
    assert [each.is_visible() for each in shown] == [width == 390, width != 390]
    assert all(each.evaluate("each => each.scrollWidth <= each.clientWidth") for each in shown)


@pytest.mark.slow
def test_a_number_leads_to_its_run_and_that_to_the_record(page, site):
    number = page.locator("#open-table1 tbody td a").first
    anchor = number.get_attribute("href")
    number.click()
    card = page.locator(anchor)
    assert card.get_attribute("open") is not None
    link = card.locator("td a").first
    assert link.is_visible()
    assert (site / link.get_attribute("href")).is_file()


@pytest.mark.slow
def test_the_filter_searches_the_rows_that_are_folded(folded_page):
    rows = folded_page.locator("#open-ner-runs tbody tr")
    assert (rows.count(), folded_page.locator("#details .table .more").count()) == (1, 1)
    folded_page.locator("#words").fill("mix.penalty")
    assert rows.count() == 3 and folded_page.locator("#details .table .more").count() == 0
    assert folded_page.locator("#open-ner-runs tbody tr:visible th").all_inner_texts() == ["elmo, mix.penalty=1"]
    assert folded_page.locator("#count").inner_text().endswith(" rows")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["", "#two", "#two?task=snli"])
def test_opening_the_page_leaves_its_address(browser, tmp_path, part):
    """Of a short page, since the browser toggles what is open in the source after a short script."""
    sections = '<details class="section" id="one" open></details><details class="section" id="two"></details>'
    script = (FOLDER / "script.js").read_text(encoding="utf-8")
    (tmp_path / "index.html").write_text(f"<!doctype html>{sections}<script>{script}</script>", encoding="utf-8")
    page = browser.new_page()
    address = (tmp_path / "index.html").as_uri() + part
    page.goto(address)
    page.evaluate("new Promise(resolve => setTimeout(resolve, 100))")
    assert page.url == address
    page.evaluate("document.getElementById('one').open = false")
    page.evaluate("new Promise(resolve => setTimeout(resolve, 100))")
    page.evaluate("document.getElementById('one').open = true")
    page.wait_for_url("**#one*")
    page.close()


@pytest.mark.slow
def test_a_print_says_what_it_leaves_out(folded_page):
    page = folded_page
    page.evaluate("document.querySelectorAll('#details details').forEach(each => { each.open = false; })")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    line = page.locator("#details .table .more").first
    assert line.inner_text() == "2 more runs: see the CSV file."
    assert not line.locator("button").is_visible() and not page.locator("#filter").is_visible()
    page.locator("#words").evaluate("each => { each.value = 'elmo'; each.form.dispatchEvent(new Event('input')); }")
    assert page.locator("#words").is_visible() and " of " in page.locator("#count").inner_text()


@pytest.mark.slow
def test_without_a_script_nothing_is_shown_that_needs_it(browser, folded_site):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((folded_site / "index.html").as_uri())
        assert page.locator("noscript").inner_text().endswith("The CSV file below a table has all of its rows.")
        assert not page.locator("#filter").is_visible()
        assert page.locator("thead button:enabled").count() == 0
        for section in page.locator("#details details.section").all():
            if section.get_attribute("open") is None:
                section.locator(":scope > summary").click()
        line = page.locator("#details .table .more").first
        assert line.inner_text().endswith(": see the CSV file.") and not line.locator("button").is_visible()
