#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/slurm on a real Slurm of two nodes: slurm_live_test.py BIN SOURCE TIER. A job whose tasks ask each other over TCP is recorded
by prolog and epilog; an array job makes the pages of all releases."""
import filecmp, glob, json, os, subprocess, sys, time, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import Cluster, free_ports

BIN, SOURCE, TIER = (os.path.abspath(word) for word in sys.argv[1:4])
REQUESTS, SLEEP_US = 60, 4000
SETTINGS = """collector={bin}/wakepath-collector
config={folder}/collector.conf
run={folder}/run
logs={folder}/logs
ready_s=60
end_s=60
"""
PROLOG = "#!/bin/sh\nexport WAKEPATH_SLURM_SETTINGS={folder}/slurm-job.conf\nexec {source}/deploy/slurm/job.sh\n"


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(text)
    return path


def files(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


class SlurmTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)
        self.folder = self.cluster.folder
        self.store = self.folder + "/store"
        self.endpoint = "ipc://%s/events" % self.folder
        os.mkdir(self.folder + "/logs")
        write(self.folder + "/slurm-job.conf", SETTINGS.format(bin=BIN, folder=self.folder))
        write(self.folder + "/collector.conf", 'connect = "%s"\noverhead-limit = "none"\n' % self.endpoint)
        self.cluster.up(write(self.folder + "/prolog", PROLOG.format(folder=self.folder, source=SOURCE), 0o755))

    def aggregate(self):
        """An aggregator before the store; it listens."""
        down, up = os.pipe()
        child = subprocess.Popen([BIN + "/wakepath-aggregator", "--no-config", "--bind", self.endpoint, "--store", self.store,
                                  "--ready-fd", str(up), "--aggregate", "web=comm=web", "--log-level", "warn"], pass_fds=[up])
        os.close(up)
        self.assertTrue(os.read(down, 6), "the aggregator did not start")
        os.close(down)
        return child

    def tiers(self, *flags):
        """A job of three tasks on two nodes: web asks api, api asks db, which sleeps."""
        api, db = ("127.0.0.1:%d" % port for port in free_ports(2))
        program = write(self.folder + "/tasks", "\n".join((
            "0 %s --name web --requests %d --pause 1000 --next %s" % (TIER, REQUESTS, api),
            "1 %s --name api --busy 1000 --listen %s --next %s" % (TIER, api, db),
            "2 %s --name db --sleep %d --listen %s\n" % (TIER, SLEEP_US, db))))
        # The two that serve never end; the step does when web has.
        out = self.cluster.run("srun", "-N2", "-n3", "--overcommit", "--wait=1", *flags, "--multi-prog", program, check=False)
        self.assertEqual(len([line for line in out.split() if line.isdigit()]), REQUESTS, out + self.cluster.logs())

    def report(self, release, form):
        return subprocess.run([BIN + "/wakepath-reporter", "--store", self.store, "--release", release, "--aggregate", "web",
                               "--format", form], capture_output=True, text=True, check=True).stdout

    def releases(self):
        listed = subprocess.run([BIN + "/wakepath-store", "releases", self.store], capture_output=True, text=True, check=True).stdout
        return [line.split()[0] for line in listed.splitlines()]

    def epilogs_done(self):
        self.cluster.until("the epilogs have ended", lambda: not os.path.exists(self.folder + "/run")
                           or os.listdir(self.folder + "/run") == ["lock"])
        self.cluster.idle()

    def asked_for(self):
        aggregator = self.aggregate()
        for release in ("v1", "v2", "v3"):
            self.tiers("--comment=for the weekly wakepath=" + release)
            self.epilogs_done()
        self.tiers()
        self.epilogs_done()
        aggregator.terminate()
        self.assertEqual(aggregator.wait(60), 0)
        self.assertEqual(self.releases(), ["v1", "v2", "v3"], "the job that did not ask was recorded")

    def paths(self):
        """What the tasks did to each other is in the report of each release: the sleep two tasks away was waited for."""
        for job, release in enumerate(("v1", "v2", "v3"), 1):
            slept = 0
            for line in self.report(release, "folded").splitlines():
                stack, ns = line.rsplit(" ", 1)
                at = [stack.find(part) for part in ("[web]", "[api]", "[db]", "sleep:clock_nanosleep")]
                slept += int(ns) if at == sorted(at) and at[0] == 0 else 0
            self.assertGreaterEqual(slept, 0.9 * REQUESTS * SLEEP_US * 1000, self.report(release, "folded"))
            facts = json.loads(self.report(release, "json"))
            self.assertEqual(facts["hosts"], 1, "the two nodes are one machine, and have one collector")
            labels = subprocess.run([BIN + "/wakepath-store", "metadata", "ls", "%s/%s" % (self.store, release)],
                                    capture_output=True, text=True, check=True).stdout
            self.assertRegex(labels, r"label\.job: %d\n" % job)

    def site_by_array(self):
        self.cluster.until("the store's last change is past", lambda: all(
            time.time() - os.stat(path).st_ctime > 2.2 for path in glob.glob(self.store + "/*/data.mdb")))
        one, many = self.folder + "/one", self.folder + "/many"
        subprocess.run([BIN + "/wakepath-reporter", "--store", self.store, "--out", one, "--quiet"], check=True)
        for path, elements in ((many, "3"), (self.folder + "/fewer", "2")):
            self.cluster.run(SOURCE + "/deploy/slurm/report.sh", "--wait", "--elements", elements, "--store", self.store, "--out", path,
                             path=BIN)
            self.assertEqual(files(one), files(path))
            _, differing, errors = filecmp.cmpfiles(one, path, files(one), shallow=False)
            self.assertEqual((differing, errors), ([], []))
        self.assertEqual(sorted(os.listdir(many + ".parts"))[-3:], ["v1", "v2", "v3"], "an element made each")
        accounts = self.cluster.run("scontrol", "show", "job")
        self.assertEqual(accounts.count("ArrayTaskId="), 5, accounts)

    def no_aggregator(self):
        """Nobody listens: the job runs all the same."""
        write(self.folder + "/slurm-job.conf", SETTINGS.format(bin=BIN, folder=self.folder).replace("_s=60", "_s=1"))
        self.assertEqual(sorted(self.cluster.run("srun", "-N2", "--comment=wakepath", "hostname").split()), self.cluster.hosts())
        self.epilogs_done()
        with open(self.folder + "/logs/job.log", encoding="utf-8") as file:
            self.assertIn("the job goes on", file.read())

    def wrong_release(self):
        write(self.folder + "/slurm-job.conf", SETTINGS.format(bin=BIN, folder=self.folder))
        self.cluster.run("srun", "-N1", "--comment=wakepath=../../etc", "true")
        self.epilogs_done()
        with open(self.folder + "/logs/job.log", encoding="utf-8") as file:
            self.assertIn("its collector has ended", file.read())
        self.assertEqual(self.releases(), ["v1", "v2", "v3"])

    def test_jobs_are_recorded_and_an_array_makes_their_pages(self):
        """One cluster for all of it: it takes longer to start than all the rest."""
        for step in (self.asked_for, self.paths, self.site_by_array, self.no_aggregator, self.wrong_release):
            with self.subTest(step.__name__):
                step()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
