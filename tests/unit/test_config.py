"""Every complaint about a configuration names file, line and key, and the nearest known name."""

from pathlib import Path

import pytest
import yaml

from command_line import run
from worldprobe import benchmarks, settings
from worldprobe.errors import UserError
from worldprobe.operations.settings import model_files, read_files

CARD = "  checkpoint: folder\n  family: gpt2\n  display_name: GPT\n"


def read_study(stated: dict, files: list[Path], options: dict | None = None) -> dict:
    return settings.read_study(stated, files, benchmarks.settings_classes, options)


def complaint(tmp_path: Path, text: str, options: dict | None = None) -> UserError:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_study(settings.read_yaml(path).document, [path], options)
    return caught.value


def test_an_unknown_key_of_a_model_names_its_line_and_the_nearest_key(tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text(f"# models\ngpt2_xl:\n{CARD}  dtyp: float32\n")
    with pytest.raises(UserError) as caught:
        settings.read_registry(registry)
    assert caught.value.where == f"{registry}, line 6"
    assert caught.value.problem == 'gpt2_xl.dtyp: unknown key; did you mean "dtype"?'


def test_a_variable_of_a_chat_template_that_is_a_text_is_not_taken_for_false(
    tmp_path: Path,
) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text(f"tiny:\n{CARD}  chat_template_kwargs: {{enable_thinking: 'False'}}\n")
    with pytest.raises(UserError, match="enable_thinking: is a text"):
        settings.read_registry(registry)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("ewok:\n  items:\n    mode: fixd\n", 3, ["items.mode", 'did you mean "fixed"?']),
        ("ewok:\n  items:\n    versions: zero\n", 3, ["items.versions", "'zero'"]),
        ("ewok:\n  items:\n    seed: -1\n", 3, ["items.seed", "at least 0"]),
        ("ewok:\n  mixed_model:\n    enabled: maybe\n", 3, ["mixed_model.enabled", "boolean"]),
        ("models: []\n", 1, ["models", "at least 1 item"]),
        ("models:\n  - a\n  - a\n", 1, ["models", "twice"]),
        (
            "ewok:\n  eval_types:\n    - logprobs\n    - likert_free_too\n",
            4,
            ["eval_types[1]", 'did you mean "likert_free_two"?'],
        ),
    ],
)
def test_a_wrong_value_names_its_line_and_what_would_be_right(
    tmp_path: Path, text: str, line: int, words: list[str]
) -> None:
    found = complaint(tmp_path, text)
    assert found.where.endswith(f"study.yaml, line {line}")
    assert all(word in found.problem for word in words), found.problem


def test_a_key_given_twice_is_an_error_that_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("models: [a]\nitems: {}\nmodels: [b]\n")
    with pytest.raises(UserError, match=r"is set twice \(first on line 1\)") as caught:
        settings.read_yaml(path)
    assert caught.value.where.endswith("line 3")


def study_of(text: str, options: dict | None = None) -> dict:
    return read_study(yaml.safe_load(text) or {}, [], options)


def test_a_condition_is_the_block_with_its_own_differences_over_it() -> None:
    text = (
        "ewok: {items: {seed: 2, versions: 0-1}, conditions: {real: {}, nonce: {title: Nonce,"
        " items: {swap: [object->nonword]}}}}"
    )
    conditions = study_of(text)["ewok"]["conditions"]
    assert list(conditions) == ["real", "nonce"]
    assert conditions["real"]["items"]["swap"] == []
    assert conditions["nonce"]["items"] | {"swap": []} == conditions["real"]["items"]
    assert conditions["nonce"]["title"] == "Nonce"


def test_a_study_has_the_benchmarks_that_it_names_and_both_of_ours_where_it_names_none() -> None:
    assert study_of("")["benchmarks"] == ["ewok", "worldsense"]
    study = study_of("benchmarks: [worldsense]\newok: {items: {seed: 2}}")
    assert study["ewok"] is None
    assert study["worldsense"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ewok: {items: {versions: 4-0}}", "ewok.items.versions"),
        ("ewok: {items: {filter: '['}}", "ewok.items.filter"),
        ("ewok: {items: {swap: ['agnt->object']}}", "ewok.items.swap[0]"),
        ("controls: {taught: .nan}", "controls.taught"),
        ("ewok: {baselines: {frequency: {source: ngrams}}}", "ewok.baselines.frequency.source"),
        (
            "ewok: {conditions: {a: {}, b: {items: {versions: 3-1}}}}",
            "ewok.conditions.b.items.versions",
        ),
        ("ewok: {conditions: {A b: {}}}", "is not a valid name"),
        (
            "ewok: {conditions: {a: {}, b: {items: {per_template: 1}}}}",
            "ewok.conditions.b: asks the same questions as a",
        ),
        (
            "ewok: {conditions: {a: {}, b: {prompting: {swap: true}}}}",
            "where eval_types names Likert or Choice",
        ),
        (
            "ewok: {materials: {source: builtin@0}}",
            "ewok.materials.source: builtin@0: there is no such edition",
        ),
        ("study: ../x", "study"),
        ("[]", "keys and values"),
        ("ewok: null", "ewok: null does not leave a benchmark out."),
        (
            "benchmarks: [ewok, worldsens]",
            "line 1\n  problem: benchmarks[1]: worldsens is not an installed benchmark; did",
        ),
        ("benchmarks: [no/such.yaml]", "benchmarks[0]: no/such.yaml is not there."),
        ("benchmarks: ewok", "benchmarks: 'ewok' should be a valid list"),
    ],
)
def test_what_cannot_work_is_refused_before_any_job_with_its_key(
    tmp_path: Path, text: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    assert run(f"config check {path}") == 2
    printed = capsys.readouterr().err
    assert key in printed
    assert "study.yaml" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    "materials",
    ["{password: 99887766}", "{password: [99887766]}", "{password: {a: 99887766}}", "[99887766]"],
)
def test_a_password_of_the_wrong_type_or_place_is_not_printed(
    tmp_path: Path, repository: Path, materials: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(f"ewok: {{materials: {materials}}}")
    assert run(f"config check {repository / 'config' / 'config.yaml'} {path}") == 2
    assert "99887766" not in "".join(capsys.readouterr())


def test_new_weights_in_another_folder_that_an_index_names_are_scored_again_and_notes_are_not(
    tmp_path: Path,
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for path in (
        mine / "config.json",
        mine / "words.tiktoken",
        mine / "optimizer.pt",
        mine / "notes.md",
        other / "w.safetensors",
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    index = mine / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "../other/w.safetensors"}}')
    card = {"checkpoint": str(mine), "engine": "transformers"}
    names = {"config.json", "words.tiktoken", "model.safetensors.index.json"}
    assert {Path(path).name for path in model_files(card)} == names | {"w.safetensors"}
    index.write_text("not an index")
    assert model_files(card) == []


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("24:00:00", "number"),
        ("010", "10"),
        ("1_000", "1000"),
        ("0b11", "number"),
        ("1:30.5", "number"),
        ("012.5", "12.5"),
        ("yes", "true or false"),
        ("2026-01-01", "quotes"),
    ],
)
def test_what_yaml_1_1_and_1_2_read_differently_is_refused_with_its_line(
    tmp_path: Path, written: str, instead: str
) -> None:
    """yaml/pyyaml #272, #395: 24:00:00 would be 86,400 and 010 eight, for Snakemake too."""
    path = tmp_path / "study.yaml"
    for text in (f"a: 1\nb: {written}\n", f"a: 1\n{written}: b\n", f"a:\n- [c, {written}]\n"):
        path.write_text(text)
        with pytest.raises(UserError) as told:
            settings.read_yaml(path)
        assert told.value.where.endswith("line 2")
        assert instead in told.value.fix
    path.write_text(f'b: "{written}"\n')
    assert settings.read_yaml(path).document == {"b": written}


def test_a_swap_that_no_filler_meets_is_found_before_anything_runs(tmp_path: Path) -> None:
    found = complaint(tmp_path, "ewok:\n  items:\n    swap:\n      - agent->agent:western=flase\n")
    assert 'did you mean "false"' in found.problem
    stated = {"ewok": {"items": {"swap": ["agent->agent:western=False"]}}}
    assert read_study(stated, [])["ewok"]["items"]["swap"] == ["agent->agent:western=False"]


def test_examples_of_another_domain_are_refused_where_a_set_has_but_one() -> None:
    def refused(block: str) -> str:
        try:
            study_of(
                f"benchmarks: [worldsense]\nworldsense: {{sets: [test, ood-problem], {block}}}"
            )
        except UserError as error:
            return f"{error.where} {error.problem}"
        return ""

    found = refused("promptings: [basic, icl_ood]")
    assert "worldsense.promptings[1]" in found
    assert "all skins of the set ood-problem are of one" in found
    assert not refused("promptings: [basic, icl_ood], other_promptings: [basic]")
    assert "other_promptings[0]" in refused("promptings: [basic], other_promptings: [icl_ood]")


def test_all_problems_are_printed_also_of_models_where_the_settings_are_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "study: mine\nmodels: [smollm2_135x]\newok:\n  verzions: 0-1\nworldsense:\n  limit: many\n"
    )
    with pytest.raises(UserError) as caught:
        read_files([path])
    printed = caught.value.lines()
    assert [
        word in printed for word in ("smollm2_135x", "smollm2_135m", "verzions", "worldsense.limit")
    ] == [True] * 4
    assert printed.count("problem: ") == 3
    assert run(f"config check {path}") == 2
    assert capsys.readouterr().err.count("problem: ") == 3
