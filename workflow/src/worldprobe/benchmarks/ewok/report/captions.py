"""Where each figure and table stands in the report, and what its caption says; the numbers are in the figure's own CSV."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A part of the page with the stems of the tables and figures it shows."""

    id: str
    title: str
    intro: str
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


SECTIONS = (
    Section(
        "accuracy",
        "Accuracy",
        "Two contexts and two targets make an item; a model is right about a target if it finds it likelier after the context "
        "that it belongs to. Chance is 0.5.",
        ("accuracy_by_domain",),
        ("mean_accuracy", "accuracy_by_domain"),
    ),
    Section(
        "concepts",
        "Concepts",
        "Which concepts fail, and for whom. Open a domain to see its concepts, the hardest first.",
        ("concepts",),
    ),
    Section(
        "controls",
        "What the control models learned",
        "Some pairings of context and target, and some fillers, were kept out of the stories that the control models learned "
        "from. Accuracy above chance on these is generalisation; on the others it may be memory.",
        ("controls",),
        ("controls",),
    ),
    Section("scale", "Size", "Accuracy against the number of parameters.", ("scaling",)),
    Section(
        "design",
        "Design and surface of the items",
        "How the type of context, the contrasts between contexts and between targets, and the sentences' surface go with "
        "accuracy.",
        ("design_features", "word2vec", "n_words", "log_frequency"),
        ("correlations", "mixed_model", "fixed_effects"),
    ),
    Section(
        "paradigms",
        "Ways of asking",
        "The same items by log probabilities, by Likert ratings and by an outright choice.",
        ("paradigms", "agreement", "setups_by_model", "setups_by_domain"),
        ("accuracy_by_paradigm", "likert_strict"),
    ),
    Section("comparisons", "Is one model better than another?", "Paired over the same items.", (), ("comparisons",)),
    Section(
        "reproduction", "Beside the published numbers", "Every number that the paper printed, beside ours.", (), ("reproduction",)
    ),
    Section("materials", "Materials", "What the items are made of.", (), ("dataset",)),
)

_SETUPS = "Free: any answer; constr.: only the numerals of the scale; ex.: examples in the prompt. White is chance."

CAPTIONS = {
    "accuracy_by_domain": "Accuracy by domain, from the easiest to the hardest for the models. Bars: mean over versions; dots: "
    "single versions; dashed: chance; grey band, where present: humans' range over versions, with their mean.",
    "concepts": "Accuracy by concept and model. White is chance, blue above, orange below; concepts stand from hardest to "
    "easiest in each domain.",
    "controls": "Control models on templates whose pairing of context and target stood in their stories, and on templates whose "
    "pairing was held out; left with fillers they had read, right with at least one held-out filler.",
    "scaling": "Accuracy against the number of parameters; vertical lines: range over versions; slanting lines: a family's mean "
    "at each size. Models of the same size are drawn side by side; control models are not joined.",
    "design_features": "A-C: accuracy by design feature, a dot per model, red their mean. D-F: correlation of accuracy with the "
    "word2vec baseline's accuracy, the number of words and word frequency over domains and versions, with 95% intervals; "
    "filled: p < 0.05.",
    "word2vec": "Accuracy against the accuracy of the word2vec baseline; a point is a domain in a version.",
    "n_words": "Accuracy against the number of words; a point is a domain in a version.",
    "log_frequency": "Accuracy against word frequency; a point is a domain in a version.",
    "paradigms": "LogProbs, Likert and Choice on the same items, with the range over versions.",
    "agreement": "The context chosen outright against the context that Likert ratings prefer, in percent of targets. "
    "No preference: equal ratings, or a choice that follows the position. Below each name: agreement among readable answers.",
    "setups_by_model": f"Accuracy under every prompting set-up, by model. {_SETUPS}",
    "setups_by_domain": f"Accuracy under every prompting set-up, by domain, averaged over models. {_SETUPS}",
}
