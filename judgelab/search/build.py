"""The search that settings describe.

Invariant: keys come from the environment and go to their engine alone; a search that will never be asked needs none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit

from judgelab.errors import UsageError
from judgelab.search.base import Search
from judgelab.search.recorded import RecordedSearch
from judgelab.search.store import EvidenceStore, Source, sources
from judgelab.settings.search import SearchConfig, SearchMode

ENGINES = ("bm25", "duckduckgo", "serper", "brave", "tavily", "searxng", "recorded")
TIME_LIMITS = ("d", "w", "m", "y")
CHUNK_SENTENCES, CHUNK_OVERLAP = 3, 1  # of a page that is read: about the length of a snippet


def build_search(settings: SearchConfig, corpus_paths: Sequence[str], store_folder: Path) -> Search:
    """The engine of `settings` with its evidence in `store_folder`; nothing is asked or connected to yet.

    Raises UsageError for an unknown engine, a missing key, a setting out of range, or evidence that is not there.
    """
    check(settings)
    if settings.engine == "recorded":
        source = _source(settings, corpus_paths, store_folder)
        return RecordedSearch(None, EvidenceStore(store_folder, source.engine), SearchMode.replay, source.identity)
    engine = _engine(settings, corpus_paths)
    if settings.read_pages:
        engine = _with_pages(engine, settings, store_folder)
    return RecordedSearch(engine, EvidenceStore(store_folder, settings.engine), settings.mode)


def check(settings: SearchConfig) -> None:
    """Raise UsageError for a setting that no search can have."""
    if settings.engine not in ENGINES:
        near = get_close_matches(settings.engine, ENGINES, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"search.engine={settings.engine}: unknown{hint} (one of {', '.join(ENGINES)})")
    if settings.engine == "recorded" and settings.mode is not SearchMode.replay:
        raise UsageError(f"search.mode={settings.mode.value}: search.engine=recorded only replays (search.mode=replay)")
    if settings.recorded is not None and settings.engine != "recorded":
        raise UsageError(f"search.recorded={settings.recorded} is for search.engine=recorded (search=replay)")
    if settings.read_pages and settings.engine in ("bm25", "recorded"):
        raise UsageError(f"search.read_pages=true is for engines of the web, and not search.engine={settings.engine}")
    if settings.timelimit is not None and settings.timelimit not in TIME_LIMITS:
        raise UsageError(f"search.timelimit={settings.timelimit}: one of {', '.join(TIME_LIMITS)} is expected")
    for name, value in (("rate", settings.rate), ("timeout", settings.timeout), ("tries", settings.tries)):
        if not 0 < value < float("inf"):
            raise UsageError(f"search.{name}={value:g}: a number above 0 is expected")
    if settings.budget is not None and settings.budget < 0:
        raise UsageError(f"search.budget={settings.budget}: a number of requests, or null for no limit, is expected")


def _engine(settings: SearchConfig, corpus_paths: Sequence[str]) -> Search:
    match settings.engine:
        case "bm25":
            from judgelab.data.corpus import load_corpus
            from judgelab.search.bm25 import Bm25

            return Bm25(load_corpus(corpus_paths, "search.corpus" if settings.corpus else "dataset.corpus"))
        case "duckduckgo":
            from judgelab.search.duckduckgo import DuckDuckGo, backends

            if settings.backend not in (known := backends()):
                raise UsageError(f"search.backend={settings.backend}: ddgs here has {', '.join(known)}")
            return DuckDuckGo(settings)
        case "serper":
            from judgelab.search.serper import Serper

            return Serper(settings, _key("SERPER_API_KEY", settings))
        case "brave":
            from judgelab.search.brave import Brave

            return Brave(settings, _key("BRAVE_API_KEY", settings))
        case "tavily":
            from judgelab.search.tavily import Tavily

            return Tavily(settings, _key("TAVILY_API_KEY", settings))
        case _:
            from judgelab.search.searxng import Searxng

            return Searxng(settings, _server(settings.url))


def _key(variable: str, settings: SearchConfig) -> str:
    """The key in the environment; none is needed where only evidence is replayed."""
    key = os.environ.get(variable, "").strip()
    if settings.mode is SearchMode.replay:
        return key
    if not key:
        raise UsageError(
            f"search.engine={settings.engine} needs a key: set {variable} in the environment "
            "(without one: search.mode=replay, or another search=ENGINE)"
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"{variable} does not hold a key: it has spaces or characters that no key has")
    return key


def _server(url: str | None) -> str:
    if not url:
        raise UsageError("search.url is not set: name your SearXNG server, search.url=http://HOST:8080")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"search.url={url}: not the address of a server (http://HOST:8080)")
    if parts.username or parts.password:
        raise UsageError("search.url holds a password, which would be written into every run: use a server without one")
    return url


def _source(settings: SearchConfig, corpus_paths: Sequence[str], folder: Path) -> Source:
    found = sources(folder)
    if settings.recorded is not None:
        found = tuple(each for each in found if settings.recorded in (each.name, each.engine))
    if len(found) > 1 and corpus_paths and all(each.engine == "bm25" for each in found):
        # Every data set brings texts of its own: the evidence meant is that of these.
        own = _engine(replace(settings, engine="bm25"), corpus_paths).identity
        found = tuple(each for each in found if each.identity == own) or found
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{each.name} ({each.searches:,} searches)" for each in found)
        raise UsageError(f"{folder} holds evidence of several engines: {names}; name one with search.recorded=NAME")
    what = f"no evidence of {settings.recorded}" if settings.recorded else "no evidence"
    raise UsageError(
        f"{folder} holds {what}: record some with search=ENGINE search.mode=record, or take it from a file with "
        f"`judgelab search import FILE --into {folder}`"
    )


def _with_pages(engine: Search, settings: SearchConfig, store_folder: Path) -> Search:
    from judgelab.pages.chunks import chunks
    from judgelab.pages.fetch import PageFetcher
    from judgelab.search.reading import ReadingSearch
    from judgelab.settings.nuggets import PageMode

    mode = PageMode.cached if settings.mode is SearchMode.replay else PageMode.fetch
    pages = PageFetcher(store_folder.parent / "pages", mode)
    cutting = {"sentences": CHUNK_SENTENCES, "overlap": CHUNK_OVERLAP}
    return ReadingSearch(engine, pages, lambda text: chunks(text, CHUNK_SENTENCES, CHUNK_OVERLAP), cutting)
