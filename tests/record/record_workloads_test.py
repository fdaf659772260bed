#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs under wakepath record: where their time went is known beforehand, and must be found."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys

from recording import LIMIT_S, RecordTest, main, program, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reporter"))
from browser import Browser  # noqa: E402

FLAME_TOTAL = "window.wakepath && wakepath.payloads && wakepath.payloads.flame && wakepath.flameModel.decode(wakepath.payloads.flame).total[0]"


def drop_caches():
    subprocess.run(["sync"], check=True)
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")


def under(rows, base, *frames):
    """Nanoseconds of the pseudo-stacks that begin with `base` and have all the frames."""
    return sum(ns for stack, ns in rows if stack[0] == base and all(frame in stack for frame in frames))


class Workloads(RecordTest):
    def keep(self, name):
        """WAKEPATH_KEEP=DIR keeps the pages, to be looked at."""
        if os.environ.get("WAKEPATH_KEEP"):
            shutil.copytree(self.out, os.path.join(os.environ["WAKEPATH_KEEP"], name), dirs_exist_ok=True)

    def text_file(self, name, size):
        """Compressible, and neither trivially nor for nothing."""
        state, parts = 1, []
        while size > 0:
            state = (state * 1103515245 + 12345) % 2147483648
            parts.append(f"{state % 5000} line of {state % 7} words {state}\n")
            size -= len(parts[-1])
        return self.write(name, "".join(parts))

    def busy(self, summary):
        """The time but that on other paths and that which is the neighbours' doing: a CPU was wanted, or a timeout passed meanwhile."""
        return summary["total_ns"] - sum(summary["categories"][name] for name in ("other_path", "scheduler", "involuntary", "timeout"))

    def test_pipeline(self):
        self.record(["sh", "-c", "head -c 20000000 /dev/urandom | gzip -c | md5sum"])
        summary = self.summary()
        self.keep("pipeline")
        rows = self.assert_sound(summary)
        self.assert_processes(summary, "sh", "gzip")
        waited = under(rows, "[sh]", "[gzip]") + under(rows, "[sh]", "path:[gzip]")
        self.assertGreater(waited, 0.3 * summary["total_ns"], "whoever fills the pipe waits for gzip, which was busy before")
        self.assertGreater(sum(ns for stack, ns in rows if "[gzip]" in stack), 0.3 * summary["total_ns"])

    def test_sleep_is_deliberate(self):
        self.record(["sleep", "0.7"])
        summary = self.summary()
        self.keep("sleep")
        self.assert_sound(summary)
        self.assertGreater(summary["categories"]["deliberate_sleep"], 690e6)
        late = summary["categories"]["scheduler"] + summary["categories"]["involuntary"]
        self.assertLess(summary["categories"]["deliberate_sleep"], 750e6 + late, "a timer is late on a busy machine, not by much")

    def make_project(self):
        names = [f"part{i}" for i in range(8)]
        for name in names:
            body = "".join(f"int {name}_{i}(int x) {{ char b[64]; snprintf(b, sizeof b, \"%d\", x + {i}); return atoi(b); }}\n"
                           for i in range(150))
            self.write(name + ".c", "#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n" + body)
        self.write("start.c", "int main(void) { return 0; }\n")
        objects = " ".join(name + ".o" for name in names + ["start"])
        self.write("Makefile", f"prog: {objects}\n\t$(CC) -o $@ {objects}\n%.o: %.c\n\t$(CC) -O1 -c $<\n")

    def imported(self, pid):
        """The total of an import of the kept capture with that process as an aggregate."""
        store = self.path(f"store-{pid}")
        subprocess.run([program("wakepath-store"), "import", self.store + "/~capture", "--into", store, "--aggregate", f"one=pid={pid}"], check=True,
                       capture_output=True, timeout=LIMIT_S)
        return json.loads(self.report("--aggregate", "one", "--format", "json", store=store))["total_ns"]

    def clicked(self, browser, timeline, pids):
        """One of these processes, clicked in the timeline, and the total of the flame that this leads to."""
        browser.open(timeline)
        browser.wait("!!(window.wakepath && wakepath.running && wakepath.payloads.interest)")
        row = (f"wakepath.running.rows.find(function (row) {{ return row.thread >= 0 && {sorted(pids)}.indexOf(wakepath.running.data.thread_pid[row.thread]) >= 0; }})")
        pid = browser.evaluate(f"(function (row) {{ wakepath.running.click(4, row.top + 4); return wakepath.running.data.thread_pid[row.thread]; }})({row})")
        find = f"Array.from(document.querySelectorAll('dialog.own a')).find(a => a.href.includes('own') && a.href.includes('pid-{pid}') && a.href.includes('page=flame'))"
        browser.open(browser.wait(f"({find} || {{}}).href"))
        return pid, browser.wait(FLAME_TOTAL)

    def assert_clicks_are_imports(self, summary, compilers, stranger):
        """A click on a compiler in the timeline on the disk, and one on a process that nobody waited for in `wakepath view`, open what an import
        with that process as its aggregate says, to the nanosecond. On the disk the busiest processes have pages, as far as they were made in time:
        where no compiler has one, it is clicked in `wakepath view`."""
        with open(self.store + "/~own.js", encoding="utf-8") as file:
            made = {int(pid) for pid in re.findall(r'"pid-(\d+)"', file.read())} & compilers
        timeline = f"{summary['release']}/main/running.html"
        with Browser() as browser:
            clicks = [self.clicked(browser, f"file://{self.out}/{timeline}", made)] if made else []
            with subprocess.Popen([program("wakepath"), "view", self.out], stdout=subprocess.PIPE, text=True, env=self.env) as served:
                try:
                    address = served.stdout.readline().strip() + timeline
                    clicks += [self.clicked(browser, address, pids) for pids in ([{stranger}] if made else [compilers, {stranger}])]
                finally:
                    served.terminate()
        for pid, total in clicks:
            self.assertEqual(total, self.imported(pid))
        self.assertIn(clicks[-1][0], {stranger})
        self.assertGreater(clicks[-1][1], 0)

    def test_make_with_a_cold_cache(self):
        self.make_project()
        stranger = subprocess.Popen(["sh", "-c", "while :; do sleep 0.02; done"])
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        drop_caches()
        self.record(["make", "-j2"])
        stranger.kill()
        summary = self.summary()
        self.keep("make")
        rows = self.assert_sound(summary)
        self.assert_processes(summary, "make", "cc1")
        self.assertGreater(under(rows, "[make]", "[cc1]"), 0.2 * summary["total_ns"])
        self.assertGreater(summary["categories"]["blocking_io"], 0, "a cold cache reads the disk")
        self.assertGreater(summary["recording"]["programs_ns"], 0)
        tree = {row["pid"]: row for row in summary["process_tree"]}
        compilers = [row for row in tree.values() if row["comm"] == "cc1"]
        self.assertEqual({row["ending"] for row in compilers}, {"exit status 0"})
        for row in compilers:
            line = [row]
            while line[-1]["parent_pid"] in tree and len(line) < 9:
                line.append(tree[line[-1]["parent_pid"]])
            self.assertIn("make", [one["comm"] for one in line])
            self.assertTrue(line[-2]["start_ns"] <= row["start_ns"] < row["end_ns"], line)
        self.assert_clicks_are_imports(summary, {row["pid"] for row in compilers}, stranger.pid)

    def start_nginx(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.text_file("page.txt", 6000000)
        os.chmod(self.folder, 0o755)
        conf = self.write("nginx.conf", f"""
daemon off; master_process on; worker_processes 1; pid {self.path('nginx.pid')}; error_log stderr;
events {{ worker_connections 64; }}
http {{
  access_log off; default_type text/plain; gzip on; gzip_comp_level 9; gzip_types *;
  client_body_temp_path {self.tmp}/b; proxy_temp_path {self.tmp}/p; fastcgi_temp_path {self.tmp}/f;
  uwsgi_temp_path {self.tmp}/u; scgi_temp_path {self.tmp}/s;
  server {{ listen 127.0.0.1:{port}; root {self.folder}; }}
}}
""")
        process = subprocess.Popen(["nginx", "-c", conf, "-p", self.folder], stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        wait_for("nginx to listen", answers, 20)
        return port

    def test_curl_to_nginx(self):
        port = self.start_nginx()
        self.record(["curl", "-sS", "--compressed", "-o", "/dev/null", f"http://127.0.0.1:{port}/page.txt"])
        summary = self.summary()
        self.keep("nginx")
        rows = self.assert_sound(summary)
        self.assert_processes(summary, "curl", "nginx")
        self.assertGreater(under(rows, "[curl]", "[nginx]"), 0.3 * summary["total_ns"],
                           "the worker's compression is what curl waits for")
        self.assertLess(summary["categories"]["remote_not_traced"], 0.05 * summary["total_ns"])

    def test_xz_with_threads(self):
        self.record(["xz", "-T2", "--block-size=1MiB", "-kc", self.text_file("data", 6000000)],
                    stdout=subprocess.DEVNULL)
        summary = self.summary()
        self.keep("xz")
        self.assert_sound(summary)
        self.assert_processes(summary, "xz")
        share = summary["categories"]["understood_functions"] / self.busy(summary)
        self.assertGreater(share, 0.6, f"of the time that is its own: {summary['categories']}")

    def test_zstd_with_threads(self):
        self.record(["zstd", "-T2", "-15", "-qc", self.text_file("data", 12000000)], stdout=subprocess.DEVNULL)
        summary = self.summary()
        self.keep("zstd")
        self.assert_sound(summary)
        self.assert_processes(summary, "zstd")

    def test_demonstration(self):
        self.record([program("wakepath-demo"), self.folder])
        summary = self.summary()
        self.keep("demo")
        rows = self.assert_sound(summary)
        self.assert_processes(summary, "demo-front", "demo-store", "demo-filter")
        self.assertGreater(summary["categories"]["deliberate_sleep"], 550e6, "60 sleeps of 10 ms")
        self.assertGreater(under(rows, "[demo-front]", "[demo-filter]"), 0)
        self.assertGreater(under(rows, "[demo-front]", "[demo-store]"), 0)
        self.assertGreater(summary["categories"]["blocking_io"], 0, "every answer of the store waits for the disk")


if __name__ == "__main__":
    main()
