"""Packages that only some commands need, and the extra of the package that brings each."""

from __future__ import annotations

from importlib.util import find_spec

from worldprobe.errors import UserError

#: Extra -> what it brings that the package imports. The list of each with its versions is in pyproject.toml.
EXTRAS = {
    "hf": ("torch", "transformers", "tokenizers", "safetensors", "accelerate", "huggingface_hub", "peft"),
    "vllm": ("vllm",),
    "openai": ("openai", "tenacity"),
    "workflow": ("snakemake", "gensim", "smart_open", "nbconvert", "nbformat", "nbclient", "ipykernel"),
    "r": ("rpy2",),
    "survey": ("fastapi", "starlette", "uvicorn", "jwt", "cryptography", "mistune"),
}


def need(module: str) -> None:
    """Stop where a package is not installed, before anything is read and without importing it.

    Raises:
        ModuleNotFoundError: which ``missing_extra`` turns into what to install.
    """
    if find_spec(module) is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def missing_extra(error: ModuleNotFoundError) -> UserError | None:
    """What to install where an import failed; None where the module belongs to no extra.

    >>> missing_extra(ModuleNotFoundError(name="torch.nn")).fix
    'pip install "worldprobe[hf]"'
    >>> missing_extra(ModuleNotFoundError(name="pandsa")) is None
    True
    """
    module = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            problem = f"is not installed, and this command needs it: it comes with the extra {extra}."
            return UserError(f"Python package {module}", problem, f'pip install "worldprobe[{extra}]"')
    return None
