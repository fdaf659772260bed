#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the collector has in its spool arrives: the real programs on one recording, disturbed, and the report must be the one of
the undisturbed run."""
import contextlib, glob, json, os, random, shutil, signal, subprocess, sys, tempfile, time, unittest

BIN = os.environ["WAKEPATH_BIN"]
LIMIT_S = 300 # a machine with a load of a hundred; what takes longer is out of time
WORK = """
import subprocess, time
open("/proc/self/comm", "w").write("spoolwork")
for i in range(100): # longer than a busy disk takes to sync what is acknowledged
    subprocess.run("head -c 200000 /dev/urandom | gzip -c | md5sum >/dev/null", shell=True, check=True)
    time.sleep(0.04)
"""
HEAD = 144  # bytes of a record before its frame


def program(name):
    return os.path.join(BIN, name)


def wait_for(what, is_so):
    end = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"out of time: waited {LIMIT_S} s in vain for: {what}")
        time.sleep(0.01)


def record(path, *flags):
    """A capture of the live kernel while something runs."""
    ready, word = os.pipe()
    collector = subprocess.Popen([program("wakepath-collector"), "--output", path, "--ready-fd", str(word), "--log-level", "error",
                                  *flags], pass_fds=[word])
    os.close(word)
    if os.read(ready, 16) != b"ready\n":
        raise AssertionError("the collector did not start")
    os.close(ready)
    pace = subprocess.Popen([program("bench_pace"), "4", "60"], stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-c", WORK], check=True)
    pace.wait()
    collector.terminate()
    if collector.wait(60):
        raise AssertionError("the collector failed")


class Delivery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="wakepath-delivery-", dir="/var/tmp")
        cls.capture, cls.other = os.path.join(cls.base, "capture"), os.path.join(cls.base, "other")
        record(cls.capture)
        undisturbed = cls("run")
        undisturbed.setUp()
        undisturbed.aggregator("plain", sessions=1)
        undisturbed.collect("plain").wait(LIMIT_S)
        cls.report, cls.folded = undisturbed.result("plain")
        cls.events = json.loads(cls.report)["events"]
        undisturbed.tearDown()
        if cls.events["total"] < 50000 or os.path.getsize(cls.capture) < 700000:
            raise AssertionError(f"the recording is too small for what follows: {cls.events} {os.path.getsize(cls.capture)}")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base)

    def run(self, result=None):
        return super().run(result)

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.base)
        self.spool = os.path.join(self.folder, "spool")
        self.processes, self.aggregators, self.logs = [], {}, 0

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    # --- the programs ---
    def start(self, *line):
        self.logs += 1
        log = os.path.join(self.folder, f"log{self.logs}")
        with open(log, "wb") as file:
            process = subprocess.Popen(line, stdout=file, stderr=file)
        process.log_path = log
        self.processes.append(process)
        return process

    def log(self, process):
        with open(process.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def endpoint(self, name):
        return f"ipc://{self.folder}/{name}.socket"

    def store(self, name):
        return os.path.join(self.folder, f"{name}.store")

    def aggregator(self, name, sessions=1000):
        self.aggregators[name] = self.start(program("wakepath-aggregator"), "--bind", self.endpoint(name), "--store", self.store(name), "--no-resume",
                                            "--release", "r", "--aggregate", "main=comm=spoolwork", "--epoch", "100", "--lateness", "100", "--exit-after-sessions", str(sessions))
        return self.aggregators[name]

    def collect(self, *names, source=None, spool=None, flags=()):
        """A collector that sends the recording, through a spool when it is given one."""
        line = [program("wakepath-collector"), *(source or ["--source", f"capture:{self.capture}"]), *flags]
        for name in names:
            line += ["--connect", self.endpoint(name)]
        if spool:
            line += ["--spool", spool]
        return self.start(*line)

    def end(self, process, code=0):
        self.assertEqual(process.wait(LIMIT_S), code, self.log(process))
        return self.log(process)

    def result(self, name):
        """The reports of an aggregator that has ended, JSON and folded."""
        if self.aggregators[name].wait(LIMIT_S):
            raise AssertionError(self.log(self.aggregators[name]))
        return [subprocess.run([program("wakepath-reporter"), "--store", self.store(name), "--release", "r", "--aggregate", "main",
                                "--format", form], check=True, capture_output=True, text=True).stdout for form in ("json", "folded")]

    def assert_undisturbed(self, name):
        report, folded = self.result(name)
        self.assertEqual(report, self.report)
        self.assertEqual(folded, self.folded)

    # --- the spool ---
    def sessions(self, spool=None):
        return [path for path in glob.glob(f"{spool or self.spool}/*-*-*") if os.path.isdir(path)]

    def segments(self, spool=None):
        return sorted(glob.glob(f"{spool or self.spool}/*/*.batches"))

    def spooled(self):
        return sum(os.path.getsize(path) for path in self.segments())

    def fill(self, *flags):
        """The whole recording goes into the spool while no aggregator is there."""
        log = self.end(self.collect("a", spool=self.spool, flags=flags))
        self.assertIn("stay in the spool", log)
        self.assertEqual(len(self.sessions()), 1)
        return log

    def deliver(self, name="a"):
        """Another collector, of the live kernel, delivers what was left, and records something itself meanwhile."""
        aggregator, log = self.aggregator(name), ""
        for _ in range(20): # where ten seconds are too few it says so, and the next one goes on
            said = self.end(self.collect(name, source=["--duration", "1", "--release", "live", "--frequency", "0"], spool=self.spool))
            log += said
            if "the next collector delivers them" not in said:
                break
        self.assertIn("delivered an earlier session", log)
        self.assertEqual(self.sessions(), [])
        wait_for("the sessions' ends", lambda: self.log(aggregator).count("session ends") >= self.log(aggregator).count("session begins") > 0)
        aggregator.terminate()
        return log

    # --- crashes ---
    def test_killed_collector_goes_on(self):
        """kill -9 in mid-stream, five times: the same session goes on from its spool."""
        self.aggregator("a", sessions=1)
        chance, kills = random.Random(4), 0
        for _ in range(5):
            collector = self.collect("a", spool=self.spool, flags=["--replay-speed", "recorded"])
            before = self.spooled()
            wait_for("batches in the spool", lambda: self.spooled() > before or collector.poll() is not None)
            time.sleep(chance.uniform(0.05, 0.6))
            collector.kill()
            if not collector.wait() or not self.sessions():
                break # on a slow machine it was through before that
            kills += 1
        else:
            self.end(self.collect("a", spool=self.spool))
        self.assert_undisturbed("a")
        self.assertEqual(self.sessions(), [])
        self.assertGreater(kills, 0)

    def test_next_collector_delivers(self):
        self.fill()
        self.deliver()
        self.assert_undisturbed("a")

    def test_killed_before_anybody_answered(self):
        collector = self.collect("a", spool=self.spool)
        wait_for("the end of the recording", lambda: os.path.exists(os.path.join((self.sessions() or [""])[0], "bye")))
        collector.kill()
        collector.wait()
        self.deliver()
        self.assert_undisturbed("a")

    def test_aggregator_comes_late(self):
        collector = self.collect("a", spool=self.spool, flags=["--replay-speed", "recorded"])
        wait_for("batches in the spool", lambda: self.spooled() > 100000)
        self.aggregator("a", sessions=1)
        self.end(collector)
        self.assert_undisturbed("a")

    def test_aggregator_hangs(self):
        self.aggregator("a", sessions=1)
        collector = self.collect("a", spool=self.spool, flags=["--replay-speed", "recorded"])
        wait_for("batches in the spool", lambda: self.spooled() > 50000)
        self.aggregators["a"].send_signal(signal.SIGSTOP)
        before = self.spooled()
        wait_for("more of them", lambda: self.spooled() > before + 200000)
        self.aggregators["a"].send_signal(signal.SIGCONT)
        self.end(collector)
        self.assert_undisturbed("a")

    # --- damage ---
    def test_torn_tail(self):
        collector = self.collect("a", spool=self.spool, flags=["--replay-speed", "recorded"])
        wait_for("batches in the spool", lambda: self.spooled() > 100000)
        collector.kill()
        collector.wait()
        last = self.segments()[-1]
        os.truncate(last, os.path.getsize(last) - 77)
        self.aggregator("a", sessions=1)
        self.assertIn("an incomplete batch", self.end(self.collect("a", spool=self.spool)))
        self.assert_undisturbed("a")

    def test_flipped_bits(self):
        """One byte in the middle, of a batch or of its head: what it held is counted, the rest is there."""
        self.fill()
        path = self.segments()[-1]
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 4]))
        self.deliver()
        events = json.loads(self.result("a")[0])["events"]
        self.assertGreater(events["dropped"], self.events["dropped"])
        self.assertEqual(events["total"] + events["dropped"], self.events["total"] + self.events["dropped"])
        self.assertGreater(events["total"], self.events["total"] * 0.8)

    # --- room ---
    def assert_counted(self, name):
        events = json.loads(self.result(name)[0])["events"]
        self.assertGreater(events["dropped"], 1000)
        self.assertGreater(events["total"], 1000)
        self.assertEqual(events["total"] + events["dropped"], self.events["total"] + self.events["dropped"])

    def test_full(self):
        """The oldest goes, counted; the limit holds all the time."""
        collector = self.collect("a", spool=self.spool, flags=["--spool-limit", "1M"])
        most = 0
        while collector.poll() is None:
            with contextlib.suppress(FileNotFoundError):  # not yet there, or delivered meanwhile
                most = max(most, sum(entry.stat().st_size for entry in os.scandir(self.spool) if entry.is_file()) + self.spooled())
            time.sleep(0.01)
        self.assertIn("the spool is full (its limit)", self.end(collector))
        self.assertLessEqual(most, 1 << 20)
        self.deliver()
        self.assert_counted("a")

    def on_tmpfs(self, size):
        os.mkdir(self.spool)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.spool], check=True)
        self.addCleanup(lambda: subprocess.run(["umount", "-l", self.spool], check=True))

    def test_full_disk(self):
        self.on_tmpfs("768k")
        log = self.end(self.collect("a", spool=self.spool, flags=["--spool-limit", "1M"]))
        self.assertIn("the spool is full (the disk)", log)
        self.deliver()
        self.assert_counted("a")

    def test_disk_without_any_room(self):
        """Not even a first batch can be written: memory takes them, and all arrives."""
        self.on_tmpfs("4M")
        self.aggregator("a", sessions=1)
        collector = self.collect("a", spool=self.spool, flags=["--replay-speed", "recorded", "--spool-limit", "1G"])
        wait_for("the spool", lambda: self.spooled() > 0)
        with self.assertRaises(OSError), open(os.path.join(self.spool, "somebody"), "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        log = self.end(collector)
        self.assertIn("wait in memory", log)
        self.assert_undisturbed("a")

    # --- who else is there ---
    def test_two_collectors(self):
        first = self.collect("a", spool=self.spool, flags=["--replay-speed", "recorded"])
        wait_for("the spool", lambda: self.spooled() > 0)
        log = self.end(self.collect("a", spool=self.spool), code=1)
        self.assertIn("locked", log)
        self.assertIn(f"pid {first.pid}", log)

    def test_next_endpoint(self):
        """Nobody at the first one: the second one gets it all."""
        self.aggregator("b", sessions=1)
        self.end(self.collect("a", "b", spool=self.spool))
        self.assert_undisturbed("b")

    def test_moves_to_another_aggregator(self):
        """The first one dies with a part of the session: the second begins behind what the first has acknowledged."""
        self.aggregator("a")
        collector = self.collect("a", "b", spool=self.spool, flags=["--replay-speed", "recorded"])
        wait_for("an acknowledgement", lambda: glob.glob(f"{self.spool}/*/acked"))
        self.aggregators["a"].kill()
        self.aggregators["a"].wait()
        self.aggregators["a"].wait = lambda limit: 0
        self.aggregator("b", sessions=1)
        self.assertIn("switching to the next aggregator", self.end(collector))
        first, second = [json.loads(self.result(name)[0]) for name in "ab"]
        self.assertGreater(first["total_ns"], 0)
        self.assertGreater(second["total_ns"], 0)
        self.assertLess(second["events"]["total"], self.events["total"])
        self.assertGreaterEqual(first["events"]["total"] + second["events"]["total"], self.events["total"])
        self.assertLessEqual(second["events"]["dropped"], self.events["dropped"])  # what a busy machine lost before is in either part
        undisturbed = json.loads(self.report)["total_ns"]
        self.assertLess(abs(first["total_ns"] + second["total_ns"] - undisturbed), undisturbed * 0.3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"] + sys.argv[1:])
