"""llama.cpp's own word on a GGUF file, where the package xllamacpp is installed: tokens of texts,
and its likeliest next tokens with their log probabilities.

It runs as a process of its own: what it makes of a broken file may end the process.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError
from worldprobe.log import LOGGER

#: Texts of ordinary letters, digits, quotes, blanks and other scripts.
TEXTS = (
    "The piano is left of Ali. Ali turns right, so the piano is behind her.",
    "Chen sees 31 trunks, doesn't he? (He does.) The trunk isn't open; it's HEAVY.",
    "In 2024 naïve café owners didn't sell 1234567 “loaves”; one said: I'LL see x/y a-b c_d.",
    "  two  spaces\n\nand lines, 日本語 русский",
)
#: Shares of a text behind which log probabilities are compared, and of how many likeliest tokens.
SHARES, LIKELIEST = (0.25, 0.5, 0.75, 1.0), 10
#: Mean difference of log probabilities, nats, beyond which the weights are read otherwise. With
#: quantised weights llama.cpp rounds what flows between the layers to eight bits.
BOUNDS, BOUND_QUANTISED = {"ALL_F32": 0.02, "F16": 0.1, "BF16": 0.1}, 0.25
#: Seconds that it may take.
TIMEOUT = 600


def ask_llama_cpp(path: Path) -> list[dict[str, Any]]:
    """The answers of llama.cpp to each of ``TEXTS``.

    Returns:
        ``tokens``: its ids, with the start token where it adds one; ``after``: numbers of tokens
        that were read, and ids and log probabilities of the likeliest ones behind them.
    """
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx, settings.n_parallel, settings.warmup, settings.verbosity = 512, 1, False, -1
    settings.hostnames, settings.port = ["127.0.0.1"], 0
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.n_gpu_layers, settings.fit_params, settings.swa_full = 0, False, False
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)

    def post(route: str, **asked: Any) -> Any:
        request = urllib.request.Request(
            server.listening_address + route,
            json.dumps(asked).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            return json.loads(response.read())

    answers = []
    for text in TEXTS:
        ids = post("/tokenize", content=text, add_special=True, parse_special=True)["tokens"]
        after = {}
        for share in SHARES:
            length = max(1, int(len(ids) * share))
            reply = post(
                "/completion",
                prompt=ids[:length],
                n_predict=1,
                n_probs=LIKELIEST,
                temperature=-1.0,
                cache_prompt=False,
            )
            # None where its likeliest token is no whole character.
            for step in reply.get("completion_probabilities", []):
                after[length] = [(top["id"], top["logprob"]) for top in step["top_logprobs"]]
        answers.append({"tokens": ids, "after": list(after.items())})
    return answers


def compare(path: Path, folder: Path, kind: str) -> None:
    """Compare a folder with the file that it was made from, by llama.cpp, if that is installed.

    Args:
        path: the GGUF file.
        folder: with weights and tokenizer.
        kind: of quantisation.

    Raises:
        UserError: tokens or log probabilities are others.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        LOGGER.info("%s: not compared with llama.cpp (pip install xllamacpp)", path)
        return
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "worldprobe.models.llama_cpp", str(path)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=True,
        )
        answers = json.loads(ran.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError, OSError) as error:
        LOGGER.warning(
            "%s: not compared with llama.cpp, which does not read it (%s)",
            path,
            type(error).__name__,
        )
        return
    import torch
    import transformers

    from worldprobe.models import tokenizers

    tokenizer = tokenizers.open_tokenizer(str(folder), path.name)
    fix = "Give the model's own checkpoint, or serve the file (llama-server): --engine openai."
    for text, answer in zip(TEXTS, answers, strict=True):
        ours, theirs = tokenizer(text)["input_ids"], answer["tokens"]
        if ours != theirs:
            same = next(i for i in range(len(ours) + 1) if ours[: i + 1] != theirs[: i + 1])
            names = [
                tokenizer.convert_ids_to_tokens(row[same : same + 4]) for row in (ours, theirs)
            ]
            raise UserError(
                path,
                f"has other tokens here than in llama.cpp: {names[0]} instead of {names[1]} in"
                f" {text[:40]!r}.",
                fix,
            )
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, local_files_only=True, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    differences = []
    for answer in answers:
        with torch.inference_mode():
            logprobs = model(torch.tensor([answer["tokens"]])).logits[0].log_softmax(-1)
        differences += [
            abs(logprobs[length - 1, token].item() - value)
            for length, likeliest in answer["after"]
            for token, value in likeliest
        ]
    mean = sum(differences) / max(len(differences), 1)
    LOGGER.info(
        "%s: tokens equal to llama.cpp's, %d log probabilities within %.4f nats on average",
        path,
        len(differences),
        mean,
    )
    if not mean <= BOUNDS.get(kind, BOUND_QUANTISED):
        raise UserError(
            path,
            f"has log probabilities that are {mean:.3f} nats from llama.cpp's on average.",
            fix,
        )


if __name__ == "__main__":
    print(json.dumps(ask_llama_cpp(Path(sys.argv[1]))))
