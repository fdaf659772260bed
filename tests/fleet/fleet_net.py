# SPDX-License-Identifier: Apache-2.0
"""Hosts of a fleet on one machine: network namespaces on a bridge, a collector in each, one aggregator."""
import atexit, itertools, json, os, subprocess, sys, tempfile, time

FLEETS = itertools.count()


def sh(*words, check=True):
    done = subprocess.run(words, capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(words), done.stderr))
    return done.stdout


class Fleet:
    """`hosts`: names; host i has the address 10.77.0.(i + 1)."""

    def __init__(self, binaries, hosts):
        self.binaries, self.hosts, self.children = binaries, list(hosts), []
        self.folder = tempfile.mkdtemp(prefix="wakepath-fleet-")
        self.prefix = "wpf%d%c" % (os.getpid() % 100000, ord("a") + next(FLEETS) % 26) # of a past one links may linger
        self.bridge = self.prefix + "b"
        atexit.register(self.close)
        sh("ip", "link", "add", self.bridge, "type", "bridge")
        sh("ip", "link", "set", self.bridge, "up")
        for i, host in enumerate(self.hosts):
            space, outer = self.space(host), "%s%d" % (self.prefix, i)
            sh("ip", "netns", "add", space)
            sh("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space)
            sh("ip", "link", "set", outer, "master", self.bridge, "up")
            sh("ip", "-n", space, "addr", "add", self.address(host) + "/24", "dev", "eth0")
            sh("ip", "-n", space, "link", "set", "eth0", "up")
            sh("ip", "-n", space, "link", "set", "lo", "up")

    def space(self, host):
        return self.prefix + "-" + host

    def address(self, host):
        return "10.77.0.%d" % (self.hosts.index(host) + 1)

    def run(self, host, *words, **options):
        """A program on that host; its output can be read."""
        child = subprocess.Popen(["ip", "netns", "exec", self.space(host), *map(str, words)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, **options)
        self.children.append(child)
        return child

    def aggregate(self, *options):
        """Starts the aggregator; the store's folder."""
        self.endpoint = "ipc://%s/socket" % self.folder
        self.store = self.folder + "/store"
        down, up = os.pipe()
        self.aggregator = subprocess.Popen(
            [self.binaries + "/wakepath-aggregator", "--bind", self.endpoint, "--store", self.store, "--ready-fd", str(up),
             "--log-level", "warn", *options], pass_fds=[up])
        os.close(up)
        self.children.append(self.aggregator)
        assert os.read(down, 6), "the aggregator did not start"
        os.close(down)

    def collect(self, host, *options, endpoint=None, **process):
        """Starts that host's collector and waits until it records. `process`: more for its Popen."""
        down, up = os.pipe()
        child = subprocess.Popen(
            [self.binaries + "/wakepath-collector", "--connect", endpoint or self.endpoint, "--netns", "/run/netns/" + self.space(host),
             "--hostname", host, "--ready-fd", str(up), "--log-level", "warn",
             "--overhead-limit", "none", *options], pass_fds=[up], **process)
        os.close(up)
        self.children.append(child)
        assert os.read(down, 6), "the collector of %s did not start" % host
        os.close(down)
        return child

    def report(self, aggregate, release="unversioned"):
        """The aggregate's merged report as wakepath-reporter says it in JSON, with its folded stacks."""
        def say(form):
            return sh(self.binaries + "/wakepath-reporter", "--store", self.store, "--format", form, "--release", release,
                      "--aggregate", aggregate)
        report = json.loads(say("json"))
        report["folded"] = say("folded")
        return report

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe:
                    pipe.close()
        self.children = []
        for host in self.hosts:
            sh("ip", "netns", "del", self.space(host), check=False)
        self.hosts = []
        sh("ip", "link", "del", self.bridge, check=False)
        if not os.environ.get("WAKEPATH_KEEP"):
            subprocess.run(["rm", "-rf", self.folder])
        else:
            print("kept:", self.folder, file=sys.stderr)


def stop(children):
    """Ends collectors in good order."""
    for child in children:
        child.terminate()
    return [child.wait(timeout=60) for child in children]
