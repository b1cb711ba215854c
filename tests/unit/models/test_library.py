"""transformers is imported without what no model here needs, and what was left out comes back when it is asked for."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

from worldprobe.models.library import Distributions

#: Packages whose import costs more than that of a small model's own code.
HEAVY = ("sklearn", "scipy", "pandas", "torch.distributed.tensor", "torch.distributed.fsdp", "torch._inductor", "vllm", "lm_eval")


def python(code, repository):
    environment = os.environ | {"PYTHONPATH": str(repository / "workflow/src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_is_loaded_and_asked_without_packages_that_it_does_not_need(tiny_checkpoint, repository):
    code = f"""
import sys
from worldprobe.models.engine import Decoding, Loglikelihood
from worldprobe.models.transformers_engine import open_engine
engine = open_engine({str(tiny_checkpoint("llama", "sentencepiece"))!r})
assert list(engine.score([Loglikelihood("Ana lifts the crate.", "Ben drops it.")]))
assert list(engine.write(["Ana lifts"], Decoding(2)))
print(engine.mode, *[name for name in {HEAVY} if name in sys.modules])
"""
    assert python(code, repository).split() == ["tries"]


@pytest.mark.parametrize("first", ["", "import torch._dynamo.config", "import torch, transformers"])
def test_code_can_still_be_compiled_where_someone_wants_to(repository, first):
    code = f"""
{first}
from worldprobe.models.library import transformers
import torch
compiled = torch.compile(lambda x: x + 1, backend="eager")
transformers.masking_utils.TransformGetItemToIndex()
print(compiled(torch.ones(1)).item(), type(sys.modules["torch._dynamo"]).__name__)
"""
    assert python("import sys" + code, repository).split() == ["2.0", "module"]


def test_distributions_are_those_of_the_whole_map():
    whole = importlib.metadata.packages_distributions()
    found = Distributions()
    for name in ("numpy", "torch", "transformers", "yaml", "PIL", "jinja2", "tokenizers"):
        normal = [{one.lower().replace("_", "-") for one in names} for names in (found.get(name, []), whole.get(name, []))]
        assert normal[0] == normal[1]
    assert found.get("no_such_module", "absent") == "absent"
