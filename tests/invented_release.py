"""Results in the layout in which EWoK's authors released theirs; all texts and numbers are
invented.
"""

import csv
import io

CANARY = "# toy canary\n"
#: (metatemplate, template) of the toy domain; 4 repeats 3's texts, so it is a duplicate of it in
#: every version.
TEMPLATES = [(1, 1), (2, 1), (3, 1), (4, 1)]


def design(meta, template, version, **changes):
    number = 3 if meta == 4 else meta
    row = {
        "MetaTemplateID": meta,
        "TemplateID": template,
        "Domain": "toy-world",
        "ConceptA": "up",
        "ConceptB": "-" if meta == 2 else "down",
        "TargetDiff": "concept swap",
        "ContextDiff": {1: "antonym", 2: "material", 3: "negation", 4: "negation"}[meta],
        "ContextType": "direct",
        "Context1": f"Kite {number} of set {version} rises.",
        "Context2": f"Kite {number} of set {version} falls.",
        "Target1": f"Kite {number} goes up.",
        "Target2": f"Kite {number} goes down.",
    }
    return row | changes


def text_of(rows):
    stream = io.StringIO()
    writer = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return CANARY + stream.getvalue()


def rows_of(items):
    """Version -> rows in the released layout, of an items table."""
    names = {"MetaTemplateID": "meta_template", "TemplateID": "template", "Domain": "domain"}
    names |= {"ConceptA": "concept_a", "ConceptB": "concept_b", "ContextType": "context_type"}
    names |= {"TargetDiff": "target_contrast", "ContextDiff": "context_contrast"}
    names |= {f"{part}{n}": f"{part.lower()}{n}" for part in ("Context", "Target") for n in (1, 2)}
    return {
        version: [
            {key: "-" if row[name] is None else row[name] for key, name in names.items()}
            for row in part.astype(object).where(part.notna(), None).to_dict("records")
        ]
        for version, part in items.groupby("version")
    }


def toy_release(n_versions=5, items=None):
    """path -> text, in the released layout: two models, three paradigms, human ratings,
    controls, lists of problem items; of toy items, or of those of an items table.
    """
    files = {}
    by_version = {v: [design(m, t, v) for m, t in TEMPLATES] for v in range(n_versions)}
    if items is not None:
        by_version = rows_of(items)
    for version, rows in by_version.items():
        folder = f"outputs/results/toy/dataset-cfg=abc__fix=True__n=1__vers={version}"

        def put(kind, model, values, rows=rows, folder=folder):
            name = f"{folder}/eval={kind}/model={model}/testsuite-toy_world.csv"
            files[name] = text_of([row | values(i) for i, row in enumerate(rows)])

        scores = {f"logp_target{t}_context{c}": -1.0 * c for t in (1, 2) for c in (1, 2)}
        put("logprobs", "Meta_Llama_3_8B", lambda i, s=scores: s)
        put("logprobs", "gemma_1.1_2b_it", lambda i, s=scores: s | {"logp_target1_context2": -1.0})
        rated = {
            f"text_likert_target{t}_context{c}": v
            for (t, c), v in {(1, 1): "4.", (1, 2): " 2", (2, 1): "3", (2, 2): "three"}.items()
        }
        put("likert_constrained_optimized", "gemma_1.1_2b_it", lambda i, r=rated: r)
        put(
            "choice_free_original",
            "gemma_1.1_2b_it",
            lambda i: {"text_choice_target1": "1", "text_choice_target2": "Context 1"},
        )
        put(
            "cosine",
            "word2vec",
            lambda i: {f"Target{t}_Context{c}": 0.1 * t * c for t in (1, 2) for c in (1, 2)},
        )
        lengths = {"Target1": 4, "Target2": 5, "Context1": 6, "Context2": 8}
        put(
            "controls",
            "controls",
            lambda i, n=lengths: (
                {f"{k}_Length": v for k, v in n.items()}
                | {f"{k}_Freq": 2 * v for k, v in n.items()}
            ),
        )
    people = [
        row for rows in by_version.values() for row in (rows if items is not None else rows[:3])
    ]
    grid = {"response_mean_target1_context1": 4.5, "response_mean_target1_context2": 1.5}
    grid |= {"response_mean_target2_context1": 1.5, "response_mean_target2_context2": 4.2}
    files["outputs_human/results_by_domain/toy.csv"] = text_of(
        [
            {k: row[k] for k in ("Target1", "Target2", "Context1", "Context2")} | grid
            for row in people
        ]
    )
    texts = ("Context1", "Context2", "Target1", "Target2")
    flagged = [design(2, 1, 0) | {"problem": "reverse"}, design(1, 1, 3) | {"problem": "fine"}]
    files["scripts/flagged_items_human.csv"] = text_of(
        [{k: r[k] for k in (*texts, "problem")} for r in flagged]
    )
    files["utils/remove_from_results.csv"] = text_of(
        [{k: design(1, 1, 4)[k] for k in ("Domain", *texts)}]
    )
    files["notes/other.csv"] = "a,b\n1,2\n"
    return files
