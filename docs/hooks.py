"""What the site has beyond docs/: pages of the repository's other folders, and references made from
parser and settings.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow" / "src"), str(ROOT / "docs")]

from reference import reference  # noqa: E402

from worldprobe.benchmarks.worldsense.inference.prompts import PromptSet  # noqa: E402
from worldprobe.benchmarks.worldsense.skins.skins import SkinFile  # noqa: E402
from worldprobe.report.results import Result  # noqa: E402

#: Files of the repository -> pages of the site.
ELSEWHERE = {
    "README.md": "index.md",
    "config/README.md": "handbook.md",
    "results/README.md": "results.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
#: Heading -> class of a file.
FORMATS = {
    "result.json": Result,
    "Prompting strategies of WorldSense": PromptSet,
    "Skins of WorldSense": SkinFile,
}
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for source, page in ELSEWHERE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_links(text, Path(source).parent)))
    files.append(File.generated(config, "reference/commands.md", content=commands()))
    files.append(File.generated(config, "reference/formats.md", content=formats()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to the repository's files become links to pages, or names."""
    is_generated = page.file.src_uri in ELSEWHERE.values() or page.file.src_uri.startswith(
        "reference/"
    )
    inside = posixpath.dirname(page.file.src_uri)
    return markdown if is_generated else _links(markdown, Path("docs", inside), inside)


def _links(text: str, folder: Path, inside: str = "") -> str:
    """Relative links of a file in a folder of the repository, as its page in a folder of the site
    has them.
    """

    def lead(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], found[3] or ""
        parts: list[str] = []
        for part in (*folder.parts, *Path(target).parts):
            if part == "..":
                parts.pop()
            elif part != ".":
                parts.append(part)
        path = "/".join(parts)
        if path in ELSEWHERE:
            return f"[{label}]({posixpath.relpath(ELSEWHERE[path], inside or '.')}{anchor})"
        if path.startswith("docs/"):
            return (
                f"[{label}]({posixpath.relpath(path.removeprefix('docs/'), inside or '.')}{anchor})"
            )
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"{folder}: {target}")
        return f"`{path}`"

    return LINK.sub(lead, text)


def commands() -> str:
    """Every command with its arguments, from the functions' signatures."""
    from worldprobe.cli import build_app
    from worldprobe.cli.parsing import arguments_of, commands

    lines = [
        "# Commands",
        "",
        "Made from the commands' signatures; `worldprobe COMMAND --help` says the same.",
        "",
    ]
    for words, app in commands(build_app()):
        described = (app.default_command.__doc__ or "").partition("\n    Args:")[0]
        lines += [
            f"## {words}",
            "",
            _cell(" ".join(described.split())),
            "",
            "| argument | meaning |",
            "|---|---|",
        ]
        for argument in arguments_of(app):
            choices = argument.get_choices()
            chosen = f" ({', '.join(choices)})" if choices else ""
            needed = ", required" if argument.required and argument.name.startswith("-") else ""
            default = argument.field_info.default
            is_told = (
                argument.required
                or default in (None, False, (), "")
                or "default" in (argument.parameter.help or "")
            )
            told = "" if is_told else f" Default: `{default}`."
            lines.append(
                f"| `{argument.name}`{needed} |"
                f" {_cell(' '.join(argument.parameter.help.split()))}{chosen}.{told} |"
            )
        lines.append("")
    return "\n".join(lines)


def formats() -> str:
    """Every key of the other files that are read or written, from their classes."""
    lines = [
        "# Other files",
        "",
        "From the classes that check them; [the handbook](../handbook.md) has the configuration.",
        "",
    ]
    for title, kind in FORMATS.items():
        lines += [f"## {title}", "", kind.__doc__ or "", "", reference(kind)]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.replace("%%", "%").replace("|", "\\|").replace("<", "&lt;").split())
