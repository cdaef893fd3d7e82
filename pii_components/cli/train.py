"""`pii-edu init-train`: from labelled essays to a project that trains, scores and packages a pipeline of one's own.

pii-edu init-train essays.jsonl --out project
cd project && weasel run all
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from ..corpus.split import train_and_dev
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, ReadStats, show_label
from ..files.labelled import read_corpus
from ..labels import LABELS, check_label
from ..options import key, read_settings
from ..release.review import Review
from . import common
from .corpus import Documents, GroupSettings
from .deidentify import review_file
from .evaluate import ENOUGH

if TYPE_CHECKING:
    from ..training.project import Project

EPILOG = (
    "Settings for --config: student_column (all texts of one go to one side), looked_for (further labels that annotators looked for; all for "
    "every one), similarity (cosine above which texts are near-duplicates and go to one side; 0 for none), seed, form (of INPUT), text_column, "
    "id_column, encoding, text_source (texts of entities with offsets alone), strict. "
    "Exit codes: 0 all done; 1 done, but records were skipped; 2 refused, nothing was written; 130 interrupted."
)
# Fewer documents with spans teach nothing that could be measured.
LEAST = 4
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class TrainSettings(GroupSettings):
    """What is trained on.

    label (tuple[str, ...]): The user's own.
    depth (str): "heads" over the encoder as it ships, or "encoder" and heads.
    looked_for (tuple[str, ...]): Further labels that annotators looked for; "all" for every one.
    RAISES (PiiError): E519, E650.
    """

    label: tuple[str, ...] = key(())
    depth: str = key("heads", allowed=("heads", "encoder"))
    looked_for: tuple[str, ...] = key(())


def init_train(
    *,
    source: Annotated[
        Path,
        Argument(
            metavar="INPUT",
            help="Labelled essays in any form of: pii-edu corpus convert; or the folder of a review.",
        ),
    ],
    out: Annotated[Path, Option("--out", "-o", metavar="FOLDER", help="The new project.")],
    label: Annotated[
        list[str] | None,
        Option("--label", help="A label of your own, such as COURSE; may be repeated."),
    ] = None,
    depth: Annotated[
        str,
        Option(
            help="heads: minutes, without torch; encoder: all of it, with torch, a GPU or patience [heads]."
        ),
    ] = "",
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Make a project that trains the pipeline on your own labelled essays, scores it before and after, and packages it.

    Then: cd FOLDER && weasel run all. FOLDER holds the texts; nothing is sent anywhere.
    """
    with common.guard():
        settings = read_settings(TrainSettings, config, depth=depth, label=label)
        common.check_outputs(source, out, overwrite=overwrite)
        if settings.depth == "encoder" and find_spec("torch") is None:
            raise PiiError(Errors.E005, package="torch", what="--depth encoder", extra="train")
        documents, tally = Documents(), ReadStats()
        documents.skips.strict = settings.strict
        essays = list(_read(source, settings, documents, tally))
        alike = bool(settings.similarity) and find_spec("scipy") is not None
        if settings.similarity and not alike:
            common.say("near-duplicates are not looked for: that needs scipy (pip install scipy)")
        documents.add(essays, settings.student_column, alike=alike)
        if source.is_dir():  # who marked a document as reviewed looked at all of it
            settings = replace(settings, looked_for=(ALL,))
        project = _make(essays, documents, settings, tally)
        from ..training.project import write_project

        write_project(out, project)
        common.tell(f"wrote '{out}', which holds the texts; next: cd {out} && weasel run all")
    raise Exit(common.exit_code(documents.skips))


def _read(
    source: Path, settings: TrainSettings, documents: Documents, tally: ReadStats
) -> Iterator[LabelledText]:
    if not source.is_dir():
        reading: dict[str, Any] = {"on_skip": documents.skips, "text_source": settings.texts}
        yield from read_corpus(source, settings.form, tally=tally, **reading, **settings.columns)
        return
    with closing(Review.open(review_file(str(source)))) as opened:
        yield from opened.gold()


def _make(
    essays: Sequence[LabelledText], documents: Documents, settings: TrainSettings, tally: ReadStats
) -> "Project":
    """Split, measure, and say what will be done. RAISES (PiiError): E002, E650."""
    from ..training import project as projects

    found = Counter(label for labels in documents.labels for label in labels)
    own = _own_labels(found, settings)
    with_spans = sum(map(bool, documents.labels))
    if with_spans < LEAST:
        allowed = f"{LEAST} or more"
        raise PiiError(Errors.E650, name="documents with spans", value=with_spans, allowed=allowed)
    parts = train_and_dev(
        documents.groups(settings.similarity if documents.rows else 0),
        documents.labels,
        ids=documents.ids,
        seed=settings.seed,
    )
    more = (*LABELS, *own) if ALL in settings.looked_for else settings.looked_for
    looked_for = projects.annotated_labels((*found, *own), more)
    train, dev = (
        projects.make_docs((essays[i] for i in part), looked_for, tally) for part in parts
    )
    _check_fit(sum(len(doc.spans["pii"]) for doc in (*train, *dev)), tally)
    plan = projects.make_plan([len(doc) for doc in train], settings.depth)
    minutes = projects.estimate(plan, train, dev, settings.depth)
    made = projects.Project(
        train=train,
        dev=dev,
        looked_for=looked_for,
        own=own,
        plan=plan,
        depth=settings.depth,
        seed=settings.seed,
        minutes=minutes,
    )
    _show(made, tally)
    return made


def _own_labels(found: Iterable[str], settings: TrainSettings) -> list[str]:
    """RETURNS (list[str]): The user's own labels. RAISES (PiiError): E002 for one of gold or settings that nobody told to be so."""
    own = [label for label in dict.fromkeys(settings.label) if check_label(label) not in LABELS]
    looked_for = (label for label in settings.looked_for if label != ALL)
    for label in sorted({*found, *looked_for}.difference(LABELS, own)):
        shown = check_label(show_label(label), what="the essays")
        allowed = f"ours ({', '.join(LABELS)}), or say that it is your own: --label {shown}"
        raise PiiError(Errors.E002, label=shown, allowed=allowed)
    return own


def _check_fit(n_spans: int, tally: ReadStats) -> None:
    """RAISES (PiiError): E650, if more labels do not fit their text than do: then offsets count something else."""
    lost = len(tally.masked)
    if lost > n_spans:
        allowed = f"more than half of the {n_spans + lost}; offsets count characters from 0, the end exclusive"
        name = "number of labels that fit their text"
        raise PiiError(Errors.E650, name=name, value=n_spans, allowed=allowed)


def _show(project: "Project", tally: ReadStats) -> None:
    """Say what is trained on what."""
    if common.global_option("quiet"):
        return
    parts, rows, few = (project.train, project.dev), [], []
    for label, others in project.looked_for.items():
        counts = [
            [sum(s.label_ == label for s in doc.spans["pii"]) for doc in docs] for docs in parts
        ]
        n = [n for part in counts for n in (sum(part), sum(map(bool, part)))]
        may_be = ", ".join(other for other in others if other != label)
        rows.append((label, *n, may_be and f"or {may_be}"))
        few += [label] if n[2] < ENOUGH else []
    names = ("label", "spans to train on", "documents", "spans to score", "documents", "may be")
    title = f"{len(project.train)} documents to train on, {len(project.dev)} to score"
    common.console().print(common.table_of(rows, *names, right=names[1:5], title=title))
    for name, count in sorted((+tally.notes).items()):
        common.say(f"{name}: {count}")
    if tally.masked:
        common.say(
            f"to review: {len(tally.masked)} labels do not fit their text and are masked, as"
        )
        for one in tally.masked[:5]:
            common.say(
                f"  record {one.number}, {one.start} to {one.end}, {one.label}: {one.reason}"
            )
    common.say(
        "labels above were looked for; of others nothing is learned or forgotten (--config looked_for=LABEL,LABEL or all adds some)"
    )
    if few:
        common.say(
            f"to review: fewer than {ENOUGH} spans of {', '.join(few)} to score, so little will be known of them"
        )
    plan = project.plan
    common.say(
        f"depth {project.depth}: {plan.epochs} epochs of {plan.steps} steps at most; {project.minutes} on this machine, as measured"
    )
