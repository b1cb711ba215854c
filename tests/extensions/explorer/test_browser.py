"""The page of items in Chromium: filters, keys, addresses, and what axe-core finds."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from command_line import run

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="Selenium is not installed; `make test-survey` installs it"
)
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

pytestmark = pytest.mark.survey


@pytest.fixture(params=[1280, 400])
def window(request, tmp_path, item_table, tiny_checkpoint):
    scores, page = tmp_path / "scores.parquet", tmp_path / "items.html"
    asked = f"score logprobs {item_table} --checkpoint {tiny_checkpoint()} --out {scores}"
    for name in ("first", "second"):
        assert run(f"{asked} --model {name}") == 0
        scores.rename(tmp_path / f"{name}.parquet")
    told = f"score all {item_table} --checkpoint {tiny_checkpoint()} --model first"
    assert (
        run(f"{told} --eval-types choice_constrained_zero --out {tmp_path / 'choices.parquet'}")
        == 0
    )
    made = f"--sizes 3 --problems Infer.trivial --per-cell 1 --skins race --out {tmp_path / 'trials.parquet'}"
    assert run(f"worldsense generate test {made}") == 0
    rule = "--engine rule --checkpoint solver --model first --prompting basic"
    assert (
        run(
            f"worldsense ask {tmp_path / 'trials.parquet'} {rule} --out {tmp_path / 'replies.parquet'}"
        )
        == 0
    )
    names = ("first", "second", "choices", "trials", "replies")
    tables = " ".join(str(tmp_path / f"{name}.parquet") for name in names)
    assert run(f"explore {item_table} {tables} --with-protected-text --out {page}") == 0
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = str(shutil.which("chromium"))
    service = webdriver.ChromeService(str(shutil.which("chromedriver")))
    driver = webdriver.Chrome(options=options, service=service)
    metrics = {"width": request.param, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})

    def go(fragment: str = "") -> None:
        driver.get("about:blank")
        driver.get(f"file://{page}#{fragment}")
        ready = (By.CSS_SELECTOR, "body[data-ready]")
        WebDriverWait(driver, 30).until(lambda one: one.find_elements(*ready))

    driver.go = go
    yield driver
    driver.quit()


def rows(driver) -> list[str]:
    script = "return [...document.querySelectorAll('.row .where')].map(one => one.textContent)"
    found: list[str] = driver.execute_script(script)
    return found


def wrong_by_axe(driver) -> list[str]:
    script = (Path(__file__).resolve().parents[3] / ".venv" / "axe.min.js").read_text()
    driver.execute_script(script)
    found = driver.execute_async_script("axe.run().then(arguments[0])")
    return [one["id"] for one in found["violations"]]


def test_items_are_filtered_opened_and_addressed(window):
    window.go("benchmark=ewok")
    assert len(rows(window)) == 6
    assert wrong_by_axe(window) == []
    window.go("benchmark=ewok&version=1")
    assert all("_v1" in row for row in rows(window))
    window.find_element(By.ID, "search").send_keys("crate")
    WebDriverWait(window, 5).until(lambda _: len(rows(window)) == 1)
    assert "q=crate" in window.current_url
    window.find_element(By.ID, "clear").click()
    assert len(rows(window)) > 6
    Select(window.find_element(By.ID, "other")).select_by_index(2)
    Select(window.find_element(By.ID, "right")).select_by_value("differ")
    assert rows(window) == [], "both runs are of one model"
    window.go("benchmark=ewok")
    listed = window.find_element(By.ID, "list")
    listed.send_keys(Keys.ARROW_DOWN)
    listed.send_keys(Keys.ENTER)
    title = window.find_element(By.ID, "detail-title")
    assert title.text == rows(window)[1].partition(" ")[0]
    assert wrong_by_axe(window) == []
    assert "worldprobe score logprobs one.parquet" in window.page_source
    assert "You must answer using" in window.page_source, "the prompt of Choice"
    window.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not title.is_displayed()
    quoted = window.execute_script("return [quoted('a/b-1.parquet'), quoted(`it's here`)]")
    assert [shlex.split(word) for word in quoted] == [["a/b-1.parquet"], ["it's here"]]


def test_a_row_shows_where_targets_begin_and_a_legend_says_what_its_numbers_are(window):
    """Two contexts and two targets ran together; a number and its colour had no explanation."""
    legend = "return document.getElementById('legend').textContent"
    window.go("benchmark=ewok&version=1")
    texts = [one.text for one in window.find_elements(By.CSS_SELECTOR, ".row .what")]
    assert all(re.fullmatch(r"[^/→]+ / [^/→]+ → [^/→]+ / [^/→]+", text) for text in texts)
    assert all(row.endswith(" · version 1") for row in rows(window))
    said = window.execute_script(legend)
    assert "first's difference of log probabilities (nats)" in said
    assert "green: right about both targets" in said
    assert said.endswith("Beside it: second.")
    window.go("benchmark=worldsense&model=first")
    assert window.execute_script(legend).endswith("whether first is right (✓) or wrong (✗).")
    assert all(row.endswith(" · size 3") for row in rows(window))


def test_a_link_chooses_the_run_of_its_benchmark(window):
    chosen = "return document.getElementById('run').selectedOptions[0].textContent"
    for benchmark, way in {"worldsense": "basic", "ewok": "LogProbs"}.items():
        window.go(f"benchmark={benchmark}&model=first")
        assert window.execute_script(chosen) == f"first, {way}"


def test_an_address_names_its_run(window):
    """Also the first one, beside items of a benchmark that has another."""
    window.go("benchmark=worldsense")
    assert window.execute_script(
        "byId('run').value = '0'; byId('filters').dispatchEvent(new Event('change'));"
        "return [location.hash, runs[0].model, runs[0].way].join()"
    ).endswith("#benchmark=worldsense&model=first&way=logprobs,first,logprobs")
