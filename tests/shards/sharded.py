# SPDX-License-Identifier: Apache-2.0
"""Recordings replayed into several aggregators that are each other's peers."""
import os, subprocess, tempfile

PATIENCE_MS = 300000  # of shards with each other: so long nothing is given up, however slow the machine. One that waits for nothing is found by it
OUT_OF_TIME_S = 1500


def start(words, **options):
    """A program that says on a pipe when it is ready."""
    down, up = os.pipe()
    child = subprocess.Popen([*words, "--ready-fd", str(up)], pass_fds=[up], **options)
    os.close(up)
    try:
        if not os.read(down, 6):
            raise RuntimeError("it did not start: %s" % words[0])
    finally:
        os.close(down)
    return child


def by_ipc(folder, count):
    return [{"endpoint": "ipc://%s/%d" % (folder, i)} for i in range(count)]


def aggregator(binaries, endpoints, i, store, *options):
    """The words that start shard i of those; an endpoint by tcp:// has keys."""
    own, words = endpoints[i], []
    for j, peer in enumerate(endpoints):
        if j != i:
            words += ["--peer", peer["endpoint"] + ("=" + peer["public"] if "public" in peer else "")]
    if "key" in own:
        words += ["--key", own["key"], "--allow", own["allow"]]
    return [binaries + "/wakepath-aggregator", "--bind", own["endpoint"], "--store", store, "--shard", "s%d" % i, "--log-level",
            os.environ.get("WP_LOG", "error"), "--aggregate", "web=comm=web", *words, *options]


def collector(binaries, endpoint, capture):
    words = ["--key", endpoint["collector"], "--server-key", endpoint["public"]] if "collector" in endpoint else []
    return [binaries + "/wakepath-collector", "--source", "capture:" + capture, "--connect", endpoint["endpoint"], "--spool", "none",
            "--log-level", "error", *words]


def replay(binaries, shares, stores, *options, endpoints=None):
    """shares[i]: the captures of shard i, whose store is stores[i]; all at once."""
    count = sum(len(share) for share in shares)
    with tempfile.TemporaryDirectory(prefix="wakepath-shards-") as folder:
        endpoints, children = endpoints or by_ipc(folder, len(shares)), []
        try:
            for i, share in enumerate(shares):
                children.append(start(aggregator(binaries, endpoints, i, stores[i], "--expect-hosts", str(count), "--give-up", str(PATIENCE_MS),
                                                 "--exit-after-sessions", str(len(share)), *options)))
            for i, share in enumerate(shares):
                children += [start(collector(binaries, endpoints[i], capture)) for capture in share]
            codes = [child.wait(timeout=OUT_OF_TIME_S) for child in children]
            if any(codes):
                raise RuntimeError("a part failed: %s" % codes)
        except subprocess.TimeoutExpired as late:
            raise RuntimeError("out of time: %s" % late) from late
        finally:
            for child in children:
                if child.poll() is None:
                    child.kill()
                child.wait()


def say(binaries, stores, form, release="unversioned", aggregate="web"):
    """The merged report of several stores."""
    words = [word for store in stores for word in ("--store", store)]
    return subprocess.run([binaries + "/wakepath-reporter", *words, "--format", form, "--release", release, "--aggregate", aggregate],
                          check=True, capture_output=True, text=True).stdout
