"""EWoK's part of the report: what came out, and what kind of models it came out of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from worldprobe.benchmarks.ewok import selection
from worldprobe.benchmarks.ewok.analysis.reproduction import are_official, read_published
from worldprobe.benchmarks.ewok.canaries import is_own, is_protected
from worldprobe.benchmarks.ewok.contracts import Comparisons, Items, Summaries
from worldprobe.benchmarks.ewok.evaluation import title_of_items
from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.benchmarks.ewok.tables.accuracy import BASELINE_NOTES
from worldprobe.benchmarks.ewok.tables.models import (
    contexts_in_words,
    domains_in_words,
    first_eval_type,
    mean_accuracies,
)
from worldprobe.benchmarks.ewok.vocabulary import (
    EVAL_TYPES,
    METHOD_ON,
    TITLE,
    is_prompted,
)
from worldprobe.contracts import read_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.models.registry import (
    BASELINES,
    ENCODER_DECODER,
    MASKED,
    ORIGINAL,
    WITHIN_WORD,
    describe_kind,
)
from worldprobe.paths import BUILTIN, EDITIONS, REPOSITORY
from worldprobe.provenance import Provenance, language_name
from worldprobe.report.findings import (
    compared_in_words,
    count_kinds,
    each_in_words,
    lead_in_words,
    lead_values,
    read_pairs,
    standing,
    turned,
)
from worldprobe.report.model_names import HUMAN, Roster, is_baseline
from worldprobe.report.origins import (
    Methods,
    TableOrigin,
    are_sampled,
    described_precision,
    file_rows,
    model_rows,
    notes,
    package_versions,
)
from worldprobe.report.page import AccuracyCell, Material, Part, cell_of, notices, render_template
from worldprobe.report.results import no_estimate
from worldprobe.report.sentences import CitedSentence, quote, quote_interval
from worldprobe.report.sheet import (
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    show_p,
    span,
    text_column,
)

QUESTION = "Does a language model know how the world works?"
CITE = "EWoK: Ivanova et al. (2024), Elements of World Knowledge, arXiv 2405.09605"

PACKAGE = "worldprobe.benchmarks.ewok"
#: The printed table of the means that sentences are about.
TABLE = "models_against_chance"
_PAIRS = "pairs of concepts"


def compose(material: Material) -> Part:
    """The part, from the summaries and from what the tables say about their own making.

    Raises:
        UserError: the summaries have no rows of the way of asking, or the items may not be quoted.
    """
    summaries, roster = read_table(material.summary, Summaries), material.roster
    eval_type = material.eval_type or first_eval_type(summaries)
    models, domains = find_domains(summaries, roster, eval_type)
    extras = {}
    if any(domain.concepts for domain in domains):
        extras["concepts"] = render_template(
            PACKAGE, "concepts.html.jinja", models=models, domains=domains
        )
    origins = material.all_origins()
    is_sample = are_sampled(origins)
    means = mean_accuracies(summaries, roster, eval_type)
    items = _of_items(summaries, origins)
    every_pair = read_pairs(material.comparisons, Comparisons)
    every_pair = every_pair[every_pair["eval_type"] == eval_type]
    pairs = every_pair[every_pair["grouping"] == OVERALL]
    is_official = _is_official(origins)
    beside = _beside(summaries, every_pair)
    published = _published(summaries, is_official and eval_type == "logprobs")
    compared = compared_in_words(pairs[pairs["metric"] == "accuracy"], means, roster, BASELINES)
    if len(by_pairing := pairs[pairs["metric"] == "pairing"]):
        tables = (TABLE, "comparisons_pairing")
        sentences = compared_in_words(by_pairing, means, roster, BASELINES, "pairing", tables)
        compared += [
            sentence.after("By pairing: ") for sentence in sentences if sentence not in compared
        ]
    of_pairs = means[means["is_counted"] & means["by_pair_mean"].notna()]
    if tries := [note for origin in origins for note in no_estimate(origin.provenance, _PAIRS)]:
        compared.insert(0, CitedSentence(tries[0]))
    elif is_sample and len(of_pairs):
        compared.append(_of_all_items(of_pairs))
    values = lead_values(means, compared=compared, sample="items" * is_sample)
    has_published = any(_is_published(model, roster) for model in means["model"])
    overview = _overview(summaries, roster, eval_type, has_published=has_published)
    for column, others in {**_columns(beside), **published}.items():
        named = {roster[model].name: mean for model, mean in others.items()}
        overview[column] = {**named, **overview.get(column, {})}
    return Part(
        question=QUESTION,
        title=_title(origins, is_official),
        references=_references_sheet(beside, roster),
        lead=_lead(means, items, values, len(by_pairing) > 0),
        findings=lead_in_words(values),
        further=[
            *each_in_words(means[~means["is_counted"]], TABLE, "items" * is_sample),
            *domains_in_words(summaries, roster, eval_type),
            *contexts_in_words(summaries, roster, eval_type),
        ],
        facts=_facts(summaries, means, eval_type),
        methods=describe_methods(summaries, origins, roster),
        cite=CITE,
        notices=notices(origins[0].provenance, roster),
        caveats=_caveats(means, roster),
        overview=overview,
        apart=frozenset(
            roster[model].name
            for model in [*summaries.model.unique(), *beside, *published.get("all", {})]
            if not _is_published(model, roster) or model not in set(summaries.model)
        ),
        extras=extras,
        is_estimate=not tries,
    )


def _title(origins: Sequence[TableOrigin], is_official: bool) -> str:
    """What the scores are called (``evaluation.title_of_items``), by what the items say of their
    making.
    """
    items = next(iter(_of(origins, "items")), None)
    if items is None:  # released results are of the release
        is_released = any(is_protected(origin.provenance.canary) for origin in origins)
        return TITLE if is_released else METHOD_ON.partition(",")[0]
    edition = _edition(items).rpartition(", ")[2]
    language = language_name(items.details)
    return title_of_items(is_official, edition, is_protected(items.canary), language)


def _is_official(origins: Sequence[TableOrigin]) -> bool:
    """Whether the items are the published ones; only protected ones can be."""
    items = next((origin for origin in origins if origin.kind == "items"), None)
    if items is None or not is_protected(items.provenance.canary):
        return False
    return are_official(
        read_table(items.path, Items), read_published(REPOSITORY / "resources/published")
    )


def _beside(summaries: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, list[dict[Any, Any]]]:
    """Reference -> comparisons of the one model of the summaries with it, which they do not have:
    `worldprobe evaluate` compares with what the package brings.
    """
    models = set(summaries["model"])
    if len(models) != 1:
        return {}
    rows = [
        row if row["model_a"] in models else turned(row)
        for row in pairs.to_dict("records")
        if (row["model_a"] in models) != (row["model_b"] in models)
    ]
    beside: dict[str, list[dict[Any, Any]]] = {}
    for row in rows:
        beside.setdefault(str(row["model_b"]), []).append(row)
    return beside


def _columns(beside: Mapping[str, list[dict[Any, Any]]]) -> dict[str, dict[str, float]]:
    """Column of the overview -> reference -> its accuracy."""
    columns: dict[str, dict[str, float]] = {}
    for reference, rows in beside.items():
        for row in rows:
            if row["metric"] == "accuracy":
                column = row["group"] if row["grouping"] == "domain" else "all"
                columns.setdefault(selection.in_words(column), {})[reference] = row["mean_b"]
    return columns


def _published(summaries: pd.DataFrame, is_comparable: bool) -> dict[str, dict[str, float]]:
    """The printed accuracies of people and of the paper's models, beside one model that was asked
    the same items.
    """
    if not is_comparable or summaries["model"].nunique() != 1:
        return {}
    numbers = read_published(REPOSITORY / "resources/published").numbers
    printed = numbers.query("block == 'table1' and quantity == 'mean'")
    means = {str(row["model"]): float(row["printed"]) for _, row in printed.iterrows()}
    own = set(summaries["model"])
    return {"all": {model: mean for model, mean in means.items() if model not in own}}


def _references_sheet(beside: Mapping[str, list[dict[Any, Any]]], roster: Roster) -> Sheet | None:
    """What the references reach on the same items, and how the model differs from each."""
    rows = []
    for reference, compared in beside.items():
        by_metric = {row["metric"]: row for row in compared if row["grouping"] == OVERALL}
        row = by_metric["accuracy"]
        points = {key: 100 * row[key] for key in ("difference", "ci_low", "ci_high")}
        paired = by_metric.get("pairing", {}).get("mean_b")
        rows.append({**row, **points, "pairing": paired, "name": roster[reference].name})
    if not rows:
        return None
    frame = pd.DataFrame(rows).sort_values("mean_b", ascending=False, ignore_index=True)
    return Sheet(
        "Known models and baselines on the same items.",
        frame,
        (
            text_column("Reference", "name"),
            number_column("Accuracy", "mean_b"),
            number_column("Pairing", "pairing"),
            number_column("This model minus it, in points", "difference", decimals(1)),
            SheetColumn("95% interval", ("ci_low", "ci_high"), partial(span, places=1)),
            SheetColumn("p (Holm)", ("p_holm",), show_p),
        ),
        notes=("The package brings these results; differences are paired by item, by accuracy.",),
    )


def _is_published(model: str, roster: Roster) -> bool:
    """Whether it is a language model that this pipeline did not make."""
    return not (is_baseline(model) or roster[model].is_control)


def _of_all_items(means: pd.DataFrame) -> CitedSentence:
    """Estimates for all items from a sample. A sample has a larger share of the templates of small
    pairs of concepts, so that its mean over items is another one.

    Args:
        means: rows of ``mean_accuracies`` with means over pairs of concepts.
    """
    numbers = []
    for row in means.to_dict("records"):
        ends = quote_interval(TABLE, row, "by_pair_ci_low", "by_pair_ci_high")
        prefix = f"{row['name']} " if len(means) > 1 else ""
        mean = quote(decimals(3)(row["by_pair_mean"]), TABLE, row, "by_pair_mean")
        numbers.append(f"{prefix}{mean} (95% interval: {ends})")
    return CitedSentence(
        f"To compare with all items, take the mean over pairs of concepts: {', '.join(numbers)}."
    )


def _lead(
    means: pd.DataFrame, items: dict[str, Any], values: dict[str, Any], is_paired: bool
) -> Markup:
    """The finding, beside what people and baselines reach, and whose the items are; where models
    were compared by pairing, the finding has these numbers.
    """
    references = means[means["kind"].isin(["people", "baseline"]) & means["mean"].notna()]
    paired = means.loc[means["is_counted"] & means["mean"].notna(), "pairing"].dropna()
    return render_template(
        PACKAGE,
        "findings.html.jinja",
        paired=[paired.min(), paired.max()] if len(paired) else [],
        is_paired=is_paired,
        references=references.to_dict("records"),
        strongest=references[(references["kind"] == "baseline") & references["pairing"].notna()]
        .nlargest(1, "pairing")
        .to_dict("records"),
        items=items,
        **values,
    )


def _caveats(means: pd.DataFrame, roster: Roster) -> Markup:
    """Notes on control models, and on one that knows nothing and is not at chance, as it must be if
    the measure is sound.
    """
    models = [model for model in means["model"] if not is_baseline(model)]
    controls = [roster[model] for model in roster.in_order(models) if roster[model].is_control]
    untrained = means[means["kind"] == "untrained control model"]
    is_off = standing(untrained).isin(["above", "below"])
    return render_template(
        PACKAGE,
        "caveats.html.jinja",
        controls=controls,
        are_all_controls=len(controls) == len(models),
        materials=BUILTIN,
        off_chance=untrained[is_off].to_dict("records"),
    )


def _facts(summaries: pd.DataFrame, means: pd.DataFrame, eval_type: str) -> dict[str, int]:
    overall = selection.language_models(selection.pick(summaries, "overall", eval_type))
    return count_kinds(means) | {
        "domains": summaries[summaries.grouping == "domain"].group.nunique(),
        "items": int(selection.over_versions(overall).n.max()),
        "versions": selection.single_versions(overall).condition.nunique(),
    }


def _overview(
    summaries: pd.DataFrame, roster: Roster, eval_type: str, has_published: bool
) -> dict[str, dict[str, float]]:
    """Accuracy of every model and baseline, in all and by domain, in the order of the domains;
    controls only where there is no published model.
    """
    by_group = {}
    wanted = [("overall", ["all"])]
    if (summaries.grouping == "domain").any():
        wanted.append(("domain", selection.domain_order(summaries, roster, eval_type)))
    for grouping, groups in wanted:
        rows = selection.over_versions(selection.pick(summaries, grouping, eval_type))
        if has_published:
            rows = rows[[not roster[model].is_control for model in rows.model]]
        for group in groups:
            means = rows[(rows.group == group) & rows["mean"].notna()].set_index("model")["mean"]
            by_group[selection.in_words(group)] = {
                roster[model].name: float(means[model]) for model in roster.in_order(means.index)
            }
    return by_group


@dataclass(frozen=True)
class ConceptLine:
    """A concept's accuracy: the mean, then each model's in the order of the columns."""

    name: str
    n_items: int
    cells: list[AccuracyCell]


@dataclass(frozen=True)
class DomainMeans:
    """A domain with the models' means and its concepts, those with the lowest mean first."""

    id: str
    name: str
    mean: AccuracyCell
    low: float
    high: float
    human: float | None
    concepts: list[ConceptLine]


def find_domains(
    summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> tuple[list[str], list[DomainMeans]]:
    """Names of the models (the columns) and the domains in their order
    (``selection.domain_order``).
    """
    rows = selection.over_versions(selection.pick(summaries, "domain", eval_type))
    models = roster.in_order(selection.language_models(rows).model)
    counted = list(selection.subjects(rows, roster).model.unique())
    by_domain: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    if (summaries.grouping == "concept").any():
        concepts = selection.over_versions(selection.pick(summaries, "concept", eval_type))
        for row in concepts.itertuples():
            domain, _, concept = str(row.group).partition("/")
            by_domain[domain][concept][str(row.model)] = row
    findings = []
    for domain in selection.domain_order(summaries, roster, eval_type):
        here = rows[rows.group == domain].set_index("model")["mean"]
        means, human = here.reindex(counted), here.get(HUMAN)
        lines = {
            name: _concept(part, models, counted, roster)
            for name, part in by_domain.get(domain, {}).items()
        }
        order = sorted(
            lines, key=lambda name: (lines[name][0].step < 0, lines[name][0].value, name)
        )
        findings.append(
            DomainMeans(
                id=domain,
                name=selection.in_words(domain),
                mean=cell_of(means.mean(), places=3),
                low=means.min(),
                high=means.max(),
                human=None if human is None or pd.isna(human) else float(human),
                concepts=[
                    ConceptLine(
                        selection.in_words(name),
                        int(max(row.n for row in by_domain[domain][name].values())),
                        lines[name],
                    )
                    for name in order
                ],
            )
        )
    return roster.names(models), findings


def _concept(
    rows: Mapping[str, Any], models: Sequence[str], counted: Sequence[str], roster: Roster
) -> list[AccuracyCell]:
    """The cells of a concept: the mean of the models that count, then each.

    Args:
        rows: model -> its row of the summaries.
        models: the columns.
        counted: those of the mean.
        roster: their names.
    """
    means = [rows[model].mean for model in counted if model in rows]
    cells = [cell_of(pd.Series(means, dtype=float).mean(), "mean of the models")]
    for model in models:
        if model not in rows:
            cells.append(cell_of(None, f"{roster[model].name}: nan"))
            continue
        row = rows[model]
        ends = (
            ""
            if pd.isna(row.ci_low)
            else f", 95% interval {row.ci_low:.3f} to {row.ci_high:.3f}, {row.n:.0f} items"
        )
        cells.append(cell_of(row.mean, f"{roster[model].name}: {row.mean:.3f}{ends}"))
    return cells


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
    """Methods of the study, as far as the tables record them. Missing records are left out rather
    than guessed.

    Args:
        summaries: the Summaries table.
        origins: the tables to describe, the summaries among them.
        roster: names of the models.
    """
    packages = package_versions(origins)
    text = render_template(
        PACKAGE,
        "methods.html.jinja",
        **_of_items(summaries, origins),
        **_of_models(summaries, origins, roster),
        **_of_statistics(origins),
        version=packages.get("worldprobe"),
        software=[f"{name} {packages[name]}" for name in NAMED_PACKAGES if name in packages],
    )
    models = model_rows(origins, ("target_scores", "responses", "judgements"), roster)
    return Methods(text, packages, models, file_rows(origins))


def _of(origins: Sequence[TableOrigin], *kinds: str) -> list[Provenance]:
    return [origin.provenance for origin in origins if origin.kind in kinds]


def _of_items(summaries: pd.DataFrame, origins: Sequence[TableOrigin]) -> dict[str, Any]:
    """Items and conditions; scores lie in folders named by condition and eval type."""
    overall = summaries[
        (summaries.grouping == "overall")
        & (summaries.condition == ALL)
        & ~summaries.model.map(is_baseline)
    ]
    items = next(iter(_of(origins, "items")), None)
    limits = {made.details.get("limit") for made in _of(origins, "responses")} - {None, 0}
    scored = [
        origin.path.parts for origin in origins if origin.kind in ("target_scores", "responses")
    ]
    condition, *others = dict.fromkeys(
        parts[-3] for parts in scored if parts[-4:-3] in (("scores",), ("responses",))
    ) or ("",)
    return {
        "n_items": int(overall.n.max()) if len(overall) else 0,
        "n_domains": summaries[summaries.grouping == "domain"].group.nunique(),
        "origin": _origin(items) if items else "the materials named in the configuration",
        "edition": _edition(items) if items else "",
        "fill": defaultdict(lambda: None, items.details if items else {}),
        "seed": items.seed if items else None,
        "prompt_limits": sorted(limits),
        "condition": condition,
        "other_conditions": others,
    }


def _edition(provenance: Provenance) -> str:
    """Name of the edition of our own materials; none for others'."""
    if not is_own(provenance.canary):
        return ""
    digest = provenance.inputs.get("materials")
    editions = [
        edition for edition, folder in EDITIONS.items() if MaterialsFiles(folder).digest() == digest
    ]
    return ", ".join(["worldprobe's own built-in materials", *editions])


def _origin(provenance: Provenance) -> str:
    digest = provenance.inputs.get("materials", "")[:12]
    is_official = is_protected(provenance.canary)
    others = "the official EWoK materials" if is_official else "a folder of materials"
    name = _edition(provenance) or others
    return f"{name} (SHA-256 {digest}…)" if digest else name


def _of_models(
    summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster
) -> dict[str, Any]:
    models = [model for model in summaries.model.unique() if not is_baseline(model)]
    imported = next(
        (origin for origin in origins if origin.provenance.details.get("imported")), None
    )
    kinds = {
        str(kind)
        for made in _of(origins, "summaries")
        for kind in made.details.get("kinds", {}).values()
    }
    masked = {
        ORIGINAL: "each token hidden alone (Salazar et al., 2020)",
        WITHIN_WORD: "each token hidden with the rest of its word (Kauf and Ivanova, 2023)",
    }
    asked = sorted(name for name in summaries.eval_type.unique() if name in EVAL_TYPES)
    scored = _of(origins, "target_scores", "judgements")
    return {
        "n_models": len(models),
        "n_controls": sum(roster[model].is_control for model in models),
        "n_untrained": sum(roster[model].is_untrained for model in models),
        "notes": [note for made in _of(origins, "summaries")[:1] for note in notes(made, roster)],
        "imported": imported and imported.provenance,
        "has_logprobs": "logprobs" in asked,
        "has_pairings": (summaries.metric == "pairing").any(),
        "dtypes": sorted({described_precision(made) for made in scored if made.dtype}),
        "masked": [way for name, way in masked.items() if describe_kind(MASKED, name) in kinds],
        "has_encoder_decoder": describe_kind(ENCODER_DECODER) in kinds,
        "prompted": [selection.in_words(name) for name in asked if is_prompted(name)],
    }


def _of_statistics(origins: Sequence[TableOrigin]) -> dict[str, Any]:
    """Intervals, baselines, surface features and regressions."""
    summaries = _of(origins, "summaries")
    return {
        "drawn": summaries[0].details.get("drawn") if summaries else None,
        "baselines": [made for made in _of(origins, "judgements") if made.model in BASELINE_NOTES],
        "baseline_notes": BASELINE_NOTES,
        "features": _of(origins, "surface_features"),
        "fits": [made for made in _of(origins, "coefficients") if made.details.get("formula")],
    }
