"""The corpus that control models are taught, and what they had read of the items that they are
asked.

Of the training part of the materials' split, a share of the templates is *taught*: stories join
their contexts with the right targets, each story in a filling of its own. Besides, the *items* of
these templates as the default study asks them in its first version occur so many times, their dose.
A model reads stories, items or both. Nothing that it reads says anything of the test part, which
shares no situation and no concept with the rest.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import crossed_means
from worldprobe.benchmarks.ewok.materials.filling import Filling
from worldprobe.benchmarks.ewok.materials.items import fill_items
from worldprobe.benchmarks.ewok.materials.materials import Materials
from worldprobe.benchmarks.ewok.vocabulary import TARGET_CONTRASTS, joint
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.settings.study import CorpusSettings
from worldprobe_authoring.parts import PAIR, SPLIT, split_of_templates

#: What a model had read of an item: its own texts; its template with other fillings; other
#: templates of its pair of concepts; nothing of its situation or its concepts.
GROUPS = ("read", "new_filling", "new_template", "new_concept")
#: Versions that the default study asks: stories tell none of their items, and models read those of
#: the first.
VERSIONS = (0, 1, 2)
#: What keeps the draws of the documents' order from others of one seed.
_ORDER = 3


def choose_templates(
    templates: pd.DataFrame, part: pd.Series, share: float, doses: Sequence[int], seed: int
) -> pd.DataFrame:
    """Choose what is taught: of each domain and contrast of targets, in a drawn order, a share of
    the training part.

    Args:
        templates: a Templates table.
        part: ``train`` or ``test`` of each template.
        share: of the training part's templates.
        doses: how often the items of taught templates occur; drawn for each pair of concepts.
        seed: of both draws.

    Returns:
        a ControlTemplates table.
    """
    pair = templates[PAIR].fillna("").agg("\0".join, axis=1)
    draw = pd.Series(
        [_draw(seed, name) for name in templates["template_id"]], index=templates.index
    )
    stratum = [part, templates["domain"], templates["target_contrast"]]
    size = draw.groupby(stratum).transform("size")
    is_taught = (part == "train") & (draw.groupby(stratum).rank() <= (share * size).round())
    is_near = pair.isin(set(pair[is_taught]))
    status = np.select(
        [is_taught, part == "test", is_near], ["taught", "new_concept", "new_template"], "left_out"
    )
    drawn = pair.map(
        {name: doses[int(_draw(seed, f"dose {name}"), 16) % len(doses)] for name in pair.unique()}
    )
    dose = drawn.where(is_taught | (status == "new_template"), 0).astype("int64")
    return templates[["template_id", "domain"]].assign(status=status.astype(str), dose=dose)


def _draw(seed: int, name: str) -> str:
    """A place in a random order that depends on nothing but seed and name."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).hexdigest()


@dataclass(frozen=True)
class Corpus:
    """The corpus and what is taught in it.

    Attributes:
        documents: a ControlDocuments table.
        templates: a ControlTemplates table.
    """

    documents: pd.DataFrame
    templates: pd.DataFrame

    def counts(self) -> dict[str, Any]:
        """How much was written and taught, for the provenance."""
        return {
            **{
                f"n_templates_{status}": count
                for status, count in sorted(Counter(self.templates["status"]).items())
            },
            **{
                f"n_documents_{kind}": count
                for kind, count in sorted(Counter(self.documents["kind"]).items())
            },
        }


def build_corpus(
    templates: pd.DataFrame,
    materials: Materials,
    how: CorpusSettings,
) -> Corpus:
    """Choose what is taught, and write stories and items of it, and single sentences of everything.

    Args:
        templates: a Templates table of the materials.
        materials: the materials; where these have no split, all of it may be taught.
        how: what is taught, and how often; where fewer fillings of a template exist, they are
            repeated in turn, and single sentences are rounded up so that every template has as
            many.

    Raises:
        UserError: the templates are of other materials, or no template is taught.
    """
    has_split = SPLIT in materials.source.names
    part = (
        split_of_templates(templates, materials.source)
        if has_split
        else pd.Series("train", index=templates.index)
    )
    chosen = choose_templates(templates, part, how.taught, how.doses, how.seed)
    taught = templates[(chosen["status"] == "taught").to_numpy()]
    if taught.empty:
        problem = f"a share of {how.taught:g} of the training part is no template."
        raise UserError("controls", problem, "Give a larger share, or more templates.")
    asked = fill_items(templates, materials, Filling("balanced", VERSIONS))[0]
    asked = asked[_template_ids(asked).isin(taught["template_id"])]
    dose = chosen.set_index("template_id")["dose"]
    items = _pairings(asked[asked["version"] == VERSIONS[0]], "item")
    stories = _pairings(
        _evened(
            fill_items(taught, materials, Filling("independent", range(how.fillings), how.seed))[0],
            how.fillings,
        ),
        "story",
    )
    stories = stories[~stories["text"].isin(set(_pairings(asked, "item")["text"]))]
    each = -(-how.sentences // (4 * len(templates)))
    alone = (
        _evened(
            fill_items(templates, materials, Filling("independent", range(each), how.seed + 1))[0],
            each,
        )
        if each
        else asked[:0]
    )
    doses = items["template_id"].map(dose).to_numpy()
    documents = pd.concat(
        [stories, items.loc[items.index.repeat(doses)], _sentences(alone)], ignore_index=True
    )
    order = np.random.default_rng([how.seed, _ORDER]).permutation(len(documents))
    documents = documents.iloc[order].reset_index(drop=True)
    documents.insert(0, "document", np.arange(len(documents), dtype="int64"))
    LOGGER.info(
        "%d templates are taught, by %d stories and %d items",
        len(taught),
        len(stories),
        int(doses.sum()),
    )
    return Corpus(documents, chosen)


def _template_ids(items: pd.DataFrame) -> pd.Series:
    return (
        items["domain"]
        + "_"
        + items["meta_template"].astype(str)
        + "_"
        + items["template"].astype(str)
    )


def _evened(items: pd.DataFrame, count: int) -> pd.DataFrame:
    """The same number of fillings for every template: where fewer exist, they are repeated in
    turn.
    """
    groups = items.groupby(["domain", "meta_template", "template"], sort=False)
    return pd.concat(
        [group.iloc[np.arange(count) % len(group)] for _, group in groups], ignore_index=True
    )


def _pairings(items: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Both right pairings of each item, context and target joined as the scorer joins them."""
    return pd.concat(
        [
            _documents(
                items,
                kind,
                n,
                _before(items, n) + items[f"target{n}"],
                _before(items, n).str.len(),
            )
            for n in (1, 2)
        ],
        ignore_index=True,
    )


def _before(items: pd.DataFrame, number: int) -> pd.Series:
    context = items[f"context{number}"]
    return context + context.map(joint)


def _sentences(items: pd.DataFrame) -> pd.DataFrame:
    """The four texts of each item, each on its own."""
    return pd.concat(
        [
            _documents(items, kind, n, items[f"{kind}{n}"], 0)
            for kind in ("context", "target")
            for n in (1, 2)
        ],
        ignore_index=True,
    )


def _documents(
    items: pd.DataFrame, kind: str, number: int, text: pd.Series, start: pd.Series | int
) -> pd.DataFrame:
    made = pd.DataFrame(
        {
            "kind": kind,
            "template_id": _template_ids(items),
            "number": number,
            "start": start,
            "text": text,
        }
    )
    return made.astype({"number": "int64", "start": "int64"})


def group_items(items: pd.DataFrame, corpus: Corpus, reads: Sequence[str]) -> pd.DataFrame:
    """Group of each item, by what a model that reads documents of these kinds had read of it.

    Args:
        items: an Items table.
        corpus: what there is to read.
        reads: kinds of documents.

    Returns:
        item_id, group (of ``GROUPS``), dose (how often it had read this item, or the item of this
        template or of this pair of concepts), targets and pair; items of which this is not known
        are left out, and those that stories of another template happen to tell.
    """
    read = corpus.documents[corpus.documents["kind"].isin(reads)]
    times = Counter(read["text"][read["kind"] == "item"])
    read_texts = set(read["text"])
    texts = [(_before(items, n) + items[f"target{n}"]).tolist() for n in (1, 2)]
    by_template = corpus.templates.set_index("template_id")
    template = _template_ids(items)
    status = template.map(by_template["status"])
    dose = template.map(by_template["dose"]) * int("item" in reads)
    is_known = np.array(
        [one in read_texts and other in read_texts for one, other in zip(*texts, strict=True)],
        dtype=bool,
    )
    is_taught = (status == "taught") & template.isin(set(read["template_id"]))
    group = status.where(status.isin(GROUPS)).mask(is_taught, "new_filling")
    times_read = np.array(
        [min(times[one], times[other]) for one, other in zip(*texts, strict=True)], dtype="int64"
    )
    group = group.mask(is_known, "read").mask(is_known & (times_read == 0), None)
    made = pd.DataFrame(
        {
            "item_id": items["item_id"],
            "group": group,
            "dose": np.where(is_known, times_read, dose.fillna(0)).astype("int64"),
            "targets": items["target_contrast"],
            "pair": items[PAIR].fillna("").agg("\0".join, axis=1),
        }
    )
    return made[made["group"].notna()]


def accuracy_by_group(
    judgements: Sequence[pd.DataFrame],
    items: pd.DataFrame,
    corpus: Corpus,
    reads: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """Mean accuracy of each model by what it had read and by how the targets differ, with intervals
    over pairs of concepts.

    Args:
        judgements: Judgements tables of one eval_type, one per model.
        items: an Items table.
        corpus: the models' corpus.
        reads: model -> kinds of documents that it reads; stories where a model is not named.

    Returns:
        a ControlAccuracies table. An item is the mean of its targets that have a score, as in the
        summaries; missing scores are counted.

    Raises:
        UserError: the tables are of several eval types, or two are of one model.
    """
    rows = pd.concat(judgements, ignore_index=True)
    if len(eval_types := sorted(rows["eval_type"].astype(str).unique())) > 1:
        problem = (
            f"the tables contain several eval types ({', '.join(eval_types)}), which have no common"
            " mean."
        )
        raise UserError("judgements", problem, "Give tables of one eval type.")
    if (twice := rows[rows.duplicated(["model", "item_id", "target"])]).size:
        raise UserError(
            "judgements", f"{twice['model'].iloc[0]} is judged twice.", "Give one table per model."
        )
    table = []
    for model, of_model in rows.groupby("model"):
        groups = group_items(items, corpus, reads.get(str(model), ("story",)))
        joined = of_model.merge(groups, on="item_id", validate="many_to_one")
        for targets in ("all", *TARGET_CONTRASTS):
            chosen = joined if targets == "all" else joined[joined["targets"] == targets]
            for (group, dose), part in chosen.groupby(["group", "dose"]):
                by_item = part.groupby("item_id").agg(
                    accuracy=("accuracy", "mean"), pair=("pair", "first")
                )
                values = by_item["accuracy"].to_numpy()[None]
                found_mean = crossed_means(
                    values, by_item["pair"].to_numpy(), tested=False, bounds=(0.0, 1.0)
                )
                table.append(
                    {
                        "model": model,
                        "group": group,
                        "dose": dose,
                        "targets": targets,
                        "mean": float(np.clip(found_mean.mean[0], 0, 1)),
                        "ci_low": float(found_mean.ci_low[0]),
                        "ci_high": float(found_mean.ci_high[0]),
                        "n_items": len(by_item),
                        "n_pairs": int(by_item["pair"].nunique()),
                        "n_missing": int(part["accuracy"].isna().sum()),
                    }
                )
    return pd.DataFrame(table)
