"""A concept's templates as a reader sees them: each filled once, with what it contrasts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import pandas as pd

from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.entries import Materials
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.items import fill_independent, items_table
from worldprobe.benchmarks.ewok.materials.slots import open_slots
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.errors import UserError, did_you_mean


def fill_once(templates: pd.DataFrame, materials: Materials, seed: int) -> pd.DataFrame:
    """One randomly filled item for each template that has one, with the template's id.

    Args:
        templates: compiled from these materials.
        materials: free of errors.
        seed: of the fillings.
    """
    fillers = Fillers(materials.fillers, materials.rules)
    items = items_table(fill_independent(open_slots(templates, fillers), fillers, [0], seed))
    return items.assign(template_id=items["item_id"].str.rpartition("_v")[0])


def preview_concept(materials: Materials, concept: str, domain: str | None, seed: int, limit: int | None) -> str:
    """The templates that ask about a concept, as text for a terminal.

    Args:
        materials: free of errors.
        concept: its name.
        domain: look in this domain only; None: in all.
        seed: of the fillings.
        limit: the most templates to show; None: all.

    Raises:
        UserError: no such domain or concept.
    """
    domains = {d.name: d for d in materials.domains}
    if domain is not None and domain not in domains:
        near = did_you_mean(domain, domains, f"; there are {', '.join(sorted(domains))}.")
        raise UserError(f"--domain {domain}", f"there is no such domain{near}", "Name a domain of the materials.")
    searched = [domains[domain]] if domain else list(materials.domains)
    names = {name for d in searched for name in d.concepts}
    if concept not in names:
        where = f"in {domain}" if domain else "in these materials"
        problem = f'there is no concept "{concept}" {where}{did_you_mean(concept, names)}'
        raise UserError("CONCEPT", problem, "Give the name of a concept, in quotes if it has several words.")
    templates = compile_templates(materials)
    asks = (templates["concept_a"] == concept) | (templates["concept_b"] == concept)
    found = templates[asks & templates["domain"].isin([d.name for d in searched])]
    if found.empty:
        raise UserError("CONCEPT", f'no template asks about "{concept}".', "Write contexts for it, and targets that suit it.")
    shown = found if limit is None else found.head(limit)
    items = fill_once(shown, materials, seed).set_index("template_id")
    blocks = [_block(row, items.loc[row["template_id"]]) for row in shown.to_dict("records") if row["template_id"] in items.index]
    rest = f"\n\n{len(found) - len(shown)} more templates; --limit shows more." if len(shown) < len(found) else ""
    return "\n\n".join(blocks) + rest


def _block(template: Mapping[Hashable, object], item: pd.Series) -> str:
    concept_b = template["concept_b"]
    pair = f"{template['concept_a']} / {concept_b}" if isinstance(concept_b, str) else str(template["concept_a"])
    contrast = template["context_contrast"] if isinstance(template["context_contrast"], str) else "unlabelled"
    features = f"{template['context_type']} context, {contrast}; {template['target_contrast']}"
    lines = [f"{template['template_id']}  {pair}  ({features})"]
    names = {"context1": "C1", "context2": "C2", "target1": "T1", "target2": "T2"}
    lines += [f"  {names[text]}  {item[text]}" for text in TEXTS]
    return "\n".join(lines)
