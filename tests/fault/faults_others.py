# SPDX-License-Identifier: Apache-2.0
"""Who else is there and what else happens: other programs on the same store, stopped processes, too little memory, clocks that step."""
import os, signal, subprocess, threading, time

from faults_disk import Shim
from twin import Difference

MEMORY_ROOT = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
STOP_S = 30
OUTLASTS_S = 130
STEPS = 10        # of the wall clock, in one session
SECONDS_COME = 8  # other aggregators
READERS = 9
NAMESPACES = 4


def two_aggregators(rig, chance):
    """A second one on the same shard is refused, at any moment, and the first one goes on."""
    rig.aggregator()
    first, collector, done = rig.daemon, rig.collector(), 0
    for _ in range(SECONDS_COME):
        rig.moment(chance, 0.2)
        if done and collector.poll() is not None:
            break
        second = rig.aggregator(bind="ipc://%s/other" % rig.folder, is_awaited=False)
        rig.daemon = first
        log = rig.ends(second, 1)
        if "has a writer already" not in log:
            raise Difference("it does not say why: " + log)
        done += 1
    rig.ends(collector)
    return done


def has_release(rig):
    """Something of it can be read."""
    return subprocess.run([rig.program("wakepath-store"), "cat", rig.store, "unversioned:web"], capture_output=True, check=False).returncode == 0


def crowd(rig, chance):
    """Two reporters, compactions and a pruner are at the store all the time. A trial is one of each."""
    rig.aggregator()
    collector = rig.collector()
    rig.waits("the release", lambda: has_release(rig) or collector.poll() is not None)
    words = [[rig.program("wakepath-reporter"), "--store", rig.store, "--aggregate", name, "--format", "json"] for name in ("web", "db")]
    words.append([rig.program("wakepath-store"), "prune", rig.store, "--hours", "never"])
    words.append([rig.program("wakepath-store"), "compact", rig.store])
    running, done = {}, [0] * len(words)
    while collector.poll() is None or not min(done):
        for i, line in enumerate(words):
            if i in running and running[i].poll() is None:
                continue
            if i in running:
                log = rig.log(running[i])
                if running[i].returncode and not any(text in log for text in ("tidies store", "no aggregates yet", "has no report")):
                    raise Difference("%s ends with %d: %s" % (line, running[i].returncode, log))
                done[i] += 1
            running[i] = rig.start(*line)
        time.sleep(chance.uniform(0, 0.05))
    rig.ends(collector)
    for child in running.values():
        rig.waits("the end of what reads or tidies", lambda child=child: child.poll() is not None)
    return min(done)


def reader_stays(rig, chance):
    """A reader that never leaves keeps its snapshot; others are stopped, or killed without a word. A trial is one of those."""
    rig.aggregator()
    collector, stopped_ones, done = rig.collector(), [], 0
    rig.waits("the release", lambda: has_release(rig) or collector.poll() is not None)
    for number in range(READERS):
        reader = rig.start(rig.program("store_reader"), rig.store, "unversioned")
        rig.waits("a reader", lambda log=reader: "reading" in rig.log(log))
        if number % 3 == 1:
            reader.send_signal(signal.SIGSTOP)
            stopped_ones.append(reader)
        rig.moment(chance, 0.1)
        if number % 3 == 2:
            rig.kill(reader)
        done += 1
        if collector.poll() is not None:
            break
    rig.ends(collector)
    for reader in stopped_ones:
        reader.send_signal(signal.SIGCONT)
    return done


def stopped(who, seconds, stops=1):
    """SIGSTOP, and SIGCONT after a while."""
    def fault(rig, chance):
        rig.aggregator()
        collector, done = rig.collector(spool=rig.spool), 0
        for _ in range(stops):
            rig.moment(chance, 0.5 / stops)
            if collector.poll() is not None:
                break
            child = rig.daemon if who == "aggregator" else collector
            child.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            child.send_signal(signal.SIGCONT)
            done += 1
        rig.delivers(collector)  # nobody may have answered it at its end
        return done
    return fault


def outlasted(rig, chance):
    """One after the other gives up at its end and leaves all to the next: the aggregator stands still for longer than any waits."""
    rig.aggregator()
    collector = rig.collector(spool=rig.spool)
    rig.moment(chance, 0.3)
    was_going_on = collector.poll() is None
    rig.daemon.send_signal(signal.SIGSTOP)
    threading.Timer(OUTLASTS_S, rig.daemon.send_signal, [signal.SIGCONT]).start()
    rig.delivers(collector)
    return int(was_going_on)


class MemoryGroup:
    """A group of processes with a limit of memory, of either version of cgroups."""

    def __init__(self, rig):
        mine = ""
        with open("/proc/self/cgroup", encoding="ascii") as file:
            for line in file:
                number, kinds, path = line.strip().split(":", 2)
                if kinds == "memory" or (number == "0" and not os.path.exists(MEMORY_ROOT[0])):
                    mine = path
        root = MEMORY_ROOT[0] if os.path.exists(MEMORY_ROOT[0]) else MEMORY_ROOT[2]
        self.path = "%s%s/wakepath-fault-%s" % (root, mine.rstrip("/"), rig.number)
        os.mkdir(self.path)

    def limit(self, limit_bytes):
        for name in ("memory.limit_in_bytes", "memory.max"):
            if os.path.exists(self.path + "/" + name):
                self.write(name, limit_bytes)

    def write(self, name, value):
        with open("%s/%s" % (self.path, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def words(self):
        return ["sh", "-c", 'echo $$ > %s/cgroup.procs && exec "$@"' % self.path, "sh"]

    def is_empty(self):
        with open(self.path + "/cgroup.procs", encoding="ascii") as file:
            return not file.read()


def aggregator_out_of_memory(rig, chance):
    """The aggregator gets less memory than the session takes, and each time a little more: the kernel kills it; with enough it goes on where it was."""
    group = MemoryGroup(rig)
    collector, done = None, 0
    try:
        for most in (6, 8, 10, 12):
            group.limit(chance.randrange((most - 2) << 20, most << 20))
            rig.aggregator(before=group.words(), is_awaited=False)
            collector = collector or rig.collector(spool=rig.spool)
            rig.waits("the kernel", lambda: rig.daemon.poll() is not None or collector.poll() is not None)
            if rig.daemon.poll() is None:
                break
            done += 1
        if rig.daemon.poll() is not None:
            rig.aggregator()
        rig.delivers(collector)
    finally:
        leave(rig, group)
    return done


def collector_out_of_memory(rig, chance):
    """The collector gets less than it needs, and each time a little more: the kernel kills it, at its start or later; the next one goes on with
    what is in the spool."""
    group = MemoryGroup(rig)
    done = 0
    try:
        rig.aggregator()
        for most in (2, 3, 4):
            group.limit(chance.randrange((most - 1) << 20, most << 20))
            child = rig.collector(spool=rig.spool, before=group.words())
            rig.waits("the kernel", lambda child=child: child.poll() is not None)
            if child.returncode != -signal.SIGKILL:
                break
            done += 1
        if child.returncode == -signal.SIGKILL:
            child = rig.collector(spool=rig.spool)
        if "stay in the spool" in rig.ends(child):
            rig.delivers(rig.collector(spool=rig.spool))
    finally:
        leave(rig, group)
    return done


def leave(rig, group):
    for child in rig.children:
        if child.poll() is None and child.args[0] == "sh":
            rig.kill(child)
    rig.waits("the group to be empty", group.is_empty)
    os.rmdir(group.path)


def clock_steps(rig, chance):
    """The aggregator's wall clock is put an hour ahead and an hour back, and it is killed in between."""
    shim = Shim(rig, rig.folder)
    rig.aggregator(environment=shim.environment)
    collector, done = rig.collector(), 0
    for _ in range(STEPS):
        rig.moment_on(chance, collector, 0.1)
        done += collector.poll() is None
        shim.order("real %d" % chance.choice((-3600, 3600)))
        if chance.random() < 0.3:
            rig.kill(rig.daemon)
            rig.aggregator(environment=shim.environment)
    rig.ends(collector)
    return done


def time_namespace(rig, chance):
    """The aggregator goes on in a time namespace, and another one: its monotonic clock is another each time."""
    rig.aggregator()
    collector, done = rig.collector(), 0
    for _ in range(NAMESPACES):
        rig.moment_on(chance, collector)
        if done and collector.poll() is not None:
            break
        done += collector.poll() is None
        rig.kill(rig.daemon)
        rig.aggregator(before=["unshare", "--time", "--monotonic", str(chance.randrange(1, 10 ** 7)), "--boottime", "1000"])
        if os.readlink("/proc/%d/ns/time" % rig.daemon.pid) == os.readlink("/proc/self/ns/time"):
            raise Difference("this kernel leaves it in our time namespace")
    rig.ends(collector)
    return done


FAULTS = [("two aggregators on one shard", two_aggregators), ("two reporters, compaction and a pruner at once", crowd),
          ("readers that stay, stop, or are killed", reader_stays), ("aggregator stopped (SIGSTOP) for 3 s", stopped("aggregator", 3, 4)),
          ("collector stopped (SIGSTOP) for 3 s", stopped("collector", 3, 4)), ("aggregator out of memory (cgroup)", aggregator_out_of_memory),
          ("collector out of memory (cgroup)", collector_out_of_memory),
          ("wall clock steps by an hour", clock_steps), ("another monotonic clock (time namespace)", time_namespace)]
LONG = [("aggregator stopped (SIGSTOP) for 30 s", stopped("aggregator", STOP_S)),
        ("collector stopped (SIGSTOP) for 30 s", stopped("collector", STOP_S)),
        # longer than a collector waits at its end, and the next one
        ("aggregator stopped (SIGSTOP) for 130 s", outlasted)]
