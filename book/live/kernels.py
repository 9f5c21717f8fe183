"""The kernels behind the pages: one for each page that runs something, started when it first does, and ended with it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from .outputs import Shown

SPECS = Path(__file__).parents[1] / "extensions" / "kernels"  # the kernel that the book is built with, which starts without a warning
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # as when the book was built: several would add up in another order, and print other last digits
MOST = 8  # kernels: each takes some 300 MB once it has imported torch
IDLE = 30.0  # minutes
PATIENCE = 60.0  # seconds in which a kernel has to start
# The book's style keeps what a cell prints until the cell has ended (figures.use_style). Whoever watches wants to see it at once.
LIVELY = "get_ipython().events.register('pre_run_cell', lambda info: setattr(__import__('sys').stdout, 'flush_interval', 0.2))"  # defines no name


class Full(Exception):
    """As many kernels run as may."""


class Kernel:
    """A Python of its own, in a process group of its own."""

    def __init__(self, cwd: Path, folder: Path):
        specs = KernelSpecManager(kernel_dirs=[str(SPECS)], ensure_native_kernel=False)
        self._cwd, self.ready = cwd, False
        self._end: asyncio.Future | None = None
        self._manager = AsyncKernelManager(
            kernel_name="python3", kernel_spec_manager=specs, connection_file=str(folder / f"{uuid4().hex}.json")
        )

    async def start(self) -> None:
        await self._manager.start_kernel(cwd=str(self._cwd), env={**os.environ, **ONE_THREAD})
        self._client = self._manager.client()
        self._client.start_channels()
        await self._client.wait_for_ready(timeout=PATIENCE)
        await self._client.execute_interactive(LIVELY, silent=True, allow_stdin=False, output_hook=lambda message: None)
        self.ready = True

    async def run(self, code: str, hook: Callable[[dict], object]) -> dict[str, str]:
        """Run some code and return what became of it; what it shows goes to the hook meanwhile."""
        answer = asyncio.ensure_future(self._client.execute_interactive(code, allow_stdin=False, output_hook=hook))
        death = asyncio.ensure_future(self._death())
        try:
            await asyncio.wait({answer, death}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                return {"status": "died"}
            content = answer.result()["content"]
        finally:
            answer.cancel()
            death.cancel()
        if content["status"] == "ok":
            return {"status": "ok"}
        name, value = content.get("ename", ""), content.get("evalue", "")
        return {"status": "interrupted" if name == "KeyboardInterrupt" else "error", "name": name, "value": value}

    async def _death(self) -> None:
        while await self._manager.is_alive():
            await asyncio.sleep(0.5)

    async def interrupt(self) -> None:
        await self._manager.interrupt_kernel()

    async def end(self) -> None:
        """End it at once, with whatever it has started in its process group; once, though the page and the server may both ask."""
        if self._end is None:
            self._end = asyncio.ensure_future(self._ended())
        await asyncio.shield(self._end)

    async def _ended(self) -> None:
        if hasattr(self, "_client"):
            self._client.stop_channels()
        if self._manager.has_kernel:
            await self._manager.shutdown_kernel(now=True)


class Kernels:
    """All kernels of the server."""

    def __init__(self, cwd: Path, folder: Path, idle: float = IDLE):
        self._cwd, self._folder, self.idle = cwd, folder, 60 * idle
        self._running: set[Kernel] = set()
        self._tasks: set[asyncio.Task] = set()
        self._ending = False

    def new(self) -> Kernel:
        """Return a kernel that has not started; raises Full where there are too many."""
        if self._ending or len(self._running) >= MOST:
            raise Full
        kernel = Kernel(self._cwd, self._folder)
        self._running.add(kernel)
        return kernel

    async def drop(self, kernel: Kernel) -> None:
        await kernel.end()
        self._running.discard(kernel)

    def do(self, work: Coroutine) -> asyncio.Task:
        """Begin some work that is finished even when the server is told to end."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end(self) -> None:
        self._ending = True
        await asyncio.gather(*(self.drop(kernel) for kernel in self._running), return_exceptions=True)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Line:
    """What one page asks of its kernel: one cell at a time."""

    def __init__(self, kernels: Kernels, say: Callable[..., None]):
        self._kernels, self._say = kernels, say
        self._kernel: Kernel | None = None
        self._work: asyncio.Task | None = None
        self._idle: asyncio.TimerHandle | None = None

    def run(self, code: str) -> None:
        if self._work is None or self._work.done():  # the page asks for the next one when it has heard of the last
            self._work = self._kernels.do(self._run(code))

    def interrupt(self) -> None:
        if self._kernel is not None and self._kernel.ready:
            self._kernels.do(self._kernel.interrupt())
        elif self._work is not None:
            self._kernels.do(self._forget("interrupted"))

    def restart(self) -> None:
        self._kernels.do(self._forget("restarted"))

    def close(self) -> None:
        self._kernels.do(self._forget("closed"))

    async def _run(self, code: str) -> None:
        began, shown = time.monotonic(), Shown()
        self._stop_waiting()
        try:
            if self._kernel is None:
                self._kernel = self._kernels.new()
                await self._kernel.start()
            outcome = await self._kernel.run(code, lambda message: [self._say(output=each) for each in shown.of(message)])
        except Full:
            outcome = {"status": "full"}
        except RuntimeError:  # so jupyter_client says that a kernel has died, or didn't come to life, while it started
            outcome = {"status": "died"}
        if outcome["status"] == "died":
            await self._drop()
        self._idle = asyncio.get_running_loop().call_later(self._kernels.idle, lambda: self._kernels.do(self._forget("idle")))
        self._say(done={**outcome, "seconds": time.monotonic() - began})

    async def _forget(self, why: str) -> None:
        """End the kernel, also in the middle of a cell; the next cell gets a new one."""
        self._stop_waiting()
        busy = self._work is not None and not self._work.done()
        if busy and self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work
        await self._drop()
        if busy:
            self._say(done={"status": why})
        self._say(forgotten=why)

    async def _drop(self) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            await self._kernels.drop(kernel)

    def _stop_waiting(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
