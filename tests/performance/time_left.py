"""How good the time left is that progress lines state: seconds, untrained models of four kinds,
scores and answers to prompts.

    OMP_NUM_THREADS=1 python tests/performance/time_left.py [--items 4000] [--width 256] [--layers
    4] [--kinds ...]

Items are short and long, as those on which counting items fails. For each kind: the seconds that
were left when a tenth, a quarter and a half of the work was done, and by what share the stated time
was off. The bar: at most a quarter after a tenth. The clock is the process's own processor time, so
that other work on the machine does not move the truth; models are large enough that computing, not
starting, decides; in runs of a few seconds, chance does. What tokens alone say:
tests/unit/inference/test_progress.py.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2] / "workflow" / "src"))

from worldprobe import log  # noqa: E402
from worldprobe.inference.requests import Choose, Generate, run_requests  # noqa: E402
from worldprobe.inference.store import Store  # noqa: E402
from worldprobe.models.engine import Decoding, Loglikelihood  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

#: What is measured: architecture of the tests' tiny models, and the kind that it is loaded as.
KINDS = {
    "causal": ("gpt2", "causal"),
    "batches": ("mpt", "causal"),
    "masked": ("bert", "masked"),
    "encoder-decoder": ("t5", "encoder-decoder"),
    "choices": ("gpt2", "causal"),
    "written": ("gpt2", "causal"),
}
SHARES = (0.1, 0.25, 0.5)


def load_models() -> Any:
    """The module with the tests' tiny models."""
    spec = importlib.util.spec_from_file_location(
        "tiny_models", HERE.parents[1] / "unit" / "conftest.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_model(
    models: Any, architecture: str, kind: str, folder: Path, width: int, layers: int
) -> None:
    """A model of the tests' architecture in another size, and its tokenizer."""
    if kind == "causal":
        tokenizer = models.train_tokenizer("byte_level")
        model = models.build_model(architecture, len(tokenizer), tokenizer.bos_token_id)
    else:
        model, tokenizer = models.build_gap_model(architecture)
    config = model.config
    config.hidden_size, config.num_hidden_layers, config.initializer_range = width, layers, 0.02
    sizes = {
        "intermediate_size": 4 * width,
        "d_ff": 4 * width,
        "d_kv": width // 4,
        "num_decoder_layers": layers,
    }
    for name in sizes.keys() & vars(config).keys():
        setattr(config, name, sizes[name])
    type(model)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def ask(kind: str, sentences: list[str], n_items: int) -> list[Any]:
    """Questions about texts of one to twelve sentences."""
    draw = random.Random(0)
    texts = [
        " ".join(draw.choices(sentences, k=draw.choice((1, 1, 2, 4, 12)))) for _ in range(n_items)
    ]
    if kind == "choices":
        return [Choose(f"{text} Is it 1 or 2?\n", ("1", "2")) for text in texts]
    if kind == "written":
        return [Generate(f"{text} Is it 1 or 2?\n", Decoding(20, ("e", "a"))) for text in texts]
    return [Loglikelihood(text, target) for text in texts for target in draw.sample(sentences, 2)]


def measure(engine: Any, asked: list[Any], folder: Path) -> list[tuple[float, float]]:
    """After each of the shares of the time: the seconds that were left, and how far off the stated
    ones were.
    """
    stated: list[tuple[float, float, float]] = []
    line = log.Progress.line

    def noted(progress: log.Progress) -> str:
        if (left := progress.seconds_left()) is not None:
            stated.append((progress.share, time.process_time(), left))
        return line(progress)

    log.Progress.line, log.SECONDS_BETWEEN_LINES = noted, 0.0  # type: ignore[method-assign]
    try:
        run_requests(asked, engine, Store(folder, {}), what="Measuring")
    finally:
        log.Progress.line = line  # type: ignore[method-assign]
    ended = time.process_time()
    found = []
    for share in SHARES:
        at, left = next((at, left) for done, at, left in stated if done >= share)
        found.append((ended - at, left / (ended - at) - 1))
    return found


def main() -> None:
    """Measure each kind and say whether the bar is met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument(
        "--tokens",
        type=int,
        default=2048,
        help="per forward pass: as many passes as in a whole study",
    )
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    args = parser.parse_args()
    log.LOGGER.disabled = True
    log.time = SimpleNamespace(monotonic=time.process_time)  # type: ignore[assignment]
    models = load_models()
    for kind in args.kinds:
        architecture, loaded_as = KINDS[kind]
        with tempfile.TemporaryDirectory() as folder:
            save_model(
                models, architecture, loaded_as, Path(folder) / "model", args.width, args.layers
            )
            engine = open_engine(str(Path(folder) / "model"), kind=loaded_as)
            engine.budget.tokens = args.tokens
            n_items = (
                args.items // 10 if kind == "masked" else args.items
            )  # each text is read as often as its target has tokens
            began = time.process_time()
            found = measure(engine, ask(kind, models.SENTENCES, n_items), Path(folder) / "answers")
            took = time.process_time() - began
        told = ", ".join(
            f"after {share:.0%}: {left:.1f} s left, off by {error:+.0%}"
            for share, (left, error) in zip(SHARES, found, strict=True)
        )
        print(
            f"{kind:16} {took:.0f} s in all; {told} "
            f" {'ok' if abs(found[0][1]) <= 0.25 else 'above the bar'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
