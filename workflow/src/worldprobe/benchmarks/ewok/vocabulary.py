"""The papers' terms, in one place (EWoK: arXiv 2405.09605, Section 3 and Appendix A; names as in
DESIGN).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import LOGGER
from worldprobe.models.registry import BASELINES

if TYPE_CHECKING:
    import pandas as pd

TARGET_CONTRASTS = ("concept swap", "variable swap")
CONTEXT_CONTRASTS = ("antonym", "negation", "variable swap", "other")
#: An item's four texts, and the original's names of them.
TEXTS = ("context1", "context2", "target1", "target2")
OFFICIAL_TEXTS = ("Context1", "Context2", "Target1", "Target2")

#: The grouping of means that give every pair of concepts the same weight.
PAIRS = "concept pairs"
#: Grouping of the split-half reliability of a profile over domains, whose rows are not means.
RELIABILITY = "reliability of domains"
CONTEXT_TYPES = ("direct", "indirect")

#: Whether the items of a version share their fillings, as the paper's do, or each has its own.
SHARED, OWN = FILLINGS = ("shared", "own")
#: share of pairs of items with one slot whose fillers are the same, from which on fillings are
#: shared.
_ALIKE = 0.75

#: what one item is counted and grouped by.
DESIGN = (
    "domain",
    "version",
    "meta_template",
    "template",
    "concept_a",
    "concept_b",
    "context_contrast",
    "context_type",
    "target_contrast",
)
#: what templates of families have besides.
FAMILY = ("family", "base", "level")
#: Where EWoK's authors keep EWoK-core-1.0 on the hub.
RELEASE = {
    "id": "ewok-core/ewok-core-1.0",
    "task_id": "default",
    "revision": "34d912a608066c92e2990a0328ffc3bd9a716042",
}
#: What a score is called: that of the published items, and what says which others it is of.
TITLE, METHOD_ON = "EWoK", "EWoK's method, {}"
#: surface features of an item, and how they are printed.
SURFACE_FEATURES = {"log_frequency": "word frequency", "n_words": "number of words"}
#: what baselines make of an item, as a feature of it.
BASELINE_FEATURES = {
    "word2vec": "word2vec accuracy",
    "wordnet": "WordNet accuracy",
    "sentence_vectors": "sentence vector accuracy",
}

ACCURACIES = (0.0, 0.5, 1.0)


#: Soft hyphens, characters without width, and marks of direction; those that join letters are seen.
_UNSEEN = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
#: Spaces of fixed width, also those that break no line.
_FIXED_SPACE = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f]")


#: A full-width stop, perhaps in quotation marks: it brings the distance to what follows.
_FULL_WIDTH_END = re.compile(r"[\u3000-\u303f\uff00-\uffef][”’]*$")


#: The variable that states the password of materials, and how it is said.
PASSWORD_VARIABLE = "WORLDPROBE_MATERIALS_PASSWORD"
PASSWORD_HINT = (
    f"Set {PASSWORD_VARIABLE}, or materials.password; for EWoK's own materials, their README"
    " states it."
)


def joint(context: str) -> str:
    """What stands between a context and a target, and belongs to the target: a blank, or, behind a
    full-width stop as Chinese has it, nothing.

    >>> joint("The box is heavy."), joint("箱子很重。")
    (' ', '')
    """
    return "" if _FULL_WIDTH_END.search(context) else " "


def normalize_text(text: str) -> str:
    r"""A text as it is asked: no spaces around it, plain spaces within, nothing unseen, letters
    composed (Unicode's NFC).

    A model reads other tokens otherwise, and a reader sees no difference.

    >>> normalize_text(" Zoe\u0308\u00a0di\u00adgs.\r\n")
    'Zoë digs.'
    """
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    return _FIXED_SPACE.sub(" ", _UNSEEN.sub("", text)).strip()


def normalize_texts(table: pd.DataFrame, columns: Iterable[str], where: object) -> int:
    """Normalize the texts of a table in place, see ``normalize_text``, and say how many that
    changed; returns the number.
    """
    n_changed = 0
    for column in columns:
        texts = table[column].map(normalize_text, na_action="ignore")
        n_changed += int((texts != table[column])[texts.notna()].sum())
        table[column] = texts
    if n_changed:
        LOGGER.warning(
            "%s: %d texts had spaces or line breaks around them, spaces of fixed width, unseen"
            " characters, or letters in two characters (NFD): they are asked without, with plain"
            " spaces and in NFC",
            where,
            n_changed,
        )
    return n_changed


def filling_of(items: pd.DataFrame) -> str:
    """One of FILLINGS: whether slots of one name have mostly one filler throughout a version.

    Args:
        items: columns version and fillers of contracts.Items. Without two items of one slot they
            count as shared: nothing then says that another version would be as kind.
    """
    fillings = Counter(
        (version, slot, filler)
        for version, fillers in zip(items["version"], items["fillers"], strict=True)
        for slot, filler in json.loads(fillers).items()
    )
    slots: Counter[tuple[int, str]] = Counter()
    for (version, slot, _), n in fillings.items():
        slots[version, slot] += n
    n_pairs, n_alike = (sum(n * (n - 1) for n in counts.values()) for counts in (slots, fillings))
    return OWN if n_alike < _ALIKE * n_pairs else SHARED


def contrast_group(label: str | None) -> str:
    """One of CONTEXT_CONTRASTS for any contrast label of a template (paper, Section 3; released
    analysis, step 1).

    >>> contrast_group("antonym"), contrast_group("material"), contrast_group(None)
    ('antonym', 'other', 'other')
    """
    return label if label in CONTEXT_CONTRASTS else "other"


def slot_class(slot: str) -> str:
    """The filler class that a slot asks for: its name up to the first digit, restriction or swap.

    >>> slot_class("object1:large=true"), slot_class("agent2"), slot_class("nonword_from_object1")
    ('object', 'agent', 'nonword')
    """
    return re.split(r"\d|:|_from_", slot, maxsplit=1)[0].rpartition(" ")[2]


PARADIGMS = ("logprobs", "likert", "choice")
GENERATIONS = ("free", "constrained")
SHOTS = ("zero", "two")
TITLES = {
    "logprobs": "LogProbs",
    "likert": "Likert",
    "choice": "Choice",
    "free": "free",
    "constrained": "constrained",
    "zero": "no examples",
    "two": "two examples",
}

SHORT = {"free": "free", "constrained": "constr.", "zero": "no ex.", "two": "2 ex."}


@dataclass(frozen=True)
class Way:
    """One way of asking; its name is the ``eval_type`` of tables, files and configuration.

    Attributes:
        paradigm: ``logprobs``, ``likert`` or ``choice``.
        generation: ``free`` or ``constrained``; empty for LogProbs, which asks nothing.
        shots: ``zero`` or ``two`` worked examples; empty for LogProbs.
    """

    paradigm: str
    generation: str = ""
    shots: str = ""

    @property
    def name(self) -> str:
        """The eval_type.

        >>> Way("likert", "free", "zero").name, Way("logprobs").name
        ('likert_free_zero', 'logprobs')
        """
        return "_".join(part for part in (self.paradigm, self.generation, self.shots) if part)

    @property
    def setup(self) -> str:
        """Generation and shots, which a Likert and a Choice way can share; empty for LogProbs.

        >>> Way("choice", "constrained", "two").setup
        'constrained_two'
        """
        return "_".join(part for part in (self.generation, self.shots) if part)

    @property
    def title(self) -> str:
        """As it is written in a sentence.

        >>> Way("likert", "constrained", "two").title
        'Likert, constrained, two examples'
        """
        return title_of(self.name)

    @property
    def short(self) -> tuple[str, ...]:
        """Generation and shots, as headings of narrow columns; empty for LogProbs.

        >>> Way("likert", "constrained", "two").short
        ('constr.', '2 ex.')
        """
        return tuple(SHORT[part] for part in (self.generation, self.shots) if part)

    @property
    def is_prompted(self) -> bool:
        """Whether the model is asked a question and answers in words; LogProbs only scores."""
        return self.paradigm != "logprobs"

    @property
    def is_rated(self) -> bool:
        """Whether answers are ratings of single sentences, so that two targets can both be without
        a preference.
        """
        return self.paradigm == "likert"


def title_of(eval_type: str) -> str:
    """A way of asking, or a further reading of one, as it is written in a sentence.

    >>> title_of("logprobs_targets_sum")
    'LogProbs, targets, sum'
    """
    return ", ".join(TITLES.get(part, part) for part in eval_type.split("_"))


#: every way, in the order in which they are shown.
WAYS = (Way("logprobs"), *(Way(p, g, s) for p in PARADIGMS[1:] for g in GENERATIONS for s in SHOTS))
EVAL_TYPES = tuple(way.name for way in WAYS)
#: further readings of log probabilities: both targets under one context, by each measure
#: (analysis.judge).
TARGET_TYPES = ("logprobs_targets_sum", "logprobs_targets_mean", "logprobs_targets_pmi")
#: eval types of judgements: the models', and those of baselines and of people.
JUDGED_TYPES = (*EVAL_TYPES, *TARGET_TYPES, *BASELINES, "human_likert")
_BY_NAME = {way.name: way for way in WAYS}


def way_of(eval_type: str) -> Way:
    """The way with a name.

    Raises:
        UserError: there is none.

    >>> way_of("likert_constrained_two").generation
    'constrained'
    """
    if eval_type not in _BY_NAME:
        near = did_you_mean(eval_type, _BY_NAME)
        raise UserError(
            f"eval type {eval_type}", f"is unknown{near}", f"Known: {', '.join(_BY_NAME)}."
        )
    return _BY_NAME[eval_type]


def is_prompted(eval_type: str) -> bool:
    """Whether judgements of this eval type come from a model's answers to prompts."""
    return eval_type in _BY_NAME and _BY_NAME[eval_type].is_prompted


def is_graded(eval_type: str) -> bool:
    """Whether a model answers in degrees that can be correlated with people's ratings: log
    probabilities and ratings.

    >>> [
    ...     is_graded(name)
    ...     for name in ("logprobs", "likert_free_zero", "choice_free_zero", "word2vec")
    ... ]
    [True, True, False, False]
    """
    return eval_type in _BY_NAME and _BY_NAME[eval_type].paradigm != "choice"


#: Why Choice has no pairing.
NO_PAIRING = "Choice has no pairing: it has two answers per item, and a pairing needs four values."


def has_pairing(eval_type: str) -> bool:
    """Whether an item has four values in this eval type, which say what pairing fits: Choice has
    two answers.

    >>> [
    ...     has_pairing(name)
    ...     for name in ("logprobs", "likert_free_zero", "choice_free_zero", "wordnet")
    ... ]
    [True, True, False, True]
    """
    return eval_type not in _BY_NAME or _BY_NAME[eval_type].paradigm != "choice"


def is_rated(eval_type: str) -> bool:
    """Whether judgements of this eval type come from a model's ratings."""
    return eval_type in _BY_NAME and _BY_NAME[eval_type].is_rated
