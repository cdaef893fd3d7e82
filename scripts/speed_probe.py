"""What a fresh process takes to load a system, and how much memory: a request on standard input, the answer on standard output.

It imports nothing before its clock runs; `scripts.speed` starts it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def peak_memory() -> int | None:
    """The most memory, in bytes, that this process has held so far, by /proc; None where there is none.

    `ru_maxrss` also counts what the process that started this one held when it forked.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


def probe(system: str, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Load a system, imports and all, and let it read the texts of each stage: seconds, and the peak of memory in bytes."""
    start, cpu = perf_counter(), process_time()
    from pii_components.evaluate.gold import GoldDocument
    from pii_components.evaluate.systems import make_system
    from pii_components.profiles import Profile

    loaded = make_system(system, protects=Profile.load("crapii").protects)
    out: dict[str, Any] = {"load_seconds": perf_counter() - start, "load_cpu_seconds": process_time() - cpu}
    out["peak_bytes"] = {"loaded": peak_memory()}
    start = perf_counter()
    for stage, some in texts.items():
        for _ in loaded.find([GoldDocument(str(n), text) for n, text in enumerate(some)]):
            out.setdefault("first_result_seconds", perf_counter() - start)
        out["peak_bytes"][stage] = peak_memory()
    return out


if __name__ == "__main__":
    print(json.dumps(probe(**json.load(sys.stdin))))
