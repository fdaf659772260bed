# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the programs, at random instants of a session."""
import glob

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
    rig.has_second = True
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


FAULTS = [("kill -9 of the aggregator", aggregator), ("kill -9 of the collector, with a spool", collector),
          ("kill -9 of both", both),
          ("kill -9 of the collector, another one goes on", replaced)]
