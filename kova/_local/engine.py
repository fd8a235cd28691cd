"""The servers of the local models: started at the first need, once per process, and stopped at its exit."""

from __future__ import annotations

import atexit
import ctypes
import os
import socket
import threading
from pathlib import Path
from typing import Any, Protocol

from ..errors import ConnectionError
from .install import check_local, model_file, verify
from .models import LOCAL_MODELS, LocalModel

__all__ = ["local_base_url"]


class _Server(Protocol):
    """`xllamacpp.Server`: listens once it is made, until its last reference goes."""

    @property
    def listening_address(self) -> str: ...

    def handle_metrics(self) -> str: ...


_lock = threading.Lock()
_servers: dict[str, _Server] = {}
_forked = False


def local_base_url(name: str) -> str:
    """The address of a local model's server, which is started if it does not run yet.

    Safe to call from any thread; concurrent calls start one server and all wait for it (half a second on an idle
    machine, some seconds on a busy one). A start that failed is tried again by the next call.

    Returns:
        The server's origin, such as "http://127.0.0.1:40123".

    Raises:
        BuildError: There is no such model, or its engine or its file is missing or wrong.
        ConnectionError: The server did not start.
    """
    with _lock:
        if name not in _servers:
            check_local(name)
            model = LOCAL_MODELS[name]
            verify(model)
            _servers[name] = _start(name, model)
        return _servers[name].listening_address


def _start(name: str, model: LocalModel) -> _Server:
    import xllamacpp

    try:
        server: _Server = xllamacpp.Server(_settings(xllamacpp.CommonParams(), name, model))
    except RuntimeError as error:
        raise ConnectionError(f'the server of "local:{name}" did not start: {error}') from error
    # A server that is stopped before its main loop runs never ends; this is answered by the loop.
    server.handle_metrics()
    return server


def _settings(params: Any, name: str, model: LocalModel) -> Any:
    """The engine's settings for a model: private to this machine, silent, the same answer to the same question."""
    params.model.path = str(model_file(model))
    params.model_alias = {name}
    params.chat_template = Path(__file__).with_name(model.template).read_text(encoding="utf-8")
    params.use_jinja = True
    params.n_ctx = model.context
    params.n_parallel = 1
    params.n_predict = 512  # a small model may repeat itself for ever; max_tokens of a request goes before
    params.sampling.temp = 0.0

    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.cors_origins = ""  # no web page may read what is said here
    params.endpoint_slots = False
    params.endpoint_metrics = True  # for `_start`; they are a handful of counters
    params.ui = False
    params.verbosity = -1

    # A cached prompt gives another text than the same prompt when it is new.
    params.cache_prompt = False
    params.cache_ram_mib = 0
    # The engine's threads spin while they wait for one another: two on two cores, with anything else running, took up
    # to thirty times as long as one.
    params.cpuparams.n_threads = 1
    # Between batches the engine sees that nobody waits for an answer any more, or that the process is about to exit.
    params.n_batch = params.n_ubatch = 64
    # xllamacpp holds the interpreter's lock while it starts: these two steps would be a third of that time.
    params.warmup = False
    params.fit_params = False
    return params


def _stop_all() -> None:
    # Before the interpreter and the C++ library are taken apart, which running engine threads would not survive.
    with _lock:
        if _forked:
            _abandon_all()
        for server in _servers.values():
            _hang_up(int(server.listening_address.rpartition(":")[2]))
        _servers.clear()


def _hang_up(port: int) -> None:
    """Cut the connections of a server here: one that stops waits for its clients, and does not tell them."""
    for name in os.listdir("/dev/fd"):
        try:
            sock = socket.socket(fileno=int(name))
        except OSError:
            continue  # a file, or closed since
        try:
            # Only a connected socket has a peer: the listening one is left to the server.
            if sock.family == socket.AF_INET and sock.getsockname()[1] == port and sock.getpeername():
                sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        finally:
            sock.detach()


def _after_fork() -> None:
    """In the child the parent's servers are of no use, and the lock may be held by a thread that is gone.

    Nor can the C++ library be cleaned up there: it would wait for threads of the parent's, or abort. So the child's
    servers, the inherited ones and its own, run until its end, which comes right after Python's own clean-up.
    """
    global _lock, _forked
    _lock = threading.Lock()
    if not _servers:
        return
    _forked = True
    _abandon_all()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):
        libc.on_exit(libc._exit, None)


def _abandon_all() -> None:
    for server in _servers.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    _servers.clear()


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_after_fork)
