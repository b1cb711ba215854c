"""EWoK as the BabyLM challenge asks it: its data, its rule next to the paper's, and the files in
which it looks for predictions.

A row of its files is an item as it stands, or with contexts and targets exchanged. Until April 2026
the challenge called a row right where the first target is at least as likely after the first
context as the second target is: targets are compared within a context, and a tie is right. Since
May 2026 it compares contexts, as the paper: is the first target likelier after the first context
than after the second? It draws ties, where the paper counts a half. All are answered from the same
log probabilities. Read off https://github.com/babylm-org/babylm-eval, folder strict/, at the
commits ``COMMITS``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.summaries import Group
from worldprobe.benchmarks.ewok.analysis.judge import judge_scores
from worldprobe.benchmarks.ewok.materials.official_files import DESIGN
from worldprobe.benchmarks.ewok.vocabulary import OFFICIAL_TEXTS, TEXTS
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import read_text, write_text
from worldprobe.inference.requests import near_tie_of, run_requests
from worldprobe.models.checkpoint import hub_id
from worldprobe.models.engine import Loglikelihood
from worldprobe.report.model_names import counted
from worldprobe_lab.contracts import BabylmSummaries
from worldprobe_lab.curves import to_cells

if TYPE_CHECKING:
    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine

#: Raised when what is asked changes: kept scores are kept under it.
METHOD = 1
#: Data set -> where it is below the folder of the challenge's data, and the rows of each domain.
WHOLE, FAST = "ewok_filtered", "ewok_fast"
PLACES = {WHOLE: "full_eval", FAST: "fast_eval"}
SIZES = {
    "agent-properties": 2210,
    "material-dynamics": 770,
    "material-properties": 170,
    "physical-dynamics": 120,
    "physical-interactions": 556,
    "physical-relations": 818,
    "quantitative-properties": 314,
    "social-interactions": 294,
    "social-properties": 328,
    "social-relations": 1548,
    "spatial-relations": 490,
}
ROWS = {WHOLE: SIZES, FAST: dict.fromkeys(SIZES, 100)}
#: Track -> its checkpoints, by millions of words.
_UNTIL_90 = [*range(1, 10), *range(10, 100, 10)]
_LONG = [*_UNTIL_90, *range(100, 1001, 100)]
TRACKS = {
    "strict-small": [*_UNTIL_90, 100],
    "strict": _LONG,
    "multimodal": _LONG,
    "interaction": _LONG,
}
MAIN, CHECKPOINT, UNIT = "main", "chck_{n}M", "million words"
#: Year of the challenge's rules -> the last commit of its code that was read.
COMMITS = {"2025": "45fe2c1", "2026": "7d0a6c8"}
#: Of the draw of ties.
SEED = 0
#: The challenge's rule, and the paper's.
RULES = ("babylm", "paper")
#: Columns of the rows -> key of the challenge's files, in the order of its report.
_GROUPS = {"domain": "UID", "context_type": "context_type", "context_contrast": "context_contrast"}
_GROUPS |= {"target_contrast": "target_contrast"}
_KEYS = {"Domain": "domain", **DESIGN}
#: (context, target) of the four questions of a row, in the order of their columns.
_QUESTIONS = ((1, 1), (1, 2), (2, 1), (2, 2))
_COLUMNS = [f"context{context}_target{target}" for context, target in _QUESTIONS]


def read_data(folder: Path, name: str) -> pd.DataFrame:
    """The rows of one of the challenge's data sets, file by file.

    Args:
        folder: the challenge's ``evaluation_data``.
        name: ``WHOLE`` or ``FAST``.

    Raises:
        UserError: a file is missing, is not of a domain, or has a line that is no row.
    """
    directory = folder / PLACES[name] / name
    files = {path.stem: path for path in sorted(directory.glob("*.jsonl"))}
    if unknown := sorted(files.keys() - SIZES.keys()):
        raise UserError(
            files[unknown[0]],
            f"is of no domain{did_you_mean(unknown[0], SIZES)}",
            "Remove it, or rename it.",
        )
    if missing := [domain for domain in SIZES if domain not in files]:
        problem = f"has no {missing[0]}.jsonl" + (
            f", and {len(missing) - 1} other domains are missing." if missing[1:] else "."
        )
        raise UserError(
            directory, problem, "Make or unpack the data again; each domain has a file."
        )
    return pd.DataFrame([row for domain in SIZES for row in _read_rows(files[domain])])


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path, "Make or unpack the data again."), 1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(
                where, "is not valid JSON.", "Make or unpack the data again."
            ) from error
        if not isinstance(row, dict):
            raise UserError(
                where, "is not a JSON object ({...}).", "Make or unpack the data again."
            )
        for key in ("Domain", *OFFICIAL_TEXTS):
            if not isinstance(row.get(key), str) or not row[key].strip():
                raise UserError(
                    where, f"has no {key}.", f"A row has {', '.join(OFFICIAL_TEXTS)} and a Domain."
                )
        if row["Domain"] != path.stem:
            raise UserError(
                where,
                f"is of the domain {row['Domain'][:40]}.",
                "Each file has the rows of the domain in its name.",
            )
        yield {column: row.get(key) for key, column in _KEYS.items()}


def _lines(path: Path, fix: str) -> list[str]:
    """Lines end where JSON Lines do: a text may contain other line breaks."""
    return read_text(path, fix).removesuffix("\n").split("\n")


def check_counts(rows: pd.DataFrame, name: str, where: object) -> None:
    """Refuse data that the challenge's collate_preds.py would refuse.

    Raises:
        UserError: a domain has another number of rows.
    """
    counts = rows["domain"].value_counts()
    wrong = [
        f"{domain} {counts.get(domain, 0)} instead of {n}"
        for domain, n in ROWS[name].items()
        if counts.get(domain, 0) != n
    ]
    if wrong:
        problem = (
            f"has {len(rows)} rows, and {name} has {sum(ROWS[name].values())}:"
            f" {', '.join(wrong[:3])}"
        )
        problem += f", and so in {len(wrong) - 3} further domains." if wrong[3:] else "."
        raise UserError(
            where,
            problem,
            "Make or unpack the data again: predictions with other counts are refused.",
        )


def select_items(items: pd.DataFrame, vocabulary: Path) -> pd.DataFrame:
    """The rows of ``WHOLE``, made of the official items: those with words of the challenge's
    vocabulary alone, both ways round.

    Args:
        items: EWoK-core-1.0, ``benchmarks.ewok.contracts.Items``.
        vocabulary: the challenge's ``vocab.txt``, a word per line.

    Raises:
        UserError: the vocabulary cannot be read.
    """
    known_words = {
        line.strip()
        for line in _lines(vocabulary, "Give the challenge's evaluation_pipeline/ewok/vocab.txt.")
    }
    kept = items[
        [
            all(word in known_words for text in texts for word in treebank_words(text))
            for texts in items[list(TEXTS)].to_numpy()
        ]
    ]
    exchanged = kept.rename(
        columns={column: column[:-1] + {"1": "2", "2": "1"}[column[-1]] for column in TEXTS}
    )
    both = pd.concat([kept, exchanged]).sort_index(kind="stable")
    return both.sort_values("domain", kind="stable", ignore_index=True)[list(_KEYS.values())]


#: Where a sentence ends, what is cut off a word, and marks that are words; a comma or colon in a
#: number is not.
_END = re.compile(r"(?<=[.?!])\s+")
_CUT = re.compile(r"(?<=\w)(n't|'(?:s|m|d|ll|re|ve)?)(?!\w)")
_MARK = re.compile(r'[,:](?!\d)|[;?!"()]|\.(?=\s*$)')


def treebank_words(text: str) -> Iterator[str]:
    """The words by which the challenge selects items, in lower case, as the Penn Treebank cuts
    them.

    That is what nltk's word_tokenize makes of texts such as EWoK's: of the 4,374 items of the
    release it keeps the 3,809 that the challenge counts, domain by domain
    (tests/golden/test_ewok_reference.py).

    >>> text = "The Smiths' dog isn't here. It's 1,000 steps away, I cannot walk."
    >>> list(treebank_words(text))[2:9]
    ["'", 'dog', 'is', "n't", 'here', '.', 'it']
    """
    for sentence in _END.split(text.lower()):
        yield from (
            _CUT.sub(r" \1", _MARK.sub(r" \g<0> ", sentence)).replace("cannot", "can not").split()
        )


def asking(rows: pd.DataFrame, method: str) -> Callable[[Engine, Store, str], pd.DataFrame]:
    """A function that asks an engine all that both rules need.

    Args:
        rows: as ``read_data`` gives them.
        method: version of the computation.

    Returns:
        A function of an engine, its store and a name for messages, which returns a row's four sums
        of log probabilities in nats, columns context1_target1 to context2_target2, and raises
        UserError where one is not a finite number.
    """
    texts = {name: rows[name].tolist() for name in TEXTS}
    wanted = [
        Loglikelihood(texts[f"context{context}"][row], texts[f"target{target}"][row])
        for row in range(len(rows))
        for context, target in _QUESTIONS
    ]
    queries = sorted(set(wanted), key=lambda query: (query.context or "", query.target))

    def ask(engine: Engine, store: Store, name: str) -> pd.DataFrame:
        answers = run_requests(
            queries, engine, store, method, what=f"Scoring {name}", total=len(rows)
        ).values
        logprobs = {query: answer.logprob for query, answer in zip(queries, answers, strict=True)}
        if lost := sum(value is None for value in logprobs.values()):
            problem = (
                f"computes NaN, infinity or no number for {lost} of {len(logprobs)} sentences,"
            )
            problem += " and the challenge would count such rows."
            raise UserError(name, problem, "Check the weights; with --dtype float16 try float32.")
        values = np.array([logprobs[query] for query in wanted], float).reshape(-1, len(_QUESTIONS))
        return pd.DataFrame(values, columns=_COLUMNS)

    return ask


@dataclass(frozen=True)
class JudgedRows:
    """Rows by both rules; arrays have the shape (rules, rows), in the order of ``RULES``.

    Attributes:
        right: 1, 0, or 0.5 for a tie by the paper's rule.
        is_tie: exact ties.
        is_near_tie: differences within the tolerance of the precision that are no ties.
    """

    right: np.ndarray
    is_tie: np.ndarray
    is_near_tie: np.ndarray


def judge(scores: pd.DataFrame, backend: str, dtype: str, rules: str) -> JudgedRows:
    """Both rules.

    The challenge sums in single precision, so sums are compared as such numbers. In 2025 its
    backend enc_dec_prefix compared log P(T1 | C1) with log P(T2 | C2).

    Args:
        scores: as ``asking`` gives them.
        backend: name of ``completions.BACKENDS``.
        dtype: what they were computed in.
        rules: year of the challenge's, of ``COMMITS``.
    """
    other = (
        _COLUMNS[2]
        if rules == "2026"
        else _COLUMNS[3]
        if backend == "enc_dec_prefix"
        else _COLUMNS[1]
    )
    single = scores.astype(np.float32).astype(float)
    outcomes = [
        judge_scores(some[_COLUMNS[0]].to_numpy(), some[against].to_numpy(), near_tie_of(dtype))
        for some, against in ((single, other), (scores, _COLUMNS[2]))
    ]
    right = np.stack([outcome[0] for outcome in outcomes])
    is_drawn_right = (
        np.random.default_rng(SEED).random(len(scores)) < 0.5
        if rules == "2026"
        else np.ones(len(scores), bool)
    )
    right[0] = np.where(outcomes[0][1], is_drawn_right, right[0])
    return JudgedRows(
        right,
        np.stack([outcome[1] for outcome in outcomes]),
        np.stack([outcome[2] for outcome in outcomes]),
    )


def write_predictions(rows: pd.DataFrame, right: np.ndarray, folder: Path, rules: str) -> None:
    """The challenge's own two files: its predictions, and its report of accuracies in percent.

    Args:
        rows: as ``read_data`` gives them.
        right: by the challenge's rule, shape (rows,).
        folder: where they are written, see ``place_of``.
        rules: year of the challenge's: in 2025 a prediction is a target, in 2026 a context with the
            first target.
    """
    texts = rows[
        [
            "context1",
            "target1",
            *(["context2", "target1"] if rules == "2026" else ["context1", "target2"]),
        ]
    ]
    predictions: dict[str, Any] = {}
    for domain, pairs, is_right in zip(rows["domain"], texts.to_numpy(), right, strict=True):
        kept = predictions.setdefault(domain, {"predictions": []})["predictions"]
        context, target = pairs[:2] if is_right else pairs[2:]
        kept.append(
            {
                "id": f"{domain}_{len(kept)}",
                "pred": f"{context} {target}" if rules == "2026" else f" {target}",
            }
        )
    lines, domains = ["TEMPERATURE: 1.00", ""], 0.0
    for column, key in _GROUPS.items():
        means = (
            100
            * pd.Series(right)
            .groupby(rows[column].astype("object").fillna("None").to_numpy(), sort=False)
            .mean()
        )
        domains = float(means.mean()) if column == "domain" else domains
        lines += [
            f"### {key.upper()} ACCURACY",
            *(f"{name}: {mean:.2f}" for name, mean in means.items()),
            "",
        ]
    write_text(folder / "predictions.json", json.dumps(predictions))
    write_text(
        folder / "best_temperature_report.txt",
        "\n".join([*lines, "### AVERAGE ACCURACY", f"{domains:.2f}", "", ""]),
    )


def place_of(results: Path, model: str, revision: str, backend: str, name: str) -> Path:
    """Where the challenge's collate_preds.py looks for the predictions of a data set.

    >>> place_of(Path("results"), "me/my-model", "chck_1M", "causal", "ewok_fast").as_posix()
    'results/my-model/chck_1M/zero_shot/causal/ewok/ewok_fast'
    """
    return results / stem_of(model) / revision / "zero_shot" / backend / "ewok" / name


def stem_of(model: str) -> str:
    """The challenge's name of a model: without owner or folder, up to the last full stop.

    >>> stem_of("me/my-model"), stem_of("trainings/mine-1.5b/")
    ('my-model', 'mine-1')
    """
    return Path(hub_id(model)).stem


def babylm_groups(rows: pd.DataFrame) -> list[Group]:
    """All rows, and those of each domain, type and contrast; pairs of concepts are random factors,
    or items without these.
    """
    facts = ["domain", "concept_a", "concept_b"]
    has_concepts = bool(rows["concept_a"].notna().all())
    if not has_concepts:  # an item and its exchange have the same texts
        facts = ["domain", "texts"]
        rows = rows.assign(
            texts=["\n".join(sorted(texts)) for texts in rows[list(TEXTS)].to_numpy()]
        )
    codes = rows.groupby(facts, sort=True, dropna=False).ngroup().to_numpy()
    over = "pairs of concepts" if has_concepts else "items"
    groups = [Group(OVERALL, ALL, np.arange(len(rows)), codes, over)]
    for grouping in _GROUPS:
        for name, units in rows.groupby(grouping, sort=True).indices.items():
            groups.append(Group(grouping, str(name), np.asarray(units), codes[units], over))
    return groups


def _strata(rows: pd.DataFrame, grouping: str, units: np.ndarray) -> np.ndarray:
    """The strata that weigh equally in a mean: domains, where it is over all of them."""
    return (
        rows["domain"].to_numpy(object)[units]
        if grouping == OVERALL
        else np.full(len(units), "", object)
    )


def means_by_rule(
    rows: pd.DataFrame, judged: Mapping[str, JudgedRows], model: str, eval_type: str
) -> pd.DataFrame:
    """Means by both rules; the overall one is the mean of the domains' means, as the challenge's.

    Args:
        rows: as ``read_data`` gives them.
        judged: revision -> what was found for it.
        model: name in the table.
        eval_type: name in the table.

    Returns:
        ``contracts.BabylmSummaries``.
    """
    right = np.concatenate([part.right for part in judged.values()])
    series = pd.MultiIndex.from_product([judged, RULES], names=["condition", "metric"]).to_frame(
        index=False
    )
    tables = []
    for group in babylm_groups(rows):
        stratum = _strata(rows, group.grouping, group.units)
        estimates = crossed_means(
            right[:, group.units], group.cluster, None, stratum, tested=False, bounds=(0.0, 1.0)
        )
        counts = {
            f"n_{name}": np.concatenate(
                [
                    getattr(part, f"is_{name[:-1]}")[:, group.units].sum(axis=1)
                    for part in judged.values()
                ]
            )
            for name in ("ties", "near_ties")
        }
        tables.append(
            series.assign(
                grouping=group.grouping,
                group=group.name,
                mean=np.clip(estimates.mean, 0, 1),
                std_error=estimates.std_error,
                ci_low=estimates.ci_low,
                ci_high=estimates.ci_high,
                interval_over=group.interval_over,
                status=estimates.status,
                n=len(group.units),
                n_clusters=estimates.n_clusters,
                **counts,
            )
        )
    return pd.concat(tables, ignore_index=True).assign(model=model, eval_type=eval_type)[
        list(BabylmSummaries.columns)
    ]


def cells_of(rows: pd.DataFrame, judged: JudgedRows) -> pd.DataFrame:
    """One checkpoint's means of cells by both rules, from which learning curves are computed.

    Args:
        rows: as ``read_data`` gives them.
        judged: what was found.

    Returns:
        Columns eval_type (the rule) and grouping to n of ``contracts.CheckpointScores``.
    """
    none, groups = np.full(len(rows), ""), babylm_groups(rows)
    parts = (
        [group for group in groups if group.grouping == OVERALL],
        [group for group in groups if group.grouping != OVERALL],
    )
    return pd.concat(
        [
            to_cells(
                right, none, _strata(rows, part[0].grouping, np.arange(len(rows))), part
            ).assign(eval_type=rule)
            for part in parts
            for rule, right in zip(RULES, judged.right, strict=True)
        ],
        ignore_index=True,
    )


def revisions_in_words(summaries: pd.DataFrame, revisions: Sequence[str]) -> list[str]:
    """A line for each revision: accuracy in percent with its interval, ties and near ties, by both
    rules.
    """
    overall = summaries[summaries["grouping"] == OVERALL]
    by_rule = {(row["condition"], row["metric"]): row for row in overall.to_dict("records")}
    lines = []
    for revision in revisions:
        parts = []
        for row in (by_rule[revision, rule] for rule in RULES):
            interval = (
                ""
                if np.isnan(row["ci_low"])
                else f" [{100 * row['ci_low']:.1f}, {100 * row['ci_high']:.1f}]"
            )
            ties = f"{counted(row['n_ties'], 'tie')}, {counted(row['n_near_ties'], 'near tie')}"
            parts.append(f"{row['metric']} {100 * row['mean']:6.2f}{interval}, {ties}")
        lines.append(f"{revision:10}" + "; ".join(parts))
    return lines
