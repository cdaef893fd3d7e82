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
from dataclasses import replace
from importlib import resources
from itertools import chain
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import APIRouter, Body, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from .. import __version__
from ..errors import Errors, PiiError
from ..labels import HEADER, LABELS, ORGANISATION, ROLES
from . import review_view as view
from .review import ORDER, Review
from .review_view import Wanted

PAGE = 50  # documents or values of the list that are sent at once
_SHOWN = 2_000  # places that are shown, to be decided about at once
_MOST_BYTES = 200_000
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


Asked = Annotated[Wanted, Depends()]


class Decision(BaseModel):
    """What a person says of places (document, start, end): see `Review.decide`."""

    do: Literal["accept", "reject", "relabel", "add"]
    at: list[tuple[int, int, int]] = Field(min_length=1, max_length=_SHOWN)
    label: str = Field("", max_length=40)
    role: str = Field("", max_length=40)


def create_app(review: Review, token: str, host: str) -> FastAPI:
    """RETURNS (FastAPI): The application. token (str): What the address begins with. host (str): Address and port that it is asked under."""
    return guarded(_routes(review), token, host)


def review_app(review: Review) -> FastAPI:
    """RETURNS (FastAPI): The review, to be mounted in an application that is guarded."""
    return _app(_routes(review, steps=True))


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


def _page(review: Review, *, steps: bool) -> str:
    env = Environment(
        loader=PackageLoader("pii_components", "resources/review"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    head, rows = review.file.head, review.file.rows.values()
    found = {span[2] for span in chain.from_iterable(row["spans"] for row in rows)}
    own = found.union(label.partition("/")[0] for label in head["actions"])
    return env.get_template("review.html").render(
        run=review.file.path.name,
        decisions=review.decisions.path.name,
        profile=head["profile"],
        model=head["model"],
        labels=(*LABELS, *sorted(own - {*LABELS, HEADER, ""})),
        roles=(*ROLES, ORGANISATION),
        order=ORDER,
        version=__version__,
        lacks_report=not review.report,
        steps=steps,
        command="pii-edu release" if steps else "pii-edu review",
    )


def _routes(review: Review, *, steps: bool = False) -> APIRouter:
    """steps (bool): Whether the page leads back to those of `pii-edu release`.

    What writes is awaited one after the other in the event loop's own thread; what looks through the corpus is done beside it."""
    router, folder = APIRouter(), resources.files("pii_components") / "resources" / "review"
    files = {name: (folder / name).read_text("utf8") for name in _FILES} | {
        "": _page(review, steps=steps)
    }

    def document(number: int, wanted: Wanted, **more: Any) -> dict[str, Any]:
        shown = review.document(number)
        shown["items"] = [item | {"wanted": wanted.shows(item)} for item in shown["items"]]
        order = [e.number for e in view.listed(review, replace(wanted, left=False))]
        at = order.index(number) if number in order else -1
        about = {
            "at": at + 1,
            "before": order[at - 1 : at] if at > 0 else [],
            "after": order[at + 1 : at + 2],
            "drawn": number in review.decisions.sample.get("records", ()),
            "progress": view.progress(review, wanted),
        }
        return shown | about | more

    @router.get("/")
    @router.get("/{name}")
    async def file(name: str = "") -> Response:
        kind = _FILES[name] if name else "text/html; charset=utf-8"
        return Response(files[name], media_type=kind)

    @router.get("/api/documents")
    async def documents(wanted: Asked, start: int = 0) -> dict[str, Any]:
        found, marks = view.listed(review, wanted), review.decisions
        drawn, rows = set(marks.sample.get("records", ())), []
        for entry in found[max(0, start) : max(0, start) + PAGE]:
            row = entry._asdict()
            del row["text"], row["release"]
            row["reviewed"] = marks.is_reviewed(entry.number)
            row["drawn"] = entry.number in drawn
            rows.append(row | {"excerpt": view.excerpt(entry.text, wanted.words)})
        about = {"listed": len(found), "page": PAGE, "all": len(review.entries)}
        return about | {"documents": rows, "progress": view.progress(review, wanted)}

    @router.get("/api/values")
    async def values(wanted: Asked, start: int = 0) -> dict[str, Any]:
        found = view.values(review, wanted, max(0, start), PAGE)
        return found | {"page": PAGE, "progress": view.progress(review, wanted)}

    @router.get("/api/value")
    async def value(wanted: Asked, value: str, of: str = "", whose: str = "") -> Response:
        return JSONResponse({"value": view.value(review, wanted, (value, of, whose), _SHOWN)})

    @router.get("/api/sample")
    async def sample() -> dict[str, Any]:
        return view.estimate(review)

    @router.post("/api/sample")
    async def draw(size: Annotated[int, Body(embed=True, ge=1)]) -> dict[str, Any]:
        view.draw(review, size)
        return view.estimate(review)

    @router.get("/api/documents/{number}")
    async def one(number: int, wanted: Asked) -> dict[str, Any]:
        return document(number, wanted)

    @router.post("/api/documents/{number}/decide")
    async def decide(number: int, said: Decision, wanted: Asked) -> dict[str, Any]:
        review.state(number)  # it is there
        action = review.decide(said.at, said.do, said.label, said.role, seen=number)
        return document(number, wanted, action=action, decided=len(said.at))

    @router.get("/api/documents/{number}/others/{action}")
    async def others(number: int, action: int) -> Response:
        found = await run_in_threadpool(review.others, number, action)
        said = review.decisions.actions[action]
        about = {name: said[name] for name in ("do", "label", "role")}
        about |= {"mentions": len(found), "documents": len({n for n, *_ in found})}
        return JSONResponse(about | {"shown": [review.context(*p) for p in found[:_SHOWN]]})

    @router.post("/api/documents/{number}/reviewed")
    async def mark(
        number: int, reviewed: Annotated[bool, Body(embed=True)], wanted: Asked
    ) -> dict[str, Any]:
        review.mark(number, reviewed)
        return document(number, wanted)

    @router.post("/api/documents/{number}/undo")
    async def undo(number: int, wanted: Asked) -> dict[str, Any]:
        told, action = None, review.undo(number)
        if action:
            told = {"do": action["do"], "mentions": sum(map(len, action["at"].values()))}
        return document(number, wanted, undone=told)

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
