"""judgelab: can an open-weight model be trusted as a judge?

The library in ten lines, without Hydra:

    from judgelab import Config, preset, run

    result = run(Config(
        protocol=preset("protocol", "swapped"),
        dataset=preset("dataset", "demo"),
        judge=preset("judge", "smollm2-135m"),
        engine=preset("engine", "auto"),
        limit=8,
    ))
    print(result.path, result.summary["metrics"]["rpag"])
"""

from judgelab.config import preset
from judgelab.experiment import Result, run, run_async
from judgelab.settings import AnalysisConfig, Config

__version__ = "0.1.0"
__all__ = ["AnalysisConfig", "Config", "Result", "preset", "run", "run_async"]
