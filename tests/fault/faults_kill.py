# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the programs, at random instants of a session."""
import glob, json, subprocess, time

from twin import BURST_S, QUIET_S, Difference

KILLS = 8  # at most, in one session


def aggregator(rig, chance):
    """The aggregator is killed and started again."""
    rig.aggregator()
    collector, done = rig.collector(), 0
    for _ in range(KILLS):
        if rig.moment_on(chance, collector):
            rig.kill(rig.daemon)
            rig.aggregator()
            done += 1
    rig.ends(collector)
    return done


def collector(rig, chance):
    """The collector is killed and the next one goes on with what is in the spool."""
    rig.aggregator()
    child, done = rig.collector(spool=rig.spool), 0
    for _ in range(KILLS):
        rig.moment(chance, 0.3)
        if child.poll() is None:
            rig.kill(child)
            child = rig.collector(spool=rig.spool)
            done += 1
    rig.delivers(child)
    return done


def both(rig, chance):
    """Both are killed, and come back in either order."""
    rig.aggregator()
    child, done = rig.collector(spool=rig.spool), 0
    for _ in range(KILLS):
        if not rig.moment_on(chance, child):
            break
        rig.kill(rig.daemon)
        rig.kill(child)
        if chance.random() < 0.5:
            rig.aggregator()
        child = rig.collector(spool=rig.spool)
        rig.moment(chance, 0.2)
        if rig.daemon.poll() is not None:
            rig.aggregator()
        done += 2
    rig.delivers(child)
    return done


def replaced(rig, chance):
    """The next collector records something else: what the killed one had recorded is in the spool alone. It may be killed, too."""
    rig.captures.add_second()
    rig.twin = rig.captures.report_of_two
    if chance.random() < 0.5:
        rig.aggregator()
    child = rig.collector(spool=rig.spool)
    rig.waits("the end of the recording", lambda: glob.glob(rig.spool + "/*/bye") or child.poll() is not None)
    rig.moment(chance)
    done = int(child.poll() is None)
    rig.kill(child)
    if not rig.daemon:
        rig.aggregator()
    child = rig.collector(spool=rig.spool, capture=rig.captures.second)
    rig.moment(chance)
    if child.poll() is None and chance.random() < 0.5:
        rig.kill(child)
        child = rig.collector(spool=rig.spool, capture=rig.captures.second)
        done += 1
    rig.delivers(child)
    return done


def recorded_s(rig):
    """Of the session, what is in the store."""
    time.sleep(0.1)
    done = subprocess.run([rig.program("wakepath-store"), "cat", rig.store, "unversioned:web", "--json"], capture_output=True, check=False)
    return json.loads(done.stdout)["head"]["wall_ns"] / 1e9 if done.returncode == 0 else 0


def after_burst(rig, chance):
    """Block requests trickle for longer than they are remembered, then many come: the aggregator writes checkpoints of that, is killed amid it
    and goes on from there. What it never wrote to memory looks like nothing that is there."""
    filled = {"MALLOC_PERTURB_": "165", "MALLOC_MMAP_MAX_": "0"}
    rig.captures.add_burst()
    rig.twin = rig.captures.report_of_burst
    rig.aggregator(environment=filled)
    collector, done = rig.collector(capture=rig.captures.burst), 0
    until_s = QUIET_S + chance.uniform(0.2, 0.7) * BURST_S
    rig.waits("the burst", lambda: collector.poll() is not None or rig.daemon.poll() is not None or recorded_s(rig) > until_s)
    if rig.daemon.poll() is not None:
        raise Difference("the aggregator ended with %d: %s" % (rig.daemon.poll(), rig.log(rig.daemon)))
    for _ in range(2):
        if rig.moment_on(chance, collector, 0.05):
            rig.kill(rig.daemon)
            rig.aggregator(environment=filled)
            done += 1
    rig.ends(collector)
    return max(done, 1)  # undisturbed it has written checkpoints of the burst all the same


FAULTS = [("kill -9 of the aggregator", aggregator), ("kill -9 of the collector, with a spool", collector),
          ("kill -9 of both", both),
          ("kill -9 of the collector, another one goes on", replaced),
          ("checkpoint after trickle and burst", after_burst)]
