"""What the tests see of the inside of a server."""

from __future__ import annotations

import gc
import os
import threading
from contextvars import ContextVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, JsonResponse

import kova
from kova.contrib.django import agent

_visitor: ContextVar[str] = ContextVar("visitor", default="nobody")


class note_visitor:
    """A middleware that knows who asks, as a context variable."""

    sync_capable = async_capable = True

    def __init__(self, get_response):  # type: ignore[no-untyped-def]
        self._get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request):  # type: ignore[no-untyped-def]
        _visitor.set(request.headers.get("X-Visitor", "nobody"))
        return self._get_response(request)


@kova.tool
def visitor() -> str:
    """Who asks, as a plain tool sees it."""
    return _visitor.get()


async def run_in_loop(request: HttpRequest) -> JsonResponse:
    """The blocking agent in an async view, which has a running loop (T1)."""
    return JsonResponse({"text": agent().run(request.GET["text"]).text})


@kova.tool
async def visitor_async() -> str:
    """Who asks, as an async tool sees it."""
    return _visitor.get()


def counts(request: HttpRequest) -> JsonResponse:
    """How many threads, files and sockets, and objects this process has."""
    for _ in range(3):
        gc.collect()
    return JsonResponse(
        {
            "pid": os.getpid(),
            "threads": threading.active_count(),
            "files": len(os.listdir("/proc/self/fd")),
            "objects": len(gc.get_objects()),
        }
    )
