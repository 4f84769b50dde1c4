"""Python imports this first in every process below one that found a companion of torch broken (`engines.compat`).

Invariant: it makes the packages named in JUDGELAB_ABSENT look absent and then hands on to the sitecustomize that
would have been imported without it.
"""

import os
import sys

for _name in filter(None, os.environ.get("JUDGELAB_ABSENT", "").split(",")):
    sys.modules.setdefault(_name, None)  # type: ignore[arg-type]

_here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would slow every start
sys.path[:] = [_entry for _entry in sys.path if os.path.abspath(_entry) != _here]  # noqa: PTH100
_ours = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401
except ImportError:
    sys.modules["sitecustomize"] = _ours  # whoever imported this looks for it there
