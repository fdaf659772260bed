#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real service over four hosts whose clocks disagree: curl asks nginx, which asks gunicorn, which asks PostgreSQL.
fleet_service_test.py BIN. What a report blames is held against what the data base and the application counted themselves.
The programs are Debian's packages, listed in deploy/packages.txt."""
import glob, json, os, shutil, subprocess, sys, tempfile, time, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from fleet_net import Fleet, sh, stop
from fleet_report import edges, outline, time_in

BIN = sys.argv[1]
CLOCKS = {"user": "0", "web": "3600000,200", "app": "-3600000,-200", "db": "1800000,100"} # +-1 h, +-200 ppm
CALL_S = 0.0005 # of a processor, that fdatasync takes of a slow one before and after it sleeps: it is in the data base's own word
KINDS = {"sleeper": "sleep", "thinker": "busy", "buyer": "commit"} # the client's name: what it asks for
REQUESTS = 60
SERVED = ("[nginx]@web", "[gunicorn]@app", "[postgres]@db")

NGINX = """worker_processes 1;
daemon off;
pid {0}/nginx.pid;
error_log {0}/nginx.log;
events {{ }}
http {{ access_log off; client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3; uwsgi_temp_path {0}/t4;
  scgi_temp_path {0}/t5; server {{ listen {1}:80; location / {{ proxy_pass http://{2}:8000; }} }} }}
"""
POSTGRES = ("listen_addresses", "unix_socket_directories", "fsync=on", "synchronous_commit=on", "wal_sync_method=fdatasync",
            "track_wal_io_timing=on", "autovacuum=off", "jit=off", "log_min_messages=fatal")


def postgres_folder():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


def missing():
    """Names of the packages that are not here."""
    there = {"nginx-light": shutil.which("nginx"), "gunicorn": shutil.which("gunicorn"), "curl": shutil.which("curl"),
             "postgresql": postgres_folder(),
             "python3-psycopg2": not subprocess.run(["/usr/bin/python3", "-c", "import psycopg2"], stderr=subprocess.DEVNULL).returncode}
    return [package for package, is_there in there.items() if not is_there]

# An order is two megabytes that cannot be compressed, so that a disk of any speed takes longer for it than a processor for the call.
TABLES = """CREATE TABLE orders (content bytea);
ALTER TABLE orders ALTER content SET STORAGE external;
CREATE TABLE sample AS SELECT string_agg(decode(md5(i::text), 'hex'), '') AS content FROM generate_series(1, 131072) i"""


class Service:
    """The programs, each on its host, their files in one folder on a disk."""

    def __init__(self, fleet):
        self.fleet, self.programs = fleet, []
        self.folder = tempfile.mkdtemp(prefix="wakepath-service-", dir="/var/tmp")
        os.chmod(self.folder, 0o755)
        self.start_database()
        self.start_application()
        self.start_web()
        self.await_answer()

    def start(self, host, name, *words, **options):
        with open("%s/%s.out" % (self.folder, name), "wb") as out:
            child = subprocess.Popen(["ip", "netns", "exec", self.fleet.space(host), *words], stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=out, **options)
        self.programs.append(child)

    def start_database(self):
        """It refuses to run as root."""
        data, programs = self.folder + "/data", postgres_folder()
        os.mkdir(data)
        shutil.chown(data, "postgres", "postgres")
        other = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        subprocess.run([*other, programs + "/initdb", "--no-sync", "-A", "trust", "-U", "shop", "-D", data], check=True,
                       stdout=subprocess.DEVNULL, cwd=data, env={**os.environ, "LC_ALL": "C"})
        with open(data + "/pg_hba.conf", "a") as rules:
            rules.write("host all all 10.77.0.0/24 trust\n")
        settings = [("listen_addresses=" + self.fleet.address("db") if s == "listen_addresses" else
                     "unix_socket_directories=" if s == "unix_socket_directories" else s) for s in POSTGRES]
        self.start("db", "postgres", *other, programs + "/postgres", "-D", data, *[w for s in settings for w in ("-c", s)], cwd=data)
        self.database = "host=%s user=shop dbname=postgres" % self.fleet.address("db")
        for _ in range(200):
            made = subprocess.run(["ip", "netns", "exec", self.fleet.space("app"), "psql", "-q", self.database, "-c",
                                   TABLES], capture_output=True, text=True)
            if not made.returncode:
                return
            time.sleep(0.1)
        raise RuntimeError("the data base does not answer: %s" % made.stderr)

    def start_application(self):
        self.start("app", "gunicorn", "gunicorn", "--bind", self.fleet.address("app") + ":8000", "--workers", "1", "--timeout", "120",
                   "--chdir", HERE + "/service", "shop:application",
                   env={**os.environ, "SHOP_DATABASE": self.database, "PYTHONDONTWRITEBYTECODE": "1"})

    def start_web(self):
        with open(self.folder + "/nginx.conf", "w") as conf:
            conf.write(NGINX.format(self.folder, self.fleet.address("web"), self.fleet.address("app")))
        self.start("web", "nginx", "nginx", "-c", self.folder + "/nginx.conf", "-e", self.folder + "/nginx.log")

    def await_answer(self):
        for _ in range(200):
            try:
                return self.truth()
            except RuntimeError:
                time.sleep(0.1)
        raise RuntimeError("the service does not answer: %s" % self.said())

    def said(self):
        """The ends of what the programs wrote."""
        return {path: open(path, errors="replace").read()[-500:] for path in glob.glob(self.folder + "/*.out")}

    def url(self, path):
        return "http://%s/%s" % (self.fleet.address("web"), path)

    def truth(self):
        return json.loads(sh("ip", "netns", "exec", self.fleet.space("user"), "curl", "-sSf", self.url("truth")))

    def ask(self, name):
        """One process of that name asks so often; what the service counted meanwhile."""
        before = self.truth()
        os.symlink(shutil.which("curl"), self.folder + "/" + name)
        sh("ip", "netns", "exec", self.fleet.space("user"), self.folder + "/" + name, "-sSf", "-o", "/dev/null",
           self.url("%s?[1-%d]" % (KINDS[name], REQUESTS)))
        after = self.truth()
        return {kind: after[kind] - before[kind] for kind in after}

    def close(self):
        for child in self.programs:
            child.terminate() # of PostgreSQL: waits for its clients; they end as well
        for child in self.programs:
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder)


class ServiceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One recording; the tests read what came of it."""
        fleet = Fleet(BIN, CLOCKS)
        cls.addClassCleanup(fleet.close)
        rules = [word for name in KINDS for word in ("--aggregate", "%s=comm=%s" % (name, name))]
        fleet.aggregate("--expect-hosts", str(len(CLOCKS)), *rules)
        service = Service(fleet)
        cls.addClassCleanup(service.close)
        collectors = [fleet.collect(host, "--test-clock", clock) for host, clock in CLOCKS.items()]
        time.sleep(1) # with the first time probes alone a bound may be wider than a request is long
        cls.truths = {name: service.ask(name) for name in KINDS}
        time.sleep(0.5)
        ends = stop(collectors)
        fleet.aggregator.terminate()
        ends.append(fleet.aggregator.wait(timeout=60))
        if set(ends) != {0}:
            raise RuntimeError("a part did not end well: %s" % ends)
        cls.reports = {name: fleet.report(name) for name in KINDS}

    def blamed(self, what, name, found, expected, tolerance):
        self.assertAlmostEqual(found, expected, delta=expected * tolerance + 0.01, msg="%s: %.4f s found, %.4f s it was\n%s" % (
            what, found, expected, outline(self.reports[name], 14)))

    def test_the_sleep_of_the_data_base(self):
        """Each lasts 8 ms at least; the data base's own word has the wait for a processor in it, which is nobody's sleep."""
        report, truth = self.reports["sleeper"], self.truths["sleeper"]["sleep"]
        found = time_in(report, "[sleeper]", *SERVED, "sleep:epoll_wait", without=["sched:"])
        self.assertGreater(found, 0.95 * 0.008 * REQUESTS, outline(report, 14))
        self.assertLess(found, 1.05 * truth, outline(report, 14))

    def test_the_work_of_the_application(self):
        report = self.reports["thinker"]
        found = time_in(report, "[thinker]", *SERVED[:2], running=True)
        self.blamed("what gunicorn computed", "thinker", found, self.truths["thinker"]["busy"], 0.08)

    def test_the_disk_of_the_data_base(self):
        truth = self.truths["buyer"]
        self.assertGreaterEqual(truth["syncs"], REQUESTS, "each order is synced")
        found = time_in(self.reports["buyer"], "[buyer]", *SERVED, "fdatasync")
        self.assertLess(found, 1.1 * truth["commit"] + 0.01, outline(self.reports["buyer"], 14))
        self.assertGreater(found, 0.9 * truth["commit"] - CALL_S * truth["syncs"] - 0.01, (truth, outline(self.reports["buyer"], 14)))

    def test_every_hop_is_followed_with_a_bound(self):
        """Who asks, is pushed off its processor by the one that answers and then finds the answer there waits for no message."""
        for name, report in self.reports.items():
            with self.subTest(name):
                found = edges(report)
                ways = [("web", "user"), ("app", "web")] + ([] if name == "thinker" else [("db", "app")])
                for way in ways:
                    self.assertGreaterEqual(found[way]["messages"], REQUESTS * 0.7, way)
                for way, edge in found.items():
                    self.assertLess(edge["clock_bound_ns"], 100_000_000, "%s: at worst, on a busy machine" % (way,))
                    self.assertLess(edge["transit_ns"], 5_000_000, "%s: not an hour; a busy machine takes its time" % (way,))

    def test_little_is_left_unexplained(self):
        for name, report in self.reports.items():
            with self.subTest(name):
                self.assertLess(report["categories"]["remote_not_traced"], 0.01 * report["total_ns"], outline(report))
                self.assertLess(report["categories"]["unaccounted"], 0.02 * report["total_ns"], outline(report))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("needs root")
    if missing():
        sys.exit("packages are missing: " + " ".join(missing()))
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
