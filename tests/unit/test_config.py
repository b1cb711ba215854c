"""Every complaint about a configuration names file, line and key, and the nearest known name."""

import logging
from pathlib import Path

import pytest
import yaml

from worldprobe import benchmarks, settings
from worldprobe.benchmarks.ewok.study import has_generalisation, is_builtin
from worldprobe.benchmarks.worldsense.skins.skins import SkinFile
from worldprobe.cli import main
from worldprobe.errors import UserError
from worldprobe.operations.settings import as_written, check_folders, model_files, read_settings
from worldprobe.paths import REPOSITORY

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


def test_an_unknown_key_far_from_any_known_one_lists_the_known_ones(tmp_path: Path) -> None:
    found = complaint(tmp_path, "ewok:\n  items:\n    zzz: 1\n")
    assert found.where.endswith("study.yaml, line 3")
    assert found.problem.startswith(
        "ewok.items.zzz: unknown key; the known keys are families, filter, limit, mode,"
    )


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


def test_a_problem_is_told_of_the_file_that_has_it_where_two_are_laid_over_each_other(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("ewok:\n  items:\n    mode: fixed\n    seed: 1\n")
    second.write_text("ewok:\n  items:\n    mode: fixxed\n")
    merged = settings.merge(settings.read_yaml(first).document, settings.read_yaml(second).document)
    assert merged["ewok"]["items"] == {"mode": "fixxed", "seed": 1}
    with pytest.raises(UserError) as caught:
        read_study(merged, [first, second])
    assert caught.value.where == f"{second}, line 3"


def test_an_option_of_the_command_line_is_named_as_such(tmp_path: Path) -> None:
    assert complaint(tmp_path, "items: {}\n", {"items": {"sed": "1"}}).where == "--config"


def test_an_option_of_the_command_line_may_be_true_false_or_a_number(tmp_path: Path) -> None:
    study = read_study(
        {}, [], {"ewok": {"mixed_model": {"enabled": "false"}, "items": {"seed": "7"}}}
    )
    assert study["ewok"]["mixed_model"]["enabled"] is False
    assert study["ewok"]["items"]["seed"] == 7


def test_a_key_given_twice_is_an_error_that_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("models: [a]\nitems: {}\nmodels: [b]\n")
    with pytest.raises(UserError, match=r"is set twice \(first on line 1\)") as caught:
        settings.read_yaml(path)
    assert caught.value.where.endswith("line 3")


def test_broken_yaml_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("models: [a\nitems: {}\n")
    with pytest.raises(UserError, match="not valid YAML") as caught:
        settings.read_yaml(path)
    assert caught.value.where.endswith("line 2")


def test_a_model_that_the_registry_does_not_know_is_told_with_the_nearest_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("models:\n  - gpt2_x\n")
    with pytest.raises(UserError, match='did you mean "gpt2_xl"') as caught:
        settings.check_models(
            settings.read_yaml(path).document, {"gpt2_xl": {}, "phi_1": {}}, [path], "models.yaml"
        )
    assert caught.value.where == f"{path}, line 2"


def test_a_model_id_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text(f"org/gpt2:\n{CARD}")
    with pytest.raises(UserError, match="is not a valid name") as caught:
        settings.read_registry(registry)
    assert caught.value.where.endswith("line 1")


def test_what_a_card_leaves_out_has_its_default(tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    control = "  control: {architecture: gpt2, layers: 1, width: 8, heads: 1, steps: 0}\n"
    registry.write_text(f"mine:\n{CARD}{control}")
    card = settings.read_registry(registry)["mine"]
    assert (card["dtype"], card["engine"], card["trust_remote_code"]) == (
        "float32",
        "transformers",
        False,
    )
    assert card["control"]["batch"] == 64


def test_a_study_that_is_right_is_said_to_have_its_models_and_series(repository, capsys):
    assert (
        main(
            ["config", "check", str(repository / "config" / "experiments" / "learning_curves.yaml")]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert (
        "study learning_curves, 1 model, 2 series, ewok in 1 condition, worldsense; no problem"
        " found" in said
    )


def test_config_check_prints_every_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("ewok: {items: {\n  sed: 1,\n  mode: fixd}}\nmodel: [a]\n")
    assert main(["config", "check", str(path)]) == 2
    printed = capsys.readouterr().err
    assert [line for line in ("line 2", "line 3", "line 4") if line in printed] == [
        "line 2",
        "line 3",
        "line 4",
    ]


def study_of(text: str, options: dict | None = None) -> dict:
    return read_study(yaml.safe_load(text) or {}, [], options)


def test_a_study_without_conditions_has_the_single_condition_main() -> None:
    ewok = study_of("ewok: {items: {seed: 2}}")["ewok"]
    assert list(ewok["conditions"]) == ["main"]
    assert ewok["conditions"]["main"]["items"] == ewok["items"]


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
    ("source", "is_learnt_from"), [("builtin", True), ("builtin@1", False), ("builtin@2", True)]
)
def test_both_editions_are_our_own_and_controls_learn_from_the_second(
    source: str, is_learnt_from: bool
) -> None:
    study = study_of(f"models: [small]\newok: {{materials: {{source: {source}}}}}")
    assert is_builtin(study)
    assert has_generalisation(study, {"small": {"control": {"steps": 1}}}) == is_learnt_from


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ewok: {items: {versions: 4-0}}", "ewok.items.versions"),
        ("ewok: {items: {versions: 0-99999999999}}", "ewok.items.versions"),
        ("ewok: {items: {filter: '['}}", "ewok.items.filter"),
        ("ewok: {items: {filter: 'a{99999999999}'}}", "ewok.items.filter"),
        ("ewok: {items: {swap: ['agnt->object']}}", "ewok.items.swap[0]"),
        ("ewok: {items: {swap: ['->']}}", "ewok.items.swap[0]"),
        ("controls: {taught: .nan}", "controls.taught"),
        ("controls: {taught: 1.0e+30}", "controls.taught"),
        ("ewok: {baselines: {frequency: {source: ngrams}}}", "ewok.baselines.frequency.source"),
        (
            "ewok: {conditions: {a: {}, b: {items: {versions: 3-1}}}}",
            "ewok.conditions.b.items.versions",
        ),
        ("ewok: {conditions: {A b: {}}}", "is not a valid name"),
        (f"ewok: {{conditions: {{{'a' * 300}: {{}}}}}}", "is not a valid name"),
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
        ("study: models", "study"),
        ('study: "a\\n"', "study"),
        ("study: ../x", "study"),
        ("false", "keys and values"),
        ("0", "keys and values"),
        ("[]", "keys and values"),
        ("items: {filter: 2020-99-99}", "in quotes"),
        ("5: 1", "Keys should be strings"),
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
    assert main(["config", "check", str(path)]) == 2
    printed = capsys.readouterr().err
    assert key in printed
    assert "study.yaml" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("card", "key"),
    [
        ("engine: openai", "mine.engine"),
        ("endpoint: http://h/v1", "mine.endpoint"),
        (
            "control: {architecture: gpt2, layers: 1, width: 10, heads: 3, steps: 0}",
            "mine.control.heads",
        ),
        ("revision: '$(touch x)'", "mine.revision"),
        ("revision: 'main; touch x'", "mine.revision"),
        ("checkpoint: --help", "mine.checkpoint"),
        (
            (
                "control: {architecture: gpt2, layers: 1, width: 8, heads: 1, steps: 1,"
                " learning_rate: .inf}"
            ),
            "learning_rate",
        ),
    ],
)
def test_a_card_that_cannot_work_is_refused(tmp_path: Path, card: str, key: str) -> None:
    registry = tmp_path / "models.yaml"
    own = CARD if not card.startswith("checkpoint") else CARD.replace("  checkpoint: folder\n", "")
    registry.write_text(f"mine:\n{own}  {card}\n")
    with pytest.raises(UserError) as caught:
        settings.read_registry(registry)
    assert key in caught.value.problem
    assert caught.value.where.startswith(str(registry))


@pytest.mark.parametrize(
    "name", ["human", "word2vec", "wordnet", "sentence_vectors", "released", "mine\\n", "a b"]
)
def test_names_of_other_rows_and_odd_names_are_not_model_ids(tmp_path: Path, name: str) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text(f'"{name}":\n{CARD}')
    with pytest.raises(UserError):
        settings.read_registry(registry)


def test_two_models_of_a_study_that_figures_could_not_tell_apart_are_refused() -> None:
    cards = {"a": {"display_name": "My model"}, "b": {"display_name": "My model"}}
    with pytest.raises(UserError, match="same display_name"):
        settings.check_models({"models": ["a", "b"]}, cards, [], "models.yaml")


@pytest.mark.parametrize(
    "materials",
    ["{password: 99887766}", "{password: [99887766]}", "{password: {a: 99887766}}", "[99887766]"],
)
def test_a_password_of_the_wrong_type_or_place_is_not_printed(
    tmp_path: Path, repository: Path, materials: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(f"ewok: {{materials: {materials}}}")
    assert main(["config", "check", str(repository / "config" / "config.yaml"), str(path)]) == 2
    assert "99887766" not in "".join(capsys.readouterr())


def test_options_of_the_command_line_have_the_type_that_the_schema_wants() -> None:
    study = study_of(
        "",
        {
            "ewok": {
                "materials": {"password": 99887766},
                "items": {"filter": "[a-z]*agent", "versions": "3"},
            }
        },
    )
    assert study["ewok"]["materials"]["password"] == "99887766"
    assert study["ewok"]["items"]["filter"] == "[a-z]*agent"


def test_the_environment_of_a_site_may_not_hold_what_is_not_a_number(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("partition: null\n")
    for text in ("[", ".nan", "1e-300", "nan", "inf", "-1"):
        with pytest.raises(UserError, match=r"GPU_MEMORY_GB|gpu_memory_gb"):
            settings.read_site(path, {"WORLDPROBE_GPU_MEMORY_GB": text})
    assert settings.read_site(path, {"WORLDPROBE_GPU_MEMORY_GB": "40"})["gpu_memory_gb"] == 40


def test_a_folder_of_the_users_home_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("model", "tokenizer"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    cards = [
        {"checkpoint": "~/model", "engine": "transformers"},
        {"checkpoint": "served", "engine": "openai", "tokenizer": "~/tokenizer"},
    ]
    for card, name in zip(cards, ("model", "tokenizer"), strict=True):
        check_folders("mine", card, "models.yaml")
        assert model_files(card) == [str(tmp_path / name / "config.json")]
    with pytest.raises(UserError, match="there is no folder or file ~/nowhere"):
        check_folders("mine", {"checkpoint": "~/nowhere", "engine": "transformers"}, "models.yaml")


def test_the_folder_of_a_model_that_only_one_benchmark_names_must_exist(tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text(f"other:\n{CARD}" + f"mine:\n{CARD}".replace("folder", "./nowhere"))
    study = {"registry": str(registry), "models": ["other"], "benchmarks": ["worldsense"]}
    study["worldsense"] = {"models": ["mine"], "controls": []}
    with pytest.raises(UserError, match=r"mine.checkpoint: there is no folder or file ./nowhere"):
        read_settings(
            study,
            [],
            {},
            REPOSITORY,
            benchmarks.settings_classes,
            benchmarks.complete_registry,
            add=benchmarks.add_models,
            asked=benchmarks.all_models,
        )


@pytest.mark.parametrize(
    ("more", "place"),
    [("models: [x]\n", "configuration"), ("probe:\n  ewok:\n    zzz: 1\n", "line 4")],
)
def test_other_keys_of_a_workflow_that_uses_this_one_as_a_module_are_not_taken_for_ours(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    more: str,
    place: str,
) -> None:
    """Where its settings are a block of a larger file, the lines of that block count, and
    `items` is not EWoK's.
    """
    monkeypatch.setattr(logging.getLogger("worldprobe"), "propagate", True)
    path = tmp_path / "outer.yaml"
    path.write_text(f"items: 3\n{more}")
    with pytest.raises(UserError, match=r"ewok.zzz: unknown key") as caught:
        read_study({"ewok": {"zzz": 1}}, [path])
    assert not caplog.records
    assert str(caught.value.where).endswith(place)


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


def test_only_a_control_model_may_do_without_a_checkpoint(tmp_path: Path) -> None:
    bare = CARD.replace("  checkpoint: folder\n", "")
    registry = tmp_path / "models.yaml"
    registry.write_text(
        f"mine:\n{bare}  control: {{architecture: gpt2, layers: 1, width: 8, heads: 1, steps: 0}}\n"
    )
    assert settings.read_registry(registry)["mine"]["checkpoint"] is None
    registry.write_text(f"mine:\n{bare}")
    with pytest.raises(UserError, match="checkpoint: is missing"):
        settings.read_registry(registry)


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        (
            "worldsense:\n  sizes: [9]\n",
            "worldsense.sizes[0]: 9 should be at most 8.",
            "Write a whole number from 3 to 8.",
        ),
        (
            "worldsense:\n  promptings: 5\n",
            "worldsense.promptings: 5 should be a valid list.",
            (
                "Write a list, each a text. Meaning: Prompting strategies, as names of sets in"
                " `resources/prompts/worldsense`, or YAML files; with none, no model is asked."
            ),
        ),
        (
            "study: 5\n",
            "study: 5 should be a valid string.",
            "Write a text of at most 60 characters, in quotes. Meaning: ",
        ),
        (
            f"study: {'x' * 61}\n",
            "should have at most 60 characters.",
            "Write a text of at most 60 characters. ",
        ),
        ("models: [a, a]\n", "models: an entry is given twice.", "Give each entry once."),
    ],
)
def test_the_fix_of_a_wrong_value_says_what_to_write_and_what_the_key_means(
    tmp_path: Path, text: str, problem: str, fix: str
) -> None:
    found = complaint(tmp_path, text)
    assert found.problem.endswith(problem)
    assert found.fix.startswith(fix)


def test_a_list_with_too_few_entries_is_not_called_empty(tmp_path: Path) -> None:
    skin = tmp_path / "skin.yaml"
    skin.write_text("entities: [a, b]\n")
    _, found = settings.check(SkinFile, {"entities": ["a", "b"]}, [settings.read_yaml(skin)])
    assert [one.problem for one in found if one.problem.startswith("entities")] == [
        "entities: a list should have at least 4 items, not 2."
    ]
    missing = next(one for one in found if one.problem == "domain: is missing.")
    assert (
        missing.fix
        == "Add the key. Meaning: What the relation is about; other: neither space, time nor a"
        " scale; planar: lines in the plane."
    )


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


def test_a_number_that_only_yaml_1_2_knows_is_a_text_and_its_other_spelling_is_named(
    tmp_path: Path,
) -> None:
    """yaml/pyyaml #173, hiyouga/LLaMA-Factory #4014."""
    path = tmp_path / "site.yaml"
    for written, instead in (("1e2", "100"), ("4.5e1", "45"), ("1.25e1", "12.5"), ("08", "8")):
        path.write_text(f"gpu_memory_gb: {written}\n")
        with pytest.raises(UserError, match="line 1") as told:
            settings.read_site(path, {})
        assert f"Write {instead}." in told.value.fix
    path.write_text("account: 1e3\n")
    assert settings.read_site(path, {})["account"] == "1e3"


def test_options_of_the_command_line_are_read_as_files_are() -> None:
    """Snakemake passes inner values as text."""
    with pytest.raises(UserError, match="--config"):
        study_of("", {"ewok": {"items": {"seed": "24:00:00"}}})


def test_numbers_of_the_command_line_are_what_was_written_not_what_snakemake_read() -> None:
    written = ["--config", "study=2024_01", "allow_missing=True", "series=010", "--cores=1"]
    options = as_written(
        {"study": 202401, "allow_missing": True, "series": 10, "models": ["control_heart"]}, written
    )
    assert options == {
        "study": "2024_01",
        "allow_missing": "True",
        "series": "010",
        "models": ["control_heart"],
    }
    options.pop("series")
    found = study_of("", options)
    assert (found["study"], found["allow_missing"], found["models"]) == (
        "2024_01",
        True,
        ["control_heart"],
    )
    assert study_of("", as_written({"study": 1000.0}, ["study=1e3"]))["study"] == "1e3"
