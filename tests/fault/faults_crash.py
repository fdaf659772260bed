# SPDX-License-Identifier: Apache-2.0
"""The machine crashes: of what was written to the store or to what checkpoints append to and not yet synced any page may be on disk, or not, or as an
earlier write left it."""
import glob, os, signal, struct, subprocess

from faults_disk import Shim, is_stopped
from twin import Difference

CRASHES = 6  # at most, in one session
PAGE = 4096


def records(path):
    """(offset, size of the file before, bytes before) of each write that no sync has followed; the last one may be cut short."""
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at + 24 <= len(data):
        offset, size, before = struct.unpack_from("=QQQ", data, at)
        if at + 24 + size > len(data):
            return
        yield offset, before, data[at + 24:at + 24 + size]
        at += 24 + size


def crash(path, journal, chance):
    """Makes the file what a crash could leave of it. False: nothing could be lost."""
    pages, least = {}, os.path.getsize(path)
    for offset, before, content in records(journal):
        least = min(least, before)
        for at in range(0, len(content), PAGE):
            pages.setdefault(offset + at, []).append(content[at:at + PAGE])
    end = least
    is_lost = chance.choice((0.05, 0.5, 0.95))
    with open(path, "r+b") as file:
        for offset, earlier in pages.items():
            if chance.random() < is_lost:
                file.seek(offset)
                file.write(chance.choice(earlier))
            else:
                end = max(end, offset + len(earlier[0]))
        if pages:
            file.truncate(end)
    return bool(pages)


def stop(rig, shim, chance, is_over):
    """Stops the aggregator: anywhere, before it syncs, or among the writes before that. False: the session was over."""
    order = chance.choice(("sync STOP once", "sync STOP once", "write STOP once", ""))
    if order:
        shim.order(order)
    else:
        rig.daemon.send_signal(signal.SIGSTOP)
    rig.waits("the stop", lambda: is_stopped(rig.daemon) or is_over())
    is_stopping = not shim.relieve()  # or the session was over before it came to that
    was_over = is_over()
    if was_over and is_stopping:
        rig.waits("the stop", lambda: is_stopped(rig.daemon))
        rig.daemon.send_signal(signal.SIGCONT)
    return not was_over


def check(rig):
    verify = subprocess.run([rig.program("wakepath-store"), "verify", rig.store], capture_output=True, text=True, check=False)
    if verify.returncode:
        raise Difference("after a crash verify says: " + verify.stdout + verify.stderr)


def store(rig, chance):
    """Each time what is left must be sound, and the next aggregator goes on with it. A trial is a crash that could undo something."""
    journals = rig.folder + "/journals"
    os.mkdir(journals)
    shim = Shim(rig, rig.store + "/unversioned/data.mdb")
    environment = {**shim.environment, "WP_SHIM_JOURNAL": journals}
    rig.aggregator(environment=environment)
    collector, done = rig.collector(), 0
    for _ in range(CRASHES):
        rig.moment_on(chance, collector)
        if not stop(rig, shim, chance, lambda: collector.poll() is not None):
            break
        rig.kill(rig.daemon)
        files = glob.glob(rig.store + "/*/data.mdb")
        appended = glob.glob(rig.store + ".resume/*/*.dictionary")
        done += any([crash(path, "%s/%d" % (journals, os.stat(path).st_ino), chance) for path in files + appended])
        if any(os.path.getsize(path) for path in files):
            check(rig)
        for name in os.listdir(journals):
            os.unlink("%s/%s" % (journals, name))
        rig.aggregator(environment=environment)
    rig.ends(collector)
    return done


FAULTS = [("machine crash: unsynced writes of the store lost", store)]
