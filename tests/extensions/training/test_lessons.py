"""Lessons as tokens, their order, and the rows of a batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from worldprobe.models.chat import Encoder
from worldprobe.models.engine import Loglikelihood, Message
from worldprobe_training.lessons import (
    IGNORED,
    Collator,
    Lesson,
    encode_lessons,
    lesson_order,
    pack,
)
from worldprobe_training.tokenizer import END_OF_TEXT, train_tokenizer

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>\n{% endfor %}{% if"
    " add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    """A byte-level tokenizer with a chat template."""
    made = train_tokenizer(["The lamp is left of the rug. Answer: TRUE"] * 20, 300)
    found = PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=END_OF_TEXT, eos_token=END_OF_TEXT
    )
    found.chat_template = TEMPLATE
    return found


@pytest.fixture(scope="module")
def encoder(tokenizer):
    """As the engines encode."""
    return Encoder(tokenizer, "gpt2", max_length=64)


def test_plain_text_is_tokenised_as_when_it_is_scored_and_ends_with_the_end_token(
    encoder, tokenizer
) -> None:
    material = encode_lessons([Lesson("The lamp is left. Answer:", "TRUE", "one")], encoder)
    scored = encoder.encode([Loglikelihood("The lamp is left. Answer:", "TRUE")])[0]
    ids, counts = material.lesson(0)
    assert tuple(ids) == (*scored.ids, tokenizer.eos_token_id)
    assert counts.tolist() == [place >= scored.start for place in range(len(ids))]
    assert tokenizer.decode(ids[counts]) == f" TRUE{END_OF_TEXT}"


def test_with_the_loss_on_all_every_token_counts(encoder) -> None:
    assert encode_lessons(
        [Lesson("The lamp is left. Answer:", "TRUE", "one")], encoder, is_all=True
    ).counts.all()


def test_every_answer_of_a_text_of_pieces_counts_with_the_space_before_it(
    encoder, tokenizer
) -> None:
    pieces = (
        ("The lamp is left:", False),
        ("TRUE", True),
        ("The rug is left:", False),
        ("no", True),
    )
    ids, counts = encode_lessons([Lesson("", "", "one", pieces)], encoder).lesson(0)
    assert tokenizer.decode(ids) == f" The lamp is left: TRUE The rug is left: no{END_OF_TEXT}"
    assert tokenizer.decode(ids[counts]) == f" TRUE no{END_OF_TEXT}"


def test_a_conversation_is_tokenised_as_when_it_is_asked_and_ends_as_the_template_ends_a_turn(
    encoder, tokenizer
) -> None:
    prompt = (Message("user", "Is the lamp left?"),)
    ids, counts = encode_lessons([Lesson(prompt, "TRUE", "one")], encoder).lesson(0)
    assert tuple(ids[~counts]) == encoder.encode_prompts([prompt], 8)[0][0]
    assert tokenizer.decode(ids[counts]).strip() == "TRUE</s>"


def test_a_template_that_writes_finished_turns_otherwise_gets_answer_and_end_token(
    encoder, tokenizer
) -> None:
    before = tokenizer.chat_template
    tokenizer.chat_template = (
        "{{ messages[0].content }}{% if add_generation_prompt %}<think>{% endif %}"
    )
    try:
        ids, counts = encode_lessons(
            [Lesson((Message("user", "Left?"),), "TRUE", "one")], encoder
        ).lesson(0)
    finally:
        tokenizer.chat_template = before
    assert tokenizer.decode(ids[counts]).strip() == f"TRUE{END_OF_TEXT}"


@given(
    n=st.integers(1, 30),
    mixed=st.integers(1, 9),
    batch=st.integers(1, 12),
    steps=st.integers(1, 9),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9]),
)
def test_every_pass_sees_each_lesson_once_and_the_share_is_exact(
    n, mixed, batch, steps, share
) -> None:
    order = lesson_order(n, mixed, batch, steps, share, seed=3)
    assert len(order) == steps * batch
    own, others = order[order < n], order[order >= n]
    assert len(others) == int(np.floor(steps * batch * share + 1e-9))
    for seen, number in ((own, n), (others - n, mixed)):
        for start in range(0, len(seen), number):
            part = seen[start : start + number]
            assert len(set(part)) == len(part)
    assert np.array_equal(order, lesson_order(n, mixed, batch, steps, share, seed=3))


def test_lessons_of_like_length_share_a_step_and_none_is_lost() -> None:
    lengths = np.arange(64)[::-1] * 2
    plain, grouped = (
        lesson_order(64, 0, 8, 8, seed=1),
        lesson_order(64, 0, 8, 8, seed=1, lengths=lengths),
    )
    assert sorted(grouped) == sorted(plain)
    assert all(np.ptp(lengths[step]) == 14 for step in grouped.reshape(8, 8))


def test_the_order_of_a_file_is_kept_where_it_is_a_curriculum() -> None:
    assert lesson_order(4, 0, 2, 3, is_shuffled=False).tolist() == [0, 1, 2, 3, 0, 1]


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_rows_contain_each_lesson_once_and_none_is_longer_than_the_longest(lengths) -> None:
    rows = pack(lengths, max(lengths))
    assert sorted(number for row in rows for number in row) == list(range(len(lengths)))
    assert all(sum(lengths[number] for number in row) <= max(lengths) for row in rows)


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12), is_packed=st.booleans())
def test_batches_have_all_labels_but_those_of_first_tokens_and_padding(lengths, is_packed) -> None:
    lessons = [{"ids": np.arange(100, 100 + n), "labels": np.arange(100, 100 + n)} for n in lengths]
    batch = Collator(7, is_packed)(lessons)
    assert int((batch["labels"] != IGNORED).sum()) == sum(lengths) - len(lengths)
    assert int((batch["input_ids"] != 7).sum()) == sum(lengths)
    if is_packed:  # a lesson begins where the position is 0, and padding is lessons of one token
        begins = (batch["position_ids"] == 0) & (batch["input_ids"] != 7)
        assert int(begins.sum()) == len(lengths)
