"""What the control models' corpus leaves out, so that accuracy above chance means generalisation.

Two things are held out. *Templates*: no story joins their contexts with their targets, although each of these sentences
is in other stories (``new_pairing``), or at least the targets and not every context (``new_context``); all occur alone. Or they
are the test part of the materials' split by situation, of which no document says anything (``new_situation``).
*Fillers*: they occur in single sentences only, so that their words are known, never in a story.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.materials import items as filling
from worldprobe.benchmarks.ewok.materials.materials import Materials
from worldprobe.benchmarks.ewok.materials.slots import KEY, FillerClass, Fillers, open_slots, restrictions_of
from worldprobe.benchmarks.ewok.materials.split import parts_of
from worldprobe.benchmarks.ewok.vocabulary import TARGET_CONTRASTS, slot_class
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

#: A slot with a restriction keeps at least so many fillers for the stories; with fewer, none is held out.
FILLERS_KEPT = 3
#: Templates x fillers by which accuracies are split.
TEMPLATE_GROUPS = {
    "all": {"held_in", "new_pairing", "new_context"},
    "held_in": {"held_in"},
    "held_out": {"new_pairing", "new_context", "new_situation"},
    "new_pairing": {"new_pairing"},
    "new_context": {"new_context"},
    "new_situation": {"new_situation"},
}
FILLER_GROUPS = {"all": {"seen", "some_unseen"}, "seen": {"seen"}, "some_unseen": {"some_unseen"}}
TARGET_GROUPS = {"all": set(TARGET_CONTRASTS)} | {contrast: {contrast} for contrast in TARGET_CONTRASTS}


def same_up_to_names(*texts: str) -> str:
    r"""One spelling for all texts that differ only in how their variables are numbered.

    >>> same_up_to_names("{agent1} is left of {agent2}.") == same_up_to_names("{agent2} is left of {agent1}.")
    True
    >>> same_up_to_names("{agent1} is left of {agent2}.", "{agent1} sings.")
    '{agent#0} is left of {agent#1}.\n{agent#0} sings.'
    """
    numbers: dict[str, int] = {}

    def rename(match: re.Match[str]) -> str:
        variable, colon, restriction = match.group(1).partition(":")
        return f"{{{slot_class(variable)}#{numbers.setdefault(variable, len(numbers))}{colon}{restriction}}}"

    return KEY.sub(rename, "\n".join(texts))


def template_groups(templates: pd.DataFrame) -> pd.Series:
    """Templates that must be held out together: those of one unit, and those that share a right pairing of texts.

    Args:
        templates: a Templates table.

    Returns:
        group number per row, counted from 0 in row order.
    """
    leaders: dict[str, str] = {}

    def leader(key: str) -> str:
        leaders.setdefault(key, key)
        while leaders[key] != key:
            leaders[key] = key = leaders[leaders[key]]
        return key

    units = []
    columns = ("domain", "meta_template", "context1", "context2", "target1", "target2")
    for domain, meta_template, *texts in zip(*(templates[column].tolist() for column in columns), strict=True):
        unit = f"unit {domain} {meta_template}"
        for context, target in (texts[::2], texts[1::2]):
            leaders[leader(f"pairing {same_up_to_names(context, target)}")] = leader(unit)
        units.append(unit)
    return pd.Series(pd.factorize(pd.Series([leader(unit) for unit in units]))[0], index=templates.index)


def split_templates(templates: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """Choose the templates to hold out: in each domain, in an order drawn from the seed, about ``share`` of them.

    Groups whose sentences all occur in templates that are kept come first (``new_pairing``). Where these are too few, groups
    follow of which at least the targets occur in kept templates (``new_context``).

    Args:
        templates: a Templates table.
        share: share of each domain's templates to hold out, 0 to 1.
        seed: seed of the order.

    Returns:
        a ControlTemplates table; the log names domains where fewer can be held out than asked for.
    """
    chosen = templates[["template_id", "domain"]].assign(group=template_groups(templates).astype("int64"))
    statuses = np.full(len(chosen), "held_in", dtype=object)
    contexts, targets = (
        [
            {same_up_to_names(one), same_up_to_names(other)}
            for one, other in zip(templates[f"{kind}1"], templates[f"{kind}2"], strict=True)
        ]
        for kind in ("context", "target")
    )
    kept = Counter(sentence for texts in (*contexts, *targets) for sentence in texts)
    promised: set[str] = set()
    for domain, rows in chosen.groupby("domain"):
        wanted, held = round(share * len(rows)), 0
        members = {group: list(np.flatnonzero(chosen.group == group)) for group in rows.group.unique()}
        order = sorted(members, key=lambda group: _draw(seed, chosen.template_id.iloc[members[group][0]]))
        for status in ("new_pairing", "new_context"):
            for group in order:
                which = members[group]
                lost = Counter(text for row in which for text in contexts[row] | targets[row])
                needed = {
                    text for row in which for text in (targets[row] | contexts[row] if status == "new_pairing" else targets[row])
                }
                is_free = statuses[which[0]] == "held_in" and held + len(which) <= wanted
                if is_free and all(kept[text] > count for text, count in lost.items() if text in needed | promised):
                    promised |= needed
                    kept.subtract(lost)
                    held += len(which)
                    statuses[which] = status
        if held < wanted:
            LOGGER.info("%s: %d of %d templates can be held out (wanted %d)", domain, held, len(rows), wanted)
    return chosen.assign(status=statuses.astype(str))


def held_out_situations(templates: pd.DataFrame, part: pd.Series) -> pd.DataFrame:
    """The test part held out, as a ControlTemplates table.

    Args:
        templates: a Templates table.
        part: ``train`` or ``test`` of each template.
    """
    chosen = templates[["template_id", "domain"]].assign(group=template_groups(templates).astype("int64"))
    return chosen.assign(status=part.map({"train": "held_in", "test": "new_situation"}))


def split_fillers(fillers: Mapping[str, FillerClass], slots: Iterable[str], share: float, seed: int) -> pd.DataFrame:
    """Choose the fillers to hold out: in each class, in an order drawn from the seed, about ``share`` of them.

    A text is held out in all its classes or in none, and each restricted slot keeps at least half of its fillers and at
    least ``FILLERS_KEPT``.

    Args:
        fillers: class -> its fillers.
        slots: the slots of the templates, e.g. ``object1:large=true``.
        share: share of each class to hold out, 0 to 1.
        seed: seed of the order.

    Returns:
        a ControlFillers table; only classes that some slot asks for have held-out fillers.
    """
    slots = sorted(set(slots))
    pools = [(name, pool) for slot in slots if (name := slot_class(slot)) in fillers and (pool := fitting(fillers[name], slot))]
    room = [min(len(pool) // 2, len(pool) - FILLERS_KEPT) for _, pool in pools]
    used = {name for name, _ in pools}
    wanted = {name: round(share * len(texts_of(fillers[name]))) for name in used}
    texts = {text for name in used for text in texts_of(fillers[name])}
    held: set[str] = set()
    for text in sorted(texts, key=lambda text: _draw(seed, text)):
        touched = [number for number, (_, pool) in enumerate(pools) if text in pool]
        classes = [name for name in used if text in texts_of(fillers[name])]
        if all(room[number] > 0 for number in touched) and all(wanted[name] > 0 for name in classes):
            held.add(text)
            for number in touched:
                room[number] -= 1
            for name in classes:
                wanted[name] -= 1
    rows = [(name, text, text in held) for name in sorted(fillers) for text in sorted(texts_of(fillers[name]))]
    return pd.DataFrame(rows, columns=["filler_class", "filler", "is_held_out"])


def texts_of(fillers: FillerClass) -> set[str]:
    """The distinct texts of a class."""
    return {filler.text for filler in fillers.fillers}


def fitting(fillers: FillerClass, slot: str) -> set[str]:
    """The fillers of a class that meet all restrictions of a slot.

    >>> from worldprobe.benchmarks.ewok.materials.slots import Filler
    >>> from worldprobe.benchmarks.ewok.materials.documents import Place
    >>> pins = (Filler("the pin", {"large": "false"}), Filler("the piano", {"large": "true"}))
    >>> fitting(FillerClass("object", ("large",), pins, Place("fillers")), "object1:large=true")
    {'the piano'}
    """
    return {filler.text for filler in fillers.fillers if filler.meets(restrictions_of(slot))}


def without_held_out(fillers: Mapping[str, FillerClass], split: pd.DataFrame) -> dict[str, FillerClass]:
    """The fillers that stories may draw from."""
    held = defaultdict(set)
    for row in split[split.is_held_out].itertuples():
        held[row.filler_class].add(row.filler)
    return {
        name: dataclasses.replace(kind, fillers=tuple(filler for filler in kind.fillers if filler.text not in held[name]))
        for name, kind in fillers.items()
    }


def item_status(items: pd.DataFrame, templates: pd.DataFrame, fillers: pd.DataFrame) -> pd.DataFrame:
    """What the corpus had shown of each item.

    Args:
        items: an Items table (item_id, domain, meta_template, template, fillers, target_contrast).
        templates: a ControlTemplates table.
        fillers: a ControlFillers table.

    Returns:
        item_id, templates (held_in, new_pairing, new_context), fillers (seen, some_unseen) and targets (how they differ); items
        of templates that the corpus does not know are left out.
    """
    statuses = dict(zip(templates.template_id, templates.status, strict=True))
    unseen = {(row.filler_class, row.filler) for row in fillers[fillers.is_held_out].itertuples()}
    columns = ("item_id", "domain", "meta_template", "template", "fillers", "target_contrast")
    rows = []
    for item_id, domain, meta_template, template, filled, contrast in zip(
        *(items[column].tolist() for column in columns), strict=True
    ):
        status = statuses.get(f"{domain}_{meta_template}_{template}")
        if status is not None:
            used = {(slot_class(slot), text) for slot, text in json.loads(filled).items()}
            rows.append((item_id, status, "some_unseen" if used & unseen else "seen", contrast))
    return pd.DataFrame(rows, columns=["item_id", "templates", "fillers", "targets"])


def accuracy_by_split(judgements: Sequence[pd.DataFrame], status: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy of each model by held-out status and by how the targets differ.

    Args:
        judgements: Judgements tables of one eval_type, one per model.
        status: as ``item_status`` gives it.

    Returns:
        a ControlAccuracies table. An item is the mean of its targets that have a score, as in the summaries; missing scores are
        counted. A group without items has no mean.

    Raises:
        UserError: the tables are of several eval types, or two are of one model.
    """
    rows = pd.concat(judgements, ignore_index=True)
    if len(found := sorted(rows["eval_type"].astype(str).unique())) > 1:
        problem = f"the tables contain several eval types ({', '.join(found)}), which have no common mean."
        raise UserError("judgements", problem, "Give tables of one eval type.")
    if (twice := rows[rows.duplicated(["model", "item_id", "target"])]).size:
        raise UserError("judgements", f"{twice['model'].iloc[0]} is judged twice.", "Give one table per model.")
    joined = rows.merge(status, on="item_id", validate="many_to_one")
    table = []
    for model, of_model in joined.groupby("model"):
        groups = itertools.product(TEMPLATE_GROUPS.items(), FILLER_GROUPS.items(), TARGET_GROUPS.items())
        for (templates, statuses), (fillers, kinds), (targets, contrasts) in groups:
            is_wanted = of_model.templates.isin(statuses) & of_model.fillers.isin(kinds) & of_model.targets.isin(contrasts)
            picked = of_model[is_wanted]
            table.append(
                {
                    "model": model,
                    "templates": templates,
                    "fillers": fillers,
                    "targets": targets,
                    "mean": float(picked.groupby("item_id").accuracy.mean().mean()),
                    "n_items": picked.item_id.nunique(),
                    "n_ties": int(picked.is_tie.sum()),
                    "n_missing": int(picked.accuracy.isna().sum()),
                }
            )
    return pd.DataFrame(table)


def _draw(seed: int, name: str) -> str:
    """A place in a random order that depends on nothing but seed and name."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).hexdigest()


#: (templates, fillers, fillings per template, seed) -> an Items table.
Fill = Callable[[pd.DataFrame, Mapping[str, FillerClass], int, int], pd.DataFrame]
#: What keeps the three draws from one seed apart.
STORY_STREAM, SENTENCE_STREAM, ORDER_STREAM = 1, 2, 3


def write_corpus(
    templates: pd.DataFrame,
    fillers: Mapping[str, FillerClass],
    held_out_templates: pd.DataFrame,
    held_out_fillers: pd.DataFrame,
    n_stories: int,
    n_sentences: int,
    seed: int,
    fill: Fill,
) -> pd.DataFrame:
    """Write stories from the templates and fillers that are kept, and single sentences from all but those of new situations.

    Args:
        templates: a Templates table.
        fillers: class -> its fillers.
        held_out_templates: a ControlTemplates table.
        held_out_fillers: a ControlFillers table.
        n_stories: stories to write; rounded up so that each template has the same number of each of its two pairings.
        n_sentences: single sentences to write, rounded up alike (each template: two contexts, two targets).
        seed: seed of fillings and order.
        fill: fills templates; gets its own seed for stories and for sentences.

    Returns:
        a ControlDocuments table.
    """
    held_in = held_out_templates.template_id[held_out_templates.status == "held_in"]
    kept = templates[templates.template_id.isin(set(held_in))]
    unknown = held_out_templates.template_id[held_out_templates.status == "new_situation"]
    templates = templates[~templates.template_id.isin(set(unknown))]
    per_story = -(-n_stories // (2 * max(len(kept), 1)))
    per_sentence = -(-n_sentences // (4 * max(len(templates), 1)))
    seeds = [int(np.random.SeedSequence([seed, stream]).generate_state(1)[0]) for stream in (STORY_STREAM, SENTENCE_STREAM)]
    story_items = fill(kept, without_held_out(fillers, held_out_fillers), per_story, seeds[0])
    sentence_items = fill(templates, fillers, per_sentence, seeds[1])
    documents = pd.concat([stories(evened(story_items, per_story)), sentences(evened(sentence_items, per_sentence))])
    order = np.random.default_rng([seed, ORDER_STREAM]).permutation(len(documents))
    documents = documents.iloc[order].assign(document=np.arange(len(documents), dtype="int64"))
    LOGGER.info(
        "%d stories of %d templates, %d single sentences of %d templates",
        (documents.kind == "story").sum(),
        story_items.groupby(["domain", "meta_template", "template"]).ngroups,
        (documents.kind != "story").sum(),
        len(templates),
    )
    return documents.reset_index(drop=True)


def evened(items: pd.DataFrame, count: int) -> pd.DataFrame:
    """The same number of fillings for every template: where fewer exist, they are repeated in turn."""
    groups = items.groupby(["domain", "meta_template", "template"], sort=False)
    picked = [group.iloc[np.arange(count) % len(group)] for _, group in groups]
    n_short = sum(len(group) < count for _, group in groups)
    if n_short:
        LOGGER.info("%d templates have fewer than %d distinct fillings; theirs are repeated", n_short, count)
    return pd.concat(picked, ignore_index=True) if picked else items


def stories(items: pd.DataFrame) -> pd.DataFrame:
    """Both right pairings of each item, context and target joined by one space as the scorer joins them."""
    return pd.concat(
        [_documents(items, "story", number, items[f"context{number}"] + " " + items[f"target{number}"]) for number in (1, 2)],
        ignore_index=True,
    )


def sentences(items: pd.DataFrame) -> pd.DataFrame:
    """The four texts of each item, each on its own."""
    return pd.concat(
        [_documents(items, kind, number, items[f"{kind}{number}"]) for kind in ("context", "target") for number in (1, 2)],
        ignore_index=True,
    )


def _documents(items: pd.DataFrame, kind: str, number: int, text: pd.Series) -> pd.DataFrame:
    template_id = items.domain + "_" + items.meta_template.astype(str) + "_" + items.template.astype(str)
    return pd.DataFrame({"kind": kind, "template_id": template_id, "number": number, "text": text}).astype({"number": "int64"})


@dataclass(frozen=True)
class Corpus:
    """The corpus and what it leaves out.

    Attributes:
        documents: a ControlDocuments table.
        templates: a ControlTemplates table.
        fillers: a ControlFillers table.
    """

    documents: pd.DataFrame
    templates: pd.DataFrame
    fillers: pd.DataFrame

    def counts(self) -> dict[str, Any]:
        """How much was written and held out, for the provenance."""
        return {
            "n_templates": len(self.templates),
            "n_templates_held_out": int((self.templates.status != "held_in").sum()),
            "n_fillers": len(self.fillers),
            "n_fillers_held_out": int(self.fillers.is_held_out.sum()),
            "n_stories": int((self.documents.kind == "story").sum()),
            "n_sentences": int((self.documents.kind != "story").sum()),
        }


def build_corpus(
    templates: pd.DataFrame,
    materials: Materials,
    held_out_templates: float,
    held_out_fillers: float,
    n_stories: int,
    n_sentences: int,
    seed: int,
    hold_out: str = "templates",
) -> Corpus:
    """Hold out templates and fillers, and write stories and single sentences with what is kept.

    Args:
        templates: a Templates table of the materials.
        materials: the materials.
        held_out_templates: share of each domain's templates, with ``hold_out="templates"``.
        held_out_fillers: share of each class's fillers.
        n_stories: stories to write, rounded up so that every template has the same number.
        n_sentences: single sentences to write, rounded up alike.
        seed: seed of all draws.
        hold_out: ``templates``, or ``situations``: the test part of the materials' own split.

    Raises:
        UserError: the templates are of other materials, or these have no split.
    """
    known = Fillers(materials.fillers, materials.rules)
    slots = {key for rows in open_slots(templates, known).values() for row in rows for key in row.keys}

    def fill(chosen: pd.DataFrame, allowed: Mapping[str, FillerClass], per_template: int, seed: int) -> pd.DataFrame:
        """Fill templates by the compiler's own independent sampling."""
        fillers = Fillers(dict(allowed), materials.rules)
        return filling.items_table(filling.fill_independent(open_slots(chosen, fillers), fillers, range(per_template), seed))

    if hold_out == "situations":
        out_templates = held_out_situations(templates, parts_of(templates, materials.source))
    else:
        out_templates = split_templates(templates, held_out_templates, seed)
    out_fillers = split_fillers(materials.fillers, slots, held_out_fillers, seed)
    documents = write_corpus(templates, materials.fillers, out_templates, out_fillers, n_stories, n_sentences, seed, fill)
    return Corpus(documents, out_templates, out_fillers)


def check_documents(documents: pd.DataFrame, where: str) -> pd.DataFrame:
    """The documents, if there are any to learn from.

    Raises:
        UserError: there is no document, or none with a text.
    """
    if not documents["text"].str.strip().astype(bool).any():
        raise UserError(where, "contains no document with a text.", "Write the corpus again (worldprobe controls write-corpus).")
    return documents
