"""What a process of its own takes to load a system, and how much memory: `python -c "from ….speed_probe import main; main()"`.

It reads `{"system": SPEC, "profile": NAME, "texts": {stage: [text, …]}}` from standard input and writes one line of JSON. Nothing heavy
is imported before the clock starts.
"""

import json
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def peak_memory() -> int | None:
    """The most memory that this process has held so far.

    RETURNS (int | None): Bytes; None where the platform does not tell. On Linux the high-water mark of /proc: `ru_maxrss` there also
    counts what the process that started this one held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def probe(system: str, profile: str, texts: dict[str, list[str]]) -> dict[str, Any]:
    """Load a system and let it read texts.

    system (str): A spec, see `baselines`. profile (str): Name or path. texts (dict[str, list[str]]): Stage -> texts, in order.
    RETURNS (dict[str, Any]): Seconds to load (imports too), and the peak of memory after that and after each stage, in bytes.
    """
    start, cpu = perf_counter(), process_time()
    from ..profiles import Profile
    from .baselines import make_system
    from .records import GoldDocument

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
    """Read the request, write the answer; a coded error is one line on standard error, and code 2."""
    from ..errors import PiiError

    asked = json.load(sys.stdin)
    try:
        answer = probe(asked["system"], asked["profile"], asked["texts"])
    except PiiError as err:
        sys.stderr.write(f"{err}\n")
        sys.exit(2)
    sys.stdout.write(json.dumps(answer) + "\n")
