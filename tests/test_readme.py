"""README's commands are commands: each is parsed, each override composes, and its Python runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from judgelab import composition
from judgelab.cli import _parser
from judgelab.judge import Judge

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "slurm/README.md", "CONTRIBUTING.md")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def commands() -> list[str]:
    found = []
    for page in PAGES:
        for block in blocks(page, "bash"):
            for line in block.replace("\\\n", " ").splitlines():
                found += [part.strip() for part in re.sub(r"\s#.*", "", line).split("&&")]
    return [each for each in found if each]


JUDGELAB = [c for c in commands() if c.startswith("judgelab ")]


@pytest.mark.parametrize("text", [c for c in JUDGELAB if c.startswith("judgelab run")])
def test_run_commands_compose(text: str) -> None:
    words = composition.arrange(shlex.split(text)[2:])
    overrides = [word for word in words if "=" in word and not word.startswith("hydra")]
    composition.check(overrides, multirun="-m" in words)


@pytest.mark.parametrize("text", [c for c in JUDGELAB if not c.startswith("judgelab run")])
def test_other_commands_parse(text: str) -> None:
    words = [word for word in shlex.split(text)[1:] if word != "..."]
    assert _parser().parse_args(words).command == words[0]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [(ROOT / page).parent / link for link in re.findall(r"\]\((?!http)([^)#]+)\)", text)]
    scripts = [ROOT / name for name in re.findall(r"\b(?:experiments|slurm)/[\w.]+\.(?:py|sbatch)", text)]
    assert [path for path in (*links, *scripts) if not path.exists()] == []


@pytest.mark.vllm
def test_the_python_of_the_readme_runs_as_a_script_and_from_standard_input(
    embedded_judge: Judge, tmp_path: Path
) -> None:
    (code,) = blocks("README.md", "python")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "script.py").write_text(code)
    script = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=600
    )
    assert script.returncode == 0, script.stderr
    assert "'unit': 'points'" in script.stdout
    # The same again finds everything done, so it must print the same from a program without a file.
    stdin = subprocess.run(
        [sys.executable, "-"],
        input=code,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert stdin.stdout == script.stdout
