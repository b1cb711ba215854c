"""The one step that goes online for a model: hub -> local cache, safetensors only, checked."""

from __future__ import annotations

from pathlib import Path

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import (
    CODE_FILES,
    HUB_ID,
    HUB_PREFIX,
    PICKLE_FILES,
    SAFE_FILES,
    Checkpoint,
    folder_of,
    hub_id,
    is_folder,
    locate,
)

HUB = "https://huggingface.co"
#: Packages whose errors mean that a connection failed.
TRANSPORTS = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")


def fetch(name: str, revision: str | None = None, allow_pickle: bool = False, trust_remote_code: bool = False) -> Checkpoint:
    """Download what scoring needs of a hub model, and check it. A second call downloads nothing.

    Args:
        name: hub id, e.g. openai-community/gpt2-xl.
        revision: branch, tag or commit.
        allow_pickle: take weights that exist as pickles only.
        trust_remote_code: also take the model's own code.

    Raises:
        UserError: not there, gated, no network, or unsafe.
    """
    name = check_hub_id(name)
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        files = [sibling.rfilename for sibling in HfApi().model_info(name, revision=revision).siblings or []]
        patterns = _patterns(name, files, allow_pickle, trust_remote_code)
        LOGGER.info("fetching %s", name)
        snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=["*/*"])
    except GatedRepoError as error:
        raise UserError(
            name,
            "is gated: its owner asks you to accept terms, and this machine has no token that did.",
            f"Accept them on {HUB}/{name}, make a token on {HUB}/settings/tokens, and set it as HF_TOKEN.",
        ) from error
    except RevisionNotFoundError as error:
        raise UserError(name, f"has no revision {revision}.", f"Look at {HUB}/{name}/commits/main.") from error
    except RepositoryNotFoundError as error:
        raise UserError(
            name,
            "is not on the hub, or private and this machine has no token for it.",
            f"Check the spelling on {HUB}/{name}; for a private model set HF_TOKEN.",
        ) from error
    except OfflineModeIsEnabled as error:
        raise UserError(name, "cannot be fetched: HF_HUB_OFFLINE is set.", "Unset it for this command only.") from error
    except UserError:
        raise
    except HFValidationError as error:
        raise UserError(
            f"{name} {revision or ''}".strip(), "is not a valid hub id or revision.", "Check the spelling."
        ) from error
    except Exception as error:
        expected = (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError)
        if not isinstance(error, expected) and type(error).__module__.partition(".")[0] not in TRANSPORTS:
            raise
        raise UserError(
            name,
            f"cannot be fetched ({type(error).__name__}).",
            f"Check that this machine reaches {HUB} and that HF_TOKEN, if set, is one line of ASCII, then run it again.",
        ) from error
    return locate(HUB_PREFIX + name, revision, allow_pickle, trust_remote_code)


def check_hub_id(name: str) -> str:
    """The hub id that a checkpoint's name means.

    Raises:
        UserError: it means a folder, or is likelier a mistyped one.
    """
    if folder_of(name) is not None:
        raise UserError(name, "is not a hub id, so there is nothing to fetch.", "A folder is loaded from where it is.")
    bare = hub_id(name)
    if not HUB_ID.fullmatch(bare):
        raise UserError(repr(name)[:200], "is not a valid hub id.", "Give owner/name as on the hub, e.g. openai-community/gpt2.")
    parent = bare.partition("/")[0]
    if bare == name and "/" in bare and is_folder(Path(parent)):
        raise UserError(
            name,
            f"may be meant as a folder, since there is a folder {parent} here but none of this name in it.",
            f"Write ./{name} for a folder, or hub:{name} for the hub.",
        )
    return bare


def _patterns(name: str, files: list[str], allow_pickle: bool, trust_remote_code: bool) -> list[str]:
    """What to download; pickles only where there is nothing safer and the registry allows them."""
    patterns = list(SAFE_FILES)
    top = [file for file in files if "/" not in file]
    if not any(file.endswith(".safetensors") for file in top):
        if not allow_pickle:
            raise UserError(
                name,
                "has no safetensors on the hub, and reading a pickle can run any code.",
                "Look for a converted revision (often refs/pr/N), or, if you trust its source, set allow_pickle: true.",
            )
        patterns += PICKLE_FILES
    return patterns + list(CODE_FILES if trust_remote_code else ())
