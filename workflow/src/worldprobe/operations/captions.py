"""Captions of Snakemake's own report, which takes them only as files: written from the plans, which have the words."""

from __future__ import annotations

import re
from pathlib import Path

from worldprobe.benchmark import Plan
from worldprobe.files import write_text


def write_caption(plan: Plan, folder: Path, *others: Plan) -> str:
    """The file of a plan's caption; it is left alone where it says the same already.

    Args:
        plan: of a table or figure.
        folder: where captions are kept.
        *others: further plans whose files the same rule makes, one per value of its wildcard ``fit``.

    Returns:
        Its absolute path.
    """
    path = (folder / f"{plan.kind}_{plan.name}.rst").resolve()
    text = to_rst(plan.caption)
    if others:
        every = (plan, *others)
        text = "".join(f'{{% if snakemake.wildcards.fit == "{one.name}" %}}{to_rst(one.caption)}{{% endif %}}' for one in every)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    return str(path)


def to_rst(caption: str) -> str:
    r"""A caption as reStructuredText in a template: nothing in it is markup or a command.

    >>> to_rst("p < 0.05, *filled*")
    '{% raw %}p < 0.05, \\*filled\\*{% endraw %}'
    """
    return "{% raw %}" + re.sub(r"([\\*`_|])", r"\\\1", caption) + "{% endraw %}"
