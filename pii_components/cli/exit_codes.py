"""What the commands leave with. A script can tell whether the output is whole."""

DONE = 0
DONE_WITH_SKIPS = 1
REFUSED = 2
STOPPED = 3
INTERRUPTED = 130
