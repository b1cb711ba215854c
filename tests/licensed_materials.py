"""Invented materials with licence and terms, once as if they were nobody's in particular and once
as if they were protected.
"""

import pytest

FILES = {
    "LICENSE.txt": "Anybody may read this.\n",
    "TERMS_OF_USE.txt": "Keep it closed.\n",
    "concepts/concept-garden-work.yml": (
        """\
# {canary} 0000
- {{concept: lift, domain: garden, concept_type: action, opposite_concepts: [lower], agentive: true}}
- {{concept: lower, domain: garden, concept_type: action, opposite_concepts: [lift], agentive: true}}
"""
    ),
    "contexts/context-garden-work.yml": (
        """\
# {canary} 0000
- conceptA: lift
  conceptB: lower
  probes:
    - type: direct
      pattern: "[agent1] slowly moves [object1] {{segment1}} with one hand."
      segments:
        - {{segmentA: upward, segmentB: downward, contrast: antonym}}
"""
    ),
    "targets/target-garden-work.yml": (
        """\
# {canary} 0000
garden-work:
  - {{pattern: "[agent1] {{CONCEPT}} [object1].", criteria: agentive, tags: present_3sg_form}}
"""
    ),
    "fillers/filler-agent.csv": "# {canary} 0000\nitem\nRosalind\nBartholomew\nMehitabel\n",
    "fillers/filler-object.csv": "# {canary} 0000\nitem\nthe clay pot\nthe wheelbarrow\nthe hose\n",
}


def write(folder, canary):
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(canary=canary))
    return folder


@pytest.fixture
def licensed(tmp_path):
    """Materials that are nobody's in particular."""
    return write(tmp_path / "garden", "GARDEN canary")


@pytest.fixture
def protected(tmp_path):
    """Materials that say they are EWoK's."""
    return write(tmp_path / "protected", "EWoK canary")
