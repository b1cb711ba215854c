"""Settings as classes; every message about a configuration names file, line and key.

Types, bounds, defaults and meaning of a setting are stated in its class and nowhere else: the JSON
Schemas for editors (``workflow/schemas``), ``config/config.yaml`` and the reference are written
from there by ``docs/reference.py``.
"""

from worldprobe.settings.blocks import Block, Finding, check, parse, parse_given
from worldprobe.settings.documents import Keys, Source, read_yaml
from worldprobe.settings.registry import (
    check_models,
    complete_card,
    model_problems,
    read_registry,
    registry_problems,
)
from worldprobe.settings.study import merge, read_site, read_study, study_problems
