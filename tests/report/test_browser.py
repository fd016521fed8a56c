"""The report in a real browser, as a person would look at it: on a phone, on a desk, on paper.

Debian's Chromium, driven by Playwright; where either is missing the tests skip with that reason.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.penstock_bench.reproduce.pages import papers_page
from tests.report.reports import HOSTILE_NAMES, hostile_problem, small_report

from penstock import app
from penstock.app import reports
from penstock.app.report_options import ReportOptions
from penstock.report.page.html import to_html
from penstock.report.plan_report import plan_report_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SIZES = {"phone": (360, 740), "desk": (1280, 800)}

#: Elements whose words do not fit into them, and those that stick out of the page.
CUT_OFF = """() => {
  const wrong = [];
  for (const e of document.querySelectorAll('h1,h2,p,li,dt,dd,small,figcaption,summary,td,th,a')) {
    if (e.offsetParent === null) continue;
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
      wrong.push(e.tagName + ': ' + e.textContent.slice(0, 60));
  }
  for (const e of document.querySelectorAll('main > section > *, header, footer, nav')) {
    const box = e.getBoundingClientRect();
    if (box.width && (box.right > innerWidth + 1 || box.left < -1))
      wrong.push(e.tagName + ' beyond the page: ' + e.textContent.slice(0, 60));
  }
  return wrong;
}"""

#: Words of pictures that stick out of the picture.
OUTSIDE = """() => {
  const wrong = [];
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) continue;
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
          box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        wrong.push(text.textContent + ' ' + JSON.stringify([box.left - frame.left,
          frame.right - box.right, box.top - frame.top, frame.bottom - box.bottom]));
    }
  }
  return wrong;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium in PATH; on Debian: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        # Without its sandbox, because tests may run as root; the pages are our own.
        made = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report with every section, of a thousand machines, with hostile names; the papers' page."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("reports")
    quick = ReportOptions(schedulers=("default", "hetero"), seeds=1, simulate=False)
    many = app.problem("diamond", _thousand_machines())
    found = {
        "every section": small_report(),
        "thousand machines": plan_report_page(reports.report_on_problem(many, "default", quick)),
        "hostile names": plan_report_page(
            reports.report_on_problem(hostile_problem(), "hetero", quick)
        ),
        "papers": papers_page(folder / "figures"),
    }
    written = {}
    for number, (name, page) in enumerate(found.items()):
        written[name] = folder / f"{number}.html"
        written[name].write_text(to_html(page), encoding="utf-8")
    return written


def _thousand_machines() -> dict[str, Any]:
    return {
        "format": "penstock/cluster",
        "version": 1,
        "name": "thousand",
        "types": {name: {} for name in ("M1", "M2", "M3")},
        "machines": [{"type": name, "count": 334} for name in ("M1", "M2", "M3")],
    }


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return SIZES[request.param]


REPORTS = ("every section", "thousand machines", "hostile names", "papers")


class _Opened:
    """A page with what the browser said and asked for while it opened it."""

    def __init__(self, browser: Browser, path: Path, size: tuple[int, int], scheme: Any = "light"):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme
        )
        self.page: Page = context.new_page()
        self.said: list[str] = []
        self.asked_for: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked_for.append(request.url))
        self.page.goto(path.as_uri())
        for folded in self.page.query_selector_all("details"):
            folded.evaluate("e => { e.open = true; }")


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_said_on_the_console_and_nothing_is_loaded(browser, pages, size, name):
    opened = _Opened(browser, pages[name], size)
    assert opened.said == []
    assert [url for url in opened.asked_for if not url.startswith(("file:", "data:"))] == []
    assert sum(url.startswith("file:") for url in opened.asked_for) == 1


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_is_as_wide_as_the_screen(browser, pages, size, name):
    page = _Opened(browser, pages[name], size).page
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("name", REPORTS)
def test_no_text_is_cut_off(browser, pages, size, name):
    page = _Opened(browser, pages[name], size).page
    assert page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("name", REPORTS)
def test_words_of_pictures_are_inside_them(browser, pages, size, name):
    page = _Opened(browser, pages[name], size).page
    assert page.evaluate(OUTSIDE) == []


#: Tables that go on beyond their frame, and what the frame says of itself.
SCROLLED = """() => [...document.querySelectorAll('table')]
  .map(t => t.parentElement)
  .filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => ({role: e.getAttribute('role'), label: e.getAttribute('aria-label'),
    focusable: e.tabIndex === 0, scrolls: getComputedStyle(e).overflowX === 'auto',
    shadows: getComputedStyle(e).backgroundAttachment}))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_goes_on_shows_a_shadow_and_can_be_scrolled_by_keys(browser, pages, scheme):
    page = _Opened(browser, pages["every section"], SIZES["phone"], scheme).page
    frames = page.evaluate(SCROLLED)
    assert len(frames) >= 3
    for frame in frames:
        assert (frame["role"], frame["focusable"], frame["scrolls"]) == ("region", True, True)
        assert frame["label"]
        # Two covers that move with the table, two shadows that stay at the edges.
        assert frame["shadows"] == "local, local, scroll, scroll"
    # The shadow differs from the ground, else nobody would see it.
    shade, ground = (
        page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{name}')")
        for name in ("--shade", "--ground")
    )
    assert shade.strip()[:7] != ground.strip()


def test_keys_scroll_a_wide_table(browser, pages):
    page = _Opened(browser, pages["every section"], SIZES["phone"]).page
    page.evaluate(
        """() => [...document.querySelectorAll('.scroll')]
             .find(e => e.scrollWidth > e.clientWidth + 40).focus()"""
    )
    for _ in range(100):  # scrolling is smooth: it takes a few frames
        page.keyboard.press("ArrowRight")
        if page.evaluate("document.activeElement.scrollLeft") > 20:
            return
    pytest.fail("a hundred presses of a key have not moved the table")


@pytest.mark.parametrize("name", REPORTS)
def test_paper_has_whole_tables(browser, pages, name):
    """Paper does not scroll: A4 between its margins is about 700 pixels wide."""
    page = _Opened(browser, pages[name], (700, 990)).page
    page.emulate_media(media="print")
    widths = page.evaluate(
        "[...document.querySelectorAll('table')].map(t => t.getBoundingClientRect().right)"
    )
    assert max(widths) <= 701


def test_a_phone_gets_letters_it_can_read(browser, pages):
    page = _Opened(browser, pages["every section"], SIZES["phone"]).page
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('svg text')]
             .filter(t => t.getBoundingClientRect().width)
             .map(t => parseFloat(getComputedStyle(t).fontSize)
                  * t.ownerSVGElement.getBoundingClientRect().width
                  / t.ownerSVGElement.viewBox.baseVal.width)"""
    )
    assert min(sizes) >= 8.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_ground(browser, pages, scheme):
    page = _Opened(browser, pages["every section"], SIZES["desk"], scheme).page
    ground, ink = (
        page.evaluate(f"getComputedStyle(document.body).{what}")
        for what in ("backgroundColor", "color")
    )
    assert _contrast(ground, ink) > 7  # what WCAG asks for at its strictest


def _contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(p) / 255 for p in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", REPORTS)
def test_it_prints(browser, pages, name):
    page = _Opened(browser, pages[name], SIZES["desk"]).page
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_hostile_names_are_words(browser, pages):
    page = _Opened(browser, pages["hostile names"], SIZES["desk"]).page
    assert page.evaluate("document.querySelectorAll('script, img, iframe').length") == 0
    words = page.evaluate("document.querySelector('main').textContent")
    for name in HOSTILE_NAMES:
        assert name in words


def test_every_number_of_the_model_is_on_the_page(browser, pages):
    page = _Opened(browser, pages["every section"], SIZES["desk"]).page
    seen = page.evaluate("[...document.querySelectorAll('data')].map(d => Number(d.value))")
    known = [n.value for n in small_report().numbers() if n.value is not None]
    assert seen == pytest.approx(known, nan_ok=True)
