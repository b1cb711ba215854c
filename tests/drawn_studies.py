"""Small studies of any kind, from their materials to every table and figure: what a study may lack,
drawn by hypothesis, with simulated judgements in place of models.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import yaml
from hypothesis import strategies as st

from command_line import run
from worldprobe import benchmarks, settings
from worldprobe.benchmark import Display, Registry, Study
from worldprobe.benchmarks.ewok import outputs
from worldprobe.benchmarks.ewok.contracts import (
    Coefficients,
    Items,
    Judgements,
    SurfaceFeatures,
)
from worldprobe.benchmarks.ewok.study import baselines, has_people_rated, is_builtin
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, is_prompted
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.files import digest_file
from worldprobe.models.registry import RELATEDNESS
from worldprobe.provenance import Provenance
from worldprobe.settings.blocks import option_words
from worldprobe_authoring.labels import audited
from worldprobe_lab.conditions import condition_options
from worldprobe_survey.contracts import Likeness

#: Kinds of models: share of targets that are right, that tie, that have no answer.
MODELS = {
    "good": (0.8, 0.0, 0.0),
    "guesses": (0.5, 0.1, 0.0),
    "perfect": (1.0, 0.0, 0.0),
    "wrong": (0.0, 0.0, 0.0),
    "tied": (0.0, 1.0, 0.0),
    "silent": (0.0, 0.0, 1.0),
    "halting": (0.6, 0.0, 0.7),
}
#: Design columns of an items table that a judgement repeats.
DESIGN = [
    name
    for name in Judgements.columns
    if name in Items.columns and name not in ("item_id", "target")
]


@dataclass(frozen=True)
class Pair:
    """A pair of concepts of invented materials.

    Attributes:
        has_second: false: one concept without an opposite, asked by swapping variables.
        contexts: which sentences stand in its contexts; pairs of equal numbers share them.
        is_direct: of each context, whether it names the concept.
        contrasts: of each context.
    """

    has_second: bool = True
    contexts: tuple[int, ...] = (0,)
    is_direct: tuple[bool, ...] = (True,)
    contrasts: tuple[str, ...] = ("antonym",)


@dataclass(frozen=True)
class Drawn:
    """What a study is made of."""

    domains: tuple[tuple[Pair, ...], ...] = ((Pair(),),)
    models: tuple[str, ...] = ("good",)
    eval_types: tuple[str, ...] = ("logprobs",)
    versions: int = 1
    baselines: tuple[str, ...] = ()
    people: bool = False
    conditions: int = 1
    seed: int = 0


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """A pair of concepts."""
    n = draw(st.integers(1, 3))
    contexts = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n, unique=True))
    each = {"min_size": n, "max_size": n}
    return Pair(
        draw(st.booleans()),
        tuple(contexts),
        tuple(draw(st.lists(st.booleans(), **each))),
        tuple(draw(st.lists(st.sampled_from(["antonym", "negation", "other"]), **each))),
    )


@st.composite
def studies(draw: st.DrawFn) -> Drawn:
    """A study of EWoK."""
    some = st.lists(pairs(), min_size=1, max_size=3).map(tuple)
    return Drawn(
        domains=tuple(draw(st.lists(some, min_size=1, max_size=3))),
        models=tuple(
            draw(st.lists(st.sampled_from(list(MODELS)), min_size=1, max_size=4, unique=True))
        ),
        eval_types=(
            "logprobs",
            *draw(st.lists(st.sampled_from(EVAL_TYPES[1:]), max_size=4, unique=True)),
        ),
        versions=draw(st.integers(1, 3)),
        baselines=tuple(
            draw(st.lists(st.sampled_from([*RELATEDNESS, "word2vec"]), max_size=3, unique=True))
        ),
        people=draw(st.booleans()),
        conditions=draw(st.integers(1, 2)),
        seed=draw(st.integers(0, 99)),
    )


def write_materials(folder: Path, domains: Sequence[Sequence[Pair]]) -> Path:
    """Materials in the official format."""
    files: dict[str, Any] = {}
    for d, own in enumerate(domains):
        domain = f"garden-{'abc'[d]}"
        concepts, contexts = [], []
        targets = [{"pattern": "[agent1] can {CONCEPT} [agent2].", "criteria": None, "tags": None}]
        if not all(pair.has_second for pair in own):
            targets[0]["swappable_variables"] = True
        for p, pair in enumerate(own):
            names = [
                f"verb{'abc'[d]}{'abc'[p]}{side}" for side in ("x", "y")[: 1 + pair.has_second]
            ]
            for name in names:
                concepts.append(
                    {"concept": name, "domain": domain, "concept_type": "action", "agentive": True}
                    | {"opposite_concepts": [other for other in names if other != name]}
                )
            probes = [
                {
                    "type": "direct" if is_direct else "indirect",
                    "pattern": "[agent1] stands {segment1} of [agent2] "
                    + f"on day{'abcd'[place]}.",
                    "segments": [{"segmentA": "left", "segmentB": "right", "contrast": contrast}],
                }
                for place, is_direct, contrast in zip(
                    pair.contexts, pair.is_direct, pair.contrasts, strict=True
                )
            ]
            second = names[1] if pair.has_second else None
            contexts.append({"conceptA": names[0], "conceptB": second, "probes": probes})
        files |= {
            f"concepts/concept-{domain}.yml": concepts,
            f"contexts/context-{domain}.yml": contexts,
            f"targets/target-{domain}.yml": {domain: targets},
        }
    agents = "item\n" + "".join(f"Gardener{i}\n" for i in range(60))
    texts = {name: json.dumps(content) for name, content in files.items()}
    for name, text in {**texts, "fillers/filler-agent.csv": agents}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def judgements_of(items: pd.DataFrame, model: str, eval_type: str, seed: int) -> pd.DataFrame:
    """Judgements of both targets of every item by a model of a known kind."""
    rng = np.random.default_rng([seed, crc32(model.encode()), len(eval_type)])
    right, tied, missing = MODELS.get(model) or (rng.uniform(0.5, 0.8), 0.01, 0.0)
    if is_prompted(eval_type):
        missing = max(missing, rng.uniform(0, 0.2))
    rows = items.loc[items.index.repeat(2), ["item_id", *DESIGN]].reset_index(drop=True)
    is_tie = rng.random(len(rows)) < tied
    accuracy = np.where(is_tie, 0.5, (rng.random(len(rows)) < right).astype(float))
    is_missing = rng.random(len(rows)) < missing
    reason = "missing_response" if is_prompted(eval_type) else "missing_score"
    return rows.assign(
        target=np.tile([1, 2], len(items)),
        model=model,
        eval_type=eval_type,
        accuracy=np.where(is_missing, np.nan, accuracy),
        is_tie=is_tie & ~is_missing,
        is_near_tie=False,
        status=np.where(is_missing, reason, "ok"),
        filling="shared",
    )


class Road:
    """A study's way from its materials to its tables and figures, by the commands of its rules.

    Attributes:
        study: validated.
        registry: its models.
        seed: of its answers.
    """

    def __init__(self, study: Study, registry: Registry, seed: int = 0) -> None:
        self.study, self.registry, self.seed = study, registry, seed
        self.files = outputs.paths(study)

    @classmethod
    def of(cls, drawn: Drawn, source: str) -> Road:
        """The way of a drawn study.

        Args:
            drawn: what it has.
            source: its materials.
        """
        last = drawn.versions - 1
        block: dict[str, Any] = {
            "materials": {"source": source},
            "items": {"mode": "fixed", "versions": f"0-{last}"},
            "eval_types": list(drawn.eval_types),
            "baselines": {
                "word2vec": {"enabled": "word2vec" in drawn.baselines},
                **{name: "." if name in drawn.baselines else None for name in RELATEDNESS},
            },
            "human": {"ratings": source if drawn.people else None},
        }
        if drawn.conditions > 1:
            block["conditions"] = {"main": {}, "other": {"items": {"versions": f"10-{10 + last}"}}}
        whole = {
            "study": "drawn",
            "benchmarks": ["ewok"],
            "models": list(drawn.models),
            "ewok": block,
        }
        study = settings.read_study(whole, [], benchmarks.settings_classes)
        registry = {
            model: settings.complete_card(
                model,
                checkpoint="nobody/nothing",
                family=model[:4],
                display_name=model.capitalize(),
                parameters=10**9 * (1 + number // 2),
            )
            for number, model in enumerate(drawn.models)
        }
        return cls(study, registry, drawn.seed)

    def do(self, line: str) -> None:
        """Run a command, which must succeed."""
        assert run(line) == 0, line

    def walk(self) -> None:
        """Everything that displays are made from."""
        self.fill()
        for condition in outputs.conditions(self.study):
            self._judge(condition)
        self._analyse()

    def fill(self) -> None:
        """Its templates and items."""
        block, templates = self.study["ewok"], self.files.table("templates")
        fillers = self.files.table("fillers")
        materials = block["materials"]
        how = [materials["source"], *option_words(materials, ["password", "compat"])]
        tables = f"--fillers-out {fillers} --out {templates}"
        self.do(f"templates compile {shlex.join(how)} {tables}")
        compat = option_words(materials, ["compat"])
        for condition in outputs.conditions(self.study):
            keys = ["mode", "versions", "limit"]
            items = option_words(block["conditions"][condition]["items"], keys)
            table = self.files.items(condition)
            if materials["release_filter"]:
                kept = ["--release-filter"]
                self.do(f"{shlex.join(['items', 'build', *how, *items, *kept])} --out {table}")
            else:
                line = shlex.join(["items", "fill", templates, fillers, *compat, *items])
                self.do(f"{line} --out {table}")

    def _judge(self, condition: str) -> None:
        path = self.files.items(condition)
        items = read_table(path, Items)
        ways = self.study["ewok"]["eval_types"]
        series = [(model, how) for model in self.study["models"] for how in ways]
        series += [(name, name) for name in baselines(self.study)]
        series += [("human", "human_likert")] * has_people_rated(self.study)
        for model, eval_type in series:
            rows = judgements_of(items, model, eval_type, self.seed)
            counts = rows["status"].value_counts().to_dict()
            told = {"ok": counts.pop("ok", 0)}
            if n_missing := sum(counts.values()):
                told["no_numeral"] = n_missing
            details = {eval_type: {"response_status": told}} if is_prompted(eval_type) else {}
            inputs = {"items": digest_file(path)}
            made = Provenance(model=model, inputs=inputs, details=details)
            write_table(rows, Judgements, self.files.judgements(condition, eval_type, model), made)
        if condition == outputs.reference(self.study):
            rng = np.random.default_rng(self.seed)
            surface = pd.DataFrame(
                {
                    "item_id": items["item_id"].repeat(2).to_numpy(),
                    "target": np.tile([1, 2], len(items)),
                    "n_words": rng.integers(8, 40, 2 * len(items)) / 2,
                    "log_frequency": rng.normal(14, 1.5, 2 * len(items)),
                }
            )
            made = Provenance(inputs={"items": digest_file(path)})
            write_table(surface, SurfaceFeatures, self.files.table("surface_features"), made)

    def _analyse(self) -> None:
        study, table = self.study, self.files.table
        surface = table("surface_features")
        every = " ".join(outputs.judged_for_means(study))
        self.do(f"summarize {every} --out {table('summaries')}")
        needed = {
            path for display in self.wanted() for path in display.inputs_of(study, self.files.root)
        }
        scored = " ".join(outputs.judgements(study, ["logprobs"]))
        beside = " ".join(
            [*outputs.judgements(study, ["logprobs"]), *outputs.judgements_besides(study)]
        )
        commands = {
            "comparisons": f"compare {' '.join(outputs.judged_for_pairs(study))}",
            "correlations": f"correlate {beside} --surface {surface} --points-out {table('feature_means')}",
            "regression/fixed_effects": f"fit fixed-effects {' '.join(outputs.regressed(study, self.registry))} --surface {surface}",
            "agreements": f"agree {' '.join(outputs.prompted_judgements(study))}",
            "plans": f"plan {scored}",
            "pooled_means": f"pool {scored} --orders-out {table('orders')}",
            "reproduction": self._published(),
            "label_audit": (
                f"materials audit-labels {' '.join(audited(study, self.registry))}"
                f" --items {outputs.item_table(study)}"
            ),
        }
        for name, line in commands.items():
            if table(name) in needed:
                self.do(f"{line} --out {table(name)}")
        if table("conditions") in needed:
            words = shlex.join(option_words(condition_options(study)))
            self.do(f"compare-conditions {words} --out {table('conditions')}")
        self._copy_what_needs_others(needed)

    def _copy_what_needs_others(self, needed: Collection[str]) -> None:
        """What R fits or people's answers give, in the form that it has."""
        table = self.files.table
        if (path := table("regression/mixed_model")) in needed:
            fixed = read_table(table("regression/fixed_effects"), Coefficients)
            made = read_provenance(table("regression/fixed_effects"))
            write_table(fixed.assign(fit="mixed_model"), Coefficients, path, made)
        if (path := table("human/likeness")) in needed:
            rows = [
                {"model": model, "eval_type": how, "r": 0.2, "ci_low": np.nan, "ci_high": np.nan}
                | {"ceiling": np.nan, "n": 3}
                for model in self.study["models"]
                for how in self.study["ewok"]["eval_types"]
            ]
            write_table(pd.DataFrame(rows), Likeness, path, Provenance())

    def _published(self) -> str:
        materials = self.study["ewok"]["materials"]
        given = [*option_words(materials, ["password"]), "--materials", materials["source"]]
        items = f"--items {outputs.item_table(self.study)}"
        return f"reproduction check {self.files.table('summaries')} {items} {shlex.join(given)}"

    def wanted(self) -> list[Display]:
        """Its tables and figures."""
        return benchmarks.benchmarks()["ewok"].wanted(self.study, self.registry)

    def show(
        self, suffixes: Mapping[str, Sequence[str]], displays: Sequence[Display] | None = None
    ) -> list[Path]:
        """Print and draw all of them, by the command of their rules.

        Args:
            suffixes: the forms of tables and of figures.
            displays: these in place of all.

        Returns:
            The files.
        """
        registry = Path("models.yaml")
        keys = ("checkpoint", "family", "display_name", "parameters")
        cards = {
            model: {key: self.registry[model][key] for key in keys}
            for model in self.study["models"]
        }
        registry.write_text(yaml.safe_dump(cards, sort_keys=False), encoding="utf-8")
        files = []
        for display in self.wanted() if displays is None else displays:
            inputs = " ".join(display.inputs_of(self.study, self.files.root))
            folder = Path(self.files.root, f"{display.kind}s")
            out = [folder / f"{display.name}.{form}" for form in suffixes[display.kind]]
            line = f"{display.kind} {display.name} {inputs} --registry {registry}"
            self.do(f"{line} --out {' '.join(map(str, out))}")
            files += out
        return files

    def report(self, files: Sequence[Path], out: Path) -> None:
        """The page of the study.

        Args:
            files: of its tables and figures.
            out: HTML.
        """
        shown = {
            suffix: [str(path) for path in files if path.suffix == suffix]
            for suffix in (".json", ".svg")
        }
        items = [f"--item-text {outputs.item_table(self.study)}"] * is_builtin(self.study)
        line = f"report build {self.files.table('summaries')} --study drawn --registry models.yaml"
        line += f" --tables {' '.join(shown['.json'])} --figures {' '.join(shown['.svg'])}"
        self.do(f"{line} {' '.join(items)} --out {out}")


def show_worldsense(
    models: Sequence[str],
    problems: Sequence[str],
    skins: Sequence[str],
    promptings: int,
    form: str,
    asked_set: str = "test",
) -> list[Path]:
    """Every table and figure of a study of one set of WorldSense, by simulated answers.

    Args:
        models: kinds of them (``MODELS``).
        problems: that are asked.
        skins: that are used.
        promptings: number of ways of asking.
        form: of the files.
        asked_set: the set.
    """
    ways = ["basic", "cot"][:promptings]
    size = 4 if asked_set.endswith(("-hard", "-motion")) else 3
    block = {
        **{"sets": [asked_set], "promptings": ways, "controls": [], "skins": list(skins)},
        **{"problems": list(problems), "sizes": [size], "per_cell": 1},
    }
    whole = {"study": "drawn", "benchmarks": ["worldsense"], "models": list(models)}
    study = settings.read_study({**whole, "worldsense": block}, [], benchmarks.settings_classes)
    root, trials = Path("results/drawn/worldsense"), "trials.parquet"
    part = option_words({"problems": list(problems), "skins": list(skins), "sizes": [size]})
    line = shlex.join(["worldsense", "generate", asked_set, *part, "--per-cell", "1"])
    assert run(f"{line} --out {trials}") == 0
    asked = read_table(trials, Trials)
    said = {
        name: sorted(map(ANSWER_OF.get, set(part)))
        for name, part in asked.groupby("problem")["gold"]
    }
    answers = []
    for number, (model, way) in enumerate(product(models, ways)):
        right, _tied, missing = MODELS[model]
        rng = np.random.default_rng(number)
        rows = []
        for row in asked.itertuples():
            wrong = [word for word in said[row.problem] if word != ANSWER_OF[row.gold]] or [""]
            word = ANSWER_OF[row.gold] if rng.random() < right else str(rng.choice(wrong))
            given = "" if rng.random() < missing else word
            rows.append({"Key": int(row.trial_id), "resp": given})
        path = Path(f"{way}___{model}___results.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        answers.append(str(path))
    answered = shlex.join([*answers, "--sets", trials])
    summaries = root / "summaries.parquet"
    commands = {
        summaries: f"summarize {answered}",
        **({root / "comparisons.parquet": f"compare {answered}"} if len(models) > 1 else {}),
        root / "reproduction.parquet": f"reproduction check {summaries}",
        root / "skins.parquet": "worldsense skins tabulate",
        root / "samples.parquet": f"worldsense tabulate-samples {trials}",
    }
    for path, line in commands.items():
        assert run(f"{line} --out {path}") == 0, line
    files = []
    registry = {model: settings.complete_card(model, **_card(model)) for model in models}
    for display in benchmarks.benchmarks()["worldsense"].wanted(study, registry):
        inputs = " ".join(display.inputs_of(study, str(root)))
        path = root / f"{display.kind}s" / f"{display.name}.{form}"
        line = f"{display.kind} {display.name} {inputs} --out {path}"
        assert run(line) == 0, line
        files.append(path)
    return files


def _card(model: str) -> dict[str, str]:
    return {"checkpoint": "nobody/nothing", "family": model, "display_name": model.capitalize()}
