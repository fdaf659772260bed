#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The aggregator is killed (-9) at random instants of a live session and started again: restart_test.py BIN TIER.
What the report says in the end, and the tree of a shell that forks all the time, is byte for byte what it says when nobody was killed. WP_KILLS=N kills N times (default 12)."""
import json, os, random, subprocess, sys, tempfile, time, unittest

BIN, TIER = sys.argv[1], sys.argv[2]
OF_THE_WINDOW = ("sentence", "count", "threads", "evidence")  # how long each sleep is, and of whom
KILLS = int(os.environ.get("WP_KILLS", "12"))


def start(*words):
    down, up = os.pipe()
    child = subprocess.Popen([*words, "--ready-fd", str(up), "--log-level", "warn"], pass_fds=[up])
    os.close(up)
    ready = os.read(down, 6)
    os.close(down)
    assert ready, "%s did not start" % words[0]
    return child


def aggregator(folder):
    return start(BIN + "/wakepath-aggregator", "--no-config", "--bind", "ipc://%s/socket" % folder, "--store", folder + "/store",
                 "--aggregate", "tier=comm=tier", "--aggregate", "web=comm=web", "--aggregate", "loop=comm=loop",
                 "--history", "1000", "--lateness", "300", "--epoch", "200")


def report(folder):
    """Without what is of the window that is kept whole, which a kill cuts short: the exemplar, and what findings have of it."""
    texts = []
    for name in ("tier", "web", "loop"):
        done = subprocess.run([BIN + "/wakepath-reporter", "--store", folder + "/store", "--format", "json", "--aggregate", name],
                              capture_output=True, text=True, check=True)
        facts = {k: v for k, v in json.loads(done.stdout).items() if k != "exemplar"}
        for finding in facts["explanations"]:
            for words in (finding, finding.get("pattern") or {}):
                for key in OF_THE_WINDOW:
                    words.pop(key, None)
        texts.append(json.dumps(facts, sort_keys=True))
    return texts


class Restart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="wakepath-restart-")
        self.addCleanup(self.folder.cleanup)
        self.capture = self.folder.name + "/capture"
        recorder = start(BIN + "/wakepath-collector", "--no-config", "--overhead-limit", "none", "--output", self.capture, "--duration", "12")
        server = subprocess.Popen([TIER, "--name", "tier", "--listen", "127.0.0.1:7399", "--sleep", "2000", "--busy", "500"],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertEqual(server.stdout.readline(), "listening\n")
        script = self.folder.name + "/loop"
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n  sleep 0.2\n  (exit $i)\ndone\n")
        os.chmod(script, 0o755)
        forks = subprocess.Popen([script])
        client = subprocess.Popen([TIER, "--name", "web", "--next", "127.0.0.1:7399", "--requests", "2000", "--pause", "1000"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        client.communicate("\n", timeout=60)
        self.assertEqual((forks.wait(timeout=60), recorder.wait(timeout=60)), (20, 0))

    def play(self, name, kills, seed):
        folder = "%s/%s" % (self.folder.name, name)
        os.mkdir(folder)
        chance = random.Random(seed)
        daemon = aggregator(folder)
        collector = subprocess.Popen([BIN + "/wakepath-collector", "--no-config", "--source", "capture:" + self.capture, "--connect",
                                      "ipc://%s/socket" % folder, "--replay-speed", "recorded", "--log-level", "error"])
        for _ in range(kills):
            time.sleep(chance.uniform(0.2, 1.8))
            if collector.poll() is not None:
                break
            daemon.kill()
            daemon.wait()
            daemon = aggregator(folder)
        self.assertEqual(collector.wait(timeout=120), 0)
        daemon.terminate()
        self.assertEqual(daemon.wait(timeout=60), 0)
        left = os.listdir(folder + "/store.resume/local")
        self.assertEqual(left, [], "an ended session leaves nothing to go on with")
        return report(folder)

    def test_kills(self):
        whole = self.play("whole", 0, 0)
        self.assertIn("tier", whole[0])
        tree = json.loads(whole[2])["process_tree"]
        shell, = (row for row in tree if row["comm"] == "loop" and row["ending"] == "exit status 20" and row["parent_pid"] == os.getpid())
        started = [row for row in tree if row["parent_pid"] == shell["pid"]]
        self.assertEqual(sorted(row["ending"] for row in started),
                         sorted(["exit status 0"] * 20 + [f"exit status {i}" for i in range(1, 21)]))
        done, seed = 0, 1
        while done < KILLS:
            kills = min(6, KILLS - done)
            self.assertEqual(self.play("killed%d" % seed, kills, seed), whole, "seed %d" % seed)
            done += kills
            seed += 1


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
