"""A web server of our own on loopback that answers as it is told and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Answer:
    """`delay` seconds before anything is sent, and again after every byte where `trickle` is set."""

    code: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    trickle: bool = False


def as_json(value: Any, code: int = 200, **headers: str) -> Answer:
    return Answer(code, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def as_html(text: str, code: int = 200) -> Answer:
    return Answer(code, text.encode(), {"Content-Type": "text/html; charset=utf-8"})


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: Any
    at: float


class Loopback:
    """`replies` are given in order, the last one for ever; `pages` are given by path and come first."""

    def __init__(self) -> None:
        self.replies: list[Answer] = []
        self.pages: dict[str, Answer] = {}
        self.asked: list[Asked] = []
        loopback = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                loopback.asked.append(
                    Asked(
                        self.command,
                        parts.path,
                        parse_qs(parts.query),
                        dict(self.headers.items()),
                        json.loads(raw) if raw else None,
                        time.monotonic(),
                    )
                )
                answer = loopback._answer(parts.path)
                time.sleep(answer.delay)
                with contextlib.suppress(OSError):  # who asked has gone
                    self.send_response(answer.code)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(answer.body)))
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.close_connection = True
                    if not answer.trickle:
                        self.wfile.write(answer.body)
                        return
                    for byte in answer.body:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(answer.delay)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def _answer(self, path: str) -> Answer:
        if path in self.pages:
            return self.pages[path]
        if not self.replies:
            return Answer(404)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextlib.contextmanager
def loopback() -> Iterator[Loopback]:
    server = Loopback()
    try:
        yield server
    finally:
        server.close()
