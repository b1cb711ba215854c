"""The server of a rehearsal: answers OpenAI's protocol in the place of a model behind an API, on
this machine, from within the job that asks it. What it answers means nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from worldprobe.models.stand_ins import ANSWERS

#: What it replies, drawn by the question: what is asked for, several of it, and no answer.
REPLIES = (
    *sorted(ANSWERS),
    *(f"The answer is {word}." for word in sorted(ANSWERS)),
    "It is 1, not 2.",
    "I cannot tell.",
    "",
)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Which models are served: 404, as the list is whatever is asked for."""
        self._reply(404, {"error": {"message": "no list"}})

    def do_POST(self) -> None:
        """A conversation's next message, or a text's continuation."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body.get("echo"):
            self._reply(200, _echo(body["model"], body["prompt"]))
            return
        asked = json.dumps(body.get("messages") or body.get("prompt"))
        replies = body.get("structured_outputs", {}).get("choice", REPLIES)
        text = replies[int(_drawn(body["model"], asked) * len(replies))]
        is_chat = self.path.endswith("/chat/completions")
        written = {"message": {"role": "assistant", "content": text}} if is_chat else {"text": text}
        counts = {"prompt_tokens": len(asked.split()), "completion_tokens": len(text.split()) + 1}
        self._reply(
            200,
            {
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", **written}],
                "usage": {**counts, "total_tokens": sum(counts.values())},
            },
        )

    def _reply(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what is asked may be protected."""


def _drawn(*texts: str) -> float:
    """A number from 0 to below 1 that follows from some texts."""
    return int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:6], "big") / 2**48


def _echo(model: str, text: str) -> dict[str, Any]:
    """A text's words as its tokens, each with a log probability that follows from the text so far;
    the first has none.
    """
    words = list(re.finditer(r"\s*\S+", text))
    values = [-1 - 9 * _drawn(model, text[: word.end()]) for word in words[1:]]
    logprobs = {
        "tokens": [word.group() for word in words],
        "token_logprobs": [None, *values],
        "text_offset": [word.start() for word in words],
    }
    choice = {"index": 0, "text": text, "finish_reason": "length", "logprobs": logprobs}
    usage = {"prompt_tokens": len(words), "completion_tokens": 0, "total_tokens": len(words)}
    return {"model": model, "choices": [choice], "usage": usage}


def serve() -> str:
    """Start the server, which ends with this process; returns its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
