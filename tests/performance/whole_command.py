"""How long the whole command takes from a shell's prompt to numbers on disk, next to lm-evaluation-harness' whole command.

    python tests/performance/whole_command.py [--versions 0-1] [--runs 3]

Items of our own materials, a model of 260 thousand weights (``scoring.py --shape llama``), two ways in turn, each with the start
of Python, the imports, the loading of the model and all that is written: ``worldprobe score logprobs`` (six log probabilities per
item), then ``judge`` and ``summarize``; and lm-eval (four, and their mean) on the task that ``items export`` writes, by its
function instead of its command, because only that can do without the bootstrap of standard errors, which takes most of the
command's time. The accuracies must be equal. The bar: ours, all three commands, is no slower.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "workflow" / "src")]
os.environ["PYTHONPATH"] = sys.path[1]

#: What ``lm-eval run`` does, without its bootstrap.
THEIRS = """
import json, sys
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
model, task, out = sys.argv[1:]
found = simple_evaluate(
    "hf", f"pretrained={model},dtype=float32", ["speed"], batch_size=32, device="cpu", bootstrap_iters=0,
    task_manager=TaskManager(include_path=task),
)
json.dump(found["results"]["speed"], open(out, "w"))
"""


def run(*command: object) -> tuple[float, float]:
    """Run a command.

    Returns:
        Seconds, and processor seconds of the command and what it started.
    """
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Build items and model, time both ways, print a table and the bar."""
    import pandas as pd
    from scoring import build_small_checkpoint, read_pairs

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", default="0-1", help="versions of our own materials' items")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    worldprobe = [sys.executable, "-m", "worldprobe"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        items, model, task = folder / "items.parquet", folder / "model", folder / "task"
        run(*worldprobe, "items", "build", "builtin", "--versions", args.versions, "--out", items)
        n_items = len(pd.read_parquet(items, columns=["item_id"]))
        build_small_checkpoint(model, read_pairs(items, n_items))
        run(*worldprobe, "items", "export", items, "--format", "lm-eval", "--task", "speed", "--out", task)
        ways: dict[str, list[list[tuple[float, float]]]] = {"worldprobe": [], "lm-eval": []}
        for k in range(args.runs):
            scores, judgements, summary = (folder / f"{k}.{name}.parquet" for name in ("scores", "judged", "summary"))
            ways["worldprobe"].append(
                [
                    run(*worldprobe, "score", "logprobs", items, "--checkpoint", model, "--out", scores),
                    run(*worldprobe, "judge", items, scores, "--out", judgements),
                    run(*worldprobe, "summarize", judgements, "--out", summary),
                ]
            )
            ways["lm-eval"].append([run(sys.executable, "-c", THEIRS, model, task, folder / f"{k}.json")])
        print(f"{n_items} items, medians of {args.runs} runs in turn")
        totals = {}
        for way, runs in ways.items():
            totals[way] = statistics.median(sum(seconds for seconds, _ in parts) for parts in runs)
            processor = statistics.median(sum(cpu for _, cpu in parts) for parts in runs)
            parts = ", ".join(f"{statistics.median(part[k][0] for part in runs):.1f}" for k in range(len(runs[0])))
            print(f"{way:10} {totals[way]:6.1f} s ({parts}), processor {processor:.1f} s")
        theirs = json.loads((folder / "0.json").read_text())
        summary = pd.read_parquet(folder / "0.summary.parquet")
        ours = summary.query("grouping == 'overall' and metric == 'accuracy' and version == -1")["mean"].item()
        print(f"accuracy: ours {ours}, theirs {theirs['acc,none']}")
        print(f"bar: lm-eval's whole command takes {totals['lm-eval'] / totals['worldprobe']:.2f} times as long (at least 1)")


if __name__ == "__main__":
    main()
