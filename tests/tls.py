"""A model server behind TLS, with certificates made for the test."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading

import trustme

from tests.server import ModelServer


class TLSModelServer(ModelServer):
    """As `ModelServer`, over TLS.

    Args:
        names: What the server's certificate is for.
        expired: Whether it is so no longer.
        silent: How many connections, the first ones, are accepted and then get no answer.

    Attributes:
        ca: The authority that has signed it.
        greeted: Set when a silent connection has begun its handshake.
        left: Set when a silent connection was closed by the client.
        handshakes: Completed handshakes.
    """

    def __init__(self, *names: str, expired: bool = False, silent: int = 0) -> None:
        super().__init__()
        self.url = f"https://127.0.0.1:{self.port}"
        self.ca = trustme.CA()
        self.greeted = threading.Event()
        self.left = threading.Event()
        self.handshakes = 0
        self._silent = silent
        yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        certificate = self.ca.issue_cert(*names or ("127.0.0.1",), not_after=yesterday if expired else None)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)

    def trusting(self) -> ssl.SSLContext:
        """A client's context that trusts the server's authority."""
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        return context

    def want_client_certificates(self) -> None:
        """Accept only clients that show a certificate of the server's authority."""
        self.ca.configure_trust(self._context)
        self._context.verify_mode = ssl.CERT_REQUIRED

    def _serve(self, connection: socket.socket) -> None:
        if self.connections <= self._silent:
            self._say_nothing(connection)
            return
        try:
            secure = self._context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()  # the client did not want to go on
            return
        finally:
            self._open.discard(connection)
        self.handshakes += 1
        self._open.add(secure)
        super()._serve(secure)

    def _say_nothing(self, connection: socket.socket) -> None:
        with connection:
            connection.recv(4096)
            self.greeted.set()
            while connection.recv(4096):
                pass
        self._open.discard(connection)
        self.left.set()
