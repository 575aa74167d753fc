"""A real browser without a window, and what a person does in it."""

import base64
import io
import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
_SWITCHES = (
    *("headless=new", "no-sandbox", "no-first-run"),
    *("use-gl=angle", "use-angle=swiftshader", "enable-unsafe-swiftshader"),  # no graphics card
    *("disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"),
)
_PLACE = """
const view = Bokeh.index.find_one(map.plot), box = view.canvas_view.el.getBoundingClientRect();
return [box.x + view.frame.x_scale.compute(arguments[0]), box.y + view.frame.y_scale.compute(arguments[1])];
"""  # noqa: E501
_NEXT_FRAMES = """
const [done] = arguments, at = scrollY, wait = (n) => n ? requestAnimationFrame(() => wait(n - 1)) : done(scrollY - at);
wait(6);
"""  # noqa: E501

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


def look(browser, *, width=1200, dark=False, touch=False):
    """Emulate a screen of this width, dark or light, to touch or not."""
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def visit(browser, page):
    """Open a page and give what it complained about until its points were painted."""
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # and forget it
    browser.get(page.as_uri())
    until(browser, "document.documentElement.dataset.ready")
    until(browser, "document.getElementById('moon').dataset.painted")
    return complaints(browser)


def complaints(browser):
    logs = browser.get_log("browser")
    return [log["message"] for log in logs if log["level"] in ("WARNING", "SEVERE")]


def addresses(browser):
    """Everything asked for since the page was opened."""
    logs = (json.loads(log["message"])["message"] for log in browser.get_log("performance"))
    sent = (log["params"] for log in logs if log["method"] == "Network.requestWillBeSent")
    return [each["request"]["url"] for each in sent]


def ask(browser, expression, *given):
    return browser.execute_script(f"return {expression}", *given)


def until(browser, expression):
    """Wait until this is so, and give its value."""
    return when(lambda: ask(browser, expression), expression)


def when(condition, told):
    return WebDriverWait(None, 20, 0.03).until(lambda _: condition(), told)


def text(browser, selector):
    return ask(browser, "document.querySelector(arguments[0]).textContent", selector)


def place(browser, x, y):
    """Where on the screen a point of the map is."""
    browser.execute_script("document.getElementById('moon').scrollIntoView({block: 'center'})")
    return [round(each) for each in browser.execute_script(_PLACE, x, y)]


def hover(browser, x, y):
    chain = ActionChains(browser, duration=0)
    chain.w3c_actions.pointer_action.move_to_location(*place(browser, x, y))
    chain.perform()


def lasso(browser, outline, *, wait=0):
    """Draw around points with the mouse held down, moving only so many seconds after pressing."""
    corners = [place(browser, x, y) for x, y in outline]
    chain = ActionChains(browser, duration=60)
    pointer = chain.w3c_actions.pointer_action
    pointer.move_to_location(*corners[0]).pointer_down().pause(wait)
    for corner in corners[1:]:
        pointer.move_to_location(*corner)
    pointer.pointer_up()
    chain.perform()


def draw_by_finger(browser, corners):
    """Draw with one finger from place to place on the screen, and wait until nothing moves."""
    browser.execute_async_script(_NEXT_FRAMES)  # what a touch may do is known after one
    for kind, corner in (("touchStart", corners[0]), *(("touchMove", each) for each in corners)):
        points = [{"x": corner[0], "y": corner[1]}]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    when(lambda: not browser.execute_async_script(_NEXT_FRAMES), "the page scrolls on and on")


def swipe(browser, across, down, up):
    """Move a finger up the screen by so many pixels, from a place on it."""
    draw_by_finger(browser, [(across, down - step) for step in range(0, up + 1, 25)])


def downloaded(browser, folder, selector):
    """Press a link that saves a file, and give the file."""
    behavior = {"behavior": "allow", "downloadPath": str(folder)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)
    path = folder / ask(browser, "document.querySelector(arguments[0]).download", selector)
    when(path.exists, f"{path.name} was not saved")
    return path


def in_view(browser, selector):
    """Whether all of an element is on the screen, and nothing in front of its middle."""
    return ask(
        browser,
        "((e) => { const b = e.getBoundingClientRect(); const top = document.elementFromPoint("
        "b.x + b.width / 2, b.y + b.height / 2); return b.width > 0 && Math.min(b.top, b.left) >= 0"
        " && b.bottom <= innerHeight && b.right <= innerWidth && e.contains(top) })"
        "(document.querySelector(arguments[0]))",
        selector,
    )


def press(browser, *keys):
    ActionChains(browser, duration=0).send_keys(*keys).perform()


def pixel(browser, across, down):
    """Give the colour on the screen."""
    screen = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    return screen.getpixel((across, down))


def printed(browser):
    """Give the page as PDF."""
    settings = {"printBackground": True}
    return base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", settings)["data"])
