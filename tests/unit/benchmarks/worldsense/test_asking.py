"""Asking about trials: bad replies of every kind, one second question, statuses, samples, resuming,
official results.
"""

import bz2
import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.contracts import Responses
from worldprobe.benchmarks.worldsense.inference import reference_solvers
from worldprobe.benchmarks.worldsense.inference.ask import Asking, ask
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, ANSWERS, CANARY
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, validate
from worldprobe.errors import UserError
from worldprobe.inference.dialogue import last_word
from worldprobe.inference.store import open_store
from worldprobe.models.engine import Completion, EngineFacts, Scored

PAIR = ("TRUE", "FALSE")
#: Last words that chat models end with, the accepted answers, and what is read.
ODD = [
    ("TRUE", PAIR, "TRUE"),
    ("true", PAIR, "TRUE"),
    ("True.", PAIR, "TRUE"),
    ("'TRUE'", PAIR, "TRUE"),
    ("‘FALSE’", PAIR, "FALSE"),
    ("“FALSE.”", PAIR, "FALSE"),
    ("**FALSE**", PAIR, "FALSE"),
    ("__True__", PAIR, "TRUE"),
    ("The final response is: TRUE", PAIR, "TRUE"),
    ("The final response is: ‘TRUE’.", PAIR, "TRUE"),
    ("Answer: `FALSE`", PAIR, "FALSE"),
    ("FALSE\n", PAIR, "FALSE"),
    ("\n\n  FALSE  \n", PAIR, "FALSE"),
    ("TRUE!!!", PAIR, "TRUE"),
    ("TRUE ...", PAIR, "TRUE"),
    ("TRUE \N{WHITE HEAVY CHECK MARK}", PAIR, "TRUE"),
    ("TRUE\N{HORIZONTAL ELLIPSIS}", PAIR, "TRUE"),
    ("TRUE\N{ZERO WIDTH SPACE}", PAIR, "TRUE"),
    ("it is <b>TRUE</b>", PAIR, None),
    ("TRUE/FALSE", PAIR, None),
    ("TRUEFALSE", PAIR, None),
    ("untrue", PAIR, None),
    ("TRUE or FALSE? I cannot say", PAIR, None),
    ("TRUE because Ann is taller", PAIR, None),
    ("TRUE\n\nExplanation: see above", PAIR, None),
    ("", PAIR, None),
    ("   ", PAIR, None),
    ("...", PAIR, None),
    ("Yes", PAIR, None),
    ("POSSIBLE", PAIR, None),
    ("impossible.", ("POSSIBLE", "IMPOSSIBLE"), "IMPOSSIBLE"),
    ("It is not possible", ("POSSIBLE", "IMPOSSIBLE"), "POSSIBLE"),
    ("im-possible", ("POSSIBLE", "IMPOSSIBLE"), None),
    ("(3)", ("1", "2", "3"), "3"),
    ("3)", ("1", "2", "3"), "3"),
    ("Option 2.", ("1", "2", "3"), "2"),
    ("#1", ("1", "2", "3"), "1"),
    ("[2]", ("1", "2", "3"), "2"),
    ("$3$", ("1", "2", "3"), "3"),
    ("three", ("1", "2", "3"), None),
    ("1, 2", ("1", "2", "3"), "2"),
    ("12", ("1", "2", "3"), None),
    ("3.0", ("1", "2", "3"), None),
    ("-1", ("1", "2", "3"), "1"),
]


@pytest.mark.parametrize(("text", "accepted", "read"), ODD)
def test_the_last_word_is_read_in_capitals_and_without_punctuation(
    text: str, accepted: tuple[str, ...], read: str | None
) -> None:
    assert last_word(accepted)(text).value == read


def trials(*replies: str) -> pd.DataFrame:
    """A trial for each scripted reply, which is named in its text."""
    n = len(replies)
    return pd.DataFrame(
        {
            "trial_id": range(100, 100 + n),
            "tuple_id": [f"t{i}" for i in range(n)],
            "problem": ["Infer.normal"] * n,
            "size": [3] * n,
            "complexity": [0] * n,
            "wording": ["directQ1"] * n,
            "skin": ["made up"] * n,
            "text": [f"Script: {reply}" for reply in replies],
        }
    )


class Scripted:
    """A chat model that answers as each trial's text says; ``dies_at`` ends it at that question."""

    def __init__(self, has_chat: bool = True, dies_at: int | None = None) -> None:
        self.facts = EngineFacts(
            "scripted", None, "0", "scripted", "float32", {}, 4096, {}, has_chat=has_chat
        )
        self.asked: list[tuple[str, object]] = []
        self.dies_at = dies_at

    def rendered(self, prompt):
        return (
            prompt
            if isinstance(prompt, str)
            else "\n".join(f"<{m.role}>{m.content}" for m in prompt)
        )

    def note(self, question) -> None:
        if len(self.asked) == self.dies_at:
            raise KeyboardInterrupt
        self.asked.append(question)

    def generate(self, prompts, decoding, *, skip=()):
        for i, prompt in enumerate(prompts):
            if i in skip:
                continue
            text = self.rendered(prompt)
            self.note((text, decoding))
            yield i, self.reply(text, decoding)

    def reply(self, text: str, decoding) -> Completion:
        is_second = "What is the final answer?" in text
        if "broken" in text:
            return Completion("", "not_finite", 0)
        if "too long" in text:
            return Completion("TRUE", "end", 1, prompt_was_cut=True)
        if "thinks" in text:
            return Completion("FALSE", "end", 1, thoughts="TRUE, I thought", n_thought_tokens=4)
        if "endless" in text:
            return Completion("TRUE " * 50, "length", decoding.max_new_tokens)
        if "slow" in text:
            return (
                Completion("true.", "end", 2)
                if is_second
                else Completion("I walk to TRUE", "length", decoding.max_new_tokens)
            )
        if "second only" in text:
            return (
                Completion("FALSE", "end", 1)
                if is_second
                else Completion("Let me see, perhaps", "end", 5)
            )
        if "draws" in text:
            return Completion(PAIR[decoding.seed % 2], "end", 1)
        words = {
            "good": "It is TRUE.",
            "empty": "",
            "refuses": "I cannot answer that.",
            "wrong word": "POSSIBLE",
        }
        words |= {"both": "TRUE or FALSE", "denies": "It is not TRUE."}
        return Completion(next(reply for word, reply in words.items() if word in text), "end", 3)

    def score(self, queries, *, skip=(), per_token=False):
        for i, query in enumerate(queries):
            if i in skip:
                continue
            self.note(query)
            value = {"TRUE": -1.0, "FALSE": -1.0 if "tied" in query.context else -2.5}[query.target]
            yield (
                i,
                (
                    Scored(None, 1, ("not_finite",))
                    if "broken" in query.context
                    else Scored(value, 1, n_read_tokens=7)
                ),
            )


SCRIPT = {
    "good": ("TRUE", "ok", False),
    "empty": (None, "invalid", True),
    "refuses": (None, "refused", True),
    "both": (None, "ambiguous", True),
    "denies": ("FALSE", "ok", False),
    "wrong word": (None, "invalid", True),
    "endless": (None, "length", True),
    "slow": ("TRUE", "ok", True),
    "second only": ("FALSE", "ok", True),
    "broken": (None, "not_finite", False),
    "too long": (None, "truncated", False),
    "thinks": ("FALSE", "ok", False),
}


@pytest.mark.parametrize("is_chat", [True, False])
def test_a_model_that_answers_badly_in_every_way_is_asked_once_more_and_read_right(
    tmp_path: Path, is_chat: bool
) -> None:
    engine = Scripted()
    prompts = load_prompt_set("basic")
    frame, facts = ask(
        trials(*SCRIPT), engine, prompts, open_store(tmp_path, engine), Asking(is_chat)
    )
    validate(frame, Responses)
    found = [
        (answer if isinstance(answer, str) else None, status, isinstance(follow_up, str))
        for answer, status, follow_up in zip(
            frame["answer"], frame["status"], frame["follow_up"], strict=True
        )
    ]
    assert found == list(SCRIPT.values())
    assert facts["status"] == {
        "ambiguous": 1,
        "invalid": 2,
        "length": 1,
        "not_finite": 1,
        "ok": 5,
        "refused": 1,
        "truncated": 1,
    }
    assert facts["follow_ups"] == 7
    assert facts["reading"] == {
        "rule": "explicit",
        "replies": 14,
        "another_answer": 1,
        "only_last_word": 2,
    }
    assert set(frame["form"]) == {"chat" if is_chat else "text"}
    by_script = dict(zip(SCRIPT, frame.to_dict("records"), strict=True))
    assert (by_script["thinks"]["thoughts"], by_script["thinks"]["n_thought_tokens"]) == (
        "TRUE, I thought",
        4,
    )
    conversation = json.loads(by_script["second only"]["conversation"])
    said = "What is the final answer? Respond only using one of these possible answers: TRUE, FALSE"
    if is_chat:
        assert [message["role"] for message in conversation] == [
            "user",
            "assistant",
            "user",
            "assistant",
        ]
        assert [message["content"] for message in conversation[1:]] == [
            "Let me see, perhaps",
            said,
            "FALSE",
        ]
    else:
        assert [message["role"] for message in conversation] == ["user", "assistant"]
        assert said in conversation[0]["content"]


def test_in_plain_text_replies_end_at_a_blank_line_and_in_a_chat_they_do_not(
    tmp_path: Path,
) -> None:
    for is_chat, stops in ((True, ()), (False, ("\n\n",))):
        engine = Scripted()
        ask(
            trials("good"),
            engine,
            load_prompt_set("basic"),
            open_store(tmp_path / str(is_chat), engine),
            Asking(is_chat),
        )
        assert engine.asked[0][1].stops == stops


def test_plain_sums_compare_the_answers_and_ties_are_no_answer(tmp_path: Path) -> None:
    engine = Scripted()
    frame, facts = ask(
        trials("good", "tied", "broken"),
        engine,
        load_prompt_set("constrained_sum"),
        open_store(tmp_path, engine),
        Asking(True),
    )
    validate(frame, Responses)
    assert frame["status"].tolist() == ["ok", "invalid", "not_finite"]
    assert frame["answer"].iloc[0] == "TRUE"
    assert frame["margin"].tolist()[:2] == [1.5, 0.0]
    assert facts["near_ties"] == {"within_nats": 1e-3, "trials": 1}
    assert facts["tokens"]["prompts"] == 4 * 7
    assert facts["form"] == "text"
    assert facts["answer_tokens"] == {"TRUE": [1], "FALSE": [1]}
    assert "calibrated_forms" not in facts
    assert engine.asked[0].context == "Script: good\nAnswer:"


def test_samples_have_seeds_of_their_own_which_the_provenance_states(tmp_path: Path) -> None:
    engine = Scripted()
    asking = Asking(True, samples=3, temperature=0.7, seed=10)
    frame, facts = ask(
        trials("draws"), engine, load_prompt_set("basic"), open_store(tmp_path, engine), asking
    )
    assert frame["sample"].tolist() == [0, 1, 2]
    assert frame["answer"].tolist() == ["TRUE", "FALSE", "TRUE"]
    assert (facts["samples"], facts["temperature"]) == (3, 0.7)
    assert sorted(decoding.seed for _, decoding in engine.asked) == [10, 11, 12]


def test_the_papers_rule_is_kept_by_name(tmp_path: Path) -> None:
    engine, asked = Scripted(), trials("denies", "both", "refuses")
    how = Asking(True, reading="last_word")
    frame, facts = ask(asked, engine, load_prompt_set("basic"), open_store(tmp_path, engine), how)
    assert frame["answer"].tolist()[:2] == ["TRUE", "FALSE"]
    assert frame["status"].tolist() == ["ok", "ok", "invalid"]
    assert facts["reading"]["rule"] == "last_word"


@pytest.mark.parametrize("dies_at", range(19))
def test_a_run_that_is_killed_at_any_question_asks_no_answered_one_again(
    tmp_path: Path, dies_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve first questions, then seven second ones: killed within either round, between them, or
    just before the end.
    """
    monkeypatch.setenv("WORLDPROBE_SECONDS_PER_SHARD", "0")
    prompts, asked = load_prompt_set("basic"), trials(*SCRIPT)
    whole = Scripted()
    expected, facts = ask(
        asked, whole, prompts, open_store(tmp_path / "whole", whole), Asking(True)
    )
    assert len(whole.asked) == 19
    first = Scripted(dies_at=dies_at)
    with pytest.raises(KeyboardInterrupt):
        ask(asked, first, prompts, open_store(tmp_path / "cut", first), Asking(True))
    second = Scripted()
    frame, again = ask(asked, second, prompts, open_store(tmp_path / "cut", second), Asking(True))
    assert len(first.asked) + len(second.asked) == 19
    assert not set(map(str, first.asked)) & set(map(str, second.asked))
    pd.testing.assert_frame_equal(frame, expected)
    assert again == facts


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set of ours and the five rules' answers to it, by the command."""
    folder = tmp_path_factory.mktemp("rules")
    table, examples = str(folder / "trials.parquet"), str(folder / "examples.parquet")
    subset = ["--sizes", "3", "--skins", "tall/short", "trips", "people_LeftRight"]
    assert main(["worldsense", "generate", "test", *subset, "--per-cell", "1", "--out", table]) == 0
    assert (
        main(
            [
                "worldsense",
                "generate",
                "test",
                *subset,
                "--per-cell",
                "6",
                "--seed",
                "1",
                "--out",
                examples,
            ]
        )
        == 0
    )
    promptings = [
        "basic",
        "basic_exchanged",
        "cot",
        "icl_iid",
        "icl_ood",
        "constrained",
        "constrained_sum",
    ]
    for rule in (
        "solver",
        "random",
        "positive",
        "mention",
        "query",
        "counting",
        "together",
        *reference_solvers.LEARNED,
    ):
        outs = [
            str(folder / rule / f"{name}.parquet")
            for name in promptings[: None if rule == "solver" else 1]
        ]
        names = ",".join(promptings[: None if rule == "solver" else 1])
        how = [
            "--engine",
            "rule",
            "--checkpoint",
            rule,
            "--prompting",
            names,
            "--examples",
            examples,
        ]
        with pytest.MonkeyPatch.context() as patch:
            for kind, name in (
                ("ngrams", "test"),
                ("roles", "train-10k"),
            ):  # fewer trials, of the size that is asked about
                patch.setattr(reference_solvers.LEARNED[kind], "sets", ((name, 1),))
            patch.setattr(
                reference_solvers,
                "plan_set",
                lambda name, per_cell: plan_set(name, [3], per_cell=per_cell),
            )
            assert main(["worldsense", "ask", table, *how, "--out", *outs]) == 0
    return folder


def accuracy_and_bias(folder: Path, name: str) -> tuple[float, float]:

    rows = read_table(folder / f"{name}.parquet", Responses).merge(
        pd.read_parquet(folder / "trials.parquet"), on="trial_id"
    )
    known = {"1": "KNOW", "2": "KNOW"}
    gold = rows["gold"].map(ANSWER_OF)
    weight = gold.map({"1": 0.25, "2": 0.25}).fillna(0.5)
    is_right = rows["answer"].replace(known) == gold.replace(known)
    bias = rows["answer"].isin(["TRUE", "POSSIBLE", "1", "2"]) * 2 - 1
    return float((is_right * weight).sum() / weight.sum()), float(
        (bias * weight).sum() / weight.sum()
    )


@pytest.mark.parametrize(
    "name",
    ["basic", "basic_exchanged", "cot", "icl_iid", "icl_ood", "constrained", "constrained_sum"],
)
def test_the_solver_is_right_about_every_trial_under_every_strategy(asked: Path, name: str) -> None:

    rows = read_table(asked / "solver" / f"{name}.parquet", Responses).merge(
        pd.read_parquet(asked / "trials.parquet"), on="trial_id"
    )
    assert (rows["answer"] == rows["gold"].map(ANSWER_OF)).all()
    assert read_provenance(asked / "solver" / f"{name}.parquet").model == "solver"


def test_the_other_rules_have_the_accuracy_and_bias_that_they_must_have(asked: Path) -> None:
    assert accuracy_and_bias(asked, "positive/basic") == (0.5, 1.0)
    for rule in ("random", "query"):
        accuracy, bias = accuracy_and_bias(asked, f"{rule}/basic")
        assert abs(accuracy - 0.5) < 0.12, rule
        assert abs(bias) < 0.2, rule
    accuracy, _ = accuracy_and_bias(asked, "mention/basic")
    assert 0.5 < accuracy < 0.95


def test_a_rule_that_never_chains_two_clauses_is_right_about_most_trials(asked: Path) -> None:
    """Of three entities, counting mentions is enough for nearly all; what single clauses and words
    say is less.
    """
    counting, _ = accuracy_and_bias(asked, "counting/basic")
    together, _ = accuracy_and_bias(asked, "together/basic")
    ngrams, _ = accuracy_and_bias(asked, "ngrams/basic")
    roles, _ = accuracy_and_bias(asked, "roles/basic")
    assert 0.85 < counting < 1
    assert 0.65 < together < counting
    assert 0.45 < ngrams < together < roles


def test_ngrams_of_roles_know_hard_problems_that_only_tests_have() -> None:
    """Chance for words, beyond chance where entities are named by what is asked about (0.585 in a
    larger training).
    """
    plan = plan_set("test-hard", per_cell=1)
    trials = pd.concat(
        stream_set(plan, blocks_of(plan, read_skins(), []), seed=3), ignore_index=True
    )
    rule = reference_solvers.RoleRule(read_skins())
    right: dict[str, list[bool]] = {}
    for problem, *facts, gold in trials[[*reference_solvers._STATED, "gold"]].itertuples(
        index=False, name=None
    ):
        statement = reference_solvers._stated(problem, *facts)
        right.setdefault(problem, []).append(rule(statement, facts[-1]) == ANSWER_OF[gold])
    assert 0.53 < np.mean(right["Infer.hard"]) < 0.65
    assert 0.36 < np.mean(right["Compl.hard"]) < 0.5


@pytest.mark.parametrize("rule", ["solver", "counting"])
def test_rules_know_what_official_trials_in_other_words_state(
    rule: str, asked: Path, tmp_path: Path
) -> None:
    """The same trials in words that no skin has get the same answers, also where a strategy
    rewrites them.
    """
    official = tmp_path / "trials.jsonl"
    assert (
        main(["worldsense", "export", str(asked / "trials.parquet"), "--out", str(official)]) == 0
    )
    words = official.read_text(encoding="utf-8")
    official.write_text(
        words.replace(" between ", " betwixt ").replace(" taller ", " loftier "), encoding="utf-8"
    )
    outs = [tmp_path / "basic.parquet", tmp_path / "cot.parquet"]
    how = ["--engine", "rule", "--checkpoint", rule, "--prompting", "basic,cot"]
    assert main(["worldsense", "ask", str(official), *how, "--out", *map(str, outs)]) == 0
    known = read_table(asked / rule / "basic.parquet", Responses).set_index("trial_id")["answer"]
    for out in outs:
        found = read_table(out, Responses)
        assert set(found["status"]) == {"ok"}
        pd.testing.assert_series_equal(
            found.set_index("trial_id")["answer"], known, check_like=True
        )


def test_results_are_exported_in_the_official_layout(asked: Path, tmp_path: Path) -> None:
    tables = [str(asked / "solver" / f"{name}.parquet") for name in ("basic", "cot")]
    assert main(["worldsense", "export-results", *tables, "--out", str(tmp_path / "official")]) == 0
    files = sorted(path.name for path in (tmp_path / "official").iterdir())
    assert files == ["basic___solver___results.jsonl.bz2", "cot___solver___results.jsonl.bz2"]
    lines = bz2.decompress((tmp_path / "official" / files[0]).read_bytes()).decode().splitlines()
    rows = read_table(Path(tables[0]), Responses)
    assert [json.loads(line) for line in lines] == [
        {"Key": key, "resp": answer}
        for key, answer in zip(rows["trial_id"], rows["answer"], strict=True)
    ]
    assert (
        main(
            ["worldsense", "export-results", tables[0], tables[0], "--out", str(tmp_path / "twice")]
        )
        == 2
    )
    assert not (tmp_path / "twice").exists()


@pytest.mark.parametrize(
    ("prompting", "model"),
    [("basic", "a_"), ("basic", "a___b"), ("my_", "a"), ("a___b", "c"), ("basic", "")],
)
def test_a_name_that_readers_would_take_apart_elsewhere_is_refused(
    prompting: str, model: str
) -> None:
    from worldprobe.benchmarks.worldsense.analysis.answers import name_of_results
    from worldprobe.benchmarks.worldsense.exports import results_name

    with pytest.raises(UserError, match="official file's name"):
        results_name(prompting, model)
    assert name_of_results(results_name("cot", "_a__b")) == ("cot", "_a__b")


def test_a_rule_that_could_not_read_a_skin_is_asked_again_when_it_knows_the_skin(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "skins"
    folder.mkdir()
    words = (FOLDER / "tall_short.yaml").read_text(encoding="utf-8")
    own = (
        words.replace("tall/short", "lofty/low")
        .replace("taller", "loftier")
        .replace("shorter", "lower")
    )
    (folder / "own.yaml").write_text(own, encoding="utf-8")
    table, out = str(tmp_path / "trials.parquet"), tmp_path / "answers.parquet"
    known = ["--skin-folder", str(folder)]
    assert (
        main(
            [
                "worldsense",
                "generate",
                "test",
                "--sizes",
                "3",
                "--per-cell",
                "1",
                *known,
                "--out",
                table,
            ]
        )
        == 0
    )
    ask_solver = [
        "worldsense",
        "ask",
        table,
        "--engine",
        "rule",
        "--checkpoint",
        "solver",
        "--prompting",
        "basic",
    ]
    for options, can_read in (([], False), (known, True), ([], False)):
        assert main([*ask_solver, *options, "--out", str(out)]) == 0
        assert (set(read_table(out, Responses)["status"]) == {"ok"}) is can_read


def test_answers_to_our_trials_have_the_canary_whatever_the_layout_of_the_trials(
    tmp_path: Path,
) -> None:
    table, official, out = (
        str(tmp_path / name) for name in ("t.parquet", "t.jsonl", "out.parquet")
    )
    few = ["--sizes", "3", "--per-cell", "1", "--skins", "trips", "--problems", "Infer.normal"]
    assert main(["worldsense", "generate", "test", *few, "--out", table]) == 0
    assert main(["worldsense", "export", table, "--out", official]) == 0
    for trials in (table, official):
        assert (
            main(
                [
                    "worldsense",
                    "ask",
                    trials,
                    "--engine",
                    "rule",
                    "--checkpoint",
                    "positive",
                    "--prompting",
                    "basic",
                    "--out",
                    out,
                ]
            )
            == 0
        )
        assert read_provenance(out).canary == CANARY


def test_each_set_has_examples_of_its_own_file_also_where_a_set_is_asked_about_twice(
    tmp_path: Path,
) -> None:
    few = ["--sizes", "3", "--skins", "trips", "--problems", "Infer.trivial"]
    made = {name: str(tmp_path / f"{name}.parquet") for name in ("first", "second", "a", "b")}
    for seed, name in enumerate(("first", "second")):
        assert (
            main(
                [
                    "worldsense",
                    "generate",
                    "test",
                    *few,
                    "--per-cell",
                    "6",
                    "--seed",
                    str(seed),
                    "--out",
                    made[name],
                ]
            )
            == 0
        )
    how = ["--engine", "rule", "--checkpoint", "solver", "--prompting", "icl_iid"]
    asked = ["worldsense", "ask", made["first"], made["first"], *how]
    assert (
        main([*asked, "--examples", made["first"], made["second"], "--out", made["a"], made["b"]])
        == 0
    )
    assert (
        read_provenance(made["a"]).inputs["examples"]
        != read_provenance(made["b"]).inputs["examples"]
    )
    first, second = (read_table(made[name], Responses)["conversation"] for name in ("a", "b"))
    assert (first != second).all()


def test_only_the_first_of_several_samples_fits_the_official_layout_which_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worldprobe.benchmarks.worldsense.exports import write_results

    monkeypatch.setattr(logging.getLogger("worldprobe"), "propagate", True)
    engine = Scripted()
    several = Asking(True, samples=3, temperature=0.7)
    frame, _ = ask(
        trials("draws"), engine, load_prompt_set("basic"), open_store(tmp_path, engine), several
    )
    (path,) = write_results(frame, "m", tmp_path, is_compressed=False)
    assert path.read_text().count("\n") == 1
    assert "of several samples, the first is written" in caplog.text


def test_no_answer_is_an_empty_string_in_the_official_layout(tmp_path: Path) -> None:
    from worldprobe.benchmarks.worldsense.exports import write_results

    engine = Scripted()
    frame, _ = ask(
        trials("good", "empty"),
        engine,
        load_prompt_set("basic"),
        open_store(tmp_path, engine),
        Asking(True),
    )
    (path,) = write_results(frame, "m", tmp_path, is_compressed=False)
    assert path.read_text() == '{"Key":100,"resp":"TRUE"}\n{"Key":101,"resp":""}\n'


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--prompting", "basik"], "basic"),
        (["--prompting", "basic,basic"], "--out files"),
        (["--prompting", "basic", "--samples", "2"], "temperature"),
        (["--prompting", "icl_iid"], "fewer than 5"),
        (["--prompting", "basic", "--max-requests", "5"], "--max-requests"),
    ],
)
def test_mistakes_are_found_before_a_model_is_loaded_and_nothing_is_written(
    asked: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    problem: str,
) -> None:
    out = tmp_path / "r.parquet"
    command = [
        "worldsense",
        "ask",
        str(asked / "trials.parquet"),
        "--engine",
        "rule",
        "--checkpoint",
        "solver",
    ]
    assert main([*command, *arguments, "--out", str(out)]) == 2
    assert problem in capsys.readouterr().err
    assert not out.exists()


def test_every_kind_of_problem_has_its_own_answers() -> None:
    for name in ("basic", "cot", "icl_iid", "icl_ood", "constrained", "constrained_sum"):
        assert load_prompt_set(name).answers.model_dump() == {
            kind: list(known) for kind, known in ANSWERS.items()
        }


def test_tables_say_how_replies_were_read_and_nothing_of_it_where_answers_were_compared(
    asked: Path,
) -> None:
    told = {
        name: read_provenance(asked / "solver" / f"{name}.parquet").details
        for name in ("basic", "constrained")
    }
    assert told["basic"]["reading"]["rule"] == "explicit"
    assert "reading" not in told["constrained"]
