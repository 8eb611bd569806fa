"""Serves a folder on loopback where there is no nginx:  python serve_site.py FOLDER PORT

Everything is read into memory first, so that what is measured is not this disk.
"""

import asyncio
import mimetypes
import sys
from pathlib import Path

import uvloop
from aiohttp import web


def read(folder: Path) -> dict[str, tuple[bytes, str | None]]:
    """Every file by its path, with its type."""
    return {
        f"/{path.relative_to(folder)}": (path.read_bytes(), mimetypes.guess_type(path)[0])
        for path in folder.rglob("*")
        if path.is_file()
    }


async def main(pages: dict[str, tuple[bytes, str | None]], port: int) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        body, kind = pages.get(request.path, (None, None))
        if body is None:
            return web.Response(status=404)
        return web.Response(body=body, content_type=kind, charset="utf-8")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print("ready", flush=True)
    await asyncio.Event().wait()


uvloop.run(main(read(Path(sys.argv[1])), int(sys.argv[2])))
