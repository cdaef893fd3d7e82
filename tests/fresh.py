"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def fresh(*words, how="-c", code=0, cwd=None, **env) -> subprocess.CompletedProcess:
    """Run code, or with how="-m" a module, with arguments. RETURNS (CompletedProcess): What it printed. code (int): How it ends."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    env = os.environ | {"PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"} | env
    command = [sys.executable, how, *map(str, words)]
    how = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(command, cwd=cwd, env=env, check=False, **how)
    assert done.returncode == code, (done.stdout + done.stderr)[-3000:]
    return done
