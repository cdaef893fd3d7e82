"""What a test's worker process runs. It imports nothing, so that it starts in a moment."""

import os
import time


def work(pipe, start=None):
    """What `Worker` runs: "sleep" takes long, "die" ends the process."""
    pipe.send(start)
    while request := pipe.recv():
        path, content = request
        if path == "die":
            os._exit(1)
        time.sleep(content)
        pipe.send((200, path))
