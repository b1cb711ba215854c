"""The groups of skins by which the paper averages: domains, and whether the training sets have the relation (Section 5.4).

The paper's test skins, and those that only the release has, are listed here, so that an analysis need not read fifty files; any
other skin is looked up in its file, and one that has none is told. Whether the training sets have its relation is computed
from the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from worldprobe.log import LOGGER

if TYPE_CHECKING:
    from worldprobe.benchmarks.worldsense.skins.skins import Skin

#: Values of ``intraining``: relation in the training sets, not in them, skins of the training sets themselves, and the skins of
#: test-new, none of whose relation words the training sets have.
IN, OUT, MEMORISED, NEW = "ind", "ood", "memorization", "new"
TRAININGS = (IN, OUT, MEMORISED, NEW)


class SkinGroup(NamedTuple):
    """The groups of a skin; None where it belongs to none, as the skins of lines in the plane do."""

    domain: str | None
    training: str | None


_TEST = {
    "spatial": (
        "obj_LeftRight",
        "people_LeftRight",
        "obj_FrontBack",
        "people_FrontBack",
        "obj_AboveBelow",
        "people_AboveBelow",
    ),
    "temporal": ("trips", "courses", "activities", "shopping", "conversation", "race"),
    "scalar": ("old/young", "tall/short", "rich/poor", "faster/slower", "happier/sadder", "stronger/weaker"),
}
#: The training skins as the released memorisation set calls them.
_RELEASED_TRAINING = {
    "temporal": (
        "activities_theater",
        "birthorder",
        "conversation_colleagues",
        "detective",
        "grocery_store_list",
        "plantation",
        "race_car",
        "renovation",
        "trips_countries",
    ),
    "scalar": (
        "Big/Small/boxes",
        "Heavy/Light/furniture",
        "High/Low/mountains",
        "fast/slow/horses",
        "happy/sad/dog",
        "loud/quiet/neighbors",
        "old/young/cats",
        "tall/short/buildings",
        "warm/cool/rivers",
    ),
}
#: The skins of the released lines in the plane belong to no group.
_RELEASED_PLANAR = ("parallel_perpendicular_canals", "parallel_perpendicular_drawing", "parallel_perpendicular_city")
_TRAINED = {"old/young", "tall/short", "faster/slower", "happier/sadder", "trips", "activities", "conversation", "race"}
#: The test skins in the order of the paper's Table 3.
TEST_SKINS = tuple(skin for skins in _TEST.values() for skin in skins)
KNOWN = {skin: SkinGroup(domain, IN if skin in _TRAINED else OUT) for domain, skins in _TEST.items() for skin in skins}
KNOWN |= {skin: SkinGroup(domain, MEMORISED) for domain, skins in _RELEASED_TRAINING.items() for skin in skins}
KNOWN |= dict.fromkeys(_RELEASED_PLANAR, SkinGroup(None, None))


def group_skins(names: Iterable[str], folder: Path | str | None = None) -> dict[str, SkinGroup]:
    """The groups of skins by name; one that is known nowhere belongs to none.

    Args:
        names: of skins.
        folder: of further skins; None: those of the repository.

    Raises:
        UserError: a skin of the folder is at fault.

    >>> group_skins(["trips"])["trips"]
    SkinGroup(domain='temporal', training='ind')
    """
    wanted = list(names)
    found = dict(KNOWN)
    if folder is not None or any(name not in KNOWN for name in wanted):
        found |= _of_folder(folder)
    if unknown := [name for name in wanted if name not in found]:
        LOGGER.warning("skins that are not known here have no domain, and are in no average by domain: %s", ", ".join(unknown))
    return {name: found.get(name, SkinGroup(None, None)) for name in wanted}


def _of_folder(folder: Path | str | None) -> dict[str, SkinGroup]:
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.skins.vocabulary import DOMAINS

    skins = read_skins(folder or FOLDER)
    trained = {relation_words(skin) for skin in skins if skin.use == "train"}
    groups = {}
    for skin in skins:
        training = {"test": IN if relation_words(skin) in trained else OUT, "train": MEMORISED, "test-new": NEW}.get(skin.use)
        groups[skin.name] = SkinGroup(skin.domain, training) if skin.domain in DOMAINS else SkinGroup(None, None)
    return groups


def relation_words(skin: Skin) -> frozenset[str]:
    """The words of a skin's binary relation and its converse, without names.

    >>> from worldprobe.benchmarks.worldsense.skins.skins import read_skins
    >>> (trips,) = (skin for skin in read_skins() if skin.name == "trips")  # Bob visited {x} before {y}
    >>> sorted(relation_words(trips))
    ['after', 'before', 'visited']
    """
    text = re.sub(r"\{\w\}", " ", f"{skin.clauses.get('before', '')} {skin.clauses.get('after', '')}")
    return frozenset(re.findall(r"(?<!\w)[a-z]+(?!\w)", text))
