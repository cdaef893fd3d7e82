"""The page of `pii-edu release` in Chromium: by keyboard alone, at two widths, from choices to the review. Everybody is invented."""

import json
from contextlib import nullcontext

import pytest

from pii_components.release.day import DONE, REVIEW, RUN, Day
from tests.cli.conftest import put, table
from tests.cli.test_review_browser import chromium, pytestmark, tab_of  # noqa: F401

NAMES = """() => [...document.querySelectorAll("button, input, select, a, summary")].filter((e) => e.offsetParent
  && !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute("aria-label")).map((e) => e.outerHTML)"""


@pytest.fixture(params=[1280, 400])
def page(request, chromium, folder, model):  # noqa: F811
    """The page of a release."""
    from pii_components.release.day_page import Desk, create_app

    put(folder / "essays.csv", table(5))
    put(folder / "run.toml", f'model = {json.dumps(model)}\nid_column = "id"\n')
    day = Day(folder / "private")

    def key(day: Day) -> None:
        put(day.place("key"), "0123456789abcdef" * 4)

    desk = Desk(day, lambda path: nullcontext(), key)
    about = {"about": "hides", "before": "I am Ina", "after": "I am Mia"}
    desk.examples = [{"name": "crapii", **about}]

    def make(host):
        return create_app(desk, "secret", host)

    with tab_of(chromium, make, request.param, ".example", fails=500) as tab:
        tab.day, tab.width = day, request.param
        yield tab
    desk.close()


def press(tab, selector: str) -> None:
    tab.focus(selector)
    tab.keyboard.press("Enter")


def test_by_keyboard_from_choices_to_the_review(page):
    page.focus("#input")
    page.keyboard.type("essays.csv")
    page.focus("input[name=profile]")
    page.keyboard.press("Space")
    press(page, "details details summary")
    page.focus("#run_file")
    page.keyboard.type("run.toml")
    press(page, "#choices button[type=submit]")
    page.wait_for_function("() => document.querySelector('#choose').dataset.state === 'done'")
    assert (page.day.choices.input, page.day.choices.profile) == ("essays.csv", "crapii")
    # The small pipeline has no operating point.
    page.day.choose({"operating_point": ""})
    for step in ("rehearse", "run"):
        press(page, f"#{step} button")
        page.wait_for_selector(f"#{step}[data-state=done]", timeout=60_000)
    assert page.evaluate(NAMES) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.width
    assert "5 documents" in page.text_content("#run pre")
    assert page.day.state(RUN) == DONE and page.day.following() == REVIEW
    press(page, "#review button")
    page.wait_for_url("**/review/")
    page.wait_for_selector("#rows button")
    press(page, "header a")
    page.wait_for_url("**/secret/")
    page.wait_for_function(
        "() => document.querySelector('#advice').textContent.includes('draw one')"
    )


def test_a_wrong_place_is_told_and_nothing_is_lost(page):
    page.fill("#input", "nowhere.zip")
    press(page, "#choices button[type=submit]")
    page.wait_for_selector("#status.error")
    assert "[E501]" in page.text_content("#status") and page.input_value("#input") == "nowhere.zip"
    press(page, "[data-browse=input]")
    page.wait_for_selector("#browse[open] li button")
    page.get_by_role("button", name="essays.csv file").press("Enter")
    assert page.input_value("#input").endswith("/essays.csv")
    assert page.evaluate("document.activeElement.id") == "input"
