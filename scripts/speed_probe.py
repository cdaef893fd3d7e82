"""What a fresh process takes to load a system and to read, and how much memory: a request on standard input, the answer on standard output.

It imports nothing before its clock runs; `scripts.speed` starts it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def memory(kind: str = "VmHWM", process: int | str = "self") -> float:
    """Megabytes (10^6 bytes) that a process has held at most so far, or with VmRSS holds now, by /proc; not a number where there is none.

    `ru_maxrss` also counts what the process that started this one held when it forked.
    """
    status = Path(f"/proc/{process}/status")
    lines = status.read_text("utf8").splitlines() if status.exists() else []
    return next(
        (int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{kind}:")),
        float("nan"),
    )


def probe(system: str, stages: Mapping[str, Sequence[str]], gpu: bool = False) -> dict[str, Any]:
    """Load a system, imports and all, and let it read the texts of each stage. system (str): Empty for spaCy alone, which reads nothing.
    RETURNS (dict[str, Any]): Its numbers, and seconds, seconds of processors and the peak of memory after each stage."""
    start, cpu = perf_counter(), process_time()
    import spacy

    if gpu:
        spacy.require_gpu()
    if not system:
        spacy.blank("en")
        return {"load_seconds": perf_counter() - start, "load_cpu_seconds": process_time() - cpu}
    from pii_components.evaluate.systems import make_system
    from pii_components.profiles import Profile

    loaded = make_system(system, protects=Profile.load("crapii").protects)
    found = {
        "load_seconds": perf_counter() - start,
        "load_cpu_seconds": process_time() - cpu,
        "megabytes_loaded": memory(),
    }
    path = loaded.nlp.path if loaded.nlp is not None else None
    files = path.rglob("*") if path else ()
    found["megabytes_on_disk"] = sum(path.stat().st_size for path in files if path.is_file()) / 1e6
    read: dict[str, dict[str, float]] = {}
    for stage, texts in stages.items():
        start = perf_counter()
        if not read:  # some things are made when they are first needed
            list(loaded.find(texts[:1]))
            found["first_result_seconds"] = perf_counter() - start
        start, cpu = perf_counter(), process_time()
        for _ in loaded.find(texts):
            pass
        read[stage] = {
            "seconds": perf_counter() - start,
            "cpu_seconds": process_time() - cpu,
            "megabytes": memory(),
        }
    return {"about": loaded.about, "numbers": found, "stages": read}


if __name__ == "__main__":
    print(json.dumps(probe(**json.load(sys.stdin))))
