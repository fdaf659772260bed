#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The settings of the real programs: precedence, refusals with their place, reload, and what a supervisor is told."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BIN, GENERATED, SOURCE = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)


class ConfigTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-config-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, text, name="test.conf"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_it(self, name, *flags, env=None, want=0):
        done = subprocess.run([os.path.join(BIN, "wakepath-" + name), *flags], env={"PATH": "/bin", **(env or {})}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
        self.assertEqual(done.returncode, want, done.stderr)
        return done.stdout if want == 0 else done.stderr

    def start_aggregator(self, env=None, **conf):
        text = "".join(f"{key} = \"{value}\"\n" for key, value in conf.items())
        file = self.write(f'bind = "ipc://{self.path("events")}"\nstore = "{self.path("store")}"\n{text}')
        with open(self.path("log"), "wb") as log:
            process = subprocess.Popen([os.path.join(BIN, "wakepath-aggregator"), "--config", file], stderr=log,
                                       env={"PATH": "/bin", **(env or {})})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def await_log(self, text):
        for _ in range(600):
            with open(self.path("log"), encoding="utf-8") as file:
                log = file.read()
            if text in log:
                return log
            time.sleep(0.05)
        self.fail(f"'{text}' is not in the log:\n{log}")

    # --- the files that are shipped ---

    def test_shipped_files_are_sound_and_name_every_key(self):
        for name in ("collector", "aggregator", "reporter"):
            shipped = os.path.join(GENERATED, "etc/wakepath", name + ".conf")
            self.assertIn("is sound", self.run_it(name, "--config", shipped, "--check-config"))
            with open(shipped, encoding="utf-8") as file:
                lines = file.read().splitlines()
            for line in self.run_it(name, "--config", shipped, "--print-config").splitlines():
                key = line.removeprefix("# ").split(":")[0].split(" ")[0]
                self.assertTrue(any(one.startswith((key + " =", "#" + key + " =")) for one in lines), f"{name}: {key}")

    def test_what_is_printed_can_be_read(self):
        flags = ("--config", self.write('connect = "ipc://a b\\\\c\\"d${HOME}"\nlabel = {"x=1", "y=2"}\nstats = on\n'))
        printed = self.run_it("collector", *flags, "--print-config", "-F", "7", env={"HOME": "$h"})
        again = self.run_it("collector", "--config", self.write(printed, "again.conf"), "--print-config")
        values = [line.split("  # ")[0] for line in printed.splitlines()]
        self.assertEqual(values, [line.split("  # ")[0] for line in again.splitlines()])
        self.assertIn('connect = "ipc://a b\\\\c\\"d\\$h"', values)
        self.assertIn('label += "y=2"', values)

    # --- who wins ---

    def test_precedence(self):
        file = self.write('output = "file"\nfrequency = 1\nlabel = {"a=1", "b=2"}\nstats = true\n')
        env = {"WAKEPATH_COLLECTOR_FREQUENCY": "2", "WAKEPATH_COLLECTOR_LABEL": "c=3\nd=4",
               "WAKEPATH_COLLECTOR_STATS": "no", "WAKEPATH_COLLECTOR_RELEASE": "",
               "WAKEPATH_COLLECTOR_SERVICE_HOST": "10.0.0.1", "WAKEPATH_COLLECTOR_CONFIG": file}
        out = self.run_it("collector", "--print-config", "-F3", env=env)
        self.assertIn('frequency = "3"  # command line', out)
        self.assertIn('label = "c=3"  # $WAKEPATH_COLLECTOR_LABEL\nlabel += "d=4"', out)
        self.assertIn(f'output = "file"  # {file}:1', out)
        self.assertIn("stats = false  # $WAKEPATH_COLLECTOR_STATS", out)
        self.assertIn("# release: not set", out)
        self.assertNotIn("a=1", out)
        out = self.run_it("collector", "--print-config", "--no-config", "--output=x", env=env)
        self.assertIn("# frequency: not set", out)

    def test_a_printed_report_is_not_the_timers_site(self):
        """An --out of a file that nobody named would make --format a usage error."""
        self.assertNotIn("out =", self.run_it("reporter", "--store", "s", "--format", "json", "--print-config"))

    # --- refusals ---

    def test_refusals_name_their_place(self):
        file = self.write("output = x\n\n# frequency\nfrequency = 1x\n")
        self.assertEqual(self.run_it("collector", "--config", file, "--check-config", want=64),
                         f"wakepath-collector: {file}:4: --frequency takes a number from 0 to 50000, not '1x'\n")
        self.run_it("collector", "--config", file, "--check-config", "-F1")
        for name, key, endpoint in (("collector", "connect", "tcp://127.0.0.1:99999"), ("aggregator", "bind", "tcp://127.0.0.1"),
                                    ("aggregator", "bind", "tcp://127.0.0.1:74a7"), ("collector", "connect", "aggr:7447")):
            file = self.write(f'# where to\n{key} = "{endpoint}"\n')
            self.assertIn(f"{file}:2: --{key}: '{endpoint}' is not an endpoint", self.run_it(name, "--config", file, "--check-config", want=64))
        file = self.write("output = x\nfrequncy = 1\n")
        self.assertIn(f"{file}:2: no such option 'frequncy'", self.run_it("collector", "--config", file, want=64))
        file = self.write("output = x\nready-fd = 1\n")
        self.assertIn("no such option 'ready-fd'", self.run_it("collector", "--config", file, want=64))
        self.assertIn("$WAKEPATH_COLLECTOR_RELEASE: 'a b' is not a release id",
                      self.run_it("collector", "--output=x", want=64, env={"WAKEPATH_COLLECTOR_RELEASE": "a b"}))
        self.assertIn("$WAKEPATH_COLLECTOR_FOO: no option", self.run_it("collector", "--output=x", want=64,
                                                                        env={"WAKEPATH_COLLECTOR_FOO": "1"}))
        self.assertIn("No such file", self.run_it("collector", "--config", self.path("none"), want=64))

    def test_hostile_files(self):
        file = self.write("aggregate = {" + "x, " * 2000 + "}\n")
        self.assertIn("more than 1024 values", self.run_it("aggregator", "--config", file, want=64))
        with open(file, "wb") as out:
            out.write(b"store = a\0b\n")
        self.assertIn("is not text", self.run_it("aggregator", "--config", file, want=64))
        with open(file, "wb") as out:
            out.write(b"# " + b"x" * (1 << 20))
        self.run_it("aggregator", "--config", file, want=64)
        self.run_it("aggregator", "--config", "/dev/null", want=64)

    def test_help_is_not_held_up_by_a_wrong_file(self):
        file = self.write("nonsense\n")
        self.assertIn("--ring-size", self.run_it("collector", "--config", file, "--help"))
        self.assertIn("wakepath-collector", self.run_it("collector", "--config", file, "--version"))

    # --- a daemon ---

    def test_reload(self):
        process = self.start_aggregator(epoch=500)
        self.await_log("listening")
        self.start_text = f'bind = "ipc://{self.path("events")}"\nstore = "{self.path("store")}"\n'
        self.write(self.start_text + "epoch = 700\nlog-level = debug\n")
        process.send_signal(signal.SIGHUP)
        log = self.await_log("key=log-level value=\"debug\"")
        self.assertIn("a setting takes effect only at the next start key=epoch", self.await_log("key=epoch"))
        self.assertNotIn("key=bind", log)
        self.write(self.start_text + "log-level = loud\n")
        process.send_signal(signal.SIGHUP)
        self.await_log("test.conf:3: 'loud' is not a log level")
        self.write(self.start_text + "nonsense = 1\n")
        process.send_signal(signal.SIGHUP)
        self.await_log("test.conf:3: no such option 'nonsense'")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    def test_supervisor_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(self.path("notify"))
            listener.settimeout(30)
            process = self.start_aggregator(env={"NOTIFY_SOCKET": self.path("notify"), "WATCHDOG_USEC": "800000"})
            self.assertEqual(listener.recv(4096), b"READY=1")
            before = time.monotonic()
            for _ in range(5):
                self.assertEqual(listener.recv(4096), b"WATCHDOG=1")
            self.assertLess(time.monotonic() - before, 5 * 0.8, "a sign of life in each period")
            process.send_signal(signal.SIGHUP)
            while (message := listener.recv(4096)) == b"WATCHDOG=1":
                pass
            self.assertTrue(message.startswith(b"RELOADING=1\nMONOTONIC_USEC="), message)

    def test_collector_says_that_it_is_ready(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind("\0wakepath-test-" + str(os.getpid()))
            listener.settimeout(30)
            recorded = os.path.join(SOURCE, "tests/perf_script/recorded.txt")
            self.run_it("collector", "--output", self.path("c"), "--source", "perf-script:" + recorded,
                        env={"NOTIFY_SOCKET": "@wakepath-test-" + str(os.getpid())})
            self.assertEqual(listener.recv(4096), b"READY=1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
