"""The page of `pii-edu review`, as a FastAPI application for one person on this machine.

    app = create_app(review, token, "127.0.0.1:41234")
    answer(app, sock)                                    # until a signal comes

Everything lies under /<token>/; whoever lacks the token, or comes under another name of this machine (DNS rebinding) or from another page,
gets 403. Nothing is cached, logged or fetched from elsewhere: page, style and script are three files of this package.
"""

import secrets
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from importlib import resources
from typing import Any, Literal

import uvicorn
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from .. import __version__
from ..errors import Errors, PiiError
from ..labels import LABELS, ORGANISATION, ROLES
from .review import ORDER, Review

PAGE = 50  # documents of the list that are sent at once
_SHOWN = 20  # other mentions that are shown before they are decided about
_MOST_BYTES = 10_000
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TELEMETRY_OFF = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_FILES = {"review.js": "text/javascript; charset=utf-8", "review.css": "text/css; charset=utf-8"}


class Decision(BaseModel):
    """What a person says of a stretch: see `Review.decide`."""

    do: Literal["accept", "reject", "relabel", "add"]
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    label: str = Field("", max_length=40)
    role: str = Field("", max_length=40)


class Mark(BaseModel):
    """Whether a document is reviewed."""

    reviewed: bool


def create_app(review: Review, token: str, host: str) -> FastAPI:
    """RETURNS (FastAPI): The application. token (str): What the address begins with. host (str): Address and port that it is asked under."""
    return guarded(_routes(review), token, host)


def review_app(review: Review) -> FastAPI:
    """RETURNS (FastAPI): The review, to be mounted in an application that is guarded."""
    return _app(_routes(review))


def _app(router: APIRouter, prefix: str = "") -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, telemetry=_TELEMETRY_OFF)  # type: ignore[arg-type]
    app.include_router(router, prefix=prefix)

    @app.exception_handler(RequestValidationError)
    async def _invalid(*_: Any) -> Response:
        return _refused(PiiError(Errors.E584, reason="its fields"), 400)

    return app


def guarded(router: APIRouter, token: str, host: str) -> FastAPI:
    """RETURNS (FastAPI): Answers one person on this machine, and nobody else."""
    app = _app(router, f"/{token}")
    hosts = (host, host.replace("127.0.0.1", "localhost"))

    @app.middleware("http")
    async def _guard(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        given = request.url.path.split("/")[1]
        origin, length = request.headers.get("origin"), request.headers.get("content-length", "0")
        try:
            if request.headers.get("host", "").lower() not in hosts or (
                origin and origin not in [f"http://{name}" for name in hosts]
            ):
                response = _refused(PiiError(Errors.E584, reason="the machine is another one"), 403)
            elif not secrets.compare_digest(given.encode(), token.encode()):
                response = _refused(
                    PiiError(Errors.E584, reason="the address lacks the token"), 403
                )
            elif request.method == "POST" and not (length.isdigit() and int(length) <= _MOST_BYTES):
                response = _refused(PiiError(Errors.E584, reason="its length"), 413)
            else:
                response = await call_next(request)
        except PiiError as err:
            response = _refused(err, 507 if err.code == "E512" else 400)
        except (KeyError, IndexError):
            response = _refused(
                PiiError(Errors.E584, reason="there is no such document or action"), 404
            )
        except Exception as err:  # whose message may hold text
            response = _refused(PiiError(Errors.E533, type=type(err).__name__), 500)
        response.headers.update(_HEADERS)
        return response

    return app


def _refused(err: PiiError, status: int) -> Response:
    return JSONResponse({"error": str(err)}, status)


def _page(review: Review) -> str:
    env = Environment(
        loader=PackageLoader("pii_components", "resources/review"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    head = review.file.head
    about = {
        "run": review.file.path.name,
        "decisions": review.decisions.path.name,
        "profile": head["profile"],
        "model": head["model"],
    }
    choice = {
        "labels": LABELS,
        "roles": (*ROLES, ORGANISATION),
        "order": ORDER,
        "version": __version__,
        "lacks_report": review.lacks_report,
    }
    return env.get_template("review.html").render(about | choice)


def _routes(review: Review) -> APIRouter:
    """What writes is awaited one after the other in the event loop's own thread; what looks through the corpus is done beside it."""
    router, page = APIRouter(), _page(review)
    folder = resources.files("pii_components") / "resources" / "review"
    files = {name: (folder / name).read_text("utf8") for name in _FILES}

    def document(number: int, **more: Any) -> dict[str, Any]:
        shown, order = review.document(number), list(review.entries)
        at = order.index(number)
        return (
            shown
            | {"at": at + 1, "before": order[at - 1 : at], "after": order[at + 1 : at + 2]}
            | more
        )

    @router.get("/")
    async def index() -> Response:
        return Response(page, media_type="text/html; charset=utf-8")

    @router.get("/{name}")
    async def file(name: str) -> Response:
        return Response(files[name], media_type=_FILES[name])

    @router.get("/api/documents")
    async def documents(start: int = 0, unreviewed: bool = False) -> dict[str, Any]:
        listed, marks = review.listed(unreviewed=unreviewed), review.decisions
        rows = [
            e._asdict() | {"reviewed": marks.is_reviewed(e.number)}
            for e in listed[max(0, start) : max(0, start) + PAGE]
        ]
        for row in rows:
            del row["text"], row["release"]
        done = sum(marks.is_reviewed(n) for n in marks.history)
        return {
            "documents": rows,
            "listed": len(listed),
            "all": len(review.entries),
            "reviewed": done,
            "page": PAGE,
        }

    @router.get("/api/next")
    async def following(after: int = 0) -> dict[str, Any]:
        """The first document by risk that is not reviewed and not this one."""
        number = next((e.number for e in review.listed(unreviewed=True) if e.number != after), None)
        return {"number": number}

    @router.get("/api/documents/{number}")
    async def one(number: int) -> dict[str, Any]:
        return document(number)

    @router.post("/api/documents/{number}/decide")
    async def decide(number: int, said: Decision) -> dict[str, Any]:
        action = review.decide(number, said.do, said.start, said.end, said.label, said.role)
        return document(number, action=action)

    @router.get("/api/documents/{number}/others/{action}")
    async def others(number: int, action: int) -> dict[str, Any]:
        found = await run_in_threadpool(review.others, number, action)
        shown = [review.context(*place) for place in found[:_SHOWN]]
        return {"mentions": len(found), "documents": len({n for n, *_ in found}), "shown": shown}

    @router.post("/api/documents/{number}/others/{action}")
    async def decide_others(number: int, action: int) -> dict[str, Any]:
        return document(number, decided=review.decide_others(number, action))

    @router.post("/api/documents/{number}/reviewed")
    async def mark(number: int, said: Mark) -> dict[str, Any]:
        review.mark(number, said.reviewed)
        return document(number)

    @router.post("/api/documents/{number}/undo")
    async def undo(number: int) -> dict[str, Any]:
        action = review.undo(number)
        told = (
            {"do": action["do"], "mentions": sum(map(len, action["at"].values()))}
            if action
            else None
        )
        return document(number, undone=told)

    return router


def answer(app: FastAPI, sock: socket.socket, *, ready: Callable[[], Any] = lambda: None) -> None:
    """Answer until SIGINT or SIGTERM. sock (socket.socket): Bound. ready (Callable): Called when the page can be opened."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            ready()

    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        loop="asyncio",
        timeout_graceful_shutdown=2,
    )
    with ExitStack() as stack:
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
        ):  # uvicorn raises the signal once more when it has ended
            stack.callback(signal.signal, number, signal.signal(number, lambda *_: None))
        Server(config).run(sockets=[sock])
