"""The survey as people take it, in Chromium."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="Selenium is not installed; `make test-survey` installs it"
)
from selenium.common.exceptions import WebDriverException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.survey
HOSTILE = """<b>5 < 6 & "7" > '3'</b> <script>document.title = "broken"</script> {{ 1 }} \u202eabc \U0001f600"""
N_TESTS = 6
SECONDS = 40


@pytest.fixture(scope="module")
def server(make_server: Callable[..., Any]) -> Any:
    return make_server(20, N_TESTS, hostile=HOSTILE, break_every=3, ratings_per_item=50)


class Window:
    """A browser window with what a person does in it."""

    def __init__(self, server: Any, driver: Any, number: int) -> None:
        self.server, self.driver, self.number = server, driver, number

    def open(self) -> None:
        self.driver.get(self.server.link(self.number))

    def wait(self, *selectors: str) -> Any:
        """The first element, among those that any of the selectors finds."""
        joined = ", ".join(selectors)
        found = WebDriverWait(
            self.driver, SECONDS, poll_frequency=0.1, ignored_exceptions=[WebDriverException]
        ).until(lambda driver: driver.find_elements(By.CSS_SELECTOR, joined))
        return found[0]

    def click(self, selector: str) -> None:
        for _ in range(20):
            try:
                self.wait(selector).click()
                return
            except WebDriverException:
                time.sleep(0.1)
        raise AssertionError(selector)

    def consent(self) -> None:
        self.click("#agree")
        self.click("#consent button.primary")
        self.wait("#demographics")

    def introduce(self) -> None:
        for name in ("age", "gender", "country", "language"):
            self.click(f"#{name}-none")
        self.click("#demographics button.primary")
        self.wait("#begin button")

    def begin(self) -> None:
        self.open()
        self.consent()
        self.introduce()
        self.click("#begin button")
        self.wait(".answer:not([disabled])")

    def answer(self, answer: int = 3) -> None:
        """One trial, and the break before it."""
        before = self.scenario()
        if self.driver.find_elements(By.ID, "continue"):
            self.click("#continue:not([disabled])")
            self.wait(".scenario")
            before = self.scenario()
        self.click(f'.answer[data-key="{answer}"]:not([disabled])')
        self.moves_on(before)

    def scenario(self) -> str:
        try:
            found = self.driver.find_elements(By.CSS_SELECTOR, "p.scenario")
            return " ".join(one.text for one in found)
        except WebDriverException:
            return ""

    def moves_on(self, before: str) -> None:
        WebDriverWait(
            self.driver, SECONDS, poll_frequency=0.05, ignored_exceptions=[WebDriverException]
        ).until(
            lambda driver: (
                driver.find_elements(By.CSS_SELECTOR, "#continue, #code")
                or self.scenario() not in ("", before)
            )
        )

    def finish(self) -> None:
        for _ in range(N_TESTS + 5):
            self.wait(".answer:not([disabled])", "#code")
            if self.driver.find_elements(By.ID, "code"):
                break
            self.answer()
        assert self.wait("#code").text == "DONE1234"

    def n_answered(self) -> int:
        return self.server.rows(
            "SELECT count(answer) FROM trials WHERE session = (SELECT session FROM sessions ORDER"
            " BY started_at DESC LIMIT 1)"
        )[0][0]

    def accessibility(self) -> list[str]:
        """What axe-core finds that is serious or worse."""
        script = (Path(__file__).resolve().parents[4] / ".venv" / "axe.min.js").read_text()
        self.driver.execute_script(script)
        found = self.driver.execute_async_script("axe.run().then(arguments[0])")
        return [
            f"{one['id']}: {one['help']}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    def is_wider_than_the_screen(self) -> bool:
        return self.driver.execute_script(
            "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )


def open_browser(width: int, height: int, is_phone: bool = False) -> Any:
    """Chromium as Debian installs it, with its own driver: nothing is downloaded."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        f"--window-size={width},{height}",
    ):
        options.add_argument(argument)
    if is_phone:
        metrics = {"width": width, "height": height, "pixelRatio": 1, "touch": True}
        options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


@pytest.fixture
def make_window(server: Any) -> Iterator[Callable[..., Window]]:
    drivers = []

    def make(number: int, width: int = 1100, height: int = 800, is_phone: bool = False) -> Window:
        driver = open_browser(width, height, is_phone)
        drivers.append(driver)
        return Window(server, driver, number)

    yield make
    complaints = [entry["message"] for driver in drivers for entry in driver.get_log("browser")]
    for driver in drivers:
        driver.quit()
    # Without a network the browser itself reports requests that failed; everything else is a fault
    # of the pages.
    assert [
        line
        for line in complaints
        if "net::ERR_INTERNET_DISCONNECTED" not in line and "status of 409" not in line
    ] == []


@pytest.mark.parametrize(("number", "width", "is_phone"), [(1, 1100, False), (2, 360, True)])
def test_every_page_survives_a_refresh_and_is_accessible(
    make_window, server, number, width, is_phone
):
    window = make_window(number, width, 740, is_phone)
    driver = window.driver

    def look(page: str) -> None:
        driver.refresh()
        window.wait("h1")
        if page == "trials":
            window.wait(".answer:not([disabled])")
        assert window.accessibility() == [], page
        assert not window.is_wider_than_the_screen(), page
        buttons = driver.find_elements(By.CSS_SELECTOR, "button, a.primary, .tick label")
        assert all(button.size["height"] >= 44 for button in buttons if button.is_displayed()), page

    window.open()
    look("consent")
    window.consent()
    look("demographics")
    window.introduce()
    look("instructions")
    window.click("#begin button")
    window.wait(".answer:not([disabled])")
    look("trials")
    for _ in range(3):
        window.answer()
        driver.refresh()
        window.wait(".answer:not([disabled])")
    window.finish()
    look("complete")
    driver.get(f"{server.url}withdraw")
    look("withdraw")
    assert driver.title != "broken"


def test_hostile_texts_are_shown_as_they_are(make_window):
    window = make_window(3)
    window.begin()
    for _ in range(2):
        window.answer()
    window.wait(".answer:not([disabled])")
    assert HOSTILE.replace("  ", " ") in window.scenario()
    assert window.driver.title.startswith("Your answers")


def test_back_and_forward_lose_nothing(make_window, server):
    window = make_window(4)
    window.driver.get("about:blank")
    window.begin()
    window.answer()
    window.wait(".answer:not([disabled])")
    before = window.scenario()
    window.driver.back()
    window.driver.forward()
    window.wait(".answer:not([disabled])")
    assert window.scenario() == before
    window.driver.back()
    window.open()
    window.wait(".answer:not([disabled])")
    assert window.scenario() == before
    window.finish()
    window.driver.back()
    window.driver.forward()
    assert window.wait("#code").text == "DONE1234"


def test_double_clicks_and_held_keys_answer_one_trial(make_window):
    window = make_window(7)
    window.begin()
    before = window.scenario()
    button = window.wait('.answer[data-key="4"]:not([disabled])')
    webdriver.ActionChains(window.driver).double_click(button).perform()
    window.moves_on(before)
    time.sleep(1)
    assert window.n_answered() == 1
    before = window.scenario()
    body = window.driver.find_element(By.TAG_NAME, "body")
    window.wait(".answer:not([disabled])")
    window.driver.execute_script(
        "const fire = (repeat) => document.dispatchEvent(new KeyboardEvent('keydown', {key: '2',"
        " repeat, bubbles: true}));fire(false); const held = setInterval(() => fire(true), 30);"
        " setTimeout(() => clearInterval(held), 1500)"
    )
    window.moves_on(before)
    time.sleep(2)
    assert window.n_answered() == 2
    body = window.driver.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.ENTER * 30)
    time.sleep(1)
    assert window.n_answered() == 2


def test_a_lost_connection_loses_nothing(make_window):
    window = make_window(9)
    window.begin()
    driver = window.driver
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    before = window.scenario()
    window.click('.answer[data-key="4"]:not([disabled])')
    assert "could not be sent yet" in WebDriverWait(driver, SECONDS).until(
        lambda d: (
            d.find_element(By.ID, "sending").text
            if d.find_element(By.ID, "sending").is_displayed()
            else ""
        )
    )
    assert window.accessibility() == []
    time.sleep(2)
    assert window.n_answered() == 0
    assert window.scenario() in ("", before)
    online = offline | {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", online)
    window.moves_on(before)
    assert window.n_answered() == 1
    assert not driver.find_element(By.ID, "sending").is_displayed()
    window.finish()
