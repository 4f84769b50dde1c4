"""The text of a page, whatever it came as: HTML, PDF or plain text.

Invariant: a page without a text worth reading is none: it has a status that says why, never an empty text.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import logging
import re
from dataclasses import dataclass
from html.parser import HTMLParser

from judgelab.pages.status import PageStatus

MIN_BYTES = 100  # of UTF-8; shorter pages are consent walls and error notes
MAX_PDF_PAGES = 200
MAX_STRIPPED = 1_000_000  # characters
_HTML = ("text/html", "application/xhtml+xml")
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class PageText:
    """What a body amounts to; `text` and `title` are empty unless `status` is ok. `detail` says why they are empty, or
    how the text was told from the rest where the usual way failed."""

    status: PageStatus
    text: str = ""
    title: str = ""
    detail: str = ""


@dataclass(frozen=True)
class _Main:
    text: str
    title: str
    note: str


def page_text(body: bytes, content_type: str = "") -> PageText:
    """The text of a body: the main text of HTML, all of a PDF, or plain text as it is.

    `content_type` is the header's value; where it is missing the body's first bytes decide.
    """
    declared, _, rest = content_type.partition(";")
    kind = declared.strip().lower() or _sniffed(body)
    if kind == "application/pdf" or body.startswith(b"%PDF-"):
        return _pdf(body)
    if kind in _HTML:
        main = _main_text(decode(body, _charset(rest)))
        return _checked(main.text, main.title, main.note)
    if kind.startswith("text/") or kind in ("application/json", "application/xml"):
        return _checked(decode(body, _charset(rest)), "")
    return PageText(PageStatus.UNSUPPORTED, detail=f"content type {kind[:80]}")


def decode(body: bytes, declared: str | None = None) -> str:
    """Bytes as text: by byte order mark, else as the header declares, else as the page does, else by UTF-8, else by
    guess. What cannot be decoded becomes U+FFFD."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return body.decode(codec, errors="replace")
    found = _META.search(body[:4096])
    for name in (declared, found.group(1).decode() if found else None):
        with contextlib.suppress(LookupError, ValueError):  # no such encoding, or one of something else than text
            return body.decode(_codec(name or ""), errors="replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes

        best = from_bytes(body[:100_000]).best()
        return body.decode(best.encoding if best else "latin-1", errors="replace")


def strip_tags(html: str) -> str:
    """All visible text of HTML, a line a block: what is left to do where no main text can be told from the rest."""
    stripper = _Stripper()
    stripper.feed(html[:MAX_STRIPPED])
    stripper.close()
    lines = (" ".join(line.split()) for line in "".join(stripper.parts).splitlines())
    return "\n".join(line for line in lines if line)


def _main_text(html: str) -> _Main:
    stripper = _Stripper()
    stripper.feed(html[:200_000])
    title = " ".join("".join(stripper.title).split())[:300]
    note = ""
    found: str | None = None
    try:
        import trafilatura

        logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # or every flaw of a page is told to the terminal
        found = trafilatura.extract(html, include_comments=False, include_tables=True)
    except ImportError as error:
        note = f"all text of the page: trafilatura cannot be imported ({error})"
    except Exception:  # hostile HTML ends its parsers in errors of every kind, and the fallback reads it all the same
        note = "all text of the page: its main text cannot be told from the rest"
    if found and len(found.encode(errors="replace")) >= MIN_BYTES:
        return _Main(found, title, note)
    return _Main(strip_tags(html), title, note)


def _pdf(body: bytes) -> PageText:
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # as for trafilatura
    try:
        reader = PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            return PageText(PageStatus.UNREADABLE, detail="PDF: needs a password")
        pages = [reader.pages[number].extract_text() for number in range(min(len(reader.pages), MAX_PDF_PAGES))]
        title = str((reader.metadata or {}).get("/Title") or "")
    except Exception as error:  # as above: a stranger's file may break its reader in any way
        return PageText(PageStatus.UNREADABLE, detail=f"PDF: {type(error).__name__}")
    return _checked("\n".join(pages), " ".join(title.split())[:300])


def _checked(text: str, title: str, detail: str = "") -> PageText:
    text = _UNFIT.sub("", text).strip()
    size = len(text.encode())
    if size < MIN_BYTES:
        return PageText(PageStatus.TOO_SHORT, detail=f"{size} bytes of text, fewer than {MIN_BYTES}")
    return PageText(PageStatus.OK, text, _UNFIT.sub("", title), " ".join(detail.split())[:200])


def _charset(parameters: str) -> str | None:
    found = re.search(r"charset\s*=\s*[\"']?([^\s\"';]+)", parameters, re.IGNORECASE)
    return found.group(1) if found else None


def _codec(name: str) -> str:
    """The Python codec of a charset name; web pages that say latin-1 mean Windows-1252."""
    known = codecs.lookup(name).name
    return "cp1252" if known in ("iso8859-1", "ascii") else known


def _sniffed(body: bytes) -> str:
    start = body[:512].lstrip().lower()
    if start.startswith(b"%pdf-"):
        return "application/pdf"
    if start.startswith(b"<"):
        return "text/html"
    return "application/octet-stream" if b"\x00" in body[:512] else "text/plain"


class _Stripper(HTMLParser):
    """Collects what a reader would see."""

    _HIDDEN = frozenset({"script", "style", "noscript", "template", "svg"})
    _BLOCKS = re.compile(
        "address|article|aside|blockquote|br|d[dlt]|div|footer|form|h[1-6r]|header|li|main|nav|ol|p|pre|section|"
        "table|t[dhr]|ul"
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._hidden: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "title":
            self._in_title = not self.title
        elif tag in self._HIDDEN:
            self._hidden.append(tag)
        elif self._BLOCKS.fullmatch(tag):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif self._BLOCKS.fullmatch(tag):
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._hidden:
            self.parts.append(data)
