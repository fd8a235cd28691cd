"""Turns of an agent as Celery tasks: streamed to whoever waits, stopped from outside, and never done twice.

    celery -A examples.celery_tasks worker                       # or with --pool threads, or --pool gevent
    >>> from examples.celery_tasks import chat, follow, store
    >>> messages, revision = store.load("ada")
    >>> task = chat.delay("ada", "Hello!", revision)
    >>> for kind, text in follow(task.id): print(text, end="")

docs/celery.md says why it is done in this way. REDIS_URL, KOVA_MODEL and CHATS (a file) may be set.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import redis
from celery import Celery
from celery.contrib.abortable import AbortableTask

import kova

REDIS = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
LONGEST_TURN = 120.0  # seconds
PATIENCE = 2.0  # seconds that a worker may sleep before it asks the model again; longer pauses are Celery's
KEPT = 3600  # seconds for which progress and results can be read

app = Celery("chats", broker=REDIS, backend=REDIS)
app.conf.update(
    task_acks_late=True,  # a turn whose worker has died is delivered again, and then …
    task_reject_on_worker_lost=True,
    broker_transport_options={"visibility_timeout": int(5 * LONGEST_TURN)},  # … not while it still runs
    worker_prefetch_multiplier=1,  # turns are long: none waits behind another while a worker is free
    result_expires=KEPT,
    broker_connection_retry_on_startup=True,
)

# Made once, used by all: threads, greenlets, and the children that a worker forks.
agent = kova.Agent(
    os.environ.get("KOVA_MODEL", "local:smollm2"),
    retry_config=kova.RetryConfig(max_retries=2, max_retry_after=PATIENCE),
)
store = kova.SQLiteStore(os.environ.get("CHATS", "chats.db"))
streams = redis.Redis.from_url(REDIS, decode_responses=True)


@app.task(bind=True, base=AbortableTask, max_retries=3, throws=(kova.TurnCancelledError,))
def chat(self: Any, conversation: str, text: str, revision: int) -> str:
    """One turn of a conversation.

    Args:
        conversation: Its id.
        text: What the user says.
        revision: Of the conversation that the user has seen. The turn is added to that one or not at all, so that a
            task that is delivered twice has one effect.

    Returns:
        The answer.
    """
    history, current = store.load(conversation)
    if current != revision:
        return answer_that_is_there(history, text)
    asked = kova.user_message(text)
    tell(self.request.id, "begin")
    try:
        with aborts(self) as token, agent.run_stream([*history, asked], cancel=token, timeout=LONGEST_TURN) as stream:
            for piece in stream.text_deltas():
                tell(self.request.id, "text", piece)
        store.append(conversation, [asked, *stream.response.new_messages], revision)
    except kova.MemoryStoreError as error:
        if not error.is_conflict:
            raise
        return answer_that_is_there(store.load(conversation)[0], text)
    except kova.KovaError as error:
        if is_for_later(error):
            raise self.retry(exc=error, countdown=error.retry_after) from error
        raise
    finally:
        tell(self.request.id, "end")
    return stream.response.text


def answer_that_is_there(history: list[kova.ConversationMessage], text: str) -> str:
    """What this turn was answered when it was done before.

    Raises:
        MemoryStoreError: Another turn was quicker than this one.
    """
    questions = [message for message in history if message.role is kova.Role.USER]
    if questions and questions[-1] == kova.user_message(text):
        return history[-1].text
    raise kova.MemoryStoreError("the conversation has gone on in the meantime", is_conflict=True)


def is_for_later(error: kova.KovaError) -> bool:
    """Whether Celery is to try the whole turn again: the agent did not wait so long, and no tool has run yet."""
    begun = error.partial.llm_calls if error.partial else 0
    return error.is_retryable and begun <= 1 and (error.retry_after or 0) > PATIENCE


@contextlib.contextmanager
def aborts(task: Any) -> Iterator[kova.CancellationToken]:
    """A token that is cancelled when somebody calls `chat.AsyncResult(task_id).abort()`, in any pool."""
    token, over, result = kova.CancellationToken(), threading.Event(), task.AsyncResult(task.request.id)

    def watch() -> None:
        while not over.wait(0.2):
            with contextlib.suppress(redis.RedisError):
                if result.is_aborted():
                    token.cancel("aborted")
                    return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield token
    finally:
        over.set()
        watcher.join()


# ---- progress: a Redis stream for each task, which whoever comes late reads from the beginning


def tell(task_id: str, kind: str, text: str = "") -> None:
    """Say what a turn does: it begins (again), it has text, it ends."""
    with streams.pipeline() as pipeline:
        pipeline.xadd(f"chat:{task_id}", {"kind": kind, "text": text})
        if kind != "text":
            pipeline.expire(f"chat:{task_id}", KEPT)
        pipeline.execute()


def follow(task_id: str) -> Iterator[tuple[str, str]]:
    """What a turn does, as it does it: "begin" (what was shown before is void), "text" with a piece, "end".

    It goes on until the task has its result, which is then there: an answer, or an error.
    """
    last, is_ready = "0", False
    while True:
        found: Any = streams.xread({f"chat:{task_id}": last}, block=None if is_ready else 200)
        for entry_id, entry in found[0][1] if found else ():
            last = entry_id
            yield entry["kind"], entry["text"]
        if is_ready:
            return
        is_ready = chat.AsyncResult(task_id).ready()
