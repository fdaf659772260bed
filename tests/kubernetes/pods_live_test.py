#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The image's entry script as the pods of deploy/kubernetes run it: pods_live_test.py BIN SOURCE. Users, capabilities, variables, arguments,
read-only root and what is mounted where are read from the manifests; names of pods are in /etc/hosts of each."""
import base64, contextlib, http.server, os, re, shutil, socket, subprocess, sys, tempfile, threading, time, unittest, urllib.error, urllib.request

import yaml

BIN, SOURCE = sys.argv[1:3]
FOLDER = SOURCE + "/deploy/kubernetes"
POINTS = ("/etc/wakepath/keys", "/data", "/site", "/var/spool/wakepath", "/var/lib/wakepath-node")
DOMAIN = "wakepath-aggregator-%d.wakepath-aggregator"


def until(what, is_so, limit_s=60, tell=lambda: ""):
    end = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError("waited %d s in vain for: %s\n%s" % (limit_s, what, tell()))
        time.sleep(0.1)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Cluster:
    """Folders of a cluster: secrets as keys.sh makes them, claims, the host's paths."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-pods-", dir="/var/tmp")
        os.chmod(self.folder, 0o755)
        os.makedirs(self.folder + "/image/bin")
        os.makedirs(self.folder + "/image/entry")
        self.manifests, self.secrets = {}, {}
        for name in ("collector", "aggregator", "pages"):
            with open("%s/%s.yaml" % (FOLDER, name), encoding="utf-8") as file:
                for one in yaml.safe_load_all(file):
                    self.manifests[one["kind"], one["metadata"]["name"]] = one
        made = subprocess.run([FOLDER + "/keys.sh"], check=True, capture_output=True, text=True,
                              env=dict(os.environ, WAKEPATH=BIN + "/wakepath")).stdout
        for one in yaml.safe_load_all(made):
            if one:
                self.secrets[one["metadata"]["name"]] = {key: base64.b64decode(text) for key, text in one["data"].items()}
        with open(self.folder + "/hosts", "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost\n" + "".join("127.0.0.1%d %s\n" % (n, DOMAIN % n) for n in range(3)))

    def put_secret(self, path, names, mode, group):
        os.makedirs(path)
        for name in names:
            for key, content in self.secrets[name].items():
                with open(os.path.join(path, key), "wb") as file:
                    file.write(content)
                os.chmod(file.name, mode)
                os.chown(file.name, 0, group)

    def volume(self, pod, volume, group):
        """Where a volume of a pod is here."""
        path = "%s/%s/%s" % (self.folder, pod, volume["name"])
        if "hostPath" in volume and volume["hostPath"]["type"] != "DirectoryOrCreate":
            return volume["hostPath"]["path"]
        if "persistentVolumeClaim" in volume:
            path = "%s/%s" % (self.folder, volume["persistentVolumeClaim"]["claimName"])
        if os.path.exists(path):
            return path
        if "secret" in volume:
            self.put_secret(path, [volume["secret"]["secretName"]], volume["secret"]["defaultMode"], group)
        elif "projected" in volume:
            self.put_secret(path, [one["secret"]["name"] for one in volume["projected"]["sources"]],
                            volume["projected"]["defaultMode"], group)
        else:
            os.makedirs(path)
            os.chown(path, 0, group)
            os.chmod(path, 0o2770)
        return path

    def start(self, kind, name, pod, env, *more):
        """A pod's container: its process, with its log beside its folders. `env` stands for what this machine has otherwise: ports."""
        manifest = self.manifests[kind, name]
        spec = manifest["spec"]["jobTemplate"]["spec"] if kind == "CronJob" else manifest["spec"]
        spec = spec["template"]["spec"]
        container = next(one for one in spec.get("initContainers", []) + spec["containers"] if env.get("container") in (None, one["name"]))
        rights = spec.get("securityContext", {})
        own = container["securityContext"]
        group, user = rights.get("fsGroup", 0), own.get("runAsUser", rights.get("runAsUser"))
        volumes = {one["name"]: self.volume(pod, one, group) for one in spec.get("volumes", [])}
        for claim in manifest["spec"].get("volumeClaimTemplates", []):
            claim = {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": "%s-%s" % (claim["metadata"]["name"], pod)}}
            volumes[claim["name"]] = self.volume(pod, claim, group)
        variables = {one["name"]: one.get("value", {"spec.nodeName": env.get("node"), "metadata.name": pod}.get(
            one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath"))) for one in container.get("env", [])}
        variables.update({key: value for key, value in env.items() if key.startswith("WAKEPATH_")}, PATH=self.folder + "/image/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        # A mount name space: the image, /etc/hosts and the volumes, over a root that nobody may write to. The image's users need not get into
        # the folder that the sources are in.
        script = ["set -e", "mount --bind %s %s/image/bin" % (BIN, self.folder), "mount --bind %s/image %s/image/entry" % (FOLDER, self.folder), "mount --bind %s/hosts /etc/hosts" % self.folder, "mkdir -p %s" % " ".join(POINTS)]
        for mount in container["volumeMounts"]:
            if mount["mountPath"] != volumes[mount["name"]]:
                script.append("mount --bind %s %s" % (volumes[mount["name"]], mount["mountPath"]))
        script.append("mount --bind / /mnt && mount -o remount,ro,bind / && umount /mnt")
        caps = "".join(",+" + cap.lower() for cap in own["capabilities"].get("add", []))
        words = ["--reuid", str(user), "--regid", str(rights.get("runAsGroup", 0)), "--clear-groups" if not group else "--groups=%d" % group,
                 "--bounding-set=-all" + caps, "--inh-caps=-all" + caps, "--no-new-privs"]
        script.append("exec env -i %s setpriv %s %s/image/entry/entry.sh %s" % (
            " ".join("%s='%s'" % pair for pair in variables.items()), " ".join(words), self.folder, " ".join([*container["args"], *more])))
        log = pod + ("-" + env["container"] if "container" in env else "")
        with open("%s/%s.log" % (self.folder, log), "ab") as log:
            return subprocess.Popen(["unshare", "-m", "sh", "-c", "\n".join(script)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def log(self, pod):
        with open("%s/%s.log" % (self.folder, pod), encoding="utf-8", errors="replace") as file:
            return file.read()


class PodsTest(unittest.TestCase):
    def setUp(self):
        self.made = [path for path in (*POINTS, "/etc/wakepath") if not os.path.exists(path)]
        self.cluster = Cluster()
        self.children = []
        self.addCleanup(self.clean)

    def clean(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        for path in self.made: # mount points, empty unless another one put something there
            with contextlib.suppress(OSError):
                os.rmdir(path)
        shutil.rmtree(self.cluster.folder, ignore_errors=True)

    def start(self, *words, **env):
        child = self.cluster.start(*words[:3], env, *words[3:])
        self.children.append(child)
        return child

    def probe(self, port, path):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path), timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def test_pods(self):
        events, asked, told = free_port(), free_port(), free_port()
        endpoint = "tcp://%s:%d" % (DOMAIN, events)
        aggregator = self.start("StatefulSet", "wakepath-aggregator", "wakepath-aggregator-0", WAKEPATH_BIND="tcp://0.0.0.0:%d" % events,
                                WAKEPATH_AGGREGATOR_METRICS="127.0.0.1:%d" % asked)
        tell = lambda: "\n".join(self.cluster.log(pod) for pod in ("wakepath-aggregator-0", "node-collector"))
        until("the aggregator is ready", lambda: self.probe(asked, "/healthz") == 200, tell=lambda: self.cluster.log("wakepath-aggregator-0"))
        desk, node = self.desk(0), {"node": "worker-1", "WAKEPATH_DESK": self.desks}
        key = self.start("DaemonSet", "wakepath-collector", "node", container="key", **node)
        self.assertEqual(key.wait(60), 0, self.cluster.log("node-key"))
        again = self.start("DaemonSet", "wakepath-collector", "node", container="enroll", **node)
        until("it asks again", lambda: "enrolled servers=1 of=1" in self.cluster.log("node-enroll"), tell=lambda: self.cluster.log("node-enroll"))
        collector = self.start("DaemonSet", "wakepath-collector", "node", node="worker-1", container="collector", WAKEPATH_ENDPOINT=endpoint,
                               WAKEPATH_COLLECTOR_METRICS="127.0.0.1:%d" % told, WAKEPATH_COLLECTOR_RELEASE="v1")
        until("the collector is ready", lambda: self.probe(told, "/healthz") == 200, tell=tell)
        self.assertEqual([self.probe(port, "/livez") for port in (asked, told)], [200, 200])
        with open("/proc/%d/status" % collector.pid, encoding="utf-8") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["NoNewPrivs"], "1")
        six = sum(1 << cap for cap in (2, 19, 21, 34, 38, 39)) # dac_read_search, sys_ptrace, sys_admin, syslog, perfmon, bpf
        self.assertEqual(int(status["CapBnd"], 16) & ~six, 0, status["CapBnd"])
        kept = 1 << 2 | 1 << 19
        self.assertEqual([int(status[name], 16) & ~kept for name in ("CapEff", "CapPrm")], [0, 0], status)
        for child in (aggregator, collector):
            with open("/proc/%d/mountinfo" % child.pid, encoding="utf-8") as file:
                self.assertIn("ro", next(line for line in file if line.split()[4] == "/").split()[5].split(","))
        subprocess.run(["ls", "-R", "/usr/share/doc"], check=True, capture_output=True) # something to record
        until("its session is known", lambda: "host=worker-1" in self.cluster.log("wakepath-aggregator-0"), tell=tell)
        self.assertIn("shard-0", subprocess.run(["sh", "-c", "tr '\\0' ' ' < /proc/%d/cmdline" % aggregator.pid], capture_output=True,
                                                text=True, check=True).stdout)
        store = self.cluster.folder + "/data-wakepath-aggregator-0/store"
        until("something is filed", lambda: os.path.exists(store + "/v1/data.mdb"), tell=tell)
        collector.terminate()
        self.assertEqual(collector.wait(60), 0, tell())
        for child in (again, desk): # first processes of their containers: no signal has a default there
            child.terminate()
            self.assertEqual(child.wait(60), 0)
        self.report()
        self.assertEqual(self.start("CronJob", "wakepath-reporter", "job-2").wait(120), 0, "a second time, over the first")
        aggregator.terminate()
        self.assertEqual(aggregator.wait(60), 0, tell())

    def report(self):
        """The CronJob while the aggregator runs, then any web server."""
        self.assertEqual(self.start("CronJob", "wakepath-reporter", "job").wait(120), 0, self.cluster.log("job"))
        site = self.cluster.folder + "/wakepath-site"
        handler = lambda *words: http.server.SimpleHTTPRequestHandler(*words, directory=site)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with urllib.request.urlopen("http://127.0.0.1:%d/" % server.server_port, timeout=10) as answer:
                page = answer.read().decode()
            server.shutdown()
        self.assertIn("v1", page)
        with open(site + "/v1/index.html", encoding="utf-8") as file:
            self.assertIn("worker-1", file.read())

    def test_a_node_has_its_shard_and_the_next_ones_behind(self):
        def connects(node):
            done = subprocess.run([FOLDER + "/image/entry.sh", "collector", "--print-config"], capture_output=True, text=True, check=True,
                                  env={"PATH": BIN + ":" + os.environ["PATH"], "WAKEPATH_SHARDS": "3", "WAKEPATH_NODE": node})
            return [line.split('"')[1] for line in done.stdout.splitlines() if line.startswith("connect")]
        seen = {}
        for node in ("node-%d" % n for n in range(12)):
            order = [int(one.split(".")[0].rsplit("-", 1)[1]) for one in connects(node)]
            self.assertIn(order, ([0, 1, 2], [1, 2, 0], [2, 0, 1]))
            seen[order[0]] = seen.get(order[0], 0) + 1
        self.assertEqual(len(seen), 3, seen)

    def desk(self, n):
        """The second container of an aggregator's pod."""
        if not n:
            port = free_port()
            self.desks, self.bound = "tcp://%s:%d" % (DOMAIN, port), "tcp://127.0.0.1%d:" + str(port)
        return self.start("StatefulSet", "wakepath-aggregator", "wakepath-aggregator-%d" % n, container="enroller", WAKEPATH_DESK_BIND=self.bound % n)

    def shard(self, n, port, metrics):
        return self.start("StatefulSet", "wakepath-aggregator", "wakepath-aggregator-%d" % n, container="aggregator", WAKEPATH_SHARDS="3",
                          WAKEPATH_BIND="tcp://127.0.0.1%d:%d" % (n, port), WAKEPATH_ENDPOINT="tcp://%s:%d" % (DOMAIN, port),
                          WAKEPATH_AGGREGATOR_METRICS="127.0.0.1:%d" % metrics)

    def told(self, metrics, name):
        """The values of a metric, of which there may be several lines."""
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % metrics, timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return []
        return [float(line.rsplit(" ", 1)[1]) for line in lines if re.match(name + r"[ {]", line)]

    def test_shards_and_nodes(self):
        """Three shards that know each other, 200 nodes with a key each, and one shard that is started again."""
        port, metrics = free_port(), [free_port() for _ in range(3)]
        tell = lambda: "\n".join(self.cluster.log("wakepath-aggregator-%d-%s" % (n, part)) for n in range(3) for part in ("aggregator", "enroller"))
        shards = [self.shard(n, port, metrics[n]) for n in range(3)]
        for n in range(3):
            self.desk(n)
        until("the shards know each other", lambda: [self.told(one, "wakepath_aggregator_shard_up") for one in metrics] == [[1, 1]] * 3, tell=tell)
        until("there are desks", lambda: tell().count("hosts may enrol") == 3, tell=tell)
        folder = self.cluster.folder + "/nodes"
        self.cluster.put_secret(folder, ["wakepath-server", "wakepath-token"], 0o400, 0)
        nodes = subprocess.Popen([BIN + "/kubernetes_nodes", folder, "200", "3", "tcp://127.0.0.1%d:" + str(port), self.bound],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.children.append(nodes)
        said = []
        threading.Thread(target=lambda: said.extend(nodes.stdout), daemon=True).start()
        is_said = lambda text: lambda: (said or [""])[-1].startswith(text)
        until("all are welcome", is_said("welcome=200 again=0"), tell=lambda: "".join(said) + tell())
        refused = lambda: [sum(self.told(one, "wakepath_aggregator_refused_total")) for one in metrics]
        self.assertEqual(refused(), [0, 0, 0], tell())
        allow = self.cluster.folder + "/data-wakepath-aggregator-1/allow"
        self.assertEqual(len([name for name in os.listdir(allow) if name.endswith(".pub")]), 201)
        shards[1].kill()
        shards[1].wait()
        shards[1] = self.shard(1, port, metrics[1])
        until("its nodes are back, the others never left", is_said("welcome=200 again=67"), tell=lambda: "".join(said) + tell())
        until("it is known again", lambda: [self.told(one, "wakepath_aggregator_shard_up") for one in metrics] == [[1, 1]] * 3, tell=tell)
        self.assertEqual(refused(), [0, 0, 0], tell())
        nodes.stdin.close()
        self.assertEqual(nodes.wait(60), 0)
        for shard in shards:
            shard.terminate()
        self.assertEqual([shard.wait(60) for shard in shards], [0, 0, 0], tell())

    def test_wrong_role(self):
        self.assertEqual(subprocess.run([FOLDER + "/image/entry.sh", "colector"], capture_output=True, check=False).returncode, 64)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
