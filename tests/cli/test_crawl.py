"""`dure crawl`: from a file to an export, on a site on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.cli.conftest import Dure

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("crawl")]

ITEMS = 30
SHEET = """
name = "shop"
start = ["{url}/list/0"]
[fetch]
delay = 0.0
[stages.listing]
follow = [{{css = "a.p", stage = "product"}}, {{css = "a.next", stage = "listing"}}]
[stages.product]
item = "Product"
key = "sku"
[stages.product.fields]
sku = ".sku"
"""


class _Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        _, kind, number = (*self.path.split("/"), "0")[:3]
        body = f'<b class="sku">S{number}</b>'
        if kind == "list":
            first = int(number) * 10
            body = "".join(f'<a class="p" href="/item/{n}">x</a>' for n in range(first, first + 10))
            if first + 10 < ITEMS:
                body += f'<a class="next" href="/list/{int(number) + 1}">next</a>'
        self.send_response(404 if kind == "robots.txt" else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Tests keep the terminal to themselves."""


@pytest.fixture
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Shop) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_shop_is_crawled_looked_at_and_exported(dure: Dure, site: str, tmp_path: Path) -> None:
    """C11, C14."""
    sheet = tmp_path / "shop.toml"
    sheet.write_text(SHEET.format(url=site))
    store = str(tmp_path / "shop.db")

    ran = dure("crawl", "run", str(sheet), "--store", store, "--allow", "127.0.0.0/8", "--json")
    assert ran.code == 0, ran.err
    assert ran.item["items"] == {"Product": ITEMS}
    assert ran.item["is_over"] is True

    status = dure("crawl", "status", "shop", "--store", store, "--json")
    assert status.item["status"] == "done"
    assert status.item["counts"] == {"success": ITEMS + 3}
    assert "shop.product" in status.item["stages"]
    profile = dure("crawl", "profile", "shop", "--store", store, "--json")
    assert profile.item["pages"] == ITEMS + 3
    checkpoint = dure("crawl", "checkpoint", "shop", "--store", store, "--json")
    assert checkpoint.item["left"] == 0
    listed = dure("crawl", "list", "--store", store, "--json")
    assert [run["name"] for run in listed.items] == ["shop-1"]
    tuned = dure("crawl", "set", "shop", "host.delay", "2s", "--store", store, "--json")
    assert tuned.item["values"] == {"host.delay": 2.0}

    out = tmp_path / "items.jsonl"
    assert dure("crawl", "export", "shop", str(out), "--store", store).code == 0
    assert len(out.read_text().splitlines()) == ITEMS
    assert json.loads(out.read_text().splitlines()[0])["_type"] == "Product"
    again = dure("crawl", "cancel", "shop", "--store", store, "--dry-run", "--json")
    assert again.code == 0


def test_selectors_are_tried_on_a_page(dure: Dure, site: str) -> None:
    ran = dure(
        "crawl", "shell", f"{site}/list/0", "--css", "a.next", "--allow", "127.0.0.0/8", "--json"
    )

    assert ran.code == 0, ran.err
    assert [item["href"] for item in ran.items] == ["/list/1"]


def test_what_is_no_selector_is_refused_before_the_page_is_fetched(dure: Dure) -> None:
    ran = dure("crawl", "shell", "http://127.0.0.1:1/", "--css", "a[[")

    assert (ran.code, "is no CSS selector" in ran.err) == (2, True)


def test_what_cannot_be_crawled_is_refused_with_a_sentence(dure: Dure, tmp_path: Path) -> None:
    missing = dure("crawl", "run", str(tmp_path / "none.toml"))
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    nothing = dure("crawl", "run", str(empty))
    assert (nothing.code, "has 0 spiders" in nothing.err) == (2, True)
    aimless = tmp_path / "aimless.toml"
    aimless.write_text('name = "aimless"\nstart = []\n[stages.page]\n')
    nowhere = dure("crawl", "run", str(aimless), "--store", str(tmp_path / "aimless.db"))
    assert (nowhere.code, "no start address" in nowhere.err) == (2, True)
