"""EWoK's part of the report: what came out, and what kind of models it came out of."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok import selection
from worldprobe.benchmarks.ewok.canaries import is_own, is_protected
from worldprobe.benchmarks.ewok.contracts import Items, Summaries
from worldprobe.benchmarks.ewok.materials.materials import Source
from worldprobe.benchmarks.ewok.tables.accuracy import BASELINE_NOTES
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, is_prompted
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL
from worldprobe.errors import UserError
from worldprobe.models.registry import (
    BASELINES,
    ENCODER_DECODER,
    MASKED,
    ORIGINAL,
    WITHIN_WORD,
    describe_kind,
)
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import (
    HUMAN,
    Roster,
    against_chance,
    counted,
    is_yardstick,
    listed,
    ranging,
    who_took_part,
)
from worldprobe.report.origins import (
    Methods,
    TableOrigin,
    described_precision,
    file_rows,
    model_rows,
    notes,
    package_versions,
    read_origins,
)
from worldprobe.report.page import Cell, Material, Notice, Part, cell_of, notices, render_template

QUESTION = "Does a language model know how the world works?"
CITE = "The measure: Ivanova et al. (2024), Elements of World Knowledge (EWoK), arXiv 2405.09605."


def compose(material: Material) -> Part:
    """The part, from the summaries and from what the tables say about their own making.

    Raises:
        UserError: the summaries have no rows of the way of asking, or the items may not be quoted.
    """
    summaries, roster = read_table(material.summary, Summaries), material.roster
    eval_type = material.eval_type or _first_eval_type(summaries)
    models, domains = find_domains(summaries, roster, eval_type)
    examples = read_examples(material.item_text) if material.item_text else []
    extras = {}
    if any(domain.concepts for domain in domains):
        extras["concepts"] = render_template(
            "worldprobe.benchmarks.ewok", "concepts.html.jinja", models=models, domains=domains
        )
    if examples:
        extras["materials"] = render_template(
            "worldprobe.benchmarks.ewok", "examples.html.jinja", examples=examples
        )
    own = read_origins([material.summary])
    origins = [
        *own,
        *(one for one in material.origins if one.path.resolve() != material.summary.resolve()),
    ]
    asked = selection.language_models(
        selection.pick(summaries, "overall", eval_type)
    ).model.unique()
    return Part(
        question=QUESTION,
        lead=lead(summaries, roster, eval_type),
        who=who_took_part(asked, roster),
        more=more(summaries, roster, eval_type),
        facts=_facts(summaries, eval_type),
        methods=describe_methods(summaries, origins, roster),
        cite=CITE,
        notices=[*notices(own[0].provenance, roster), *_control_notice(summaries, roster)],
        points=points(summaries, roster, eval_type),
        overview=_overview(summaries, roster, eval_type),
        apart=frozenset(
            roster[model].name
            for model in summaries.model.unique()
            if not _is_published(model, roster)
        ),
        extras=extras,
        has_item_text=bool(examples),
    )


#: So many published models are described one by one; of more, the text says ranges and means.
FEW = 2


def _is_published(model: str, roster: Roster) -> bool:
    """Whether it is a language model that this pipeline did not make."""
    return not (is_yardstick(model) or roster[model].is_control)


def points(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> list[str]:
    """Of each published model, while they are few: its domains, direct and indirect contexts, and
    ways of asking; baselines.
    """
    rows = selection.over_versions(summaries[summaries.metric == "accuracy"])
    models = [
        model
        for model in roster.in_order(rows[rows.eval_type == eval_type].model)
        if _is_published(model, roster)
    ]
    said = []
    for model in models if len(models) <= FEW else []:
        own = rows[(rows.model == model) & rows["mean"].notna()]
        asked = own[own.eval_type == eval_type]
        before = f"{roster[model].name}. " if len(models) > 1 else ""
        said += [
            before + sentence
            for sentence in (_domains(asked), _contexts(asked), _ways(own))
            if sentence
        ]
    return [
        *said,
        *_baselines_reached(
            selection.over_versions(selection.pick(summaries, "overall", eval_type)), roster
        ),
    ]


def _baselines_reached(means: pd.DataFrame, roster: Roster) -> list[str]:
    """What is reached by knowing which words are related."""
    rows = means[means.model.isin(BASELINES) & means["mean"].notna()].sort_values(
        "mean", ascending=False
    )
    reached = [
        f"{mean:.3f} ({roster[model].name})"
        for model, mean in zip(rows.model, rows["mean"], strict=True)
    ]
    return (
        [f"Relatedness of target and context alone reaches {listed(reached)}."] if reached else []
    )


def _domains(rows: pd.DataFrame) -> str:
    """The domains from the highest to the lowest mean, by where they lie, and the pairs whose order
    is sure.
    """
    from worldprobe.analysis.comparisons import (
        ABOVE,
        BELOW,
        at_once,
        place,
    )  # SciPy, which Snakemake need not load

    rows = (
        rows[rows.grouping == "domain"]
        .sort_values(["mean", "group"], ascending=[False, True])
        .reset_index(drop=True)
    )
    if len(rows) < 2:
        return ""
    where, ends = place(rows), at_once(rows)
    named = [
        f"{selection.in_words(group)} {mean:.2f}"
        for group, mean in zip(rows["group"], rows["mean"], strict=True)
    ]
    kinds = {
        "above chance": where == ABOVE,
        "not shown to differ from chance": ~where.isin([ABOVE, BELOW]),
        "below chance": where == BELOW,
    }
    parts = [
        f"{kind}: {listed(compress(named, is_so))}" for kind, is_so in kinds.items() if is_so.any()
    ]
    pairs = [
        (high, low)
        for high in rows.index
        for low in rows.index[high + 1 :]
        if ends["ci_low"][high] > ends["ci_high"][low]
    ]
    names = rows["group"].map(selection.in_words)
    order = [
        f"{names[high]} above {listed(names[low] for one, low in pairs if one == high)}"
        for high in dict(pairs)
    ] or ["none; for other items any two may change places"]
    return (
        f"By domain (intervals for all at once), {'; '.join(parts)}. Order that is sure:"
        f" {'; '.join(order)}."
    )


def _contexts(rows: pd.DataFrame) -> str:
    """Accuracy after contexts that name the concept, and after those from which it follows."""
    found = _means(rows[rows.grouping == "context_type"], "group")
    if not {"direct", "indirect"} <= found.keys():
        return ""
    return (
        f"Contexts that name the concept (direct): {found['direct']}; from which it follows"
        f" (indirect): {found['indirect']}."
    )


def _ways(rows: pd.DataFrame) -> str:
    """The ways of asking side by side, on items that all of them asked about."""
    same = rows[rows.grouping == ("prompted" if (rows.grouping == "prompted").any() else "overall")]
    found = _means(same, "eval_type")
    if same.n.nunique() > 1:
        return ""
    for row in same[same.n_missing > 0].to_dict("records"):
        found[str(row["eval_type"])] += (
            f", {row['n_missing'] / (2 * row['n']):.0%} of targets unread"
        )
    means = [f"{selection.in_words(name)} {found[name]}" for name in EVAL_TYPES if name in found]
    return (
        f"Ways of asking, on the same {counted(int(same.n.min()), 'item')}: {'; '.join(means)}."
        if len(means) > 1
        else ""
    )


def _means(rows: pd.DataFrame, column: str) -> dict[str, str]:
    """Value of a column -> the mean with its 95% interval."""
    found = {}
    for row in rows.to_dict("records"):
        ends = "" if pd.isna(row["ci_low"]) else f" ({row['ci_low']:.3f} to {row['ci_high']:.3f})"
        found[str(row[column])] = f"{row['mean']:.3f}{ends}"
    return found


def lead(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> str:
    """Means against chance, which models are not among them, and, where present, humans.

    No model is called best: that is for the comparisons, which are corrected for their number.
    """
    means = selection.over_versions(selection.pick(summaries, "overall", eval_type))
    answered = selection.subjects(means, roster)
    answered = answered[answered["mean"].notna()]
    if answered.empty:
        raise UserError(
            "summaries",
            "no model has an accuracy.",
            "Check the judgements: every answer is missing.",
        )
    has_published = any(_is_published(model, roster) for model in answered.model)
    sentence = against_chance(
        answered.assign(name=[roster[model].name for model in answered.model])
    )
    left_out = [
        roster[model]
        for model in selection.language_models(means).model.unique()
        if model not in set(answered.model)
    ]
    for reason, names in (
        (
            "which learned nothing",
            [model.name for model in left_out if model.is_untrained and not has_published],
        ),
        (
            "without an accuracy",
            [
                model.name
                for model in left_out
                if not (model.is_untrained or (has_published and model.is_control))
            ],
        ),
    ):
        if names:
            sentence += f" Not counted here: {listed(names)}, {reason}."
    human = means[means.model == HUMAN]["mean"].dropna()
    return f"{sentence} Humans reach {human.iloc[0]:.3f}." if len(human) else sentence


def more(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> list[str]:
    """The mean over models, means by domain, and the untrained control."""
    from worldprobe.analysis.comparisons import place  # SciPy, which Snakemake need not load

    means = selection.over_versions(selection.pick(summaries, "overall", eval_type)).dropna(
        subset="mean"
    )
    pool = selection.subjects(means, roster)
    said = (
        [f"The mean over these {len(pool)} models is {pool['mean'].mean():.3f}."]
        if len(pool) > 1
        else []
    )
    if (summaries.grouping == "domain").any():
        domains = (
            selection.subjects(
                selection.over_versions(selection.pick(summaries, "domain", eval_type)), roster
            )
            .groupby("group")["mean"]
            .mean()
            .dropna()
        )
        if len(domains) > 1:
            found = ranging(domains.rename(index=selection.in_words), "Means by domain")
            is_order = domains.map("{:.3f}".format).nunique() > 1
            order = (
                "; which of these orders hold for other items, the table of pooled domains says"
                if is_order
                else ""
            )
            said.append(f"{found}{order}.")
    asked = selection.language_models(means)
    untrained = asked[[roster[model].is_untrained for model in asked["model"]]]
    for where, row in zip(place(untrained), untrained.to_dict("records"), strict=True):
        said.append(
            _untrained(roster[row["model"]].name, row["mean"], row["ci_low"], row["ci_high"], where)
        )
    return said


def _untrained(name: str, mean: float, low: float, high: float, where: str) -> str:
    """Whether a model that knows nothing is at chance, as it must be if the measure is sound.

    >>> _untrained("U", 0.5, 0.48, 0.52, "open")
    'U, a control that knows nothing, reaches 0.500 (95% interval 0.480 to 0.520); 0.5 is expected.'
    """
    sentence = f"{name}, a control that knows nothing, reaches {mean:.3f}"
    if math.isnan(low):
        return f"{sentence}; 0.5 is expected."
    sentence += f" (95% interval {low:.3f} to {high:.3f})"
    if where not in ("above", "below"):
        return f"{sentence}; 0.5 is expected."
    return (
        f"{sentence}, where 0.5 is expected: look for a leak, unless this is the one interval in 20"
        " that misses by chance."
    )


def _facts(summaries: pd.DataFrame, eval_type: str) -> list[tuple[str, str]]:
    overall = selection.pick(summaries, "overall", eval_type)
    models = selection.language_models(overall)
    numbers = {
        "language model": models.model.nunique(),
        "domain": summaries[summaries.grouping == "domain"].group.nunique(),
        "concept": summaries[summaries.grouping == "concept"].group.nunique(),
        "item": int(selection.over_versions(models).n.max()),
        "version": selection.single_versions(overall).condition.nunique(),
    }
    pairs = (counted(number, noun).split(" ", 1) for noun, number in numbers.items() if number)
    return [(number, noun) for number, noun in pairs]


def _overview(
    summaries: pd.DataFrame, roster: Roster, eval_type: str
) -> dict[str, dict[str, float]]:
    """Accuracy of every model and yardstick, in all and by domain, in the order of the domains."""
    found = {}
    wanted = [("overall", ["all"])]
    if (summaries.grouping == "domain").any():
        wanted.append(
            (
                "domain",
                selection.domain_order(selection.pick(summaries, "domain", eval_type), roster),
            )
        )
    for grouping, groups in wanted:
        rows = selection.over_versions(selection.pick(summaries, grouping, eval_type))
        for group in groups:
            means = rows[(rows.group == group) & rows["mean"].notna()].set_index("model")["mean"]
            found[selection.in_words(group)] = {
                roster[model].name: float(means[model]) for model in roster.in_order(means.index)
            }
    return found


def _first_eval_type(summaries: pd.DataFrame) -> str:
    """LogProbs where they were scored, otherwise the first way of asking that was used.

    Raises:
        UserError: there are no rows of a model.
    """
    present = set(summaries.eval_type)
    asked = next((name for name in EVAL_TYPES if name in present), None)
    if asked is None:
        raise UserError(
            "summaries",
            "contain no rows of a language model.",
            "Summarize the judgements of at least one model.",
        )
    return asked


def _control_notice(summaries: pd.DataFrame, roster: Roster) -> list[Notice]:
    """What control models are, for readers who might take them for published ones."""
    models = roster.in_order(selection.language_models(summaries).model.unique())
    controls = [roster[model] for model in models if roster[model].is_control]
    if not controls:
        return []
    text = (
        f"{'; '.join(model.name for model in controls)}: small calibration models that this"
        " pipeline made from scratch, in minutes, of short stories generated from worldprobe's own"
        f" materials ({BUILTIN}). They know nothing else."
    )
    if any(model.is_untrained for model in controls):
        text += " An untrained one learned nothing at all and must be at chance."
    everything = len(controls) == len(models)
    emphasis = (
        "Nothing here says how well published models know the world."
        if everything
        else "Their numbers say nothing about published language models."
    )
    return [
        Notice(f"What {'these models' if everything else 'the control models'} are", text, emphasis)
    ]


@dataclass(frozen=True)
class ConceptLine:
    """A concept's accuracy: the mean, then each model's in the order of the columns."""

    name: str
    n_items: int
    cells: list[Cell]


@dataclass(frozen=True)
class Domain:
    """A domain with the models' means and its concepts, those with the lowest mean first."""

    id: str
    name: str
    mean: Cell
    low: float
    high: float
    human: float | None
    concepts: list[ConceptLine]


def find_domains(
    summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> tuple[list[str], list[Domain]]:
    """Names of the models (the columns) and the domains in the order of the models' mean."""
    rows = selection.over_versions(selection.pick(summaries, "domain", eval_type))
    models = roster.in_order(selection.language_models(rows).model)
    counted = selection.subjects(rows, roster).model.unique()
    concepts = (
        selection.over_versions(selection.pick(summaries, "concept", eval_type))
        if (summaries.grouping == "concept").any()
        else rows.iloc[:0]
    )
    found = []
    for domain in selection.domain_order(rows, roster):
        here = rows[rows.group == domain].set_index("model")["mean"]
        means, human = here.reindex(counted), here.get(HUMAN)
        inside = concepts[concepts.group.str.startswith(f"{domain}/")]
        lines = {
            str(group).split("/", 1)[1]: _concept(
                part.set_index("model"), models, list(counted), roster
            )
            for group, part in inside.groupby("group", sort=True)
        }
        order = sorted(
            lines, key=lambda name: (lines[name][0].step < 0, lines[name][0].value, name)
        )
        found.append(
            Domain(
                id=domain,
                name=selection.in_words(domain),
                mean=cell_of(means.mean(), places=3),
                low=means.min(),
                high=means.max(),
                human=None if human is None or pd.isna(human) else float(human),
                concepts=[
                    ConceptLine(
                        selection.in_words(name),
                        int(inside[inside.group == f"{domain}/{name}"].n.max()),
                        lines[name],
                    )
                    for name in order
                ],
            )
        )
    return [roster[model].name for model in models], found


def _concept(
    rows: pd.DataFrame, models: list[str], counted: list[str], roster: Roster
) -> list[Cell]:
    cells = [cell_of(rows["mean"].reindex(counted).mean(), "mean of the models")]
    for model, row in rows.reindex(models).iterrows():
        ends = (
            ""
            if pd.isna(row.ci_low)
            else f", 95% interval {row.ci_low:.3f} to {row.ci_high:.3f}, {row.n:.0f} items"
        )
        cells.append(cell_of(row["mean"], f"{roster[str(model)].name}: {row['mean']:.3f}{ends}"))
    return cells


@dataclass(frozen=True)
class Example:
    """One item per domain."""

    domain: str
    item_id: str
    concepts: str
    context1: str
    context2: str
    target1: str
    target2: str


def read_examples(path: Path | str) -> list[Example]:
    """The first direct item of each domain, from an items table of our own materials.

    Raises:
        UserError: the materials do not say that they are ours: their text must not appear in a
            report.
    """
    if not is_own(read_provenance(path).canary):
        raise UserError(
            "--item-text",
            "these items were not built from worldprobe's own materials, so their text must not be"
            " shown.",
            "Leave the option out: EWoK's terms allow its text only inside password-protected"
            " archives.",
        )
    items = read_table(path, Items)
    direct = (
        items[items.context_type == "direct"] if (items.context_type == "direct").any() else items
    )
    chosen = (
        direct.sort_values(["domain", "version", "meta_template", "template"])
        .groupby("domain", sort=True)
        .head(1)
    )
    return [_example(row) for row in chosen.to_dict("records")]


def _example(row: dict[Hashable, Any]) -> Example:
    concepts = " / ".join(
        concept for concept in (row["concept_a"], row["concept_b"]) if isinstance(concept, str)
    )
    texts = (row["context1"], row["context2"], row["target1"], row["target2"])
    return Example(selection.in_words(row["domain"]), row["item_id"], concepts, *texts)


#: Packages named in the paragraph, in this order, where they took part.
NAMED_PACKAGES = (
    "torch",
    "transformers",
    "vllm",
    "gensim",
    "wordfreq",
    "R",
    "lme4",
    "rpy2",
    "statsmodels",
    "numpy",
    "pandas",
    "scipy",
)


def describe_methods(
    summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster
) -> Methods:
    """What was done, as far as the tables record it; what they do not record is left out rather
    than guessed.

    Args:
        summaries: the Summaries table.
        origins: the tables to describe, the summaries among them.
        roster: names of the models.
    """
    packages = package_versions(origins)
    sentences = [
        *_materials(summaries, origins),
        *_conditions(origins),
        *_models(summaries, origins, roster),
        *_accuracy(origins),
        *_baselines(origins),
        *_regression(origins),
        _software(packages),
    ]
    models = model_rows(origins, ("target_scores", "responses", "judgements"), roster)
    return Methods([s for s in sentences if s], packages, models, file_rows(origins))


def _of(origins: Sequence[TableOrigin], kind: str) -> list[TableOrigin]:
    return [one for one in origins if one.kind == kind]


def _materials(summaries: pd.DataFrame, origins: Sequence[TableOrigin]) -> list[str]:
    overall = summaries[
        (summaries.grouping == "overall")
        & (summaries.condition == ALL)
        & ~summaries.model.map(is_yardstick)
    ]
    n_items = int(overall.n.max()) if len(overall) else 0
    n_domains = summaries[summaries.grouping == "domain"].group.nunique()
    items = _of(origins, "items")
    origin = _origin(items[0].provenance) if items else "the materials named in the configuration"
    text = f"The test set had {counted(n_items, 'item')}" + (
        f" in {counted(n_domains, 'domain')}" if n_domains else ""
    )
    sizes = items[0].provenance.details if items else {}
    if "situations" in sizes:
        parts = counted(sizes["concept_pairs"], "pair"), counted(sizes["situations"], "situation")
        text += f", from templates of {parts[0]} of concepts and {parts[1]}"
    sentences = [f"{text}, compiled from {origin} in the format of EWoK (Ivanova et al., 2024)."]
    if items:
        details = items[0].provenance.details
        if details.get("mode") == "fixed":
            named = [str(version) for version in details.get("versions", [])]
            noun = "version" if len(named) == 1 else "versions"
            sentences.append(
                f"Each version filled all templates from one fixed set of fillers ({noun}"
                f" {listed(named)})."
            )
        elif details.get("mode") == "balanced":
            n, seed = len(details.get("versions", [])), items[0].provenance.seed
            often = "once" if n == 1 else f"{n} times"
            balance = (
                "so that names of each sex and origin and all listed fillers were used about"
                " equally often"
            )
            sentences.append(
                f"Each template was filled {often}, {balance} in every version (seed {seed})."
            )
        elif details.get("mode") == "independent":
            per, seed = details.get("per_template"), items[0].provenance.seed
            often = "once" if per == 1 else f"{per} times"
            sentences.append(
                f"Each template was filled {often}, independently of the others (seed {seed})."
            )
        if details.get("compat"):
            sentences.append(
                "Compilation reproduced the original software exactly, including its known quirks."
            )
        if details.get("swap"):
            sentences.append(f"Filler classes were swapped: {listed(map(str, details['swap']))}.")
        if details.get("filter"):
            sentences.append(f"Only items matching the filter {details['filter']} were kept.")
        if details.get("limit"):
            share = (
                f"A share of {details['limit']} templates was taken, spread evenly over domains and"
                " their pairs of concepts"
            )
            sentences.append(f"{share}, so its mean does not estimate the mean over all templates.")
        if details.get("release_filter"):
            sentences.append("Only items of the official release were kept.")
    for limit in sorted(
        {one.provenance.details.get("limit") or 0 for one in _of(origins, "responses")} - {0}
    ):
        sentences.append(f"Prompts asked about {limit} of these templates, chosen in the same way.")
    return sentences


def _conditions(origins: Sequence[TableOrigin]) -> list[str]:
    """Which conditions there are besides the one that is described; scores lie in folders named by
    condition and eval type.
    """
    scored = [one.path.parts for one in origins if one.kind in ("target_scores", "responses")]
    first, *others = dict.fromkeys(
        parts[-3] for parts in scored if parts[-4:-3] in (("scores",), ("responses",))
    ) or ("",)
    if not others:
        return []
    noun = "condition" if len(others) == 1 else "conditions"
    return [
        f"These are the items of the condition {first}; the {noun} {listed(others)} differed in"
        " items or prompts."
    ]


def _origin(provenance: Provenance) -> str:
    whole = provenance.inputs.get("materials", "")
    digest = whole[:12]
    name = "a folder of materials"
    if is_own(provenance.canary):
        known = [
            edition for edition, folder in EDITIONS.items() if Source(folder).digest() == whole
        ]
        name = ", ".join(["worldprobe's own built-in materials", *known])
    elif is_protected(provenance.canary):
        name = "the official EWoK materials"
    return f"{name} (SHA-256 {digest}…)" if digest else name


def _models(summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster) -> list[str]:
    models = roster.in_order(m for m in summaries.model.unique() if not is_yardstick(m))
    controls = [m for m in models if roster[m].is_control]
    text = f"We evaluated {counted(len(models), 'language model')}"
    if controls:
        rest = len(models) - len(controls)
        which = (
            counted(len(controls), "small calibration control")
            if rest
            else "small calibration controls"
        )
        text += f"{', among them' if rest else ':'} {which} that the pipeline made from scratch"
    sentences = [text + "."]
    for one in _of(origins, "summaries")[:1]:
        sentences += notes(one.provenance, roster)
    asked = [name for name in summaries.eval_type.unique() if name in EVAL_TYPES]
    imported = [one.provenance for one in origins if one.provenance.details.get("imported")]
    if imported:
        digest = imported[0].inputs.get("release", "")[:12]
        steps = [
            step["step"].replace("_", " ")
            for step in imported[0].details["steps"]
            if step["note"] != "switched off"
        ]
        sentences.append(
            "Their scores and answers are those that the authors of EWoK released (SHA-256"
            f" {digest}…), after these steps of the released analysis: {listed(steps) or 'none'}."
        )
        return sentences
    if "logprobs" in asked:
        dtypes = sorted(
            {
                described_precision(one.provenance)
                for one in origins
                if one.kind in ("target_scores", "judgements") and one.provenance.dtype
            }
        )
        weights = f"; weights in {listed(dtypes)}" if dtypes else ""
        sentences.append(
            "LogProbs: a target's score is the sum of the natural log probabilities of its tokens"
            " after its context, tokenised once as a whole, with the joining space counted to the"
            f" target (log-softmax in float32{weights})."
        )
        sentences += _other_kinds(origins)
    prompted = [name for name in sorted(asked) if is_prompted(name)]
    if prompted:
        ways = "; ".join(map(selection.in_words, prompted))
        sentences.append(f"Models were also prompted (Ivanova et al., Appendix A.4): {ways}.")
    return sentences


def _other_kinds(origins: Sequence[TableOrigin]) -> list[str]:
    """How masked and encoder-decoder models were scored."""
    kinds = {
        str(kind)
        for one in _of(origins, "summaries")
        for kind in one.provenance.details.get("kinds", {}).values()
    }
    sentences = []
    if any(kind.startswith(MASKED) for kind in kinds):
        alone = describe_kind(MASKED, ORIGINAL) in kinds
        way = "each token hidden alone (Salazar et al., 2020)" if alone else ""
        within = "each token hidden together with the rest of its word (Kauf and Ivanova, 2023)"
        ways = [
            one
            for one in (way, within if describe_kind(MASKED, WITHIN_WORD) in kinds else "")
            if one
        ]
        sentences.append(
            "Masked models were scored by the target's pseudo-log-likelihood in its context,"
            f" {listed(ways)}."
        )
    if describe_kind(ENCODER_DECODER) in kinds:
        sentences.append(
            "Encoder-decoder models read the context in the encoder, and the target was scored in"
            " the decoder."
        )
    return sentences


def _accuracy(origins: Sequence[TableOrigin]) -> list[str]:
    sentences = [
        "For each target, accuracy is 1 if its matching context scores higher, 0.5 on an exact tie"
        " and 0 otherwise; an item's accuracy is the mean of its two targets, and a model's"
        " accuracy is the mean over versions."
    ]
    summaries = _of(origins, "summaries")
    if summaries:
        one = summaries[0].provenance
        if drawn := one.details.get("drawn"):
            sentences.append(
                f"95% intervals take {drawn} as crossed samples: the half width is the standard"
                " error times a quantile between the normal one and Student's t of the part of the"
                " variance that is known from the fewest units."
            )
    return sentences


def _baselines(origins: Sequence[TableOrigin]) -> list[str]:
    sentences = []
    for one in _of(origins, "judgements"):
        if text := BASELINE_NOTES.get(str(one.provenance.model)):
            n_vectors = one.provenance.details.get("n_vectors")
            counted = f" ({n_vectors:,} word vectors)" if isinstance(n_vectors, int) else ""
            sentences.append(f"Baseline {one.provenance.model}: {text.removesuffix('.')}{counted}.")
    for one in _of(origins, "surface_features"):
        unit = one.provenance.details.get("unit")
        source = one.provenance.details.get("source")
        sentences.append(
            "Surface features are the number of words and the mean log word frequency of (C1 +"
            f" C2)/2 + T (source: {source}" + (f", {unit})." if unit else ").")
        )
    return sentences


def _regression(origins: Sequence[TableOrigin]) -> list[str]:
    sentences = []
    for one in _of(origins, "coefficients"):
        details: dict[str, Any] = one.provenance.details
        formula, n_rows = details.get("formula"), details.get("n_rows")
        if not formula:
            continue
        is_mixed = "(1|" in str(formula)
        kind = (
            "A mixed-effects logistic regression"
            if is_mixed
            else "As a cross-check, a logistic regression without random effects"
        )
        text = (
            f"{kind} was fitted to {n_rows:,} target rows: {formula}."
            if isinstance(n_rows, int)
            else f"{kind}: {formula}."
        )
        sentences.append(text)
    return sentences


def _software(packages: dict[str, str]) -> str:
    own = packages.get("worldprobe")
    named = [f"{name} {packages[name]}" for name in NAMED_PACKAGES if name in packages]
    if not own:
        return ""
    return f"All steps were run with worldprobe {own}" + (
        f" ({', '.join(named)})." if named else "."
    )
