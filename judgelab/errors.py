"""What stops a run, told in one line: every error names what is wrong and the knob that mends it.

Invariant: a failed judgment is never an exception that leaves its item; it is a `records.Unscored`. Only what
makes the whole run senseless is raised to the command line, and always as one of these classes.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_REQUEUE = 85


class JudgelabError(Exception):
    """A broken run: the command line prints the message as one line and exits with `exit_code`."""

    exit_code = EXIT_FAILED


class UsageError(JudgelabError):
    """The user asked for something that cannot be: a wrong override, a missing file, a malformed row."""

    exit_code = EXIT_USAGE


class Drained(JudgelabError):  # noqa: N818 - what happened to the run
    """The run was told to stop and did, with all finished work kept: launch it again to go on."""

    exit_code = EXIT_REQUEUE


class EngineError(JudgelabError):
    """The engine as a whole cannot answer (not started, died, ignores the grammar)."""


class RequestError(Exception):
    """One request failed while the engine lives on; the caller turns it into an `Unscored`."""


class PromptTooLong(RequestError):  # noqa: N818 - reads as the reason it becomes
    """The prompt and the room its answer needs do not fit the context."""

    def __init__(self, prompt_tokens: int, limit: int) -> None:
        super().__init__(
            f"prompt of {prompt_tokens} tokens does not fit a context of {limit} (knob: judge.max_model_len)"
        )
        self.prompt_tokens = prompt_tokens
        self.limit = limit
