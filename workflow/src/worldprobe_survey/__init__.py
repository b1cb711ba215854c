"""Studies with people: lists of questions, the survey that shows them, cleaning, agreement of
raters, simulation.

The way of a study, each step a command of ``worldprobe human``:

1. ``lists``: a benchmark's questions (``lists.QUESTION_COLUMNS``) become lists, one per person:
   ``StudyLists`` with the texts, and ``ListKeys`` with the right answers. The survey is given the
   first alone, so that it cannot send what it does not have.
2. The survey, a web server in front of one SQLite file, shows them (``app``) and exports
   ``RawRatings``, ``Participants``, ``Demographics``. ``simulate`` makes the same export from
   simulated people.
3. ``clean``: named steps, each counted, from the export and the key to ratings per item.
4. ``agreement``: accuracy, reliability, Likert against Choice.

Ratings that somebody else has averaged are read by ``worldprobe import human-ratings``.

How lists are built: a *unit* is what nobody may see twice (a template, with all its versions). Each
unit's questions are spread over the lists, one each, in a rotation whose steps alternate between
plausible and implausible and go through the versions, so that every list is balanced. A sentence
that several items share is asked in one list of a round only; the holes this leaves are then evened
out by exchanging a unit's questions between lists, which cannot break a rule. A *round* has every
question once; further rounds mix units differently, so that people who share some questions do not
share all.

The digest of a set of lists is taken over the rows of ``StudyLists`` (``lists.digest_lists``), not
over the file. It is in the provenance of lists and key (details, ``lists_digest``), the survey
stores it, every rating carries it, and ratings of other lists than the key's are refused.

A survey may shuffle the test trials of a list for each person; catch trials stay at their
positions, which are spread. A person answers Likert or Choice, never both: a list has one
``eval_type``. Who takes several lists must not take two that share a domain.
"""

from pathlib import Path

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "human": (
            "worldprobe_survey.cli:app",
            "ask people: make lists, run a survey, clean and analyse it",
        )
    },
    settings={"ewok.human": "worldprobe_survey.study_settings:Human"},
    actions={"import": "worldprobe_survey.ratings_cli:add_commands"},
    displays={"ewok": ("worldprobe_survey.accuracy_displays", "worldprobe_survey.displays")},
    rules=Path(__file__).parent / "rules" / "main.smk",
)
