"""T12 in a Jupyter kernel: tokens, which end a turn of either twin in a kernel that is as it was started."""

from __future__ import annotations

import threading

import pytest

from tests.kernel.jupyter import Kernel
from tests.kernel.test_kernel_stop import CALLS
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("name", ["call", "stream", "async call", "async stream"])
def test_a_token_of_another_thread(kernel: Kernel, kernel_server: ModelServer, name: str) -> None:
    """T12: as a button of one's own cancels it."""
    left = threading.Event()

    def silent(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.set()

    kernel_server.play(silent)
    source = CALLS[name].replace('"go"', '"go", cancel=token').strip().replace("\n", "\n    ")
    cell = kernel.run(
        "token = kova.CancellationToken()\n"
        "threading.Timer(0.3, token.cancel, args=['the button']).start()\n"
        f"try:\n    {source}\n"
        "except kova.TurnCancelledError as error:\n    print(error)\n"
    )
    assert cell.printed.endswith("the turn was cancelled: the button\n")
    assert left.wait(5)
