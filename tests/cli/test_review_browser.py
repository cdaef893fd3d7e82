"""The page of `pii-edu review` in Chromium: by keyboard alone, at two widths, with a name for every control. Everybody is invented."""

import shutil
import socket
import threading
from contextlib import contextmanager
from functools import partial

import pytest

from pii_components.release.review import Review
from tests.cli.conftest import put
from tests.cli.test_review import RUN, TEXTS, at, csv_of, values

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="Chromium is not installed (apt-get install chromium)"
)
ARGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
).split()


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


@contextmanager
def tab_of(chromium, make, width, shown, *, fails=400):
    """A tab with the page that `make` gives for a host; what it asks for elsewhere, and what goes wrong in it, fails the test.

    fails (int): The least status that is wrong; with 500 a page may be told that something cannot be done.
    """
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as sock:
        host = f"127.0.0.1:{sock.getsockname()[1]}"
        config = uvicorn.Config(make(host), log_config=None, ws="none", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        tab = chromium.new_page(viewport={"width": width, "height": 800})
        wrong: list[str] = []
        mine = (f"http://{host}/secret/", "data:")

        def told(line):
            if line.type == "error" and (fails == 400 or "400 (Bad Request)" not in line.text):
                wrong.append(line.text)

        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", told)
        tab.on("response", lambda r: wrong.append(r.text()) if r.status >= fails else None)
        tab.on("request", lambda r: None if r.url.startswith(mine) else wrong.append(r.url))
        tab.goto(mine[0])
        tab.wait_for_selector(shown)
        yield tab
        tab.close()
        server.should_exit = True
        thread.join(20)
    assert wrong == []


@pytest.fixture(params=[1280, 400])
def page(request, chromium, folder, pii_edu):
    """The page of a review."""
    from pii_components.release.review_page import create_app

    width, text = request.param if isinstance(request.param, tuple) else (request.param, "")
    put(folder / "in.csv", csv_of([("d1", text)]) if text else csv_of())
    line = "deidentify in.csv --out clean.csv --id-column id --review-dir review"
    assert pii_edu(f"{line} --config headers={'remove' if text else 'keep'}").exit_code == 0
    review = Review.open(folder / RUN)
    make = partial(create_app, review, "secret")
    with tab_of(chromium, make, width, "#rows button") as tab:
        tab.evaluate(IDLE)  # the list, and in a wide window the first document
        tab.review = review
        yield tab
    review.close()


IDLE = "async () => { let line; do { line = work.line; await line; } while (line !== work.line); }"


def press(page, *keys: str) -> None:
    """Keys, one after the other; the page has done all that they asked for."""
    for key in keys:
        page.keyboard.press(key)
        page.evaluate(IDLE)


def current(page) -> str:
    return page.evaluate("document.querySelector('#text [aria-current]')?.firstChild.data ?? ''")


def start(page) -> None:
    """Into the first document, by the list."""
    press(page, "l", "Enter")
    page.wait_for_selector("#text .item")
    page.evaluate("work.line")


def test_by_keyboard_alone(page):
    review = page.review
    start(page)
    assert (
        current(page) == "Ina Sorel"
        and page.evaluate("document.activeElement.getAttribute('role')") == "button"
    )
    press(page, "a")  # accepts, and goes on
    assert current(page) == "20418837"
    press(page, "x")
    assert current(page) == "Buzan"
    press(page, "r", "ArrowUp", "Enter")  # NAME_CONNECTED
    assert current(page) == "Sorel" and "in clear" in page.inner_text("#span")
    press(page, "a", "Enter")  # what was missed is a student's name
    press(page, "i", "ArrowRight", "Shift+ArrowRight", "Enter")
    assert page.inner_text("#labels-value") == "Marla Quist", page.inner_text("#labels-value")
    press(page, "Enter")
    assert values(review, 1, "accept") == [("Ina Sorel", "NAME_STUDENT")] and values(
        review, 1, "rejected"
    ) == [("20418837", "ID_NUM")]
    assert values(review, 1, "relabel") == [("Buzan", "NAME_CONNECTED")]
    assert values(review, 1, "add") == [("Sorel", "NAME_STUDENT"), ("Marla Quist", "NAME_STUDENT")]
    page.wait_for_selector("#same:not([hidden])")
    press(page, "g")
    assert page.evaluate("document.activeElement.textContent").startswith("Apply to all")
    press(page, "Enter")
    assert values(review, 3, "add") == [("Marla Quist", "NAME_STUDENT")]
    press(page, "u")
    assert values(review, 3, "add") == [] and len(values(review, 1, "add")) == 2
    press(page, "u")
    assert values(review, 1, "add") == [("Sorel", "NAME_STUDENT")]
    press(page, "m")
    assert review.decisions.is_reviewed(
        1
    ) and "had left 2 protected spans in clear" in page.inner_text("#status")
    press(page, "o")
    page.wait_for_selector("#name:not(:text-is('d1'))")
    press(page, "f", "[")
    page.wait_for_selector("#name:text-is('d1')")


def test_words_are_found_and_a_selection_grows_by_signs(page):
    start(page)
    press(page, "/")
    page.keyboard.type("quist col")
    press(page, "Enter", *["Alt+Shift+ArrowLeft"] * 3, "Enter", "Enter")
    assert values(page.review, 1, "add") == [
        ("Quist", "NAME_STUDENT")
    ]  # behind a sign of two UTF-16 units
    assert page.evaluate("document.querySelector('#text').textContent") == TEXTS[1]


def test_with_the_mouse(page):
    start(page)
    page.evaluate("([a, b]) => select(a, b)", list(at(1, "Marla")))
    page.click("[data-key=i]")
    page.click("#labels button[type=submit]")
    page.wait_for_selector("#text .item >> text=Marla")
    assert values(page.review, 1, "add") == [("Marla", "NAME_STUDENT")]


def released(page) -> str:
    return page.evaluate("document.querySelector('#release').textContent")


def test_the_release_is_shown_as_it_would_be_now(page):
    review = page.review
    start(page)
    for number in (2, 3, 4, 1):
        page.evaluate("(n) => open(n)", number)
        assert released(page) == review.entries[number].release
    whole = released(page)
    press(page, "1")  # it is a student's name already
    assert values(review, 1, "accept") == [("Ina Sorel", "NAME_STUDENT")]
    assert released(page) == whole and current(page) == "20418837"
    press(page, "p", "3")  # a new surrogate is to be made
    assert "I am [NAME_CONNECTED] (" in released(page)
    press(page, "p", "4")
    assert "I am Ina Sorel (" in released(page)
    press(page, "u", "u")
    assert released(page) == whole
    page.evaluate("([a, b]) => select(a, b)", list(at(1, "Marla Quist")))
    press(page, "2")
    assert values(review, 1, "add") == [("Marla Quist", "NAME_INSTRUCTOR")]
    assert "[NAME_INSTRUCTOR] coloured" in released(page)


def test_what_is_removed_is_struck_out(page):
    review, entry = page.review, page.review.entries[2]
    row = review.file.rows[2]
    row["spans"] = [[0, 7, "HEADER", "", 1.0, "header", "a header", "remove"]]
    row["length"] = [len(entry.text), len(entry.text) - 7]
    row["edits"], review.entries[2] = [[0, 7, 0, 0]], entry._replace(release=entry.text[7:])
    review._items.clear()
    start(page)
    page.evaluate("open(2)")
    assert page.inner_text("#text .item.remove") == "Nothing"
    assert "removed" in page.get_attribute("#text .item.remove", "aria-label")
    assert released(page) == entry.text[7:]
    assert page.locator("#release .gone").count() == 1


def test_a_value_is_decided_about_at_all_ticked_places(page):
    review = page.review
    press(page, "v", "Enter")
    assert page.inner_text("#value-name") == "Sorel"  # in clear: most likely a mistake
    press(page, "]")
    assert page.inner_text("#value-name") == "Ina Sorel"
    assert "3 places; 3 documents; hidden; 3 to decide" in page.inner_text("#value-about")
    press(page, "n", "Space", "x")  # all but the second
    ina = [("Ina Sorel", "NAME_STUDENT")]
    assert values(review, 1, "rejected") == values(review, 4, "rejected") == ina
    assert values(review, 3, "rejected") == []
    assert "Rejected: Ina Sorel, 2 places" in page.inner_text("#status")
    press(page, "u")
    assert page.inner_text("#value-name") == "Ina Sorel" and values(review, 4, "rejected") == []
    press(page, "t", "t", "3")  # all are ticked again
    assert [values(review, n, "relabel")[0][0] for n in (1, 3, 4)] == ["Ina Sorel"] * 3
    press(page, "o", "Enter")  # to the document
    assert page.inner_text("#name") == "d1"
    press(page, "v")
    assert page.is_visible("#places") and not page.is_visible("#text")


def test_search_filters_and_progress(page):
    press(page, "s")
    page.keyboard.type("MARLA")
    press(page, "Enter")
    assert page.locator("#rows button").all_inner_texts()[0].startswith("d1")
    assert "2 of 2" in page.inner_text("#shown")
    press(page, "Enter")
    assert page.evaluate("String(getSelection())") == "Marla"
    press(page, "w")
    assert page.evaluate("document.activeElement.name") == "label"
    page.keyboard.type("ID")
    press(page, "Escape", "Enter")
    press(page, "n")
    assert current(page) == "20418837"
    assert "0 of 1 document reviewed · 0 of 4 spans decided" in page.inner_text("#done")
    press(page, "a", "n", "d")
    assert current(page) == "20418837"  # n stays among what is asked for
    assert "1 of 1 document reviewed · 4 of 4 spans decided" in page.inner_text("#done")
    assert "All documents of the list are reviewed" in page.inner_text("#status")


def test_the_sample_is_drawn_and_gives_an_estimate(page):
    press(page, "l")
    page.focus("#sample summary")
    press(page, "Enter", "Tab")
    page.keyboard.type("4")
    press(page, "Enter")
    page.wait_for_selector("#about:has-text('drawn at random')")
    press(page, "d", "d", "d", "d")
    told = page.locator("#sample-text").text_content()
    assert "4 of the 4 documents drawn are reviewed; 0 of them leak." in told
    assert "Estimate: at most 0.0 % of the 4 documents leak" in told and "--seed" in told


CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const over = (colors) => { canvas.clearRect(0, 0, 1, 1); for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((c) => c / 255).map((c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4); };
  const light = ([r, g, b]) => .2126 * r + .7152 * g + .0722 * b;
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest(':disabled') || !e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const backs = [];
    for (let up = e; up; up = up.parentElement) backs.unshift(getComputedStyle(up).backgroundColor);
    for (const color of [getComputedStyle(e).color, ...(e.dataset.tag ? [getComputedStyle(e, '::after').color] : [])]) {
      const [low, high] = [light(over(backs)), light(over([...backs, color]))].sort((a, b) => a - b);
      if ((high + .05) / (low + .05) < 4.5) poor.push([e.outerHTML.slice(0, 80), color, (high + .05) / (low + .05)]);
    }
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_is_legible_and_the_focus_is_seen(page, scheme):
    page.emulate_media(color_scheme=scheme)
    start(page)
    for keys in ([], ["x", "n", "4"], ["v"], ["Enter"], ["w"], ["?"]):
        press(page, *keys)
        assert page.evaluate(CONTRAST) == [], keys
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(style) != "none" or keys == ["?"], keys


UNNAMED = """() => [...document.querySelectorAll('button, select, input, [role=button], summary, dialog[open]')]
  .filter((e) => e.checkVisibility()).map((e) => [e.outerHTML.slice(0, 80), e.getAttribute('aria-label') || e.textContent.trim() ||
    document.getElementById(e.getAttribute('aria-labelledby'))?.textContent || [...(e.labels || [])].map((l) => l.textContent.trim()).join('')])
  .filter(([, name]) => !name)"""


def test_nothing_is_wider_than_the_window_and_every_control_has_a_name(page):
    start(page)
    for keys in (
        [],
        ["r"],
        ["Escape", "?"],
        ["Escape", "i"],
        ["Enter"],
        ["Escape", "/"],
        ["Escape", "l"],
        ["v"],
        ["Enter"],
        ["w"],
    ):
        press(page, *keys)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), keys
        assert page.evaluate(
            "[...document.querySelectorAll('dialog[open]')].every((d) => d.scrollWidth <= d.clientWidth)"
        ), keys
        assert page.evaluate(UNNAMED) == [], keys
    press(page, "Escape", "v")
    start(page)
    said = page.locator("body").aria_snapshot()
    for name in (
        'button "Ina Sorel: NAME_STUDENT, hidden: surrogate, score 1.00, not decided"',
        'button "Sorel: no label, in clear, not decided',
        'heading "d1"',
        "status",
    ):
        assert name in said, said
    assert page.evaluate("document.querySelectorAll('#text .item[tabindex=\"0\"]').length") == 1


LETTER = "Ina Sorel\nProf. Odile Prath\nDesign Studio 210\n\nThe map of my week\n\nI drew a map of my week, and it helps everyone who draws one.\n"


@pytest.mark.parametrize("page", [(1280, LETTER), (400, LETTER)], indirect=True)
def test_a_removed_line_is_kept_by_keyboard(page):
    start(page)
    assert current(page) == "Ina Sorel" and "removed" in page.inner_text("#span")
    assert page.evaluate("document.querySelectorAll('#text .item.remove').length") == 3
    press(page, "x")  # the line stays; the name in it comes next
    assert current(page) == "Ina Sorel" and "NAME_STUDENT" in page.inner_text("#span")
    release = page.inner_text("#release")
    assert "[NAME_STUDENT]" in release and "Odile" not in release and "Studio" not in release
    press(page, "u")
    assert page.evaluate("document.querySelectorAll('#text .item.remove').length") == 3
    press(page, "n", "n", "x")
    assert "line stays" in page.get_attribute("#text [aria-current]", "data-tag")
    press(page, "a", "Enter")  # it goes after all
    assert values(page.review, 1, "add") == [("Design Studio 210", "HEADER")]
    press(page, "i", "ArrowRight", "Enter")
    page.select_option("#label", "HEADER")
    press(page, "Enter")
    assert values(page.review, 1, "add")[-1] == ("The map of my week", "HEADER")
