"""How commands find and open the engine of a model."""

from importlib.metadata import EntryPoint

import pytest

from worldprobe import engines
from worldprobe.cli.engines import Model
from worldprobe.errors import UserError
from worldprobe.models.engine_types import Transformers


def test_a_missing_package_of_an_engine_is_named_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(Transformers, "packages", ("no_such_package",))
    with pytest.raises(UserError, match="no_such_package"):
        Model(checkpoint="nowhere").open()
    monkeypatch.setattr(Transformers, "packages", ("torch.no_such",))
    with pytest.raises(ModuleNotFoundError):  # main() says which extra has it
        Model(checkpoint="nowhere").open()


def test_two_installed_engines_of_one_name_are_refused(monkeypatch):
    other = EntryPoint("vllm", "elsewhere:VLLM", engines.GROUP)
    monkeypatch.setattr(engines, "entry_points", lambda group: [other])
    engines.installed_engines.cache_clear()
    with pytest.raises(UserError, match="two installed engines"):
        engines.installed_engines()
    engines.installed_engines.cache_clear()


def test_every_engine_of_ours_says_what_it_needs_and_offers():
    cards = {
        "transformers": {"checkpoint": "a/b", "dtype": "bfloat16"},
        "vllm": {"checkpoint": "a/b", "dtype": "bfloat16"},
        "openai": {"checkpoint": "served"},
        "rule": {"checkpoint": "solver"},
    }
    assert [*cards] == engines.engine_names()
    gpus = {name: engines.find_engine(name).needs(card).gpus for name, card in cards.items()}
    assert gpus == {"transformers": 1, "vllm": 1, "openai": 0, "rule": 0}
    sources = {name: engines.find_engine(name).sources(card) for name, card in cards.items()}
    assert sources == {"transformers": ["a/b"], "vllm": ["a/b"], "openai": [], "rule": []}
    for kind in engines.KINDS[1:]:
        assert engines.engine_names(kind) == ["transformers"]
        assert not engines.find_engine("transformers", kind).can.prompts
