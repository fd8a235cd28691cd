"""Every wire case of Bedrock's format, played to the pure functions: what is on the wire, and what is made of it."""

import json
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from botocore.parsers import create_parser
from botocore.session import Session

import kova
from kova._formats.bedrock import FORMAT
from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.bedrock.sign import Credentials, signed
from tests import pure_cases
from tests.cases import run_cases as runner
from tests.pure_cases import SERVER, load_cases

KEYS = {"region": "us-east-1", "access_key_id": "AKIDEXAMPLE", "secret_access_key": "secretEXAMPLEkey"}


class Caller:
    """Makes the calls of a case, as a provider would."""

    def __init__(self, case):
        asked = {**runner.DEFAULT_REQUEST, **case.get("request", {})}
        settings = asked.get("config", {})
        options = {**KEYS, "endpoint_url": SERVER, **case.get("provider_options", {})}
        self.config = BedrockProviderConfig(settings.get("model") or "test-model", **options)
        self.streaming = case["mode"] == "stream"
        self.messages = kova.messages_from_json(asked["messages"])
        self._tools = [runner.tool_definition(tool) for tool in asked.get("tools", [])]
        self._inference = runner.inference_config(settings)

    def request(self):
        config = self.config
        plain = FORMAT.build_request(config, None, self.messages, self._tools, self._inference, stream=self.streaming)
        keys = Credentials(config.access_key_id, config.secret_access_key, config.session_token)
        return signed(plain, keys, config.region, datetime.now(UTC))

    def play(self, part):
        """The reply to a part of the case, and what is wrong with it or with the request."""
        request = self.request()
        try:
            reply = pure_cases.answer(part["response"], self.streaming, request, FORMAT)
        except Exception as error:
            reply = runner.Reply(error=error)
        problems = runner.judge_request(part.get("expect_request", {}), received(request))
        return reply, problems + runner.judge_reply(part.get("expect", {}), reply, [self.config.secret_access_key])


def received(request):
    """The request as a server sees it."""
    on_wire = pure_cases.received(request)
    on_wire.headers = {**request.headers, "host": urlsplit(request.url).netloc}
    return on_wire


@pytest.mark.parametrize("case", load_cases("bedrock"))
def test_case(case):
    """R6, L7, L8."""
    caller = Caller(case)
    reply, problems = caller.play(case)
    if (follow_up := case.get("follow_up")) and not problems:
        answer = reply.response
        caller.messages += [kova.ConversationMessage(kova.Role.ASSISTANT, answer.content)]
        caller.messages += kova.messages_from_json(runner.fill_ids(follow_up["append"], answer.tool_calls))
        problems += caller.play(follow_up)[1]
    assert not problems, case["why"]


# ---- what boto3 makes of the same bytes


class Body:
    """A body as botocore reads one."""

    def __init__(self, chunks):
        self.stream = lambda: iter(chunks)


def said_by_boto3(chunks):
    """Text, reasoning, pieces of calls, stop reason and usage, as boto3's parser gives them."""
    operation = Session().get_service_model("bedrock-runtime").operation_model("ConverseStream")
    answer = {"status_code": 200, "headers": {}, "body": Body(chunks), "context": {"operation_name": "ConverseStream"}}
    said = {"text": "", "thinking": "", "inputs": [], "stop": None, "usage": None}
    for event in create_parser("rest-json").parse(answer, operation.output_shape)["stream"]:
        if "contentBlockStart" in event:
            said["inputs"].append("")
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        said["text"] += delta.get("text", "")
        said["thinking"] += delta.get("reasoningContent", {}).get("text", "")
        if "toolUse" in delta:
            said["inputs"][-1] += delta["toolUse"]["input"]
        said["stop"] = event.get("messageStop", {}).get("stopReason", said["stop"])
        said["usage"] = event.get("metadata", {}).get("usage", said["usage"])
    return said


GOOD_STREAMS = [
    case
    for case in load_cases("bedrock")
    if case.values[0]["mode"] == "stream" and "error" not in case.values[0]["expect"]
]


@pytest.mark.parametrize("case", GOOD_STREAMS)
def test_boto3_makes_the_same_of_a_stream(case):
    theirs = said_by_boto3(list(runner.body_chunks(case["response"])))
    ours = Caller(case).play(case)[0].response
    assert (ours.text, ours.thinking or "", ours.raw_stop_reason) == (
        theirs["text"],
        theirs["thinking"],
        theirs["stop"],
    )
    assert [call.input for call in ours.tool_calls] == [json.loads(text or "{}") for text in theirs["inputs"]]
    if theirs["usage"]:
        assert ours.usage.input_tokens == theirs["usage"]["inputTokens"]
        assert ours.usage.output_tokens == theirs["usage"]["outputTokens"]
