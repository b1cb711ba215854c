"""Items come from templates: what fixed filling shares, what independent sampling varies,
swaps, filters and traces.
"""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine
from worldprobe.benchmarks.ewok.materials.duplicates import flag_duplicates
from worldprobe.benchmarks.ewok.materials.fillers import Filler, FillerClass, Fillers
from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.benchmarks.ewok.materials.opened import Swap, apply_swap, parse_swaps, settle
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.materials.release_filter import apply_release_filter
from worldprobe.benchmarks.ewok.materials.samplers import FixedSampler, IndependentSampler
from worldprobe.benchmarks.ewok.materials.slots import Key, fill
from worldprobe.benchmarks.ewok.materials.subsets import filter_tags, in_share
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError


def keyed(*keys):
    return tuple(map(Key, keys))


def fillers(rules=RIGHT, **classes):
    """``object=[("the jar", {"large": "true"}), ...]``, or plain texts."""
    made = {}
    for name, rows in classes.items():
        pairs = [row if isinstance(row, tuple) else (row, {}) for row in rows]
        columns = tuple(dict.fromkeys(column for _, columns in pairs for column in columns))
        made[name] = FillerClass(
            name,
            columns,
            tuple(Filler(text, columns) for text, columns in pairs),
            MaterialsLine(""),
        )
    return Fillers(made, rules)


def sized(count):
    return [(f"the pot{i}", {"large": "true" if i % 2 else "false"}) for i in range(count)]


def shuffled(count):
    """The order of the specification: NumPy's default generator with seed 42 on a list."""
    order = list(range(count))
    np.random.default_rng(42).shuffle(order)
    return order


@pytest.mark.parametrize(
    ("count", "order"), [(5, [4, 2, 3, 1, 0]), (10, [5, 6, 0, 7, 3, 2, 4, 9, 1, 8])]
)
def test_fillers_are_tried_in_the_originals_shuffled_order(count, order):
    texts = [
        filler.text for filler in fillers(thing=[str(i) for i in range(count)]).shuffled("thing")
    ]
    assert texts == [str(i) for i in order]


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL])
@pytest.mark.parametrize("version", range(4))
def test_each_version_starts_two_fillers_later(rules, version):
    sampler = FixedSampler(fillers(rules, agent=[str(i) for i in range(10)]), version, [])
    assert sampler.fill(keyed("agent1", "agent2")) == {
        f"agent{n + 1}": str(shuffled(10)[2 * version + n]) for n in range(2)
    }


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL])
def test_a_variable_keeps_its_filler_as_long_as_restrictions_allow(rules):
    sampler = FixedSampler(fillers(rules, object=sized(12)), 0, [])
    first = sampler.fill(
        keyed(
            "object1",
        )
    )["object1"]
    size = "true" if int(first.removeprefix("the pot")) % 2 else "false"
    other = "false" if size == "true" else "true"
    assert sampler.fill(
        keyed(
            f"object1:large={size}",
        )
    ) == {f"object1:large={size}": first}
    assert (
        sampler.fill(
            keyed(
                f"object1:large={other}",
            )
        )[f"object1:large={other}"]
        != first
    )
    assert (
        sampler.fill(
            keyed(
                "object1",
            )
        )["object1"]
        == first
    )


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL])
def test_two_variables_of_a_domain_never_share_a_filler_even_across_classes(rules):
    sampler = FixedSampler(
        fillers(rules, toy=["the ball", "the kite"], gift=["the ball", "the kite"]), 0, []
    )
    sampler.fill(
        keyed(
            "toy1",
        )
    )
    assert set(sampler.fill(keyed("gift1", "toy1")).values()) == {"the ball", "the kite"}


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL])
def test_a_version_beyond_the_fillers_has_no_item(rules):
    assert (
        FixedSampler(fillers(rules, agent=list("abcd")), 1, []).fill(
            keyed(
                "agent1",
            )
        )
        is not None
    )
    assert (
        FixedSampler(fillers(rules, agent=list("abcd")), 2, []).fill(
            keyed(
                "agent1",
            )
        )
        is None
    )


@pytest.mark.parametrize(
    ("rules", "column"),
    [(RIGHT, "hot"), (ORIGINAL, "is_magnet")],
    ids=["any", "the original knows the magnet"],
)
def test_a_filler_that_alone_meets_a_restriction_serves_every_version_and_nothing_else(
    rules, column
):
    others = [(f"the pot{i}", {column: "false"}) for i in range(9)]
    some = fillers(rules, object=[("the magnet", {column: "true"}), *others])
    keys = [("object1",), (f"object1:{column}=true",)]
    for version in range(4):
        sampler = FixedSampler(some, version, keys)
        assert sampler.fill(keyed(*keys[0]))["object1"] != "the magnet"
        assert sampler.fill(keyed(*keys[1])) == {keys[1][0]: "the magnet"}


def test_slots_that_failed_are_tried_again_but_not_in_the_original():
    rows = [(f"the pot{i}", {"large": "true" if i < 2 else "false"}) for i in range(12)]
    for rules, is_filled in ((RIGHT, True), (ORIGINAL, False)):
        sampler = FixedSampler(fillers(rules, object=rows), 1, [])
        assert (
            sampler.fill(
                keyed(
                    "object1:large=true",
                )
            )
            is None
        )
        sampler._remember(Key("object1"), Filler("the barn", {"large": "true"}))
        assert (
            sampler.fill(
                keyed(
                    "object1:large=true",
                )
            )
            is not None
        ) == is_filled


def test_mentions_of_a_variable_become_one_slot_where_some_filler_meets_them_all():
    jar, cup = (
        ("the jar", {"large": "true", "red": "true"}),
        ("the cup", {"large": "false", "red": "true"}),
    )
    some = fillers(object=[jar, cup])
    texts, keys = settle(
        ("{object1} falls.", "{object1:red=true}", "{object1:large=true}", "{object2}"), some
    )
    assert keys == ("object1:large=true:red=true", "object2")
    assert texts == (
        "{object1:large=true:red=true} falls.",
        *["{object1:large=true:red=true}"] * 2,
        "{object2}",
    )
    both = ("object1:large=false", "object1:large=true")
    assert settle(tuple(f"{{{key}}}" for key in both), some)[1] == both, "no filler meets both"
    spelt = ("object1", "object1:large=true")
    of_original = fillers(ORIGINAL, object=[jar])
    assert settle(tuple(f"{{{key}}}" for key in spelt), of_original)[1] == spelt


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "{agent1} waits. the rain stops! why? who knows",
            "Ruth waits. The rain stops! Why? Who knows.",
        ),
        (" {agent1} asks: are you in? ", "Ruth asks: are you in?"),
        (
            "{agent1} stays.  two spaces keep their letter",
            "Ruth stays.  two spaces keep their letter.",
        ),
        ("é stays é in the middle. é", "É stays é in the middle. é."),
    ],
)
def test_sentences_get_capitals_and_a_stop(text, sentence):
    assert (
        fill(text, {"agent1": "Ruth"}, RIGHT)
        == fill(text, {"agent1": "Ruth"}, ORIGINAL)
        == sentence
    )


def test_filling_takes_one_slot_but_in_the_original_may_swallow_the_text_up_to_the_last():
    text, fillings = (
        "{object1:large=true} is near {object2:large=true}.",
        {"object1": "the jar", "object2:large=true": "the cup"},
    )
    assert fill(text, fillings, ORIGINAL) == "The jar."
    whole = {"object1:large=true": "the jar", "object2:large=true": "the cup"}
    assert fill(text, whole, RIGHT) == fill(text, whole, ORIGINAL) == "The jar is near the cup."


@pytest.mark.parametrize(
    ("swap", "before", "after"),
    [
        ("agent->agent:tall=true", "{agent1:sex=female} and {agent2}", "{agent1:sex=female:tall=true} and {agent2:tall=true}"),
        ("object->nonword", "{object1:large=true} and {object2}", "{nonword_from_object1} and {nonword_from_object2}"),
        ("object->toy:red=true", "{object1} and {agent1}", "{toy_from_object1:red=true} and {agent1}"),
        ("quant->nonword", "{quantObject1} and {quant1}", "{quantObject1} and {nonword_from_quant1}"),
    ],
)  # fmt: skip
def test_a_swap_restricts_a_class_or_draws_from_another(swap, before, after):
    (parsed,) = parse_swaps([swap], ["agent", "object", "nonword", "toy", "quant", "quantObject"])
    assert apply_swap(before, parsed, RIGHT) == after


PROPERTIES = {"agent": {"western": ["true", "false"], "sex": ["female", "male"]}}


@pytest.mark.parametrize("value", ["False", "FALSE", "false"])
def test_a_swap_restricts_by_true_and_false_in_any_case_as_the_paper_prints_it(value):
    (parsed,) = parse_swaps([f"agent->agent:western={value}"], ["agent"], PROPERTIES)
    assert parsed.target == "agent:western=false"


@pytest.mark.parametrize(
    ("restriction", "problem"),
    [
        ("western=flase", 'no filler of agent has western="flase"; did you mean "false"?'),
        ("western", 'no filler of agent has western=""; the values are false, true.'),
        ("sex=mal", 'no filler of agent has sex="mal"; did you mean "male"?'),
        ("westrn=true", 'fillers of agent have no property "westrn"; did you mean "western"?'),
    ],
)
def test_a_swap_to_a_restriction_that_no_filler_meets_is_refused(restriction, problem):
    with pytest.raises(UserError) as caught:
        parse_swaps([f"agent->agent:{restriction}"], ["agent"], PROPERTIES)
    assert caught.value.problem == problem


def test_the_originals_swap_takes_prefixes_for_classes():
    assert (
        apply_swap("{quantObject1}", Swap("quant", "nonword"), ORIGINAL) == "{nonword_from_quant1}"
    )
    assert (
        apply_swap("{agent1:sex=female}", Swap("agent", "agent:western=false"), ORIGINAL)
        == "{agent1:sex=female:western=false}"
    )


def test_independent_items_of_a_template_differ_and_a_longer_sample_begins_with_the_shorter():
    some = fillers(agent=list("abcdef"), object=list("uvwxyz"))

    def sample(count, seed=1):
        return list(
            IndependentSampler(
                some, ["agent1", "agent2", "object1"], (seed, "garden-work", 3, 1)
            ).sample(count)
        )

    longer = sample(100)
    assert len({tuple(filling.values()) for filling in longer}) == 100
    assert longer[:10] == sample(10)
    assert longer != sample(100, seed=2)


def test_a_template_with_fewer_fillings_gets_all_of_them_and_the_table_says_so(garden):
    garden.with_("fillers/filler-agent.csv", "item\nAda\nBo\n")
    garden.with_("fillers/filler-object.csv", "item\nthe jar\nthe cup\nthe pot\n")
    items = build(garden, "--mode independent --per-template 10")
    assert len(set(items["fillers"])) == len(items) == 6
    assert sorted(items["version"]) == list(range(6))
    details = read_provenance(garden.folder.parent / "items.parquet").details
    assert details["fewer_items"] == {"garden-work_1_1": 6}


@pytest.mark.parametrize("options", ["", "--mode independent --per-template 4"])
def test_items_of_a_domain_do_not_depend_on_other_domains(garden, options):
    across = ["duplicate_of", "situation"]  # these look across domains
    alone = build(garden, options).drop(columns=across)
    for kind in ("concept", "context", "target"):
        text = garden.files[f"{kind}s/{kind}-garden-work.yml"].replace("garden-work", "attic-work")
        garden.with_(f"{kind}s/{kind}-attic-work.yml", text)
    both = build(garden, options).drop(columns=across)
    assert both[both["domain"] == "garden-work"].reset_index(drop=True).equals(alone)


def build(garden, options="", name="items"):
    out = garden.folder.parent / f"{name}.parquet"
    for path in garden.folder.rglob("*.yml"):
        path.unlink()
    assert run(f"items build {garden.write()} {options} --out {out}") == 0
    return read_table(out, Items)


@pytest.mark.parametrize(
    "options",
    [
        "--versions 0-2 --swap agent->agent:tall=true",
        "--versions 0-2 --compat",
        "--versions 0-2 --mode balanced",
        "--mode independent --per-template 3 --seed 4",
        "--versions 0-2 --limit 2",
    ],
)
def test_versions_gathered_are_the_bytes_of_filling_them_at_once(garden, options):
    build(garden, options)
    folder, templates = garden.folder.parent, garden.folder.parent / "templates.parquet"
    compat = "--compat" * ("--compat" in options)
    fillers = folder / "fillers.parquet"
    compile_them = f"templates compile {garden.folder} {compat} --fillers-out {fillers}"
    assert run(f"{compile_them} --out {templates}") == 0
    fill_them = f"items fill {templates} {fillers} {options} --out {folder}"
    assert run(f"{fill_them}/filled.parquet") == 0
    for number in range(3):
        assert run(f"{fill_them}/version_{number}.parquet --version {number}") == 0
    parts = " ".join(f"{folder}/version_{number}.parquet" for number in (2, 1, 0))
    assert run(f"items gather {parts} --out {folder}/gathered.parquet") == 0
    filled = (folder / "filled.parquet").read_bytes()
    assert (
        (folder / "gathered.parquet").read_bytes()
        == filled
        == (folder / "items.parquet").read_bytes()
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--versions 0-1", "contains version 0"),
        ("--versions 1 --swap agent->agent:tall=true", "--swap"),
        ("--mode independent", "--mode"),
        ("--versions 1 --limit 1", "--limit"),
    ],
)
def test_versions_that_do_not_belong_together_are_not_gathered(garden, capsys, options, problem):
    garden.targets(
        {"pattern": "[agent1] can {CONCEPT} [object1]."},
        {"pattern": "[agent1] may {CONCEPT} [object1]."},
    )
    build(garden, "--versions 0", name="zero")
    build(garden, options, name="other")
    zero, other, out = (
        garden.folder.parent / f"{name}.parquet" for name in ("zero", "other", "gathered")
    )
    assert run(f"items gather {zero} {other} --out {out}") == 2
    assert problem in capsys.readouterr().err
    assert not out.exists()


def test_items_say_what_was_filled_and_the_file_says_what_made_it(garden):
    (item,) = build(garden, "--versions 3").itertuples()
    assert item.item_id == "garden-work_1_1_v3"
    filled = json.loads(item.fillers)
    assert list(filled) == item.tags.split(",") == ["agent1", "object1"]
    assert item.target1 == f"{filled['agent1']} lifts {filled['object1']}."
    made = read_provenance(garden.folder.parent / "items.parquet")
    assert made.canary == "# GARDEN canary 0000"
    assert made.inputs["materials"] == MaterialsFiles(garden.folder).digest()
    assert made.details["versions"] == [3]


def test_items_are_filtered_by_their_tags(garden):
    garden.replace("context-garden", "[object1]", "[object1:large=true]")
    assert len(build(garden, "--filter object1:large=true$")) == 5
    with pytest.raises(UserError, match="no item is left"):
        filter_tags(build(garden), "^large")


def test_an_item_with_the_texts_of_another_names_the_first_of_them():
    texts = {
        "context1": "a",
        "context2": "b",
        "target1": "c",
        "target2": "d",
        "domain": "garden-work",
    }
    where = ((2, 0), (1, 2), (1, 1), (3, 0))
    rows = [
        texts | {"meta_template": m, "template": 1, "version": v, "item_id": f"m{m}v{v}"}
        for m, v in where
    ]
    rows[-1]["target2"] = "e"
    flagged = (
        flag_duplicates(pd.DataFrame(rows))
        .set_index("item_id")["duplicate_of"]
        .fillna("")
        .to_dict()
    )
    assert flagged == {"m1v1": "", "m1v2": "m1v1", "m2v0": "m1v1", "m3v0": ""}


def test_the_release_filter_reverses_whole_templates_first_but_the_original_excludes_them(garden):
    garden.targets(
        {"pattern": "[agent1] can {CONCEPT} [object1]."},
        {"pattern": "[agent1] may {CONCEPT} [object1]."},
    )
    items = build(garden, "--versions 0-1")
    is_second = items["meta_template"] == 2
    texts = items[["context1", "context2", "target1", "target2"]]
    turned = texts.rename(columns={"target1": "target2", "target2": "target1"})[list(texts)]
    names = [name.capitalize() for name in texts]
    header = "# GARDEN canary 0000\n"
    released = texts.where(~is_second, turned)
    for name, rows in (
        ("items_in_results", released),
        ("flagged_reverse", texts[is_second].head(1)),
    ):
        garden.with_(f"utils/{name}.csv", header + rows.to_csv(index=False, header=names))
    source = MaterialsFiles(garden.write())
    kept = apply_release_filter(items, source, RIGHT)
    assert set(kept[list(texts)].itertuples(index=False)) == set(released.itertuples(index=False))
    assert apply_release_filter(items, source, ORIGINAL)["meta_template"].unique().tolist() == [1]


def test_items_of_ones_own_materials_are_exported_in_the_originals_format(garden):
    templates, out = garden.folder.parent / "t.parquet", garden.folder.parent / "official"
    build(garden, f"--versions 0-1 --templates-out {templates}")
    assert (
        run(f"items export {garden.folder.parent / 'items.parquet'} {templates} --out {out}") == 0
    )
    assert len(list(out.rglob("*.csv"))) == 2
    canary, header, row = (out / "version-0" / "testsuite-garden_work.csv").read_text().splitlines()
    assert canary == "# GARDEN canary 0000"
    assert header.startswith(
        "MetaTemplateID,TemplateID,PairID,Domain,ConceptA,ConceptB,Target1,Target2,TargetDiff,Context1"
    )
    assert row.startswith("1,1,,garden-work,lift,lower,")
    assert row.endswith(',direct,template-garden_work,0,"agent1,object1"')


@pytest.mark.long
def test_a_share_has_as_many_of_each_domain_and_pair_and_is_the_same_in_every_version(
    repository, tmp_path
):
    out = tmp_path / "items.parquet"
    assert run(f"items build builtin --versions 0-1 --limit 390 --out {out}") == 0
    items = read_table(out, Items)
    templates = items.groupby("version")[["domain", "meta_template", "template"]].agg(list)
    assert templates.loc[0].tolist() == templates.loc[1].tolist()
    once = items[items.version == 0]
    assert set(once.groupby("domain").size()) == {30}
    per_pair = once.groupby(["domain", "concept_a", "concept_b"], dropna=False).size()
    assert per_pair.groupby("domain").agg(lambda sizes: sizes.max() - sizes.min()).max() <= 1
    details = read_provenance(out).details
    assert details["limit"] == 390
    assert details["concept_pairs"] == per_pair.size < 390
    smaller = items[in_share(items, 130)]
    assert len(smaller) == 260
    assert set(smaller.groupby("domain").size()) == {20}
