"""A model that was loaded before is not loaded again, unless anything of it changed."""

import json
import os
import shutil

import pytest

from worldprobe.cli.engines import Model, kept_loaded
from worldprobe.models.engine import Message
from worldprobe.models.engine_types import Transformers
from worldprobe.models.remembered import RememberedEngine


@pytest.fixture
def opened(tiny_checkpoint, tmp_path):
    """A function that opens the same folder as a new command does; it was opened once."""
    folder = shutil.copytree(tiny_checkpoint(), tmp_path / "model")

    def again():
        with kept_loaded():
            return Model(checkpoint=str(folder), model="m", answers=tmp_path / "answers").open()

    assert not isinstance(again(), RememberedEngine)
    assert isinstance(again(), RememberedEngine)
    return again


def test_weights_with_an_old_date_are_loaded_again(opened, tmp_path):
    """As rsync --inplace --times or an edit and `touch -r` leave them: the same inode, size and
    date.
    """
    before = opened().facts.checkpoint_digest
    weights = tmp_path / "model" / "model.safetensors"
    dates = weights.stat()
    with weights.open("r+b") as stream:
        stream.seek(-4, os.SEEK_END)
        stream.write(b"\1\2\3\4")
    os.utime(weights, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    assert weights.stat().st_ino == dates.st_ino
    assert opened().facts.checkpoint_digest != before


def test_other_instructions_are_recorded_with_what_they_compute(opened, monkeypatch):
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert not isinstance(opened(), RememberedEngine)


@pytest.mark.parametrize("change", [{"notes": None}, {"bos": {"text": [[]]}, "packages": 1}])
def test_a_note_that_is_damaged_is_written_anew(opened, tmp_path, change):
    (note,) = (tmp_path / "answers").glob("loaded-*.json")
    whole = note.read_text()
    note.write_text(json.dumps({**json.loads(whole), **change}))
    assert opened().facts.identity()["mode"]
    note.write_text(whole[:40])
    opened()
    assert json.loads(note.read_text()).keys() == json.loads(whole).keys()


def test_a_conversation_is_written_by_the_template_without_the_weights(
    opened, tmp_path, monkeypatch
):
    """A repeated evaluation of a chat model in WorldSense loaded it to ask it nothing."""
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
    (tmp_path / "model" / "chat_template.jinja").write_text(template)
    prompt = [Message("user", "Is it?")]
    expected = opened().rendered(prompt)
    assert expected == "<user>Is it?<assistant>"
    monkeypatch.setattr(Transformers, "open", lambda *_: pytest.fail("loaded"))
    assert opened().rendered(prompt) == expected
