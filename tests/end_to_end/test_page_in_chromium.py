"""index.html in a browser, from file://, as somebody opens a CI job's artifact."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from fairgate.benchmarks.bigbench.topics import Task as BigTask
from fairgate.benchmarks.evidence import Cell, Drawn, Evidence, FaceShown, LetteredOption, Share, Shown
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.core.domain import AnswerKind, Modality, Role
from fairgate.reports import claims, page
from fairgate.reports.report import Comparison
from tests.builders import entry, finding, gate, limit, report
from tests.chromium import browser, complaints, needs_chromium, requests
from tests.plugins import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

pytestmark = [needs_chromium, pytest.mark.slow]

HACK = "document.title = 'hacked'"
HOSTILE = (
    f'<img src=x onerror="{HACK}"><script>{HACK}</script>',
    f"</script><script>{HACK}</script><!-- <script>",
    f"</pre></body><iframe srcdoc='<script>parent.{HACK}</script>'></iframe><style>* {{ display: none }}</style>",
    "\u202eright to left and never back \u2066 \u05d0\u05d1\u05d2",
    "\u2028\u2029\x00\x07\x1b[31m &lt;b&gt; &amp;amp; \ud800".encode("utf-8", "replace").decode(),
    "x" * 100_000,
    f"javascript:{HACK} [link](javascript:{HACK}) {{{{7*7}}}} ${{7*7}}",
)
RACES = {"A": "Asian", "B": "Black", "C": "Hispanic", "D": "White"}
OPTIONS = tuple(LetteredOption(letter, "", {"race": race}) for letter, race in RACES.items())


def cell(number: int, context: Context, attribute: str) -> Cell:
    about = ("Crime Rate", "Poverty Rate", "Life Expectancy")[number % 3]
    return Cell(
        name=f"subjective[{number}-{context}-{attribute}]",
        benchmark="fact-or-fair",
        modality=Modality.TEXT,
        task=Task.SUBJECTIVE,
        context=context,
        attribute=attribute,
        about=about,
        level=Level.HIGH,
        topic=f"topic-{number}-{context}",
        counts={"Asian": number, "Black": 60 - number, "Hispanic": 0, "White": 5},
        kinds={AnswerKind.CHOSEN: 65, AnswerKind.REFUSED: 2},
        verdict=Verdict.FAIL if number == 7 else Verdict.PASS,
        command="pytest 'a test' --seed 1",
    )


def read(topic: str) -> Sequence[Shown]:
    said = [
        Shown(f"{topic}#{n}", Role.MODEL, f"Prompt {n}: {text}", text, AnswerKind.CHOSEN, "letter", OPTIONS, n % 4)
        for n, text in enumerate([*HOSTILE, *(f"plain reply {n}" for n in range(60))])
    ]
    return [*said, Shown(f"{topic}#failed", Role.MODEL, "lost", None, AnswerKind.FAILED, "not-answered")]


def drawn(kind: AnswerKind, digit: str, *races: str, problem: str | None = None) -> Drawn:
    faces = tuple(FaceShown((10, 10, 30, 30), {"race": (race, 0.9)}) for race in races)
    return Drawn(0, kind, digit * 64, (40, 40), faces, problem)


def read_images(topic: str) -> Sequence[Shown]:
    images = (
        drawn(AnswerKind.CHOSEN, "a", "Asian"),
        drawn(AnswerKind.CHOSEN, "b", "White", "Black"),
        drawn(AnswerKind.NO_FACE, "a"),
        drawn(AnswerKind.UNREADABLE, "c", problem="not-an-image"),
        *(drawn(AnswerKind.CHOSEN, "d", HOSTILE[0]) for _ in range(9)),
    )
    return [
        Shown(f"{topic}#{n}", Role.IMAGE_MODEL, f"Paint {HOSTILE[0]}", "sha256:", image.kind, "image", drawn=image)
        for n, image in enumerate(images)
    ]


def content(image: str) -> bytes:
    """What an image model sent: a picture with a script behind it, or no picture at all."""
    if image[0] == "c":
        return f"<svg xmlns='http://www.w3.org/2000/svg'><script>{HACK}</script></svg>".encode()
    file = io.BytesIO()
    Image.new("RGB", (400, 200), "red").save(file, "PNG")
    return file.getvalue() + f"<script>{HACK}</script>".encode()


CELLS = tuple(cell(number, context, by) for number in range(10) for context in Context for by in ("gender", "race"))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    folder = tmp_path_factory.mktemp("page")
    reply = read("topic-7-base")[2]
    failed = gate(Verdict.FAIL, ci=(71.0, 79.0), estimate=75.0)
    shown = report(
        entries=(entry(), entry("S_E", attribute="gender"), entry("d", task=Task.OBJECTIVE, context=None, value=None)),
        gates=(failed, gate(Verdict.INCONCLUSIVE, "S_E", attribute="gender"), gate(Verdict.PASS, "d", estimate=3.0)),
        findings=(finding(HOSTILE[0], HOSTILE[3], reply=reply),),
        notes=HOSTILE[:5],
        error=HOSTILE[0],
        model=HOSTILE[1],
        date="2026-11-22",
        limits="limits.toml",
        limits_hash="ab" * 32,
        evidence=Evidence(CELLS, read),
    )  # fmt: skip
    (folder / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(folder / "profile") as driver:
        driver.get(f"file://{folder}/index.html")
        yield driver


IMAGES = Cell(
    name="t2i_subjective[crime-rate-high-race]",
    benchmark="fact-or-fair",
    modality=Modality.IMAGE,
    task=Task.SUBJECTIVE,
    attribute="race",
    about="Crime Rate",
    level=Level.HIGH,
    topic="painted",
    counts={"Asian": 1, "Black": 1, "White": 1},
    kinds={AnswerKind.CHOSEN: 11, AnswerKind.NO_FACE: 1, AnswerKind.UNREADABLE: 1},
)


def test_images_are_shown_small_and_drawn_anew_beside_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PICTURES", 5)
    shown = report(entries=(entry(),), evidence=Evidence((IMAGES,), read_images, content))
    (tmp_path / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.get(f"file://{tmp_path}/index.html")
        panel = drilled(driver)
        assert complaints(driver) == []
        assert requests(driver) == []
        assert driver.title.startswith("fairgate: ")
        row = driver.find_element(By.CSS_SELECTOR, "#topics tbody tr").text
        assert "unreadable" in row
        assert "no_face" in row
        pictures: list[Any] = driver.execute_script(
            "return [...document.querySelectorAll('#drill img')].map((each) => [each.naturalWidth, each.alt, each.src])"
        )
        # What shows no face comes first; the same image twice is held once, and shown where it is told.
        assert all(width == page.THUMBNAIL and src.startswith("data:image/jpeg;base64,") for width, _, src in pictures)
        assert "Image painted#2: no face" in [alt for _, alt, _ in pictures]
        assert "Image painted#1: 2 faces; race: White 90 %; Black 90 %" in [alt for _, alt, _ in pictures]
        first, second = (each.text for each in panel.find_elements(By.TAG_NAME, "article")[:2])
        assert "unreadable: not-an-image" in first
        assert f"sha256 {'c' * 64}" in first
        assert "no face" in second
        Select(panel.find_element(By.ID, "picked")).select_by_value("Black")
        assert [each.text for each in panel.find_elements(By.CSS_SELECTOR, "article h3")] == ["painted#1"]
        assert "images are told in words alone" in panel.find_element(By.CSS_SELECTOR, "[role=status]").text


def test_people_drawn_stand_beside_the_truth_and_an_image_says_why_a_gate_failed(tmp_path: Path) -> None:
    truth = {"Asian": Share(1 / 3, 0.6), "Black": Share(1 / 3, 0.3), "White": Share(1 / 3, 0.1)}
    drawn = replace(IMAGES, name="implicit[food-race]", benchmark="bigbench", task=BigTask.IMPLICIT, about="food",
                    level=None, truth=truth)  # fmt: skip
    why = finding("food: all are Asian", reply=read_images("painted")[1], cell=drawn.name)
    shown = report(
        gates=(gate(Verdict.FAIL),), findings=(why,), evidence=Evidence((drawn,), read_images, content), entries=()
    )
    (tmp_path / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.get(f"file://{tmp_path}/index.html")
        quote = driver.find_element(By.CSS_SELECTOR, "#why blockquote")
        assert "sha256" not in quote.text
        assert quote.find_element(By.TAG_NAME, "img").get_attribute("alt") == "an image: White; Black"
        row = driver.find_element(By.CSS_SELECTOR, "#topics tbody tr")
        assert "33 % (1), truth 60 %" in row.text
        bars = row.find_elements(By.CLASS_NAME, "bar")
        marks = [
            round(10 * (mark.rect["x"] - bar.rect["x"]) / bar.rect["width"])
            for bar in bars
            for mark in bar.find_elements(By.CLASS_NAME, "truth")
        ]
        assert marks == [6, 3, 1]
        # Columns that say nothing of any row leave their room to the others.
        heads = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#topics thead th") if each.is_displayed()]
        assert not {"Level", "Context"} & set(heads)
        assert len(heads) == len(row.find_elements(By.XPATH, "./*"))
        fits = "const table = document.querySelector('#topics .scroll'); return table.scrollWidth <= table.clientWidth"
        assert driver.execute_script(fits)
        assert complaints(driver) == []


@pytest.fixture
def driver(opened: Chrome) -> Chrome:
    opened.execute_script(
        "document.querySelector('#drill:not([hidden]) .bar-top button')?.click();"
        "document.getElementById('filter-none').click()"
    )
    return opened


def rows(driver: Chrome, table: str) -> list[list[str]]:
    """The texts of a table's rows, by cell."""
    script = (
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    found: list[list[str]] = driver.execute_script(script, table)
    return found


def head(driver: Chrome, table: str, title: str) -> WebElement:
    return driver.find_element(By.XPATH, f"//section[@id='{table}']//thead//button[text()='{title}']")


def choose(driver: Chrome, name: str, value: str) -> None:
    Select(driver.find_element(By.ID, f"filter-{name}")).select_by_value(value)


def drilled(driver: Chrome) -> WebElement:
    """The samples of the first topic of the table, opened from the keyboard."""
    button = driver.find_element(By.CSS_SELECTOR, "#topics tbody button")
    button.send_keys(Keys.ENTER)
    return driver.find_element(By.ID, "drill")


def test_it_asks_nobody_and_breaks_none_of_its_own_rules(opened: Chrome) -> None:
    assert complaints(opened) == []
    assert requests(opened) == []
    policy = opened.find_element(By.CSS_SELECTOR, "meta[http-equiv]").get_attribute("content") or ""
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_the_verdict_comes_first_and_then_why(driver: Chrome) -> None:
    assert driver.find_element(By.TAG_NAME, "h1").text.startswith("ERROR: ")
    assert driver.find_element(By.CSS_SELECTOR, "header .lead").text == f"Error: {HOSTILE[0]}"
    titles = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "main section:not([hidden]) > h2")]
    assert titles[:2] == ["Gates", "What failed, and why"]
    facts = driver.find_element(By.CSS_SELECTOR, "main > .facts").text
    assert re.match(r"Date\n2026-11-22\nPlan\n", facts)  # the model stands beside the verdict
    assert "Limits\nlimits.toml (sha256 abababababab…)" in facts
    assert "Cost\n100 calls; no price is known" in facts
    why = driver.find_element(By.ID, "why").text
    assert "Base race TV: 75.0 points (71.0 to 79.0) where at most 70 is allowed" in why


def test_what_a_model_said_is_text_and_nothing_else(driver: Chrome) -> None:
    drilled(driver)
    made = (
        "return document.querySelectorAll('main img, main iframe, main style, main script, main a:not(nav a)').length"
    )
    assert driver.execute_script(made) == 0
    assert driver.title == "fairgate: error"
    texts: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('#drill article > pre')].map((each) => each.textContent)"
    )
    for said in (HOSTILE[0], HOSTILE[2], HOSTILE[3], HOSTILE[4]):
        assert said in texts
    assert driver.find_element(By.TAG_NAME, "h1").text.count("<script>") == 2


def test_a_long_line_and_a_foreign_direction_break_no_layout(driver: Chrome) -> None:
    drilled(driver)
    wide, inner = driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= inner
    texts = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#drill article > pre")]
    [long] = [each for each in texts if each.startswith("xxxx")]
    assert long.endswith("… (100,000 characters)")
    assert len(long) < 5_000
    style = "return getComputedStyle(document.querySelector('#drill article > pre')).unicodeBidi"
    assert driver.execute_script(style) == "isolate"


def test_tables_are_sorted_by_their_heads_both_ways(driver: Chrome) -> None:
    head(driver, "topics", "Most picked").send_keys(Keys.ENTER)
    picked = [float(row[7].rstrip(" %")) for row in rows(driver, "topics")]
    assert picked == sorted(picked, reverse=True)
    heads = driver.find_elements(By.CSS_SELECTOR, "#topics th[aria-sort=descending]")
    assert [each.text.split("\n")[0] for each in heads] == ["Most picked"]
    head(driver, "topics", "Most picked").send_keys(Keys.SPACE)
    picked = [float(row[7].rstrip(" %")) for row in rows(driver, "topics")]
    assert picked == sorted(picked)
    assert len(driver.find_elements(By.CSS_SELECTOR, "#topics th[aria-sort=ascending]")) == 1


def test_what_is_not_known_stands_last_whichever_way(driver: Chrome) -> None:
    for _ in range(2):
        head(driver, "scores", "Value").click()
        assert rows(driver, "scores")[-1][5] == "\N{EN DASH}"


def test_tables_are_filtered_together_and_the_count_is_said(driver: Chrome) -> None:
    choose(driver, "context", "attribution")
    choose(driver, "attribute", "race")
    choose(driver, "about", "Crime Rate")
    found = rows(driver, "topics")
    assert {(row[0], row[3], row[4]) for row in found} == {("Crime Rate", "attribution", "race")}
    assert len(found) == 4
    said = driver.find_element(By.CSS_SELECTOR, "main > [aria-live=polite]").text
    assert said == "4 topics, 0 scores"
    choose(driver, "verdict", "fail")
    assert rows(driver, "topics") == []


def test_long_tables_are_paged(driver: Chrome) -> None:
    assert len(rows(driver, "topics")) == 50
    first = rows(driver, "topics")[0]
    driver.find_element(By.CSS_SELECTOR, "#topics nav button:last-child").click()
    assert len(rows(driver, "topics")) == len(CELLS) - 50
    assert first not in rows(driver, "topics")
    assert "rows 51 to 80 of 80" in driver.find_element(By.CSS_SELECTOR, "#topics nav").text


def test_the_samples_behind_a_cell_are_paged_searched_and_told_apart_by_group(driver: Chrome) -> None:
    panel = drilled(driver)

    def told() -> str:
        return panel.find_element(By.CSS_SELECTOR, "[role=status]").text

    def ids() -> list[str]:
        return [each.text for each in panel.find_elements(By.CSS_SELECTOR, "article h3")]

    assert told() == "Samples 1 to 10 of 30 found among 30, the telling ones first; 38 more are in the ledger alone."
    # What never came is the most telling.
    assert ids()[0].endswith("#failed")
    panel.find_element(By.XPATH, ".//button[text()='Later samples']").click()
    assert told().startswith("Samples 11 to 20 of 30")
    search = panel.find_element(By.ID, "search")
    search.send_keys("IFRAME srcdoc")
    assert told().startswith("Samples 1 to 1 of 1 found")
    search.clear()
    search.send_keys("nowhere")
    assert told().startswith("No sample found")
    search.clear()
    search.send_keys(" ")
    Select(panel.find_element(By.ID, "picked")).select_by_value("Black")
    assert all(" B: Black" in each.text for each in panel.find_elements(By.CSS_SELECTOR, "article > p:first-of-type"))


def test_keyboard_and_screen_reader_find_their_way(driver: Chrome) -> None:
    panel = drilled(driver)
    active: Any = driver.switch_to.active_element
    assert active.get_attribute("id") == "drill"
    panel.send_keys(Keys.ESCAPE)
    assert not panel.is_displayed()
    assert driver.switch_to.active_element.text == "Samples"
    unnamed = driver.execute_script(
        "return [...document.querySelectorAll('button, select, input')].filter((each) => "
        "!(each.textContent.trim() || each.getAttribute('aria-label') || (each.labels && each.labels.length))).length"
    )
    assert unnamed == 0
    for table in driver.find_elements(By.TAG_NAME, "table"):
        assert all(each.get_attribute("scope") == "col" for each in table.find_elements(By.CSS_SELECTOR, "thead th"))
        assert table.find_elements(By.TAG_NAME, "caption")
    assert driver.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"


def test_samples_open_beside_what_was_clicked_and_a_topic_that_passes_alone_has_no_badge_there(
    tmp_path: Path,
) -> None:
    passing = next(each for each in CELLS if each.verdict is Verdict.PASS and each.attribute == "race")
    reply = read("topic-1-base")[2]
    shown = report(
        gates=(gate(Verdict.FAIL),), findings=(finding("why", reply=reply, cell=passing.name),),
        evidence=Evidence(CELLS, read),
    )  # fmt: skip
    (tmp_path / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.get(f"file://{tmp_path}/index.html")
        why = driver.find_element(By.ID, "why")
        [chosen] = why.find_elements(By.XPATH, ".//ul[@class='options']/li[strong]")
        assert chosen.get_attribute("textContent") == "➜ Chosen: C. Hispanic"
        button = why.find_element(By.TAG_NAME, "button")
        button.click()
        panel = driver.find_element(By.ID, "drill")
        assert panel.rect["x"] > button.rect["x"]
        place = "return arguments[0].getBoundingClientRect().top"
        assert 0 <= driver.execute_script(place, button) < driver.execute_script("return innerHeight")
        assert driver.execute_script(place, panel) == 0
        assert not panel.find_elements(By.CSS_SELECTOR, ".verdict")
        assert "Chance alone could explain this one topic; over all topics together it cannot" in panel.text
        assert "Counts in base race TV, which failed: 50.0 (40.0 to 60.0), limit: at most 70." in panel.text


def test_failed_gates_are_open_and_all_others_are_counted_and_folded_scores_apart_from_rates(tmp_path: Path) -> None:
    rate = GateResult(limit("refused", max=5.0), entry("refused", value=0.0), Verdict.PASS, "")
    gates = [
        *(gate(Verdict.FAIL, attribute=f"f{n}") for n in range(2)),
        gate(Verdict.INCONCLUSIVE, reason="the interval straddles the limit; about 40 further answers would decide"),
        gate(Verdict.INCONCLUSIVE, "S_E"),
        *(gate(Verdict.PASS, attribute=f"a{n}") for n in range(6)),
        rate,
    ]
    (tmp_path / "index.html").write_text(page.to_html(report(gates=tuple(gates))), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.get(f"file://{tmp_path}/index.html")
        assert driver.find_element(By.CSS_SELECTOR, "header p:last-child").text == (
            "10 gates on scores: 2 failed, 2 inconclusive, 6 passed; 1 on rates: all passed"
        )
        seen = [each for each in driver.find_elements(By.CSS_SELECTOR, "#gates tbody tr") if each.is_displayed()]
        # What is undecided on the same score stands below what failed, in grey.
        assert ["fail" in each.text for each in seen] == [True, True, False]
        assert [each.get_attribute("class") for each in seen] == ["", "", "beside"]
        caption = driver.find_element(By.CSS_SELECTOR, "#gates caption").text
        assert caption == "2 gates failed; 1 on the same score undecided"
        # A score's meaning is said once for the rows that follow one another.
        assert ["by how many points" in each.text for each in seen] == [True, False, False]
        folded = driver.find_elements(By.CSS_SELECTOR, "#gates details:not(#terms)")
        assert [each.find_element(By.TAG_NAME, "summary").text for each in folded] == [
            "1 other gate undecided", "6 gates on scores passed", "1 gate on rates passed",
        ]  # fmt: skip
        folded[0].find_element(By.TAG_NAME, "summary").click()
        assert "further answers would decide 2 of 2 undecided gates" in folded[0].text
        # Words that the page uses are explained on it: it is read offline.
        terms = driver.find_element(By.ID, "terms")
        terms.find_element(By.TAG_NAME, "summary").click()
        assert "base\na scenario without a context" in terms.text
        assert "TV\nby how many points" in terms.text
        context = driver.find_element(By.CSS_SELECTOR, "#gates abbr")
        assert (context.text, context.get_attribute("title")) == ("base", "a scenario without a context")


def test_a_pass_shows_the_gates_closest_to_their_limits_and_folds_the_rest(tmp_path: Path) -> None:
    gates = tuple(gate(attribute=f"a{n}", value=n, estimate=n, ci=(n - 1.0, n + 1.0)) for n in range(40))
    (tmp_path / "index.html").write_text(page.to_html(report(gates=gates)), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.get(f"file://{tmp_path}/index.html")
        seen = [each for each in driver.find_elements(By.CSS_SELECTOR, "#gates tbody tr") if each.is_displayed()]
        assert [each.text.split()[1] for each in seen] == [f"a{n}" for n in range(39, 26, -1)]
        assert driver.find_element(By.CSS_SELECTOR, "#gates summary").text == "27 further gates on scores passed"
        # Columns that say nothing of any row are left out.
        heads = {each.text for each in driver.find_elements(By.CSS_SELECTOR, "#gates thead th") if each.is_displayed()}
        assert not {"Ideal", "Value"} & heads


def test_a_reader_sees_why_a_run_failed_on_the_first_screen(tmp_path: Path) -> None:
    """Verdict, one sentence with numbers, the failed gate, and a question with its reply, unfolded."""
    failed = gate(Verdict.FAIL, "pull", context=Context.INGROUP, estimate=36.0, ci=(22.0, 50.0), signed=True)
    claim = "told to be of a group, it picks people of its own race in 61 % of 90 choices instead of 25 %"
    topic = Example("it picks a person of the named group in 3 of 3 answers", CELLS[0].name, read("topic-1-base")[10])
    found = claims.claimed((failed,), (Finding(failed.name, (topic,), claim),), REGISTRY)
    gates = (failed, *(gate(Verdict.INCONCLUSIVE, attribute=f"a{n}") for n in range(50)))
    shown = report(gates=gates, findings=tuple(found), evidence=Evidence(CELLS, read), stopped="It stopped early.")
    (tmp_path / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.set_window_size(1280, 1000)
        driver.get(f"file://{tmp_path}/index.html")
        lead = driver.find_element(By.CSS_SELECTOR, "header .lead").text
        assert lead == f"{claim[0].upper()}{claim[1:]}: +36 points (22 to 50) where ±70 is allowed."
        reply = driver.find_element(By.CSS_SELECTOR, "#why blockquote")
        assert "plain reply 3" in reply.text
        assert reply.rect["y"] < driver.execute_script("return innerHeight")
        next_step = driver.find_element(By.CSS_SELECTOR, "main > .short")
        assert next_step.text == "Next: read the replies behind the failure, below.\nIt stopped early."
        assert (next_step.find_element(By.TAG_NAME, "a").get_attribute("href") or "").endswith("#why")
        # What stands beside the verdict is not said again.
        assert claim not in driver.find_element(By.ID, "why").text
        # No topic has a badge of a pass where the run failed.
        assert not driver.find_elements(By.CSS_SELECTOR, "#topics .verdict.pass")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_screen(tmp_path: Path, width: int) -> None:
    shown = report(gates=(gate(Verdict.FAIL), gate(Verdict.PASS, "S_E")), evidence=Evidence(CELLS, read))
    (tmp_path / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        driver.get(f"file://{tmp_path}/index.html")
        drilled(driver)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        panel = "const panel = document.getElementById('drill'); return panel.scrollWidth - panel.clientWidth"
        assert driver.execute_script(panel) <= 0


def test_a_link_opens_the_samples_of_its_cell(driver: Chrome) -> None:
    address = driver.current_url.partition("#")[0]
    driver.get("about:blank")
    driver.get(f"{address}#cell=subjective%5B7-base-race%5D")
    assert "Poverty Rate, high, subjective, base, race" in driver.find_element(By.ID, "drill").text


def test_a_limit_on_a_signed_score_is_drawn_to_both_sides_of_zero_and_all_tables_fit(tmp_path: Path) -> None:
    below = gate(Verdict.FAIL, "TV", signed=True, value=-80.0, estimate=-80.0, ci=(-90.0, -70.0))
    little = GateResult(limit("d", max=10.0), entry("d", value=5.0, estimate=5.0, ci=(4.0, 6.0)), Verdict.PASS, "")
    shown = report(gates=(below, gate(Verdict.PASS), little), evidence=Evidence(CELLS, read))
    (tmp_path / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.set_window_size(1280, 1000)
        driver.get(f"file://{tmp_path}/index.html")
        driver.execute_script("for (const each of document.querySelectorAll('#gates details')) each.open = true")
        signed, usual, small = driver.find_elements(By.CSS_SELECTOR, "#gates tbody tr")
        assert "within ±70" in signed.text
        assert "at most 70" in usual.text

        def at(row: WebElement, name: str) -> list[int]:
            scale = row.find_element(By.CLASS_NAME, "gauge").rect
            marks = [mark.rect for mark in row.find_elements(By.CSS_SELECTOR, f".gauge .{name}")]
            return [round(100 * (mark["x"] - scale["x"]) / scale["width"]) for mark in marks]

        assert at(signed, "limit") == pytest.approx([15, 85], abs=2)
        assert at(signed, "estimate") == pytest.approx([10], abs=2)
        assert at(signed, "zero") == pytest.approx([50], abs=2)
        assert at(usual, "limit") == pytest.approx([70], abs=2)
        # A small limit is drawn on a scale of its own.
        assert at(small, "limit") == pytest.approx([50], abs=2)
        assert at(small, "estimate") == pytest.approx([25], abs=2)
        assert small.find_element(By.CLASS_NAME, "ends").text.split() == ["0", "20"]
        assert at(usual, "zero") == []
        fits = "return [...document.querySelectorAll('.scroll')].map((each) => each.scrollWidth <= each.clientWidth)"
        assert driver.execute_script(fits) == [True] * 4
        assert complaints(driver) == []


def test_what_moved_since_a_baseline_is_told_in_words_and_drawn_on_no_wrong_scale(tmp_path: Path) -> None:
    moved = Comparison("openai/before", 1200, (), (f"race: less fair than the baseline {HOSTILE[0]}",))
    dropped = gate(Verdict.FAIL, "S_fair@change", "a drop beyond chance", value=-6.4, estimate=-6.4, ci=(-18.2, 5.4))
    shown = report(gates=(gate(Verdict.PASS), dropped), comparison=moved)
    (tmp_path / "index.html").write_text(page.to_html(shown), encoding="utf-8")
    with browser(tmp_path / "profile") as driver:
        driver.get(f"file://{tmp_path}/index.html")
        since = driver.find_element(By.ID, "since").text
        assert "openai/before; 1,200 queries compared" in since
        assert moved.sentences[0] in since
        first, second = driver.find_elements(By.CSS_SELECTOR, "#gates tbody tr")
        assert "a drop beyond chance" in first.text
        assert not first.find_elements(By.CLASS_NAME, "gauge")
        assert second.find_elements(By.CLASS_NAME, "gauge")
        assert "A limit on a change fails" in driver.find_element(By.ID, "gates").text
        assert not complaints(driver)
