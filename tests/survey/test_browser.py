"""The survey as people take it, in Chromium."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from worldprobe.paths import RESOURCES

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="Selenium is not installed; `make test-survey` installs it"
)
from selenium.common.exceptions import (  # noqa: E402
    StaleElementReferenceException,
    WebDriverException,
)
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
        script = (Path(__file__).resolve().parents[2] / ".venv" / "axe.min.js").read_text()
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


def test_two_tabs_answer_each_trial_once(make_window, server):
    window = make_window(5)
    window.begin()
    window.driver.switch_to.new_window("tab")
    window.open()
    window.wait(".answer:not([disabled])")
    window.answer(1)
    one, two = window.driver.window_handles
    window.driver.switch_to.window(one)
    window.answer(5)  # another answer to the same trial: refused, and this tab moves on
    window.finish()
    window.driver.switch_to.window(two)
    window.driver.refresh()
    assert window.wait("#code").text == "DONE1234"
    answers = server.rows(
        "SELECT position, answer FROM trials JOIN sessions USING (session) ORDER BY started_at"
        " DESC, position LIMIT 2"
    )
    assert answers[0] == (1, 1)
    assert server.rows("SELECT kind FROM events") == [("conflicting",)]


def test_a_closed_window_and_another_browser_continue(make_window):
    first = make_window(6)
    first.begin()
    first.answer()
    first.wait(".answer:not([disabled])")
    before = first.scenario()
    first.driver.get("about:blank")
    second = make_window(6)
    second.open()
    second.wait(".answer:not([disabled])")
    assert second.scenario() == before
    second.finish()


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


def test_the_whole_survey_works_by_keyboard_alone(make_window):
    window = make_window(8)
    window.open()

    def press(*keys: str) -> None:
        for key in keys:
            webdriver.ActionChains(window.driver).send_keys(key).perform()

    def tab_to(selector: str) -> None:
        for _ in range(40):
            press(Keys.TAB)
            if window.driver.execute_script(
                "return document.activeElement.matches(arguments[0])", selector
            ):
                return
        raise AssertionError(f"{selector} cannot be reached by the Tab key")

    tab_to("#agree")
    press(Keys.SPACE)
    tab_to("#consent button.primary")
    press(Keys.ENTER)
    window.wait("#demographics")
    for name in ("age", "country", "language"):
        if name == "country":
            tab_to("input[name=gender]")
            press(Keys.SPACE)
        tab_to(f"#{name}-none")
        press(Keys.SPACE)
    tab_to("#demographics button.primary")
    press(Keys.ENTER)
    window.wait("#begin button")
    tab_to("#begin button")
    press(Keys.ENTER)
    for number in range(N_TESTS + 6):
        window.wait(".answer:not([disabled])", "#code")
        if window.driver.find_elements(By.ID, "code"):
            break
        before = window.scenario()
        if window.driver.find_elements(By.ID, "continue"):
            tab_to("#continue")
            press(Keys.ENTER)
            window.wait("p.scenario")
            continue
        press(str(number % 5 + 1))
        window.moves_on(before)
    assert window.wait("#code").text == "DONE1234"


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


def test_a_server_that_comes_back_goes_on(make_window, server):
    window = make_window(10)
    window.begin()
    before = window.scenario()
    server.kill()
    window.click('.answer[data-key="2"]:not([disabled])')
    WebDriverWait(window.driver, SECONDS).until(
        lambda d: d.find_element(By.ID, "sending").is_displayed()
    )
    server.start()
    window.moves_on(before)
    assert window.n_answered() == 1
    window.driver.get_log("browser")  # the refused connections
    window.finish()


def test_who_withdraws_is_deleted(make_window, server):
    window = make_window(11)
    window.begin()
    window.answer()
    before = server.rows("SELECT count(*) FROM sessions")[0][0]
    window.click("footer a")
    window.click("#withdraw button")
    waiting = WebDriverWait(
        window.driver, SECONDS, ignored_exceptions=[StaleElementReferenceException]
    )  # the page is left meanwhile
    waiting.until(lambda d: "were deleted" in d.find_element(By.TAG_NAME, "h1").text)
    assert server.rows("SELECT count(*) FROM sessions")[0][0] == before - 1


def test_a_study_for_computers_reserves_nothing_for_a_phone(make_server):
    server = make_server(2, 3, devices="desktop")
    for number, (width, is_phone) in enumerate([(360, True), (1100, False)]):
        driver = open_browser(width, 740, is_phone)
        try:
            window = Window(server, driver, number)
            window.open()
            window.wait("h1")
            assert driver.find_element(By.ID, "phone").is_displayed() == is_phone
            assert driver.find_element(By.ID, "consent").is_displayed() != is_phone
        finally:
            driver.quit()


def test_the_papers_box_takes_numbers_only(make_server):
    server = make_server(2, 3, style="paper")
    driver = open_browser(1100, 800)
    try:
        window = Window(server, driver, 1)
        window.open()
        window.consent()
        window.introduce()
        window.click("#begin button")
        for wrong in ("0", "6", "abc", "4.5"):
            box = window.wait("#number")
            box.clear()
            box.send_keys(wrong + Keys.ENTER)
        time.sleep(0.5)
        assert window.n_answered() == 0
        assert window.accessibility() == []
        for _ in range(4):
            box = window.wait("#number")
            before = window.scenario()
            box.clear()
            box.send_keys("4" + Keys.ENTER)
            window.moves_on(before)
        assert window.wait("#code").text == "DONE1234"
        assert driver.get_log("browser") == []
    finally:
        driver.quit()


#: What of the longest trial is where, with every trial of the built-in materials put into the page
#: in turn.
MEASURE = """
const places = document.querySelectorAll('p.scenario');
let worst = {bottom: 0, rows: 0, wide: 0, text: ''};
for (const texts of arguments[0]) {
  texts.forEach((text, k) => { places[k].textContent = text; });
  const boxes = [...document.querySelectorAll('.answer')].map((button) => button.getBoundingClientRect());
  const bottom = Math.max(...boxes.map((box) => box.bottom));
  worst.rows = Math.max(worst.rows, new Set(boxes.map((box) => Math.round(box.top))).size);
  worst.wide = Math.max(worst.wide, document.documentElement.scrollWidth);
  if (bottom > worst.bottom) Object.assign(worst, {bottom, text: texts.join(' ')});
}
return worst;
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    """The texts of every trial of the built-in materials, as the default study fills them."""
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.cli import main
    from worldprobe.contracts import read_table

    path = tmp_path_factory.mktemp("items") / "items.parquet"
    assert main(["items", "build", "builtin", "--versions", "0-4", "--out", str(path)]) == 0
    items = read_table(path, Items)
    scenarios = {
        text
        for c in (1, 2)
        for t in (1, 2)
        for text in items[f"context{c}"] + " " + items[f"target{t}"]
    }
    choices = {
        (f"1. {row.context1}", f"2. {row.context2}", target)
        for row in items.itertuples()
        for target in (row.target1, row.target2)
    }
    return {
        "likert": [[text] for text in sorted(scenarios)],
        "choice": [list(texts) for texts in sorted(choices)],
    }


@pytest.mark.parametrize("eval_type", ["likert", "choice"])
def test_on_a_phone_all_answers_are_in_one_row_and_no_trial_needs_scrolling(
    make_server, shown, eval_type, capsys
):
    server = make_server(2, 3, eval_type=eval_type, practice=False)
    for number, (width, height) in enumerate([(320, 568), (360, 640), (390, 664), (412, 732)]):
        driver = open_browser(width, height, is_phone=True)
        try:
            window = Window(server, driver, number)
            window.begin()
            assert driver.execute_script("return [innerWidth, innerHeight]") == [width, height]
            worst = driver.execute_script(MEASURE, shown[eval_type])
        finally:
            driver.quit()
        with capsys.disabled():
            n = len(shown[eval_type])
            print(
                f"\n{eval_type}, {width}x{height}: the lowest answer of {n} trials ends at"
                f" {worst['bottom']:.0f} px"
            )
        assert worst["rows"] == 1
        assert worst["wide"] <= width
        assert worst["bottom"] <= height, worst["text"]


#: Texts that do not fit their element, or the screen.
CUT = """
return [...document.querySelectorAll('main *, footer *')].filter((one) => {
  const box = one.getBoundingClientRect();
  if (!box.width || !box.height || one.matches('.explained, .hidden, .late, option')) return false;
  return box.right > innerWidth + 1 || box.left < -1 ||
    one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline';
}).map((one) => one.outerHTML.slice(0, 200));
"""


def lengthen(texts: Any) -> Any:
    """Half as long again, with a long word, as a translation may be."""
    if isinstance(texts, dict):
        return {key: lengthen(value) for key, value in texts.items()}
    return (
        texts
        if len(texts) < 3
        else f"{texts} {'Teilnahmevoraussetzungen ' * (1 + len(texts) // 50)}".strip()
    )


@pytest.mark.parametrize("eval_type", ["likert", "choice"])
def test_a_longer_language_is_cut_on_no_page_of_a_narrow_phone(make_server, eval_type, tmp_path):
    english = yaml.safe_load((RESOURCES / "survey" / "texts" / "en.yaml").read_text())
    (tmp_path / "long.yaml").write_text(yaml.safe_dump(lengthen(english) | {"lang": "de"}))
    server = make_server(
        2, 3, eval_type=eval_type, comprehension=True, texts=str(tmp_path / "long.yaml")
    )
    driver = open_browser(320, 568, is_phone=True)
    try:
        window = Window(server, driver, 1)

        def look() -> None:
            assert driver.execute_script(CUT) == []
            assert not window.is_wider_than_the_screen()
            assert window.accessibility() == []

        window.open()
        window.wait("#consent")
        look()
        window.consent()
        look()
        window.introduce()
        look()
        window.click("#meaning-right")
        window.click("#begin button")
        window.wait(".answer:not([disabled])")
        look()
        for _ in range(N_TESTS + 5):
            window.wait(".answer:not([disabled])", "#code")
            if driver.find_elements(By.ID, "code"):
                break
            window.answer(2)
        look()
        driver.get(f"{server.url}withdraw")
        look()
    finally:
        driver.quit()


def test_a_blocked_script_is_told(make_server):
    server = make_server(2, 3)
    driver = open_browser(1100, 800)
    try:
        window = Window(server, driver, 1)
        window.begin()
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*jspsych*"]})
        driver.refresh()
        told = WebDriverWait(driver, SECONDS).until(
            lambda d: (
                d.find_element(By.ID, "blocked").text
                if d.find_element(By.ID, "blocked").size["height"] > 20
                else ""
            )
        )
        assert "was blocked on its way" in told
    finally:
        driver.quit()


def test_digits_above_shift_answer_too_and_phones_are_not_told_of_keys(make_server):
    server = make_server(2, 3)
    for number, is_phone in enumerate([False, True]):
        driver = open_browser(400 if is_phone else 1100, 800, is_phone)
        try:
            window = Window(server, driver, number)
            window.open()
            window.consent()
            window.introduce()
            assert driver.find_element(By.CSS_SELECTOR, ".keys").is_displayed() != is_phone
            window.click("#begin button")
            window.wait(".answer:not([disabled])")
            before = window.scenario()
            event = (  # a French keyboard without Shift
                "new KeyboardEvent('keydown', {key: '&', code: 'Digit1', bubbles: true})"
            )
            driver.execute_script(f"document.dispatchEvent({event})")
            window.moves_on(before)
            assert window.n_answered() == 1
        finally:
            driver.quit()


def test_the_instructions_are_explained_until_understood_and_the_end_asks_for_a_comment(
    make_server,
):
    server = make_server(2, 3, comprehension=True, practice=False, texts="en")
    driver = open_browser(360, 740, is_phone=True)
    try:
        window = Window(server, driver, 1)
        window.open()
        window.consent()
        window.introduce()
        window.click("#meaning-wrong")
        window.click("#begin button")
        WebDriverWait(driver, SECONDS).until(
            lambda d: "Not quite" in d.find_element(By.ID, "problem").text
        )
        assert window.accessibility() == []
        assert not window.is_wider_than_the_screen()
        window.click("#meaning-right")
        window.click("#begin button")
        window.wait(".answer:not([disabled])")
        window.finish()
        driver.find_element(By.ID, "words").send_keys("It was <b>fun</b>.")
        window.click("#comment button")
        assert "was saved" in window.wait("#sent").text
        assert window.accessibility() == []
        assert server.rows("SELECT comment, n_tries FROM sessions") == [("It was <b>fun</b>.", 2)]
        driver.get(f"{server.url}withdraw")
        assert "you are paid all the same" in window.wait("main").text
        window.click("#withdraw button")
        assert window.wait("#code").text == "DONE1234"
        assert driver.get_log("browser") == []
    finally:
        driver.quit()
