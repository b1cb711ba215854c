"""Asking about trials: bad replies of every kind, one second question, statuses, samples,
resuming, official results.
"""

import bz2
import json
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from generated_trials import few_to_learn_from, make_trials
from worldprobe.benchmarks.worldsense.contracts import Responses
from worldprobe.benchmarks.worldsense.inference import reference_solvers
from worldprobe.benchmarks.worldsense.inference.ask import ask
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.known_rules import known_rules
from worldprobe.benchmarks.worldsense.settings import TrialAsking
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.benchmarks.worldsense.trials.files import read_trials, sample_tuples, write_official
from worldprobe.contracts import read_provenance, read_table, validate
from worldprobe.inference.dialogue import last_word
from worldprobe.inference.store import open_store
from worldprobe.models.engine import Completion, EngineFacts, Scored

PAIR = ("TRUE", "FALSE")
ODD = [
    ("TRUE", PAIR, "TRUE"),
    ("“FALSE.”", PAIR, "FALSE"),
    ("__True__", PAIR, "TRUE"),
    ("The final response is: ‘TRUE’.", PAIR, "TRUE"),
    ("\n\n  FALSE  \n", PAIR, "FALSE"),
    ("TRUE \N{WHITE HEAVY CHECK MARK}", PAIR, "TRUE"),
    ("TRUE\N{ZERO WIDTH SPACE}", PAIR, "TRUE"),
    ("TRUE/FALSE", PAIR, None),
    ("untrue", PAIR, None),
    ("TRUE because Ann is taller", PAIR, None),
    ("", PAIR, None),
    ("POSSIBLE", PAIR, None),
    ("It is not possible", ("POSSIBLE", "IMPOSSIBLE"), "POSSIBLE"),
    ("im-possible", ("POSSIBLE", "IMPOSSIBLE"), None),
    ("(3)", ("1", "2", "3"), "3"),
    ("1, 2", ("1", "2", "3"), "2"),
    ("12", ("1", "2", "3"), None),
]


@pytest.mark.parametrize(("text", "accepted", "read"), ODD)
def test_the_last_word_is_read_in_capitals_and_without_punctuation(
    text: str, accepted: tuple[str, ...], read: str | None
) -> None:
    assert last_word(accepted)(text).value == read


def trials(*replies: str) -> pd.DataFrame:
    """A trial for each scripted reply, which is named in its text."""
    frame = pd.DataFrame({"text": [f"Script: {reply}" for reply in replies]})
    frame = frame.assign(trial_id=100 + frame.index, tuple_id="t" + frame.index.astype(str))
    return frame.assign(
        problem="Infer.normal", size=3, complexity=0, wording="directQ1", skin="made up"
    )


class Scripted:
    """A chat model that answers as each trial's text says; ``dies_at`` ends it at that question."""

    def __init__(self, has_chat: bool = True, dies_at: int | None = None) -> None:
        self.facts = EngineFacts(
            "scripted", None, "0", "scripted", "float32", {}, 4096, {}, has_chat=has_chat
        )
        self.asked: list[tuple[str, object]] = []
        self.dies_at = dies_at

    def rendered(self, prompt, chooses=False):
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
        if "withheld" in text:
            return Completion("TRUE", "content_filter", 1)
        if "declined" in text:
            return Completion("I can't say TRUE", "refusal", 5)
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
    "withheld": (None, "content_filter", False),
    "declined": (None, "refused", True),
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
        trials(*SCRIPT), engine, prompts, open_store(tmp_path, engine), TrialAsking(), is_chat
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
        "content_filter": 1,
        "invalid": 2,
        "length": 1,
        "not_finite": 1,
        "ok": 5,
        "refused": 2,
        "truncated": 1,
    }
    assert facts["follow_ups"] == 8
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


def test_plain_sums_compare_the_answers_and_ties_are_no_answer(tmp_path: Path) -> None:
    engine = Scripted()
    frame, facts = ask(
        trials("good", "tied", "broken"),
        engine,
        load_prompt_set("constrained_sum"),
        open_store(tmp_path, engine),
        TrialAsking(),
        True,
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
    asking = TrialAsking(samples=3, temperature=0.7, seed=10)
    frame, facts = ask(
        trials("draws"),
        engine,
        load_prompt_set("basic"),
        open_store(tmp_path, engine),
        asking,
        True,
    )
    assert frame["sample"].tolist() == [0, 1, 2]
    assert frame["answer"].tolist() == ["TRUE", "FALSE", "TRUE"]
    assert (facts["samples"], facts["temperature"]) == (3, 0.7)
    assert sorted(decoding.seed for _, decoding in engine.asked) == [10, 11, 12]


def test_the_papers_rule_is_kept_by_name(tmp_path: Path) -> None:
    engine, asked = Scripted(), trials("denies", "both", "refuses")
    how = TrialAsking(reading="last_word")
    frame, facts = ask(
        asked, engine, load_prompt_set("basic"), open_store(tmp_path, engine), how, True
    )
    assert frame["answer"].tolist()[:2] == ["TRUE", "FALSE"]
    assert frame["status"].tolist() == ["ok", "ok", "invalid"]
    assert facts["reading"]["rule"] == "last_word"


@pytest.mark.parametrize("dies_at", [0, 1, 11, 12, 13, 18])
def test_a_run_that_is_killed_at_any_question_asks_no_answered_one_again(
    tmp_path: Path, dies_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve first questions, then seven second ones: killed within either round, between them,
    or just before the end.
    """
    monkeypatch.setenv("WORLDPROBE_SECONDS_PER_SHARD", "0")
    prompts, asked = load_prompt_set("basic"), trials(*SCRIPT)
    whole = Scripted()
    expected, facts = ask(
        asked, whole, prompts, open_store(tmp_path / "whole", whole), TrialAsking(), True
    )
    assert len(whole.asked) == 22
    first = Scripted(dies_at=dies_at)
    with pytest.raises(KeyboardInterrupt):
        ask(asked, first, prompts, open_store(tmp_path / "cut", first), TrialAsking(), True)
    second = Scripted()
    frame, again = ask(
        asked, second, prompts, open_store(tmp_path / "cut", second), TrialAsking(), True
    )
    assert len(first.asked) + len(second.asked) == 22
    assert not set(map(str, first.asked)) & set(map(str, second.asked))
    pd.testing.assert_frame_equal(frame, expected)
    assert again == facts


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set of ours and the five rules' answers to it, by the command."""
    folder = tmp_path_factory.mktemp("rules")
    table, examples = folder / "trials.parquet", folder / "examples.parquet"
    make = "worldsense generate test --sizes 3 --skins tall/short trips people_LeftRight"
    assert run(f"{make} --per-cell 1 --out {table}") == 0
    assert run(f"{make} --per-cell 6 --seed 1 --out {examples}") == 0
    promptings = [
        "basic",
        "basic_exchanged",
        "cot",
        "icl_iid",
        "icl_ood",
        "constrained",
        "constrained_sum",
    ]
    for rule in known_rules():
        names = promptings[: None if rule == "solver" else 1]
        outs = " ".join(f"{folder}/{rule}/{name}.parquet" for name in names)
        how = f"--engine rule --checkpoint {rule} --examples {examples} --out {outs}"
        with few_to_learn_from():
            assert run(f"worldsense ask {table} --prompting {','.join(names)} {how}") == 0
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
@pytest.mark.long
def test_the_solver_is_right_about_every_trial_under_every_strategy(asked: Path, name: str) -> None:
    answers = read_table(asked / "solver" / f"{name}.parquet", Responses)
    rows = answers.merge(pd.read_parquet(asked / "trials.parquet"), on="trial_id")
    assert (rows["answer"] == rows["gold"].map(ANSWER_OF)).all()


def test_a_rule_means_the_same_where_options_stand_in_each_others_place() -> None:
    rows = make_trials("test", sizes=[3], per_cell=1, skins=("trips",))
    engine = reference_solvers.open_engine("query")
    engine.know(rows)
    basic, exchanged = (load_prompt_set(name) for name in ("basic", "basic_exchanged"))
    for text in rows.loc[rows["problem"].str.startswith("Compl"), "text"]:
        said = engine._answer(exchanged.body(text, "Compl"))
        assert exchanged.meant("Compl", said) == engine._answer(basic.body(text, "Compl"))


@pytest.mark.long
def test_the_other_rules_have_the_accuracy_and_bias_that_they_must_have(asked: Path) -> None:
    assert accuracy_and_bias(asked, "positive/basic") == (0.5, 1.0)
    for rule in ("random", "query"):
        accuracy, bias = accuracy_and_bias(asked, f"{rule}/basic")
        assert abs(accuracy - 0.5) < 0.12, rule
        assert abs(bias) < 0.2, rule
    accuracy, _ = accuracy_and_bias(asked, "mention/basic")
    assert 0.5 < accuracy < 0.95


@pytest.mark.long
def test_a_rule_that_never_chains_two_clauses_is_right_about_most_trials(asked: Path) -> None:
    """Of three entities, counting mentions is enough for nearly all; what single clauses and
    words say is less.
    """
    counting, _ = accuracy_and_bias(asked, "counting/basic")
    together, _ = accuracy_and_bias(asked, "together/basic")
    ngrams, _ = accuracy_and_bias(asked, "ngrams/basic")
    roles, _ = accuracy_and_bias(asked, "roles/basic")
    assert 0.85 < counting < 1
    assert 0.65 < together < counting
    assert 0.45 < ngrams < together < roles


def test_results_are_exported_in_the_official_layout(asked: Path, tmp_path: Path) -> None:
    table, out = asked / "solver" / "basic.parquet", tmp_path / "official"
    assert run(f"worldsense export-results {table} --out {out}") == 0
    (file,) = out.iterdir()
    assert file.name == "basic___solver___results.jsonl.bz2"
    lines = bz2.decompress(file.read_bytes()).decode().splitlines()
    rows = read_table(table, Responses)
    pairs = zip(rows["trial_id"], rows["answer"], strict=True)
    assert [json.loads(line) for line in lines] == [
        {"Key": key, "resp": answer} for key, answer in pairs
    ]


def test_each_set_can_be_asked_by_strategies_of_its_own(
    asked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test, other = asked / "trials.parquet", tmp_path / "other.parquet"
    assert run(f"worldsense generate ood-problem --per-cell 1 --sample 20 --out {other}") == 0
    outs = [tmp_path / f"{name}.parquet" for name in ("test_basic", "test_ood", "other_basic")]
    how = f"--engine rule --checkpoint random --examples {asked / 'examples.parquet'} --out"
    line = f"worldsense ask {test} {other} --prompting basic,icl_ood basic {how}"
    assert run(f"{line} {' '.join(map(str, outs))}") == 0
    kept = [read_table(path, Responses)["prompting"].unique().tolist() for path in outs]
    assert kept == [["basic"], ["icl_ood"], ["basic"]]
    assert len(read_table(outs[2], Responses)) == len(pd.read_parquet(other))
    assert run(f"{line} {outs[0]}") == 2
    assert "need 3 --out files; 1 were given" in capsys.readouterr().err


def test_few_replies_in_words_beside_compared_answers_to_all_trials(
    asked: Path, tmp_path: Path
) -> None:
    """Whole tuples of each problem, the same for every model; the table says that it is a
    sample.
    """
    trials_path = asked / "trials.parquet"
    for rule in ("random", "solver"):
        outs = [tmp_path / f"{rule}_{name}.parquet" for name in ("constrained", "basic")]
        how = f"--engine rule --checkpoint {rule} --replies 12 --out {outs[0]} {outs[1]}"
        assert run(f"worldsense ask {trials_path} --prompting constrained,basic {how}") == 0
    whole = read_trials(trials_path)
    compared, replies, others = (
        read_table(tmp_path / f"{name}.parquet", Responses)
        for name in ("random_constrained", "random_basic", "solver_basic")
    )
    assert len(compared) == len(whole) > 2 * len(replies)
    assert replies["trial_id"].tolist() == others["trial_id"].tolist()
    chosen = whole[whole["trial_id"].isin(replies["trial_id"])]
    assert len(chosen) == len(whole[whole["tuple_id"].isin(chosen["tuple_id"])])
    assert set(chosen["problem"]) == set(whole["problem"])
    made = read_provenance(tmp_path / "random_basic.parquet").details
    assert made["sample"] == {"of": len(whole)}
    assert "sample" not in read_provenance(tmp_path / "random_constrained.parquet").details
    few, out = tmp_path / "few.jsonl", tmp_path / "few.parquet"
    write_official([sample_tuples(whole, 1)], few)  # one tuple of each problem: no sample of them
    how = "--prompting basic --engine rule --checkpoint random --replies 1"
    assert run(f"worldsense ask {few} {how} --out {out}") == 0
    assert "sample" not in read_provenance(out).details
