"""One SQLite file and many processes, some of which are killed at any moment or forked while they work."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import kova
from kova._sync.memory import SQLiteStore
from kova.history import check_history

ROOT = Path(kova.__file__).parents[1]
LIMIT = 50.0  # seconds

# What each process begins with: a turn has four messages, which name the process and the turn.
PRELUDE = """
import sys
import kova
from kova._sync.memory import SQLiteStore, conversation_turn

path, name = sys.argv[1:]

def turn(number):
    mark = f"{name} {number}"
    call = kova.ToolUseBlock(mark, "add", {"a": number})
    return [
        kova.user_message(mark), kova.assistant_message("Let me see.", call),
        kova.tool_message(mark, "x" * 500), kova.assistant_message(mark),
    ]

def say(*words):
    print(*words, flush=True)

say("ready")
sys.stdin.readline()
"""


@contextmanager
def running(script: str, path: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun, and waits for a line to go on."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        yield process
    finally:
        process.kill()
        process.communicate()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def run_at_once(script: str, path: Path, count: int) -> list[list[str]]:
    """What each of the processes says, line by line, when all have ended well."""
    with ExitStack() as stack:
        processes = [stack.enter_context(running(script, path, f"process {number}")) for number in range(count)]
        for process in processes:
            go_on(process)
        said = []
        for process in processes:
            out, err = process.communicate(timeout=LIMIT)
            assert (process.returncode, err) == (0, "")
            said.append(out.splitlines())
    return said


def turns_of(messages: list[kova.ConversationMessage]) -> list[str]:
    """The marks of the turns in a conversation, each of which must be whole."""
    assert check_history(messages) == []
    assert len(messages) % 4 == 0
    turns = [messages[start : start + 4] for start in range(0, len(messages), 4)]
    for first, call, result, last in turns:
        assert first.text == last.text
        assert [block for block in call.content if getattr(block, "id", None) == first.text]
        assert [block for block in result.content if getattr(block, "tool_use_id", None) == first.text]
    return [turn[0].text for turn in turns]


def test_eight_processes_with_a_conversation_each(tmp_path: Path) -> None:
    """C2: 100 turns of each on a file that is not there yet; none is refused, none is lost."""
    script = """
with SQLiteStore(path) as store:
    for number in range(100):
        with conversation_turn(store, name):
            messages, revision = store.load(name)
            assert len(messages) == 4 * number
            store.append(name, turn(number), revision)
"""
    path = tmp_path / "chats"
    run_at_once(script, path, 8)
    with SQLiteStore(path) as store:
        assert sorted(store.list_conversations()) == [f"process {number}" for number in range(8)]
        for name in store.list_conversations():
            assert turns_of(store.load(name)[0]) == [f"{name} {number}" for number in range(100)]


def test_eight_processes_with_one_conversation(tmp_path: Path) -> None:
    """C1, C2: each turn is stored whole, or refused as a conflict."""
    script = """
with SQLiteStore(path) as store:
    for number in range(40):
        messages, revision = store.load("shared")
        try:
            store.append("shared", turn(number), revision)
        except kova.MemoryStoreError as error:
            assert error.is_conflict, error
        else:
            say(f"{name} {number}")
"""
    path = tmp_path / "chats"
    stored = run_at_once(script, path, 8)
    with SQLiteStore(path) as store:
        turns = turns_of(store.load("shared")[0])
    assert sorted(turns) == sorted(line for lines in stored for line in lines)
    for number, lines in enumerate(stored):
        assert [turn for turn in turns if turn.startswith(f"process {number} ")] == lines
    assert len(turns) >= 40


def test_a_process_that_is_killed_leaves_whole_turns(tmp_path: Path) -> None:
    """C2, L5: at any moment, that of making the file included; and what it had stored is there."""
    script = """
store = SQLiteStore(path, max_messages=200)
revision = store.load(name)[1]
for number in range(1_000_000):
    say(number)
    revision = store.append(name, turn(number), revision)
"""
    chance = random.Random(4)
    for number in range(12):
        path = tmp_path / f"chats {number // 3}"  # two of three find one that is there
        name = f"process {number}"
        with running(script, path, name) as process:
            go_on(process)
            time.sleep(chance.choice([0.003, 0.01, 0.05, 0.2]) * chance.random())
            process.kill()
            begun = process.communicate(timeout=LIMIT)[0].split()
        with SQLiteStore(path) as store:
            for other in store.list_conversations():
                turns_of(store.load(other)[0])
            turns = turns_of(store.load(name)[0])
            latest = int(turns[-1].split()[-1]) if turns else -1
            assert len(begun) - 2 <= latest <= len(begun) - 1
            assert len(turns) == min(latest + 1, 50)


def test_a_store_is_usable_in_forked_children(tmp_path: Path) -> None:
    """T5: those that are forked while other threads write, too; and it stays usable in their parent."""
    script = """
import os, threading
from kova._sync.memory import InMemoryStore

store, in_memory, ended = SQLiteStore(path), InMemoryStore(), threading.Event()

def work(store, name, count):
    for number in range(count):
        with conversation_turn(store, name):
            store.append(name, turn(number), store.load(name)[1])

def work_on():
    while not ended.is_set():
        work(store, "parent", 1)
        work(in_memory, "parent", 1)

work(store, "before", 1)  # imports what is needed: a child that is forked during an import waits for it for ever
threads = [threading.Thread(target=work_on) for _ in range(2)]
for thread in threads:
    thread.start()
held, children = conversation_turn(in_memory, "held").__enter__(), []
for number in range(8):
    child = os.fork()
    if not child:
        work(store, f"child {number}", 5)
        work(in_memory, "parent", 5)
        work(in_memory, "held", 5)
        os._exit(0)
    children.append(child)
codes = [os.waitpid(child, 0)[1] for child in children]
ended.set()
for thread in threads:
    thread.join()
say(codes)
"""
    path = tmp_path / "chats"
    warnings_off = "import warnings\nwarnings.simplefilter('ignore')\n"  # Python warns of forks beside threads
    assert run_at_once(warnings_off + script, path, 1) == [[str([0] * 8)]]
    with SQLiteStore(path) as store:
        for number in range(8):
            assert len(turns_of(store.load(f"child {number}")[0])) == 5
        assert len(store.load("parent")[0]) % 4 == 0


def test_a_child_that_ends_leaves_the_files_of_its_parent_alone(tmp_path: Path) -> None:
    """T5: it is given none of them open, and closes what it has opened when it ends in the ordinary way."""
    script = """
import os

def open_files():
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [link for link in links if os.path.realpath(link).startswith(os.path.realpath(path))]

store = SQLiteStore(path)
store.append("parent", turn(1), 0)
assert open_files()
if not os.fork():
    assert not open_files(), "the child has files of its parent's"
    sys.exit()
os.wait()
revision = store.load("parent")[1]
if not os.fork():
    store.append("child", turn(1), store.load("child")[1])
    sys.exit()
os.wait()
store.append("parent", turn(2), revision)
say(sorted(store.list_conversations()), os.path.exists(f"{path}-wal"))
store.close()
"""
    assert run_at_once(script, tmp_path / "chats", 1) == [["['child', 'parent'] True"]]
