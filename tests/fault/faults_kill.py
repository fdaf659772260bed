# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the programs, at random instants of a session."""
import time

KILLS = 4  # at most, in one session


def pause(chance, collector, most_s):
    """True: the session was still going on after it."""
    time.sleep(chance.uniform(0, most_s))
    return collector.poll() is None


def aggregator(rig, chance):
    """The aggregator is killed and started again."""
    rig.aggregator()
    collector, done = rig.collector(), 0
    for _ in range(KILLS):
        if pause(chance, collector, 0.4):
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
        if pause(chance, child, 0.4):
            rig.kill(child)
            child = rig.collector(spool=rig.spool)
            done += 1
    rig.ends(child)
    return done


def both(rig, chance):
    """Both are killed, and come back in either order."""
    rig.aggregator()
    child, done = rig.collector(spool=rig.spool), 0
    for _ in range(KILLS):
        if not pause(chance, child, 0.4):
            break
        rig.kill(rig.daemon)
        rig.kill(child)
        if chance.random() < 0.5:
            rig.aggregator()
        child = rig.collector(spool=rig.spool)
        time.sleep(chance.uniform(0, 0.2))
        if rig.daemon.poll() is not None:
            rig.aggregator()
        done += 2
    rig.ends(child)
    return done


FAULTS = [("kill -9 of the aggregator", aggregator), ("kill -9 of the collector, with a spool", collector),
          ("kill -9 of both", both)]
