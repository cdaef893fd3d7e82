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
    """The most memory, in bytes, that this process has held so far; None where the platform does not tell.

    On Linux the high-water mark of /proc: `ru_maxrss` there also counts what the process that started this one held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(
            (int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None
        )
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def probe(system: str, profile: str, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Load a system, imports and all, and let it read the texts of each stage: seconds, and the peak of memory in bytes."""
    start, cpu = perf_counter(), process_time()
    from pii_components.evaluate.gold import GoldDocument
    from pii_components.evaluate.systems import make_system
    from pii_components.profiles import Profile

    loaded = make_system(system, protects=Profile.load(profile).protects)
    out: dict[str, Any] = {"load_seconds": perf_counter() - start, "load_cpu_seconds": process_time() - cpu}
    out["peak_bytes"] = {"loaded": peak_memory()}
    start = perf_counter()
    for stage, some in texts.items():
        for _ in loaded.find([GoldDocument(str(n), text) for n, text in enumerate(some)]):
            out.setdefault("first_result_seconds", perf_counter() - start)
        out["peak_bytes"][stage] = peak_memory()
    return out


def main() -> None:
    """Answer in one line; a coded error is one line on standard error, and code 2."""
    request = json.load(sys.stdin)
    from pii_components.errors import PiiError

    try:
        sys.stdout.write(json.dumps(probe(**request)) + "\n")
    except PiiError as err:
        sys.stderr.write(f"{err}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
