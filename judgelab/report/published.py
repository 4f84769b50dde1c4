"""Values that papers and published judgments give, to stand beside runs on the same data.

Invariant: facts alone: each has its source, and an interval only where the counts behind it are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from judgelab.metrics.estimate import Estimate


@dataclass(frozen=True)
class Published:
    """One row of a paper. It belongs beside runs whose dataset is `dataset` and whose setting has `setting`."""

    protocol: str
    dataset: str
    judge: str
    setting: Mapping[str, str]
    note: str
    estimates: Mapping[str, Estimate] = field(default_factory=dict)


def _value(value: float, n: int = 0, lo: float = math.nan, hi: float = math.nan, unit: str = "fraction") -> Estimate:
    return Estimate(value, lo, hi, n, "as published", unit)


# arXiv 2601.07506, Table 1: accuracy changes by so many points when the reference is swapped; its sign is turned
# here, for RPAG is accuracy under the original reference minus accuracy under the swapped one.
_SWAPPED = tuple(
    Published(
        "swapped",
        dataset,
        "gpt-5",
        {"swap": "type_preserving", "condition": "standard", "candidates": "model"},
        f"arXiv 2601.07506: a change of {change} points under swap",
        {"rpag": _value(-change, unit="points")},
    )
    for dataset, change in (("nq_open", -2.8), ("popqa", -0.4))
)

# arXiv 2504.20006 and its second version: from the published confusion matrices, tie and bothbad one class.
_NUGGETS = (
    Published(
        "nuggets",
        "search_arena",
        "gpt-4.1",
        {"source": "both", "tie_threshold": "0.07"},
        "arXiv 2504.20006, with pages; threshold chosen on the same battles",
        {
            "agreement": _value(0.458, 5097, 0.445, 0.472),
            "kappa": _value(0.185, 5097),
            "kappa_quadratic": _value(0.280, 5097),
            "inversion_all": _value(0.164, 5097, 0.154, 0.175),
            "inversion_decisive": _value(0.241),
            "accuracy_decisive": _value(0.690, 0, 0.672, 0.707),
            "ks_ab": _value(0.313),
        },
    ),
    Published(
        "nuggets",
        "search_arena",
        "gpt-4.1",
        {"source": "responses", "tie_threshold": "0.1"},
        "arXiv 2504.20006, answers alone; threshold chosen on the same battles",
        {
            "agreement": _value(0.460, 5052, 0.446, 0.474),
            "kappa": _value(0.187, 5052),
            "kappa_quadratic": _value(0.284, 5052),
            "inversion_all": _value(0.162, 5052, 0.152, 0.172),
            "inversion_decisive": _value(0.237),
            "accuracy_decisive": _value(0.693, 0, 0.675, 0.710),
            "ks_ab": _value(0.324),
        },
    ),
)

# OpenQA-eval's published judgments of NQ301 (given the gold answers), against its first annotator.
_SAGE = (
    *(
        Published(
            "sage",
            "nq301",
            judge,
            {"variant": "reference"},
            "from the published judgments",
            {"accuracy": _value(accuracy, 1490), "kappa": _value(kappa, 1490), **more},
        )
        for judge, accuracy, kappa, more in (
            ("gpt-4", 0.848, 0.696, {"macro_f1": _value(0.848, 1490)}),
            ("text-davinci-003", 0.838, 0.675, {"macro_f1": _value(0.837, 1490)}),
            ("another person", 0.869, 0.735, {}),
        )
    ),
    Published(
        "sage",
        "ambigqa",
        "gpt-3.5",
        {"variant": "sage", "iterations": "3"},
        "arXiv 2504.07385: accuracy against a judge with the reference .67 without search, .80 with",
    ),
    Published(
        "sage",
        "hotpotqa",
        "gpt-4o",
        {"variant": "sage", "iterations": "3"},
        "arXiv 2504.07385: kappa .38 without search",
        {"kappa": _value(0.70)},
    ),
)

PUBLISHED = (*_SWAPPED, *_NUGGETS, *_SAGE)
