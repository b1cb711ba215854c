"""The prompting strategies: byte for byte the paper's, rewritten and laid out as told, refused
where they are malformed.
"""

import re
from pathlib import Path

import pandas as pd
import pytest

from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.inference.ask import write_prompts
from worldprobe.benchmarks.worldsense.inference.prompts import Pool, load_prompt_set
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, ANSWERS, problem_type
from worldprobe.errors import UserError

DOMAINS = {skin.name: skin.domain for skin in read_skins()}


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return make_trials("test", sizes=[3], per_cell=1)


@pytest.fixture(scope="module")
def examples() -> pd.DataFrame:
    return make_trials("test", sizes=[3], per_cell=6, seed=1)


@pytest.fixture(scope="module")
def paper(reference: Path) -> list[str]:
    path = reference / "papers" / "worldsense-paper.txt"
    if not path.is_file():
        pytest.skip("the paper's text is not next to the repository")
    return path.read_text(encoding="utf-8").splitlines()


def test_chain_of_thought_is_appendix_b_byte_for_byte(paper: list[str]) -> None:
    start = paper.index("Appendix B Chain-of-thought prompts")
    printed = next(line for line in paper[start:] if line.startswith("Reason step by step"))
    assert (
        load_prompt_set("cot").body(
            "Is it so?\nAnswer with one word, yes, and nothing else.", "Infer"
        )
        == f"Is it so?\n{printed}"
    )


def test_solved_examples_are_laid_out_as_appendix_e2_byte_for_byte(paper: list[str]) -> None:
    start = paper.index("E.2 In-context training with five examples from the same skin")
    lines = paper[paper.index("Prompt:", start) + 1 :]
    lines = lines[: max(i for i, line in enumerate(lines) if line.startswith(">>>")) + 1]
    printed = "\n".join(lines)
    blocks = re.findall(
        r"\*\* Description of a new situation \*\*\n(.*?)\n>>> The correct answer is:(?:"
        r" (\w+)\n|\Z)",
        printed,
        re.S,
    )
    assert len(blocks) == 6
    for name in ("icl_iid", "icl_ood"):
        assert load_prompt_set(name).whole(blocks[-1][0], blocks[:-1]) == printed
    assert printed.endswith("without any explanation.\n>>> The correct answer is:")


def test_the_follow_up_is_the_papers(paper: list[str]) -> None:
    (line,) = (line for line in paper if "What is the final answer?" in line)
    for name in ("basic", "cot", "icl_iid", "icl_ood"):
        assert load_prompt_set(name).second_question("Infer") in line


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("Infer", "2 options: ‘TRUE’, ‘FALSE’,"),
        ("Consist", "2 options: ‘POSSIBLE’, ‘IMPOSSIBLE’,"),
        ("Compl", "3 options: ‘1’, ‘2’, ‘3’,"),
    ],
)
def test_chain_of_thought_names_the_options_of_the_problem_and_forbids_no_explanation(
    trials: pd.DataFrame, kind: str, listed: str
) -> None:
    chosen = trials[trials["problem"].map(problem_type) == kind]
    for text, plain in zip(
        write_prompts(chosen, load_prompt_set("cot"), None), chosen["text"], strict=True
    ):
        assert f"one of these {listed}" in text
        assert "nothing else" not in text
        assert not re.search(r"Answer with (one word|the number)", text)
        named = (
            max(re.findall(r"‘([^‘’]+)’", plain), key=len)
            if kind == "Consist"
            else plain.split("\n")[0]
        )
        assert named in text


@pytest.mark.parametrize("name", ["icl_iid", "icl_ood"])
def test_examples_never_share_the_questions_tuple_are_balanced_and_of_the_kind_that_is_promised(
    trials: pd.DataFrame, examples: pd.DataFrame, name: str
) -> None:
    prompts = load_prompt_set(name)
    both = pd.concat(
        [trials, examples[~examples["tuple_id"].isin(trials["tuple_id"])]], ignore_index=True
    )
    by_text = both.drop_duplicates("text").set_index("text")
    pool = Pool(both, 0, DOMAINS)
    few = trials.groupby(["problem", "skin", "wording"]).head(1)
    for row in few.itertuples():
        cell = (row.problem, row.size, row.complexity, row.wording)
        drawn = pool.draw(5, prompts.examples.other_domain, cell, row.skin, row.tuple_id)
        shown = by_text.loc[[text for text, _ in drawn]]
        assert row.tuple_id not in set(shown["tuple_id"])
        assert len(set(shown["tuple_id"])) == 5
        assert set(
            zip(shown["problem"], shown["size"], shown["complexity"], shown["wording"], strict=True)
        ) == {cell}
        (skin,) = set(shown["skin"])
        assert (skin == row.skin) == (name == "icl_iid")
        assert (DOMAINS[skin] == DOMAINS[row.skin]) == (name == "icl_iid")
        assert [ANSWER_OF[gold] for gold in shown["gold"]] == [gold for _, gold in drawn]
        counts = pd.Series([gold for _, gold in drawn]).value_counts()
        assert (
            counts.max() - counts.reindex(ANSWERS[problem_type(row.problem)], fill_value=0).min()
            <= 1
        )


def test_examples_are_the_same_for_all_trials_of_a_tuple_and_another_seed_gives_others(
    trials: pd.DataFrame, examples: pd.DataFrame
) -> None:
    prompts = load_prompt_set("icl_iid")
    two = trials[trials["tuple_id"] == trials["tuple_id"].iloc[0]]
    texts = write_prompts(two, prompts, Pool(examples, 0, DOMAINS))
    assert texts == write_prompts(two, prompts, Pool(examples, 0, DOMAINS))
    last = prompts.examples.heading
    assert len({text.rpartition(last)[0] for text in texts}) == 1
    assert texts != write_prompts(two, prompts, Pool(examples, 1, DOMAINS))


def test_exchanged_answers_are_listed_the_other_way_round_and_mean_the_same(
    trials: pd.DataFrame,
) -> None:
    prompts = load_prompt_set("basic_exchanged")
    texts = write_prompts(trials, prompts, None)
    for text, plain, problem in zip(texts, trials["text"], trials["problem"], strict=True):
        kind = problem_type(problem)
        assert sorted(text) == sorted(plain), "the same characters in another order"
        if kind != "Compl":
            first, second = ANSWERS[kind]
            assert re.search(rf"\b{second}\b.{{1,6}}\b{first}\b", text)
        else:
            listed = re.compile(r"\(1\) (.+?)[,;] \(2\) (.+?)[,;](?: or)? \(3\)", re.S)
            found, was = (listed.search(one).groups() for one in (text, plain))
            assert found == was[::-1]
    assert [prompts.meant("Compl", one) for one in "123"] == ["2", "1", "3"]
    assert [prompts.written("Compl", one) for one in "123"] == ["2", "1", "3"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ask: write\nquestion: 'no slot'\n", "question"),
        ("ask: write\nquestion: '{text} {txt}'\n", "{txt}"),
        ("ask: write\nquestion: '{text}'\nfollowup: x\n", "follow_up"),
        ("ask: write\nquestion: '{text}'\nmeaning: {Compl: {'1': '2'}}\n", "the same meaning"),
        ("ask: compare\nquestion: '{text}'\nsystem: Be brief.\n", "has no effect"),
        ("ask: write\nquestion: '{text}'\nsystem: 'Say {answers}.'\n", "which is not filled"),
    ],
)
def test_a_malformed_set_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        load_prompt_set(path)
    assert problem in error.value.lines()


def test_a_text_in_which_nothing_is_rewritten_is_a_message_not_a_wrong_question(
    trials: pd.DataFrame,
) -> None:
    strange = trials.head(1).assign(text="Is it so? Say yes or no.")
    with pytest.raises(UserError, match="nothing to rewrite"):
        write_prompts(strange, load_prompt_set("basic_exchanged"), None)
