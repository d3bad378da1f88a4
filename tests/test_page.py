"""`report.html` in a real browser: it opens, filters, prints, and what a submission says stays text."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from harness.report import html
from harness.result import Result
from harness.verdict import Evidence, Outcome
from tests.browser import DESK, NEEDED, PATIENCE, PHONE, emulate, opened, restore, violations, width_of
from tests.sample_results import HOSTILE, incomplete, mixed, unreadable, whole

pytestmark = NEEDED
PAGES = {"mixed": mixed, "whole": whole, "incomplete": incomplete, "unreadable": unreadable}
browser = pytest.fixture(scope="module")(opened)


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens the page of a result; at the end, the browser has nothing to complain of."""

    def open_page(result: Result, anchor: str = "") -> Any:
        (tmp_path / "report.html").write_text(html.page(result), encoding="utf-8")
        browser.get(f"{(tmp_path / 'report.html').as_uri()}{anchor}")
        return browser

    browser.get_log("browser")
    yield open_page
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    restore(browser)


def visible_facts(page: Any) -> list[str]:
    return [fact.get_attribute("id") for fact in page.find_elements(By.CSS_SELECTOR, "details.fact") if is_shown(fact)]


def is_shown(element: Any) -> bool:
    return bool(element.is_displayed())


@pytest.mark.parametrize("kind", PAGES)
def test_it_opens_alone(show: Any, kind: str) -> None:
    page = show(PAGES[kind]())
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert len(page.find_elements(By.TAG_NAME, "h1")) == 1


def test_what_a_submission_says_stays_text(show: Any) -> None:
    for result in (mixed(), incomplete(), unreadable()):
        page = show(result)
        assert page.title != "owned"
        assert not page.find_elements(By.TAG_NAME, "img")
        assert len(page.find_elements(By.TAG_NAME, "script")) == 1
        assert "<script>document.title = 'owned'</script>" in page.find_element(By.TAG_NAME, "body").text
    assert "<script>document" not in html.page(mixed(HOSTILE))


def test_a_script_that_is_not_the_pages_own_does_not_run(browser: Any, tmp_path: Path) -> None:
    planted = html.page(whole()).replace("</main>", "<script>document.title = 'owned'</script></main>")
    (tmp_path / "report.html").write_text(planted, encoding="utf-8")
    browser.get((tmp_path / "report.html").as_uri())
    assert browser.title != "owned"
    assert "Content Security Policy" in browser.get_log("browser")[0]["message"]


def test_it_filters_by_outcome_and_function(show: Any) -> None:
    page = show(mixed())
    every = [fact.id.rpartition("::")[2] for fact in mixed().facts]
    assert visible_facts(page) == every[1:5], "at first, what does not hold"
    page.find_element(By.CSS_SELECTOR, "input[value=passed]").click()
    assert visible_facts(page) == every
    assert page.find_element(By.ID, "shown").text == "6 of 6 facts shown"
    Select(page.find_element(By.NAME, "function")).select_by_visible_text("double")
    assert visible_facts(page) == every[:3]
    page.find_element(By.CSS_SELECTOR, "input[value=failed]").click()
    assert visible_facts(page) == [every[0], every[2]]
    assert page.find_element(By.ID, "shown").text == "2 of 6 facts shown"


def test_without_scripts_everything_is_there() -> None:
    text = html.page(mixed())
    assert re.search(r'<form class="filter" id="filter" hidden>', text)
    assert not re.search(r"<details[^>]*hidden", text)


def test_all_facts_are_shown_when_all_hold(show: Any) -> None:
    assert len(visible_facts(show(whole()))) == 2


def test_a_link_reveals_its_fact(show: Any) -> None:
    page = show(mixed(), "#check_edge")
    fact = page.find_element(By.ID, "check_edge")
    assert is_shown(fact)
    assert fact.get_attribute("open") == "true"
    show(mixed())
    page.find_element(By.CSS_SELECTOR, ".marks a[href='#check_heads']").click()
    WebDriverWait(page, PATIENCE).until(
        lambda _: page.switch_to.active_element.find_element(By.XPATH, "..").get_attribute("id") == "check_heads"
    )


def test_a_failure_tells_all_of_it(show: Any) -> None:
    page = show(mixed("42"))
    text = page.find_element(By.ID, "check_second").text
    parts = ["failed", "The law of second holds.", "double(x) = x + x", "double(42)", "got       [3.0]", "^^^", "42",
             "Add x to itself.", "the definition.", "python3 noxfile.py -s grade -- --only check_second",
             "from student.shapes import double\nprint(double([1.0]))"]  # fmt: skip
    places = [text.find(part) for part in parts]
    assert -1 not in places, text
    assert page.find_element(By.CSS_SELECTOR, "[data-function=double] h3 ~ dl").text == (
        "mistake\nby the function's answers to several inputs: 3 x in the place of 2 x"
    ), "a mistake is the function's, and not a fact's"
    assert "Not drawn: 42." in show(mixed("42")).find_element(By.TAG_NAME, "body").text


def test_what_keeps_a_module_from_being_asked_is_told_once(show: Any) -> None:
    broken = Evidence("SyntaxError: '(' was never closed", cause="shapes.py")
    facts = [
        structs.replace(fact, outcome=Outcome.FAILED, mistake=None, evidence=broken)
        if fact.module == "shapes"
        else fact
        for fact in mixed("42").facts
    ]
    page = show(structs.replace(mixed("42"), facts=facts))
    page.execute_script("for (const details of document.querySelectorAll('details')) details.open = true")
    assert page.find_element(By.TAG_NAME, "body").text.count("was never closed") == 1
    notices = [notice.text for notice in page.find_elements(By.CSS_SELECTOR, ".function .notice")]
    assert notices == [
        "shapes.py cannot be imported, so 3 facts could not be asked:\nSyntaxError: '(' was never closed",
        "shapes.py cannot be imported, so 1 fact could not be asked, for the reason that stands at double.",
    ]
    assert "it could not be asked: see above" in page.find_element(By.ID, "check_heads").text


def test_the_keyboard_does_it_all(show: Any) -> None:
    page = show(mixed("42"))
    fact = page.find_element(By.ID, "check_second")
    summary = fact.find_element(By.TAG_NAME, "summary")
    summary.send_keys(Keys.ENTER)
    assert fact.get_attribute("open") is None
    summary.send_keys(Keys.ENTER)
    assert fact.get_attribute("open") == "true"
    button = fact.find_element(By.CSS_SELECTOR, ".replay button")
    button.send_keys(Keys.ENTER)
    WebDriverWait(page, PATIENCE, poll_frequency=0.05).until(lambda _: button.text in ("copied", "selected"))
    page.find_element(By.CSS_SELECTOR, "input[value=passed]").send_keys(Keys.SPACE)
    assert len(visible_facts(page)) == 6


def test_it_prints(show: Any) -> None:
    page = show(mixed("42"))
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = page.find_elements(By.CSS_SELECTOR, "nav, .filter, button")
    assert hidden
    assert not any(is_shown(element) for element in hidden)
    assert visible_facts(page) == [fact.id.rpartition("::")[2] for fact in mixed().facts[1:5]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_no_violation_and_nothing_is_too_wide(show: Any, kind: str, width: int, scheme: str) -> None:
    page = show(PAGES[kind]())
    emulate(page, width, scheme)
    for box in page.find_elements(By.CSS_SELECTOR, "input[value=passed]:not(:checked)"):
        box.click()
    page.execute_script("for (const details of document.querySelectorAll('details')) details.open = true")
    assert width_of(page) <= width
    assert violations(page) == []
