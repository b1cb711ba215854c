"""The same conversations whoever runs the model: transformers here, or a server on loopback that
has it.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("openai")

from worldprobe.benchmarks.worldsense.inference.ask import Asking, ask
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set
from worldprobe.inference.store import open_store
from worldprobe.models import transformers_engine
from worldprobe.models.engine import Decoding, Message
from worldprobe.models.server import engine

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt"
    " %}assistant:{% endif %}"
)


@pytest.fixture(scope="module")
def chatty(tiny_checkpoint: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A tiny model with a chat template, loaded."""
    import shutil

    folder = tmp_path_factory.mktemp("chatty") / "model"
    shutil.copytree(tiny_checkpoint("llama"), folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return transformers_engine.open_engine(str(folder))


@pytest.fixture
def address(chatty: Any) -> Iterator[str]:
    """A server that answers chats with that model and offers nothing else."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send(200, {"data": [{"id": "tiny"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path != "/v1/chat/completions":
                return self.send(404, {})
            if body["max_tokens"] > 256:
                return self.send(
                    400,
                    {"error": {"message": "the prompt and max_tokens are longer than the context"}},
                )
            prompt = tuple(
                Message(message["role"], message["content"]) for message in body["messages"]
            )
            with lock:
                ((_, written),) = chatty.generate(
                    [prompt], Decoding(body["max_tokens"], tuple(body.get("stop") or ()))
                )
            usage = {
                "prompt_tokens": written.n_prompt_tokens,
                "completion_tokens": written.n_tokens,
                "total_tokens": 0,
            }
            usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
            finish = "length" if written.finish == "length" else "stop"
            return self.send(
                200,
                {
                    "choices": [{"message": {"content": written.text}, "finish_reason": finish}],
                    "usage": usage,
                },
            )

        def send(self, status: int, content: dict) -> None:
            raw = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/v1"
    http.shutdown()
    http.server_close()


def test_transformers_and_a_server_hold_the_same_conversations(
    chatty: Any, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = plan_set("test", sizes=[3], per_cell=1)
    skins = [
        skin for skin in read_skins() if skin.name in ("tall/short", "trips", "people_LeftRight")
    ]
    made = pd.concat(
        stream_set(plan, blocks_of(plan, skins, [skin.name for skin in skins]), 0),
        ignore_index=True,
    )
    path = tmp_path / "short.yaml"
    path.write_text(
        "ask: write\nquestion: 'So? {text}'\nfollow_up: 'Respond with {answers}'\ntokens:"
        " 12\nfollow_up_tokens: 6\n",
        encoding="utf-8",
    )
    prompts, trials = load_prompt_set(path), made.head(12)
    served = engine.open_engine(address, "tiny", first_wait=0.01)
    here, facts = ask(trials, chatty, prompts, open_store(tmp_path / "here", chatty), Asking(True))
    there, also = ask(trials, served, prompts, open_store(tmp_path / "there", served), Asking(True))
    assert facts["follow_ups"] > 0
    for key in ("status", "answer_values", "follow_ups", "form"):
        assert facts[key] == also[key]
    pd.testing.assert_frame_equal(here.drop(columns="finish"), there.drop(columns="finish"))
