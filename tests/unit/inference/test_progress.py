"""Time left counts work: after a tenth of it within a quarter of the truth, whatever the kind of
model and of question.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from worldprobe import log
from worldprobe.inference.requests import Choose, Generate, characters_read, run_requests
from worldprobe.inference.store import Store
from worldprobe.models.engine import (
    Completion,
    Decoding,
    EngineFacts,
    Loglikelihood,
    Message,
    Scored,
)
from worldprobe.models.transformers_engine import open_engine

KIND = {"bert": "masked", "t5": "encoder-decoder"}
WORDS = [
    "the",
    "heavy",
    "light",
    "blue",
    "crate",
    "lamp",
    "kettle",
    "rug",
    "near",
    "under",
    "a",
    "tree",
    "door",
    "in",
    "1",
    "of",
    "5",
    "rooms",
]


def sentence(draw: random.Random, most: int) -> str:
    return f"Ana lifts {' '.join(draw.choices(WORDS, k=draw.randint(1, most)))}."


def scores() -> list[Any]:
    """Minimal pairs whose contexts are short and long, and their targets alone."""
    draw = random.Random(0)
    asked: list[Any] = []
    for _ in range(60):
        contexts, targets = (
            [sentence(draw, 40) for _ in range(2)],
            [sentence(draw, 6) for _ in range(2)],
        )
        asked += [
            Loglikelihood(context, target) for context in (*contexts, None) for target in targets
        ]
    return asked


def prompts() -> list[str]:
    """Questions behind one instruction, about texts that are short and long."""
    draw = random.Random(1)
    return [
        f"{'Choose near the door. ' * 4}{sentence(draw, 40)} Is it 1 or 2?\n" for _ in range(150)
    ]


class Clock:
    """A second is a token that a model reads; each look at the clock with its guess is noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tokens = 0
        self.guesses: list[tuple[int, float]] = []
        line = log.Progress.line

        def noted(progress: log.Progress) -> str:
            if (left := progress.seconds_left()) is not None:
                self.guesses.append((self.tokens, left))
            return line(progress)

        monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: float(self.tokens)))
        monkeypatch.setattr(log, "SECONDS_BETWEEN_LINES", 0.0)
        monkeypatch.setattr(log.Progress, "line", noted)

    def count(self, module: Any, arguments: Any, options: dict[str, Any]) -> None:
        self.tokens += (options["input_ids"] if "input_ids" in options else arguments[0]).numel()

    def errors(self) -> list[float]:
        """What was guessed at a tenth, a quarter and a half of the work, relative to what was then
        left.
        """
        found = []
        for share in (0.1, 0.25, 0.5):
            at, left = next((at, left) for at, left in self.guesses if at >= share * self.tokens)
            assert at < (share + 0.1) * self.tokens, "there should be a guess soon after"
            found.append(left / (self.tokens - at) - 1)
        return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def run(clock: Clock, engine: Any, asked: list[Any], folder: Any) -> None:
    run_requests(asked, engine, Store(folder, {}), what="Scoring")
    errors = clock.errors()
    assert max(map(abs, errors)) < 0.25, errors


@pytest.mark.parametrize(
    (
        "architecture",
        "room",
    ),  # tokens per pass: of a text's rows or both targets of a context; once, of fewer rows
    [("gpt2", 300), ("mpt", 300), ("bert", 1000), ("bert", 300), ("t5", 1000)],
)
def test_of_scores_whatever_the_kind_of_model(
    architecture, room, tiny_checkpoint, gap_checkpoint, clock, tmp_path
) -> None:
    make, kind = (
        (gap_checkpoint, KIND[architecture])
        if architecture in KIND
        else (tiny_checkpoint, "causal")
    )
    engine = open_engine(str(make(architecture)), kind=kind)
    engine.budget.tokens = room
    parts = (
        [engine.model.get_encoder(), engine.model.get_decoder()]
        if architecture == "t5"
        else [engine.model.base_model]
    )
    for part in parts:
        part.register_forward_pre_hook(clock.count, with_kwargs=True)
    run(clock, engine, scores(), tmp_path)


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [("gpt2", "choices"), ("mpt", "choices"), ("gpt2", "long answers"), ("gpt2", "short answers")],
)
def test_of_answers_to_prompts(
    architecture, kind, tiny_checkpoint, clock, tmp_path, monkeypatch
) -> None:
    engine = open_engine(str(tiny_checkpoint(architecture)))
    assert engine.can_cache
    monkeypatch.setattr("worldprobe.models.batching.WRITERS", 8)
    engine.budget.tokens = 300
    engine.model.base_model.register_forward_pre_hook(clock.count, with_kwargs=True)
    decoding = Decoding(30) if kind == "long answers" else Decoding(30, ("e", "a", "o"))
    asked = [
        Choose(p, ("1", "2")) if kind == "choices" else Generate(p, decoding) for p in prompts()
    ]
    run(clock, engine, asked, tmp_path)


class Elsewhere:
    """vLLM or a server: reads whole texts, longest last, many at once."""

    def __init__(self, clock: Clock, **notes: Any) -> None:
        self.clock = clock
        self.facts = EngineFacts(
            "m", None, "0", "vllm", "float32", {}, 100, {}, has_chat=True, notes=notes
        )

    def rendered(self, prompt: Any) -> str:
        return prompt if isinstance(prompt, str) else prompt[0].content

    def _answers(self, texts: list[str], skip: Any, answer: Any) -> Any:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for at in range(0, len(order), 3):
            batch = [i for i in order[at : at + 3] if i not in skip]
            self.clock.tokens += sum(len(texts[i].split()) for i in batch)
            yield from ((i, answer) for i in batch)

    def score(self, queries: Any, *, skip: Any = (), per_token: bool = False) -> Any:
        return self._answers(
            [f"{q.context or ''} {q.target}" for q in queries], skip, Scored(-1.0, 1)
        )

    def choose(self, asked: Any, options: Any, *, skip: Any = ()) -> Any:
        return self._answers([self.rendered(one) for one in asked], skip, Completion("1"))


@pytest.mark.parametrize(
    "asked", [scores(), [Choose((Message("user", one),), ("1", "2")) for one in prompts()]]
)
def test_of_engines_that_read_elsewhere(asked, clock, tmp_path) -> None:
    run(clock, Elsewhere(clock, mode="echo of text"), asked, tmp_path)


def test_after_an_interruption_only_what_is_left_counts(clock, tmp_path) -> None:
    engine, asked = Elsewhere(clock), scores()
    run_requests(asked[:200], engine, Store(tmp_path, {}), what="Scoring")
    clock.guesses.clear()
    begun, clock.tokens = clock.tokens, 0
    run(clock, engine, asked, tmp_path)
    assert clock.tokens < begun


def test_what_texts_begin_with_counts_once_where_it_is_read_once() -> None:
    facts = Elsewhere(None, prefix_cache="written answers only").facts  # type: ignore[arg-type]
    asked = [Choose(text, ("1", "2")) for text in ("abc", "abcde", "abd", "abc")]
    assert sorted(characters_read(asked, facts)) == [0, 1, 2, 3]
    assert characters_read([Loglikelihood("ab", "c"), Loglikelihood("ab", "d")], facts) == [4, 4]


def test_no_line_is_written_before_all_that_was_finished_together_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, lines = [0.0], []
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(
        log.Progress,
        "line",
        lambda progress: lines.append((progress.done, progress.seconds_left())) or "",
    )
    progress = log.Progress("Scoring", 100)
    for _ in range(3):
        now[0] += 9.999
        for _ in range(25):
            now[0] += 0.001
            progress.advance()
    assert [done for done, _ in lines] == [25, 50]
    assert [left for _, left in lines] == pytest.approx([20.1, 10.0], abs=0.2)


def test_units_that_an_earlier_run_finished_say_nothing_about_the_time_left(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: now[0]))
    progress = log.Progress("Scoring checkpoints", 150, "checkpoints")
    for _ in range(100):
        now[0] += 0.1
        progress.skip()
    assert progress.seconds_left() is None
    now[0] += 60
    progress.advance()
    assert progress.seconds_left() == pytest.approx(49 * 60)


def test_time_left_follows_a_machine_that_becomes_four_times_as_slow(monkeypatch):
    """A busy machine made the time left wrong by a factor of four for half an hour: what had been
    fast counted for ever.
    """
    now = [0.0]
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: now[0]))
    progress = log.Progress("Scoring", 1000)
    for done in range(1, 701):
        now[0] += 1.0 if done <= 300 else 4.0
        progress.advance()
    assert progress.seconds_left() == pytest.approx(300 * 4, rel=0.05)
