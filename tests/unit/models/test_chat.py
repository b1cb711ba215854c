"""Chat templates: the same text on every day, and a message where a template fails."""

import pytest

pytest.importorskip("transformers")

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.chat import Encoder, render_chat, turn_ends
from worldprobe.models.engine import Message

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
    assert render_chat(tokenizer, ASK) == "Today is 26 Jul 2024. Is it?"


def test_without_a_template_a_conversation_is_refused(tokenizer):
    tokenizer.chat_template = None
    with pytest.raises(UserError, match="no chat template"):
        render_chat(tokenizer, ASK)


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
        render_chat(tokenizer, [{"role": "system", "content": "Be brief."}, *ASK])


def test_a_template_may_trim_a_message(tokenizer):
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] | trim }}{% endfor %}"
    assert render_chat(tokenizer, [{"role": "user", "content": " Is it?\n"}]) == "Is it?"


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


def turns(opens: str, reply: str = "{{ m.content }}") -> str:
    """A template: what opens the model's turn, and how a reply is written."""
    said = "{% if m.role == 'assistant' %}" + reply + "{% else %}{{ m.content }}{% endif %}"
    return (
        "{% for m in messages %}[{{ m.role }}]" + said + "{% endfor %}"
        "{% if add_generation_prompt %}[assistant]" + opens + "{% endif %}"
    )


HISTORY = "<think>\n{{ m.reasoning_content or '' }}\n</think>\n\n{{ m.content }}"
#: Template -> what it opens, and where options are chosen; None: it does not say how thoughts end.
THINKING = {
    "none": (turns(""), "", ""),
    "Qwen 3, hybrid": (
        turns("{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"),
        "",
        "<think>\n\n</think>\n\n",
    ),
    "switches": (turns("{% if enable_thinking is not false %}<think>{% endif %}"), "<think>", ""),
    "DeepSeek 3.1": (
        turns("{% if thinking is defined and thinking %}<think>{% else %}</think>{% endif %}"),
        "</think>",
        "</think>",
    ),
    "Qwen 3, thinking": (turns("<think>\n", HISTORY), "<think>\n", "<think>\n\n</think>\n\n"),
    "DeepSeek R1": (
        turns("<think>\n", "{{ m.content.split('</think>')[-1] }}"),
        "<think>\n",
        "<think>\n\n</think>\n\n",
    ),
    "gpt-oss": (
        turns("", "<|channel|>final<|message|>{{ m.content }}"),
        "",
        "<|channel|>final<|message|>",
    ),
    "Magistral": (turns("[THINK]", "[THINK][/THINK]{{ m.content }}"), "[THINK]", "[THINK][/THINK]"),
    "another mark": (turns("<think>\n"), "<think>\n", None),
}


@pytest.mark.parametrize("family", THINKING)
def test_options_are_chosen_behind_thoughts_and_never_as_their_first_word(tokenizer, family):
    """lm-eval #3675, #3405; EuroEval #752; omlx #358."""
    tokenizer.chat_template, opened, closed = THINKING[family]
    encoder = Encoder(tokenizer)
    prompt = (Message("user", "Is it?"),)
    asked = "[user]Is it?[assistant]"
    assert encoder.rendered(prompt) == asked + opened
    if closed is None:
        with pytest.raises(UserError, match="opens thoughts and does not say how they end"):
            encoder.rendered(prompt, chooses=True)
        tokenizer.add_tokens(["</think>"])
        closed = "<think>\n\n</think>\n\n"
    assert encoder.rendered(prompt, chooses=True) == asked + closed


def test_what_a_card_states_reaches_the_template(tokenizer):
    """lm-eval #3118, #2941; evalscope #554."""
    tokenizer.chat_template = THINKING["Qwen 3, hybrid"][0] + "{{ thinking_budget + 1 }}"
    tokenizer.chat_template_kwargs = {"enable_thinking": False, "thinking_budget": 7}
    found = Encoder(tokenizer).rendered((Message("user", "Is it?"),))
    assert found == "[user]Is it?[assistant]<think>\n\n</think>\n\n8"


@pytest.mark.parametrize(
    ("template", "is_told"),
    [
        ("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", True),
        (turns(""), False),
        (
            "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
            "{% else %}{{ m.content }}</s>{% endif %}{% endfor %}",
            False,
        ),
    ],
)
def test_a_template_that_ignores_that_the_models_turn_is_to_be_opened_is_told_once(
    tokenizer, monkeypatch, template, is_told
):
    told = []
    monkeypatch.setattr(LOGGER, "warning", lambda _, name: told.append(name))
    tokenizer.chat_template = template
    encoder = Encoder(tokenizer, name="someone/tiny")
    for _ in range(2):
        encoder.encode_prompts([(Message("user", "Is it?"),)], 4)
    assert told == ["someone/tiny"] * is_told
