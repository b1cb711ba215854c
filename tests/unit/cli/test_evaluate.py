"""One model, one command, one row, and the published ones."""

import contextlib
import html
import io
import json
import math
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from generated_trials import few_to_learn_from
from worldprobe import cli
from worldprobe.benchmark import Evaluation
from worldprobe.benchmarks import find
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.evaluation import collect_evaluation
from worldprobe.cli import evaluate
from worldprobe.cli.engines import Model
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.engines import Workload
from worldprobe.models.engine_types import Transformers
from worldprobe.operations.costs import expect_evaluation
from worldprobe.report.results import benchmark_result, read_result
from worldprobe_authoring.leaderboard import build_page, build_rankings, print_rankings


def ask_less(patch, slot="object2", **part):
    """Each benchmark has few items: its commands are given more."""
    step = evaluate.step
    fewer = {"items build": ("how", {"filter": slot}), "worldsense generate": ("part", part)}

    def with_fewer(words, function, *args, **kwargs):
        if words in fewer:
            name, more = fewer[words]
            kwargs[name] = kwargs[name].model_copy(update=more)
        return step(words, function, *args, **kwargs)

    patch.setattr(evaluate, "step", with_fewer)


@pytest.fixture(scope="module")
def evaluation(tiny_checkpoint, tmp_path_factory):
    """Both benchmarks, each with few items: folder, and what was printed."""
    work = tmp_path_factory.mktemp("evaluate") / "work"
    skins = ["trips", "tall/short", "people_LeftRight"]
    with (
        pytest.MonkeyPatch.context() as patch,
        few_to_learn_from(),
        contextlib.redirect_stdout(io.StringIO()) as printed,
        contextlib.redirect_stderr(io.StringIO()) as logged,
    ):
        ask_less(patch, "object2", sizes=[3], skins=skins)
        line = f"evaluate {tiny_checkpoint()} --benchmark ewok,worldsense --versions 0 --work {work}".split()
        assert cli.main(line) == 0
    return work, printed.getvalue(), logged.getvalue()


@pytest.fixture(scope="module")
def evaluated(evaluation):
    return evaluation[0]


@pytest.mark.long
def test_every_step_is_printed_as_the_command_that_it_is(evaluation):
    """They are functions that are called, and a reader repeats one by hand."""
    lines = re.findall(r"INFO worldprobe (.*)", evaluation[2])
    words = [" ".join(line.split()[:2]) for line in lines]
    expected = ["items build", "score logprobs", "worldsense generate", "worldsense ask"]
    assert set(expected) < set(words)
    calls = [cli.parse(shlex.split(line)) for line in lines]
    generated = calls[words.index("worldsense generate")].bound.arguments
    assert generated["part"].sizes == [3]
    assert generated["out"] == evaluation[0] / "worldsense" / "trials.parquet"


@pytest.mark.long
def test_the_result_is_the_mean_of_its_own_judgements(evaluated):
    from worldprobe.benchmarks.ewok.contracts import Judgements

    result = json.loads((evaluated / "result.json").read_text())
    stated = result["benchmarks"]["ewok"]
    judged = read_table(evaluated / "ewok" / "judgements.parquet", Judgements)
    assert stated["mean"] == pytest.approx(judged["accuracy"].mean())
    assert (
        stated["n"]
        == judged["item_id"].nunique()
        == sum(part["n"] for part in stated["parts"] if part["grouping"] == "domain")
    )
    assert result["dtype"] == "float32"
    assert len(result["checkpoint_digest"]) == 64


@pytest.mark.long
def test_a_result_says_where_versions_differ_and_pairs_are_few(evaluated, tmp_path):
    tables = [evaluated / "ewok" / f"{name}.parquet" for name in ("items", "target_scores")]
    summaries = read_table(evaluated / "ewok" / "summaries.parquet", Summaries)
    overall = (summaries["grouping"] == "overall") & (summaries["metric"] == "accuracy")
    summaries.loc[overall, "p_versions"] = 0.01
    summaries.loc[summaries["grouping"] == "domain", "n_clusters"] = 5
    place = tmp_path / "summaries.parquet"
    write_table(summaries, Summaries, place, read_provenance(evaluated / "ewok/summaries.parquet"))
    found = collect_evaluation("ant", "builtin", *tables, place)["benchmarks"]["ewok"]["notes"]
    assert any(note.startswith("accuracy of all: versions differ more than") for note in found)
    assert any("from fewer than 6 pairs of concepts" in note for note in found)


@pytest.mark.long
def test_models_that_were_asked_the_same_are_in_one_ranking(
    evaluated, tiny_checkpoint, tmp_path, monkeypatch
):
    """newcomer3, 1: each had a ranking of its own, as the model's mean stood in what was asked."""
    ask_less(monkeypatch)
    work = tmp_path / "other"
    line = f"evaluate {tiny_checkpoint('llama')} --benchmark ewok --versions 0 --work {work}"
    assert run(line) == 0
    results = [read_result(folder / "result.json") for folder in (evaluated, work)]
    ewok = build_rankings(results)[0]
    assert {row.model for row in ewok.rows} == {result["model"] for result in results}
    for result in results:
        pairs = result["benchmarks"]["ewok"]["mean_over_pairs"]
        assert pairs["ci_low"] < pairs["mean"] < pairs["ci_high"]
        assert f"{pairs['mean']:.3f}" not in ewok.asked
    sheet = print_rankings([ewok], "Models").frame.set_index("model")
    for result in results:
        stated = result["benchmarks"]["ewok"]
        shown = sheet.loc[result["model"], ["mean", "mean_over_pairs"]].tolist()
        assert shown == pytest.approx([stated["mean"], stated["mean_over_pairs"]["mean"]])
        paired = {part["metric"]: part for part in stated["parts"] if part["metric"] != "accuracy"}
        assert list(paired) == ["pairing", "pairing_over_pairs"]
        shown = sheet.loc[result["model"], list(paired)].tolist()
        assert shown == pytest.approx([part["mean"] for part in paired.values()])
    judged = pd.read_parquet(work / "ewok" / "judgements.parquet")
    assert paired["pairing"]["mean"] == pytest.approx(judged["pairing"].mean())
    assert paired["pairing"]["n"] == judged["item_id"].nunique()
    page = build_page([ewok], "Models")
    assert f'<td class="n" title="{paired["pairing"]["ci_low"]:.3f} to' in page
    # a result of an earlier worldprobe lacks them: its cells are empty, and no column moves
    part = results[0]["benchmarks"]["ewok"]["parts"]
    results[0]["benchmarks"]["ewok"]["parts"] = [p for p in part if p["metric"] == "accuracy"]
    page = build_page(build_rankings(results)[:1], "Models")
    rows = [row for row in page.split("<tr>") if 'scope="row"' in row]
    assert len({row.count('<td class="n"') for row in rows}) == 1


def test_the_standard_error_that_is_exported_is_that_of_the_mean(evaluated):
    """Not the width of an interval by Student's t, which was cut off at 0 and 1, divided by 2 x
    1.96.
    """
    from worldprobe.report.results import list_scores

    result = json.loads((evaluated / "result.json").read_text())
    stated = result["benchmarks"]["ewok"]
    judged = pd.read_parquet(evaluated / "ewok" / "judgements.parquet")
    pair = judged["domain"] + judged["concept_a"] + judged["concept_b"].fillna("")
    items = (
        judged.assign(pair=pair)
        .groupby("item_id")
        .agg(accuracy=("accuracy", "mean"), pair=("pair", "first"))
    )
    sizes = items.groupby("pair").size()
    sums = (items["accuracy"] - items["accuracy"].mean()).groupby(items["pair"]).sum()
    naive = float(
        (sums**2).sum() ** 0.5 / len(items)
    )  # Liang and Zeger's, without a correction for few clusters
    share = sizes / len(items)
    stderr = stated["stderr"]
    assert 1 < stderr / naive < 1 + 2 * share.max()
    width = stated["ci_high"] - stated["ci_low"]
    assert width / stderr / 2 > 1.97, "a t quantile"
    exported = {
        (score.benchmark, score.group, score.metric): score.estimate["stderr"]
        for score in list_scores(result)
    }
    assert exported["ewok", "overall", "accuracy"] == stderr
    bias = result["benchmarks"]["worldsense"]["parts"][-1]
    assert bias["metric"] == "bias"
    assert exported["worldsense", "overall", "bias"] == bias["stderr"]


def test_the_result_follows_its_schema_and_says_how_it_was_measured(evaluated):
    from worldprobe.report.results import list_scores, read_result

    result = read_result(evaluated / "result.json")
    stated = result["benchmarks"]["ewok"]
    assert stated["asked"]["ties"] == "count 0.5"
    assert stated["asked"]["start tokens"]
    assert stated["asked"]["items"] == "builtin@4, not the published ones"
    assert len(stated["items_digest"]) == 64
    assert result["options"]["ewok"]["materials"] == "builtin@4"
    overall = [score for score in list_scores(result) if score.group == "overall"]
    named = {benchmark: [] for benchmark in result["benchmarks"]}
    for score in overall:
        named[score.benchmark].append(score.metric)
    paired = ["pairing", "pairing_over_pairs"]
    assert named["ewok"] == ["accuracy", "mean_over_pairs", *paired]
    assert named["worldsense"] == ["accuracy", "bias"]


def test_published_numbers_of_other_items_are_not_printed_and_a_score_is_called_by_its_items(
    evaluation,
):
    """ "EWoK: 0.675", of two templates of one's own, stood above 21 lines that were "not
    comparable".
    """
    work, printed, _ = evaluation
    stated = json.loads((work / "result.json").read_text())["benchmarks"]["ewok"]
    assert stated["published"]["means"]["human"] == 0.951
    assert not stated["published"]["is_comparable"]
    assert stated["title"] == "EWoK's method, items builtin@4"
    text = printed.partition("WorldSense: accuracy of")[0]
    assert text.startswith(f"{stated['title']}: accuracy of")
    assert not re.search(r"^EWoK:", text, re.MULTILINE)
    assert "human" not in text
    assert text.count("The published numbers (") == 1
    assert text.splitlines()[4].split()[:3] == [
        "overall",
        f"{stated['mean']:.3f}",
        f"{stated['ci_low']:.3f}–{stated['ci_high']:.3f}",
    ]
    page = html.unescape((work / "report.html").read_text())
    assert f"<h2>{stated['title']}</h2>" in page


def test_known_models_and_baselines_stand_beside_the_own_model_where_they_answered_the_same(
    evaluation, capsys
):
    """Is 0.569 good? Fails also where the shipped references are not of the built-in items: run
    `make references`.
    """
    work, printed, _ = evaluation
    stated = json.loads((work / "result.json").read_text())["benchmarks"]["ewok"]
    assert {"sentence_vectors", "wordnet", "smollm2_135m"} < stated["references"].keys()
    page = (work / "report.html").read_text()
    for reference in stated["references"].values():
        assert reference["n"] == stated["n"]
        assert re.search(
            rf"^{re.escape(reference['name'])} +{reference['mean']:.3f}", printed, re.M
        )
        assert f'<th scope="row">{reference["name"]}</th>' in page
        assert f"<td>{reference['name']}</td>" in page
    assert run(f"compare {work / 'ewok'} sentence_vectors") == 0
    numbers = f"B sentence_vectors: {stated['references']['sentence_vectors']['mean']:.3f}"
    assert numbers in capsys.readouterr().out


def test_the_terminal_calls_groups_as_the_report_does(evaluation):
    """ "Infer.normal" in one, "Inference" in the other."""
    work, printed, _ = evaluation
    page = (work / "report.html").read_text()
    parts = json.loads((work / "result.json").read_text())["benchmarks"]["ewok"]["parts"]
    domain = next(part["group"] for part in parts if part["grouping"] == "domain")
    for name in (domain.replace("-", " "), "Inference", "Completeness, trivial"):
        assert re.search(rf"^{name} ", printed, re.MULTILINE)
        assert name in page
    assert "Infer.normal" not in printed


@pytest.mark.long
def test_what_evaluate_asked_is_not_asked_again_by_a_study_and_other_settings_share_nothing(
    tiny_checkpoint, tmp_path, monkeypatch, capsys
):
    """`evaluate`, then a study, asked all 14,280 questions of a model again."""
    monkeypatch.chdir(tmp_path)
    ask_less(monkeypatch)
    folder = str(tiny_checkpoint())
    assert run(f"evaluate {folder} --versions 0") == 0
    parts = sorted(Path("results/.answers").glob("*/part-*"))
    assert parts
    [result] = Path("results/evaluate").glob("*/result.json")
    stated = result.read_bytes()
    with monkeypatch.context() as patch:  # newcomer3, 17: it was loaded to be asked nothing
        patch.setattr(Transformers, "open", lambda *_: pytest.fail("loaded"))
        assert run(f"evaluate {folder} --versions 0") == 0
    assert result.read_bytes() == stated
    items = next(Path("results/evaluate").glob("*/ewok/items.parquet"))
    study = f"score logprobs {items} --model mine --checkpoint {folder} --answers results/.answers"
    assert run(f"{study} --out scores.parquet") == 0
    assert sorted(Path("results/.answers").glob("*/part-*")) == parts
    assert run(f"{study} --dtype bfloat16 --out others.parquet") == 0
    new = set(Path("results/.answers").glob("*/part-*")) - set(parts)
    assert new
    assert not {part.parent for part in new} & {part.parent for part in parts}


def test_a_password_is_in_no_printed_command(tmp_path, capsys, caplog, monkeypatch):
    monkeypatch.setenv("WORLDPROBE_MATERIALS_PASSWORD", "")  # restored afterwards
    archive = str(tmp_path / "none.zip")
    assert (
        cli.main(f"evaluate x --materials {archive} --password s3cret --work {tmp_path}".split())
        == 2
    )
    assert "s3cret" not in capsys.readouterr().err + caplog.text


def test_a_number_that_is_missing_is_null_in_the_result(evaluated, tmp_path):
    """JSON has no NaN: a model without one readable score has no accuracy."""
    from worldprobe.benchmarks.ewok.contracts import Summaries
    from worldprobe.benchmarks.ewok.evaluation import collect_evaluation
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.report.results import describe

    made = read_provenance(evaluated / "ewok" / "summaries.parquet")
    numbers = dict.fromkeys(["mean", "low", "high", "ci_low", "ci_high"], float("nan"))
    summaries = read_table(evaluated / "ewok" / "summaries.parquet", Summaries).assign(**numbers)
    write_table(summaries, Summaries, tmp_path / "summaries.parquet", made)
    found = collect_evaluation(
        "m",
        "builtin",
        evaluated / "ewok" / "items.parquet",
        evaluated / "ewok" / "target_scores.parquet",
        tmp_path / "summaries.parquet",
    )
    json.dumps(found, allow_nan=False)
    assert found["benchmarks"]["ewok"]["mean"] is None
    assert ["overall", "–"] in [line.split()[:2] for line in describe(found, "ewok").splitlines()]


def test_a_folder_of_the_same_name_elsewhere_does_not_replace_a_result(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Transformers, "kind", lambda *_: "causal")
    for place in ("a", "b"):
        (tmp_path / place / "final").mkdir(parents=True)
    result = tmp_path / "results" / "evaluate" / "final" / "result.json"
    result.parent.mkdir(parents=True)
    result.write_text('{"checkpoint": "a/final"}')
    assert run("evaluate b/final --versions 0") == 2
    assert "is the result of another model, a/final" in capsys.readouterr().err
    assert result.read_text() == '{"checkpoint": "a/final"}'
    evaluate.refuse_another_models_folder(result, str(tmp_path / "a" / "final"))


def test_worldsense_accuracy_is_the_mean_of_its_problems(evaluated):
    from worldprobe.benchmarks.worldsense.contracts import Responses

    stated = json.loads((evaluated / "result.json").read_text())["benchmarks"]["worldsense"]
    by_problem = [row["mean"] for row in stated["parts"] if row["grouping"] == "problem"]
    assert len(by_problem) == 6
    assert stated["mean"] == pytest.approx(sum(by_problem) / 6)
    assert stated["ci_low"] <= stated["mean"] <= stated["ci_high"]
    n_trials = len(read_table(evaluated / "worldsense" / "responses.parquet", Responses))
    assert stated["asked"]["items"].startswith(f"{n_trials:,} trials")
    assert stated["baselines"].keys() >= {"Counting (rule)", "Single clauses (rule)"}


def test_a_checkpoint_with_a_chat_template_is_asked_as_published(tiny_checkpoint, tmp_path):
    folder = tmp_path / "chat"
    shutil.copytree(tiny_checkpoint(), folder)

    model = Model(checkpoint=str(folder))
    assert not model.offers().chat()
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    assert model.offers().chat()


#: What is loaded, as every result says it.
FACTS = {
    "checkpoint": "mine",
    "revision": None,
    "dtype": "float32",
    "engine": "transformers",
    "kind": "causal",
    "packages": {},
}


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """``evaluate`` without a model: each benchmark's accuracy is a number that is set, and so
    are the model's weights.
    """
    said = {"ewok": 0.5, "worldsense": 0.6, "digest": "weights", "items": "x"}

    def fake(name):
        def run(_):
            mean = {"std_error": math.nan, "ci_low": math.nan, "ci_high": math.nan, "n": 1}
            numbers = benchmark_result(
                pd.DataFrame([{"mean": said[name], **mean}]),
                title=name,
                unit="items",
                chance=None,
                interval="items",
                eval_type="logprobs",
                asked={},
                items_digest=said["items"],
            )
            loaded = {"model": "mine", "checkpoint_digest": said["digest"], **FACTS}
            return {**loaded, "benchmarks": {name: numbers}}

        return Evaluation(run, lambda _: None, None, find(name).evaluation.settle)

    fakes = {"ewok": fake("ewok"), "worldsense": fake("worldsense")}
    monkeypatch.setattr(
        evaluate, "able", lambda _, named: ({one.name: fakes[one.name] for one in named}, [])
    )
    monkeypatch.setattr(Transformers, "kind", lambda *_: "causal")
    monkeypatch.setattr(evaluate, "write_page", lambda *_: tmp_path / "report.html")

    def run(*options):
        status = cli.main(["evaluate", "mine", "--work", str(tmp_path), *options])
        result = json.loads((tmp_path / "result.json").read_text())
        return status, {name: stated["mean"] for name, stated in result["benchmarks"].items()}

    return said, run


@pytest.mark.long
def test_a_sample_has_every_pair_of_concepts_and_every_problem_and_is_never_ranked_with_all(
    tiny_checkpoint, evaluated, tmp_path, capsys, monkeypatch
):
    from worldprobe.report.results import read_result
    from worldprobe_authoring.leaderboard import build_rankings

    ask_less(monkeypatch, "object1")
    folder, work = str(tiny_checkpoint()), tmp_path / "work"
    line = f"evaluate {folder} --work {work} --benchmark ewok,worldsense"
    with few_to_learn_from():
        assert run(f"{line} --limit 60 --batch-size 2") == 0
        printed = capsys.readouterr().out
        # fewer than pairs of concepts: no number stands for all items (newcomer3, 4)
        first = read_result(work / "result.json")["benchmarks"]["ewok"]
        assert first["mean_over_pairs"] is None
        assert 0 < first["n"] <= 60
        for said in (printed, (work / "report.html").read_text().partition("</header>")[0]):
            assert "the sample leaves out some of the 425 pairs of concepts" in said
            assert "over pairs of concepts: " not in said
        assert "pairing_over_pairs" not in [part["metric"] for part in first["parts"]]
        trials = pd.read_parquet(work / "worldsense" / "trials.parquet")
        assert run(f"{line.replace(',worldsense', '')} --limit 425 --replace") == 0
    printed += capsys.readouterr().out
    assert "published numbers" not in printed
    items = pd.read_parquet(work / "ewok" / "items.parquet")
    pairs = ["domain", "concept_a", "concept_b"]
    assert len(items) == len(items[pairs].drop_duplicates()) > 60
    assert re.search(rf"sample: {len(items)} of [\d,]+ templates", printed)
    assert trials["problem"].nunique() == 6
    assert 40 < len(trials) <= 60
    title = rf"<h1>gpt2_byte_level0, on a sample: {len(items)} of [\d,]+ templates and \d+ of"
    assert re.search(title, (work / "report.html").read_text())
    sample, whole = read_result(work / "result.json"), read_result(evaluated / "result.json")
    assert sample["benchmarks"]["ewok"]["published"] is None
    # its items are those of the whole: other fillings, and no reference would be of them
    references = sample["benchmarks"]["ewok"]["references"].values()
    assert {reference["n"] for reference in references} == {len(items)}
    pairs_mean = sample["benchmarks"]["ewok"]["mean_over_pairs"]
    ends = f"{pairs_mean['ci_low']:.3f}–{pairs_mean['ci_high']:.3f}"
    lead = (work / "report.html").read_text().partition("</header>")[0]
    for said in (printed, lead):
        assert "over a sample of the items (95%" in said
        assert (
            "To compare with all items, take the mean over pairs of concepts:"
            f" {pairs_mean['mean']:.3f} (95% interval: {ends})."
        ) in said
    tuples = len(trials[["problem", "tuple_id"]].drop_duplicates())
    assert sample["benchmarks"]["worldsense"]["n"] == tuples
    assert f"{tuples} tuples are a small sample" in printed
    notes = [result["benchmarks"]["ewok"]["notes"] for result in (sample, whole)]
    assert [any("small pairs" in note for note in some) for some in notes] == [True, False]
    assert all(len(ranking.rows) == 1 for ranking in build_rankings([sample, whole]))


def test_a_limit_above_all_is_no_sample():
    asked = {"sample": "389 of 2,505 templates"}
    for limit, stated, is_so in ((400, asked, True), (9999, {}, False), (0, {}, False)):
        result = {"options": {"ewok": {"limit": limit}}, "benchmarks": {"ewok": {"asked": stated}}}
        assert evaluate.is_sample(result, "ewok") == is_so


def test_all_items_replace_a_sample_and_a_sample_replaces_only_a_smaller_one(quick, capsys):
    """`--limit 5` to try, then `--limit 400` as Get started says, was refused."""
    said, run = quick
    assert run("--benchmark", "ewok", "--limit", "5") == (0, {"ewok": 0.5})
    said |= {"ewok": 0.55, "items": "of more templates"}
    assert run("--benchmark", "ewok", "--limit", "400") == (0, {"ewok": 0.55})
    assert run("--benchmark", "ewok", "--limit", "5") == (2, {"ewok": 0.55})
    assert run("--benchmark", "ewok", "--limit", "500", "--versions", "1-1")[0] == 2
    said |= {"ewok": 0.6, "items": "all"}
    assert run("--benchmark", "ewok") == (0, {"ewok": 0.6})
    said |= {"ewok": 0.7, "items": "a sample"}
    assert run("--benchmark", "ewok", "--limit", "400") == (2, {"ewok": 0.6})


def test_an_option_that_the_engine_lacks_is_refused_before_anything_is_asked(capsys):
    assert run("evaluate served --endpoint http://a/v1 --device cpu") == 2
    assert "device: does nothing with the engine openai" in capsys.readouterr().err
    assert run("evaluate --endpoint http://127.0.0.1:1/v1") == 2
    assert "--endpoint URL --model NAME" in capsys.readouterr().err


def test_a_second_evaluation_adds_to_the_first(quick):
    said, run = quick
    assert run("--benchmark", "ewok,worldsense") == (0, {"ewok": 0.5, "worldsense": 0.6})
    said["ewok"] = 0.7
    assert run("--benchmark", "ewok") == (0, {"ewok": 0.7, "worldsense": 0.6})


def test_numbers_with_other_options_or_weights_are_replaced_on_request_only(quick, capsys):
    said, run = quick
    both = run("--benchmark", "ewok,worldsense")
    said["ewok"] = 0.7
    assert run("--versions", "0-0") == (2, both[1])
    assert "would be replaced: ewok --versions 0-4." in capsys.readouterr().err
    assert run("--versions", "0-0", "--replace") == (0, {"ewok": 0.7, "worldsense": 0.6})
    said["digest"] = "others"
    assert run("--versions", "0-0") == (2, {"ewok": 0.7, "worldsense": 0.6})
    assert "would be replaced: checkpoint_digest weights." in capsys.readouterr().err
    assert run("--versions", "0-0", "--replace") == (2, {"ewok": 0.7, "worldsense": 0.6})
    assert "has numbers of worldsense with other checkpoint_digest" in capsys.readouterr().err
    replaced = run("--benchmark", "ewok,worldsense", "--versions", "0-0", "--replace")
    assert replaced == (0, {"ewok": 0.7, "worldsense": 0.6})


def test_numbers_on_edited_materials_are_replaced_on_request_only(quick, capsys):
    said, run = quick
    before = run("--benchmark", "ewok")
    said |= {"ewok": 0.7, "items": "of edited materials"}
    assert run("--benchmark", "ewok") == (2, before[1])
    assert "would be replaced: ewok on other items." in capsys.readouterr().err
    assert run("--benchmark", "ewok", "--replace") == (0, {"ewok": 0.7})


def test_numbers_of_other_software_do_not_pass_for_those_of_this(quick, monkeypatch, capsys):
    _, run = quick
    both = run("--benchmark", "ewok,worldsense")
    monkeypatch.setattr(evaluate, "__version__", "99.0")
    assert run("--benchmark", "ewok") == (2, both[1])
    assert "would be replaced: worldprobe " in capsys.readouterr().err
    assert run("--benchmark", "ewok,worldsense") == both


@pytest.mark.parametrize(
    ("model", "said"),
    [("nofile.gguf", "no such file"), ("smollm_135m", 'did you mean "smollm2_135m"?')],
)
def test_a_model_that_is_not_there_is_named_with_the_nearest_id(model, said, capsys):
    assert run(f"evaluate {model}") == 2
    assert said in capsys.readouterr().err


def test_the_second_line_says_what_the_page_says_first(evaluation):
    """Whether the model is above chance, and beats its strongest baseline, were on the page alone,
    or in a folded table.
    """
    work, printed, _ = evaluation
    page = (work / "report.html").read_text().partition("</header>")[0]
    for title in ("EWoK's method, items builtin@4", "WorldSense"):
        lines = printed.splitlines()
        first = next(n for n, line in enumerate(lines) if line.startswith(f"{title}: accuracy of"))
        second = lines[first + 1]
        assert re.search(r" has an accuracy of 0[.]\d+ \(95% interval: ", second)
        assert "chance (0.5)." in second
        assert "its strongest baseline, " in second
        sentences = map(html.unescape, re.findall(r'<p class="lead">(.*?)</p>', page))
        assert second == " ".join(one for one in sentences if one in second)


def test_a_page_says_chance_once_and_counts_no_models_of_one(evaluation):
    """It read "EWoK's method: 0.5, WorldSense: 0.5", and "differ in 0 of 1 models"."""
    page = (evaluation[0] / "report.html").read_text()
    assert "White is chance: 0.5. " in page
    assert "of 1 models" not in page


def test_the_number_of_tuples_is_that_of_the_mean_and_the_papers_is_named_beside(evaluation):
    """1,296 were asked, and 648 stood below "tuples", without a word: the paper's count."""
    work, printed, _ = evaluation
    trials = pd.read_parquet(work / "worldsense" / "trials.parquet")
    tuples = len(trials[["problem", "tuple_id"]].drop_duplicates())
    stated = json.loads((work / "result.json").read_text())["benchmarks"]["worldsense"]
    assert stated["n"] == tuples
    by_problem = [part["n"] for part in stated["parts"] if part["grouping"] == "problem"]
    assert sum(by_problem) == tuples
    assert {one["n"] for one in stated["baselines"].values()} == {tuples}
    means = pd.read_parquet(work / "worldsense" / "summaries.parquet")
    balanced = means.query("grouping == 'overall' and metric == 'accuracy'")["n"].max()
    assert balanced < tuples
    assert (
        f"Means are over {tuples:,} tuples; the paper's standard errors count {balanced}" in printed
    )
    assert f"<li>tuples (test) <b>{tuples}" in (work / "report.html").read_text()


def test_a_dry_run_says_what_will_be_asked_and_leaves_nothing(
    tiny_checkpoint, tmp_path, capsys, monkeypatch
):
    """newcomer3, 4: hundreds of questions, and on a server dollars, began without a word."""
    monkeypatch.setattr(Transformers, "open", lambda *_: pytest.fail("loaded"))
    work = tmp_path / "work"
    line = f"evaluate {tiny_checkpoint()} --limit 5 --dry-run --work {work}"
    assert run(f"{line} --benchmark ewok,worldsense") == 0
    printed = capsys.readouterr().out
    assert "EWoK: about 20 questions" in printed
    assert "WorldSense: about 15 questions" in printed
    assert re.search(r"time: a minute or two on \d+ cores", printed)
    assert run(f"{line} --materials {tmp_path}") == 0
    assert "EWoK: number of questions unknown" in capsys.readouterr().out
    assert not work.exists()


def test_of_several_models_each_is_named_and_a_refusal_is_said_at_once(
    capsys, monkeypatch, tiny_checkpoint
):
    """Costs named no model, and what was refused first was said after hours of the others."""
    folder = tiny_checkpoint()
    assert run(f"evaluate nofile.gguf {folder} --limit 5 --dry-run") == 2
    said = capsys.readouterr()
    assert said.out.startswith(f"{folder}:\nEWoK: about 20 questions")
    assert "nofile.gguf is not evaluated: nofile.gguf" in said.err


def test_all_models_costs_are_said_before_the_first_one_is_asked(
    caplog, monkeypatch, tiny_checkpoint
):
    """Those of the second were said when the first was done."""
    folders, seen = [str(tiny_checkpoint(kind)) for kind in ("gpt2", "llama")], []
    said = [re.escape(f"{folder}:") + "\nEWoK: about 20 questions.*" for folder in folders]

    def asked(one, *_):
        seen.append(one.evaluated.model.checkpoint)
        assert re.search("".join(said), "\n".join(caplog.messages), re.DOTALL)

    monkeypatch.setattr(evaluate, "evaluate_prepared", asked)
    with caplog.at_level("INFO", logger=evaluate.LOGGER.name):
        assert run(f"evaluate {' '.join(folders)} --limit 5") == 0
    assert seen == folders


def test_what_a_server_costs_is_said_from_its_card():
    load, card = Workload(10, 2_000_000, 100_000), {"engine": "openai", "dtype": "float32"}
    lines = expect_evaluation({"EWoK": load}, card, on_gpu=False, cores=2)
    assert lines[1:3] == [
        "time: unknown before the server's first answers",
        "price: unknown: a card of the registry can state prices",
    ]
    card |= {"prices": {"prompt": 1.5, "completion": 10.0}}
    lines = expect_evaluation({"EWoK": load}, card, on_gpu=False, cores=2)
    assert lines[2] == "price: at most $4.00"
