"""The configuration, checked against closed JSON Schemas; every message names file, line and key.

The schemas (``workflow/schemas``) also contain the defaults, so a configuration states only what differs from them.
"""

from worldprobe.config.documents import Keys, Source, read_yaml
from worldprobe.config.registry import check_models, read_registry, registry_complaints
from worldprobe.config.schemas import complaints, read_schema, validate, with_defaults
from worldprobe.config.site import read_site
from worldprobe.config.study import Check, Finding, merge, read_study, study_complaints

__all__ = [
    "Check",
    "Finding",
    "Keys",
    "Source",
    "check_models",
    "complaints",
    "merge",
    "read_registry",
    "read_schema",
    "read_site",
    "read_study",
    "read_yaml",
    "registry_complaints",
    "study_complaints",
    "validate",
    "with_defaults",
]
