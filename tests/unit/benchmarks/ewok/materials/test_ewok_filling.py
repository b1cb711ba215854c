"""Items come from templates: what fixed filling shares, what independent sampling varies, swaps,
filters and traces.
"""

import json
import logging

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items, Templates
from worldprobe.benchmarks.ewok.materials.documents import Place
from worldprobe.benchmarks.ewok.materials.items import (
    FixedSampler,
    IndependentSampler,
    apply_release_filter,
    copied_versions,
    fill_fixed,
    filter_tags,
    flag_duplicates,
    in_share,
    items_table,
)
from worldprobe.benchmarks.ewok.materials.materials import Source
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.materials.slots import (
    Filler,
    FillerClass,
    Fillers,
    Swap,
    apply_swap,
    fill,
    open_slots,
    parse_swaps,
    settle,
)
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError


def fillers(rules=RIGHT, **classes):
    """``object=[("the jar", {"large": "true"}), ...]``, or plain texts."""
    made = {}
    for name, rows in classes.items():
        pairs = [row if isinstance(row, tuple) else (row, {}) for row in rows]
        columns = tuple(dict.fromkeys(column for _, columns in pairs for column in columns))
        made[name] = FillerClass(
            name, columns, tuple(Filler(text, columns) for text, columns in pairs), Place("")
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
    assert sampler.fill(("agent1", "agent2")) == {
        f"agent{n + 1}": str(shuffled(10)[2 * version + n]) for n in range(2)
    }


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL])
def test_a_variable_keeps_its_filler_as_long_as_restrictions_allow(rules):
    sampler = FixedSampler(fillers(rules, object=sized(12)), 0, [])
    first = sampler.fill(("object1",))["object1"]
    size = "true" if int(first.removeprefix("the pot")) % 2 else "false"
    other = "false" if size == "true" else "true"
    assert sampler.fill((f"object1:large={size}",)) == {f"object1:large={size}": first}
    assert sampler.fill((f"object1:large={other}",))[f"object1:large={other}"] != first
    assert sampler.fill(("object1",))["object1"] == first


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL])
def test_two_variables_of_a_domain_never_share_a_filler_even_across_classes(rules):
    sampler = FixedSampler(
        fillers(rules, toy=["the ball", "the kite"], gift=["the ball", "the kite"]), 0, []
    )
    sampler.fill(("toy1",))
    assert set(sampler.fill(("gift1", "toy1")).values()) == {"the ball", "the kite"}


@pytest.mark.parametrize("rules", [RIGHT, ORIGINAL])
def test_a_version_beyond_the_fillers_has_no_item(rules):
    assert FixedSampler(fillers(rules, agent=list("abcd")), 1, []).fill(("agent1",)) is not None
    assert FixedSampler(fillers(rules, agent=list("abcd")), 2, []).fill(("agent1",)) is None


def test_a_filler_that_alone_meets_a_restriction_serves_every_version_and_nothing_else():
    some = fillers(
        object=[
            ("the sun", {"hot": "true"}),
            *[(f"the pot{i}", {"hot": "false"}) for i in range(9)],
        ]
    )
    keys = [("object1",), ("object1:hot=true",)]
    for version in range(4):
        sampler = FixedSampler(some, version, keys)
        assert sampler.fill(("object1",))["object1"] != "the sun"
        assert sampler.fill(("object1:hot=true",)) == {"object1:hot=true": "the sun"}


def test_the_original_knows_only_one_such_filler_the_magnet():
    rows = [
        ("the magnet", {"is_magnet": "true"}),
        *[(f"the pot{i}", {"is_magnet": "false"}) for i in range(9)],
    ]
    sampler = FixedSampler(fillers(ORIGINAL, object=rows), 3, [])
    assert sampler.fill(("object1:is_magnet=true",)) == {"object1:is_magnet=true": "the magnet"}
    assert (
        FixedSampler(fillers(ORIGINAL, object=rows), 0, []).fill(("object1",))["object1"]
        != "the magnet"
    )


def test_slots_that_failed_are_tried_again_but_not_in_the_original():
    rows = [(f"the pot{i}", {"large": "true" if i < 2 else "false"}) for i in range(12)]
    for rules, is_filled in ((RIGHT, True), (ORIGINAL, False)):
        sampler = FixedSampler(fillers(rules, object=rows), 1, [])
        assert sampler.fill(("object1:large=true",)) is None
        sampler._remember("object1", Filler("the barn", {"large": "true"}))
        assert (sampler.fill(("object1:large=true",)) is not None) == is_filled


def test_mentions_of_a_variable_become_one_slot_where_some_filler_meets_them_all():
    some = fillers(
        object=[
            ("the jar", {"large": "true", "red": "true"}),
            ("the cup", {"large": "false", "red": "true"}),
        ]
    )
    texts, keys = settle(
        ("{object1} falls.", "{object1:red=true}", "{object1:large=true}", "{object2}"), some
    )
    assert keys == ("object1:large=true:red=true", "object2")
    assert texts == (
        "{object1:large=true:red=true} falls.",
        *["{object1:large=true:red=true}"] * 2,
        "{object2}",
    )


def test_mentions_that_no_filler_meets_together_stay_apart():
    some = fillers(object=[("the jar", {"large": "true"}), ("the cup", {"large": "false"})])
    _, keys = settle(("{object1:large=true}", "{object1:large=false}"), some)
    assert keys == ("object1:large=false", "object1:large=true")


def test_the_original_gives_every_spelling_its_own_slot():
    some = fillers(ORIGINAL, object=[("the jar", {"large": "true"})])
    assert settle(("{object1}", "{object1:large=true}"), some)[1] == (
        "object1",
        "object1:large=true",
    )


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


def test_fillers_with_signs_of_regular_expressions_are_filled_as_they_are():
    assert fill("{agent1} left.", {"agent1": r"Q\1 (a+b)"}, RIGHT) == r"Q\1 (a+b) left."


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


def test_the_originals_swap_takes_prefixes_for_classes():
    assert (
        apply_swap("{quantObject1}", Swap("quant", "nonword"), ORIGINAL) == "{nonword_from_quant1}"
    )
    assert (
        apply_swap("{agent1:sex=female}", Swap("agent", "agent:western=false"), ORIGINAL)
        == "{agent1:sex=female:western=false}"
    )


@pytest.mark.parametrize(
    "swap", ["object", "object->", "objct->nonword", "object->nonwrd", "object->nonword,agent"]
)
def test_a_swap_that_cannot_be_is_refused(swap):
    with pytest.raises(UserError, match="--swap"):
        parse_swaps([swap], ["object", "nonword", "agent"])


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


def test_a_template_with_fewer_fillings_gets_all_of_them_and_says_so(garden, caplog):
    logging.getLogger("worldprobe").addHandler(caplog.handler)
    garden.with_("fillers/filler-agent.csv", "item\nAda\nBo\n").with_(
        "fillers/filler-object.csv", "item\nthe jar\nthe cup\nthe pot\n"
    )
    out = garden.folder / "items.parquet"
    assert (
        main(
            [
                "items",
                "build",
                str(garden.write()),
                "--mode",
                "independent",
                "--per-template",
                "10",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    items = read_table(out, Items)
    assert len(set(items["fillers"])) == len(items) == 6
    assert sorted(items["version"]) == list(range(6))
    logging.getLogger("worldprobe").removeHandler(caplog.handler)
    assert "garden-work_1_1 (6)" in caplog.text
    assert read_provenance(out).details["fewer_items"] == {"garden-work_1_1": 6}


def test_a_huge_number_of_combinations_is_never_listed(monkeypatch):
    some = fillers(**{f"class{chr(97 + i)}": [f"{i}-{j}" for j in range(100)] for i in range(8)})
    sampler = IndependentSampler(
        some, [f"class{chr(97 + i)}1" for i in range(8)], (0, "garden-work", 1, 1)
    )

    def all_fillings():
        yield pytest.fail("listed 10**16 combinations")

    monkeypatch.setattr(sampler, "all_fillings", all_fillings)
    assert len(list(sampler.sample(50))) == 50


def test_items_of_a_domain_do_not_depend_on_other_domains(garden):
    for kind in ("concept", "context", "target"):
        garden.with_(
            f"{kind}s/{kind}-attic-work.yml",
            garden.files[f"{kind}s/{kind}-garden-work.yml"].replace("garden-work", "attic-work"),
        )
    for options in ([], ["--mode", "independent", "--per-template", "4"]):
        both = build(garden, *options).drop(
            columns=["duplicate_of", "situation"]
        )  # these look across domains
        alone = build(garden.without("context-attic"), *options).drop(
            columns=["duplicate_of", "situation"]
        )
        assert both[both["domain"] == "garden-work"].reset_index(drop=True).equals(alone)
        garden.with_(
            "contexts/context-attic-work.yml", garden.files["contexts/context-garden-work.yml"]
        )


def build(garden, *options, name="items"):
    out = garden.folder.parent / f"{name}.parquet"
    for path in garden.folder.rglob("*.yml"):
        path.unlink()
    assert main(["items", "build", str(garden.write()), *options, "--out", str(out)]) == 0
    return read_table(out, Items)


def test_two_commands_make_what_one_makes(garden):
    options = ["--versions", "0-2", "--swap", "agent->agent:tall=true"]
    at_once = build(
        garden, *options, "--templates-out", str(garden.folder.parent / "at_once.parquet")
    )
    templates, items = (
        garden.folder.parent / "templates.parquet",
        garden.folder.parent / "filled.parquet",
    )
    assert main(["templates", "compile", str(garden.folder), "--out", str(templates)]) == 0
    assert (
        main(["items", "fill", str(templates), str(garden.folder), *options, "--out", str(items)])
        == 0
    )
    pd.testing.assert_frame_equal(read_table(items, Items), at_once)
    at_once_templates = garden.folder.parent / "at_once.parquet"
    pd.testing.assert_frame_equal(
        read_table(templates, Templates), read_table(at_once_templates, Templates)
    )
    assert templates.read_bytes() == at_once_templates.read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ["--versions", "0-4"],
        [
            "--versions",
            "0-4",
            "--filter",
            "object1",
            "--swap",
            "agent->agent:tall=true",
        ],  # runs out of fillers in version 3
        ["--versions", "0-2", "--compat"],
        ["--mode", "independent", "--per-template", "3", "--seed", "4"],
        ["--versions", "0-2", "--limit", "2"],
    ],
)
def test_versions_gathered_are_the_bytes_of_filling_them_at_once(garden, options, capsys):
    if "--swap" in options:
        options[1] = "0-2"
    build(garden, *options, name="built")
    folder, templates = garden.folder.parent, garden.folder.parent / "templates.parquet"
    compat = [option for option in options if option == "--compat"]
    assert main(["templates", "compile", str(garden.folder), *compat, "--out", str(templates)]) == 0
    fill_them = ["items", "fill", str(templates), str(garden.folder), *options]
    assert main([*fill_them, "--out", str(folder / "filled.parquet")]) == 0
    count = 5 if "0-4" in options else 3
    parts = [str(folder / f"version_{n}.parquet") for n in range(count)]
    for number, part in enumerate(parts):
        assert main([*fill_them, "--version", str(number), "--out", part]) == 0
    assert (
        main(["items", "gather", *reversed(parts), "--out", str(folder / "gathered.parquet")]) == 0
    )
    assert read_table(parts[1], Items)["version"].unique().tolist() == [1]
    filled = (folder / "filled.parquet").read_bytes()
    assert (
        (folder / "gathered.parquet").read_bytes()
        == filled
        == (folder / "built.parquet").read_bytes()
    )


def test_versions_that_do_not_belong_together_are_not_gathered(garden, capsys):
    folder = garden.folder.parent
    for name, options in {
        "zero": ["--versions", "0"],
        "again": ["--versions", "0-1"],
        "swapped": ["--versions", "1", "--swap", "agent->agent:tall=true"],
        "sampled": ["--mode", "independent"],
        "share": ["--versions", "1", "--limit", "1"],
    }.items():
        build(garden, *options, name=name)
    out = folder / "gathered.parquet"
    for other, problem in (
        ("again", "contains version 0"),
        ("swapped", "--swap"),
        ("sampled", "--mode"),
        ("share", "--limit"),
    ):
        assert (
            main(
                [
                    "items",
                    "gather",
                    str(folder / "zero.parquet"),
                    str(folder / f"{other}.parquet"),
                    "--out",
                    str(out),
                ]
            )
            == 2
        )
        assert problem in capsys.readouterr().err
    assert (
        main(
            ["items", "gather", str(folder / "zero.parquet"), "--release-filter", "--out", str(out)]
        )
        == 2
    )
    assert "needs --materials" in capsys.readouterr().err
    assert not out.exists()


def test_a_version_beyond_all_fillers_is_refused_at_once(garden, capsys):
    out = garden.folder / "items.parquet"
    assert (
        main(["items", "build", str(garden.write()), "--versions", "0-9999", "--out", str(out)])
        == 2
    )
    assert "Use versions 0-11" in capsys.readouterr().err
    assert (
        main(
            ["items", "build", str(garden.folder), "--versions", "0-99999999999", "--out", str(out)]
        )
        == 2
    )


def test_a_filter_that_is_no_regular_expression_is_refused(garden):
    items = build(garden, "--versions", "0")
    with pytest.raises(UserError, match="not a valid regular expression"):
        filter_tags(items, "a{99999999999}")


def test_the_same_inputs_give_the_same_bytes_and_another_seed_other_items(garden):
    options = ["--mode", "independent", "--per-template", "3"]
    build(garden, *options, "--seed", "7", name="one")
    build(garden, *options, "--seed", "7", name="two")
    build(garden, *options, "--seed", "8", name="three")
    one, two, three = (
        (garden.folder.parent / f"{name}.parquet").read_bytes() for name in ("one", "two", "three")
    )
    assert one == two != three


def test_items_say_what_was_filled_and_the_file_says_what_made_it(garden):
    (item,) = build(garden, "--versions", "3").itertuples()
    assert item.item_id == "garden-work_1_1_v3"
    filled = json.loads(item.fillers)
    assert list(filled) == item.tags.split(",") == ["agent1", "object1"]
    assert item.target1 == f"{filled['agent1']} lifts {filled['object1']}."
    made = read_provenance(garden.folder.parent / "items.parquet")
    assert made.canary == "# GARDEN canary 0000"
    assert made.inputs["materials"] == Source(garden.folder).digest()
    assert made.details["versions"] == [3]


def test_items_are_filtered_by_their_tags(garden):
    garden.replace("context-garden", "[object1]", "[object1:large=true]")
    assert len(build(garden, "--filter", "object1:large=true$")) == 5
    with pytest.raises(UserError, match="no item is left"):
        filter_tags(build(garden), "^large")
    with pytest.raises(UserError, match="not a valid regular expression"):
        filter_tags(build(garden), "(")


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


def test_versions_with_the_same_fillings_are_named(garden):
    items = build(garden, "--versions", "0-1")
    assert copied_versions(items) == {}
    copy = items[items["version"] == 1].assign(version=2)
    assert copied_versions(pd.concat([items, copy])) == {2: 1}


def test_the_release_filter_reverses_whole_templates_first_but_the_original_excludes_them(garden):
    garden.targets(
        {"pattern": "[agent1] can {CONCEPT} [object1]."},
        {"pattern": "[agent1] may {CONCEPT} [object1]."},
    )
    items = build(garden, "--versions", "0-1")
    header = "# GARDEN canary 0000\nContext1,Context2,Target1,Target2\n"
    plain = [",".join((r.context1, r.context2, r.target1, r.target2)) for r in items.itertuples()]
    exchanged = [
        ",".join((r.context1, r.context2, r.target2, r.target1)) for r in items.itertuples()
    ]
    first = [n for n, r in enumerate(items.itertuples()) if r.meta_template == 1]
    second = [n for n, r in enumerate(items.itertuples()) if r.meta_template == 2]
    garden.with_(
        "utils/items_in_results.csv",
        header + "\n".join([*(plain[n] for n in first), *(exchanged[n] for n in second)]),
    )
    garden.with_("utils/flagged_reverse.csv", header + plain[second[0]])
    source = Source(garden.write())
    kept = apply_release_filter(items, source, RIGHT)
    assert sorted(
        ",".join((r.context1, r.context2, r.target1, r.target2)) for r in kept.itertuples()
    ) == sorted([*(plain[n] for n in first), *(exchanged[n] for n in second)])
    assert apply_release_filter(items, source, ORIGINAL)["meta_template"].unique().tolist() == [1]


def test_the_release_filter_needs_the_release_lists(garden):
    with pytest.raises(UserError, match="Leave out --release-filter"):
        apply_release_filter(build(garden), Source(garden.folder), RIGHT)


def test_templates_of_other_materials_are_refused_in_words(garden, capsys):
    templates = garden.folder.parent / "templates.parquet"
    assert main(["templates", "compile", str(garden.write()), "--out", str(templates)]) == 0
    (garden.folder / "fillers" / "filler-object.csv").rename(
        garden.folder / "fillers" / "filler-thing.csv"
    )
    garden.without("filler-object").replace("target-garden", "[object1]", "[thing1]").replace(
        "context-garden", "[object1]", "[thing1]"
    )
    garden.write()
    assert (
        main(
            [
                "items",
                "fill",
                str(templates),
                str(garden.folder),
                "--out",
                str(garden.folder.parent / "i.parquet"),
            ]
        )
        == 2
    )
    assert "was compiled from other materials" in capsys.readouterr().err


def test_the_order_of_fillers_versions_and_asking_does_not_matter(garden):
    some = Fillers(garden.read().fillers, RIGHT)
    slots = open_slots(garden.compile(), some)
    forwards, backwards = (
        items_table(fill_fixed(slots, some, versions)) for versions in ([0, 1, 2], [2, 0, 1])
    )
    assert forwards.equals(backwards.sort_values("version", ignore_index=True))


def test_items_of_ones_own_materials_are_exported_in_the_originals_format(garden):
    templates, out = garden.folder.parent / "t.parquet", garden.folder.parent / "official"
    build(garden, "--versions", "0-1", "--templates-out", str(templates))
    assert (
        main(
            [
                "items",
                "export",
                str(garden.folder.parent / "items.parquet"),
                str(templates),
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.csv")) == [
        "version-0/testsuite-garden_work.csv",
        "version-1/testsuite-garden_work.csv",
    ]
    canary, header, row = (out / "version-0" / "testsuite-garden_work.csv").read_text().splitlines()
    assert canary == "# GARDEN canary 0000"
    assert header.startswith(
        "MetaTemplateID,TemplateID,PairID,Domain,ConceptA,ConceptB,Target1,Target2,TargetDiff,Context1"
    )
    assert row.startswith("1,1,,garden-work,lift,lower,")
    assert row.endswith(',direct,template-garden_work,0,"agent1,object1"')


def test_a_share_has_as_many_of_each_domain_and_pair_and_is_the_same_in_every_version(
    repository, tmp_path
):
    out = tmp_path / "items.parquet"
    assert (
        main(
            ["items", "build", "builtin", "--versions", "0-1", "--limit", "390", "--out", str(out)]
        )
        == 0
    )
    items = read_table(out, Items)
    templates = items.groupby("version")[["domain", "meta_template", "template"]].agg(list)
    assert templates.loc[0].tolist() == templates.loc[1].tolist()
    once = items[items.version == 0]
    assert set(once.groupby("domain").size()) == {30}
    per_pair = once.groupby(["domain", "concept_a", "concept_b"], dropna=False).size()
    assert per_pair.groupby("domain").agg(lambda sizes: sizes.max() - sizes.min()).max() <= 1
    details = read_provenance(out).details
    assert details["limit"] == 390
    assert main(["items", "build", "builtin", "--limit", "100000", "--out", str(out)]) == 0
    assert "limit" not in read_provenance(out).details, "this is no share"
    assert details["concept_pairs"] == per_pair.size < 390
    smaller = items[in_share(items, 130)]
    assert len(smaller) == 260
    assert set(smaller.groupby("domain").size()) == {20}
