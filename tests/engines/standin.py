"""A worker without a model: answers `add`, spawns a stubborn grandchild, dies when told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

STUBBORN = (
    "import os, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.write(1, b'up\\n')\ntime.sleep(600)"
)


def main() -> None:
    """Read a JSON object a line, write its answer."""
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        assert signal.getsignal(number) is signal.SIG_IGN
    os.write(2, b"noise before the protocol\n")
    os.write(1, b"not JSON\n")
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("op"):
            case "add":
                answer = {"sum": message["a"] + message["b"]}
            case "spawn":
                # In a session of its own, like an engine process that has detached itself.
                child = subprocess.Popen(
                    [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, start_new_session=True
                )
                assert child.stdout is not None
                child.stdout.readline()
                answer = {"pid": child.pid, "worker": os.getpid()}
            case "silent":
                continue
            case "die":
                os._exit(3)
            case _:
                return
        sys.stdout.write(json.dumps({"id": message["id"], **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
