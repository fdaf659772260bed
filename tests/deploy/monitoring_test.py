#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real collector and aggregator, scraped by a real Prometheus with the rules that are shipped; `wakepath status` and
`wakepath doctor` asked about them. Usage: monitoring_test.py BIN GENERATED SOURCE"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

BIN, MADE, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
MONITORING = os.path.join(SOURCE, "deploy/monitoring")
NAME = re.compile(r"\b(?:wakepath|process)_[a-z0-9_]+\b")
HOSTNAME = b'we"b\\1\xff\x1b[2J'  # what a host may say that it is called
PROMETHEUS_SAYS = 'we"b\\1??[2J'


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
                          **options)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(address, path):
    """(status, text)"""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode("utf-8")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8")


def until(what, is_so, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = is_so()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def documented():
    return set(NAME.findall(read(SOURCE, "docs/monitoring.md") + read(SOURCE, "docs/man/wakepath-metrics.5.scd")))


def expressions():
    """All of the dashboard, as Grafana would send them."""
    board = json.loads(read(MONITORING, "wakepath-dashboard.json"))
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")


class FilesTest(unittest.TestCase):
    def test_rules(self):
        for arguments in (("check", "rules", "wakepath.rules.yml"), ("check", "config", "prometheus.yml"),
                          ("test", "rules", "wakepath.rules_test.yml")):
            done = run("promtool", *arguments, cwd=MONITORING)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rules_and_dashboard_use_what_there_is(self):
        rules = read(MONITORING, "wakepath.rules.yml")
        used = set(NAME.findall(rules)) | {name for one in expressions() for name in NAME.findall(one)}
        self.assertGreater(len(used), 25)
        self.assertEqual(used - documented(), set())

    def test_every_alert_is_explained(self):
        text = read(SOURCE, "docs/monitoring.md")
        for alert in re.findall(r"alert: (\w+)", read(MONITORING, "wakepath.rules.yml")):
            self.assertIn(alert, text)


class WatchedTest(unittest.TestCase):
    """One fleet of one host for all of it."""
    processes = []

    @classmethod
    def start(cls, name, *command, env=None):
        with open(cls.path(name + ".log"), "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env={**os.environ, **(env or {})})
        cls.processes.append(process)
        return process

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def log(cls, name):
        with open(cls.path(name + ".log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    @classmethod
    def address(cls, name):
        return until(f"{name} tells metrics\n{cls.log(name)}",
                     lambda: re.findall(r"serving metrics address=(\S+)", cls.log(name)))[0]

    @classmethod
    def configure(cls):
        for name, more in (("agg", ()), ("col", ("--host", "this"))):
            assert run(os.path.join(BIN, "wakepath"), "keygen", "--dir", cls.folder, *more, name).returncode == 0
        os.mkdir(cls.path("allow"))
        shutil.copy(cls.path("col.pub"), cls.path("allow"))
        cls.port = free_port()
        cls.env = {"WAKEPATH_COLLECTOR_CONFIG": cls.path("collector.conf"),
                   "WAKEPATH_AGGREGATOR_CONFIG": cls.path("aggregator.conf")}
        cls.settings = {
            "aggregator": {"bind": f"tcp://127.0.0.1:{cls.port}", "store": cls.path("store"), "key": cls.path("agg.key"),
                           "allow": cls.path("allow"), "metrics": f"127.0.0.1:{free_port()}"},
            "collector": {"connect": f"tcp://127.0.0.1:{cls.port}", "key": cls.path("col.key"), "metrics": "127.0.0.1:0",
                          "server-key": cls.path("agg.pub"), "spool": cls.path("spool")}}
        for name in cls.settings:
            cls.write(name)

    @classmethod
    def write(cls, name, **more):
        with open(cls.path(name + ".conf"), "w", encoding="utf-8") as file:
            file.writelines(f'{key} = "{value}"\n' for key, value in {**cls.settings[name], **more}.items())

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wakepath-monitoring-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.addClassCleanup(cls.stop_all)
        cls.configure()
        cls.start_aggregator()
        cls.start("collector", os.path.join(BIN, "wakepath-collector"), b"--hostname=" + HOSTNAME, env=cls.env)
        cls.aggregator, cls.collector = cls.address("aggregator"), cls.address("collector")
        cls.write("collector", metrics=cls.collector)
        cls.start_prometheus()

    @classmethod
    def start_aggregator(cls):
        cls.aggregator_process = cls.start("aggregator", os.path.join(BIN, "wakepath-aggregator"), env=cls.env)

    @classmethod
    def start_prometheus(cls):
        text = read(MONITORING, "prometheus.yml").replace("15s", "1s").replace("127.0.0.1:9469", cls.collector)
        text = text.replace("127.0.0.1:9470", cls.aggregator)
        text = text.replace("scrape_interval: 1s", "scrape_interval: 1s\n  evaluation_interval: 1s")
        with open(cls.path("prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(text)
        shutil.copy(os.path.join(MONITORING, "wakepath.rules.yml"), cls.folder)
        cls.prometheus = f"127.0.0.1:{free_port()}"
        cls.start("prometheus", "prometheus", "--config.file=" + cls.path("prometheus.yml"),
                  "--storage.tsdb.path=" + cls.path("tsdb"), "--web.listen-address=" + cls.prometheus)
        for address in (cls.collector, cls.aggregator):
            until(f"{address} is well\n{cls.log('collector')}{cls.log('aggregator')}",
                  lambda: get(address, "/healthz") == (200, "ok\n"))
        until("both are scraped", lambda: len(cls.query('up{job=~"wakepath-.*"} == 1')) == 2)
        until("an epoch is explained", lambda: cls.query("wakepath_aggregator_host_lag_seconds"))

    @classmethod
    def stop_all(cls):
        for process in reversed(cls.processes):
            process.terminate()
        for process in reversed(cls.processes):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @classmethod
    def query(cls, expression):
        try:
            status, text = get(cls.prometheus, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        except OSError: # it is starting
            return []
        assert status == 200, f"{expression}: {text}"
        return json.loads(text)["data"]["result"]

    def value(self, expression):
        found = self.query(expression)
        self.assertEqual(len(found), 1, expression)
        return float(found[0]["value"][1])

    def wakepath(self, *arguments):
        return run(os.path.join(BIN, "wakepath"), *arguments, env={**os.environ, **self.env})

    def reported(self):
        """What the reporter leaves for node-exporter."""
        done = run(os.path.join(BIN, "wakepath-reporter"), "--no-config", "--quiet", "--store", self.path("store"), "--out",
                   self.path("site"), "--metrics-file", self.path("reporter.prom"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return read(self.path("reporter.prom"))

    def told(self):
        return [get(address, "/metrics")[1] for address in (self.collector, self.aggregator)] + [self.reported()]

    # --- what is told ---

    def test_metrics_are_well_formed(self):
        for text in self.told():
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            lines = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
            self.assertEqual(len(lines), len(set(lines)), "no line twice")

    def test_manual_lists_what_is_told(self):
        told = {name for text in self.told() for name in re.findall(r"^# TYPE (\S+)", text, re.M)}
        only_sometimes = {"wakepath_collector_overhead_limit_ratio", "wakepath_collector_unread_lines_total", "wakepath_collector_late_lines_total"} # and of shards, where there are others (shards_live_test.py)
        always = {name for name in documented() if not name.startswith("wakepath_aggregator_shard_")}
        self.assertEqual(told - only_sometimes, always - only_sometimes)

    def test_figures_agree(self):
        """The two ends count the same events, though neither asks the other."""
        until("events", lambda: self.value('wakepath_collector_events_total{kind="switch"}') > 1000)
        here = self.value("sum(wakepath_collector_events_total)")
        until("they are there", lambda: self.value("sum(wakepath_aggregator_events_total)") >= here)
        self.assertEqual(self.value("wakepath_collector_welcome"), 1)
        self.assertLess(self.value("wakepath_aggregator_lag_seconds"), 30)
        self.assertLess(self.value("wakepath_collector_lag_seconds"), 30)
        self.assertGreater(self.value("wakepath_collector_spool_bytes"), 0)
        self.assertGreater(self.value('wakepath_collector_stack_walks_total{end="complete"}'), 0)
        self.assertGreater(self.value("wakepath_aggregator_commits_total"), 0)
        self.assertGreater(self.value("process_resident_memory_bytes{job=\"wakepath-collector\"}"), 1 << 20)
        until("the clock is compared", lambda: self.value("wakepath_aggregator_host_clock_known") == 1)
        self.assertLess(self.value("wakepath_aggregator_host_clock_bound_seconds"), 1)

    def test_hostile_name(self):
        hosts = {one["metric"]["host"] for one in self.query("wakepath_aggregator_host_events_total")}
        self.assertEqual(hosts, {PROMETHEUS_SAYS})
        self.assertNotIn("\x1b", self.wakepath("status").stdout)

    def test_rules_are_evaluated(self):
        status, text = get(self.prometheus, "/api/v1/rules")
        rules = [rule for group in json.loads(text)["data"]["groups"] for rule in group["rules"]]
        shipped = re.findall("alert:", read(MONITORING, "wakepath.rules.yml"))
        self.assertEqual((status, len(rules)), (200, len(shipped)))
        until("all are evaluated", lambda: all(rule["health"] == "ok" for group in
              json.loads(get(self.prometheus, "/api/v1/rules")[1])["data"]["groups"] for rule in group["rules"]))

    def test_dashboard_shows_something(self):
        # nothing is dropped, refused, contradictory or between hosts here, and the kernel may not count BPF
        quiet = re.compile("dropped_events_total|refused|contradictions|pair_|messages_total|bpf_seconds")
        for expression in expressions():
            if quiet.search(expression):
                self.query(expression)
            else: # a rate needs two scrapes
                until(expression, lambda one=expression: self.query(one), 30)

    def test_refused_peer(self):
        with socket.create_connection(("127.0.0.1", self.port)):
            pass
        until("the alert", lambda: self.query('ALERTS{alertname="WakepathRefuses",alertstate="firing"}'))
        self.assertGreaterEqual(self.value("sum(wakepath_aggregator_refused_total)"), 1)

    # --- for people ---

    def test_status(self):
        done = self.wakepath("status")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^wakepath-collector \S+ of .* at 127.0.0.1:\d+: well$")
        self.assertRegex(done.stdout, r"(?m)^wakepath-aggregator \S+ of local at 127.0.0.1:\d+: well$")
        self.assertRegex(done.stdout, r"(?m)^  aggregator +accepts batches; ")
        self.assertIn(PROMETHEUS_SAYS, done.stdout)
        done = self.wakepath("status", "--json", self.collector)
        daemon, = json.loads(done.stdout)["daemons"]
        self.assertEqual((daemon["program"], daemon["is_well"], daemon["trouble"]), ("wakepath-collector", True, ""))
        self.assertEqual(daemon["metrics"]["wakepath_collector_info"][0]["source"], "bpf")

    def test_status_of_nobody(self):
        self.assertEqual(self.wakepath("status", f"127.0.0.1:{free_port()}").returncode, 1)
        self.assertEqual(self.wakepath("status", "nonsense").returncode, 64)
        self.assertEqual(self.wakepath("status", "--nonsense").returncode, 64)

    def test_status_of_another_program(self):
        class Other(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'up{a="\x1b[2J"} 1\n' + b'{"a":' * 1000)

            def log_message(self, *_):
                pass
        server = HTTPServer(("127.0.0.1", 0), Other)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            done = self.wakepath("status", f"127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            server.server_close()
        self.assertEqual(done.returncode, 1)
        self.assertIn("what answers there is not Wakepath", done.stdout)

    def findings(self, want):
        done = self.wakepath("doctor", "--json")
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["is_well"], want == 0)
        return {(one["subject"], one["state"]): one for one in found["findings"]}

    def test_doctor(self):
        found = self.findings(0)
        for subject in ("kernel", "probe", "privileges", "btf", "tracefs", "perf", "collector", "aggregator", "key", "allowlist",
                        "store", "spool"):
            self.assertIn((subject, "good"), found)
        self.assertRegex(self.wakepath("doctor").stdout, r"(?m)^good   btf          /sys/kernel/btf/vmlinux is there$")

    def test_doctor_finds(self):
        def broken(name, subject, text, **settings):
            self.write(name, **settings)
            try:
                one = self.findings(1)[subject, "wrong"]
            finally:
                self.write(name, **({"metrics": self.collector} if name == "collector" else {}))
            self.assertIn(text, one["text"])
            self.assertTrue(one["mend"])
        shutil.copy(self.path("col.key"), self.path("open.key"))
        os.chmod(self.path("open.key"), 0o644)
        broken("collector", "key", "has mode 0644", key=self.path("open.key"), metrics=self.collector)
        broken("collector", "key", "public", **{"server-key": self.path("open.key"), "metrics": self.collector})
        stranger = self.path("stranger")
        for more in (("--host", "this", "listed"), ("--host", "any", "unlisted"), ("--host", "01020304-0506-0708-090a-0b0c0d0e0f10", "cloned")):
            self.assertEqual(self.wakepath("keygen", "--dir", stranger, *more).returncode, 0)
        unheard = {"metrics": f"127.0.0.1:{free_port()}"} # a collector that is refused, or is started again and again
        broken("collector", "key", "it is not on its list", key=stranger + "/unlisted.key", **unheard)
        for name in ("listed", "cloned"):
            shutil.copy(f"{stranger}/{name}.pub", self.path("allow"))
        broken("collector", "key", "does not speak for this host", key=stranger + "/cloned.key", **unheard)
        broken("collector", "key", "another key than --server-key", **{"server-key": stranger + "/listed.pub"}, **unheard)
        self.write("collector", key=stranger + "/listed.key", **unheard)
        self.assertRegex(self.wakepath("doctor").stdout, r"(?m)^good   key .* accepts this collector's key$")
        for name in ("listed", "cloned"):
            os.unlink(f"{self.path('allow')}/{name}.pub")
        broken("collector", "collector", "collector.conf:6: no such option 'frequncy'", frequncy="9")
        broken("collector", "aggregator", "Connection refused", connect=f"tcp://127.0.0.1:{free_port()}",
               metrics=f"127.0.0.1:{free_port()}")
        broken("collector", "collector", "another program answers", metrics=self.prometheus)
        broken("collector", "spool", "has only 0 MiB left", spool="/proc/nothing/spool", metrics=self.collector)
        broken("aggregator", "allowlist", "none", allow=self.path("none"))
        broken("aggregator", "port", "Address already in use", metrics=f"127.0.0.1:{free_port()}")

    # --- trouble; last by its name: it takes the aggregator away ---

    def test_trouble(self):
        taken = self.start("second", os.path.join(BIN, "wakepath-aggregator"), "--no-config", "--metrics", self.aggregator,
                           "--bind", "ipc://" + self.path("second"), "--store", self.path("second-store"))
        until("it goes on without", lambda: "listening" in self.log("second"))
        self.assertIn("continuing without metrics: cannot serve metrics at " + self.aggregator, self.log("second"))
        taken.terminate()
        self.assertEqual(taken.wait(30), 0)

        self.aggregator_process.terminate()
        self.assertEqual(self.aggregator_process.wait(60), 0)
        until("it is missed", lambda: get(self.collector, "/healthz")[0] == 503)
        self.assertIn("no aggregator answers since", get(self.collector, "/healthz")[1])
        self.assertGreater(self.value("wakepath_collector_lag_seconds"), 20)
        self.assertTrue(self.query('ALERTS{alertname="WakepathNoAggregator"}'))
        self.assertTrue(self.query('ALERTS{alertname="WakepathDown"}'))
        done = self.wakepath("status")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^wakepath-collector .*: NOT WELL: no aggregator answers since \d+ s")
        self.assertRegex(done.stderr, r"^wakepath: .*: no aggregator answers since \d+ s")
        self.assertRegex(done.stdout, r"(?m)^  aggregator +unreachable for ")
        self.assertIn(("collector", "wrong"), self.findings(1))
        self.start_aggregator()
        until("all is well again", lambda: get(self.collector, "/healthz") == (200, "ok\n"), 90)


if __name__ == "__main__":
    unittest.main(verbosity=2)
