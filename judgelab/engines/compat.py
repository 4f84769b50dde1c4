"""What must be mended before transformers or vLLM can be imported at all.

Invariant: judges read text only, so nothing here changes an answer; it only removes what stands in the way.
"""

from __future__ import annotations

import importlib
import sys


def shield_torchvision() -> None:
    """Make a torchvision that cannot be imported look absent; call before importing transformers or vLLM.

    A torchvision built for another build of torch dies on import with RuntimeError ("operator
    torchvision::nms does not exist"), and takes transformers and vLLM with it, although both do without one
    when it is missing.
    """
    if "torchvision" in sys.modules:
        return
    try:
        importlib.import_module("torchvision")
    except ImportError:
        return
    except Exception:  # whatever a broken binary raises, its absence is what we need
        for name in [n for n in sys.modules if n == "torchvision" or n.startswith("torchvision.")]:
            del sys.modules[name]
        # With None here, import raises ImportError and find_spec says None: "not installed" to whoever asks.
        sys.modules["torchvision"] = None  # type: ignore[assignment]
