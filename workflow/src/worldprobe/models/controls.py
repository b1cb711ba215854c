"""Where a study's control models are, and the corpus that they and the word vectors learn from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from worldprobe.benchmark import Registry, Study
from worldprobe.files import digest_file
from worldprobe.paths import BUILTIN, EDITIONS, ControlPaths, StudyPaths

#: The materials that the stories are written from, whatever a study evaluates.
MATERIALS = EDITIONS[BUILTIN]


def corpus(study: Study) -> ControlPaths:
    """The control models' corpus and what follows from it, by the materials' content and the
    settings.
    """
    return StudyPaths.of(study).controls(
        _key({"materials": digest_file(MATERIALS), "settings": study["controls"]})
    )


def with_checkpoints(study: Study, registry: Registry) -> dict[str, dict[str, Any]]:
    """The registry with the folders of the control models as this study trains them, so that no
    study overwrites another's.
    """
    paths = corpus(study)
    return {
        model: (
            {**card, "checkpoint": paths.model(_key(card["control"]), model)}
            if card.get("control")
            else dict(card)
        )
        for model, card in registry.items()
    }


def _key(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
