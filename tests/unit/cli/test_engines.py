"""How commands find and open the engine of a model."""

import sys
from importlib.metadata import EntryPoint

import pytest

from worldprobe import engines
from worldprobe.cli.engines import Model, with_nearest_id
from worldprobe.errors import MachineError, UserError
from worldprobe.models.engine_types import Transformers
from worldprobe.paths import REGISTRY
from worldprobe.settings import parse
from worldprobe.settings.registry import Loading


def test_a_missing_package_of_an_engine_is_named_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(Transformers, "packages", ("no_such_package",))
    with pytest.raises(UserError, match="no_such_package"):
        Model(checkpoint="nowhere").open()
    monkeypatch.setattr(Transformers, "packages", ("torch.no_such",))
    with pytest.raises(ModuleNotFoundError):  # main() says which extra has it
        Model(checkpoint="nowhere").open()


def test_a_mistyped_id_of_a_card_is_named_with_the_nearest_one(tmp_path, monkeypatch):
    """Only `evaluate` named it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match='did you mean "smollm2_135m"'):
        Model(checkpoint="smollm2_135").open()
    error = MachineError("a", "is not there.", "Look.")
    named = with_nearest_id(error, "smollm2_135", REGISTRY)
    assert isinstance(named, MachineError)
    assert named.problem == 'is not there; did you mean "smollm2_135m"?'
    other = with_nearest_id(error, "their/smollm2_135", REGISTRY)
    assert (other is not error, other.problem) == (True, error.problem)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A function that installs engines: name -> the code of a module, whose ENGINE it is."""

    def install(**codes):
        points = []
        for name, code in codes.items():
            module = f"their_{name.replace('-', '_')}"
            (tmp_path / f"{module}.py").write_text(code)
            monkeypatch.delitem(sys.modules, module, raising=False)
            points.append(EntryPoint(name, f"{module}:ENGINE", engines.GROUP))
        monkeypatch.setattr(engines, "entry_points", lambda group: points)
        engines.installed_engines.cache_clear()
        engines.find_engine.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    engines.installed_engines.cache_clear()
    engines.find_engine.cache_clear()


GOOD = "from worldprobe.engines import EngineType\nENGINE = EngineType()\n"


def test_two_installed_engines_of_one_name_are_refused_and_others_work(installed):
    installed(vllm=GOOD)
    with pytest.raises(UserError, match="engine vllm: is the name of 2 installed engines"):
        engines.find_engine("vllm")
    assert engines.find_engine("transformers")
    with pytest.raises(UserError, match="revision: does nothing with the engine rule"):
        parse(Loading, {"checkpoint": "solver", "engine": "rule", "revision": "a"}, [])


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import not_there_at_all", "cannot be loaded .ModuleNotFoundError"),
        ("raise RuntimeError('broken')", "cannot be loaded .RuntimeError: broken"),
        ("", "cannot be loaded .AttributeError"),
        (GOOD.replace("()", ""), "is no EngineType"),
    ],
)
def test_an_engine_that_cannot_be_loaded_is_named_where_it_is_needed(installed, code, problem):
    installed(theirs=code, fine=GOOD)
    assert "fine" in engines.engine_names()
    assert engines.engines_that_take("revision") == ["transformers", "vllm"]
    with pytest.raises(UserError, match=f"engine theirs: their_theirs:ENGINE {problem}"):
        engines.find_engine("theirs")
    with pytest.raises(UserError, match=f"engine: theirs their_theirs:ENGINE {problem}"):
        parse(Loading, {"checkpoint": "a", "engine": "theirs"}, [])


def test_an_engine_may_run_one_kind_of_models_only(installed):
    installed(**{"odd-name-masked": GOOD})
    assert "odd-name-masked" not in engines.engine_names()
    card = {"checkpoint": "a", "engine": "odd-name", "kind": "masked"}
    assert parse(Loading, card, []).engine == "odd-name"
    with pytest.raises(UserError, match="causal models are for the engine"):
        parse(Loading, card | {"kind": "causal"}, [])


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
