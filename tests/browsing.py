"""A real browser without a window, and what a person would do in it."""

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
_SWITCHES = (
    *("headless=new", "no-sandbox", "no-first-run", "window-size=1200,900"),
    *("use-gl=angle", "use-angle=swiftshader", "enable-unsafe-swiftshader"),  # no graphics card
    *("disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"),
)

needs_chromium = pytest.mark.skipif(
    not (CHROMIUM.exists() and DRIVER.exists()) and not os.environ.get("CI"),
    reason="chromium or chromium-driver is missing",
)


@contextmanager
def open_browser():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for switch in (*_SWITCHES, f"user-data-dir={profile}"):
            options.add_argument(f"--{switch}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        browser = Chrome(options=options, service=Service(str(DRIVER)))
        try:
            yield browser
        finally:
            browser.quit()


def look_like(browser, *, width=1200, dark=False):
    """Emulate a screen of this width, with the system's colours dark or light."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def visit(browser, page):
    """Open a page, wait until it is painted, and give what it complained about."""
    forget(browser)
    browser.get(page.as_uri())
    wait(browser, "document.documentElement.dataset.ready && painted()", _HELPERS)
    return complaints(browser)


def forget(browser):
    for kind in ("browser", "performance"):
        browser.get_log(kind)


def complaints(browser):
    return [log for log in browser.get_log("browser") if log["level"] in ("WARNING", "SEVERE")]


def requests(browser):
    """Every address asked for since the page was opened."""
    logs = (json.loads(log["message"])["message"] for log in browser.get_log("performance"))
    return [
        log["params"]["request"]["url"]
        for log in logs
        if log["method"] == "Network.requestWillBeSent"
    ]
