# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the programs, at random instants of a session."""

KILLS = 8  # at most, in one session


def pause(rig, chance, collector, most=0.3):
    """True: the session was still going on after it."""
    rig.moment(chance, most)
    return collector.poll() is None


def aggregator(rig, chance):
    """The aggregator is killed and started again."""
    rig.aggregator()
    collector, done = rig.collector(), 0
    for _ in range(KILLS):
        if pause(rig, chance, collector):
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
        if pause(rig, chance, child):
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
        if not pause(rig, chance, child):
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


FAULTS = [("kill -9 of the aggregator", aggregator), ("kill -9 of the collector, with a spool", collector),
          ("kill -9 of both", both)]
