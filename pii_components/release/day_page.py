"""The page of `pii-edu release`: the steps of `day.Day`, and the review of release/review_page.py among them.

    with closing(Desk(day, locked, make_key)) as desk:
        app = create_app(desk, token, "127.0.0.1:41234")

Guarded as the review is: one person on this machine, an address with a secret in it, nothing fetched from elsewhere, nothing uploaded.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, FastAPI, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from ..errors import Errors, PiiError, reason_of
from ..files.record import Record, Skip
from ..profiles import Profile, shipped_profiles
from .day import REVIEW, RUNNING, STEPS, Child, Day
from .engine import load_engine
from .report import page_path
from .review import Review, decisions_path
from .review_page import guarded, review_app

_KEY = b"everyone may know this key"  # of the example, in which everybody is invented
_MOST_NAMES = 2000
_FILES = {
    "day.js": "text/javascript; charset=utf-8",
    "day.css": "text/css; charset=utf-8",
    "review.css": "text/css; charset=utf-8",
}
Lock = Callable[[Path], AbstractContextManager[None]]
Step = Literal["rehearse", "run", "again", "estimate"]


class Desk:
    """What is open: a step that runs, or a review.

    lock (Callable): Keeps others off the decisions while the review is open. key (Callable): Makes the secret key, where there is none."""

    def __init__(self, day: Day, lock: Lock, key: Callable[[Day], None]) -> None:
        self.day, self.lock, self.key = day, lock, key
        self.child: Child | None = None
        self.opened = ExitStack()
        self.review: FastAPI | None = None
        self.examples: list[dict[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The review, an application of its own."""
        if self.review is None:
            raise KeyError(REVIEW)
        await self.review(scope, receive, send)

    @property
    def running(self) -> Child | None:
        return self.child if self.child and self.child.is_alive() else None

    def open_review(self) -> None:
        """Read INPUT and OUTPUT once. RAISES (PiiError): E462, E501 to E508, E576, E578."""
        self.refuse_while_running()
        if self.review is None:
            path = self.day.place("review") / "review.jsonl"
            with ExitStack() as stack:
                stack.enter_context(self.lock(decisions_path(path)))
                review = stack.enter_context(closing(Review.open(path)))
                self.review, self.opened = review_app(review), stack.pop_all()

    def close_review(self) -> None:
        self.review = None
        self.opened.close()

    def start(self, step: str) -> None:
        """Begin a step. RAISES (PiiError): E519, if another one runs."""
        self.refuse_while_running()
        self.close_review()
        self.key(self.day)
        self.child = Child(self.day, step, self.day.begin(step))
        self.child.start()

    def refuse_while_running(self) -> None:
        if running := self.running:
            allowed = f"one step at a time; {running.step} runs"
            raise PiiError(Errors.E519, value=running.step, what="step", allowed=allowed)

    def close(self) -> None:
        """Stop what runs, and let the review go."""
        if running := self.running:
            running.stop()
        if self.child:
            self.child.join()
        self.close_review()

    def state(self) -> dict[str, Any]:
        """RETURNS (dict): For the page: choices, places, and how each step stands."""
        day, running = self.day, self.running
        steps = []
        for step in STEPS:
            kept = day.record.get(step, {})
            row = {"step": step, "state": day.state(step), "lines": kept.get("lines", [])}
            if running and running.step == step:
                row |= {"state": RUNNING, "lines": running.lines[-40:]}
                row |= {"read": day.progress(), "left": running.left()}
            steps.append(row)
        return {
            "choices": asdict(day.choices),
            "folder": str(day.folder.resolve()),
            "out": str(day.out.resolve()) if day.choices.out else "",
            "here": str(Path.cwd()),
            "steps": steps,
            "next": "" if not day.choices.input else day.following(),
            "decisions": day.decisions,
            "advice": day.advice,
            "report": page_path(day.place("report")).exists(),
        }

    def profiles(self) -> list[dict[str, str]]:
        """RETURNS (list[dict]): Name, words and what becomes of the example, of each profile that ships."""
        if not self.examples:
            text = _resource("example.txt").strip()
            engine = load_engine("en_pii_edu", key=_KEY)
            for name in shipped_profiles():
                profile = Profile.load(name)
                engine.hips.profile = profile
                result = engine.results([Record(1, "example", text)])[0]
                after = "" if isinstance(result, Skip) else result.text
                about = {"name": name, "about": profile.description, "after": after, "before": text}
                self.examples.append(about)
        return self.examples


def list_folder(path: str) -> dict[str, Any]:
    """RETURNS (dict): What a folder of this machine holds, for a person to choose from; names alone. RAISES (PiiError): E501."""
    place = Path(path or ".").expanduser()
    place = (place if place.is_dir() else place.parent).resolve()
    try:
        rows = sorted((not entry.is_dir(), entry.name) for entry in place.iterdir())
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{place}'", reason=reason_of(err)) from None
    shown = [row for row in rows if not row[1].startswith(".")][:_MOST_NAMES]
    return {
        "path": str(place),
        "parent": str(place.parent),
        "folders": [name for is_file, name in shown if not is_file],
        "files": [name for is_file, name in shown if is_file],
    }


def create_app(desk: Desk, token: str, host: str) -> FastAPI:
    """RETURNS (FastAPI): The application. token (str): What the address begins with. host (str): Address and port that it is asked under."""
    app = guarded(_routes(desk), token, host)
    app.mount(f"/{token}/review", desk)
    return app


def _resource(name: str) -> str:
    return (resources.files("pii_components") / "resources" / "review" / name).read_text("utf8")


def _routes(desk: Desk) -> APIRouter:
    router = APIRouter()
    files = {name: _resource(name) for name in _FILES}
    page = _resource("day.html")

    @router.get("/")
    async def index() -> Response:
        return Response(page, media_type="text/html; charset=utf-8")

    @router.get("/report")
    async def report() -> Response:
        place = page_path(desk.day.place("report"))
        return Response(place.read_bytes(), media_type="text/html; charset=utf-8")

    @router.get("/{name}")
    async def file(name: str) -> Response:
        return Response(files[name], media_type=_FILES[name])

    @router.get("/api/state")
    async def state() -> dict[str, Any]:
        return desk.state()

    @router.get("/api/folder")
    async def folder(path: str = "") -> dict[str, Any]:
        return list_folder(path)

    @router.get("/api/profiles")
    async def profiles() -> list[dict[str, str]]:
        return await run_in_threadpool(desk.profiles)

    @router.post("/api/choices")
    async def choose(given: dict[str, Any]) -> dict[str, Any]:
        desk.refuse_while_running()
        desk.day.choose(given)
        return desk.state()

    @router.post("/api/start")
    async def start(step: Annotated[Step, Body(embed=True)]) -> dict[str, Any]:
        desk.start(step)
        return desk.state()

    @router.post("/api/stop")
    async def stop() -> dict[str, Any]:
        if running := desk.running:
            running.stop()
        return desk.state()

    @router.post("/api/review")
    async def review() -> dict[str, Any]:
        await run_in_threadpool(desk.open_review)
        return desk.state()

    return router
