"""How long building items and planning a large study take, as whole commands, and in how much
memory.

    python docs/benchmarks/building.py [--size page]
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import yaml
from common import ROOT, read_arguments, rounded, write

SIZES = {
    "tiny": {"models": 1, "items": 3_000},
    "quick": {"models": 300, "items": 100_000},
    "page": {"models": 300, "items": 1_000_000},
}
#: Templates of builtin@3.
TEMPLATES = 2_497


def measured(case: str, words: list[str], folder: Path) -> dict[str, object]:
    """A row: seconds, and memory of the process, of a command that must succeed."""
    started = time.perf_counter()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit((folder / "log").read_text()[-2000:])
    seconds = rounded(time.perf_counter() - started)
    cpu = rounded(used.ru_utime + used.ru_stime)
    return {"case": case, "seconds": seconds, "CPU seconds": cpu, "MB": used.ru_maxrss // 1024}


def plan(models: int, folder: Path) -> list[str]:
    """A dry run of the default study with so many models."""
    control = {"architecture": "gpt2", "layers": 1, "width": 32, "heads": 2, "steps": 1}
    cards = {
        f"model{number}": {"family": "control", "display_name": f"{number}", "control": control}
        for number in range(models)
    }
    study = {"study": "large", "registry": "registry.yaml", "models": list(cards)}
    study |= {"worldsense": {"models": list(cards)}}
    (folder / "registry.yaml").write_text(yaml.safe_dump(cards))
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    words = f"--snakefile {ROOT / 'Snakefile'} --directory {folder} --cores 2 --dry-run --quiet all"
    files = [ROOT / "config" / "config.yaml", folder / "study.yaml"]
    return [sys.executable, "-m", "snakemake", *words.split(), "--configfile", *map(str, files)]


def main() -> None:
    """Measure each command once."""
    given = read_arguments(__doc__, SIZES)
    made, models = given.out / "made", given.settings["models"]
    build = [sys.executable, "-m", "worldprobe", "items", "build", "builtin@3"]
    out = ["--out", str(made / "built.parquet")]
    each = str(max(given.settings["items"] // TEMPLATES, 1))
    many = ["--mode", "independent", "--per-template", each]
    rows = [
        measured("one version of builtin@3", [*build, "--versions", "0", *out], made),
        measured(f"about {given.settings['items']:,} items", [*build, *many, *out], made),
        measured(f"planning a study of {models} models", plan(models, made), made),
    ]
    write("building", given, rows)


if __name__ == "__main__":
    main()
