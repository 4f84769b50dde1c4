"""What must be mended before transformers or vLLM can be imported at all.

Invariant: judges read text only, so nothing here may change an answer; it only removes what stands in the way.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

_SHIELD = Path(__file__).resolve().parent / "shield"
# Binaries that must match the build of torch, that others pull in, and that text needs none of.
COMPANIONS = ("torchvision", "torchaudio", "torchcodec")


def shield_companions() -> None:
    """Make companions of torch that cannot be imported look absent; before any import of transformers or vLLM.

    A torchvision built for another build of torch dies on import with RuntimeError ("operator torchvision::nms
    does not exist"), a torchaudio with OSError, and they take transformers and vLLM with them, although both do
    without when they are missing.
    """
    absent = [name for name in COMPANIONS if name not in sys.modules and broken(name) is not None]
    for name in absent:
        # None makes every later import an ImportError and find_spec answer None: "not installed" to all.
        sys.modules[name] = None  # type: ignore[assignment]
    if absent:
        # vLLM looks at model classes in a process of its own, which must not stumble either.
        os.environ["JUDGELAB_ABSENT"] = ",".join(absent)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_SHIELD), os.environ.get("PYTHONPATH"))))


def broken(companion: str) -> Exception | None:
    """What importing it raises, other than that it is not installed; nothing of a failed import is left behind."""
    try:
        importlib.import_module(companion)
    except ImportError:
        return None
    except Exception as error:  # a broken binary raises whatever it likes
        for name in [n for n in sys.modules if n == companion or n.startswith(f"{companion}.")]:
            del sys.modules[name]
        return error
    return None
