"""A server on loopback that speaks OpenAI's chat API, and misbehaves as a test tells it to."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(content, **more):
    """A whole answer. more: finish_reason, refusal, usage."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": more.get("finish_reason", "stop")}
    usage = more.get("usage", {"prompt_tokens": 7, "completion_tokens": 3})
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


class Fake:
    """answer (Callable): From a request's JSON and its number (from 1) to a body; or (status, body) or (status, body, headers, delay in seconds).
    asked (list): Every request: path, headers, JSON, time."""

    def __init__(self, answer: Callable) -> None:
        self.answer, self.asked, self.at_once, self.most = answer, [], 0, 0
        self.lock = threading.Lock()


@contextmanager
def serving(answer: Callable) -> Iterator[tuple[str, Fake]]:
    """YIELDS (tuple[str, Fake]): The endpoint, and what it was asked."""
    fake = Fake(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with fake.lock:
                fake.asked.append((self.path, dict(self.headers), body, time.monotonic()))
                number = len(fake.asked)
                fake.at_once += 1
                fake.most = max(fake.most, fake.at_once)
            said = fake.answer(body, number)
            parts = said if isinstance(said, tuple) else (200, said)
            status, content, headers, delay = (*parts, *({}, 0)[len(parts) - 2 :])
            time.sleep(delay)
            with fake.lock:
                fake.at_once -= 1
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            try:
                self.send_response(status)
                for name, value in ({"Content-Type": "application/json"} | headers).items():
                    self.send_header(name, value)
                length = len(data) + (100 if headers.get("X-Cut") else 0)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
