"""The one door between protocols and models: a frozen request in, a completion out.

Invariant: a request's canonical form together with the engine's identity holds everything that changes the
answer; whatever else a request carries (purpose, facts) must not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from judgelab.records import Message, canonical_json, content_hash

CACHE_VERSION = 1


@dataclass(frozen=True)
class Choice:
    """One of `labels`, each a single token; `meanings[i]` is what `labels[i]` stands for.

    With `constrained=False` nothing is forced: the probabilities returned are the raw mass on each label, so that
    one can see whether the constraint forces a foreign answer.
    """

    labels: tuple[str, ...]
    meanings: tuple[str, ...]
    constrained: bool = True

    def meaning(self, label: str) -> str:
        """What a label stands for."""
        return self.meanings[self.labels.index(label)]


@dataclass(frozen=True)
class Schema:
    """A JSON document that satisfies `json_schema` (its canonical JSON text)."""

    json_schema: str


@dataclass(frozen=True)
class FreeText:
    """Unconstrained text that ends at `stop` (not included in the text) or at the length cap."""

    stop: tuple[str, ...] = ()


Output = Choice | Schema | FreeText


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. `sample` numbers repeated draws of one request and seeds them."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    sample: int = 0


@dataclass(frozen=True)
class Facts:
    """What a scripted engine decides by; real engines never see it.

    `memory` is the judge's own answer. `statements` are what a list of labels is asked for, one label each, about
    the text `candidate`.
    """

    reference: str = ""
    candidate: str = ""
    memory: str = ""
    statements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """One question to the model. `continuation` is text the assistant turn already holds (it is continued)."""

    messages: tuple[Message, ...]
    output: Output
    sampling: Sampling
    purpose: str
    continuation: str = ""
    facts: Facts | None = None

    def canonical(self) -> dict[str, Any]:
        """Everything of the request that changes the answer, as plain JSON values."""
        output = {"kind": type(self.output).__name__, **asdict(self.output)}
        output.pop("meanings", None)
        return {
            "messages": [[m.role, m.content] for m in self.messages],
            "continuation": self.continuation,
            "output": output,
            "sampling": asdict(self.sampling),
        }


@dataclass(frozen=True)
class Completion:
    """What came back. `probabilities` maps label to p (only for `Choice`); `finish_reason` is `stop` or `length`.

    `cached_tokens` counts prompt tokens served by the engine's prefix cache; `seconds` is the time from asking to
    answering, queueing included.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    generated_tokens: int
    cached_tokens: int = 0
    seconds: float = 0.0
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Identity:
    """What an engine is, as far as it changes answers: `fields` enters every cache key."""

    engine: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def canonical(self) -> dict[str, Any]:
        """Plain JSON values, cache version included."""
        return {"engine": self.engine, "version": CACHE_VERSION, **self.fields}

    def digest(self) -> str:
        """Short content hash, the name of this identity's folder in the call cache."""
        return content_hash(self.canonical())


class Engine(Protocol):
    """What every engine offers.

    `complete` starts the engine on first use. It raises `errors.PromptTooLong` and `errors.RequestError` for one
    request's failure, `errors.EngineError` when the engine cannot go on. `describe` says what runs (versions,
    device) for the manifest, once started.
    """

    @property
    def identity(self) -> Identity:
        """Known before anything is loaded."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Answer one request."""
        ...

    async def close(self) -> None:
        """Release everything; idempotent, also when never started."""
        ...

    def describe(self) -> dict[str, str]:
        """Versions and device of a started engine; empty before."""
        ...


@dataclass(frozen=True)
class Answer:
    """A completion and where it came from: `key` names it in the call cache, `cached` says no engine was asked."""

    completion: Completion
    key: str
    cached: bool


class Asker(Protocol):
    """What a protocol asks through: the engine behind the call cache and the in-flight bound."""

    async def ask(self, request: Request) -> Answer:
        """Answer one request, from the cache where it was answered before. Raises as `Engine.complete` does."""
        ...


def request_key(identity: Identity, request: Request) -> str:
    """The cache key: sha256 over identity and request, 32 hex digits."""
    return content_hash({"identity": identity.canonical(), "request": request.canonical()}, 32)


def probe_request() -> Request:
    """A question whose only admissible answer is `"zq"`: an engine that says anything else ignores the grammar."""
    return Request(
        messages=(Message("user", "Say hello."),),
        output=Schema(canonical_json({"const": "zq"})),
        sampling=Sampling(max_tokens=16),
        purpose="probe",
    )
