"""A headless Chromium that reaches nobody but this machine, for what only a browser can tell."""

from __future__ import annotations

import contextlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
needs_chromium = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="chromium or chromedriver is not installed: apt-get install chromium chromium-driver",
)
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    "--force-prefers-reduced-motion",  # a page that still scrolls cannot be clicked
    *("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--window-size=1280,1000"),
)


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser of its own, that keeps what it logs and what it asks the network for."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_page_load_timeout(60)
    try:
        yield driver
    finally:
        driver.quit()


def complaints(driver: webdriver.Chrome) -> list[str]:
    """What the browser's console says, errors and refused content among it, since it was last asked."""
    return [str(each["message"]) for each in driver.get_log("browser")]  # type: ignore[no-untyped-call]


def requests(driver: webdriver.Chrome) -> list[str]:
    """The addresses that were asked of a network since this was last asked."""
    events = [json.loads(each["message"])["message"] for each in driver.get_log("performance")]  # type: ignore[no-untyped-call]
    sent = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if url.startswith(("http:", "https:", "ws:", "wss:"))]
