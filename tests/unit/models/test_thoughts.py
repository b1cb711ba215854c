"""Thoughts are kept apart from replies, whoever wrote them and however, and are counted and
limited on their own.
"""

import pytest

from worldprobe.inference.dialogue import first_numeral, last_word
from worldprobe.inference.requests import Generate, question_id, run_requests
from worldprobe.inference.store import open_store
from worldprobe.models.engine import Completion, Decoding, EngineFacts
from worldprobe.models.reasoning import part_thoughts, split_thoughts
from worldprobe.models.server.capabilities import read_completion

PLAIN = Decoding(20)


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("text", "prompt", "thoughts", "reply"),
    [
        ("TRUE", "", "", "TRUE"),
        ("<think>It is FALSE, no.</think>TRUE", "", "It is FALSE, no.", "TRUE"),
        ("\n<think>\nFALSE\n</think>\n\nTRUE", "", "FALSE", "TRUE"),
        ("FALSE, or\n</think>\nTRUE", "user: so?\n<think>\n", "FALSE, or", "TRUE"),
        ("FALSE, or\n</think>\nTRUE", "", "FALSE, or", "TRUE"),
        ("<think>and so on TRUE", "", "and so on TRUE", ""),
        ("and so on TRUE", "user: so?\n<think>\n", "and so on TRUE", ""),
        ("<think>a</think>maybe <think>b</think>TRUE", "", "a</think>maybe <think>b", "TRUE"),
        ("Let me see. <think>1 or 2</think> 5", "", "1 or 2", "Let me see. 5"),
        ("The tag <think> marks reasoning: TRUE", "", "", "The tag <think> marks reasoning: TRUE"),
        (
            "<think>a</think>The tag <think> is no word: TRUE",
            "",
            "a",
            "The tag <think> is no word: TRUE",
        ),
        ("<think></think>TRUE", "", "", "TRUE"),
        ("I think TRUE", "", "", "I think TRUE"),
        ("TRUE\n<think>or FALSE", "", "or FALSE", "TRUE"),
        ("<think>a</think>TRUE\n\n <think>or FALSE", "", "a\n\nor FALSE", "TRUE"),
        ("[THINK]on a scale from 1 to 5[/THINK]5", "", "on a scale from 1 to 5", "5"),
        ("[THINK]on a scale from 1 to 5", "", "on a scale from 1 to 5", ""),
        (
            "\N{WHITE LEFT-POINTING TRIANGLE}think\N{WHITE RIGHT-POINTING TRIANGLE}2, or 3",
            "",
            "2, or 3",
            "",
        ),
        (
            (
                "<|channel|>analysis<|message|>1 or"
                " 2.<|end|><|start|>assistant<|channel|>final<|message|>5<|return|>"
            ),
            "",
            "1 or 2.",
            "5",
        ),
        (
            "<|channel|>analysis<|message|>1 or 2.assistant<|channel|>final<|message|>5",
            "",
            "1 or 2.",
            "5",
        ),
        ("<|channel|>analysis<|message|>1 or 2.<|end|>5", "", "1 or 2.", "5"),
        (
            "<|channel|>analysis<|message|>1 or 2.<|end|><|start|>assistant",
            "",
            "1 or 2.<|end|><|start|>assistant",
            "",
        ),
        (
            "1 or 2.<|end|><|start|>assistant<|channel|>final json<|message|>5",
            "<|channel|>analysis<|message|>",
            "1 or 2.",
            "5",
        ),
        ("<|channel|>final<|message|>5", "", "", "5"),
        ("<|channel|>analysis<|message|>1 or 2", "", "1 or 2", ""),
        (
            "analysisWe need to rate 1 to 5. It makes sense.assistantfinal5",
            "",
            "We need to rate 1 to 5. It makes sense.",
            "5",
        ),
        (
            "analysisIt is 1.assistantcommentaryOr 2.assistantfinalTRUE",
            "",
            "It is 1.assistantcommentaryOr 2.",
            "TRUE",
        ),
        ("analysisWe need to rate 1 to 5", "", "We need to rate 1 to 5", ""),
        ("finalTRUE", "", "", "TRUE"),
        ("finally TRUE", "", "", "finally TRUE"),
        ("analysis: TRUE", "", "", "analysis: TRUE"),
        ("TRUE<|end|>", "", "", "TRUE<|end|>"),
        ("analysis We rate 1 to 5.\nassistantfinal5", "", "We rate 1 to 5.", "5"),
        ("<reasoning>1 or 2</reasoning>5", "", "1 or 2", "5"),
        (
            'Tags such as `<think>` or "</think>" are no words: TRUE',
            "",
            "",
            'Tags such as `<think>` or "</think>" are no words: TRUE',
        ),
        ("so?TRUE", "<think>\n\n</think>\n\n", "", "so?TRUE"),
    ],
)
def test_thoughts_are_never_part_of_the_reply(
    text: str, prompt: str, thoughts: str, reply: str
) -> None:
    assert split_thoughts(text, prompt) == (thoughts, reply)


def test_an_answer_within_thoughts_is_not_read_by_any_benchmark() -> None:
    written = part_thoughts(Completion("<think>It is 2, or TRUE", "length", 8), "", PLAIN, words)
    assert written == Completion("", "length", 0, thoughts="It is 2, or TRUE", n_thought_tokens=8)
    assert first_numeral("12")(written.text).value is None
    assert last_word(("TRUE", "FALSE"))(written.text).value is None


@pytest.mark.parametrize(
    ("text", "tokens", "finish"),
    [
        ("<think>a b</think>TRUE", 6, "end"),
        ("<think>a b</think>It is TRUE now", 8, "length"),
        ("<think>a b c d e f</think>TRUE", 12, "length"),
    ],
)
def test_thoughts_have_a_budget_of_their_own_and_so_has_the_reply(
    text: str, tokens: int, finish: str
) -> None:
    decoding = Decoding(3, thoughts=5)
    assert decoding.most_tokens == 8
    assert part_thoughts(Completion(text, "end", tokens), "", decoding, words).finish == finish
    assert (
        part_thoughts(Completion("one two three four", "end", 4), "", decoding, words).finish
        == "length"
    ), "it thought nothing"


@pytest.mark.parametrize(
    "text", ["<think>\nOkay.\n\nThe bag holds balls.\n</think>\n\n4\n\nBecause", "4\n\nBecause"]
)
@pytest.mark.parametrize("thoughts", [0, 500])
def test_a_stop_ends_the_reply_and_neither_thoughts_nor_what_comes_right_behind_them(
    text: str, thoughts: int
) -> None:
    decoding = Decoding(20, ("\n\n",), thoughts=thoughts)
    written = part_thoughts(Completion(text, "end", len(text.split())), "", decoding, words)
    assert (written.text, written.finish) == ("4", "stop")
    assert decoding.ends_early == ([] if thoughts else ["\n\n"]), "who writes must not end thoughts"
    answer = {
        "choices": [{"message": {"content": "\n\n4\n\nBecause", "reasoning": "Hm"}}],
        "usage": {"completion_tokens": 5},
    }
    assert read_completion(answer, decoding, False, words).text == "4"


def chat(message: dict, usage: dict) -> dict:
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_servers_own_field_of_thoughts_is_kept_apart(field: str) -> None:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 12,
        "completion_tokens_details": {"reasoning_tokens": 10},
    }
    written = read_completion(
        chat({"content": "TRUE.", field: "FALSE, no."}, usage), PLAIN, False, None
    )
    assert (written.text, written.thoughts, written.n_tokens, written.n_thought_tokens) == (
        "TRUE.",
        "FALSE, no.",
        2,
        10,
    )
    assert written.n_prompt_tokens == 7


class Thinker:
    facts = EngineFacts("thinker", None, "0", "thinker", "float32", {}, 100, {}, has_chat=True)

    def rendered(self, prompt, chooses=False):
        return str(prompt)

    def generate(self, prompts, decoding, *, skip=()):
        for i in range(len(prompts)):
            if i not in skip:
                yield (
                    i,
                    Completion(
                        "TRUE", "end", 1, thoughts="so", n_thought_tokens=3, n_prompt_tokens=5
                    ),
                )


def test_thoughts_are_kept_in_the_store_and_old_answers_without_them_are_still_read(
    tmp_path,
) -> None:
    engine = Thinker()
    question = Generate("p", PLAIN)
    first = run_requests([question], engine, open_store(tmp_path, engine)).values[0]
    again = run_requests([question], engine, open_store(tmp_path, engine)).values[0]
    assert first == again == Completion("TRUE", "end", 1, thoughts="so", n_thought_tokens=3)
    assert (first.n_prompt_tokens, again.n_prompt_tokens) == (5, 5)
    older = open_store(tmp_path / "older", engine)
    older.write(
        older.begin([question_id(question, engine)]),
        {question_id(question, engine): ["FALSE", "end", 1, False, None]},
    )
    assert run_requests([question], engine, open_store(tmp_path / "older", engine)).values[
        0
    ] == Completion("FALSE", "end", 1)


def test_a_budget_of_thoughts_changes_a_questions_id_and_none_leaves_it_what_it_was() -> None:
    engine = Thinker()
    assert question_id(Generate("p", PLAIN), engine) != question_id(
        Generate("p", Decoding(20, thoughts=5)), engine
    )
    assert "thoughts" not in PLAIN.described()
