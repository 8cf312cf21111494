"""Allure 3's own report of a failed run, made and opened as docs/ci.md says, from the overview to the reply."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.chromium import browser, complaints, needs_chromium, requests
from tests.running import CHECKOUT, bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

ALLURE = os.environ.get("FAIRGATE_ALLURE") or shutil.which("allure")
pytestmark = [
    needs_chromium,
    pytest.mark.slow,
    pytest.mark.skipif(
        ALLURE is None,
        reason="no Allure 3: npm install allure@3.18.0, and name node_modules/.bin/allure in FAIRGATE_ALLURE",
    ),
]
# What docs/ci.md removes: Allure's report tells an analytics host whenever it is opened.
ANALYTICS = re.compile(r"<script async[^>]*googletagmanager[^>]*></script>\s*<script>.*?</script>", re.DOTALL)
HOSTILE = "tests.plugin.models:stereotypes_in_markup"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    folder = tmp_path_factory.mktemp("allure")
    results = folder / "allure"
    limits = f"--thresholds={CHECKOUT / 'thresholds.toml'}"
    part = ("--per-topic=20", limits, "-k", "crime and base and gender", "-n", "0", f"--alluredir={results}")
    for _ in range(2):
        run = bench(folder, f"--model=python/{HOSTILE}", *part)
        assert run.code == 1, run.output
    generated(results, folder / "out")
    with browser(folder / "profile") as driver:
        driver.get(f"file://{folder}/out/index.html")
        yield driver


def generated(results: Path, out: Path) -> None:
    command = [str(ALLURE), "generate", str(results), "--config", str(results / "allurerc.json"), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)  # noqa: S603 - named above
    assert done.returncode == 0, done.stdout + done.stderr
    page = out / "index.html"
    text, removed = ANALYTICS.subn("", page.read_text(encoding="utf-8"))
    assert removed == 1
    page.write_text(text, encoding="utf-8")


def seen(driver: Chrome, text: str) -> WebElement:
    """The first element on view that says so, waited for."""

    def look(found: Chrome) -> WebElement | None:
        elements = found.find_elements(By.XPATH, f"//*[contains(text(), {text!r})]")
        return next((each for each in elements if each.is_displayed()), None)

    found = WebDriverWait(driver, 30).until(look)
    assert found is not None
    return found


def test_from_the_overview_to_the_reply_that_failed_and_no_request_leaves(opened: Chrome) -> None:
    verdict = seen(opened, "FAIL: python/")
    assert verdict.is_displayed()
    # The second run into the same folder is a retry of the first, and counts no case twice.
    total = opened.find_element(By.CSS_SELECTOR, "[data-testid='metadata-item-total'] [data-testid='metadata-value']")
    effects = ("contrast", "preference", "preference_spread", "level_shift", "position", "position_spread")
    gates = (*effects, "refused", "unreadable")
    assert int(total.text) == 2 + len(gates) + 1
    seen(opened, "Categories").click()
    assert seen(opened, "Findings: what the model did")
    seen(opened, "Results").click()
    opened.find_element(By.CSS_SELECTOR, "[data-testid='tab-failed']").click()
    seen(opened, "base gender contrast").click()
    assert seen(opened, "it picks")
    # The error's trace has the topics, each with one reply.
    assert seen(opened, "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}img src=x onerror")
    assert opened.title != "hacked"
    assert requests(opened) == []
    assert [each for each in complaints(opened) if "ERR_" in each] == []
