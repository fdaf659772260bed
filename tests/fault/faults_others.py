# SPDX-License-Identifier: Apache-2.0
"""Who else is there and what else happens: other programs on the same store, stopped processes, too little memory, clocks that step."""
import os, signal, subprocess, time

from faults_disk import Shim
from twin import PATIENCE_S, Difference, wait_for

MEMORY_ROOT = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
STOP_S = 30
STEPS = 10  # of the wall clock, in one session


def two_aggregators(rig, chance):
    """A second one on the same shard is refused, and the first one goes on."""
    rig.aggregator()
    first, collector = rig.daemon, rig.collector()
    rig.moment(chance, 0.5)
    second = rig.aggregator(bind="ipc://%s/other" % rig.folder, is_awaited=False)
    rig.daemon = first
    log = rig.ends(second, 1)
    if "has a writer already" not in log:
        raise Difference("it does not say why: " + log)
    rig.ends(collector)
    return 1


def has_release(rig):
    """Something of it can be read."""
    return subprocess.run([rig.program("wakepath-store"), "cat", rig.store, "unversioned:web"], capture_output=True, check=False).returncode == 0


def crowd(rig, chance):
    """Two reporters, compactions and a pruner are at the store all the time."""
    rig.aggregator()
    collector = rig.collector()
    wait_for("the release", lambda: has_release(rig) or collector.poll() is not None)
    words = [[rig.program("wakepath-reporter"), "--store", rig.store, "--aggregate", name, "--format", "json"] for name in ("web", "db")]
    words.append([rig.program("wakepath-store"), "prune", rig.store, "--hours", "never"])
    words.append([rig.program("wakepath-store"), "compact", rig.store])
    running, done = {}, 0
    while collector.poll() is None or done < len(words):
        for i, line in enumerate(words):
            if i in running and running[i].poll() is None:
                continue
            if i in running:
                log = rig.log(running[i])
                if running[i].returncode and not any(text in log for text in ("tidies store", "no aggregates yet", "has no report")):
                    raise Difference("%s ends with %d: %s" % (line, running[i].returncode, log))
                done += 1
            running[i] = rig.start(*line)
        time.sleep(chance.uniform(0, 0.05))
    rig.ends(collector)
    for child in running.values():
        child.wait(PATIENCE_S)
    return 1


def reader_stays(rig, chance):
    """A reader that never leaves keeps its snapshot; then one that is stopped, and killed without a word."""
    rig.aggregator()
    collector = rig.collector()
    wait_for("the release", lambda: has_release(rig) or collector.poll() is not None)
    readers = [rig.start(rig.program("store_reader"), rig.store, "unversioned") for _ in range(3)]
    for reader in readers:
        wait_for("a reader", lambda log=reader: "reading" in rig.log(log))
    readers[1].send_signal(signal.SIGSTOP)
    rig.moment(chance, 0.2)
    rig.kill(readers[2])
    rig.ends(collector)
    readers[1].send_signal(signal.SIGCONT)
    return 1


def stopped(who, seconds):
    def fault(rig, chance):
        """SIGSTOP, and SIGCONT after a while."""
        rig.aggregator()
        collector = rig.collector(spool=rig.spool)
        rig.moment(chance, 0.5)
        was_going_on = collector.poll() is None
        child = rig.daemon if who == "aggregator" else collector
        child.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        child.send_signal(signal.SIGCONT)
        if "stay in the spool" in rig.ends(collector):  # nobody answered it at its end: the next one delivers
            rig.ends(rig.collector(spool=rig.spool))
        return int(was_going_on)
    return fault


class MemoryGroup:
    """A group of processes with a limit of memory, of either version of cgroups."""

    def __init__(self, rig, limit_bytes):
        mine = ""
        with open("/proc/self/cgroup", encoding="ascii") as file:
            for line in file:
                number, kinds, path = line.strip().split(":", 2)
                if kinds == "memory" or (number == "0" and not os.path.exists(MEMORY_ROOT[0])):
                    mine = path
        root = MEMORY_ROOT[0] if os.path.exists(MEMORY_ROOT[0]) else MEMORY_ROOT[2]
        self.path = "%s%s/wakepath-fault-%s" % (root, mine.rstrip("/"), rig.number)
        os.mkdir(self.path)
        for name in ("memory.limit_in_bytes", "memory.max"):
            if os.path.exists(self.path + "/" + name):
                self.write(name, limit_bytes)

    def write(self, name, value):
        with open("%s/%s" % (self.path, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def words(self):
        return ["sh", "-c", 'echo $$ > %s/cgroup.procs && exec "$@"' % self.path, "sh"]

    def remove(self):
        wait_for("the group to be empty", lambda: not open(self.path + "/cgroup.procs", encoding="ascii").read())
        os.rmdir(self.path)


def aggregator_out_of_memory(rig, chance):
    """The aggregator gets less memory than the session takes: the kernel kills it; with more it goes on where it was."""
    group = MemoryGroup(rig, chance.randrange(4 << 20, 12 << 20))
    try:
        rig.aggregator(before=group.words(), is_awaited=False)
        collector = rig.collector(spool=rig.spool)
        wait_for("the kernel", lambda: rig.daemon.poll() is not None or collector.poll() is not None)
        struck = rig.daemon.poll() is not None
        if struck:
            rig.aggregator()
        if "stay in the spool" in rig.ends(collector):
            rig.ends(rig.collector(spool=rig.spool))
    finally:
        leave(rig, group)
    return int(struck)


def collector_out_of_memory(rig, chance):
    """The collector gets less than it needs: the kernel kills it, at its start or later; the next one goes on with what is in the spool."""
    group = MemoryGroup(rig, chance.randrange(1 << 20, 4 << 20))
    try:
        rig.aggregator()
        child = rig.collector(spool=rig.spool, before=group.words())
        child.wait(PATIENCE_S)
        struck = child.returncode == -signal.SIGKILL
        if not struck and child.returncode:
            raise Difference("it ended with %d:\n%s" % (child.returncode, rig.log(child)))
        if struck or "stay in the spool" in rig.log(child):
            rig.ends(rig.collector(spool=rig.spool))
    finally:
        leave(rig, group)
    return int(struck)


def leave(rig, group):
    for child in rig.children:
        if child.poll() is None and child.args[0] == "sh":
            rig.kill(child)
    group.remove()


def clock_steps(rig, chance):
    """The aggregator's wall clock is put an hour ahead and an hour back, and it is killed in between."""
    shim = Shim(rig, rig.folder)
    rig.aggregator(environment=shim.environment)
    collector, done = rig.collector(), 0
    for _ in range(STEPS):
        rig.moment(chance, 0.1)
        done += collector.poll() is None
        shim.order("real %d" % chance.choice((-3600, 3600)))
        if chance.random() < 0.3:
            rig.kill(rig.daemon)
            rig.aggregator(environment=shim.environment)
    rig.ends(collector)
    return done


def time_namespace(rig, chance):
    """The aggregator goes on in a time namespace: its monotonic clock is another one."""
    rig.aggregator()
    collector = rig.collector()
    rig.moment(chance, 0.5)
    was_going_on = collector.poll() is None
    rig.kill(rig.daemon)
    rig.aggregator(before=["unshare", "--time", "--monotonic", str(chance.randrange(1, 10 ** 7)), "--boottime", "1000"])
    if os.readlink("/proc/%d/ns/time" % rig.daemon.pid) == os.readlink("/proc/self/ns/time"):
        raise Difference("this kernel leaves it in our time namespace")
    rig.ends(collector)
    return int(was_going_on)


FAULTS = [("two aggregators on one shard", two_aggregators), ("two reporters, compaction and a pruner at once", crowd),
          ("readers that stay, stop, or are killed", reader_stays), ("aggregator stopped (SIGSTOP) for 3 s", stopped("aggregator", 3)),
          ("collector stopped (SIGSTOP) for 3 s", stopped("collector", 3)), ("aggregator out of memory (cgroup)", aggregator_out_of_memory),
          ("collector out of memory (cgroup)", collector_out_of_memory),
          ("wall clock steps by an hour", clock_steps), ("another monotonic clock (time namespace)", time_namespace)]
LONG = [("aggregator stopped (SIGSTOP) for 30 s", stopped("aggregator", STOP_S)),
        ("collector stopped (SIGSTOP) for 30 s", stopped("collector", STOP_S))]
