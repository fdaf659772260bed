#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon whose loop stands still while its other threads go on: the main thread of real daemons is stopped by a tracer. /livez and
/healthz say so, the supervisor hears no sign of life, and all of it comes back. Usage: stall_test.py BIN GENERATED SOURCE"""
import ctypes
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

BIN, _, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def ptrace(request, pid):
    LIBC.ptrace.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 2
    if LIBC.ptrace(request, pid, None, None):
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


def ask(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class StallTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-stall-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def until(self, what, question):
        for _ in range(1200):
            got = question()
            if got:
                return got
            time.sleep(0.1)
        return self.fail("waited for: " + what)

    def start(self, name, *options):
        """The process, its port, and the socket at which it gives signs of life."""
        path = f"{self.folder}/{name}"
        supervisor = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(supervisor.close)
        supervisor.bind(path + ".notify")
        supervisor.setblocking(False)
        with open(path + ".log", "wb") as log:
            process = subprocess.Popen([f"{BIN}/wakepath-{name}", "--no-config", "--metrics", "127.0.0.1:0", *options], stderr=log,
                                       env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": path + ".notify", "WATCHDOG_USEC": "2000000"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def port():
            with open(path + ".log", encoding="utf-8") as log:
                return re.search(r"127\.0\.0\.1:(\d+)", log.read())
        return process, int(self.until(name + " tells where", port).group(1)), supervisor

    def signs(self, supervisor):
        """Those that have come since it was asked last."""
        count = 0
        while True:
            try:
                count += supervisor.recv(4096) == b"WATCHDOG=1"
            except BlockingIOError:
                return count

    def rest(self, supervisor):
        """All that it has said since it was asked last."""
        said = []
        while True:
            try:
                said.append(supervisor.recv(4096))
            except BlockingIOError:
                return said

    def test_the_loop_stands_still(self):
        endpoint = f"ipc://{self.folder}/events"
        daemons = [self.start("aggregator", "--bind", endpoint, "--store", self.folder + "/store"),
                   self.start("collector", "--connect", endpoint)]
        for process, port, supervisor in daemons:
            self.until("it lives", lambda port=port: ask(port, "/livez")[0] == 200)
            self.until("it is well", lambda port=port: ask(port, "/healthz")[0] == 200)
            self.until("a sign of life", lambda supervisor=supervisor: self.signs(supervisor))
        for process, _, _ in daemons:
            ptrace(SEIZE, process.pid)
            ptrace(INTERRUPT, process.pid)
            os.waitpid(process.pid, WALL)
        for _, _, supervisor in daemons:
            self.signs(supervisor) # what had come before
        for _, port, supervisor in daemons:
            said = self.until("it does not live", lambda port=port: (lambda got: got[0] == 503 and got)(ask(port, "/livez")))[1]
            self.assertRegex(said, "has stood still for 3")
            self.assertEqual(ask(port, "/healthz")[0], 503)
            self.assertEqual(ask(port, "/metrics")[0], 200, "what it published last can be read")
            self.assertEqual(self.signs(supervisor), 0, "a supervisor's watchdog bites")
        for process, _, _ in daemons:
            ptrace(DETACH, process.pid)
        for process, port, supervisor in daemons:
            self.until("it lives again", lambda port=port: ask(port, "/livez")[0] == 200)
            self.until("signs of life again", lambda supervisor=supervisor: self.signs(supervisor))
        for process, _, supervisor in reversed(daemons):
            self.rest(supervisor) # which has room for ten words (net.unix.max_dgram_qlen), and a service waits for none
            process.terminate()
            self.assertEqual(process.wait(150), 0)
            self.assertEqual(self.rest(supervisor).count(b"STOPPING=1"), 1, "systemctl shows that it is ending")


if __name__ == "__main__":
    unittest.main(verbosity=2)
