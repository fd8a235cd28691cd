"""What can become of a connection to a server, in finer classes than the user is shown.

All of them are `ConnectionError`s; the client turns them into plain ones when it gives up.
"""

from __future__ import annotations

from ..errors import ConnectionError, KovaError
from .jsonrpc import Message, error_of

__all__ = ["LinkLost", "NotDelivered", "Refused", "SessionExpired", "not_retried", "reason_of"]


class LinkLost(ConnectionError):
    """The connection ended while a call was under way: nobody knows whether it ran."""


class NotDelivered(ConnectionError):
    """The call provably did not run: it was not sent, or refused before anything was done."""


class Refused(NotDelivered):
    """A server answered a request with an HTTP error status.

    Args:
        message: What happened, with the status.
        status: The HTTP status.
        answer: The JSON-RPC message in the body, where there is one; its id may be null or foreign.
    """

    def __init__(self, message: str, status: int, answer: Message | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.answer = answer


class SessionExpired(NotDelivered):
    """The server does not know the session any more."""


def reason_of(refusal: NotDelivered) -> KovaError:
    """What a server's refusal is for the user: its own error, or that of its status."""
    answer = refusal.answer if isinstance(refusal, Refused) else None
    error = error_of(answer) if answer is not None else None
    plain = ConnectionError(refusal.message)
    plain.status_code = refusal.status_code
    return error or plain


def not_retried(message: str) -> ConnectionError:
    """An error that no repetition mends."""
    error = ConnectionError(message)
    error.is_retryable = False
    return error
