"""The views of the chat. A visitor's session has the id of the conversation, so nobody reads or continues another's."""

from __future__ import annotations

import uuid
from pathlib import Path

from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from kova.contrib.django import DjangoStore, EventStreamResponse, agent, async_agent

LONGEST = 8_000  # characters of a question
TIMEOUT = 120.0  # seconds for an answer
STATIC = {"chat.css": "text/css", "chat.js": "text/javascript", "icon.svg": "image/svg+xml"}


@require_GET
def page(request: HttpRequest, answer_by: str | None = None) -> HttpResponse:
    """The page, with what was said so far. Its form is answered by the view that suits the server, or by the given one."""
    conversation = request.session.setdefault("conversation", uuid.uuid4().hex)
    messages, _ = DjangoStore().load(conversation)
    context = {
        "messages": [message for message in messages if message.role in ("user", "assistant") and message.text],
        "answer_by": answer_by or ("answer_async" if isinstance(request, ASGIRequest) else "answer"),
        "longest": LONGEST,
    }
    response = render(request, "chat.html", context)
    response["Content-Security-Policy"] = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def answer(request: HttpRequest) -> HttpResponse:
    """Answer by the blocking agent: for gunicorn and its like, with threads or gevent."""
    conversation, text = request.session.get("conversation"), request.POST.get("text", "")
    if refusal := _refusal(conversation, text):
        return refusal
    return EventStreamResponse(
        request,
        lambda cancel: agent().chat_events(conversation, text, cancel=cancel, timeout=TIMEOUT, state=request.POST),
    )


@require_POST
async def answer_async(request: HttpRequest) -> HttpResponse:
    """Answer by the async agent: for uvicorn and its like; it works under gunicorn's threads too."""
    conversation, text = await request.session.aget("conversation"), request.POST.get("text", "")
    if refusal := _refusal(conversation, text):
        return refusal
    return EventStreamResponse(
        request,
        lambda cancel: async_agent().chat_events(
            conversation, text, cancel=cancel, timeout=TIMEOUT, state=request.POST
        ),
    )


def _refusal(conversation: str | None, text: str) -> HttpResponse | None:
    if conversation is None:
        return HttpResponseBadRequest("Open the page first.", content_type="text/plain")
    if not text.strip() or len(text) > LONGEST:
        return HttpResponseBadRequest(f"Write 1 to {LONGEST} characters.", content_type="text/plain")
    return None


@require_POST
def new(request: HttpRequest) -> HttpResponse:
    """Delete the conversation, and begin another one."""
    conversation = request.session.pop("conversation", None)
    if conversation is not None:
        DjangoStore().clear(conversation)
    return HttpResponseRedirect(reverse("page"))


@require_GET
def static(request: HttpRequest, name: str) -> HttpResponse:
    """The style sheet, the script, the icon. A larger site leaves them to its web server."""
    if name not in STATIC:
        raise Http404
    return HttpResponse(Path(__file__).with_name("static").joinpath(name).read_bytes(), content_type=STATIC[name])
