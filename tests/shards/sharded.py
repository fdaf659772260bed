# SPDX-License-Identifier: Apache-2.0
"""Recordings replayed into several aggregators that are each other's peers."""
import os, subprocess, tempfile


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


def replay(binaries, shares, stores, *options, timeout=120):
    """shares[i]: the captures of shard i, whose store is stores[i]. Returns the aggregators' exit codes."""
    count = sum(len(share) for share in shares)
    with tempfile.TemporaryDirectory(prefix="wakepath-shards-") as folder:
        endpoints = ["ipc://%s/%d" % (folder, i) for i in range(len(shares))]
        children = []
        try:
            for i, share in enumerate(shares):
                peers = [word for j, end in enumerate(endpoints) if j != i for word in ("--peer", end)]
                children.append(start(
                    [binaries + "/wakepath-aggregator", "--bind", endpoints[i], "--store", stores[i], "--shard", "s%d" % i,
                     "--log-level", os.environ.get("WP_LOG", "warn"), "--expect-hosts", str(count), "--exit-after-sessions",
                     str(len(share)), "--aggregate", "web=comm=web", "--give-up", "20000", *peers, *options]))
            aggregators = list(children)
            for i, share in enumerate(shares):
                for capture in share:
                    children.append(start([binaries + "/wakepath-collector", "--source", "capture:" + capture, "--connect", endpoints[i],
                                           "--spool", "none", "--log-level", "warn"]))
            codes = [child.wait(timeout=timeout) for child in children]
            if any(codes):
                raise RuntimeError("a part failed: %s" % codes)
            return codes[:len(aggregators)]
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
