"""The page of a class: its statistics on examples worked by hand, and the page itself in a real browser."""

import re
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from harness.cohort import dashboard
from harness.cohort.dashboard import Entry, fact_rows, function_rows, mistake_rows, page, percent, same_programs, signed
from harness.cohort.distribution import distribution
from harness.cohort.items import LEAST, Item, by_chance, correlation, item, rests
from harness.cohort.tally import NOTHING, PART, PERHAPS, UNANSWERED, UNASKED, WHOLE, tally
from harness.fingerprints import Fingerprint, Named
from harness.result import FunctionMarks, Result
from harness.verdict import Evidence, Outcome
from tests.browser import DESK, NEEDED, PATIENCE, PHONE, emulate, opened, restore, violations, width_of
from tests.sample_class import HOSTILE, Suite, made_up
from tests.sample_results import fact, incomplete, unreadable, whole

P, F, T = Outcome.PASSED, Outcome.FAILED, Outcome.TODO
NAN = float("nan")
SIZE = 1_000


def result(double: Sequence[Outcome], coin: Sequence[Outcome], points: tuple[float, float], **changes: Any) -> Result:
    """Two facts each of `double` and `coin`, which give at most 6 and 4 points."""
    facts = [fact(name, outcome) for name, outcome in zip(("first", "second"), double, strict=True)]
    facts += [fact(name, outcome, "coin") for name, outcome in zip(("heads", "tails"), coin, strict=True)]
    rows = [FunctionMarks("shapes", "double", points[0], 6.0), FunctionMarks("shapes", "coin", points[1], 4.0)]
    return msgspec.structs.replace(
        whole(), **{"functions": rows, "facts": facts, "score": sum(points), "max_score": 10.0, **changes}
    )


def entry(graded: Result | None, label: str = "ada", shape: str = "", **changes: Any) -> Entry:
    score = graded.score if graded else None
    return Entry(label, score, graded.max_score if graded else 0.0, graded, shape, 1.0, "")._replace(**changes)


FOUR = [
    result((P, P), (P, P), (6.0, 4.0)),
    result((P, F), (P, F), (3.0, 2.0)),
    result((P, P), (F, F), (6.0, 0.0)),
    result((F, F), (P, P), (0.0, 4.0)),
]
"""`double` is worth 1, 1/2, 1, 0 and `coin` 1, 1/2, 0, 1 of what they could be."""


def a_class(copies: int = 1, results: Sequence[Result] = FOUR) -> list[Entry]:
    return [entry(graded, f"s{copy}{place}") for copy in range(copies) for place, graded in enumerate(results)]


def agrees(found: Item, asked: int, difficulty: float, discrimination: float | None) -> bool:
    """Whether these are the statistics, to rounding."""
    assert found.discrimination == pytest.approx(discrimination, abs=1e-12)
    return (found.asked, found.difficulty) == (asked, difficulty)


# --- statistics


def test_a_correlation_is_that_of_the_formula() -> None:
    x, y = np.array([0.0, 0, 1, 1]), np.array([1.0, 3, 3, 5])
    assert correlation(x, y, 2) == pytest.approx(2**-0.5, abs=1e-15), "2 / √(1 · 8)"
    assert correlation(x, -y, 2) == pytest.approx(-(2**-0.5), abs=1e-15)
    assert correlation(x, x, 2) == 1.0


def test_a_correlation_takes_the_pairs_that_are_known() -> None:
    x, y = np.array([0.0, 0, NAN, 1, 1, 9]), np.array([1.0, 3, 7, 3, 5, NAN])
    assert correlation(x, y, 2) == pytest.approx(2**-0.5, abs=1e-15)


@pytest.mark.parametrize("x", [[1.0] * 12, [0.1 + 0.2, 0.3] * 6, [NAN] * 12, [NAN, 1.0] * 6])
def test_there_is_no_correlation_with_what_is_alike(x: list[float]) -> None:
    assert correlation(np.array(x), np.arange(12.0), 2) is None
    assert correlation(np.arange(12.0), np.array(x), 2) is None


def test_there_is_no_correlation_in_a_tiny_class() -> None:
    few, enough = np.arange(LEAST - 1.0), np.arange(float(LEAST))
    assert correlation(few, few) is None
    assert correlation(enough, enough) == pytest.approx(1.0)
    for size in (0, 1):
        assert correlation(np.arange(float(size)), np.arange(float(size)), 0) is None


def test_difficulty_is_the_mean_share_of_those_who_were_asked() -> None:
    assert tuple(item(np.array([1.0, 0.5, NAN, 0.0]), np.zeros(4))) == (3, 0.5, None)
    assert tuple(item(np.array([NAN, NAN]), np.zeros(2))) == (0, None, None)


def test_the_rest_leaves_the_function_out() -> None:
    score, most = np.array([[6.0, 4.0, 0.0], [3.0, 1.0, 0.0]]), np.array([[6.0, 4.0, 0.0], [6.0, 4.0, 2.0]])
    assert rests(score, most).tolist() == [[1.0, 1.0, 1.0], [1 / 6, 3 / 8, 0.4]]
    assert np.isnan(rests(score[:, :1], most[:, :1])).all(), "nothing else was asked"


def test_functions_and_facts_of_a_class_worked_by_hand() -> None:
    group = tally(a_class(3))
    double, coin = function_rows(group)
    # shares: double 1, 1/2, 1, 0 (mean 5/8); coin 1, 1/2, 0, 1 (mean 5/8). Deviations in eighths: 3 -1 3 -5, 3 -1 -5 3:
    # products 9 + 1 - 15 - 15 = -20, squares 44 and 44.
    assert agrees(double.item, 12, 0.625, -20 / 44)
    assert agrees(coin.item, 12, 0.625, -20 / 44)
    assert double.segments == [("whole", 0.5), ("part", 0.25), ("wrong", 0.25)]
    facts = {row.fact.name: row for row in fact_rows(group)}
    # first holds 1 1 1 0 (mean 3/4), coin as above: quarters 1 1 1 -3 by eighths 3 -1 -5 3 is -12, squares 12 and 44
    assert agrees(facts["check_first"].item, 12, 0.75, -12 / (12 * 44) ** 0.5)
    # second holds 1 0 1 0: halves 1 -1 1 -1 by eighths 3 -1 -5 3 is -4, squares 4 and 44
    assert agrees(facts["check_second"].item, 12, 0.5, -4 / (4 * 44) ** 0.5)
    # tails holds 1 0 0 1, double in eighths 3 -1 3 -5: halves 1 -1 -1 1 by these is -4
    assert agrees(facts["check_tails"].item, 12, 0.5, -4 / (4 * 44) ** 0.5)
    assert [row.fact.name for row in fact_rows(group)] == ["check_second", "check_tails", "check_first", "check_heads"]


def test_a_fact_that_all_hold_has_no_discrimination() -> None:
    group = tally(a_class(3, [result((P, P), (P, F), (6.0, 2.0)), result((P, F), (P, P), (3.0, 4.0))]))
    facts = {row.fact.name: row.item for row in fact_rows(group)}
    assert agrees(facts["check_first"], 6, 1.0, None)
    group = tally(a_class(6, [result((P, P), (P, F), (6.0, 2.0)), result((P, F), (P, P), (3.0, 4.0))]))
    facts = {row.fact.name: row.item for row in fact_rows(group)}
    assert agrees(facts["check_first"], 12, 1.0, None)
    assert agrees(facts["check_second"], 12, 0.5, -1.0)
    assert facts["check_second"].suspect
    assert not facts["check_first"].suspect


def test_what_is_suspect_is_beyond_chance() -> None:
    assert by_chance(101) == pytest.approx(0.1)
    assert not Item(101, 0.5, -0.29).suspect
    assert Item(101, 0.5, -0.31).suspect
    assert not Item(101, 0.5, 0.31).suspect


def test_who_answers_nothing_is_not_in_the_statistics() -> None:
    stub = result((T, T), (T, T), (0.0, 0.0))
    group = tally([*a_class(3), *a_class(5, [stub]), entry(unreadable()), entry(None), entry(incomplete())])
    assert {row.function.name: row.item.asked for row in function_rows(group)}.items() >= {
        "double": 12,
        "coin": 12,
    }.items()
    assert {row.item.asked for row in fact_rows(group)} == {12}


def test_results_of_other_parts_of_a_suite_stand_side_by_side() -> None:
    only = msgspec.structs.replace(FOUR[0], functions=FOUR[0].functions[1:], facts=FOUR[0].facts[2:], score=4.0)
    group = tally([entry(only, "a"), entry(FOUR[1], "b")])
    assert [(row.function.name, row.item.asked) for row in function_rows(group)] == [("coin", 2), ("double", 1)]
    assert [student.levels for student in group.students] == [WHOLE + UNASKED, PART + PART]
    assert "Function" in page([entry(only, "a"), entry(FOUR[1], "b")])


def test_a_function_is_not_answered_where_its_body_or_its_file_is_missing() -> None:
    def caused(cause: str, graded: Result = FOUR[3]) -> str:
        facts = [msgspec.structs.replace(each, outcome=F, evidence=Evidence("x", cause=cause)) for each in graded.facts]
        return tally([entry(msgspec.structs.replace(graded, facts=facts))]).students[0].levels

    assert caused("shapes.double") == UNANSWERED + NOTHING.replace(NOTHING, PART), "coin has points"
    assert caused("shapes.py") == NOTHING + PART, "the file is there, and cannot be imported"
    bare = msgspec.structs.replace(FOUR[3], submission=msgspec.structs.replace(FOUR[3].submission, files=[]))
    assert caused("shapes.py", bare) == UNANSWERED * 2
    assert tally([entry(result((T, F), (T, T), (0.0, 0.0)))]).students[0].levels == NOTHING + UNANSWERED


def test_the_distribution_of_marks_worked_by_hand() -> None:
    shown = distribution([(score, 40.0) for score in (0.0, 10.0, 20.0, 30.0)])
    assert shown
    assert shown.quartiles == (7.5, 15.0, 22.5)
    assert (shown.mean, shown.most, shown.unit, shown.beyond) == (15.0, 40.0, "", 0)
    assert shown.edges == [2.0 * bar for bar in range(21)]
    assert [place for place, count in enumerate(shown.counts) if count] == [0, 5, 10, 15]
    assert shown.bars()[5] == ("10 to 12", 1)


def test_bars_hold_their_lower_edge_and_full_marks_stand_in_the_last() -> None:
    shown = distribution([(score, 100.0) for score in (0.0, 4.99, 5.0, 94.99, 95.0, 100.0)])
    assert shown
    assert shown.edges == [5.0 * bar for bar in range(21)]
    assert (shown.counts[0], shown.counts[1], shown.counts[18], shown.counts[19]) == (2, 1, 1, 2)


def test_marks_beyond_the_scale_are_told() -> None:
    shown = distribution([(-1.0, 10.0), (5.0, 10.0), (1e9, 10.0)])
    assert shown
    assert (shown.beyond, shown.counts[0], shown.counts[-1], sum(shown.counts)) == (2, 1, 1, 3)
    text = page([entry(FOUR[0], score=1e9)])
    assert "1 mark, changed by hand, is outside of the scale" in text


def test_marks_of_different_maxima_are_compared_in_percent() -> None:
    shown = distribution([(5.0, 10.0), (10.0, 40.0), (0.0, 0.0)])
    assert shown
    assert (shown.unit, shown.marks, shown.quartiles[1]) == ("%", [50.0, 25.0, 0.0], 25.0)
    assert distribution([]) is None


def test_a_submission_counts_once_for_each_of_its_mistakes() -> None:
    def made(double: str, graded: Result = FOUR[3]) -> Result:
        facts = [
            msgspec.structs.replace(each, mistake=double if each.outcome is F and each.function == "double" else None)
            for each in graded.facts
        ]
        return msgspec.structs.replace(graded, facts=facts)

    results = [made("3 x"), made(PERHAPS + "3 x"), made("x"), result((T, T), (P, P), (0.0, 4.0))]
    group = tally([entry(graded, f"s{place}") for place, graded in enumerate(results)])
    assert [(row.says, row.who, row.perhaps, row.share) for row in mistake_rows(group)] == [
        ("3 x", [0, 1], 1, 2 / 3),
        ("x", [2], 0, 1 / 3),
    ]


def test_what_is_perhaps_a_mistake_begins_as_in_a_report() -> None:
    assert Named(Fingerprint("m", "3 x", "subtle", [], []), perhaps=True).text == PERHAPS + "3 x"


def test_equal_programs_are_those_that_answer() -> None:
    stub = result((T, T), (T, T), (0.0, 0.0))
    entries = [
        entry(FOUR[0], "a", "one"), entry(FOUR[0], "b", "one"), entry(FOUR[1], "c", "two"),
        entry(stub, "d", "stub"), entry(stub, "e", "stub"), entry(FOUR[2], "f"), entry(FOUR[2], "g"),
        entry(result((P, P), (T, T), (6.0, 0.0)), "h", "part"), entry(result((P, P), (T, T), (6.0, 0.0)), "i", "part"),
        entry(result((P, P), (T, T), (6.0, 0.0)), "j", "part"), entry(unreadable(), "k", "none"),
        entry(unreadable(), "l", "none"),
    ]  # fmt: skip
    group = tally(reversed(entries))
    names = [
        ([group.students[place].label for place in each.who], each.answers) for each in same_programs(group.students)
    ]
    assert names == [(["a", "b"], 2), (["h", "i", "j"], 1)]
    text = page(entries)
    assert "2 submissions answer nothing" in text
    assert not re.search(r"cheat|plagia|copied|suspicious|collu", text, re.IGNORECASE)


@pytest.mark.parametrize(
    "share, text", [(0.0, "0 %"), (0.001, "1 %"), (0.499, "50 %"), (0.999, "99 %"), (1.0, "100 %"), (None, "–")]
)
def test_all_and_none_are_told_only_where_they_are_meant(share: float | None, text: str) -> None:
    assert percent(share) == text.replace(" ", "\u00a0")


def test_correlations_have_a_minus_sign() -> None:
    assert [signed(value) for value in (None, -0.5, 0.25, -0.001)] == ["–", "−0.50", "0.25", "0.00"]


def test_results_are_read_one_after_the_other() -> None:
    def entries() -> Iterator[Entry]:
        for number in range(100):
            loud = [msgspec.structs.replace(each, output="x" * 1_000_000 + str(number)) for each in FOUR[3].facts]
            yield entry(msgspec.structs.replace(FOUR[3], facts=loud), f"s{number}")

    tracemalloc.start()
    try:
        assert len(tally(entries()).students) == 100
        assert tracemalloc.get_traced_memory()[1] < 20_000_000, "each holds 4 MB"
    finally:
        tracemalloc.stop()


# --- the page as text


def test_the_states_of_submissions() -> None:
    entries = [
        entry(FOUR[0], "full"), entry(FOUR[1], "stale", fault="a worker was lost"),
        entry(None, "dead", fault="it died"), entry(FOUR[1], "changed", score=7.5), entry(unreadable(), "unreadable"),
        entry(incomplete(), "lost"),
        entry(result((T, T), (T, T), (0.0, 0.0)), "blank"),
    ]  # fmt: skip
    text = page(entries)
    found = re.findall(r'data-state="([^"]*)"[^>]*><th scope="row" data-key="([^"]*)"', text)
    assert sorted((label, state) for state, label in found) == [
        ("blank", "blank"), ("changed", "changed"), ("dead", "ungraded"), ("full", "full"), ("lost", "ungraded"),
        ("stale", "stale"), ("unreadable", "unreadable"),
    ]  # fmt: skip
    assert "grading gave 5" in text
    assert "a worker was lost" in text
    assert "2 submissions are not graded" in text
    assert "1 mark is stale" in text
    assert "The last run could not grade or read these; their marks are of an earlier one." in text


@pytest.mark.parametrize("entries", [[], [entry(None, fault="x")], [entry(unreadable())], a_class(), [entry(FOUR[0])]])
def test_there_is_a_page_of_every_class(entries: list[Entry]) -> None:
    text = page(entries)
    assert text.rstrip().endswith("</html>")
    assert len(re.findall(r'<tr id="s\d+"', text)) == len(entries)
    assert "nan" not in re.sub(r"<[^>]+>", " ", text.partition("<script>")[0]).split()


def test_different_suites_and_versions_are_told() -> None:
    suite = msgspec.structs.replace(FOUR[1].suite, digest="other")
    environment = msgspec.structs.replace(FOUR[1].environment, torch="0")
    other = msgspec.structs.replace(FOUR[1], suite=suite, environment=environment)
    text = page([entry(FOUR[0], "a"), entry(other, "b")])
    assert "2 different suites" in text
    assert "2 different sets of versions" in text
    assert "different s" not in page(a_class())


def test_a_very_large_class_lists_only_what_needs_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "LISTED", 3)
    text = page([*a_class(), entry(None, "dead", fault="it died")])
    assert "<tr id=" not in text
    assert 'href="#s' not in text.replace('href="#same', "").replace('href="#stale', "")
    assert "dead" in text


@pytest.fixture(scope="module")
def large() -> str:
    return page(made_up(SIZE))


def test_the_page_of_a_thousand_is_not_large(large: str) -> None:
    assert len(re.findall(r'<tr id="s\d+"', large)) == SIZE
    assert len(large.encode()) < 3_000_000


def test_without_scripts_everything_is_there(large: str) -> None:
    assert not re.search(r"<(tr|table|details|section)[^>]* hidden", large)
    assert not re.search(r"<button", large)
    assert len(re.findall(r'<form class="filter"[^>]* hidden>', large)) == 3


def test_it_is_the_same_whatever_the_order_of_entries() -> None:
    entries = list(made_up(40))
    assert page(entries) == page(iter(entries))


# --- the page in a browser


browser = pytest.fixture(scope="module")(opened)
PAGES = {
    "small": a_class(3),
    "one": [entry(FOUR[1], HOSTILE, fault=HOSTILE)],
    "forty": list(made_up(40)),
    "none": [],
    "unread": [entry(unreadable(), HOSTILE), entry(None, "b", fault=HOSTILE)],
}


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a page; at the end, the browser has nothing to complain of."""

    def open_page(text: str, anchor: str = "") -> Any:
        (tmp_path / "class.html").write_text(text, encoding="utf-8")
        browser.get("about:blank")
        browser.get(f"{(tmp_path / 'class.html').as_uri()}{anchor}")
        return browser

    browser.get_log("browser")
    yield open_page
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    restore(browser)


def rows(shown: Any, table: str) -> list[list[str]]:
    """The texts of the rows that are shown, cell by cell."""
    script = """
        return [...document.querySelectorAll(`table[data-list=${arguments[0]}] tbody tr`)]
            .filter((row) => row.checkVisibility()).map((row) => [...row.cells].map((cell) => cell.innerText))"""
    found: list[list[str]] = shown.execute_script(script, table)
    return found


def column(shown: Any, table: str, place: int) -> list[str]:
    return [row[place].splitlines()[0] for row in rows(shown, table)]


def head(shown: Any, table: str, words: str) -> Any:
    return shown.find_element(By.XPATH, f"//table[@data-list='{table}']//th[starts-with(normalize-space(), '{words}')]")


def choose(shown: Any, table: str, name: str, value: str) -> None:
    Select(shown.find_element(By.CSS_SELECTOR, f"form[data-for={table}] [name={name}]")).select_by_value(value)


@NEEDED
def test_it_opens_alone(show: Any, large: str) -> None:
    shown = show(large)
    assert shown.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert len(shown.find_elements(By.TAG_NAME, "h1")) == 1
    assert len(rows(shown, "students")) == 50
    assert column(shown, "functions", 0) == list(Suite().points)
    assert len(rows(shown, "facts")) == 20
    shown.find_element(By.CSS_SELECTOR, "table[data-list=students] + button.more").click()
    assert len(rows(shown, "students")) == SIZE


@NEEDED
def test_what_submissions_say_stays_text(show: Any, large: str) -> None:
    for text in (large, page(PAGES["one"]), page(PAGES["unread"])):
        shown = show(text)
        assert shown.title != "owned"
        assert not shown.find_elements(By.TAG_NAME, "img")
        assert len(shown.find_elements(By.TAG_NAME, "script")) == 1
        told = shown.find_element(By.TAG_NAME, "body").text
        assert "<script>document.title = 'owned'</script>" in told
        assert "{{ 7 * 7 }}" in told
        assert "\u202e" not in told
        assert "\\u202e\\udcff" in told


@NEEDED
def test_a_script_that_is_not_the_pages_own_does_not_run(browser: Any, tmp_path: Path) -> None:
    planted = page(a_class()).replace("</main>", "<script>document.title = 'owned'</script></main>")
    (tmp_path / "class.html").write_text(planted, encoding="utf-8")
    browser.get((tmp_path / "class.html").as_uri())
    assert browser.title != "owned"
    assert "Content Security Policy" in browser.get_log("browser")[0]["message"]


@NEEDED
def test_it_sorts(show: Any, large: str) -> None:
    shown = show(large)
    points = head(shown, "students", "points")
    points.find_element(By.TAG_NAME, "button").click()
    assert points.get_attribute("aria-sort") == "ascending"
    lowest = [float(text) for text in column(shown, "students", 1)]
    assert lowest == sorted(lowest)
    points.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert points.get_attribute("aria-sort") == "descending"
    highest = [float(text) for text in column(shown, "students", 1)]
    assert highest == sorted(highest, reverse=True)
    assert highest[0] == 100.0
    assert head(shown, "students", "submission").get_attribute("aria-sort") is None
    shown.find_element(By.CSS_SELECTOR, "table[data-list=students] + button.more").click()
    assert column(shown, "students", 1)[-1] == "–", "no mark is neither the highest nor the lowest"
    head(shown, "facts", "fact").find_element(By.TAG_NAME, "button").click()
    assert rows(shown, "facts")[0][0].splitlines()[-1].startswith(next(iter(Suite().points))), "the order of the suite"


@NEEDED
def test_it_filters(show: Any, large: str) -> None:
    shown = show(large)
    status = shown.find_element(By.CSS_SELECTOR, "form[data-for=students] [role=status]")
    assert status.text == "50 of 1,000 shown"
    choose(shown, "students", "state", "ungraded")
    labels = column(shown, "students", 0)
    assert 0 < len(labels) < 30
    assert set(column(shown, "students", 1)) == {"–"}
    assert status.text == f"{len(labels)} of {len(labels)} shown, 1,000 in all"
    field = shown.find_element(By.CSS_SELECTOR, "form[data-for=students] [name=text]")
    field.send_keys(labels[1][:-1].upper())
    assert labels[1] in column(shown, "students", 0)
    field.send_keys("no such name")
    assert rows(shown, "students") == []
    field.clear()
    choose(shown, "students", "state", "")
    choose(shown, "students", "place", "0")
    choose(shown, "students", "level", "n")
    left = shown.find_elements(By.CSS_SELECTOR, "table.students tbody tr:not([hidden])")
    assert left
    assert {row.get_attribute("data-levels")[0] for row in left} == {NOTHING}


@NEEDED
def test_a_function_leads_to_its_facts(show: Any, large: str) -> None:
    shown = show(large)
    shown.find_element(By.CSS_SELECTOR, "a[data-facts-of=dpo_loss]").click()
    told = [row[0].splitlines()[-1] for row in rows(shown, "facts")]
    assert len(told) == sum(fact.function == "dpo_loss" for fact in Suite().facts)
    assert all(each.startswith("dpo_loss ·") for each in told)


@NEEDED
def test_a_link_reveals_its_submission(show: Any, large: str) -> None:
    shown = show(large)
    choose(shown, "students", "state", "full")
    link = shown.find_element(By.CSS_SELECTOR, "table[data-list=same] tbody a")
    label, anchor = link.text, link.get_attribute("href").rpartition("#")[2]
    link.send_keys(Keys.ENTER)
    WebDriverWait(shown, PATIENCE).until(lambda _: shown.switch_to.active_element.get_attribute("id") == anchor)
    assert shown.switch_to.active_element.text.startswith(label)
    show(large, "#s999")
    WebDriverWait(shown, PATIENCE).until(lambda _: shown.switch_to.active_element.get_attribute("id") == "s999")


@NEEDED
def test_an_address_that_is_malformed_is_no_fault_of_the_page(show: Any) -> None:
    shown = show(page(PAGES["small"]), "#%E0%A4%A")
    assert len(rows(shown, "students")) == 12


@NEEDED
def test_it_tells_who_made_a_mistake(show: Any, large: str) -> None:
    shown = show(large)
    first = shown.find_element(By.CSS_SELECTOR, "table[data-list=mistakes] tbody tr")
    assert not any(link.is_displayed() for link in first.find_elements(By.CSS_SELECTOR, "details a"))
    first.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    named = [link for link in first.find_elements(By.CSS_SELECTOR, "details a") if link.is_displayed()]
    assert str(len(named)) == rows(shown, "mistakes")[0][1].splitlines()[0]


@NEEDED
def test_more_rows_by_keyboard(show: Any, large: str) -> None:
    shown = show(large)
    shown.find_element(By.CSS_SELECTOR, "table[data-list=facts] + button.more").send_keys(Keys.ENTER)
    assert len(rows(shown, "facts")) == len(Suite().facts)
    focus = shown.switch_to.active_element
    assert focus.tag_name == "tr", "the first of the rows that came"
    assert focus.text.splitlines()[0] == column(shown, "facts", 0)[20]


@NEEDED
def test_it_prints(show: Any, large: str) -> None:
    shown = show(large)
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = shown.find_elements(By.CSS_SELECTOR, "nav, .filter, button.more")
    assert len(hidden) > 5
    assert not any(element.is_displayed() for element in hidden)
    assert head(shown, "students", "points").text.strip() == "points"


@NEEDED
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_no_violation_and_nothing_is_too_wide(show: Any, kind: str, width: int, scheme: str) -> None:
    shown = show(page(PAGES[kind]))
    emulate(shown, width, scheme)
    unfold(shown)
    assert width_of(shown) <= width
    assert violations(shown) == []


@NEEDED
def test_axe_finds_no_violation_in_a_thousand_and_nothing_is_too_wide(show: Any, large: str) -> None:
    shown = show(large)
    for width, scheme in [(DESK, "light"), (PHONE, "dark")]:
        emulate(shown, width, scheme)
        unfold(shown)
        assert width_of(shown) <= width
    assert violations(shown) == []


def unfold(shown: Any) -> None:
    """Open what is folded; in a table, in its first row alone."""
    shown.execute_script(
        "for (const each of document.querySelectorAll('details')) each.open = !each.closest('tr + tr')"
    )
