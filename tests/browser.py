"""A real browser for the tests of pages. They need Chromium and chromedriver, which `.ci/run` installs where it may;
elsewhere they are reported as skipped."""

import importlib.resources
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
NEEDED = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs chromium and chromedriver on the PATH (Debian: chromium, chromium-driver)"
)
DESK, PHONE = 1200, 390
"""Widths of windows in pixels."""
PATIENCE = 20
AXE_SECONDS = 180
"""Seconds that something a page does by itself may take, and that axe may take on a loaded machine."""


def opened() -> Iterator[Any]:
    """A browser, for a fixture."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver: Any = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(AXE_SECONDS)
    try:
        yield driver
    finally:
        driver.quit()


def emulate(browser: Any, width: int, scheme: str) -> None:
    """Show pages `width` pixels wide, "light" or "dark"."""
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def restore(browser: Any) -> None:
    """Undo what `emulate` and a printing test do."""
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def width_of(page: Any) -> int:
    """How wide the whole page is."""
    return int(page.execute_script("return document.documentElement.scrollWidth"))


def violations(page: Any) -> list[tuple[str, list[str]]]:
    """What axe finds on the page that hinders people, with the elements."""
    page.execute_script((importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = page.execute_async_script("axe.run().then(arguments[0])")
    assert len(found["passes"]) > 15
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]]
