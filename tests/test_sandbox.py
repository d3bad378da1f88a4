"""The boundary on small hostile submissions: what each kind of attack comes to, confined and in an ordinary process."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.facts import Fact
from harness.impl import BadReturn, Call, Crashed, Impl, Noted, Raised, Timeout, Todo
from harness.sandbox import confine, syscalls
from harness.sandbox.backend import Confined
from harness.sandbox.client import Client
from harness.sandbox.forked import Forked
from harness.sandbox.portable import Portable
from harness.sandbox.probe import Level, judge, probe
from harness.shared import Shared

linux = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")
SECONDS = 0.5


@pytest.fixture(scope="module", params=[pytest.param("forked", marks=linux), "portable"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with Forked() if request.param == "forked" else Portable() as client:
        client.wait_until_ready()
        yield client


@pytest.fixture(scope="module")
def forked() -> Iterator[Forked]:
    if sys.platform != "linux":
        pytest.skip("confinement is Linux's")
    with Forked() as client:
        client.wait_until_ready()
        yield client


def a_fact(seconds: float = SECONDS) -> Fact:
    return Fact("checks/check_m.py::check_x", "m", "f", "t", "", "s", "h", 1, False, 0.0, seconds)


def begin(client: Client, source: str, seconds: float = SECONDS, **others: str) -> Impl:
    sources = {name: text.encode() for name, text in {"m": source, **others}.items()}
    impl = Impl(Confined(client, sources, {}, {"f": "m"}, None), {"f": "m"})
    impl.begin(a_fact(seconds), seed=1)
    return impl


def body(code: str) -> str:
    return "import numpy as np, os, sys, time\ndef f(*a, **k):\n    " + code.replace("\n", "\n    ") + "\n"


# ---- honest answers ----


def test_values_generators_and_records_cross(client: Client) -> None:
    impl = begin(client, "def f(n, rng, record):\n    record.append((n, rng.random(n)))\n    return rng.random(n)")
    rng = np.random.default_rng(3)
    record: list[tuple[int, np.ndarray]] = []
    first, second = impl.m.f(2, rng, record), impl.m.f(1, rng, record=record)
    expected = np.random.default_rng(3).random(6)
    assert np.concatenate([record[0][1], first, record[1][1], second]) == pytest.approx(expected)
    assert [step for step, _ in record] == [2, 1]


def test_changed_arguments_are_named(client: Client) -> None:
    impl = begin(client, "def f(x, y):\n    y += 1\n    return x")
    assert impl.m.f.changed_arguments(np.ones(2), np.ones(2)) == ("y",)


def test_losses_are_differentiated_there(client: Client) -> None:
    impl = begin(client, "def f(x, y): return (x * x)[y].sum()")
    value, gradient = impl.value_and_grad("f", np.array([1.0, 3.0]), np.array([1, 1]))
    assert value == 18.0
    assert (gradient == [0.0, 12.0]).all()


class World(Shared):
    attributes = ("X",)
    methods = ("draw",)

    def __init__(self) -> None:
        self.X, self.secret = np.ones(2), 7
        self.asked: list[int] = []

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        self.asked.append(n)
        if n < 0:
            raise ValueError("n: negative")
        return rng.random(n)


def test_a_world_answers_from_the_graders_side(client: Client) -> None:
    impl = begin(client, "def f(world, rng): return world.X + world.draw(2, rng), rng.random()")
    world = World()
    value, after = impl.m.f(world, np.random.default_rng(3))
    expected = np.random.default_rng(3).random(3)
    assert value == pytest.approx(1 + expected[:2])
    assert after == expected[2]
    assert world.asked == [2]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("a[0].secret", "AttributeError"),
        ("a[0].draw(-1, a[1])", "ValueError"),
        ("a[0].draw(2)", "TypeError"),
        ("a[0].draw(object(), a[1])", "TypeError"),
        ("a[0].X[0] = 3", "ValueError"),
    ],
)
def test_a_world_shows_nothing_else_and_refuses_nonsense(client: Client, code: str, kind: str) -> None:
    impl = begin(client, body(code))
    with pytest.raises(Raised) as raised:
        impl.m.f(World(), np.random.default_rng(3))
    assert kind in raised.value.kinds


def test_each_fact_begins_alike(client: Client) -> None:
    source = "import random\nn = []\n" + body("n.append(0)\nreturn len(n), random.random(), np.random.rand()")
    first = begin(client, source).m.f()
    second = begin(client, source).m.f()
    assert first == second
    assert first[0] == 1


def test_what_is_printed_is_kept_head_and_tail(client: Client) -> None:
    impl = begin(client, body("print('head'); print('x' * 3_000_000); print('tail', file=sys.stderr)"), seconds=5)
    impl.m.f()
    output = impl.backend.end()
    assert output.startswith("head\n")
    assert output.rstrip().endswith("tail")
    assert len(output) < 70_000
    assert "bytes left out" in output


def test_a_stub_and_a_failure_are_told_apart(client: Client) -> None:
    with pytest.raises(Todo):
        begin(client, "def f(): raise NotImplementedError").m.f()
    with pytest.raises(Raised, match=r"ValueError: no\n  m\.py, line 2\n    raise ValueError"):
        begin(client, "def f():\n    raise ValueError('no')").m.f()


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def f(:", "SyntaxError"),
        ("def f(): return '\udce9'".encode("utf-8", "surrogateescape").decode("latin-1"), ""),
        ("import nowhere", "ModuleNotFoundError"),
        ("raise SystemExit", "SystemExit"),
        ("import m2", "IndexError"),
        ("x = 1", "m.py defines no function f"),
    ],
    ids=repr,
)
def test_what_cannot_be_imported_says_why(client: Client, source: str, says: str) -> None:
    impl = begin(client, source, m2="[][0]")
    if not says:
        impl.m.f()
        return
    with pytest.raises(Raised, match=says):
        impl.m.f()


# ---- attacks ----


@pytest.mark.parametrize(
    ("code", "outcome", "says"),
    [
        ("while True: pass", Timeout, ""),
        ("while True:\n    try: time.sleep(0.01) or sum(range(10**6))\n    except BaseException: pass", Timeout, ""),
        ("import threading; l = threading.Lock(); l.acquire(); l.acquire()", Timeout, "waited for what never came"),
        ("os._exit(0)", Crashed, "status 0"),
        ("import ctypes; ctypes.string_at(0)", Crashed, ""),
        ("os.closerange(3, 60)", Crashed, ""),
        ("raise KeyboardInterrupt", Raised, "KeyboardInterrupt"),
        ("sys.exit(0)", Raised, "SystemExit"),
        ("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E", Raised, "cannot be shown"),
        ("raise ValueError('x' * 10**7)", Raised, "ValueError: xxx"),
        ("return lambda: 0", BadReturn, "a function"),
        ("class A(np.ndarray): pass\nreturn np.ones(2).view(A)", BadReturn, "an A"),
        ("return np.broadcast_to(0.0, (1 << 30,))", BadReturn, "arrays of 8,589,934,592 bytes"),
        ("x = []\nfor _ in range(10**5): x = [x]\nreturn x", BadReturn, "nested"),
        ("return 1 << 10**6", BadReturn, "an integer of"),
        ("class D(dict): pass\nreturn D()", BadReturn, "a D"),
    ],
    ids=repr,
)
def test_an_attack_ends_as_a_failure_of_its_own_fact(forked: Forked, code: str, outcome: type, says: str) -> None:
    impl = begin(forked, body(code))
    with pytest.raises(outcome) as ended:
        impl.m.f()
    assert says in str(ended.value)
    assert len(str(ended.value)) < 10_000
    assert begin(forked, body("return 3")).m.f() == 3, "the next fact is not disturbed"


@pytest.mark.parametrize(
    ("code", "outcome"),
    [("time.sleep(99)", Timeout), ("os._exit(5)", Crashed), ("return lambda: 0", BadReturn)],
    ids=repr,
)
def test_an_ordinary_process_comes_to_the_same(code: str, outcome: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.sandbox.portable.WALL_PER_CPU", 2.0)
    with Portable() as client:
        impl = begin(client, body(code))
        with pytest.raises(outcome):
            impl.m.f()
        assert begin(client, body("return 3")).m.f() == 3, "the next fact is not disturbed"


@pytest.mark.parametrize("ends", ["while True: pass", "os._exit(0)"])
def test_one_that_has_ended_has_nothing_more_to_say(client: Client, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """What was asked of a dead process once killed the grader: the zygote was told to end process 0."""
    monkeypatch.setattr("harness.sandbox.portable.WALL_PER_CPU", 2.0)
    impl = begin(client, body(ends))
    with pytest.raises((Timeout, Crashed)):
        impl.m.f()
    assert impl.backend.noted() == Noted()
    with pytest.raises(Crashed, match="its process has ended"):
        impl.m.f()
    impl.backend.end()
    assert begin(client, body("return 3")).m.f() == 3


FORGED = """
import os, struct
def f():
    for descriptor in range(3, 64):
        try: os.write(descriptor, {frame!r} * 3)
        except OSError: pass
    return 1
"""


@pytest.mark.parametrize(
    "frame",
    [b"\xff" * 64, b"\x00" * 64, b"\x04\x00\x00\x00\x00\x00\x00\x00\x81\xa4type", b"x"],
    ids=["ones", "zeros", "no message", "a byte"],
)
def test_forged_replies_are_values_at_most(forked: Forked, frame: bytes) -> None:
    impl = begin(forked, FORGED.format(frame=frame))
    with pytest.raises((Crashed, Timeout)):
        for _ in range(3):
            impl.m.f()
    assert begin(forked, body("return 3")).m.f() == 3


@pytest.mark.parametrize("hang", [b"while True: pass", b"import time; time.sleep(99)"], ids=repr)
def test_an_import_that_hangs_is_charged_once(short_imports: None, forked: Forked, hang: bytes) -> None:
    sources = {"m": hang}
    impl = Impl(Confined(forked, sources, {}, {"f": "m"}, None), {"f": "m"})
    started = time.monotonic()
    for _ in range(5):
        impl.begin(a_fact(), seed=1)
        with pytest.raises(Timeout, match=r"importing m\.py"):
            impl.m.f()
    assert time.monotonic() - started < 60


@pytest.fixture
def short_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.sandbox.forked.IMPORT_SECONDS", 1.0)


CONTAINED = {
    "reading": "open({secret!r}).read()",
    "listing": "os.listdir('/')",
    "listing home": "os.listdir(os.path.expanduser('~root'))",
    "the harness": "import harness.impl",
    "pytest": "import pytest",
    "writing": "open('/tmp/sandbox-test', 'w')",
    "appending": "open({secret!r}, 'a')",
    "a directory": "os.mkdir('/tmp/sandbox-test')",
    "removing": "os.remove({secret!r})",
    "renaming": "os.rename({secret!r}, '/tmp/sandbox-test')",
    "linking": "os.symlink({secret!r}, '/tmp/sandbox-test')",
    "modes": "os.chmod({secret!r}, 0o777)",
    "times": "os.utime({secret!r})",
    "forking": "os.fork()",
    "executing": "os.execv(sys.executable, [sys.executable, '-c', ''])",
    "spawning": "__import__('subprocess').run(['true'])",
    "killing the grader": "os.kill({pid}, 0)",
    "killing the zygote": "os.kill(os.getppid(), 9)",
    "killing all": "os.kill(-1, 9)",
    "the grader's environment": "open('/proc/{pid}/environ').read()",
    "the zygote's memory": "open('/proc/%d/mem' % os.getppid(), 'rb')",
    "limits of the grader": "__import__('resource').prlimit({pid}, 7, (4, 4))",
    "raising limits": "r = __import__('resource'); r.setrlimit(r.RLIMIT_AS, (-1, -1))",
    "TCP": "__import__('socket').create_connection(('127.0.0.1', {port}))",
    "UDP": "__import__('socket').socket(2, 2).sendto(b'x', ('127.0.0.1', {port}))",
    "abstract sockets": "__import__('socket').socket(1, 1).connect('\\0sandbox-test')",
    "socket pairs": "__import__('socket').socketpair()",
    "other users": "os.setuid(12345)",
    "priority": "os.nice(-5)",
    "much memory": "bytearray(3 << 30).__len__()",
    "shared memory": "os.memfd_create('x')",
    "ptrace": "c = __import__('ctypes').CDLL(None, use_errno=True); c.ptrace(16, os.getppid(), 0, 0) == 0 or {fail}",
    "mounting": "c = __import__('ctypes').CDLL(None); c.mount(b'a', b'/tmp', b'tmpfs', 0, 0) == 0 or {fail}",
    "namespaces": "c = __import__('ctypes').CDLL(None); c.unshare(0x10000000) == 0 or {fail}",
    "keys": "c = __import__('ctypes').CDLL(None); c.syscall(250, 0, -3, 0) >= 0 or {fail}",
    "turning dumpable": "c = __import__('ctypes').CDLL(None); c.prctl(4, 1, 0, 0, 0) == 0 or {fail}",
}


@pytest.mark.parametrize("attempt", CONTAINED.values(), ids=CONTAINED)
def test_a_confined_process_cannot(forked: Forked, tmp_path: Path, attempt: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="ascii")
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = attempt.format(
            secret=str(secret), pid=os.getpid(), port=server.getsockname()[1], fail="(_ for _ in ()).throw(OSError())"
        )
        impl = begin(forked, body(f"exec({code!r})"), seconds=5)
        with pytest.raises(Raised) as raised:
            impl.m.f()
    assert {"OSError", "ImportError", "MemoryError", "ValueError"} & set(raised.value.kinds), raised.value
    assert secret.read_text(encoding="ascii") == "secret"
    assert not Path("/tmp/sandbox-test").exists()


USEFUL = {
    "lazy imports": "import xml.dom.minidom, sqlite3, asyncio, scipy.sparse, scipy.integrate, torch.distributions",
    "dev null": "open(os.devnull, 'w').write('x')",
    "threads": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
    "thread pools": "from concurrent.futures import ThreadPoolExecutor as T; list(T(2).map(abs, [1]))",
    "entropy": "os.urandom(8); np.random.default_rng().random()",
    "cores": "os.cpu_count()",
    "clocks": "time.time(); time.sleep(0.01); time.perf_counter()",
    "standard input is empty": "assert sys.stdin.read() == ''",
    "linear algebra": "np.linalg.inv(np.eye(300) + 1)",
    "rich tables": "import rich.table",
    "alarms of its own": "import signal; signal.signal(14, lambda *_: None); signal.alarm(1); time.sleep(0.01)",
    "its own limits": "import resource; resource.getrlimit(7)",
}


@pytest.mark.parametrize("code", USEFUL.values(), ids=USEFUL)
def test_a_confined_process_still_can(forked: Forked, code: str) -> None:
    assert begin(forked, body(f"exec({code!r})\nreturn 3"), seconds=20).m.f() == 3


def test_nothing_is_left_of_a_submission(forked: Forked) -> None:
    forked.end()
    descriptors = len(os.listdir("/proc/self/fd"))
    thread = "import threading; threading.Thread(target=time.sleep, args=(99,)).start()"
    for code in ("return 1", "os._exit(1)", "while True: pass", thread):
        impl = begin(forked, body(code), seconds=0.2)
        with contextlib.suppress(Crashed, Timeout):
            impl.m.f()
        impl.backend.end()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    zygote = forked._zygote.pid
    assert Path(f"/proc/{zygote}/task/{zygote}/children").read_text(encoding="ascii") == ""


def test_a_killed_grader_takes_everything_along(tmp_path: Path) -> None:
    script = (
        "from harness.sandbox.forked import Forked; import sys, os; c = Forked(); c.wait_until_ready()\n"
        "c.begin({'m': b'def f():\\n    while True: pass'}, 0, 60.0); c.import_module('m')\n"
        "print(c._zygote.pid, c._pid, flush=True); c.invoke('call', 'm', 'f', [], {})"
    )
    grader = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE)
    assert grader.stdout is not None
    zygote, child = map(int, grader.stdout.readline().split())
    grader.kill()
    grader.wait()
    grader.stdout.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in (zygote, child)):
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in (zygote, child))


# ---- what was got ----


@linux
@pytest.mark.parametrize(
    ("without", "level", "missing"),
    [((), Level.FULL, []), (("landlock",), None, ["landlock"]), (("seccomp",), Level.PARTIAL, ["seccomp"])],
    ids=str,
)
def test_the_probe_says_what_is_contained(without: tuple[str, ...], level: Level | None, missing: list[str]) -> None:
    with Forked(frozenset(without)) as client:
        client.wait_until_ready()
        found = probe(client)
        assert client.missing == missing
        assert found.level == level if level is not None else found.level < Level.FULL
        assert (found.level < Level.FULL) == bool(found.leaks)


def test_an_ordinary_process_is_called_one() -> None:
    with Portable() as client:
        assert probe(client).level is Level.PROCESS


def test_levels_follow_from_effects() -> None:
    assert judge([]).level is Level.FULL
    assert judge(["datagrams"]).level is Level.PARTIAL
    assert judge(["reads", "datagrams"]).level is Level.PROCESS
    assert judge(["nonsense"]).leaks == []


@linux
def test_a_layer_that_fails_stops_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = confine.Layers(landlock=0, seccomp=True, uid=0, drop_capabilities=False)
    pid = os.fork()
    if pid == 0:  # confine() in a process of its own: a rule set that is none must raise before anything runs
        try:
            confine.confine(layers, ruleset=0, cpu_seconds=5)
        except confine.ConfinementError:
            os._exit(3)
        os._exit(0)
    assert os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 3


@linux
@pytest.mark.parametrize("machine", syscalls.ARCHITECTURES)
def test_call_numbers_are_those_of_libseccomp(machine: str) -> None:
    import ctypes

    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp is not installed")
    resolve = library.seccomp_syscall_resolve_name_arch
    resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    column, audit = syscalls.ARCHITECTURES[machine]
    for name, numbers in (syscalls.PLAIN | syscalls.CHECKED).items():
        number = resolve(audit, name.encode())
        assert numbers[column] == (number if number >= 0 else None), name


def test_calls_carry_no_objects(client: Client) -> None:
    impl = begin(client, body("return a"))
    with pytest.raises(Exception, match="hands a function to f"):
        impl.invoke("call", Call("m", "f", (lambda: 0,), {}))
