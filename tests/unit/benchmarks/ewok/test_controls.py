"""What the control models' corpus holds and leaves out."""

import itertools
import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldprobe import cli
from worldprobe.benchmarks.ewok import controls
from worldprobe.benchmarks.ewok.contracts import ControlAccuracies, ControlDocuments, ControlFillers, ControlTemplates, Templates
from worldprobe.benchmarks.ewok.controls import write_corpus
from worldprobe.benchmarks.ewok.materials.documents import Place
from worldprobe.benchmarks.ewok.materials.slots import KEY, Filler, FillerClass
from worldprobe.contracts import read_provenance, read_table, validate
from worldprobe.errors import UserError

CONTEXTS = {
    "near": ("{agent1} {v} the shed with {object1} in both hands.", ("enters", "leaves")),
    "late": ("The clock of {agent1} shows {v}.", ("dusk", "dawn")),
    "duel": ("{agent1} {v} {agent2} at chess.", ("beats", "loses to")),
}
TARGETS = {
    "lamp": ("{agent1} {v} the lamp.", ("lights", "quenches")),
    "door": ("The door of {agent1} is {v}.", ("open", "shut")),
    "mood": ("{agent1} feels {v} with {object1:large=true}.", ("proud", "humble")),
}


def toy_templates(domains=("toy-world", "toy-town")):
    """Every context with every target, in several domains: each sentence stands in three templates."""
    rows = []
    for domain in domains:
        for unit, (context, target) in enumerate(itertools.product(CONTEXTS.values(), TARGETS.values()), start=1):
            (context_text, context_words), (target_text, target_words) = context, target
            texts = {f"context{n}": context_text.replace("{v}", word) + f" ({domain})" for n, word in enumerate(context_words, 1)}
            texts |= {f"target{n}": target_text.replace("{v}", word) + f" ({domain})" for n, word in enumerate(target_words, 1)}
            rows.append({"template_id": f"{domain}_{unit}_1", "domain": domain, "meta_template": unit, "template": 1} | texts)
    return pd.DataFrame(rows)


def filler_class(name, texts):
    """A class of fillers; ``texts``: text -> restrictions."""
    fillers = tuple(Filler(text, columns) for text, columns in texts.items())
    return FillerClass(name, tuple(next(iter(texts.values()))), fillers, Place(name))


def slots_of(templates):
    texts = templates[["context1", "context2", "target1", "target2"]].to_numpy().ravel()
    return {slot for text in texts for slot in KEY.findall(text)}


def toy_fillers():
    return {
        "agent": filler_class("agent", {f"Agent{n}": {} for n in range(12)}),
        "object": filler_class("object", {f"thing{n}": {"large": str(n % 2 == 0).lower()} for n in range(16)}),
        "unused": filler_class("unused", {"Agent1": {}, "nothing": {}}),
    }


def fill(templates, fillers, count, seed):
    """Independent fillings, as the compiler makes them."""
    rows = []
    for template in templates.itertuples():
        texts = {name: getattr(template, name) for name in ("context1", "context2", "target1", "target2")}
        slots = sorted({slot for text in texts.values() for slot in KEY.findall(text)})
        for number in range(count):
            draw = np.random.default_rng([seed, number, template.meta_template, len(template.domain)])
            pools = {slot: sorted(controls.fitting(fillers[controls.slot_class(slot)], slot)) for slot in slots}
            chosen = {slot: pool[draw.integers(len(pool))] for slot, pool in pools.items()}
            filled = {}
            for name, text in texts.items():
                for slot, value in chosen.items():
                    text = text.replace(f"{{{slot}}}", value)
                filled[name] = text
            rows.append(
                {
                    "item_id": f"{template.template_id}_v{number}",
                    "domain": template.domain,
                    "meta_template": template.meta_template,
                    "template": template.template,
                    "fillers": json.dumps(chosen),
                }
                | filled
            )
    return pd.DataFrame(rows)


def toy_corpus(seed=3, share=0.3):
    templates, fillers = toy_templates(), toy_fillers()
    held_out = controls.split_templates(templates, share, seed)
    unseen = controls.split_fillers(fillers, slots_of(templates), 0.25, seed)
    return templates, held_out, unseen, write_corpus(templates, fillers, held_out, unseen, 240, 90, seed, fill)


def shape(text):
    """A filled text with its fillers blanked, so that it can be compared with a template's."""
    for kind in ("Agent", "thing"):
        for number in reversed(range(16)):
            text = text.replace(f"{kind}{number}", "_")
    return text


def blanked(text):
    return KEY.sub("_", text)


def test_stories_join_right_pairings_of_kept_templates_only():
    templates, held_out, _, documents = toy_corpus()
    validate(documents, ControlDocuments)
    validate(held_out, ControlTemplates)
    kept = templates[templates.template_id.isin(held_out.template_id[held_out.status == "held_in"])]
    allowed = {
        f"{blanked(getattr(t, f'context{n}'))} {blanked(getattr(t, f'target{n}'))}" for t in kept.itertuples() for n in (1, 2)
    }
    assert len(kept) < len(templates)
    assert {shape(text) for text in documents.text[documents.kind == "story"]} == allowed


def test_held_out_sentences_stand_in_other_stories_and_alone():
    templates, held_out, _, documents = toy_corpus()
    out = templates[templates.template_id.isin(held_out.template_id[held_out.status == "new_pairing"])]
    assert len(out) == 6  # 0.3 of 9, in each of two domains
    story = " ".join(shape(text) for text in documents.text[documents.kind == "story"])
    alone = {shape(text) for text in documents.text[documents.kind != "story"]}
    for text in {blanked(text) for text in out[["context1", "context2", "target1", "target2"]].to_numpy().ravel()}:
        assert text in story
        assert text in alone


def test_both_targets_and_both_contexts_of_a_template_are_equally_frequent_in_stories_and_alone():
    templates, _, _, documents = toy_corpus()
    counts = documents.groupby(["template_id", "kind", "number"]).size().unstack()
    assert (counts[1] == counts[2]).all()
    assert documents[documents.kind == "story"].groupby("template_id").size().nunique() == 1
    assert set(documents.template_id[documents.kind == "target"]) == set(templates.template_id)


def test_held_out_fillers_stand_in_single_sentences_and_never_in_a_story():
    _, _, unseen, documents = toy_corpus()
    validate(unseen, ControlFillers)
    held = set(unseen.filler[unseen.is_held_out])
    in_stories = {word.strip(".") for text in documents.text[documents.kind == "story"] for word in text.split()}
    alone = {word.strip(".") for text in documents.text[documents.kind != "story"] for word in text.split()}
    assert len(held) == 3 + 4
    assert not held & in_stories
    assert held <= alone


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another():
    first, again, other = toy_corpus()[-1], toy_corpus()[-1], toy_corpus(seed=4)[-1]
    pd.testing.assert_frame_equal(first, again)
    assert first.text.tolist() != other.text.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.9), st.data())
def test_any_split_keeps_every_target_in_a_story_and_its_share(seed, share, drawn):
    templates = toy_templates()
    templates = templates.iloc[sorted(drawn.draw(st.sets(st.integers(0, len(templates) - 1), min_size=1)))]
    held_out = controls.split_templates(templates, share, seed)
    joined = templates.merge(held_out[["template_id", "status"]], on="template_id")
    kept = joined[joined.status == "held_in"]
    assert set(kept.target1) == set(joined.target1)
    new_pairing = joined[joined.status == "new_pairing"]
    assert set(new_pairing.context1) <= set(kept.context1)
    for _, rows in joined.groupby("domain"):
        assert (rows.status != "held_in").sum() <= round(share * len(rows))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.95), st.integers(1, 16))
def test_any_split_of_fillers_leaves_every_slot_half_of_its_fillers(seed, share, count):
    fillers = {"object": filler_class("object", {f"thing{n}": {"large": str(n % 3 == 0).lower()} for n in range(count)})}
    slots = ["object1", "object2:large=true", "object1:large=false"]
    unseen = controls.split_fillers(fillers, slots, share, seed)
    kept = controls.without_held_out(fillers, unseen)["object"]
    for slot in slots:
        before, after = len(controls.fitting(fillers["object"], slot)), len(controls.fitting(kept, slot))
        assert after >= min(before, max(controls.FILLERS_KEPT, before / 2))
    assert unseen.is_held_out.sum() <= round(share * count)


def test_templates_that_share_a_pairing_up_to_the_names_of_variables_are_held_out_together():
    texts = {"context2": "x {agent1}", "target2": "y {agent1}", "domain": "toy-world", "template": 1}
    templates = pd.DataFrame(
        [
            {
                "template_id": "toy-world_1_1",
                "meta_template": 1,
                "context1": "{agent1} beats {agent2}",
                "target1": "{agent2} cries",
            }
            | texts,
            {
                "template_id": "toy-world_2_1",
                "meta_template": 2,
                "context1": "{agent2} beats {agent1}",
                "target1": "{agent1} cries",
            }
            | texts
            | {"context2": "z"},
            {
                "template_id": "toy-world_3_1",
                "meta_template": 3,
                "context1": "{agent2} beats {agent1}",
                "target1": "{agent2} cries",
            }
            | texts
            | {"context2": "w"},
        ]
    )
    assert controls.template_groups(templates).tolist() == [0, 0, 1]


def test_accuracies_are_told_apart_by_templates_and_fillers():
    items = pd.DataFrame(
        {
            "item_id": [f"toy-world_{n}_1_v{v}" for n in (1, 2) for v in (0, 1)],
            "domain": "toy-world",
            "meta_template": [1, 1, 2, 2],
            "template": 1,
            "fillers": ['{"agent1": "Ada"}', '{"agent1:sex=female": "Bea"}', '{"agent1": "Ada"}', '{"agent1": "Bea"}'],
            "target_contrast": ["concept swap", "concept swap", "variable swap", "variable swap"],
        }
    )
    templates = pd.DataFrame({"template_id": ["toy-world_1_1", "toy-world_2_1"], "status": ["held_in", "new_pairing"]})
    fillers = pd.DataFrame({"filler_class": "agent", "filler": ["Ada", "Bea"], "is_held_out": [False, True]})
    status = controls.item_status(items, templates, fillers)
    judgements = pd.DataFrame(
        {
            "item_id": items.item_id.repeat(2),
            "model": "toy",
            "eval_type": "logprobs",
            "target": [1, 2] * 4,
            "accuracy": [1, 1, 1, 0, 1, 0.5, np.nan, 1],
            "is_tie": [False] * 5 + [True] + [False] * 2,
        }
    )
    found = validate(controls.accuracy_by_split([judgements], status), ControlAccuracies)
    by_swap = found[(found.templates == "all") & (found.fillers == "all")].set_index("targets")["mean"]
    assert by_swap.to_dict() == {"all": 0.8125, "concept swap": 0.75, "variable swap": 0.875}
    found = found[found.targets == "all"]
    means = {(row.templates, row.fillers): row.mean for row in found.itertuples()}
    assert means["held_in", "seen"] == 1
    assert means["held_in", "some_unseen"] == 0.5
    assert means["held_out", "seen"] == means["new_pairing", "seen"] == 0.75
    assert means["new_pairing", "some_unseen"] == 1  # the target without a score is left out, as in the summaries
    assert means["all", "all"] == (1 + 0.5 + 0.75 + 1) / 4
    assert np.isnan(means["new_context", "all"])
    with pytest.raises(UserError, match="several eval types"):
        controls.accuracy_by_split([judgements, judgements.assign(eval_type="likert_free_two", model="other")], status)
    with pytest.raises(UserError, match="toy is judged twice"):
        controls.accuracy_by_split([judgements, judgements], status)
    assert found.n_missing[(found.templates == "all") & (found.fillers == "all")].tolist() == [1]


@pytest.fixture(scope="module")
def materials(repository):
    return repository / "resources" / "materials" / "ewok-builtin"


def test_the_command_writes_the_same_folder_twice_and_leaves_out_what_its_tables_say(tmp_path, materials):
    templates = tmp_path / "templates.parquet"
    assert cli.main(["templates", "compile", str(materials), "--out", str(templates)]) == 0
    for name in ("one", "two"):
        command = [
            "controls",
            "write-corpus",
            str(templates),
            str(materials),
            "--stories",
            "1600",
            "--sentences",
            "2200",
            "--seed",
            "7",
        ]
        assert cli.main([*command, "--out", str(tmp_path / name)]) == 0
    files = ("documents.parquet", "templates.parquet", "fillers.parquet")
    assert all((tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes() for file in files)
    documents = read_table(tmp_path / "one" / "documents.parquet", ControlDocuments)
    held_out = read_table(tmp_path / "one" / "templates.parquet", ControlTemplates)
    in_stories = Counter(documents.template_id[documents.kind == "story"])
    assert set(in_stories) == set(held_out.template_id[held_out.status == "held_in"])
    share = (held_out.status != "held_in").mean()
    assert 0.2 < share < 0.3
    assert set(held_out.template_id) == set(read_table(templates, Templates).template_id)
    assert not documents.text.str.contains("[{}]").any()
    made = read_provenance(tmp_path / "one" / "documents.parquet")
    assert made.seed == 7
    assert made.canary
