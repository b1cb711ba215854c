"""Configuration files and registries with one thing wrong."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

WRONG = [
    *(
        "- a",
        "5",
        "text",
        "a: \0",
        "a: [",
        "a: {b",
        "a: *b",
        "study: !!int abc",
        "study: 2020-99-99",
        "? [1, 2]\n: 3",
    ),
    *(
        "study: a\nstudy: b",
        "stduy: a",
        "study: a b",
        "study: ../x",
        "study: ''",
        "study: models",
        "study: [a]",
        "study: 5",
    ),
    *(
        "models: all",
        "models: []",
        "models: [5]",
        "models: [nobody]",
        "models: [control_untrained, control_untrained]",
    ),
    *(
        "models: null",
        "models: {a: 1}",
        "registry: nowhere.yaml",
        "registry: 5",
        "registry: ''",
        "allow_missing: perhaps",
    ),
    *("report: 5", "report: {notebooks: all}", "report: {page: 1}"),
    *("ewok: 5", "ewok: {itmes: {}}", "ewok: {materials: 5}", "ewok: {materials: {source: ''}}"),
    "ewok: {materials: {password: [hunter2secret]}}",
    "ewok: {materials: {password: {hunter2secret: 1}}}",
    "ewok: {materials: {compat: maybe}}",
    "ewok: {materials: {passwrod: hunter2secret}}",
    *(
        f"ewok: {{items: {{versions: {value}}}}}"
        for value in ("4-0", "-5", "a", "0-99999999999", "''", "[0, 4]", "'0-4\n'")
    ),
    *(
        f"ewok: {{items: {{filter: '{value}'}}}}"
        for value in ("[", "(", "a{99999999999}", "*", "(?P<a")
    ),
    *(
        f"ewok: {{items: {{swap: {value}}}}}"
        for value in ("a->b", "['->']", "[a]", "['nobody->object']", "['object->nobody']", "[5]")
    ),
    *(
        f"ewok: {{items: {{seed: {value}}}}}"
        for value in ("-1", "a", ".nan", "1.5", "99999999999999", "null")
    ),
    *(
        f"ewok: {{items: {{per_template: {value}}}}}"
        for value in ("0", "-1", "a", ".inf", "99999999999999")
    ),
    *(f"ewok: {{items: {{mode: {value}}}}}" for value in ("fixd", "5", "null", "[fixed]")),
    *(
        f"ewok: {{eval_types: {value}}}"
        for value in ("[]", "logprobs", "[logprbs]", "[logprobs, logprobs]", "[5]", "null")
    ),
    *(
        f"ewok: {{prompting: {{{value}}}}}"
        for value in ("prompts: 5", "swap: 5", "chat_template: perhaps", "a: 1")
    ),
    *(f"controls: {{taught: {value}}}" for value in (".nan", "1", "-0.1", "a", ".inf", "null")),
    *(
        f"controls: {{{key}: {value}}}"
        for key in ("seed", "fillings", "sentences", "vocabulary")
        for value in ("-1", "a", ".inf")
    ),
    "ewok: {baselines: {word2vec: {vectors: 5}}}",
    "ewok: {baselines: {frequency: {source: ngrams}}}",
    "ewok: {baselines: {frequency: {source: books}}}",
    "ewok: {human: {ratings: 5}}",
    "ewok: {released: {skip: [nothing]}}",
    "ewok: {mixed_model: {enabled: 5}}",
    "ewok: {conditions: [a]}",
    "ewok: {conditions: {'a b': {}}}",
    "ewok: {conditions: {a: {itms: {}}}}",
    "ewok: {conditions: {a: {items: {versions: 4-0}}}}",
]


#: Files that a study names and that are not there.
MISSING = [
    "report: {notebooks: [4_nope]}",
    "ewok: {materials: {source: nowhere}}",
    "ewok: {materials: {source: nowhere.zip}}",
    "ewok: {prompting: {prompts: ewko}}",
    "ewok: {baselines: {word2vec: {vectors: nowhere.bin}}}",
    "ewok: {baselines: {frequency: {source: ngrams, files: [nowhere.gz]}}}",
    "ewok: {human: {ratings: nowhere.csv}}",
    "ewok: {released: {results: nowhere}}",
]


@pytest.mark.parametrize("text", MISSING)
def test_a_file_that_a_study_names_must_be_there(
    check, repository, tmp_path, monkeypatch, text: str
) -> None:
    monkeypatch.chdir(repository)
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    check("config check config/config.yaml {mine}", mine=path)


def test_a_missing_registry_is_named_with_its_key_and_line(
    check, repository, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(repository)
    path = tmp_path / "mine.yaml"
    path.write_text("study: mine\nregistry: nowhere.yaml\n")
    for line in ("config check config/config.yaml {mine}", "status --configfile {mine}"):
        assert f"{path}, line 2\n  problem: registry: there is no file nowhere.yaml." in check(
            line, mine=path
        )


@pytest.mark.parametrize("text", WRONG)
def test_a_configuration_that_cannot_work_is_refused(
    check, repository, tmp_path, monkeypatch, text: str
) -> None:
    monkeypatch.chdir(repository)
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    check("config check config/config.yaml {mine}", mine=path)


CARD = "{checkpoint: folder, family: f, display_name: A%s}"
REGISTRIES = [
    *(
        "- a",
        "5",
        "a: 5",
        "a: {}",
        "a: [",
        "a: \0",
        "5: {checkpoint: x, family: f, display_name: A}",
        "2020-99-99",
        "a: *b",
    ),
    *(
        "a: {checkpoint: x}",
        "'a b': {checkpoint: x, family: f, display_name: A}",
        "a: {checkpoint: '', family: f, display_name: A}",
    ),
    *(
        f"a: {CARD % (', ' + extra)}"
        for extra in (
            *(
                "dtyp: float32",
                "dtype: float23",
                "dtype: 5",
                "engine: magic",
                "engine: openai",
                "tensor_parallel: 0",
            ),
            *(
                "colour: reddish",
                "colour: 5",
                "allow_pickle: 5",
                "trust_remote_code: 5",
                "control: [1]",
                "control: {}",
            ),
            *(
                "endpoint: 'ftp://u:hunter2secret@x/v1', engine: openai",
                "endpoint: 'http://u:hunter2secret@x/v1', engine: openai",
            ),
            *(
                "revision: '$(touch x)'",
                "revision: 'main; ls'",
                "parameters: -1",
                "parameters: .nan",
                "parameters: many",
            ),
            *(
                "control: {architecture: gpt2, layers: 0}",
                "control: {architecture: gpt2, width: 63, heads: 2}",
                "unheard: of",
            ),
            *(
                f"engine: openai, endpoint: 'http://x/v1', {key}"
                for key in ("dtype: bfloat16", "revision: v1", "allow_pickle: true")
            ),
            *(
                f"engine: openai, endpoint: 'http://x/v1', {key}"
                for key in ("tensor_parallel: 2", "trust_remote_code: true")
            ),
            *(
                "tokenizer: folder",
                "concurrency: 4",
                "engine: vllm, concurrency: 4",
                "revision: ''",
                "revision: -x",
                "dtype: null",
            ),
        )
    ),
]


@pytest.mark.parametrize("text", REGISTRIES)
def test_a_registry_that_cannot_work_is_refused(check, tmp_path, text: str) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(text)
    check("models list --registry {mine}", mine=path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    text=st.text(
        alphabet=st.sampled_from("aeu:{}[]-'\"\n #&*!|>%@`\t0159.\\\x85\u2028"), max_size=30
    )
)
def test_any_text_is_a_configuration_or_a_message(tmp_path, capsys, text: str) -> None:
    from worldprobe.cli import main

    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert main(["config", "check", str(tmp_path / "mine.yaml")]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"study: caf\xe9", b"\x00" * 50])
def test_bytes_that_are_not_text_are_refused(check, tmp_path, content: bytes) -> None:
    (tmp_path / "mine.yaml").write_bytes(content)
    check("config check {mine}", mine=tmp_path / "mine.yaml")
    check("models list --registry {mine}", mine=tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "- " * 100_000 + "a", "[" * 100_000 + "]" * 100_000, "{a: " * 100_000]
)
def test_what_is_nested_too_deeply_does_not_end_the_process(check, tmp_path, text: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    check("config check {mine}", "levels deep", mine=tmp_path / "mine.yaml")


def test_a_folder_or_nothing_where_a_file_belongs_is_refused(check, tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("folder", "missing"):
        check("config check {mine}", mine=tmp_path / name)
        check("models list --registry {mine}", mine=tmp_path / name)
