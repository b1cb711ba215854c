"""What runs models: one object per engine says what it takes, what it needs of a machine, what must
be fetched for it, and what it can be asked.

An engine is an ``EngineType`` that an installed package names as entry point
``worldprobe.engines``: a card's ``engine`` is the name of the entry point. One whose name ends in a
kind, as ``transformers-masked``, runs the models of this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from worldprobe.errors import UserError, did_you_mean
from worldprobe.extensions import load_point, own_points

#: The group of entry points.
GROUP = "worldprobe.engines"
#: What runs a model whose card says nothing.
USUAL = "transformers"
#: Kinds of models; the first is that of a model whose card says nothing.
CAUSAL, MASKED, ENCODER_DECODER = "causal", "masked", "encoder-decoder"
KINDS = (CAUSAL, MASKED, ENCODER_DECODER)
#: Main memory of a job that loads no weights, or very few, in MB.
LITTLE_MEMORY_MB = 3_000


class Workload(NamedTuple):
    """A rough count of what one model is asked, for estimates of time and costs.

    Attributes:
        requests: texts that are scored or continued.
        read: tokens that are read in all of them.
        written: tokens that are written.
        most_requests: where the study stops a server's run; None for no limit.
        most_tokens: the same of tokens, read and written.
    """

    requests: int = 0
    read: int = 0
    written: int = 0
    most_requests: int | None = None
    most_tokens: int | None = None


class Needs(NamedTuple):
    """The resources that a job asks of a machine.

    Attributes:
        gpus: GPUs in one node.
        threads: CPU cores.
        mem_mb: main memory in MB.
        runtime: minutes of the first attempt.
    """

    gpus: int
    threads: int
    mem_mb: int
    runtime: int

    def in_attempt(self, attempt: int, longest: int | None = None) -> Needs:
        """The request of the first attempt (1) or a later one: that many times the time, and half
        the memory more each time.

        Args:
            attempt: from 1.
            longest: minutes that a job may ask for at most.

        >>> Needs(1, 4, 15_000, 84).in_attempt(3)
        Needs(gpus=1, threads=4, mem_mb=30000, runtime=252)
        >>> Needs(1, 4, 15_000, 84).in_attempt(3, longest=240).runtime
        240
        """
        minutes = self.runtime * attempt
        return self._replace(
            mem_mb=self.mem_mb * (attempt + 1) // 2,
            runtime=min(minutes, longest) if longest else minutes,
        )


@dataclass(frozen=True)
class Offers:
    """The kinds of questions that a model can answer.

    Attributes:
        logprobs: log probabilities of texts that are given.
        prompts: what it writes after a prompt.
        options: which of some given answers it would write.
        chat: whether it takes conversations, which may have to be looked up.
    """

    logprobs: bool = True
    prompts: bool = True
    options: bool = True
    chat: Callable[[], bool] = lambda: False


class EngineType:
    """One engine. What is not said here holds for an engine that computes on the CPU and loads no
    weights.

    Attributes:
        keys: what it takes of the keys of a card that only some engines take
            (``settings.registry.SOME``).
        can: what its models can be asked, as far as that is known without one.
        packages: Python packages that it imports.
        environment: stem of the conda file in ``envs/``, or path of another, for ``--sdm conda``.
        state: where a model is that is not to be fetched, as ``models list`` says it.
        benchmark: name of the only benchmark whose questions it answers; empty: any.
        minutes: of the first attempt of a job.
        credential: variable that opens a gated model.
        is_model: it runs language models, and not what they are compared with.
        is_remote: a server elsewhere does the work, and is asked over a network.
        splits_layers: GPUs compute each layer together, instead of one after another.
        has_weights: its checkpoints are weights in Hugging Face format, which can be trained
            further.
        is_released: a model that is no longer used gives its memory back, so one process can load
            many checkpoints one after another.
        has_layers: it opens a ``models.transformers_engine.TransformersEngine`` of a causal model,
            whose layers can be read.
    """

    keys: frozenset[str] = frozenset()
    can: Offers = Offers()
    packages: tuple[str, ...] = ()
    environment: str = "scoring"
    state: str = "without weights"
    benchmark: str = ""
    minutes: int = 240
    credential: str = ""
    is_model: bool = True
    is_remote: bool = False
    splits_layers: bool = False
    has_weights: bool = False
    is_released: bool = False
    has_layers: bool = False

    def open(self, model: Any) -> Any:
        """Load a model.

        Args:
            model: its ``cli.engines.Model``: ``checkpoint`` and all other keys of a card. An engine
                may also take ``skin_folder``, by this name.

        Returns:
            A ``models.engine.Engine``.
        """
        raise NotImplementedError

    def files_state(self, model: Any) -> tuple[Any, ...]:
        """What says that a model's files are those that were loaded before; empty: nothing does,
        and it is opened each time.

        Args:
            model: its ``cli.engines.Model``.
        """
        return ()

    def render(self, model: Any, prompt: Any, chooses: bool) -> str:
        """A prompt as ``Engine.rendered`` of the loaded model has it, without loading it; engines
        whose ``files_state`` says something have it.

        Args:
            model: its ``cli.engines.Model``.
            prompt: of ``models.engine``.
            chooses: whether options are to be chosen from.
        """
        raise NotImplementedError

    def findings(self, card: Any) -> Iterator[tuple[tuple[Any, ...], str, str]]:
        """What is wrong with the keys of a card (``settings.registry.Loading``): key, problem, fix.

        Args:
            card: whose engine this is.
        """
        yield from ()

    def needs(
        self, card: Mapping[str, Any], gpu_memory_gb: float = 80.0, work: Workload | None = None
    ) -> Needs:
        """What a job that asks a model asks of a machine.

        Args:
            card: the model's registry entry.
            gpu_memory_gb: memory of one GPU in GB (1e9 bytes).
            work: what the model is asked, if that is known.
        """
        return Needs(0, 1, LITTLE_MEMORY_MB, self.minutes)

    def sources(self, card: Mapping[str, Any]) -> list[str]:
        """Where a model's weights come from: folders, hub ids, package URLs. What is not on this
        machine is fetched before a job loads it.

        Args:
            card: the model's registry entry.
        """
        return []

    def offers(self, model: Any) -> Offers:
        """What one model can be asked.

        Args:
            model: its ``cli.engines.Model``.
        """
        return self.can

    def kind(self, card: Mapping[str, Any]) -> str:
        """The kind of a model whose card does not state it.

        Args:
            card: what is known of it.
        """
        return CAUSAL

    def stand_in(self, card: Mapping[str, Any], folder: str) -> dict[str, Any]:
        """What a rehearsal changes of a card, so that something small answers instead.

        Args:
            card: the model's registry entry.
            folder: where a stand-in with weights would be made.
        """
        return {}


@cache
def installed_engines() -> dict[str, list[EntryPoint]]:
    """The entry points of all engines, ours first, then by name: several where packages have an
    engine of one name, none of which is used.
    """
    points = {name: [point] for name, point in own_points(GROUP).items()}
    for point in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        same_name = points.setdefault(point.name, [])
        if point.value not in [entry.value for entry in same_name]:
            same_name.append(point)
    return points


def engine_names(kind: str = CAUSAL) -> list[str]:
    """The engines that run models of a kind.

    >>> engine_names()[:3], engine_names("masked")
    (['transformers', 'vllm', 'openai'], ['transformers'])
    """
    ending = "" if kind == CAUSAL else f"-{kind}"
    others = tuple(f"-{other}" for other in KINDS[1:] if other != kind)
    return [
        name.removesuffix(ending)
        for name in installed_engines()
        if name.endswith(ending) and not name.endswith(others)
    ]


def own_names() -> list[str]:
    """The engines of this package, as cards name them.

    >>> own_names()
    ['transformers', 'vllm', 'openai', 'rule']
    """
    return [name for name in own_points(GROUP) if not name.endswith(KINDS[1:])]


def engines_that_take(key: str) -> list[str]:
    """The engines that take a key of a card, without those that cannot be loaded.

    >>> engines_that_take("device")
    ['transformers']
    """
    names = []
    for name in engine_names():
        with suppress(UserError):
            names += [name] if key in find_engine(name).keys else []
    return names


@cache
def find_engine(name: str, kind: str = CAUSAL) -> EngineType:
    """An engine.

    Args:
        name: as cards give it.
        kind: of the models.

    Raises:
        UserError: there is none of this name, or there are two; it does not run such models, or
            cannot be loaded.
    """
    if name not in engine_names(kind):
        problem = (
            f"is not an installed engine for {kind} models{did_you_mean(name, engine_names(kind))}"
        )
        raise UserError(f"engine {name}", problem, f"Choose from {', '.join(engine_names(kind))}.")
    points = installed_engines()[name if kind == CAUSAL else f"{name}-{kind}"]
    if len(points) > 1:
        values = " and ".join(point.value for point in points)
        problem = f"is the name of {len(points)} installed engines, {values}."
        fix = "Uninstall the package of one of them, or rename it."
        raise UserError(f"engine {name}", problem, fix)
    return load_point(points[0], EngineType)


def of(card: Mapping[str, Any]) -> EngineType:
    """The engine of a card.

    >>> of({"engine": "openai"}).is_remote, of({"kind": "masked"}).can.prompts
    (True, False)
    """
    return find_engine(card.get("engine") or USUAL, card.get("kind") or CAUSAL)


def of_answers(engine: str | None, kind: str | None = None) -> EngineType:
    """The engine that gave answers, as their table names it; where it is not installed here, one of
    which nothing is known.

    Args:
        engine: name; None: the usual one.
        kind: of the models; None: causal.

    >>> of_answers("rule").is_model, of_answers("lm-eval").is_model
    (False, True)
    """
    try:
        return find_engine(engine or USUAL, kind or CAUSAL)
    except UserError:
        return EngineType()


def refuse_others(card: Mapping[str, Any], benchmark: str, where: object) -> None:
    """Refuse a model whose engine answers the questions of one benchmark alone, for another: its
    answers would mean nothing.

    Args:
        card: the model's.
        benchmark: name of the benchmark that is asked.
        where: what names the model.

    Raises:
        UserError: the engine does not answer it.
    """
    only = of(card).benchmark
    if only not in ("", benchmark):
        problem = f"answers the questions of {only} only, not those of {benchmark}."
        raise UserError(where, problem, f"Choose another model, or the benchmark {only}.")
