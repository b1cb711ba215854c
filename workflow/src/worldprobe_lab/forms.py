"""Parallel forms: the same templates with other fillings and, if wanted, in other frames.

What a model knows is the same in every form; what it has read is in one form at most. So the spread
between forms is the part of a score that hangs on wording, and a form that stands out may have been
learned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.filling import (
    Row,
    item_row,
    items_table,
    templates_in_order,
)
from worldprobe.benchmarks.ewok.materials.materials import Materials
from worldprobe.benchmarks.ewok.materials.opened import OpenTemplate, ready_templates

#: Sentences that say nothing and may begin any context; the first frame is the bare context.
FRAMES = (
    "",
    "Consider this.",
    "Imagine the following.",
    "Here is what we know.",
    "Think of this case.",
    "This is the story.",
    "Picture the following.",
    "Take this example.",
)
#: Draws until a filling is given up that repeats an earlier one of its template.
_PATIENCE = 16


class FormSampler:
    """Fillings of one template for several forms.

    A filler that one form has is in no other form of the template, nor in the items that the forms
    stand beside. Where a slot has too few fillers for that, a form takes one that is new in this
    slot, and where there is none, one that another form has; two forms never have the same filling.
    Which form gets which filling is drawn at last, so the forms of a template can be exchanged for
    one another: none is drawn from what others left.

    Args:
        fillers: the fillers.
        template: the template.
        seed: of the forms.
    """

    def __init__(self, fillers: Fillers, template: OpenTemplate, seed: int) -> None:
        self.options = {
            key: list(dict.fromkeys(f.text for f in fillers.options(key))) for key in template.keys
        }
        name = int.from_bytes(hashlib.sha256(template.template_id.encode()).digest()[:8], "big")
        self._rng = np.random.default_rng([seed, name])

    def sample(
        self, count: int, besides: Iterable[dict[str, str]] = ()
    ) -> list[dict[str, str] | None]:
        """The fillings of ``count`` forms; None for those for which there is no other filling.

        Args:
            count: number of forms.
            besides: fillings of the template that the forms are to differ from.
        """
        before = list(besides)
        made: list[dict[str, str] | None] = []
        for _ in range(count):
            tries = (self._draw(before) for _ in range(_PATIENCE))
            made.append(
                next(
                    (filling for filling in tries if filling is not None and filling not in before),
                    None,
                )
            )
            before += [made[-1]] if made[-1] else []
        return [made[position] for position in self._rng.permutation(count)]

    def _draw(self, before: Sequence[dict[str, str]]) -> dict[str, str] | None:
        used = {text for filling in before for text in filling.values()}
        filling: dict[str, str] = {}
        for key in sorted(self.options, key=lambda key: (len(self.options[key]), key)):
            free = [text for text in self.options[key] if text not in filling.values()]
            in_slot = {earlier.get(key) for earlier in before}
            pools = (
                [t for t in free if t not in used],
                [t for t in free if t not in in_slot],
                free,
            )
            pool = next(filter(None, pools), None)
            if pool is None:
                return None
            filling[key] = pool[int(self._rng.integers(len(pool)))]
        return dict(sorted(filling.items()))


def in_frame(template: OpenTemplate, form: int) -> OpenTemplate:
    """The template in the frame of a form: each form has every frame about equally often, and up to
    ``len(FRAMES)`` forms of a template have different ones.

    Args:
        template: the template.
        form: number of the form, from 0.
    """
    start = hashlib.sha256(template.template_id.encode()).digest()[0]
    frame = FRAMES[(start + form) % len(FRAMES)]
    context1, context2, *targets = template.texts
    return template._replace(texts=(f"{frame} {context1}", f"{frame} {context2}", *targets))


def shared_fillers(forms: Collection[dict[str, str] | None]) -> int:
    """How many fillers of a template's forms are in more than one of them."""
    texts = [text for filling in forms if filling for text in set(filling.values())]
    return len(texts) - len(set(texts))


@dataclass(frozen=True)
class Forms:
    """Parallel forms of all templates.

    Attributes:
        tables: an Items table per form, without ``duplicate_of``; the version is the number of the
            form, from 1.
        n_apart: templates whose forms share no filler.
        n_templates: all templates.
    """

    tables: list[pd.DataFrame]
    n_apart: int
    n_templates: int


def fill_forms(
    templates: pd.DataFrame,
    materials: Materials,
    count: int,
    seed: int,
    framed: bool,
    besides: pd.DataFrame | None = None,
) -> Forms:
    """Parallel forms: each template once per form, with fillings that differ from form to form.

    Args:
        templates: the templates table, compiled from these materials.
        materials: where the fillers come from; free of errors.
        count: number of forms.
        seed: of the fillings.
        framed: whether the contexts of a template also begin with another neutral sentence in each
            form.
        besides: an Items table of the same templates whose fillings the forms are to avoid.

    Raises:
        UserError: as ``fill_items``, or a form has no item.
    """
    slots, fillers = ready_templates(templates, materials)
    earlier: dict[str, list[dict[str, str]]] = {}
    for item_id, filled in (
        [] if besides is None else zip(besides["item_id"], besides["fillers"], strict=True)
    ):
        earlier.setdefault(item_id.rpartition("_v")[0], []).append(json.loads(filled))
    rows: list[list[Row]] = [[] for _ in range(count)]
    n_apart = n_templates = 0
    for template in templates_in_order(slots):
        earlier_fillings = earlier.get(template.template_id, [])
        fillings = FormSampler(fillers, template, seed).sample(count, earlier_fillings)
        n_apart += shared_fillers([*fillings, *earlier_fillings]) == 0
        n_templates += 1
        for form, filling in enumerate(fillings):
            if filling is not None:
                shown = in_frame(template, form) if framed else template
                rows[form].append(item_row(shown, form + 1, filling, fillers))
    return Forms([items_table(made) for made in rows], n_apart, n_templates)
