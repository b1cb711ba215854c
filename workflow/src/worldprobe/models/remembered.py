"""What a model was when it was loaded, kept beside its answers: a run that has nothing to ask it
does not load it again.

Loading a model, checking its fast passes and digesting its weights takes from seconds to minutes.
All of it says what ``EngineFacts`` state, and that is the same as long as the files, the options,
the packages and the machine are.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from worldprobe.errors import MachineError
from worldprobe.files import write_text
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import processor
from worldprobe.models.engine import Engine, EngineFacts, Prompt

#: Beginnings of variables that say which devices, instructions and kernels compute.
VARIABLES = ("CUDA_VISIBLE_DEVICES", "ATEN_", "DNNL_", "ONEDNN_", "MKL_", "VLLM_")
#: Packages that load models; what one is found to be may change with them.
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "peft", "accelerate", "vllm")


class RememberedEngine:
    """A model that is loaded when it is first asked something."""

    def __init__(
        self,
        facts: EngineFacts,
        load: Callable[[], Engine],
        note: Path,
        render: Callable[[Prompt, bool], str],
    ) -> None:
        """Take what is known of it.

        Args:
            facts: of an earlier loading.
            load: loads it.
            note: the file that the facts are from.
            render: writes a conversation as the loaded model does.
        """
        self.facts, self._load, self._note, self._render = facts, load, note, render

    @cached_property
    def _engine(self) -> Engine:
        engine = self._load()
        if json.dumps(engine.facts.identity()) != json.dumps(self.facts.identity()):
            self._note.unlink(missing_ok=True)
            problem = "is not loaded as it was before, though nothing that is known of it changed."
            raise MachineError(self.facts.checkpoint, problem, "Give the same command again.")
        return engine

    def __getattr__(self, name: str) -> Any:
        """Everything else is the loaded model's."""
        return getattr(self._engine, name)

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """See ``Engine.rendered``; only a conversation needs the tokenizer, and no weights."""
        return prompt if isinstance(prompt, str) else self._render(prompt, chooses)


def open_remembered(
    root: Path,
    options: str,
    state: Sequence[Any],
    code: str,
    gpus: Sequence[str],
    load: Callable[[], Engine],
    render: Callable[[Prompt, bool], str],
) -> Engine:
    """The model, loaded at once where nothing is known of it.

    Args:
        root: folder of all stores of answers, where the note on it is.
        options: how it is loaded.
        state: of its files, see ``Checkpoint.state``.
        code: digest of what loads it.
        gpus: that this process may use.
        load: loads it.
        render: writes a conversation as the loaded model does.
    """
    depends: list[Any] = [options, state, _packages(), code, processor(), list(gpus)]
    depends.append(
        {key: os.environ[key] for key in sorted(os.environ) if key.startswith(VARIABLES)}
    )
    digest = hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:32]
    note = root / f"loaded-{digest}.json"
    try:
        stated: dict[str, Any] = json.loads(note.read_bytes())
        facts = EngineFacts(**{**stated, "ends": tuple(stated["ends"])})
        json.dumps([facts.identity(), facts.process()])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        engine = load()
        write_text(note, json.dumps(asdict(engine.facts)) + "\n")
        return engine
    LOGGER.info("%s is loaded only if something is to be asked", facts.checkpoint)
    return cast(Engine, RememberedEngine(facts, load, note, render))


def _packages() -> Mapping[str, str]:
    """Name -> version, of those that are installed."""
    installed = {}
    for name in PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed
