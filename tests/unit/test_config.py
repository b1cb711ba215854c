"""Every complaint about a configuration names file, line and key, and the nearest known name."""

from pathlib import Path

import pytest

from worldprobe import config
from worldprobe.cli import main
from worldprobe.errors import UserError

CARD = "  checkpoint: folder\n  family: gpt2\n  display_name: GPT\n"


def complaint(tmp_path: Path, text: str, options: dict | None = None) -> UserError:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        config.read_study(config.read_yaml(path).document, [path], options)
    return caught.value


def test_an_unknown_key_of_a_model_names_its_line_and_the_nearest_key(tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text(f"# models\ngpt2_xl:\n{CARD}  dtyp: float32\n")
    with pytest.raises(UserError) as caught:
        config.read_registry(registry)
    assert caught.value.where == f"{registry}, line 6"
    assert caught.value.problem == 'gpt2_xl.dtyp: unknown key; did you mean "dtype"?'


def test_an_unknown_key_far_from_any_known_one_lists_the_known_ones(tmp_path: Path) -> None:
    found = complaint(tmp_path, "items:\n  zzz: 1\n")
    assert found.where.endswith("study.yaml, line 2")
    assert found.problem.startswith("items.zzz: unknown key; known are filter, mode,")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("items:\n  mode: fixd\n", 2, ["items.mode", 'did you mean "fixed"?']),
        ("items:\n  versions: zero\n", 2, ["items.versions", "'zero'"]),
        ("items:\n  seed: -1\n", 2, ["items.seed", "at least 0"]),
        ("mixed_model:\n  enabled: maybe\n", 2, ["mixed_model.enabled", "boolean"]),
        ("models: []\n", 1, ["models", "empty"]),
        ("models:\n  - a\n  - a\n", 1, ["models", "twice"]),
        ("eval_types:\n  - logprobs\n  - likert_free_too\n", 3, ["eval_types[1]", 'did you mean "likert_free_two"?']),
    ],
)
def test_a_wrong_value_names_its_line_and_what_would_be_right(tmp_path: Path, text: str, line: int, words: list[str]) -> None:
    found = complaint(tmp_path, text)
    assert found.where.endswith(f"study.yaml, line {line}")
    assert all(word in found.problem for word in words), found.problem


def test_a_problem_is_told_of_the_file_that_has_it_where_two_are_laid_over_each_other(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("items:\n  mode: fixed\n  seed: 1\n")
    second.write_text("# mine\nitems:\n  mode: fixxed\n")
    merged = config.merge(config.read_yaml(first).document, config.read_yaml(second).document)
    assert merged["items"] == {"mode": "fixxed", "seed": 1}
    with pytest.raises(UserError) as caught:
        config.read_study(merged, [first, second])
    assert caught.value.where == f"{second}, line 3"


def test_an_option_of_the_command_line_is_named_as_such(tmp_path: Path) -> None:
    assert complaint(tmp_path, "items: {}\n", {"items": {"sed": "1"}}).where == "--config"


def test_an_option_of_the_command_line_may_be_true_false_or_a_number(tmp_path: Path) -> None:
    study = config.read_study({}, [], {"mixed_model": {"enabled": "false"}, "items": {"seed": "7"}})
    assert study["mixed_model"]["enabled"] is False
    assert study["items"]["seed"] == 7


def test_a_key_given_twice_is_an_error_that_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("models: [a]\nitems: {}\nmodels: [b]\n")
    with pytest.raises(UserError, match="stands twice; the first is in line 1") as caught:
        config.read_yaml(path)
    assert caught.value.where.endswith("line 3")


def test_broken_yaml_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("models: [a\nitems: {}\n")
    with pytest.raises(UserError, match="not valid YAML") as caught:
        config.read_yaml(path)
    assert caught.value.where.endswith("line 2")


def test_a_model_that_the_registry_does_not_know_is_told_with_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("models:\n  - gpt2_x\n")
    with pytest.raises(UserError, match='did you mean "gpt2_xl"') as caught:
        config.check_models(config.read_yaml(path).document, {"gpt2_xl": {}, "phi_1": {}}, [path], "models.yaml")
    assert caught.value.where == f"{path}, line 2"


def test_a_model_id_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text(f"org/gpt2:\n{CARD}")
    with pytest.raises(UserError, match="no valid name") as caught:
        config.read_registry(registry)
    assert caught.value.where.endswith("line 1")


def test_what_a_card_leaves_out_has_its_default(tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    control = "  control: {architecture: gpt2, layers: 1, width: 8, heads: 1, steps: 0}\n"
    registry.write_text(f"mine:\n{CARD}{control}")
    card = config.read_registry(registry)["mine"]
    assert (card["dtype"], card["engine"], card["trust_remote_code"]) == ("float32", "transformers", False)
    assert card["control"]["batch"] == 64


def test_config_check_prints_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("items:\n  sed: 1\n  mode: fixd\nmodel: [a]\n")
    assert main(["config", "check", str(path)]) == 2
    printed = capsys.readouterr().err
    assert [line for line in ("line 2", "line 3", "line 4") if line in printed] == ["line 2", "line 3", "line 4"]
