import asyncio
import contextlib

from aiohttp import web

from service.housekeeping import housekeeping


async def background(app: web.Application):
    task = asyncio.create_task(housekeeping(app))
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def build() -> web.Application:
    app = web.Application()
    app.cleanup_ctx.append(background)
    return app


if __name__ == "__main__":
    web.run_app(build(), port=8080)
