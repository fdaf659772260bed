#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs themselves over tcp:// with CURVE: keys made by `wakepath keygen`, a capture replayed. curve_programs_test.py BIN_DIR
PERF_SCRIPT_TEXT"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BIN, TEXT = sys.argv[1], sys.argv[2]
LIMIT_S = 60
HOST = "01020304-0506-0708-090a-0b0c0d0e0f10"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def run(program, *args, want=0):
    done = subprocess.run([f"{BIN}/{program}", *args], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == want, f"{program} {args}: {done.returncode} {done.stderr}"
    return done


class Programs(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="wp-curve-")
        self.folder = self.holder.name
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        self.capture = self.path("capture")
        run("wakepath-collector", "--source", f"perf-script:{TEXT}", "--output", self.capture, "--release", "v1")
        run("wakepath", "keygen", "--dir", self.path("keys"), "aggregator")
        run("wakepath", "keygen", "--dir", self.path("keys"), "--host", HOST, "wrong")
        run("wakepath", "keygen", "--dir", self.path("keys"), "--host", "this", "right")
        os.mkdir(self.path("allow"))
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stderr.close()
        self.holder.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def key(self, name):
        return self.path(os.path.join("keys", name))

    def aggregator(self, endpoint, store, *flags):
        ready, word = os.pipe()
        process = subprocess.Popen([f"{BIN}/wakepath-aggregator", "--bind", endpoint, "--store", self.path(store), "--auto-aggregates",
                                    "5", "--exit-after-sessions", "1", "--ready-fd", str(word), *flags], pass_fds=[word],
                                   stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        os.close(word)
        self.assertEqual(os.read(ready, 6), b"ready\n")
        os.close(ready)
        return process

    def secure_aggregator(self):
        return self.aggregator(self.endpoint, "store", "--key", self.key("aggregator.key"), "--allow", self.path("allow"))

    def collector(self, name, *flags):
        process = subprocess.Popen([f"{BIN}/wakepath-collector", "--source", f"capture:{self.capture}", "--connect", self.endpoint,
                                    "--key", self.key(f"{name}.key"), "--server-key", self.key("aggregator.pub"), *flags],
                                   stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def allow(self, name):
        """As an operator would: written elsewhere, then moved."""
        with open(self.key(f"{name}.pub"), encoding="ascii") as file:
            text = file.read()
        with open(self.path("new"), "w", encoding="ascii") as file:
            file.write(text)
        os.rename(self.path("new"), self.path(f"allow/{name}.pub"))

    def report(self, store):
        text = run("wakepath-reporter", "--store", self.path(store), "--format", "json").stdout
        return re.sub(r'\n *"late_last_s": \d+,', "", text)  # when it was played: the capture is old

    def wait_for_line(self, process, pattern):
        lines, deadline = [], time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            line = process.stderr.readline()
            lines.append(line)
            if re.search(pattern, line) or not line:
                break
        self.assertRegex("".join(lines), pattern)

    def test_same_reports_as_over_ipc(self):
        self.allow("right")
        aggregator = self.secure_aggregator()
        collector = self.collector("right")
        self.assertEqual(collector.wait(LIMIT_S), 0, collector.stderr.read())
        self.assertEqual(aggregator.wait(LIMIT_S), 0)
        local = f"ipc://{self.path('socket')}"
        plain = self.aggregator(local, "plain")
        run("wakepath-collector", "--source", f"capture:{self.capture}", "--connect", local)
        self.assertEqual(plain.wait(LIMIT_S), 0)
        secure = self.report("store")
        self.assertGreater(len(secure), 100)
        self.assertEqual(secure, self.report("plain"))

    def test_another_host_is_refused_for_good(self):
        self.allow("wrong")
        aggregator = self.secure_aggregator()
        collector = self.collector("wrong")
        self.assertEqual(collector.wait(LIMIT_S), 1)
        self.assertIn("may not speak for this host", collector.stderr.read())
        self.wait_for_line(aggregator, f"refused address=127.0.0.1 key=.* host={self.host_of('right')} ")

    def host_of(self, name):
        with open(self.key(f"{name}.pub"), encoding="ascii") as file:
            return file.read().split()[1]

    def test_a_listed_key_is_let_in_while_all_run(self):
        aggregator = self.secure_aggregator()
        self.wait_for_line(aggregator, "allowlist is empty")
        collector = self.collector("right")
        self.wait_for_line(aggregator, "refused address=127.0.0.1 key=.* reason=\"a key that is not listed\"")
        self.allow("right")
        aggregator.send_signal(signal.SIGHUP)
        self.wait_for_line(aggregator, "allowlist has changed keys=1")
        self.assertEqual(collector.wait(LIMIT_S), 0, collector.stderr.read())
        self.assertEqual(aggregator.wait(LIMIT_S), 0)

    def test_a_stranger_says_why_nobody_answers(self):
        self.secure_aggregator()
        self.wait_for_line(self.collector("wrong"), "no aggregator answers .*reason=\".*not on its list\"")

    def test_keys_are_demanded_and_kept_secret(self):
        store = self.path("store")
        done = run("wakepath-aggregator", "--bind", self.endpoint, "--store", store, want=64)
        self.assertIn("--insecure", done.stderr)
        done = run("wakepath-collector", "--source", f"capture:{self.capture}", "--connect", self.endpoint, want=64)
        self.assertIn("--server-key", done.stderr)
        os.chmod(self.key("aggregator.key"), 0o644)
        done = run("wakepath-aggregator", "--bind", self.endpoint, "--store", store, "--key", self.key("aggregator.key"), "--allow",
                   self.path("allow"), want=1)
        self.assertIn("chmod 600", done.stderr)

    def test_insecure_is_said_and_works(self):
        aggregator = self.aggregator(self.endpoint, "store", "--insecure")
        run("wakepath-collector", "--source", f"capture:{self.capture}", "--connect", self.endpoint, "--insecure")
        self.assertEqual(aggregator.wait(LIMIT_S), 0)
        self.assertIn("insecure: everybody", aggregator.stderr.read())

    def test_keygen(self):
        self.assertEqual(os.stat(self.key("right.key")).st_mode & 0o777, 0o600)
        with open(self.key("right.key"), encoding="ascii") as file:
            before = file.read()
        done = run("wakepath", "keygen", "--dir", self.path("keys"), "right", want=1)
        self.assertIn("--force", done.stderr)
        with open(self.key("right.key"), encoding="ascii") as file:
            self.assertEqual(file.read(), before)
        run("wakepath", "keygen", "--dir", self.path("keys"), "--force", "right")
        with open(self.key("right.key"), encoding="ascii") as file:
            self.assertNotEqual(file.read(), before)
        self.assertEqual(os.stat(self.key("right.key")).st_mode & 0o777, 0o600)
        for args in ([], ["a", "b"], ["../a"], ["--host", "web-1", "a"]):
            run("wakepath", "keygen", *args, want=64)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
