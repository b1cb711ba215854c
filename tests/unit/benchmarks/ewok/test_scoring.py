"""Likert and Choice: the paper's very prompts, answers read right, one constrained pass equal
to decoding step by step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Responses
from worldprobe.benchmarks.ewok.scoring import ask, load_prompts, presentations
from worldprobe.benchmarks.ewok.vocabulary import way_of
from worldprobe.contracts import validate
from worldprobe.inference.dialogue import first_numeral
from worldprobe.inference.store import open_store
from worldprobe.log import LOGGER
from worldprobe.models.engine import Completion, Decoding, EngineFacts
from worldprobe.report.origins import FLAGS

CHOICE_HEAD = (
    "# INSTRUCTIONS\n\nIn this study, you will see multiple examples. In each example, you will be"
    " given two contexts and a scenario. Your task is to read the two contexts and the subsequent"
    " scenario, and pick the context that makes more sense considering the scenario that follows."
    ' The contexts will be numbered "1" or "2". You must answer using "1" or "2" in your response.'
)
LIKERT_HEAD = (
    "# INSTRUCTIONS\n\nIn this study, you will see multiple examples. In each example, you will be"
    " given a scenario. Your task will be to read the scenario and answer how much it makes sense."
    ' Your response must be on a scale from 1 to 5, with 1 meaning "makes no sense", and 5 meaning'
    ' "makes perfect sense".'
)


def choice_block(heading, one, two, target):
    return (
        f'{heading}\n\n## Contexts\n1. "{one}"\n2. "{two}"\n\n## Scenario\n"{target}"\n\n##'
        ' Task\nWhich context makes more sense given the scenario? Please answer using either "1"'
        ' or "2".\n\n## Response\n'
    )


def likert_block(heading, scenario):
    return (
        f'{heading}\n\n## Scenario\n"{scenario}"\n\n## Task\nHow much does this scenario make'
        ' sense? Please answer using a number from 1 to 5, with 1 meaning "makes no sense", and 5'
        ' meaning "makes perfect sense".\n\n## Response\n'
    )


ITEMS = pd.DataFrame(
    {
        "item_id": ["test-things_1_1_v0", "test-things_2_1_v0"],
        "context1": ["The jar is {full}.", "The jar is full."],
        "context2": ["The jar is bare.", "The jar is bare."],
        "target1": ["Ana eats jam.", "Ben eats jam."],
        "target2": ["Ana buys jam.", "Ben buys jam."],
    }
)


def test_the_prompts_are_the_papers_to_the_last_newline():
    prompts = load_prompts()
    item = {"context1": "A {x}.", "context2": "B.", "target": "C."}
    zero = CHOICE_HEAD + "\n\n\n" + choice_block("# TEST EXAMPLE", "A {x}.", "B.", "C.")
    assert prompts["choice"].text(item, "zero") == zero
    bag, boy = "The bag is full of", "The boy"
    two = "\n\n\n".join(
        [
            CHOICE_HEAD,
            choice_block(
                "# TRIAL EXAMPLE", f"{bag} blocks.", f"{bag} balls.", "I drew a ball from the bag."
            )
            + "2",
            choice_block(
                "# TRIAL EXAMPLE",
                f"{boy} likes cookies.",
                f"{boy} does not like cookies.",
                f"{boy} chose to eat a cookie.",
            )
            + "1",
            choice_block("# TEST EXAMPLE", "A {x}.", "B.", "C."),
        ]
    )
    assert prompts["choice"].text(item, "two") == two
    scenario = {"context": "A {x}.", "target": "C."}
    assert prompts["likert"].text(scenario, "zero") == LIKERT_HEAD + "\n\n\n" + likert_block(
        "# TEST EXAMPLE", "A {x}. C."
    )
    assert prompts["likert"].text(scenario, "two") == "\n\n\n".join(
        [
            LIKERT_HEAD,
            likert_block("# TRIAL EXAMPLE", f"{bag} balls. I drew a ball from the bag.") + "5",
            likert_block(
                "# TRIAL EXAMPLE", f"{boy} does not like cookies. {boy} chose to eat a cookie."
            )
            + "1",
            likert_block("# TEST EXAMPLE", "A {x}. C."),
        ]
    )


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("4", 4, "ok"),
        ("I would say 4 of 5.", 4, "ok"),
        ("**2**", 2, "ok"),
        ("Response: 3.\n5", 3, "ok"),
        ("10, or rather 5", 5, "ok"),
        ("4.0", 4, "ok"),
        ("I would give it 4.00.", 4, "ok"),
        ("5,000", None, "out_of_range"),
        ("\N{MINUS SIGN}1", None, "out_of_range"),
        ("2.5", None, "out_of_range"),
        ("-1", None, "out_of_range"),
        ("7", None, "out_of_range"),
        ("perfect sense", None, "no_numeral"),
        ("", None, "no_numeral"),
    ],
)
def test_a_free_answer_is_its_first_valid_numeral(text, value, status):
    reading = first_numeral(("1", "2", "3", "4", "5"))(text)
    assert (None if reading.value is None else float(reading.value), reading.status) == (
        value,
        status,
    )


class Echo:
    """An engine that answers by rule: 1 for every prompt about Ana, words for Ben; notes how
    often it is asked.
    """

    facts = EngineFacts("echo", None, "0", "echo", "float32", {}, 100, {})

    def __init__(self):
        self.asked = 0

    def generate(self, prompts, decoding, *, skip=()) -> Iterator[tuple[int, Completion]]:
        assert decoding == Decoding(20, ("\n\n",))
        for i, prompt in enumerate(prompts):
            if i not in skip:
                self.asked += 1
                yield i, Completion("1, clearly" if "Ana" in prompt else "hard to say")

    def rendered(self, prompt, chooses=False):
        return prompt if isinstance(prompt, str) else f"<{prompt[0].content}>"

    def choose(self, prompts, options, *, skip=()) -> Iterator[tuple[int, Completion]]:
        for i, prompt in enumerate(prompts):
            if i not in skip:
                self.asked += 1
                yield (
                    i,
                    Completion(options[i][0] if "Ana" in prompt else options[i][-1], margin=0.0),
                )


@pytest.mark.parametrize(
    ("eval_type", "rows"), [("likert_free_zero", 8), ("choice_constrained_two", 4)]
)
def test_responses_hold_the_contract_and_a_second_run_asks_nothing(tmp_path, eval_type, rows):
    engine = Echo()
    way = way_of(eval_type)
    prompt = load_prompts()[way.paradigm]
    frame, counts = ask(ITEMS, engine, way, prompt, open_store(tmp_path, engine))
    frame = validate(frame, Responses)
    assert len(frame) == rows
    by_item = frame.groupby("item_id").value.agg(list)
    assert set(by_item["test-things_1_1_v0"]) == {1.0}
    if "free" in eval_type:
        assert frame.status.tolist() == ["ok"] * 4 + ["no_numeral"] * 4
        assert counts["status"] == {"no_numeral": 4, "ok": 4}
    else:
        assert set(by_item["test-things_2_1_v0"]) == {2.0}
        assert counts["near_ties"]["prompts"] == rows
    asked = engine.asked
    again, _ = ask(ITEMS, engine, way, prompt, open_store(tmp_path, engine))
    assert engine.asked == asked
    pd.testing.assert_frame_equal(validate(again, Responses), frame)


def test_what_a_server_withholds_is_no_answer_and_is_counted_and_told(tmp_path, monkeypatch):
    """litellm #8953, inspect_ai #5376."""
    told = []
    monkeypatch.setattr(LOGGER, "warning", lambda *words: told.append(words[-1]))
    engine, way = Echo(), way_of("choice_constrained_zero")
    finishes = ["content_filter", "refusal"] * 2
    engine.choose = lambda *_, skip: enumerate(Completion("1", one) for one in finishes)
    frame, _ = ask(ITEMS, engine, way, load_prompts()["choice"], open_store(tmp_path, engine))
    assert validate(frame, Responses).value.isna().all()
    assert told == [{"content_filter": 2, "refused": 2}]
    assert told[0].keys() <= FLAGS.keys()


class Thinks(Echo):
    """A chat model that thinks of another number than it says, or does not come to an end with
    it.
    """

    facts = EngineFacts("thinks", None, "0", "thinks", "float32", {}, 100, {}, has_chat=True)

    def generate(self, prompts, decoding, *, skip=()) -> Iterator[tuple[int, Completion]]:
        assert decoding == Decoding(20, (), thoughts=500), (
            "a message ends by itself: a blank line may end the thoughts only"
        )
        for i, prompt in enumerate(prompts):
            if i not in skip:
                says = "4.0" if "Ana" in prompt[0].content else ""
                yield (
                    i,
                    Completion(
                        says,
                        "end" if says else "length",
                        len(says),
                        thoughts="1 to 5",
                        n_thought_tokens=4,
                    ),
                )


def test_thoughts_are_never_read_and_those_without_an_end_are_counted(tmp_path):
    engine = Thinks()
    way, prompt = way_of("likert_free_zero"), load_prompts()["likert"]
    frame, counts = ask(
        ITEMS, engine, way, prompt, open_store(tmp_path, engine), chat=True, thoughts=500
    )
    assert frame.value.dropna().unique().tolist() == [4.0]
    assert counts["status"] == {"no_numeral": 4, "ok": 4}
    assert counts["thoughts"] == {"limit": 500, "tokens": 32, "unfinished": 4}


def test_a_digest_names_the_prompt_and_other_prompts_never_meet_old_answers(tmp_path):
    prompt = load_prompts()["likert"]
    engine = Echo()
    frame, _ = ask(ITEMS, engine, way_of("likert_free_zero"), prompt, open_store(tmp_path, engine))
    slots = {"context": ITEMS.context1[0], "target": ITEMS.target2[0]}
    row = frame[(frame.item_id == ITEMS.item_id[0]) & (frame.presentation == "t2c1")]
    assert (
        row.prompt_digest.item() == hashlib.sha256(prompt.text(slots, "zero").encode()).hexdigest()
    )
    asked = engine.asked
    ask(ITEMS, engine, way_of("likert_free_two"), prompt, open_store(tmp_path, engine))
    assert engine.asked == 2 * asked


def test_swapped_choice_shows_the_contexts_the_other_way_round():
    rows = {(item, name): slots for item, name, slots in presentations(ITEMS, "choice", swap=True)}
    assert [name for _, name in rows][:4] == ["t1", "t1s", "t2", "t2s"]
    plain, swapped = rows["test-things_2_1_v0", "t2"], rows["test-things_2_1_v0", "t2s"]
    assert (plain["context1"], plain["context2"]) == (swapped["context2"], swapped["context1"])
    assert plain["target"] == swapped["target"] == "Ben buys jam."


torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from worldprobe.models.transformers_engine import open_engine  # noqa: E402

PREAMBLE = (
    "Ana paints the heavy lamp near the door. Ben hides the rug under a tree. Cora drops the kettle"
    " in 1 of 5 rooms."
)
ENDS = (
    "Ana lifts",
    "a tree",
    "the rug in 3 of 5 rooms",
    "Dov drops the kettle",
    "near the blue door",
    "is it 4",
    "under",
    "Ben",
)
PROMPTS = [f"{PREAMBLE} {end}\n" for end in ENDS]


def step_by_step(folder, prompt, options):
    """Constrained greedy decoding, spelled out: at each step the likeliest of all tokens whose
    text stays within the options.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids, written = tokenizer(prompt)["input_ids"], ""
    before = tokenizer.decode(ids, skip_special_tokens=True)
    while written not in options:
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1]
        for token in logits.argsort(descending=True).tolist():
            text = tokenizer.decode([*ids, token], skip_special_tokens=True)[len(before) :]
            if len(text) > len(written) and any(option.startswith(text) for option in options):
                ids, written = [*ids, token], text
                break
    return written


@pytest.mark.parametrize("options", [("1", "2", "3", "4", "5"), ("13", "15", "21", "235")])
@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("gpt2", "byte_level"),
        ("llama", "sentencepiece"),
        ("mpt", "sentencepiece"),
        ("mistral", "byte_level"),
    ],
)
@pytest.mark.long
def test_constrained_answers_equal_constrained_decoding_step_by_step(
    tiny_checkpoint, architecture, kind, options
):
    folder = tiny_checkpoint(architecture, kind)
    engine = open_engine(str(folder))
    assert engine.can_cache is not None  # checked now, by passes of its own
    passes = []
    for name in ("next_in_rows", "next_padded"):
        way = getattr(engine.passes, name)
        setattr(
            engine.passes,
            name,
            lambda batch, *rest, way=way: passes.append(len(batch)) or way(batch, *rest),
        )
    found = dict(engine.choose(PROMPTS, [options] * len(PROMPTS)))
    assert [found[i].text for i in range(len(PROMPTS))] == [
        step_by_step(folder, prompt, options) for prompt in PROMPTS
    ]
    assert len({w.text for w in found.values()}) > 1, (
        "answers that are all alike would test nothing"
    )
    if len(options) == 5:
        assert len(passes) == 1, "single numerals take one forward pass"
