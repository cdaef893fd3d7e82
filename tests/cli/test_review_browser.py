"""The page of `pii-edu review` in Chromium: by keyboard alone, at two widths, with a name for every control. Everybody is invented."""

import shutil
import socket
import threading

import pytest

from pii_components.release.review import Review
from tests.cli.conftest import put
from tests.cli.test_review import RUN, TEXTS, at, csv_of, values

pytest.importorskip("cryptography")
pytest.importorskip("fastapi", reason="the extra [presidio] is not installed")
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


@pytest.fixture(params=[1280, 400])
def page(request, chromium, folder, pii_edu):
    """The page, open in a window; what it asks for elsewhere, and what goes wrong in it, fails the test."""
    import uvicorn

    from pii_components.release.review_page import create_app

    width, text = request.param if isinstance(request.param, tuple) else (request.param, "")
    put(folder / "in.csv", csv_of([("d1", text)]) if text else csv_of())
    line = "deidentify in.csv --out clean.csv --id-column id --review-dir review"
    assert pii_edu(f"{line} --config headers={'remove' if text else 'keep'}").exit_code == 0
    review = Review.open(folder / RUN)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        host = f"127.0.0.1:{sock.getsockname()[1]}"
        server = uvicorn.Server(
            uvicorn.Config(
                create_app(review, "secret", host), log_config=None, ws="none", lifespan="off"
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        tab = chromium.new_page(viewport={"width": width, "height": 800})
        wrong: list[str] = []
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        tab.on(
            "request",
            lambda asked: (
                wrong.append(asked.url)
                if not asked.url.startswith((f"http://{host}/secret/", "data:"))
                else None
            ),
        )
        tab.goto(f"http://{host}/secret/")
        tab.wait_for_selector("#documents button")
        for _ in range(2):  # the list, and in a wide window the first document
            tab.evaluate("work.line")
        tab.review = review
        yield tab
        tab.close()
        server.should_exit = True
        thread.join(20)
    review.close()
    assert wrong == []


def press(page, *keys: str) -> None:
    """Keys, one after the other; the page has done all that they asked for."""
    for key in keys:
        page.keyboard.press(key)
        page.evaluate("work.line")


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
    ):
        press(page, *keys)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), keys
        assert page.evaluate(
            "[...document.querySelectorAll('dialog[open]')].every((d) => d.scrollWidth <= d.clientWidth)"
        ), keys
        assert page.evaluate(UNNAMED) == [], keys
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
    assert page.evaluate("document.querySelectorAll('#text .item.removed').length") == 3
    press(page, "x")  # the line stays; the name in it comes next
    assert current(page) == "Ina Sorel" and "NAME_STUDENT" in page.inner_text("#span")
    press(page, "u")
    assert page.evaluate("document.querySelectorAll('#text .item.removed').length") == 3
    press(page, "n", "n", "x")
    assert "line stays" in page.get_attribute("#text [aria-current]", "data-tag")
    press(page, "a", "Enter")  # it goes after all
    assert values(page.review, 1, "add") == [("Design Studio 210", "HEADER")]
    press(page, "i", "ArrowRight", "Enter")
    page.select_option("#label", "HEADER")
    press(page, "Enter")
    assert values(page.review, 1, "add")[-1] == ("The map of my week", "HEADER")
