"""``worldsense write-phrases`` and ``write-lessons``: what a small model reads before it is fine-tuned (docs/worldsense.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe import methods
from worldprobe.cli.arguments import (
    add_seed_argument,
    add_skin_folder_argument,
    add_wording_version_argument,
    number,
    positive,
    share,
    whole_number,
)
from worldprobe.errors import UserError, did_you_mean


def add_lessons_parsers(actions: argparse._SubParsersAction) -> None:
    """``write-phrases`` and ``write-lessons``."""
    phrases = actions.add_parser(
        "write-phrases",
        help="write a tokenizer whose tokens are entities and phrases of the skins",
        description="Writes a tokenizer for small models that read nothing but the texts of these skins.",
    )
    add_skin_folder_argument(phrases)
    add_wording_version_argument(phrases)
    phrases.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of the tokenizer, written whole or not at all"
    )
    phrases.set_defaults(run=run_phrases)
    lessons = actions.add_parser(
        "write-lessons",
        help="write lessons in reading, on which a small model is trained before it is fine-tuned",
        description="Descriptions in the words of training skins or in invented ones, and what follows from them; refused if a "
        "test's words are in them.",
    )
    lessons.add_argument(
        "--lessons",
        nargs="+",
        required=True,
        metavar="KIND=SHARE",
        help="kinds of lessons (copy, judge, asked) and how often each occurs, e.g. copy=1 judge=2",
    )
    lessons.add_argument("--number", type=positive, required=True, metavar="N", help="number of lessons")
    lessons.add_argument(
        "--sizes", type=whole_number(2, 8), nargs="+", default=[3, 4, 5], metavar="N", help="numbers of entities"
    )
    lessons.add_argument(
        "--complexities",
        nargs="+",
        default=["0"],
        choices=("0", "1", "2", "incomplete"),
        help="complexities of descriptions: 0, 1, 2, or incomplete (several worlds are left open)",
    )
    lessons.add_argument("--statements", type=positive, default=5, metavar="N", help="statements or questions of a lesson")
    lessons.add_argument(
        "--ternary", type=share, default=0.35, metavar="SHARE", help="share of the statements that have three entities"
    )
    lessons.add_argument(
        "--unknown", type=share, default=0.3, metavar="SHARE", help="share of the statements about an entity not described"
    )
    lessons.add_argument(
        "--converse", type=share, default=0.5, metavar="SHARE", help="share of all clauses that are put by the converse"
    )
    lessons.add_argument(
        "--changes",
        type=whole_number(1, 2),
        metavar="N",
        default=2,
        help="1: no statement changes both order and word of the only clause",
    )
    lessons.add_argument(
        "--indirect",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="share of the statements about neighbors that are drawn again",
    )
    lessons.add_argument(
        "--invented",
        type=number(0, 1),
        default=0.0,
        metavar="SHARE",
        help="share of the lessons whose relation is invented words",
    )
    add_skin_folder_argument(lessons)
    add_wording_version_argument(lessons)
    add_seed_argument(lessons, "all draws")
    lessons.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl.gz", help="lessons, as dialogues, one a line")
    lessons.set_defaults(run=run_lessons)


def run_phrases(args: argparse.Namespace) -> None:
    """Read skins, write a tokenizer."""
    from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import tokens_of
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.files import whole_folder
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made
    from worldprobe.training.tokenizer import phrase_tokenizer, save_tokenizer

    folder = args.skin_folder or FOLDER
    tokenizer = phrase_tokenizer(tokens_of(read_skins(folder, args.wording_version)))
    details = {"vocabulary": tokenizer.get_vocab_size()}
    provenance = made(methods.PHRASES, {"skins": folder}, ["tokenizers"], details=details)
    with whole_folder(args.out, "worldsense write-phrases") as place:
        save_tokenizer(tokenizer, place)
        (place / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
    LOGGER.info("%d tokens: %s", tokenizer.get_vocab_size(), args.out)


def run_lessons(args: argparse.Namespace) -> None:
    """Draw lessons, write them."""
    from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import LessonCheck, LessonPlan, draw_lessons, write_lesson
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
    from worldprobe.benchmarks.worldsense.trials.files import write_lines
    from worldprobe.log import LOGGER

    skins = [
        skin
        for skin in read_skins(args.skin_folder or FOLDER, args.wording_version)
        if skin.use not in ("ood-problem", "test-new")
    ]
    for skin in skins:
        if len(skin.entities) <= max(args.sizes):
            problem = f"has {len(skin.entities)} entities; size {max(args.sizes)} needs {max(args.sizes) + 1}."
            raise UserError(f"skin {skin.name}", problem, "Add entities, or choose smaller sizes.")
    if not any(skin.use == "train" for skin in skins):
        raise UserError("--skin-folder", "contains no skin for training.", "Add one with `use: train`.")
    plan = LessonPlan(
        kinds=tuple(map(_weighted, args.lessons)),
        sizes=tuple(sorted(set(args.sizes))),
        complexities=tuple(dict.fromkeys(args.complexities)),
        statements=args.statements,
        ternary=args.ternary,
        unknown=args.unknown,
        converse=args.converse,
        changes=args.changes,
        indirect=args.indirect,
        invented=args.invented,
    )
    check = LessonCheck(skins)
    lessons = (check.checked(lesson) for lesson in draw_lessons(plan, skins, args.number, args.seed))
    lines = (write_lesson(lesson, f"{args.seed}-{place}", CANARY) for place, lesson in enumerate(lessons))
    write_lines(lines, args.out)
    LOGGER.info("%s lessons: %s", f"{args.number:,}", args.out)


def _weighted(text: str) -> tuple:
    """Kind and weight of an option."""
    from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import KINDS

    kind, _, weight = text.partition("=")
    if kind not in KINDS:
        raise UserError(
            "--lessons", f"{kind!r} is not a kind of lesson{did_you_mean(kind, KINDS)}", f"Choose from {', '.join(KINDS)}."
        )
    try:
        value = float(weight or 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise UserError("--lessons", f"{text!r} gives no positive weight.", "Write it as in copy=2.")
    return kind, value
