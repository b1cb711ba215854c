"""The DAG, by dry runs: what would be made, by which commands, and what a change makes again."""

import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from command_line import check_success
from worldprobe.cli import parse

Snakemake = Callable[..., subprocess.CompletedProcess[str]]


def jobs(dry_run: subprocess.CompletedProcess[str]) -> Counter[str]:
    """Rule -> number of jobs."""
    check_success(dry_run)
    table = re.search(
        r"^job +count\n[- ]+\n(.*?)^total",
        dry_run.stdout + dry_run.stderr,
        re.MULTILINE | re.DOTALL,
    )
    return (
        Counter(
            {
                name: int(count)
                for name, count in re.findall(r"^(\S+) +(\d+)$", table[1], re.MULTILINE)
            }
        )
        if table
        else Counter()
    )


def commands(dry_run: subprocess.CompletedProcess[str]) -> list[str]:
    """Its shell lines, as where no rule is forced."""
    lines = re.findall(
        r"^Shell command: (?!None$)(.*)$", dry_run.stdout + dry_run.stderr, re.MULTILINE
    )
    return [re.sub(r"\$\{WORLDPROBE_FORCED_\w+:-0\}", "0", line) for line in lines]


@pytest.fixture(scope="module")
def default(
    snakemake: Snakemake, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    return snakemake(tmp_path_factory.mktemp("default"), "--dry-run", "--printshellcmds")


@pytest.fixture(scope="module")
def paper(
    snakemake: Snakemake, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """The papers' study, with a token and a key, whatever they are; the archive that the user
    downloads is stood for by an empty file, as a dry run opens none.
    """
    folder = tmp_path_factory.mktemp("paper")
    archive = folder / "resources" / "downloads" / "ewok-config.zip"
    archive.parent.mkdir(parents=True)
    archive.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", "a token")
        patch.setenv("OPENAI_API_KEY", "a key")
        return snakemake(
            folder,
            "--dry-run",
            "--printshellcmds",
            configuration=(repository / "config" / "paper.yaml",),
        )


def test_the_default_study_asks_a_real_model_and_three_controls(
    default: subprocess.CompletedProcess[str],
) -> None:
    found = jobs(default)
    assert found["score"] == found["judge"] == 4
    assert found["train_control"] == 3
    assert found["fetch_model"] == 1
    assert found["fit_mixed_model"] == found["fit_fixed_effects"] == 1
    assert found["summarize"] == found["compare"] == 2
    assert found["run_notebook"] == 2
    assert not any("figures/scaling.svg" in line for line in commands(default)), (
        "all four have one size"
    )


def displays(run: subprocess.CompletedProcess[str]) -> set[str]:
    """Names of the tables and figures that a planned run makes."""
    lines = [shlex.split(line) for line in commands(run)]
    return {
        words[words.index("worldprobe") + 2]
        for words in lines
        if words[words.index("worldprobe") + 1] in ("table", "figure")
    }


def test_the_papers_study_asks_its_twenty_models_in_nine_ways_and_trains_nothing(
    paper: subprocess.CompletedProcess[str], reference: Path
) -> None:
    import json

    published = json.loads((reference / "published.json").read_text())["ewok"]["table1"]["rows"]
    found = jobs(paper)
    scored = {
        word.removeprefix("--model=")
        for line in commands(paper)
        if " score all " in line
        for word in shlex.split(line)
        if word.startswith("--model=")
    }
    assert scored == {row["model"] for row in published} - {"human"}
    assert found["judge"] == 20  # in all nine ways at once
    assert found["ask"] == 10, "Llama2-chat and nine rules"
    assert found["ask_server"] == 2
    fetched = found["fetch_source"], found["fetch_optional"]
    assert fetched == (5, 28), "all but the archive that is there"
    assert not found["train_control"]


@pytest.fixture(scope="module")
def rated(
    snakemake: Snakemake, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """The default study with people's ratings beside it; an empty file stands for them, as a
    dry run opens none.
    """
    folder = tmp_path_factory.mktemp("rated")
    (folder / "ratings of 2024.csv").touch()
    (folder / "rated.yaml").write_text("ewok:\n  human:\n    ratings: ratings of 2024.csv\n")
    return snakemake(
        folder, "--dry-run", "--printshellcmds", configuration=(folder / "rated.yaml",)
    )


@pytest.fixture(scope="module")
def both_benchmarks(
    snakemake: Snakemake, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """A study of EWoK in two conditions and of WorldSense."""
    folder = tmp_path_factory.mktemp("both")
    (folder / "both.yaml").write_text(
        'ewok:\n  conditions:\n    real: {}\n    nonce:\n      items: {swap: ["object->nonword"]}\n'
        "worldsense:\n  sets: [test, train-10k, memorisation, ood-size, ood-query, ood-problem]\n"
    )
    return snakemake(folder, "--dry-run", "--printshellcmds", configuration=(folder / "both.yaml",))


@pytest.fixture(scope="module")
def worldsense(
    snakemake: Snakemake, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """The WorldSense paper's study, with trials of our own."""
    files = (repository / "config" / "worldsense_ours.yaml",)
    return snakemake(
        tmp_path_factory.mktemp("worldsense"), "--dry-run", "--printshellcmds", configuration=files
    )


def test_peoples_ratings_are_judged_and_stand_beside_the_models(
    rated: subprocess.CompletedProcess[str],
) -> None:
    users = {
        words[1]
        for words in map(shlex.split, commands(rated))
        if "results/default/ewok/judgements/main/human_likert/human.parquet" in words[:-4]
    }
    assert {"summarize", "correlate"} <= users
    assert "compare" not in users
    found = jobs(rated)
    assert found["measure_human_likeness"] == 1
    assert "likeness_to_people" in displays(rated)
    assert "human_people" not in displays(rated)  # averages say nothing about single people


@pytest.fixture(scope="module")
def simulated(
    snakemake: Snakemake, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """The study with simulated people, without any model."""
    folder = tmp_path_factory.mktemp("simulated")
    experiment = (
        Path(__file__).resolve().parents[2] / "config" / "experiments" / "human_simulation.yaml"
    )
    (folder / "paper.yaml").write_text("ewok: {human: {study: paper}}\n")
    return snakemake(
        folder,
        "human_study",
        "--dry-run",
        "--printshellcmds",
        configuration=(experiment, folder / "paper.yaml"),
    )


def test_a_study_with_people_asks_no_model_and_the_papers_way_says_zero_where_it_means_zero(
    simulated: subprocess.CompletedProcess[str],
) -> None:
    found = jobs(simulated)
    assert not found["score"]
    assert (
        found["sample_human_lists"]
        == found["simulate_human_answers"]
        == found["clean_human_ratings"]
        == 1
    )
    assert found["judge_human"] == found["measure_human_agreement"] == 1
    assert {"human_agreement", "human_accuracy", "human_cleaning", "human_people"} == displays(
        simulated
    )
    lines = [
        shlex.split(line.split("&>")[0])[1:] for line in commands(simulated) if " human " in line
    ]
    arguments = {words[1]: parse(words).bound.arguments for words in lines}
    parsed = {
        command: {**stated, **dict(stated.get("settings", {}))}
        for command, stated in arguments.items()
    }
    names = ("catch", "per_domain", "shortest", "longest")
    assert [parsed["lists"][name] for name in names] == [0, True, 1, 10_000]
    assert parsed["clean"]["people_out"] == Path(
        "results/human_simulation/ewok/human/people.parquet"
    )
    assert not found["measure_human_likeness"]
    assert [parsed["clean"][name] for name in ("failed_catch", "passes", "isc")] == [0, 0, 0.3]
    kinds = {kind: share for kind, share in parsed["simulate"]["kinds"] if share}
    assert kinds == {"constant": 0.01, "fast": 0.01, "random": 0.03, "straight_liner": 0.01}


@pytest.mark.long
def test_every_command_of_the_studies_is_one_that_the_real_parser_takes(
    default: subprocess.CompletedProcess[str],
    paper: subprocess.CompletedProcess[str],
    rated: subprocess.CompletedProcess[str],
    from_release: subprocess.CompletedProcess[str],
    both_benchmarks: subprocess.CompletedProcess[str],
    worldsense: subprocess.CompletedProcess[str],
) -> None:
    studies = (default, paper, rated, from_release, both_benchmarks, worldsense)
    lines = [line for run in studies for line in commands(run)]
    assert len(lines) > 150
    forms = {}  # one line of each command with the same options
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "worldprobe", line
        assert words[-2] == "&>", line
        forms[*words[1:3], *(word for word in words if word.startswith("--"))] = words[1:-2]
    assert len(forms) > 40
    for words in forms.values():
        assert parse(words) is not None  # raises where the command is wrong


def test_no_command_shows_the_password(
    default: subprocess.CompletedProcess[str], paper: subprocess.CompletedProcess[str]
) -> None:
    assert not [line for line in commands(default) + commands(paper) if "--password" in line]


@pytest.mark.long
def test_every_rule_is_part_of_one_of_the_studies(
    snakemake: Snakemake,
    experiment: Snakemake,
    default: subprocess.CompletedProcess[str],
    paper: subprocess.CompletedProcess[str],
    rated: subprocess.CompletedProcess[str],
    from_release: subprocess.CompletedProcess[str],
    both_benchmarks: subprocess.CompletedProcess[str],
    worldsense: subprocess.CompletedProcess[str],
    simulated: subprocess.CompletedProcess[str],
    tmp_path: Path,
) -> None:
    listed = re.findall(r"^(\w+) \(", snakemake(tmp_path, "--list-rules").stdout, re.MULTILINE)
    assert len(listed) > 30
    never_a_job = {
        "tables",
        "figures",
        "report",
        "score_server",
        "sample_released",
    }  # parts; no study of ours asks a server about EWoK; rehearsals sample
    # Those of fine-tuning: tests/workflow/test_finetuning.py.
    never_a_job |= {
        "generate_training_set",
        "start_model",
        "finetune",
        "gather_trainings",
        "ask_external",
        "gather_external",
    }
    never_a_job |= {"write_phrases", "write_lessons"}
    learning, families, layers = map(experiment, ("learning_curves", "families", "layers"))
    assert jobs(learning)["score_series"] == 20, "two sizes, five seeds, two benchmarks"
    studies = (
        default,
        paper,
        rated,
        from_release,
        both_benchmarks,
        worldsense,
        simulated,
        learning,
        families,
        layers,
    )
    assert set(listed) - {rule for run in studies for rule in jobs(run)} == never_a_job


@pytest.fixture
def change_a_card(
    snakemake: Snakemake, reduced: tuple[Path, ...], finished: Path, tmp_path: Path
) -> Callable[[str, str, str], Counter[str]]:
    """What a finished study makes again after one field of one model's card changes."""

    def change(model: str, field: str, value: str) -> Counter[str]:
        registry = yaml.safe_load((reduced[0].parent / "models.yaml").read_text())
        registry[model][field] = value
        (tmp_path / "models.yaml").write_text(yaml.safe_dump(registry, sort_keys=False))
        (tmp_path / "study.yaml").write_text(f"registry: {tmp_path / 'models.yaml'}\n")
        return jobs(
            snakemake(finished, "--dry-run", configuration=(*reduced, tmp_path / "study.yaml"))
        )

    return change


def test_a_new_colour_redraws_and_rescores_nothing(
    change_a_card: Callable[[str, str, str], Counter[str]],
) -> None:
    found = change_a_card("reduced_gpt2", "colour", "#112233")
    assert found["draw_figure"] > 3
    assert found["print_table"] > 3
    assert not set(found) & {
        "score",
        "train_control",
        "judge",
        "summarize",
        "fit_fixed_effects",
        "compile_templates",
    }


def test_another_precision_rescores_that_model_alone(
    change_a_card: Callable[[str, str, str], Counter[str]],
) -> None:
    found = change_a_card("reduced_gpt2", "dtype", "bfloat16")
    assert found["score"] == 1
    assert not found["train_control"]


@pytest.fixture(scope="module")
def from_release(
    snakemake: Snakemake, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """The study made of released results; empty files stand for both archives."""
    folder = tmp_path_factory.mktemp("released")
    (folder / "resources" / "downloads").mkdir(parents=True)
    for name in ("ewok-config.zip", "ewok-results.zip"):
        (folder / "resources" / "downloads" / name).touch()
    return snakemake(
        folder,
        "--dry-run",
        "--printshellcmds",
        configuration=(repository / "config" / "released.yaml",),
    )


def test_released_results_give_the_papers_tables_and_figures_without_asking_a_model(
    from_release: subprocess.CompletedProcess[str], paper: subprocess.CompletedProcess[str]
) -> None:
    found, asked = jobs(from_release), jobs(paper)
    assert found["import_released"] == 1
    assert not set(found) & {
        "score",
        "judge",
        "fetch_model",
        "measure_surface",
        "judge_baseline",
        "train_control",
    }
    assert {name for name in found if re.match("(table|figure)s?_", name)} == {
        name for name in asked if re.match("(table|figure)s?_", name)
    }
    files = [
        set(re.findall(r"results/\w+/ewok/((?:tables|figures)/\S+)", " ".join(commands(run))))
        for run in (from_release, paper)
    ]
    assert len(files[1]) > 60
    assert not files[0] - files[1]
