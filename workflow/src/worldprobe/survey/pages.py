"""The pages, rendered on the server; what moves on them is in static/survey.js."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mistune
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from worldprobe.survey.settings import Settings

HERE = Path(__file__).parent
STATIC = HERE / "static"
QUESTIONS = {
    "age": "What is your age in years?",
    "gender": "What is your gender?",
    "country": "In which country do you live?",
    "language": "What is your first language?",
}
GENDERS = {"woman": "Woman", "man": "Man", "non-binary": "Non-binary", "other": "Another gender"}


class Pages:
    """Renders pages of one study.

    Args:
        settings: of the study.
        prefix: path of the survey on its host, with slashes at both ends.
    """

    def __init__(self, settings: Settings, prefix: str) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(settings=settings, prefix=prefix, questions=QUESTIONS, genders=GENDERS)
        # Raw HTML in the consent is shown as text, and links cannot run scripts.
        self._consent = Markup(mistune.create_markdown(escape=True)(settings.consent_text))

    def render(self, name: str, **values: Any) -> str:
        """A page by name."""
        return self._environment.get_template(f"{name}.html.jinja").render(consent=self._consent, page=name, **values)
