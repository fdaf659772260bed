#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wakepath record as its user meets it: exit status, files, signals, refusals, cleaning up."""
import fcntl
import glob
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

from recording import RecordTest, LIMIT_S, main, program, wait_for


class Passing(RecordTest):
    def test_exit_status(self):
        self.record(["sh", "-c", "exit 7"], want=7)
        self.assertTrue(os.path.getsize(os.path.join(self.out, "index.html")) > 0)
        self.assert_sound(self.summary(), percent=0)

    def test_killed_command(self):
        self.record(["sh", "-c", "kill -9 $$"], want=137)

    def test_standard_files(self):
        with open(self.write("in", "what went in\n"), "rb") as given:
            self.record(["sh", "-c", "cat; echo complaint >&2"], "--quiet", stdin=given)
        self.assertEqual(self.stdout(), "what went in\n")
        self.assertEqual(self.stderr(), "complaint\n")

    def test_spoken_summary(self):
        self.record(["sh", "-c", "sleep 0.3"])
        text = self.stderr()
        for part in ("wall", "total", "accounted", os.path.join(self.out, "index.html")):
            self.assertIn(part, text)
        with open(os.path.join(self.out, "index.html"), encoding="utf-8") as page:
            first = page.read()
        self.assertIn("<h1><bdi>sh -c &#39;sleep 0.3&#39;</bdi></h1>", first, "the first page says what was run, as its overview does")
        self.assertIn(" on " + os.uname().nodename, first)
        found = []  # the Timeline has all threads of the host, and where they ran
        for name in ("system-data.js", "main/trace-data.js"):
            path, = glob.glob(os.path.join(self.out, "*", name))
            with open(path, encoding="utf-8") as file:
                found.append(file.read())
        threads = [int(re.search(r'"thread_tid":wakepath.column\((\d+),', one).group(1)) for one in found]
        self.assertGreater(threads[0], threads[1])
        self.assertIn('"run_cpu":', found[0])
        self.assertIn('"sleep"', found[0])

    def test_without_samples(self):
        """What makes a profile poor is said first: to whom records, in the summary and on the page."""
        self.before = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_perf.py")]
        self.record(["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"])
        self.assertRegex(self.stderr(), r"\Awakepath: warning: no CPU samples were taken on \S+: kernel.perf_event_paranoid is -?\d+.*\n"
                                        r".*functions ran is not known; `wakepath doctor`")
        self.assertNotIn("too short", self.stderr())
        summary = self.summary()
        self.assertEqual(len(summary["unsampled"]), 1)
        self.assertEqual(summary["categories"]["understood_functions"], 0)
        overview, = glob.glob(os.path.join(self.out, "*", "main", "index.html"))
        for page in (overview, os.path.join(self.out, "index.html")):
            with open(page, encoding="utf-8") as file:
                text = file.read()
            self.assertLess(0, text.find("No CPU samples were taken on"), page)
            self.assertLess(text.find("No CPU samples were taken on"), text.find("of the time ("), "before what was found")
        self.before = ()
        self.record(["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"])
        self.assertNotIn("unsampled", self.summary())
        self.assertNotIn("warning", self.stderr())

    def test_json(self):
        self.record(["sleep", "0.1"], "--json")
        self.assertEqual(json.loads(self.stdout()), self.summary())
        self.assertEqual(self.stderr(), "")
        self.before = ("sh", "-c", 'exec "$@" >&-', "sh")
        self.record(["true"], "--json", want=1)
        self.assertEqual(self.stderr(), "wakepath: cannot write the summary: Bad file descriptor\n")

    def test_arguments_stay_whole(self):
        self.record(["printf", "%s|", "a b", "--out", "", "*"], "--quiet")
        self.assertEqual(self.stdout(), "a b|--out||*|")

    def test_second_recording_of_the_same_folder_replaces(self):
        self.record(["sleep", "2"])
        self.record(["sleep", "0.1"])
        self.assertLess(self.summary()["total_ns"], 1900e6)
        self.assertIn(self.out + ".old", self.stderr())
        with open(self.out + ".old/summary.json", encoding="utf-8") as file:
            self.assertGreater(json.load(file)["total_ns"], 1900e6)
        self.assertIn("sleep", self.report("--aggregate", "main", "--format", "folded", store=self.out + ".old/store"))

    def test_second_recording_into_a_store_adds(self):
        for _ in range(2):
            self.record(["sleep", "0.3"], "--store", self.path("root"))
        self.assertGreater(self.summary()["total_ns"], 600e6)
        self.assertFalse(glob.glob(os.path.join(self.out, "*", "system-data.js")), "it would be of one of the two")

    def test_recordings_at_once_into_one_store(self):
        root, words = self.path("root"), ["sleep", "1.2"]
        first = self.start(words, "--store", root)
        second = subprocess.run([program("wakepath"), "record", "--store", root, "--out", self.path("second"), "--", *words],
                                env=self.env, cwd=self.folder, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        self.assertEqual((second.returncode, first.wait(LIMIT_S)), (0, 0), second.stderr + self.stderr())
        self.assertEqual(sorted(name for name in os.listdir(root) if name.startswith("~shard")), ["~shard.local-2.lock", "~shard.local.lock"])
        total_ns = json.loads(self.report("--aggregate", "main", "--format", "json", store=root))["total_ns"]
        self.assertGreater(total_ns, 2.3e9, "both are there")

    def test_commands_of_one_release_stand_apart(self):
        """And what is said after each is of that one, with what was run."""
        for command, total in ((["sleep", "0.3"], 300e6), (["sh", "-c", "exit 3"], 0)):
            self.record([*command], "--store", self.path("root"), "--release", "x", "--workload", "w", want=3 if not total else 0)
        rows = subprocess.run([program("wakepath-store"), "stat", self.path("root"), "--json"], capture_output=True, check=True, timeout=LIMIT_S)
        told = {row.get("recorded") for row in json.loads(rows.stdout)[0]["aggregates"]}
        self.assertEqual(told, {"sleep 0.3, workload w", "sh -c 'exit 3', workload w"})
        found = [json.load(open(path, encoding="utf-8"))["command"] for path in glob.glob(os.path.join(self.out, "x", "main~*", "summary.json"))]
        self.assertEqual(sorted(one["exit_status"] for one in found), [0, 3])
        name = next(row["name"] for row in json.loads(rows.stdout)[0]["aggregates"] if row.get("recorded", "").startswith("sh"))
        check = subprocess.run([program("wakepath"), "check", "--store", self.path("root"), "--format", "json", f"x:{name}", f"x:{name}"],
                               capture_output=True, check=True, timeout=LIMIT_S)
        self.assertEqual([json.loads(check.stdout)["old"].get(key) for key in ("cmd", "args", "workload")], ["sh", "-c 'exit 3'", "w"])

    def test_background_child_is_not_waited_for(self):
        self.record(["sh", "-c", f"sleep 40 & echo $! >{self.path('pid')}; exit 3"], want=3)
        with open(self.path("pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)  # raises when it is gone: then we have waited

    def test_what_is_made_is_its_owners_alone(self):
        """Whatever the umask; which the command keeps."""
        self.record(["sh", "-c", f"umask >{self.path('mask')}"], "--keep-capture", self.path("capture"), preexec_fn=lambda: os.umask(0o022))
        with open(self.path("mask"), encoding="utf-8") as file:
            self.assertEqual(file.read().strip(), "0022")
        modes = {path: os.lstat(path).st_mode & 0o777 for folder, _, files in os.walk(self.out)
                 for path in [folder, *(os.path.join(folder, name) for name in files)]}
        modes[self.path("capture")] = os.lstat(self.path("capture")).st_mode & 0o777
        self.assertEqual({path: oct(mode) for path, mode in modes.items() if mode & 0o077}, {})

    def test_kept_capture(self):
        self.record(["sleep", "0.1"], "--keep-capture", self.path("events"))
        self.assertGreater(os.path.getsize(self.path("events")), 100)

    def test_own_aggregates(self):
        self.record(["sh", "-c", "head -c 3000000 /dev/urandom | gzip -c >/dev/null"], "--release", "v1",
                    "--aggregate", "packer=comm=gzip", "--aggregate", "byline=cmdline~^gzip -c$")
        for name in ("packer", "byline", "main"):
            summary = json.loads(self.report("--release", "v1", "--aggregate", name, "--format", "json"))
            self.assertEqual(summary["aggregate"], name)
            self.assertGreater(summary["total_ns"], 0)

    def test_who_asks_for_a_command_line_is_not_meant(self):
        """The expression stands on the command line of the recorder, of its parts, and of what started it."""
        self.record(["sh", "-c", "sh -c 'sleep 0.3; : byline'"], "--aggregate", "byline=cmdline~: byline", "--release", "v1")
        rows = self.report("--release", "v1", "--aggregate", "byline", "--format", "folded").splitlines()
        bases = {row.split(";")[0].split(" ")[0] for row in rows}
        self.assertIn("[sh]", bases)
        self.assertFalse({base for base in bases if base.startswith(("[wakepath-", "[ZMQ"))}, bases)

    def test_whole_host(self):
        self.record(None, "--duration", "1.5")
        summary = self.summary()
        self.assertGreater(summary["total_ns"], 0)
        self.assertGreater(summary["events"]["total"], 100)

    def test_attach_to_a_process(self):
        """It is the base, and its end is the recording's, long before the duration is over."""
        with subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"], start_new_session=True) as process:
            try:
                self.watch_live(process.pid)
                recording = self.start(None, "--pid", str(process.pid), "--duration", "10m")
                wait_for("the collector's programs", self.is_recording)
                time.sleep(2)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(recording.wait(LIMIT_S), 0, self.stderr())
        rows = self.report("--aggregate", "main", "--format", "folded").splitlines()
        self.assertIn("[sh]", {row.split(";")[0].split(" ")[0] for row in rows})

    def watch_live(self, pid):
        """`wakepath top`: who is waited for while it goes on; nothing is left of it."""
        done = subprocess.run([program("wakepath"), "top", "-p", str(pid), "--once", "--json", "--delay", "500ms"], env=self.env, timeout=LIMIT_S,
                              capture_output=True, text=True, check=True, cwd=self.folder)
        look = json.loads(done.stdout)
        self.assertEqual(look["of"], f"pid={pid}")
        self.assertEqual({row["who"] for row in look["waits"]}, {"sh"})
        self.assertIn(("sleep", "sleeps on purpose"), {(row["waits_for"], row["doing"]) for row in look["waits"]})
        self.assertFalse(os.path.exists(os.path.join(self.folder, "wakepath-report")))

    def comm_of(self, pid):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()

    def test_the_recorder_is_not_recorded(self):
        """Not even where it is picked, nor in anybody's explanation; what it took is said beside."""
        picked = [f"--aggregate={name}=comm={name}" for name in ("wakepath", "wakepath-aggreg", "wakepath-collec")]
        process = self.start(["sh", "-c", f"echo ready >{self.path('ready')}; sleep 1; true"], *picked)
        wait_for("the command to run", lambda: os.path.exists(self.path("ready")))
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            own = {process.pid} | {int(pid) for pid in file.read().split()}
        own = {pid for pid in own if self.comm_of(pid) != "sh"}
        self.assertEqual(process.wait(LIMIT_S), 0, self.stderr())
        self.assertGreater(self.summary()["recording"]["cpu_ns"], 0)
        self.assertIn("cost of recording: ", self.stderr())
        for path in glob.glob(self.out + "/*/*/summary.json"):
            with open(path, encoding="utf-8") as file:
                self.assertFalse([row for row in json.load(file)["processes"] if row["pid"] in own], path)

    def test_a_command_that_sleeps_when_the_recording_ends(self):
        """It has slept nearly all of the time, and nothing woke it."""
        self.record(["sleep", "5"], "--duration", "2")
        self.assertGreater(self.summary()["categories"]["deliberate_sleep"], 0)
        self.record(["sh", "-c", "sleep 5; :"], "--duration", "2")
        self.assertGreater(self.summary()["categories"]["deliberate_sleep"], 0, "it waits for its child, which sleeps")
        self.record(["sh", "-c", "sleep 3 | cat"], "--duration", "1")
        reasons = {wait["reason"]: wait["ns"] for wait in self.summary()["unexplained"]}
        self.assertGreater(reasons["the recording ended before it did"], 0)

    def test_names_cannot_write_to_the_terminal(self):
        self.record(["python3", "-c", "import ctypes, time; ctypes.CDLL(None).prctl(15, b'\\x1b[31mred\\x07'); "
                     "time.sleep(0.3)"])
        self.assertNotIn("\x1b", self.stderr())
        self.assertNotIn("\x07", self.stderr())


class Releases(RecordTest):
    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=self.folder, check=True,
                       capture_output=True)

    def test_no_work_tree(self):
        self.record(["true"])
        self.assertEqual(self.summary()["release"], "unversioned")

    def test_tag_and_dirt(self):
        self.git("init", "-q")
        self.write("file", "one")
        self.git("add", "file")
        self.git("commit", "-q", "-m", "x")
        self.git("tag", "-a", "-m", "x", "v9.9")
        self.record(["true"])
        self.assertEqual(self.summary()["release"], "v9.9")
        self.write("file", "two")
        self.record(["true"])
        self.assertEqual(self.summary()["release"], "v9.9-dirty")
        self.git("commit", "-q", "-a", "-m", "y")
        self.git("tag", "v9.10")
        self.record(["true"])
        self.assertEqual(self.summary()["release"], "v9.10")
        kept = [subprocess.run([program("wakepath-store"), "metadata", "get", self.store, "v9.10", "commit." + key], capture_output=True,
                               text=True, check=True).stdout for key in ("subject", "author")]
        self.assertEqual(kept, ["y\n", "t\n"])

    def test_work_tree_of_another_user_runs_nothing_as_root(self):
        """git may run a program that the work tree names (core.fsmonitor): then not as root."""
        self.git("init", "-q")
        self.write("file", "one")
        self.git("add", "file")
        self.git("commit", "-q", "-m", "x")
        hook = self.write("hook", f"#!/bin/sh\nid -u >>{self.path('who')}\n")
        os.chmod(hook, 0o755)
        self.git("config", "core.fsmonitor", hook)
        for folder, _, files in os.walk(self.folder):
            for name in [folder] + [os.path.join(folder, file) for file in files]:
                os.chown(name, 65534, 65534)
        self.record(["true"])
        if os.path.exists(self.path("who")):
            with open(self.path("who"), encoding="ascii") as file:
                self.assertNotIn("0", file.read().split())

    def test_bad_and_unknown_release(self):
        self.record(["true"], "--release", "a/b", want=64)
        self.record(["true"], "--release", "v1")
        process = subprocess.run([program("wakepath-reporter"), "--store", self.store, "--release", "nope", "--out",
                                  self.path("r")], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("nope", process.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.path("r"), "index.html")))


class Refusals(RecordTest):
    def refused(self, *flags, command=None, code=1, says=(), **options):
        marker = self.path("ran")
        self.record(command or ["touch", marker], *flags, want=code, **options)
        for word in says:
            self.assertIn(word, self.stderr())
        self.assertFalse(os.path.exists(marker), "the command ran")
        self.assert_no_page()
        if code != 64:
            self.assertEqual(len(self.stderr().splitlines()), 1, self.stderr())

    def test_missing_command(self):
        self.refused(command=["/no/such/command"], code=127, says=["/no/such/command"])
        self.assertFalse(os.path.exists(self.out))
        self.refused(command=["no-such-command-here"], code=127, says=["no-such-command-here"])

    def test_command_that_is_no_program(self):
        self.refused(command=["/etc/passwd"], code=126, says=["/etc/passwd"])
        self.refused(command=["/etc"], code=126, says=["/etc"])

    def test_interpreter_that_is_missing(self):
        script = self.write("script", "#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        self.refused(command=[script], code=127, says=[script])
        self.assertFalse(os.path.exists(self.out))

    def test_no_privilege(self):
        os.chmod(self.folder, 0o777)
        os.chmod(self.tmp, 0o777)
        line = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + self.arguments(["true"])
        process = subprocess.run(line, env=self.env, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("root", process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 1)
        self.assertFalse(os.path.exists(self.out))

    def test_store_on_a_read_only_file_system(self):
        mount = self.path("mount")
        os.mkdir(mount)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", mount], check=True)
        try:
            self.refused("--store", mount + "/store", says=["store", "Read-only"])
            self.refused("--store", mount, says=["store", "Read-only"])
        finally:
            subprocess.run(["umount", mount], check=True)

    def test_store_under_a_file(self):
        self.refused("--store", self.write("file", "") + "/store", says=["store"])
        self.assertFalse(os.path.exists(self.out))

    def test_folder_of_somebody_else(self):
        os.mkdir(self.out)
        with open(os.path.join(self.out, "thesis.txt"), "w", encoding="ascii") as file:
            file.write("years of work")
        self.refused(says=["--out"])
        self.assertEqual(os.listdir(self.out), ["thesis.txt"])

    def test_store_of_somebody_else(self):
        os.makedirs(self.store)
        with open(os.path.join(self.store, "thesis"), "w", encoding="utf-8") as file:
            file.write("precious")
        self.refused(command=["true"], says=("store", "--store", "--out"))
        with open(os.path.join(self.store, "thesis"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")

    def test_bad_usage(self):
        for flags in (["--no-such"], ["--duration", "x"], ["--duration", "-1"], ["--frequency", "nan"],
                      ["--aggregate", "main"], ["--aggregate", "a/b=comm=x"], ["--aggregate", "a=colour=red"],
                      ["--aggregate", "a=cmdline~("], ["--aggregate", "a=comm=x", "--aggregate", "a=comm=y"]):
            self.refused(*flags, code=64)

    def test_capture_that_cannot_be_written(self):
        self.refused("--keep-capture", "/no/such/folder/events", says=["/no/such/folder/events"])


class Signals(RecordTest):
    LOOP = "trap 'echo got; exit 5' {0}; echo ready >{1}; while :; do sleep 0.05; done"

    def wait_ready(self):
        wait_for("the command to run", lambda: os.path.exists(self.path("ready")))

    def test_signals_reach_the_command(self):
        for name in ("TERM", "HUP", "INT", "QUIT"):
            if os.path.exists(self.path("ready")):
                os.unlink(self.path("ready"))
            process = self.start(["sh", "-c", self.LOOP.format(name, self.path("ready"))])
            self.wait_ready()
            process.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(process.wait(LIMIT_S), 5, self.stderr())
            self.assertEqual(self.stdout(), "got\n")
            self.assert_sound(self.summary(), percent=0)

    def test_dispositions_and_mask_are_the_callers(self):
        show = ["sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status"]
        self.record(show, "--quiet", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        recorded = self.stdout()
        plain = subprocess.run(show, capture_output=True, text=True, check=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)).stdout
        self.assertEqual(recorded, plain)

    def on_terminal(self, command):
        """A recording as the foreground job of a terminal of 24 rows; returns its pid and the terminal's other end."""
        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
            os.chdir(self.folder)
            os.execve(program("wakepath"), self.arguments(command), self.env)
        return pid, terminal

    def end_of(self, pid, terminal):
        said = b""
        while True:
            try:
                more = os.read(terminal, 4096)
            except OSError:
                break
            if not more:
                break
            said += more
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode(errors="replace")

    def test_interrupt_at_the_terminal(self):
        pid, terminal = self.on_terminal(["sh", "-c", f"echo ready >{self.path('ready')}; exec sleep 60"])
        self.wait_ready()
        time.sleep(0.5)
        os.write(terminal, b"\x03")
        code, said = self.end_of(pid, terminal)
        self.assertEqual(code, 130, said)
        self.assertIn("page:", said)
        summary = self.summary()
        self.assert_sound(summary, percent=0)
        self.assertGreater(summary["wall_ns"], 400e6)

    def test_command_may_take_the_interrupt_itself(self):
        loop = "trap 'echo again' INT; echo ready >{0}; n=0; while [ $n -lt 60 ]; do sleep 0.1; n=$((n+1)); done; exit 4"
        pid, terminal = self.on_terminal(["sh", "-c", loop.format(self.path("ready"))])
        self.wait_ready()
        os.write(terminal, b"\x03")
        code, said = self.end_of(pid, terminal)
        self.assertEqual(code, 4, said)
        self.assertEqual(len(re.findall(r"again\r?\n", said)), 1, said)  # what it says, not the line that is recorded
        self.assertRegex(said, r"wakepath: recording \d+ s, sh waits for sleep, which sleeps on purpose")
        self.assertTrue(os.path.exists(os.path.join(self.out, "index.html")))

    def test_second_interrupt_gives_up(self):
        pid, terminal = self.on_terminal(["sh", "-c", f"trap '' INT; echo ready >{self.path('ready')}; sleep 60"])
        self.wait_ready()
        os.write(terminal, b"\x03")
        time.sleep(0.6)
        os.write(terminal, b"\x03")
        code, said = self.end_of(pid, terminal)
        self.assertEqual(code, 130, said)
        self.assertIn("given up", said)
        self.assertFalse(os.path.exists(self.out), "something half-written was left")

    def test_an_interrupt_after_the_summary_ends_the_extra_pages_alone(self):
        """The recording is whole by then, and its JSON at its end."""
        loop = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
        reader, writer = os.pipe()
        process = self.start(["sh", "-c", f"sh -c '{loop}' & sh -c '{loop}' & wait; exit 3"], "--json", stdout=writer)
        os.close(writer)
        with open(reader, "rb") as told:
            self.assertGreater(json.load(told)["total_ns"], 0)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), 3, self.stderr())
        self.assertEqual(self.stderr(), "")
        wait_for("the import's children to end", lambda: not self.parts())
        for left in glob.glob(self.tmp + "/wakepath-import-*"):  # of a killed import; the next one removes it
            shutil.rmtree(left)

    def test_whole_host_ends_early(self):
        process = self.start(None, "--duration", "60", "--verbose")
        wait_for("the recording to begin", lambda: "collecting source" in self.stderr())
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), 0, self.stderr())
        self.assertGreater(self.summary()["total_ns"], 0)


class Accidents(RecordTest):
    def part(self, name):
        found = [line for line in glob.glob("/proc/[0-9]*/cmdline") if self.is_ours(line, name)]
        return int(found[0].split("/")[2]) if found else 0

    def is_ours(self, path, name):
        try:
            with open(path, "rb") as file:
                line = file.read()
        except OSError:
            return False
        return name.encode() in line.split(b"\0")[0] and self.tmp.encode() in line

    def accident(self, name):
        process = self.start(["sh", "-c", f"echo ready >{self.path('ready')}; sleep 1; echo whole"])
        wait_for("the command to run", lambda: os.path.exists(self.path("ready")))
        pid = self.part(name)
        self.assertGreater(pid, 0, f"no {name} of ours runs")
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.wait(LIMIT_S), 1, self.stderr())
        self.assertEqual(self.stdout(), "whole\n")
        self.assertEqual(len(self.stderr().splitlines()), 1, self.stderr())
        self.assert_no_page()

    def test_collector_dies(self):
        self.accident("wakepath-collector")
        self.assertIn("collector", self.stderr())

    def test_aggregator_dies(self):
        self.accident("wakepath-aggregator")
        self.assertIn("aggregator", self.stderr())

    def test_we_die(self):
        """kill -9 of wakepath: the parts end, and the command gets a SIGHUP."""
        process = self.start(["sh", "-c", f"trap 'echo hung up' HUP; echo ready >{self.path('ready')}; sleep 1; echo whole"])
        wait_for("the command to run", lambda: os.path.exists(self.path("ready")))
        process.kill()
        process.wait()
        wait_for("the parts to end", lambda: not self.parts())
        wait_for("the command to end", lambda: self.stdout() == "hung up\nwhole\n")
        self.assertEqual(len(glob.glob(self.tmp + "/wakepath-*")), 1)  # nobody is left who could have removed it
        self.record(["true"])  # removes it (tearDown looks), and what was left in the folder of the report

    def test_we_die_while_the_collector_starts(self):
        process = self.start(["sleep", "1"])
        wait_for("the collector to start", lambda: self.part("wakepath-collector"))
        process.kill()
        process.wait()
        wait_for("the parts to end", lambda: not self.parts())
        self.record(["true"])


if __name__ == "__main__":
    main()
