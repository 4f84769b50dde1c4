"""The Hydra entry point for launchers and schedulers: `python experiments/run.py [overrides] [-m]`.

The same as `judgelab run`, so that a job script needs nothing but this checkout and an environment.
"""

import sys
from pathlib import Path

# Scripts beside this one must not stand in for libraries of the same name (torch imports `tabulate`).
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

from judgelab.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
