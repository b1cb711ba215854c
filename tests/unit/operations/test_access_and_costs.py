"""Before the first job a study says what it takes, and which models cannot be had."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldprobe.benchmarks import downloads, without_downloads
from worldprobe.operations import access, costs
from worldprobe.operations.settings import StudySettings, read_files
from worldprobe.operations.status import not_rehearsed, refused
from worldprobe.settings import read_yaml

Papers = Callable[[], StudySettings]
#: The models whose owners ask for a token or a key.
GATED = {
    *("gemma_2b", "gemma_7b", "gemma_1.1_2b", "gemma_1.1_7b", "Llama_3_8B", "Llama_3_70B"),
    *("GPT3.5", "GPT4", "Llama2-chat-70B"),
}


@pytest.fixture
def papers(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Papers:
    """Reads config/paper.yaml in an empty folder, with no token, no key and an empty cache."""
    monkeypatch.chdir(tmp_path)
    for variable in ("HF_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(access, "availability", lambda _card: "to be fetched")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    return lambda: read_files([repository / "config" / "paper.yaml"])


def test_a_model_that_needs_a_token_or_a_key_is_named_and_the_others_go_on(
    papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, registry, _, _ = papers()
    reasons = refused(study, registry)
    assert set(reasons) == GATED
    assert "HF_TOKEN is not set" in reasons["gemma_2b"]
    assert "OPENAI_API_KEY is not set" in reasons["GPT4"]
    monkeypatch.setenv("HF_TOKEN", "x")
    assert set(refused(study, registry)) == {"GPT3.5", "GPT4"}
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert refused(study, registry) == {}


def test_a_model_that_is_here_or_on_this_machines_server_needs_neither(
    papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, registry, _, _ = papers()
    here = registry["GPT4"] | {"endpoint": "http://127.0.0.1:8000/v1"}
    assert access.refusal(here) == ""
    monkeypatch.setattr(access, "availability", lambda _card: "fetched")
    assert access.refusal(registry["gemma_2b"]) == ""


def test_a_model_whose_owners_terms_are_not_accepted_is_named_and_the_others_go_on(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    accepted, rehearsal = tmp_path / "accepted.yaml", tmp_path / "rehearsal.yaml"
    accepted.write_text("accept_terms: [gemma]")
    rehearsal.write_text("rehearsal: true")
    experiment = repository / "config" / "experiments" / "real_models.yaml"
    study, registry, _, _ = read_files([experiment])
    [(model, why)] = refused(study, registry).items()
    assert model == "gemma3_270m"
    assert "accept_terms: [gemma] accepts them" in why
    study, registry, _, _ = read_files([experiment, accepted])
    assert refused(study, registry) == {}
    study, registry, _, _ = read_files([experiment, rehearsal])
    assert refused(study, registry) == {}, "another model stands in for it"


def test_what_files_are_for_is_left_out_of_a_rehearsal_that_lacks_them(papers: Papers) -> None:
    study, _, _, _ = papers()
    needed = list(downloads(study))
    assert len(needed) == 34
    assert not_rehearsed(study) == {}, "a run fetches them"
    archive = Path("resources/downloads/ewok-config.zip")
    archive.parent.mkdir(parents=True)
    archive.touch()
    lacking = not_rehearsed(study | {"rehearsal": True})
    assert set(lacking) == {*needed} - {str(archive)}
    rest: Any = without_downloads(study, lacking)
    assert rest["benchmarks"] == ["ewok"]
    assert rest["worldsense"] is None
    baselines = rest["ewok"]["baselines"]
    assert baselines["word2vec"]["enabled"] is False
    assert baselines["frequency"]["source"] == "wordfreq"
    assert baselines["frequency"]["files"] == []
    assert rest["ewok"]["human"]["ratings"] is None
    [ngrams] = [name for name in needed if name.endswith("-q.gz")]
    Path(ngrams).parent.mkdir(parents=True)
    Path(ngrams).touch()
    there = not_rehearsed(study | {"rehearsal": True})
    assert ngrams not in there, "the user has put it there"
    some: Any = without_downloads(study, [name for name in needed if "ood" in name])
    assert some["worldsense"]["sets"] == ["test", "memorisation"]
    assert some["ewok"] == study["ewok"]


def test_worldsense_of_both_papers_is_that_of_its_own_study(repository: Path) -> None:
    both, alone = (
        read_yaml(repository / "config" / f"{name}.yaml").document
        for name in ("paper", "worldsense")
    )
    assert both["worldsense"] == alone["worldsense"] | {"models": alone["models"]}


def test_what_a_study_takes_is_said_before_the_first_job(
    papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, registry, _, site = papers()
    bare = "\n".join(costs.forecast(study, registry, site, refused(study, registry)))
    assert "models: 14 of 23 to ask, in 14 jobs" in bare
    assert "without GPT3.5, GPT4: https://api.openai.com/v1 needs a key" in bare
    monkeypatch.setenv("HF_TOKEN", "x")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    lines = costs.forecast(study, registry, site, {})
    text = "\n".join(lines)
    assert "without" not in text.replace("without a GPU", "")
    assert "models: 23 of 23 to ask, in 23 jobs" in text
    assert "14 with 1, 4 with 2, 3 with 4" in text
    assert "about 804 GB" in text  # 666 of EWoK's twenty, 138 of Llama2-chat
    assert text.count("limit: 1,000,000 requests a run and 500,000,000 tokens a run") == 2
    assert "google_1grams, 26 files" in text
    assert "(HF_TOKEN is set)" in text


def test_weights_of_one_checkpoint_count_once_and_unknown_sizes_are_not_nothing(
    papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, registry, _, site = papers()
    study |= {"benchmarks": ["ewok"], "models": ["gpt2_xl", "phi_1"]}

    def weights(**changes: Any) -> str:
        cards = {**registry, "phi_1": registry["phi_1"] | changes}
        [line] = [
            line for line in costs.forecast(study, cards, site, {}) if line.startswith("  weights")
        ]
        return line.partition(", into")[0].strip()

    assert weights() == "weights: 2 models to download, about 6 GB"
    unknown = "weights: 2 models to download, about 3 GB and 1 of unknown size"
    assert weights(parameters=None) == unknown
    same = {key: registry["gpt2_xl"][key] for key in ("checkpoint", "revision", "parameters")}
    assert weights(**same) == "weights: 1 models to download, about 3 GB"
    study["models"] = ["phi_1"]
    assert weights(parameters=None) == "weights: 1 models to download, size unknown"


def test_free_space_is_known_below_a_folder_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    there = access.free_gb(tmp_path)
    real = Path.stat
    monkeypatch.setattr(
        Path,
        "stat",
        lambda path, **how: refuse(path) if "closed" in str(path) else real(path, **how),
    )
    assert access.free_gb(tmp_path / "closed" / "my hub") == pytest.approx(there, rel=0.1)


def test_more_questions_and_longer_answers_ask_for_more_time(papers: Papers) -> None:
    study, registry, _, site = papers()

    def minutes(model: str, **changes: Any) -> int:
        changed = study | {"ewok": study["ewok"] | changes}
        return costs.job_needs(changed, registry, site, model, "score").runtime

    alone = minutes("gpt2_xl", eval_types=["logprobs"])
    free = minutes("gpt2_xl", eval_types=["logprobs", "likert_free_two"])
    constrained = minutes("gpt2_xl", eval_types=["logprobs", "likert_constrained_two"])
    assert alone < constrained < free < minutes("gpt2_xl")
    assert minutes("phi_2") > minutes("gpt2_xl")


def test_a_study_whose_models_have_answered_takes_nothing(
    papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, registry, _, site = papers()
    for name in downloads(study):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    monkeypatch.setattr(costs, "unfinished", lambda _study: {})
    assert costs.forecast(study, registry, site, {}) == []
