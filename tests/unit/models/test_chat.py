"""Chat templates: the same text on every day, and a message where a template fails."""

import pytest

pytest.importorskip("transformers")

from worldprobe.errors import UserError
from worldprobe.models.chat import render, turn_ends

ASK = [{"role": "user", "content": "Is it?"}]


@pytest.fixture
def tokenizer(tiny_checkpoint):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_checkpoint())


@pytest.mark.parametrize(
    "day",
    [
        "{{ strftime_now('%d %b %Y') }}",
        (
            "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{%"
            " endif %}{{ date_string }}"
        ),
    ],
)
def test_a_template_that_writes_todays_date_writes_the_same_date_every_day(tokenizer, day):
    tokenizer.chat_template = "Today is " + day + ". {{ messages[0]['content'] }}"
    assert render(tokenizer, ASK) == "Today is 26 Jul 2024. Is it?"


def test_without_a_template_a_conversation_is_refused(tokenizer):
    tokenizer.chat_template = None
    with pytest.raises(UserError, match="no chat template"):
        render(tokenizer, ASK)


@pytest.mark.parametrize(
    "template",
    [
        (
            "{% for m in messages %}{% for part in m['content'] %}{{ part['text'] }}{% endfor %}{%"
            " endfor %}Answer:"
        ),
        "{{ messages[-1]['content'] }}",
        "Answer:",
    ],
)
def test_a_template_that_leaves_a_message_out_is_refused(tokenizer, template):
    tokenizer.chat_template = template
    with pytest.raises(UserError, match=r"does not write the text of the (system|user)'s message"):
        render(tokenizer, [{"role": "system", "content": "Be brief."}, *ASK])


def test_a_template_may_trim_a_message(tokenizer):
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] | trim }}{% endfor %}"
    assert render(tokenizer, [{"role": "user", "content": " Is it?\n"}]) == "Is it?"


BODY = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
#: What a template writes behind a message -> the token that ends the assistant's.
ENDS = {
    BODY + "<|im_end|>\n{% endfor %}": "<|im_end|>",
    BODY + " <|im_end|><|endoftext|>{% endfor %}": "<|im_end|>",
    BODY + "{% if not loop.last %}<|im_end|>{% endif %}\n{% endfor %}": "<|im_end|>",
    "{% for m in messages %}{{ '<|im_start|>' if m.role == 'user' }}{{ m.content }}\n{% endfor %}": (
        "<|im_start|>"
    ),
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}": None,
    "{% if messages | length > 1 %}{{ raise_exception('one question') }}{% endif %}{{ messages[0].content }}<|im_end|>": (
        None
    ),
}


@pytest.mark.parametrize("template", ENDS)
@pytest.mark.parametrize("special", [True, False])
def test_a_turn_ends_with_the_token_behind_the_assistants_message(tokenizer, template, special):
    """LlamaFactory #7454, lighteval #867, llama-cookbook #640."""
    from tokenizers import AddedToken

    tokenizer.add_tokens(
        [AddedToken(mark, special=special) for mark in ("<|im_start|>", "<|im_end|>")]
    )
    tokenizer.chat_template = template
    assert turn_ends(tokenizer) == (
        {tokenizer.convert_tokens_to_ids(ENDS[template])} if ENDS[template] else set()
    )
