"""A benchmark of minimal pairs is a YAML file: what it reads, and what it says of mistakes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from command_line import run
from worldprobe.analysis.comparisons import compare_scores
from worldprobe.analysis.summaries import summarize_scores
from worldprobe.benchmark import Benchmark, Evaluated
from worldprobe.benchmarks import facts_of, find, listed
from worldprobe.cli.engines import Model as Loaded
from worldprobe.contracts import read_table, write_table
from worldprobe.contracts.results import Summaries
from worldprobe.errors import UserError
from worldprobe.models.engine import Scored
from worldprobe.models.engine_types import Transformers
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.report.page import Material
from worldprobe_explorer.rows import read_page_rows

ROWS = [
    {"noun": "Ice", "right": "cold", "wrong": "hot", "kind": "heat"},
    {"noun": "Coal", "right": "black", "wrong": "white", "kind": "NA"},
]
STATED = {
    "title": "Traits",
    "reference": "Nobody's.",
    "data": ["items.csv"],
    "context": "{{ noun }} is",
    "targets": ["right", "{{ wrong }}"],
    "groups": {"trait": "kind"},
    "clusters": "kind",
}

TWO = {"a": {"context": "noun", "target": "right"}, "b": {"target": "{{ noun }} is {{ right }}"}}
#: What is left out beside conditions.
BESIDE = {"context": None, "targets": None}


def write(folder: Path, name: str = "traits.yaml", **changes: object) -> str:
    """The YAML file, next to its data in three forms; a change to None leaves a key out."""
    frame = pd.DataFrame(ROWS)
    frame.to_csv(folder / "items.csv", index=False)
    frame.to_json(folder / "items.jsonl", orient="records", lines=True)
    frame.to_parquet(folder / "items.parquet")
    stated = {key: value for key, value in (STATED | changes).items() if value is not None}
    (folder / name).write_text(yaml.safe_dump(stated))
    return str(folder / name)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_items_are_the_same_in_every_form(tmp_path: Path, form: str) -> None:
    asking = find(write(tmp_path, data=[f"items.{form}"])).asking
    items = asking.items({})
    assert items.to_dict("records") == [
        {
            "unit": "items 1",
            "cluster": "heat",
            "context": "Ice is",
            "targets": ("cold", "hot"),
            "trait": "heat",
        },
        {
            "unit": "items 2",
            "cluster": "NA",
            "context": "Coal is",
            "targets": ("black", "white"),
            "trait": "NA",
        },
    ]
    requests = asking.requests(items.iloc[0])
    assert [(one.context, one.target) for one in requests] == [
        ("Ice is", "cold"),
        ("Ice is", "hot"),
    ]
    assert asking.files({}) == [str(tmp_path / "traits.yaml"), str(tmp_path / f"items.{form}")]


def test_whole_sentences_without_groups_or_clusters_are_compared_too(tmp_path: Path) -> None:
    targets = [
        "{{ noun }} is {{ right }}.",
        "{{ noun }} is {{ wrong }}.",
        "{{ noun }} is {{ kind }}.",
    ]
    asking = find(write(tmp_path, context=None, targets=targets, groups=None, clusters=None)).asking
    items = asking.items({})
    assert list(items["cluster"]) == list(items["unit"])
    requests = [(one.context, one.target) for one in asking.requests(items.iloc[1])]
    assert requests == [(None, "Coal is black."), (None, "Coal is white."), (None, "Coal is NA.")]


@pytest.mark.parametrize(
    ("target", "row"),
    [
        (" {{ bad }}", {"bad": None}),
        (" {{ bad }}", {"bad": float("nan")}),
        ("bad", {"bad": float("nan")}),
        ("{{ bad + right }}", {"bad": 1}),
        ("{{ 1 / 0 }}", {"bad": "x"}),
    ],
)
def test_a_template_that_has_no_value_is_one_error_with_file_and_row(
    tmp_path: Path, target: str, row: dict[str, object]
) -> None:
    """A null was scored as the text "None"."""
    path = write(tmp_path, data=["bad.jsonl"], targets=["right", target])
    (tmp_path / "bad.jsonl").write_text(json.dumps(ROWS[0] | row) + "\n")
    with pytest.raises(UserError, match=r"bad\.jsonl, row 1.*targets\[1\]"):
        find(path).asking.items({})


def test_files_of_one_name_in_several_folders_need_no_ids(tmp_path: Path) -> None:
    path = write(tmp_path, data=["d*/x.jsonl"])
    for folder in ("d1", "d2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    assert list(find(path).asking.items({})["unit"]) == ["d1/x 1", "d2/x 1"]


def test_the_handbooks_example_reads_blimps_layout_in_twenty_lines(
    repository: Path, tmp_path: Path
) -> None:
    text = re.findall(
        r"```yaml\n(title: .*?)```", (repository / "config" / "README.md").read_text(), re.DOTALL
    )[0]
    assert len(text.splitlines()) <= 20
    (tmp_path / "blimp.yaml").write_text(text)
    (tmp_path / "data").mkdir()
    row = {
        "sentence_good": "Dogs bark.",
        "sentence_bad": "Dogs barks.",
        "field": "f",
        "linguistics_term": "t",
    }
    for paradigm in ("a", "b"):
        line = json.dumps(row | {"UID": paradigm, "pairID": "0"})
        (tmp_path / "data" / f"{paradigm}.jsonl").write_text(line + "\n")
    items = find(str(tmp_path / "blimp.yaml")).asking.items({})
    assert list(items["unit"]) == ["a 0", "b 0"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": ["item.csv"]}, r"traits.yaml, line \d+: data\[0\]: there is no file .*item.csv"),
        ({"data": ["*.json"]}, r"line \d+: data\[0\]: \*.json is neither"),
        (
            {"targets": ["right", "wrng"]},
            r'line \d+: targets\[1\]: .*items.csv has no column wrng; did you mean "wrong"',
        ),
        ({"context": "{{ nuon }} is"}, r"line \d+: context: .*items.csv has no column nuon"),
        ({"context": "{{ noun is"}, r"line \d+: context: is not a template"),
        ({"groups": {"status": "kind"}}, r"line \d+: groups.status: is the name of a column"),
        ({"groups": {"trait": "kin"}}, r"line \d+: groups.trait: .* has no column kin"),
        ({"clusters": "kin"}, r"line \d+: clusters: "),
        ({"targets": ["right"]}, r"line \d+: targets: "),
        ({"title": None}, r"title: is missing"),
        ({"targets": None}, r"targets: are fewer than two"),
        (
            {"context": None, "conditions": TWO, "criteria": ["a > b"]},
            r"line \d+: targets: is stated beside conditions",
        ),
        (BESIDE | {"conditions": TWO}, r"criteria: and conditions are only stated together"),
        ({"criteria": ["a > b"]}, r"line \d+: criteria: and conditions are only"),
        (BESIDE | {"conditions": TWO, "criteria": ["a > c"]}, r"criteria\[0\]: c is no condition"),
        (
            BESIDE | {"conditions": {"fits": TWO["a"], "no": TWO["b"]}, "criteria": ["fitz > no"]},
            'fitz is no condition; did you mean "fits"',
        ),
        (BESIDE | {"conditions": TWO, "criteria": ["a - b"]}, r"criteria\[0\]: a - b compares no"),
        (BESIDE | {"conditions": TWO, "criteria": ["a > a"]}, r"criteria\[0\]: a > a compares no"),
        (BESIDE | {"conditions": TWO, "criteria": ["a > 2 * b"]}, r"criteria\[0\]: .* compares no"),
        (
            BESIDE | {"conditions": {**TWO, "is": TWO["a"]}, "criteria": ["a > b"]},
            "conditions.is: is no name in criteria",
        ),
        (
            BESIDE | {"conditions": {"a": {"target": "wrng"}}, "criteria": ["a > a"]},
            r"line \d+: criteria\[0\]",
        ),
        (
            BESIDE | {"conditions": TWO | {"c": {"target": "wrng"}}, "criteria": ["a > b"]},
            r"line \d+: conditions.c.target: .*items.csv has no column wrng",
        ),
        ({"groups": {"logprob_2": "kind"}}, r"groups.logprob_2: is the name of a column"),
        ({"target": "x"}, r"target: unknown key"),
    ],
)
def test_a_mistake_is_named_with_file_and_key_before_anything_is_asked(
    tmp_path: Path, changes: dict, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        find(write(tmp_path, **changes))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('{"noun": "Ice"', "row 3: cannot be read"),
        ("[]", "row 3: cannot be read: it is not a JSON object"),
        (
            '{"noun": "Fog", "right": "wet", "kind": "x"}',
            r"row 3: targets\[1\]: 'wrong' is undefined",
        ),
        ('{"noun": "Fog", "right": "wet", "wrong": "dry"}', "row 3: clusters: kind is missing"),
        (json.dumps(ROWS[0] | {"right": " "}), r"row 3: targets\[0\]: is empty"),
        (
            json.dumps(ROWS[0]),
            "row 3: id: Ice is the id of two items, here and in .*items.jsonl, row 1",
        ),
    ],
)
def test_a_study_reads_the_first_row_alone_and_asking_reads_all_before_a_model_is_loaded(
    tmp_path: Path, row: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, data=["items.jsonl"], id="noun")
    with (tmp_path / "items.jsonl").open("a") as stream:
        stream.write(row + "\n")
    assert find(path).name == "traits"
    model = f"--model mine --checkpoint {tmp_path}/nowhere"
    assert run(f"ask {path} {model} --out {tmp_path}/scores.parquet") == 2
    assert re.search(words, capsys.readouterr().err.replace("\n  problem", ""))


def judged(path: str, *logprobs: float | None, n_tokens: tuple[int, ...] = ()) -> float | None:
    """Whether a model with these log probabilities is right about the first item."""
    asking = find(path).asking
    item = next(asking.items({}).itertuples(index=False))
    lengths = n_tokens or (1,) * len(logprobs)
    assert len(asking.requests(item)) == len(logprobs)
    return asking.score(item, [Scored(*pair) for pair in zip(logprobs, lengths, strict=True)])


def test_the_likeliest_of_several_targets_is_chosen_and_a_tie_counts_one_half(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, targets=["right", "wrong", "kind"])
    assert judged(path, -1.0, -2.0, -3.0) == 1
    assert judged(path, -2.0, -2.0, -3.0) == 0.5
    assert judged(path, -2.0, -2.0, -1.0) == 0
    assert judged(path, -2.0, None, -3.0) is None


def test_an_item_of_several_conditions_is_right_where_all_criteria_hold(tmp_path: Path) -> None:
    """outside2, F9: neither one target after several contexts nor an interaction could be
    written.
    """
    conditions = TWO | {name: {"context": "noun", "target": "wrong"} for name in "cd"}
    criteria = ["a > b", "a - b > c - d", "d < a + b - c"]
    path = write(tmp_path, **BESIDE, conditions=conditions, criteria=criteria)
    asked = [(one.context, one.text) for one in find(path).asking.requests(_first(path))]
    assert asked[:3] == [("Ice", "Ice cold"), (None, "Ice is cold"), ("Ice", "Ice hot")]
    assert judged(path, -1.0, -3.0, -2.0, -3.0) == 1
    assert judged(path, -1.0, -3.0, -1.0, -3.0) == 0.5, "the interaction is a tie"
    assert judged(path, -1.0, -2.0, -1.0, -3.0) == 0, "there is none, though a > b"


def test_what_joins_texts_and_how_lengths_count_is_asked_and_stated(tmp_path: Path) -> None:
    """outside2, F9: Chinese texts were joined by a blank, and sums alone were compared."""
    path = write(tmp_path, join="", length_normalisation="characters", context="noun")
    assert [one.text for one in find(path).asking.requests(_first(path))] == ["Icecold", "Icehot"]
    assert judged(path, -4.0, -3.5) == 1, "-1 and -1.17 a character"
    stated = find(path).asking.stated
    assert stated == {"texts": "joined by nothing", "length-normalised by": "characters"}
    assert find(path).definition["join"] == ""
    path = write(tmp_path, length_normalisation="tokens", context=None)
    assert judged(path, -4.0, -3.5, n_tokens=(4, 3)) == 1
    assert find(path).asking.stated["texts"] == "as they stand"


def _first(path: str) -> tuple:
    return next(find(path).asking.items({}).itertuples(index=False))


def test_several_files_load_a_model_once_and_their_log_probabilities_are_kept(
    tmp_path: Path, tiny_checkpoint: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """outside2, 5: each file loaded the model, and no table had the log probabilities."""
    loaded = []
    load = Transformers.open
    monkeypatch.setattr(
        Transformers, "open", lambda self, model: loaded.append(1) or load(self, model)
    )
    criteria = {"conditions": TWO, "criteria": ["a > b"]}
    paths = [write(tmp_path), write(tmp_path, "interactions.yaml", **BESIDE, **criteria)]
    work = tmp_path / "work"
    named = f"--benchmark {','.join(paths)} --work {work}"
    assert run(f"evaluate {tiny_checkpoint()} {named}") == 0
    assert len(loaded) == 1
    scores = pd.read_parquet(work / "interactions" / "scores.parquet")
    assert scores["value"].tolist() == (scores["logprob_a"] > scores["logprob_b"]).tolist()
    assert {"logprob_1", "logprob_2"} < set(pd.read_parquet(work / "traits" / "scores.parquet"))
    stated = json.loads((work / "result.json").read_text())["benchmarks"]
    assert stated["traits"]["asked"]["texts"] == "joined by one blank"
    assert stated["interactions"]["asked"]["criteria"] == "a > b"
    assert stated["interactions"]["chance"] == 0.5
    groupings = {part["grouping"] for part in stated["interactions"]["parts"]}
    assert groupings == {"trait"}, "log probabilities are no groups"
    page = read_page_rows([Path(paths[1]), work / "interactions" / "scores.parquet"]).frame
    assert page["target1"].tolist() == ["Ice cold", "Coal black"]
    assert page["context1"].isna().all()


def test_pairs_without_groups_are_evaluated_to_their_page(
    tiny_checkpoint: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of items asked for their domain, and items were called clusters of items."""
    path = write(tmp_path, groups=None, clusters=None)
    monkeypatch.chdir(tmp_path)
    assert run(f"evaluate {tiny_checkpoint()} --benchmark {path} --out {tmp_path}/result.json") == 0
    assert (tmp_path / "report.html").is_file()
    stated = json.loads((tmp_path / "result.json").read_text())["benchmarks"]["traits"]
    assert stated["interval"] == f"items ({stated['n']})"


def test_two_benchmarks_of_one_name_are_refused(tmp_path: Path) -> None:
    first = write(tmp_path)
    (tmp_path / "more").mkdir()
    with pytest.raises(
        UserError, match=r"more/traits.yaml: and .*traits.yaml are both called traits"
    ):
        listed([first, write(tmp_path / "more")])
    taken = {
        "ewok": "an installed benchmark",
        "models": "something else",
        "Two words": "cannot be the name",
    }
    for name, words in taken.items():
        with pytest.raises(UserError, match=words):
            find(write(tmp_path, f"{name}.yaml"))


def test_a_study_names_the_file_and_key_of_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(f"benchmarks: [{write(tmp_path, targets=['right', 'wrng'])}]")
    assert run(f"config check {study}") == 2
    error, problem, fix = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: {tmp_path / 'traits.yaml'}, line ")
    assert problem.startswith("  problem: targets[1]: ")
    assert fix.startswith("  fix: Choose one of noun, right, wrong, kind")


def test_pairs_of_models_are_a_table_of_its_page_overall_and_by_group(tmp_path: Path) -> None:
    """A study computed them, and nothing showed them."""
    benchmark = find(write(tmp_path, groups={"kind": "noun"}))
    shown = {one.name: one for one in benchmark.displays}["pairs_of_models"]
    assert shown.section in [section.id for section in benchmark.page.sections]
    assert [shown.is_wanted({"models": models}, {}) for models in (["a"], ["a", "b"])] == [0, 1]
    rows = pd.DataFrame(
        {
            **{"model": "first", "eval_type": "logprobs", "condition": "main", "status": "ok"},
            **{"metric": "accuracy", "unit": [f"i{number}" for number in range(200)]},
            **{"cluster": [f"c{number % 20}" for number in range(200)], "value": 1.0},
            "kind": ["plant", "animal"] * 100,
        }
    )
    half = (rows.index % 3 > 0).astype(float)
    scores = pd.concat([rows, rows.assign(model="second", value=half)])
    sheet = shown(compare_scores(scores, ["kind"]), Roster({}), Provenance())
    assert list(sheet.frame["group"]) == ["all", "animal", "plant"]
    assert list(sheet.frame["difference"]) == pytest.approx([0.335, 0.33, 0.34])
    assert sheet.finding.startswith("1 of 1 pairs of models differs")
    assert "Student's t" in sheet.notes[0]
    assert not any("Caution" in note for note in sheet.notes)
    few = scores.assign(cluster="c" + (scores.index % 5 * (scores.index % 2)).astype(str))
    notes = shown(compare_scores(few, ["kind"]), Roster({}), Provenance()).notes
    assert any(note.startswith("Caution: intervals") for note in notes)
    unequal = scores.assign(cluster="c" + (scores.index % 20 // 3 * 2).astype(str))
    notes = shown(compare_scores(unequal, ["kind"]), Roster({}), Provenance()).notes
    assert "flips of signs" in notes[0]


def write_scores(benchmark: Benchmark, path: Path, model: str, units: str = "i") -> Path:
    rows = pd.DataFrame(
        {
            **{"model": model, "eval_type": "logprobs", "condition": "main", "status": "ok"},
            **{"metric": "accuracy", "unit": [f"{units}{number}" for number in range(20)]},
            **{"cluster": [f"c{number % 8}" for number in range(20)], "value": 1.0},
            "trait": ["plant", "animal"] * 10,
        }
    )
    made = Provenance(model=model, details=facts_of(benchmark))
    write_table(rows, benchmark.scores, path, made)
    return path


@pytest.mark.parametrize("command", ["summarize", "compare"])
def test_two_tables_with_scores_of_one_model_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """The second hid the first."""
    benchmark, out = find(write(tmp_path)), tmp_path / "out.parquet"
    first, other, again = (tmp_path / f"{name}.parquet" for name in ("first", "other", "again"))
    for path, model in ((first, "ant"), (other, "bee"), (again, "ant")):
        write_scores(benchmark, path, model)
    assert run(f"{command} {first} {other} {again} --out {out}") == 2
    said = capsys.readouterr().err
    assert f"error: {again}\n" in said
    assert f"answers of ant (logprobs) a second time, after {first}." in said
    assert not out.exists()
    write_scores(benchmark, again, "ant", "j")
    assert run(f"summarize {first} {again} --out {out}") == 0, "other items of one model"
    means = read_table(out, Summaries)
    assert set(means.loc[means["grouping"] == "overall", "n"]) == {40}


def test_scores_of_one_model_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark, out = find(write(tmp_path)), tmp_path / "out.parquet"
    first = write_scores(benchmark, tmp_path / "first.parquet", "ant")
    for line in (f"compare {first}", f"compare {first} --out {out}"):
        assert run(line) == 2
        assert "fewer than two models" in capsys.readouterr().err
    assert not out.exists()
    other = write_scores(benchmark, tmp_path / "other.parquet", "bee", "j")
    shown = tmp_path / "shown.md"
    assert run(f"compare {first} {other} --out {out}") == 0
    assert run(f"table pairs_of_models {out} --out {shown}") == 0
    assert "no two models were asked in the same way about the same" in shown.read_text()


def test_a_comparison_counts_items_and_names_the_way_of_asking_as_reports_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It read "(logprobs)" and "units: 20"."""
    benchmark = find(write(tmp_path))
    files = [write_scores(benchmark, tmp_path / f"{name}.parquet", name) for name in ("ant", "bee")]
    assert run(f"compare {files[0]} {files[1]}") == 0
    said = capsys.readouterr().out
    assert "(LogProbs)" in said
    assert "; items: 20" in said


def compose(folder: Path, models: dict[str, float], **of_model: object) -> tuple[str, object]:
    """The part of models that are right about such shares of 300 items, of three targets each."""
    benchmark = find(write(folder, targets=["right", "{{ wrong }}", "noun"]))
    rows = [
        {
            "model": model,
            "eval_type": "logprobs",
            "condition": "main",
            "metric": "accuracy",
            "unit": f"i{item}",
            "cluster": f"c{item % 30}",
            "value": float(item * item * 7 % 301 < share * 301),
        }
        for model, share in models.items()
        for item in range(300)
    ]
    path = folder / "summaries.parquet"
    made = Provenance(details=facts_of(benchmark))
    write_table(summarize_scores(pd.DataFrame(rows)), Summaries, path, made)
    roster = Roster(
        {
            model: ShownModel(model, model.capitalize(), **of_model.get(model, {}))
            for model in models
        }
    )
    part = benchmark.page.compose(Material(path, roster))
    return re.sub(r"<[^>]+>", "", str(part.lead)), part


def test_chance_of_three_targets_is_said_in_three_digits(tmp_path: Path) -> None:
    said, part = compose(tmp_path, {"one": 0.6})
    assert "above chance (0.333)" in said
    assert "Texts: joined by one blank." in str(part.methods.text)
    assert "way of asking: LogProbs)" in str(part.methods.text)
    line = f"table against_chance {tmp_path}/summaries.parquet --out {tmp_path}/shown.md"
    assert run(line) == 0
    assert "chance is 0.333." in (tmp_path / "shown.md").read_text()


def test_controls_are_not_counted_as_models(tmp_path: Path) -> None:
    """Beside a published model, a taught control was one of those of whom a lead says how many are
    above chance.
    """
    kinds = {"taught": {"is_control": True}, "blank": {"is_control": True, "is_untrained": True}}
    said, part = compose(tmp_path, {"one": 0.33, "taught": 0.9, "blank": 0.34}, **kinds)
    assert said.strip().startswith("One has an accuracy of 0.")
    assert part.apart == {"Taught", "Blank"}
    assert part.facts == {
        "language models": 1,
        "control models (1 untrained)": 2,
        "items": 300,
    }
    said, _ = compose(tmp_path, {"taught": 0.9, "blank": 0.34}, **kinds)
    assert said.strip().startswith("Taught has an accuracy of 0.")
    assert "No published language model took part." in said


def test_evaluate_asks_where_studies_do(tmp_path: Path) -> None:
    """No model is asked the same question twice, by studies or by ``evaluate``."""
    asked: dict[str, Any] = {}

    def step(_words: str, _function: object, *_args: object, **kwargs: object) -> None:
        asked.update(kwargs)
        raise KeyboardInterrupt

    answering = Loaded(checkpoint="one", answers=tmp_path / ".answers")
    model = Evaluated(answering, tmp_path / "work", None, step)
    with pytest.raises(KeyboardInterrupt):
        find(write(tmp_path)).evaluation.run(model)
    assert asked["model"].answers == tmp_path / ".answers"


def test_items_may_stand_in_the_file_itself(tmp_path: Path) -> None:
    """newcomer3, 24: "minimal pairs in one YAML file" needed a second one."""
    apart = find(write(tmp_path))
    inline = find(write(tmp_path, "traits2.yaml", data=None, items=ROWS))
    tables = [benchmark.asking.items({}) for benchmark in (apart, inline) if benchmark.asking]
    texts = ["context", "targets", "trait"]
    pd.testing.assert_frame_equal(tables[0][texts], tables[1][texts])
    assert inline.definition is not None
    assert "items" not in inline.definition
    assert facts_of(inline)
    for changes, said in (
        ({"items": ROWS}, "stand both here"),
        ({"data": None}, "both missing"),
        ({"data": None, "items": [{}]}, "has no column noun"),
    ):
        with pytest.raises(UserError, match=said):
            find(write(tmp_path, "wrong.yaml", **changes))
