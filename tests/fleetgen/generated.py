# SPDX-License-Identifier: Apache-2.0
"""Generated fleets: made by fleetgen, replayed into one aggregator, and their reports held against what really happened."""
import contextlib, json, os, re, subprocess, tempfile

FLIGHT = "(network)", "message_in_flight"  # of which of two services it is the doing cannot be said
RUNNING = {"understood_functions", "running_not_sampled"}


def write_plan(folder, text):
    path = os.path.join(folder, "plan")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


class Generated:
    """A fleet's captures and truth in a folder of its own."""

    def __init__(self, binaries, plan, seed, seconds, release=None, frequency=99, world=0, window="always"):
        self.binaries = binaries
        self.holder = tempfile.TemporaryDirectory(prefix="wakepath-fleetgen-", dir="/var/tmp")
        self.folder = self.holder.name
        words = [binaries + "/fleetgen", "--out", self.folder, "--seed", str(seed), "--seconds", str(seconds), "--plan",
                 write_plan(self.folder, plan), "--frequency", str(frequency), "--world", str(world), "--window", window]
        subprocess.run(words + (["--release", release] if release else []), check=True)
        with open(self.folder + "/truth.json", encoding="utf-8") as file:
            self.truth = json.load(file)
        self.captures = [self.folder + "/" + host["name"] + ".capture" for host in self.truth["hosts"]]

    def close(self):
        self.holder.cleanup()

    def replay(self, store, *options, captures=None):
        """All captures at once into that store."""
        replay(self.binaries, captures or self.captures, store, *options)


def replay(binaries, captures, store, *options, timeout=1200):
    with tempfile.TemporaryDirectory(prefix="wakepath-replay-") as folder:
        endpoint, count = "ipc://%s/socket" % folder, str(len(captures))
        down, up = os.pipe()
        aggregator = subprocess.Popen(
            [binaries + "/wakepath-aggregator", "--bind", endpoint, "--store", store, "--ready-fd", str(up), "--log-level", "warn",
             "--expect-hosts", count, "--exit-after-sessions", count, "--aggregate", "web=comm=web", "--give-up", "60000", *options],
            pass_fds=[up])
        os.close(up)
        senders = []
        try:
            if not os.read(down, 6):
                raise RuntimeError("the aggregator did not start")
            for capture in captures: # one after the other: the same order, the same bytes
                heard, said = os.pipe()
                senders.append(subprocess.Popen(
                    [binaries + "/wakepath-collector", "--source", "capture:" + capture, "--connect", endpoint, "--spool", "none",
                     "--log-level", "warn", "--ready-fd", str(said)], pass_fds=[said]))
                os.close(said)
                if not os.read(heard, 6):
                    raise RuntimeError("a collector did not start")
                os.close(heard)
            codes = [sender.wait(timeout=timeout) for sender in senders] + [aggregator.wait(timeout=timeout)]
            if any(codes):
                raise RuntimeError("a part failed: %s" % codes)
        finally:
            os.close(down)
            for child in senders + [aggregator]:
                if child.poll() is None:
                    child.kill()
                child.wait()


@contextlib.contextmanager
def aggregator(binaries, store, sessions):
    """One that ends after so many sessions; where to send to."""
    with tempfile.TemporaryDirectory(prefix="wakepath-replay-") as folder:
        endpoint = "ipc://%s/socket" % folder
        down, up = os.pipe()
        process = subprocess.Popen([binaries + "/wakepath-aggregator", "--bind", endpoint, "--store", store, "--ready-fd", str(up), "--log-level", "warn",
                                    "--exit-after-sessions", str(sessions), "--aggregate", "web=comm=web"], pass_fds=[up])
        os.close(up)
        try:
            if not os.read(down, 6):
                raise RuntimeError("the aggregator did not start")
            yield endpoint
            if process.wait(timeout=120):
                raise RuntimeError("the aggregator failed")
        finally:
            os.close(down)
            process.kill()
            process.wait()


def network(binaries, store, release="unversioned"):
    """{(from, to): {"messages": n, ...}} as the aggregator counted what was read; from nobody known: ""."""
    text = subprocess.run([binaries + "/wakepath-store", "metadata", "ls", store + "/" + release], check=True, capture_output=True,
                          text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split(":")[0].split(".")
        if words[0] == "network":
            found.setdefault((words[2] if len(words) == 4 else "", words[1]), {})[words[-1]] = int(line.split(":")[1])
    return found


def say(binaries, store, form, release="unversioned", aggregate="web"):
    return subprocess.run([binaries + "/wakepath-reporter", "--store", store, "--format", form, "--release", release, "--aggregate",
                           aggregate], check=True, capture_output=True, text=True).stdout


def place(frames):
    """(service, category) of a pseudo-stack."""
    last = frames[-1]
    if last.startswith("path:["):
        return re.match(r"path:\[([^]]*)\]", last).group(1), "other_path"
    service = next(re.match(r"\[([^]]*)\]", frame).group(1) for frame in reversed(frames) if re.match(r"\[[^]]*\](@|$)", frame))
    if "sched:preempted" in frames and last.startswith("sched:"):
        return service, "involuntary"
    for start, category in (("sched:", "scheduler"), ("io:queue", "io_queue"), ("io:", "blocking_io"),
                            ("sleep:clock_nanosleep", "deliberate_sleep"), ("sleep:nanosleep", "deliberate_sleep")):
        if last.startswith(start):
            return service, category
    if last.startswith("tcp:"):
        missing = re.search(r" \((.*)\)$", last)
        return (service, "remote_not_traced") if missing else FLIGHT
    return service, last if last.startswith(("sleep:", "kernel:", "softirq:")) else "running"


def chains(folded, base="web"):
    """Who waited for whom on the base's own paths."""
    found = set()
    for line in folded.splitlines():
        frames = line.rsplit(" ", 1)[0].split(";")
        names = [re.match(r"\[([^]]*)\]", frame).group(1) for frame in frames if re.match(r"\[[^]]*\](@|$)", frame)]
        if names[0] == base:
            found.add(tuple(name for i, name in enumerate(names) if not i or names[i - 1] != name))
    return found


def blame(folded, base="web"):
    """{(service, category): ns} of the base's own paths."""
    found = {}
    for line in folded.splitlines():
        stack, ns = line.rsplit(" ", 1)
        frames = stack.split(";")
        if frames[0] == "[%s]" % base:
            at = place(frames)
            found[at] = found.get(at, 0) + int(ns)
    return found


def known(truth):
    found = {}
    for service, categories in truth["services"].items():
        for category, ns in categories.items():
            at = FLIGHT if category == FLIGHT[1] else (service, "running" if category in RUNNING else category)
            found[at] = found.get(at, 0) + ns
    return found


def differences(found, truth):
    """(share of the total in the wrong place, the places with truth and report, the worst first)"""
    rows = sorted(((found.get(at, 0) - truth.get(at, 0), at) for at in set(found) | set(truth)), key=lambda row: -abs(row[0]))
    total = sum(truth.values())
    return sum(abs(row[0]) for row in rows) / 2 / total, [
        "%+9.3f %% %s %s: %.2f ms, really %.2f" % (100 * off / total, *at, found.get(at, 0) / 1e6, truth.get(at, 0) / 1e6)
        for off, at in rows]
