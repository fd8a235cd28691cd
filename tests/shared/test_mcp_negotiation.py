"""Which era a server speaks, and which version: every answer that a server can give to each question."""

from __future__ import annotations

from typing import Any

import pytest

from kova import ConnectionError, MCPError
from kova._mcp.failures import LinkLost, Refused
from kova._mcp.negotiation import Agreed, Discover, Initialize, Negotiation, OlderHTTP

PROBE = Discover("2026-07-28")
HANDSHAKE = Initialize("2025-11-25")

DISCOVERED = {
    "result": {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "weather", "version": "1"}},
        "instructions": "Ask for one city at a time.",
    }
}
INITIALIZED = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "old"}}}


def failure(code: int, message: str = "no", data: object = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "data": data}}


def unsupported(*versions: str) -> dict[str, Any]:
    return failure(-32022, "Unsupported protocol version", {"supported": list(versions), "requested": "?"})


# ---- the stateless era


def test_a_modern_server_answers_the_first_question() -> None:
    negotiation = Negotiation("auto")
    assert negotiation.step == PROBE
    negotiation.answered(DISCOVERED)
    agreed = negotiation.step
    assert isinstance(agreed, Agreed)
    assert (agreed.version, agreed.is_modern) == ("2026-07-28", True)
    assert agreed.server.info == {"name": "weather", "version": "1"}
    assert agreed.server.instructions == "Ask for one city at a time."


def test_a_modern_server_of_another_version_is_no_old_server() -> None:
    negotiation = Negotiation("auto")
    with pytest.raises(MCPError, match="Unsupported protocol version"):
        negotiation.answered(unsupported("2027-01-01"))


def test_a_version_that_is_refused_and_offered_is_tried_once_more() -> None:
    negotiation = Negotiation("auto")
    negotiation.refused(Refused("refused", 400, unsupported("2026-07-28")))
    assert negotiation.step == PROBE
    with pytest.raises(MCPError):
        negotiation.refused(Refused("refused", 400, unsupported("2026-07-28")))


def test_a_server_of_both_eras_that_wants_the_old_one_is_initialized() -> None:
    negotiation = Negotiation("auto")
    negotiation.answered(unsupported("2025-06-18", "2025-03-26"))
    assert negotiation.step == Initialize("2025-06-18")


def test_a_discovery_that_names_only_old_versions_leads_to_the_handshake() -> None:
    negotiation = Negotiation("auto")
    negotiation.answered({"result": {"supportedVersions": ["2025-11-25"]}})
    assert negotiation.step == HANDSHAKE


@pytest.mark.parametrize("status", [400, 404])
def test_over_http_a_modern_error_shows_a_modern_server(status: int) -> None:
    negotiation = Negotiation("auto")
    with pytest.raises(MCPError, match="missing capability"):
        negotiation.refused(Refused("refused", status, failure(-32021, "missing capability")))


# ---- the era of the handshake


@pytest.mark.parametrize("code", [-32601, -32602, -32600, 0, -32000])
def test_any_other_error_means_the_handshake(code: int) -> None:
    negotiation = Negotiation("auto")
    negotiation.answered(failure(code))
    assert negotiation.step == HANDSHAKE
    negotiation.answered(INITIALIZED)
    assert isinstance(negotiation.step, Agreed)
    assert not negotiation.step.is_modern


def test_a_result_that_is_no_discovery_means_the_handshake() -> None:
    negotiation = Negotiation("auto")
    negotiation.answered({"result": {"tools": []}})
    assert negotiation.step == HANDSHAKE


def test_silence_means_the_handshake() -> None:
    negotiation = Negotiation("auto")
    negotiation.silent()
    assert negotiation.step == HANDSHAKE


def test_a_server_that_exits_on_the_probe_is_started_again_once() -> None:
    negotiation = Negotiation("auto")
    negotiation.ended(LinkLost("exit code 1"))
    assert negotiation.step == Initialize("2025-11-25", anew=True)
    with pytest.raises(LinkLost):
        negotiation.ended(LinkLost("exit code 1"))


def test_a_server_that_exits_after_a_silent_probe_is_started_again() -> None:
    negotiation = Negotiation("auto")
    negotiation.silent()
    negotiation.ended(LinkLost("exit code 1"))
    assert negotiation.step == Initialize("2025-11-25", anew=True)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_every_known_version_of_the_answer_is_taken(version: str) -> None:
    negotiation = Negotiation("legacy")
    negotiation.answered({"result": {"protocolVersion": version}})
    assert isinstance(negotiation.step, Agreed)
    assert negotiation.step.version == version


@pytest.mark.parametrize("version", ["2023-01-01", None, 7])
def test_an_unknown_version_of_the_answer_is_an_error(version: object) -> None:
    negotiation = Negotiation("legacy")
    with pytest.raises(MCPError, match="does not know"):
        negotiation.answered({"result": {"protocolVersion": version}})


def test_a_server_that_refuses_the_version_is_asked_once_more_with_one_that_it_names() -> None:
    negotiation = Negotiation("legacy")
    refusal = failure(-32602, "Unsupported protocol version: 2025-11-25. Supported: 2024-11-05")
    negotiation.answered(refusal)
    assert negotiation.step == Initialize("2024-11-05")
    with pytest.raises(MCPError, match="Unsupported"):
        negotiation.answered(refusal)


def test_a_slow_modern_server_is_found_out_by_its_refusal_of_the_handshake() -> None:
    negotiation = Negotiation("auto")
    negotiation.silent()
    negotiation.answered(unsupported("2026-07-28"))
    assert negotiation.step == PROBE
    negotiation.answered(DISCOVERED)
    assert isinstance(negotiation.step, Agreed)


def test_a_remembered_old_server_that_has_become_modern_is_found_out() -> None:
    negotiation = Negotiation("auto", "legacy")
    assert negotiation.step == HANDSHAKE
    negotiation.answered(failure(-32022))
    assert negotiation.step == PROBE


# ---- over HTTP


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_status_that_says_nothing_of_the_era_is_the_error(status: int) -> None:
    negotiation = Negotiation("auto", can_be_older=True)
    with pytest.raises(ConnectionError, match="refused"):
        negotiation.refused(Refused("refused", status))


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415])
def test_another_refusal_of_the_probe_means_the_handshake(status: int) -> None:
    negotiation = Negotiation("auto", can_be_older=True)
    negotiation.refused(Refused("refused", status))
    assert negotiation.step == HANDSHAKE


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_refusal_of_the_handshake_too_means_the_transport_of_2024(status: int) -> None:
    negotiation = Negotiation("auto", can_be_older=True)
    negotiation.refused(Refused("refused", status))
    negotiation.refused(Refused("refused", status))
    assert isinstance(negotiation.step, OlderHTTP)
    with pytest.raises(ConnectionError):
        negotiation.refused(Refused("refused", status))


# ---- what the user has decided


def test_a_pinned_modern_protocol_never_falls_back() -> None:
    negotiation = Negotiation("2026-07-28")
    with pytest.raises(MCPError, match="no"):
        negotiation.answered(failure(-32601))


def test_a_pinned_old_protocol_never_goes_forward() -> None:
    negotiation = Negotiation("legacy")
    assert negotiation.step == HANDSHAKE
    with pytest.raises(MCPError):
        negotiation.answered(unsupported("2026-07-28"))
