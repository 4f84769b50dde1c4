"""Pages are fetched politely, safely and once."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Loopback, as_html, loopback

from judgelab.pages import address
from judgelab.pages.address import Refused, is_public, locate
from judgelab.pages.fetch import MAX_BYTES, MAX_HOPS, FetchedPage, PageFetcher
from judgelab.pages.status import PageStatus
from judgelab.settings.nuggets import PageMode

LONG = "Sea otters hold hands while they sleep, so that they do not drift apart from each other at night."
PAGE = as_html(f"<html><head><title>Otters</title></head><body><article><p>{LONG}</p><p>{LONG}</p></article></body>")


@pytest.fixture
def site() -> Iterator[Loopback]:
    with loopback() as server:
        server.pages["/page"] = PAGE
        yield server


def visit(
    folder: Path, *urls: str, mode: PageMode = PageMode.fetch, private: bool = True, **more: Any
) -> list[FetchedPage]:
    """All at once."""

    async def go() -> list[FetchedPage]:
        fetcher = PageFetcher(folder, mode, **{"delay": 0.0, "timeout": 5.0, "allow_private": private, **more})
        try:
            return list(await asyncio.gather(*(fetcher.fetch(url) for url in urls)))
        finally:
            await fetcher.close()
            await fetcher.close()

    return asyncio.run(go())


def paths(site: Loopback) -> list[str]:
    return [asked.path for asked in site.asked]


def test_a_page_is_fetched_once(site: Loopback, tmp_path: Path) -> None:
    (first,) = visit(tmp_path, f"{site.url}/page")
    assert (first.status, first.title, first.url) == (PageStatus.OK, "Otters", f"{site.url}/page")
    assert LONG in first.text
    assert paths(site) == ["/robots.txt", "/page"]
    assert site.asked[1].headers["User-Agent"].startswith("judgelab/")
    assert site.asked[1].headers["Host"] == f"127.0.0.1:{site.port}"
    assert visit(tmp_path, f"{site.url}/page#part") == [first]
    assert visit(tmp_path, f"{site.url}/page", mode=PageMode.cached) == [first]
    assert len(site.asked) == 2


def test_a_page_asked_for_many_times_at_once_is_fetched_once(site: Loopback, tmp_path: Path) -> None:
    pages = visit(tmp_path, *[f"{site.url}/page"] * 5)
    assert {page.status for page in pages} == {PageStatus.OK}
    assert paths(site) == ["/robots.txt", "/page"]


def test_robots_are_asked_once_a_site(site: Loopback, tmp_path: Path) -> None:
    for n in range(5):
        site.pages[f"/{n}"] = PAGE
    visit(tmp_path, *(f"{site.url}/{n}" for n in range(5)))
    assert paths(site).count("/robots.txt") == 1
    assert len(site.asked) == 6


def test_cached_never_fetches(site: Loopback, tmp_path: Path) -> None:
    (page,) = visit(tmp_path, f"{site.url}/page", mode=PageMode.cached)
    assert (page.status, page.text) == (PageStatus.NOT_FETCHED, "")
    assert "protocol.pages" in page.detail
    assert site.asked == []
    assert not list(tmp_path.iterdir())


TROUBLE: dict[str, tuple[Answer, PageStatus]] = {
    "404": (Answer(404), PageStatus.NOT_FOUND),
    "410": (Answer(410), PageStatus.NOT_FOUND),
    "401": (Answer(401), PageStatus.FORBIDDEN),
    "403": (Answer(403), PageStatus.FORBIDDEN),
    "451": (Answer(451), PageStatus.FORBIDDEN),
    "400": (Answer(400), PageStatus.HTTP_ERROR),
    "204": (Answer(204), PageStatus.HTTP_ERROR),
    "429": (Answer(429), PageStatus.RATE_LIMITED),
    "500": (Answer(500), PageStatus.SERVER_ERROR),
    "503": (as_html("<h1>down</h1>", 503), PageStatus.SERVER_ERROR),
    "huge": (Answer(body=b"x" * (MAX_BYTES + 1), headers={"Content-Type": "text/plain"}), PageStatus.TOO_LARGE),
    "unpacks huge": (
        Answer(body=gzip.compress(b"x" * (MAX_BYTES + 1)), headers={"Content-Encoding": "gzip"}),
        PageStatus.TOO_LARGE,
    ),
    "bad gzip": (Answer(body=b"none", headers={"Content-Encoding": "gzip"}), PageStatus.UNREADABLE),
    "image": (Answer(body=b"x" * 500, headers={"Content-Type": "image/png"}), PageStatus.UNSUPPORTED),
    "short": (as_html("<p>Accept cookies"), PageStatus.TOO_SHORT),
    "slow": (Answer(body=b"x" * 500, delay=1.0), PageStatus.TIMEOUT),
    "trickle": (Answer(body=b"x" * 500, delay=0.05, trickle=True), PageStatus.TIMEOUT),
    "redirect to nowhere": (Answer(302), PageStatus.REDIRECTS),
    "redirect to no url": (Answer(302, headers={"Location": "http://[x"}), PageStatus.REDIRECTS),
    "redirect in a circle": (Answer(302, headers={"Location": "/trouble"}), PageStatus.REDIRECTS),
    "redirect to a file": (Answer(302, headers={"Location": "file:///etc/passwd"}), PageStatus.BAD_URL),
    "redirect to script": (Answer(302, headers={"Location": "javascript:alert(1)"}), PageStatus.REDIRECTS),
}


@pytest.mark.parametrize("case", sorted(TROUBLE))
def test_every_trouble_has_its_status_and_only_what_is_final_is_kept(case: str, site: Loopback, tmp_path: Path) -> None:
    answer, status = TROUBLE[case]
    site.pages["/trouble"] = answer
    url = f"{site.url}/trouble"
    (page,) = visit(tmp_path, url, timeout=0.3 if answer.delay else 10.0)
    assert (page.status, page.text) == (status, "")
    assert page.detail
    site.pages["/trouble"] = PAGE
    (again,) = visit(tmp_path, url)
    assert again.status is (status if status.final else PageStatus.OK)


def test_what_passes_is_not_final() -> None:
    passing = {"not_fetched", "rate_limited", "server_error", "timeout", "unreachable"}
    assert {status.value for status in PageStatus if not status.final} == passing


def test_nobody_there_is_unreachable(site: Loopback, tmp_path: Path) -> None:
    site.close()
    assert visit(tmp_path, f"{site.url}/page")[0].status is PageStatus.UNREACHABLE


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_followed(code: int, site: Loopback, tmp_path: Path) -> None:
    site.pages["/old"] = Answer(code, headers={"Location": "/page"})
    assert visit(tmp_path, f"{site.url}/old")[0].status is PageStatus.OK
    assert paths(site) == ["/robots.txt", "/old", "/page"]


@pytest.mark.parametrize(("hops", "status"), [(MAX_HOPS, PageStatus.OK), (MAX_HOPS + 1, PageStatus.REDIRECTS)])
def test_not_for_ever(hops: int, status: PageStatus, site: Loopback, tmp_path: Path) -> None:
    for hop in range(hops):
        site.pages[f"/{hop}"] = Answer(302, headers={"Location": f"/{hop + 1}" if hop < hops - 1 else "/page"})
    assert visit(tmp_path, f"{site.url}/0")[0].status is status


ROBOTS = b"User-agent: *\nDisallow: /private\n\nUser-agent: judgelab\nDisallow: /nojudge\nDisallow: /private\n"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/page", PageStatus.OK),
        ("/private/page", PageStatus.ROBOTS),
        ("/nojudge?x=1", PageStatus.ROBOTS),
        ("/to-private", PageStatus.ROBOTS),
    ],
)
def test_robots_are_obeyed_at_every_hop(path: str, status: PageStatus, site: Loopback, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = Answer(body=ROBOTS, headers={"Content-Type": "text/plain"})
    site.pages["/private/page"] = site.pages["/nojudge"] = PAGE
    site.pages["/to-private"] = Answer(302, headers={"Location": "/private/page"})
    assert visit(tmp_path, site.url + path)[0].status is status
    assert "/private/page" not in paths(site)
    assert "/nojudge" not in paths(site)


@pytest.mark.parametrize(
    ("robots", "status"),
    [
        (Answer(404), PageStatus.OK),
        (Answer(403), PageStatus.OK),
        (Answer(body=b""), PageStatus.OK),
        (Answer(body=b"\xff\x00 not robots"), PageStatus.OK),
        (Answer(302, headers={"Location": "/rules"}), PageStatus.ROBOTS),
        (Answer(500), PageStatus.SERVER_ERROR),
        (Answer(429), PageStatus.RATE_LIMITED),
    ],
)
def test_a_site_whose_rules_cannot_be_learnt_now_is_left_alone(
    robots: Answer, status: PageStatus, site: Loopback, tmp_path: Path
) -> None:
    site.pages["/robots.txt"] = robots
    site.pages["/rules"] = Answer(body=b"User-agent: *\nDisallow: /\n")
    assert visit(tmp_path, f"{site.url}/page")[0].status is status


@pytest.mark.parametrize(
    "url",
    [
        "",
        "page",
        "/page",
        "//host/page",
        "ftp://host/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://",
        "http:///x",
        "http://[x/",
        "http://me:sesame@127.0.0.1/",
        "http://host:99999/",
        "http://h\x00st/",
        "http://\ud83d/",
    ],
)
def test_what_is_no_address_of_a_page(url: str, tmp_path: Path) -> None:
    (page,) = visit(tmp_path, url)
    assert page.status is PageStatus.BAD_URL
    assert "sesame" not in page.detail


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "0.0.0.0", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "127.1"),
        *("100.64.0.1", "[::1]", "[fe80::1]", "[fc00::1]", "[::ffff:127.0.0.1]", "[::]", "2130706433", "0x7f000001"),
    ],
)
def test_nothing_private_is_asked(host: str, site: Loopback, tmp_path: Path) -> None:
    (page,) = visit(tmp_path, f"http://{host}:{site.port}/page", private=False)
    assert page.status is PageStatus.PRIVATE_ADDRESS
    assert site.asked == []


def test_a_redirect_into_the_own_network_is_not_followed(
    site: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "is_public", lambda found: found == "127.0.0.1")  # our own site, as if outside
    for number, target in enumerate(("http://10.0.0.1/", "//127.0.0.2/x", "http://[::1]/")):
        site.pages[f"/{number}"] = Answer(302, headers={"Location": target})
        (page,) = visit(tmp_path, f"{site.url}/{number}", private=False)
        assert page.status is PageStatus.PRIVATE_ADDRESS


@pytest.mark.parametrize(
    ("address_", "public"),
    [
        ("93.184.216.34", True),
        ("8.8.8.8", True),
        ("2606:2800:220:1::1", True),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::808:808", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("0.0.0.0", False),
        ("192.0.2.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("2001:db8::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("2002:7f00:1::", False),
        ("2001:0:0:0:0:0:f5ff:fffe", False),
        ("not an address", False),
    ],
)
def test_public_addresses(address_: str, public: bool) -> None:
    assert is_public(address_) is public


def names(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """A resolver that gives the answers in turn, the last one for ever; returns what was looked up."""
    asked: list[str] = []
    left = list(answers)
    real = socket.getaddrinfo

    def fake(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if not str(host).endswith(".example"):
            return real(host, port, *args, **kwargs)
        asked.append(host)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET6 if ":" in a else socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in found]

    monkeypatch.setattr(socket, "getaddrinfo", fake)
    return asked


def test_the_address_that_was_looked_at_is_connected_to(
    site: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = names(monkeypatch, ["127.0.0.1"])
    (page,) = visit(tmp_path, f"http://otters.example:{site.port}/page")
    assert page.status is PageStatus.OK
    assert asked == ["otters.example"] * 2  # for the page and for robots.txt of its site, and not to connect
    assert {each.headers["Host"] for each in site.asked} == {f"otters.example:{site.port}"}


def test_a_name_that_changes_its_mind_is_refused(
    site: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "is_public", lambda found: found == "127.0.0.1")
    names(monkeypatch, ["127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"])
    site.pages["/robots.txt"] = Answer(404)
    site.pages["/page"] = Answer(302, headers={"Location": "/other"})
    (page,) = visit(tmp_path, f"http://otters.example:{site.port}/page", private=False)
    assert page.status is PageStatus.PRIVATE_ADDRESS
    assert paths(site) == ["/robots.txt", "/page"]


@pytest.mark.parametrize("found", [["93.184.216.34", "10.0.0.1"], ["::1", "93.184.216.34"], ["127.0.0.1"]])
def test_a_name_with_any_private_address_is_refused(found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, found)
    with pytest.raises(Refused) as caught:
        asyncio.run(locate("https://otters.example/"))
    assert caught.value.status is PageStatus.PRIVATE_ADDRESS


@pytest.mark.parametrize(
    ("url", "netloc", "port", "path"),
    [
        ("http://otters.example", "otters.example", 80, "/"),
        ("https://otters.example:443/a?b=c", "otters.example", 443, "/a?b=c"),
        ("https://otters.example:8443/ä b", "otters.example:8443", 8443, "/%C3%A4%20b"),
        ("HTTP://OTTERS.example/", "otters.example", 80, "/"),
    ],
)
def test_targets(url: str, netloc: str, port: int, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, ["2606:2800:220:1::1", "93.184.216.34"])
    target = asyncio.run(locate(url))
    assert (target.netloc, target.port, target.path, target.address) == (netloc, port, path, "93.184.216.34")


def test_one_host_is_asked_one_at_a_time_and_not_too_often(site: Loopback, tmp_path: Path) -> None:
    for n in range(3):
        site.pages[f"/{n}"] = PAGE
    visit(tmp_path, *(f"{site.url}/{n}" for n in range(3)), delay=0.1)
    times = [asked.at for asked in site.asked]
    assert len(times) == 4
    assert all(after - before >= 0.1 for before, after in itertools.pairwise(times))


def test_a_torn_page_is_fetched_again(site: Loopback, tmp_path: Path) -> None:
    visit(tmp_path, f"{site.url}/page")
    (journal,) = tmp_path.glob("pages-*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-5])
    assert visit(tmp_path, f"{site.url}/page")[0].status is PageStatus.OK
    assert paths(site).count("/page") == 2
