"""Which presentation belongs to which protocol.

Invariant: the only place in the report that knows all protocols by name.
"""

from __future__ import annotations

from judgelab.errors import JudgelabError
from judgelab.report.parts import Presentation


def presentation(protocol: str) -> Presentation:
    """How runs of a protocol are shown. Raises JudgelabError for one that this version does not know."""
    match protocol:
        case "swapped":
            from judgelab.report.swapped import PRESENTATION as SWAPPED

            return SWAPPED
        case "nuggets":
            from judgelab.report.nuggets import PRESENTATION as NUGGETS

            return NUGGETS
        case "sage":
            from judgelab.report.sage import PRESENTATION as SAGE

            return SAGE
    raise JudgelabError(f"runs of protocol {protocol!r} cannot be shown by this version of judgelab")
