"""Text of HTML, PDF and plain bodies, whatever their encoding."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelab.pages.status import PageStatus
from judgelab.pages.text import MIN_BYTES, decode, page_text, strip_tags

SENTENCES = [
    "Sea otters wrap themselves in kelp before they go to sleep.",
    "A resting group of them is called a raft, and rafts of hundreds were seen.",
    "Mothers carry their young on the chest for the first months of life.",
]
ARTICLE = "".join(f"<p>{sentence} {sentence}</p>" for sentence in SENTENCES)
PAGE = (
    "<!doctype html><html><head><title>Sea &amp; otters</title><style>p {color: red}</style></head><body>"
    "<nav><a href='/a'>Home</a> <a href='/b'>Shop now</a></nav>"
    f"<article><h1>Otters</h1>{ARTICLE}</article>"
    "<script>var secret = 'not text';</script><footer>Imprint and cookies</footer></body></html>"
)


def pdf(*lines: str, password: str | None = None) -> bytes:
    """A PDF of one page, made by hand, since the library that reads them writes no text."""
    shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
    stream = f"BT /F1 12 Tf 20 700 Td {shown} ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources 7 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Title (On otters) >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def test_the_main_text_is_told_from_the_rest() -> None:
    page = page_text(PAGE.encode(), "text/html; charset=utf-8")
    assert (page.status, page.title, page.detail) == (PageStatus.OK, "Sea & otters", "")
    for sentence in SENTENCES:
        assert sentence in page.text
    for rest in ("secret", "Shop now", "color", "Imprint"):
        assert rest not in page.text


def test_without_a_reader_of_main_text_all_text_is_taken_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    page = page_text(PAGE.encode(), "text/html")
    assert page.status is PageStatus.OK
    assert "trafilatura" in page.detail
    assert SENTENCES[0] in page.text
    assert "secret" not in page.text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two <b>bold</b> three", "one\ntwo bold three"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<script>x()</script>seen<style>y</style>", "seen"),
        ("<noscript>no</noscript><template>no</template>yes", "yes"),
        ("&lt;b&gt; &amp; caf&eacute; &#128512;", "<b> & café 😀"),
        ("<title>T</title>text", "text"),
        ("<ul><li>one</li><li>two</li></ul>", "one\ntwo"),
        ("</script></p>text", "text"),
        ("", ""),
    ],
)
def test_tags_are_stripped(html: str, text: str) -> None:
    assert strip_tags(html) == text


def test_a_pdf_is_read() -> None:
    page = page_text(pdf(*SENTENCES), "application/pdf")
    assert (page.status, page.title) == (PageStatus.OK, "On otters")
    assert all(sentence in page.text for sentence in SENTENCES)


@pytest.mark.parametrize("declared", ["", "text/html", "application/octet-stream", "application/pdf; x=y"])
def test_a_pdf_is_known_by_its_first_bytes(declared: str) -> None:
    assert page_text(pdf(*SENTENCES), declared).status is PageStatus.OK


def test_a_locked_pdf_is_unreadable(tmp_path: Path) -> None:
    from pypdf import PdfReader, PdfWriter

    (tmp_path / "open.pdf").write_bytes(pdf(*SENTENCES))
    writer = PdfWriter(clone_from=PdfReader(tmp_path / "open.pdf"))
    writer.encrypt("sesame", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    page = page_text((tmp_path / "locked.pdf").read_bytes(), "application/pdf")
    assert (page.status, page.detail) == (PageStatus.UNREADABLE, "PDF: needs a password")


@pytest.mark.parametrize("body", [b"%PDF-1.4\n", b"%PDF-1.7 garbage \x00\xff", pdf(*SENTENCES)[:200]])
def test_a_broken_pdf_is_unreadable(body: bytes) -> None:
    assert page_text(body, "application/pdf").status is PageStatus.UNREADABLE


def test_a_pdf_without_text_is_too_short() -> None:
    assert page_text(pdf(), "application/pdf").status is PageStatus.TOO_SHORT


@pytest.mark.parametrize(
    ("body", "declared", "status"),
    [
        (b"x" * MIN_BYTES, "text/plain", PageStatus.OK),
        (b"x" * (MIN_BYTES - 1), "text/plain", PageStatus.TOO_SHORT),
        (b" " * 1000, "text/plain", PageStatus.TOO_SHORT),
        ("ä".encode() * (MIN_BYTES // 2), "text/plain; charset=utf-8", PageStatus.OK),
        (b"", "", PageStatus.TOO_SHORT),
        (b"<html><body>Accept cookies</body></html>", "text/html", PageStatus.TOO_SHORT),
        (b'{"a": "' + b"x" * 200 + b'"}', "application/json", PageStatus.OK),
        (PAGE.encode(), "TEXT/HTML", PageStatus.OK),
        (PAGE.encode(), "", PageStatus.OK),
        (PAGE.encode(), "application/xhtml+xml", PageStatus.OK),
        (b"\x89PNG\r\n" + b"x" * 500, "image/png", PageStatus.UNSUPPORTED),
        (b"\x00\x01" * 500, "", PageStatus.UNSUPPORTED),
        (b"PK" + b"x" * 500, "application/zip", PageStatus.UNSUPPORTED),
    ],
)
def test_every_body_has_its_status(body: bytes, declared: str, status: PageStatus) -> None:
    page = page_text(body, declared)
    assert page.status is status
    assert bool(page.text) == (status is PageStatus.OK)
    assert page.detail or status is PageStatus.OK


TEXT = "Grüße aus Köln – „schön“ genug, €5 "


def encodings() -> Iterator[tuple[bytes, str | None]]:
    meta = f'<html><meta charset="windows-1252"><p>{TEXT}'
    old = f'<html><meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>{TEXT}'
    yield TEXT.encode(), None
    yield TEXT.encode(), "utf-8"
    yield TEXT.encode(), "no-such-charset"
    yield TEXT.encode(), "base64"
    yield TEXT.encode(), "idna"
    yield TEXT.encode(), "undefined"
    yield TEXT.encode(), "x" * 1000
    yield TEXT.encode(), "nul\x00"
    yield TEXT.encode("cp1252"), "windows-1252"
    yield TEXT.encode("cp1252"), "ISO-8859-1"
    yield TEXT.encode("cp1252"), "us-ascii"
    yield meta.encode("cp1252"), None
    yield old.encode("cp1252"), None
    yield codecs.BOM_UTF8 + TEXT.encode(), "iso-8859-1"
    yield codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-8"
    yield codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), None


@pytest.mark.parametrize(("body", "declared"), list(encodings()))
def test_encodings(body: bytes, declared: str | None) -> None:
    assert decode(body, declared).endswith(TEXT)


def test_an_undeclared_encoding_is_guessed() -> None:
    text = "Съешь же ещё этих мягких французских булок да выпей чаю. " * 20
    assert decode(text.encode("cp1251")) == text


@given(body=st.binary(max_size=300), declared=st.sampled_from(["", "text/html", "text/plain; charset=utf-7", "text/x"]))
@settings(deadline=None)
def test_no_body_breaks_the_reader(body: bytes, declared: str) -> None:
    page = page_text(body, declared)
    page.text.encode()  # no half characters
    assert (page.status is PageStatus.OK) == bool(page.text)


@given(html=st.text(alphabet="<>/ap!-&;#x\"'= \x00\ud800t", max_size=200))
@settings(deadline=None)
def test_no_markup_breaks_the_stripper(html: str) -> None:
    strip_tags(html)
