"""A commented start for a domain of one's own: it compiles as it is, and says what to change."""

from __future__ import annotations

import re
from pathlib import Path

from worldprobe.errors import UserError
from worldprobe.files import whole_files, write_text

_CONCEPTS = """\
{canary}# What {name} is about. Each concept names the flags that open targets for it (see targets/target-{name}.yml).

- concept: start
  domain: {label}
  concept_type: property         # relation, action, interaction or property: decides which keys an entry may have
  opposite_concepts: []          # converses only: X leads Y just when Y follows X
  agentive: true                 # a flag: targets with `criteria: agentive` ask about this concept
  ing_form: starting             # how it reads in a sentence, for targets with `tags: ing_form`

- concept: stop
  domain: {label}
  concept_type: property
  opposite_concepts: []
  agentive: true
  ing_form: stopping
"""
_TARGETS = """\
{canary}{name}:
  - pattern: "[agent1] is {{CONCEPT}} work"   # [agent1]: a row of fillers/filler-agent.csv; {{CONCEPT}}: the concept
    swappable_variables: false               # true: [agent1] and [agent2] may change places, if the concepts are converses
    criteria: agentive                       # the flag that both concepts must have; null: any concept
    tags: ing_form                           # the form that stands for {{CONCEPT}}; null: the concept's name
"""
_CONTEXTS = """\
{canary}# Ask of every pair of contexts: does target 1 fit context 1 and not context 2, and target 2 the other way round?
- conceptA: start
  conceptB: stop
  probes:
    - type: indirect                         # has to be inferred from the situation; direct: says it in other words
      pattern: "[agent1] {{segment1}} the desk lamp"
      segments:
        - segmentA: turns on                 # fits "start"
          segmentB: turns off                # fits "stop"
          contrast: antonym                  # antonym, negation, or any other word (counted as "other")

    - type: direct
      pattern: "From now on, [agent1] {{segment1}} be busy"
      segments:
        - segmentA: will
          segmentB: will not
          contrast: negation
"""
_NAMES = "Ada Ben Cleo Dan Eva Finn Gita Hugo Ines Juan Kim Lars Mina Nuri Olga Pia Quentin Rosa"


def start_domain(folder: Path, name: str, canary: str | None) -> list[Path]:
    """Write concepts, targets and contexts of a new domain into a folder of materials, and names where it has none.

    Args:
        folder: of materials in EWoK's layout; made where there is none.
        name: such as ``garden-work``.
        canary: comment lines that the other files begin with.

    Returns:
        The files that were written.

    Raises:
        UserError: a name that is not ``word-word``, or files that are there already.
    """
    if not re.fullmatch("[A-Za-z0-9]+-[A-Za-z0-9]+", name):
        fix = 'Write two words of letters a-z and digits, joined by a hyphen, e.g. "garden-work".'
        raise UserError(f"NAME {name}", "is not a name for a domain.", fix)
    values = {"name": name, "label": name.partition("-")[0].lower(), "canary": f"{canary}\n" if canary else ""}
    kinds = {"concept": _CONCEPTS, "target": _TARGETS, "context": _CONTEXTS}
    texts = {folder / f"{kind}s" / f"{kind}-{name}.yml": text.format(**values) for kind, text in kinds.items()}
    for path in texts:
        for other in sorted(path.parent.glob("*")):
            if other.name.lower() == path.name.lower():
                problem = "is there already." if other.name == path.name else f"differs from {path.name} only in capitals."
                raise UserError(other, problem, "Choose another name, or remove the file.")
    names = folder / "fillers" / "filler-agent.csv"
    if not names.exists():
        texts[names] = values["canary"] + "item\n" + "".join(f"{agent}\n" for agent in _NAMES.split())
    with whole_files(list(texts)):
        for path, text in texts.items():
            write_text(path, text)
    return list(texts)
