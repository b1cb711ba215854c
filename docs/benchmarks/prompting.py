"""How fast constrained answers and chats are: EWoK's Choice and Likert beside the original's loop
and lm-eval, WorldSense's beside lm-eval, chats beside transformers' own generation.

    python docs/benchmarks/prompting.py [--size page] [--threads 1] [--checkpoint FOLDER]
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from common import build_model, compared, differing, read_arguments, take_turns, worldprobe, write
from scoring import lm_eval as logprobs_of_lm_eval

CHOICE, LIKERT = "choice_constrained_two", "likert_constrained_two"
SIZES = {
    "tiny": {"cases": [["tiny", CHOICE, 1], ["tiny", "worldsense", 2]], "rounds": 1},
    "quick": {"cases": [["gpt2", CHOICE, 2], ["gpt2", LIKERT, 1], ["gpt2", "worldsense", 10]]},
    "page": {"cases": [["gpt2", CHOICE, 5], ["gpt2", LIKERT, 2], ["gpt2", "worldsense", 50]]},
}
SIZES["quick"] |= {"rounds": 3, "chats": 2}
SIZES["page"] |= {"rounds": 3, "chats": 8}
NEW_TOKENS = 64
CHAT = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
Run = Callable[[], list[str]]
#: What each prompt may be answered.
Options = Sequence[Sequence[str]]


def ours(folder: str, prompts: Sequence[str], options: Options) -> Run:
    """The engine, without the store."""
    from worldprobe.models.transformers_engine import open_engine

    engine = open_engine(folder)

    def run() -> list[str]:
        found = dict(engine.choose(prompts, options))
        return [found[i].text for i in range(len(prompts))]

    return run


def original(folder: str, prompts: Sequence[str], options: Options) -> Run:
    """The paper's loop (outlines 0.0.13): a pass for each token, over all positions; only the
    options' first tokens are allowed, then only the end.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    @torch.no_grad()
    def answer(prompt: str, allowed: Sequence[str]) -> str:
        tokens, cache, written = tokenizer(prompt, return_tensors="pt")["input_ids"], None, []
        first = [tokenizer(option)["input_ids"][0] for option in allowed]
        for permitted in (first, [tokenizer.eos_token_id]):
            out = model(tokens, past_key_values=cache, use_cache=True)
            cache, logits = out.past_key_values, out.logits[0, -1]
            mask = torch.full_like(logits, float("-inf"))
            mask[permitted] = 0
            written.append(int((logits + mask).argmax()))
            tokens = torch.tensor([written[-1:]])
        return tokenizer.decode(written[:1])

    return lambda: [answer(*one) for one in zip(prompts, options, strict=True)]


def lm_eval(folder: str, prompts: Sequence[str], options: Options) -> Run:
    """lm-evaluation-harness's multiple choice: each option behind the prompt."""
    both = zip(prompts, options, strict=True)
    pairs = [(prompt, option) for prompt, allowed in both for option in allowed]
    score = logprobs_of_lm_eval(folder, pairs, joint="" if prompts[0].endswith("\n") else " ")

    def run() -> list[str]:
        values = iter(score())
        return [max((next(values), option) for option in allowed)[1] for allowed in options]

    return run


def chats(folder: str, prompts: Sequence[str]) -> Run:
    """The engine's answers to chats."""
    from worldprobe.models.engine import Decoding, Message
    from worldprobe.models.transformers_engine import open_engine

    engine, asked = open_engine(folder), [(Message("user", prompt),) for prompt in prompts]
    return lambda: [one.text for _, one in sorted(engine.generate(asked, Decoding(NEW_TOKENS)))]


def generate(folder: str, prompts: Sequence[str]) -> Run:
    """``generate`` of transformers, one chat at a time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    how = {
        "max_new_tokens": NEW_TOKENS,
        "do_sample": False,
        "pad_token_id": model.config.eos_token_id,
    }

    @torch.no_grad()
    def answer(prompt: str) -> str:
        chat, start = [{"role": "user", "content": prompt}], {"add_generation_prompt": True}
        asked = tokenizer.apply_chat_template(chat, return_tensors="pt", return_dict=True, **start)
        written = model.generate(**asked, **how)[0, asked["input_ids"].shape[1] :]
        return tokenizer.decode(written, skip_special_tokens=True)

    return lambda: [answer(prompt) for prompt in prompts]


def asked_by(name: str, number: int, items: pd.DataFrame, trials: pd.DataFrame) -> tuple:
    """Prompts of a way to ask, and the options of each."""
    from worldprobe.benchmarks.ewok.scoring import load_prompts, presentations
    from worldprobe.benchmarks.ewok.vocabulary import way_of
    from worldprobe.benchmarks.worldsense.inference.ask import write_prompts
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.skins.vocabulary import answers_of

    if name == "worldsense":
        chosen = trials.head(number)
        texts = write_prompts(chosen, load_prompt_set("constrained_sum"), None)
        return texts, [answers_of(problem) for problem in chosen["problem"]]
    way = way_of(name)
    prompt = load_prompts()[way.paradigm]
    chosen = items.iloc[:: max(len(items) // number, 1)].head(number)
    shown = presentations(chosen, way.paradigm)
    texts = [prompt.text(slots, way.shots) for _, _, slots in shown]
    return texts, [prompt.answers] * len(texts)


def main() -> None:
    """Build questions and a model, let the programs take turns."""
    given, rows = read_arguments(__doc__, SIZES), []
    made, rounds = given.out / "made", given.settings["rounds"]
    tables = made / "items.parquet", made / "trials.parquet"
    sample = ["--sample", "1"] if given.size == "tiny" else []
    worldprobe("items", "build", "builtin@3", "--versions", "0", *sample, "--out", tables[0])
    worldprobe("worldsense", "generate", "test", "--sample", "400", "--out", tables[1])
    items, trials = map(pd.read_parquet, tables)
    for shape, name, number in given.settings["cases"]:
        prompts, options = asked_by(name, number, items, trials)
        folder = given.checkpoint or build_model(shape, prompts, made)
        ways = {"worldprobe": ours, "lm-eval": lm_eval}
        ways |= {} if name == "worldsense" else {"original": original}
        runs = take_turns(ways, (folder, prompts, options), rounds)
        rows += compared(f"{shape}, {name}, {len(prompts)} prompts", runs, differing)
    if n_chats := given.settings.get("chats"):
        (Path(folder) / "chat_template.jinja").write_text(CHAT)
        ways, texts = {"worldprobe": chats, "transformers": generate}, list(trials["text"])
        runs = take_turns(ways, (folder, texts[:n_chats]), rounds)
        rows += compared(f"{shape}, {n_chats} chats", runs, differing)
    write("prompting", given, rows)


if __name__ == "__main__":
    main()
