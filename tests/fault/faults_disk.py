# SPDX-License-Identifier: Apache-2.0
"""Faults of the disks under store and spool: full, failing, read-only."""
import os, signal, subprocess, time

from twin import Difference, read_text

IN_MEMORY = ("wait in memory", "continues in memory")  # what a collector says of a spool that it cannot write
SEGMENT = 8 << 20  # bytes of a file of the spool


class Shim:
    """What fault_shim.c is told, of the files below `under`."""

    def __init__(self, rig, under):
        self.orders = rig.folder + "/orders"
        self.environment = {"LD_PRELOAD": rig.program("libfault_shim.so"), "WP_SHIM_ORDERS": self.orders, "WP_SHIM_UNDER": under}

    def order(self, text):
        with open(self.orders + ".new", "w", encoding="ascii") as file:
            file.write(text)
        os.rename(self.orders + ".new", self.orders)

    def relieve(self):
        """False: there is no order left to withdraw."""
        try:
            os.unlink(self.orders)
            return True
        except FileNotFoundError:
            return False

    def has_struck(self):
        """Of an order for one call."""
        return not os.path.exists(self.orders)


def says(rig, child, *words):
    log = rig.log(child)
    if not any(word in log for word in words):
        raise Difference("it does not say %s:\n%s" % (" or ".join(words), log))


def full_store(rig, chance):
    """The store's disk is full for a while; the aggregator waits for room."""
    rig.tmpfs(rig.store, "24M")
    rig.aggregator()
    collector, done = rig.collector(), 0
    for _ in range(rig.captures.strikes):
        rig.moment(chance)
        before = rig.log(rig.daemon).count("disk is full")
        rig.fill(rig.store + "/filler")
        rig.waits("the complaint", lambda: rig.log(rig.daemon).count("disk is full") > before or collector.poll() is not None)
        done += collector.poll() is None
        time.sleep(chance.uniform(0, 0.3))
        os.unlink(rig.store + "/filler")
    rig.ends(collector)
    if "the disk is full" in rig.log(rig.daemon):
        rig.waits("the all-clear", lambda: "the store has room again" in rig.log(rig.daemon))
    return done


def full_resume(rig, chance):
    """There is no room for checkpoints: nothing is acknowledged, the collector keeps it."""
    rig.tmpfs(rig.store + ".resume", "4M")
    rig.aggregator()
    collector, done = rig.collector(), 0
    for _ in range(rig.captures.strikes):
        rig.moment_on(chance, collector)
        rig.fill(rig.store + ".resume/filler")
        time.sleep(chance.uniform(0.1, 0.4))
        done += collector.poll() is None
        if chance.random() < 0.5:
            rig.kill(rig.daemon)
            os.unlink(rig.store + ".resume/filler")
            rig.aggregator()
        else:
            os.unlink(rig.store + ".resume/filler")
    rig.ends(collector)
    return done


def full_spool(rig, chance):
    """The spool's disk is full; what does not fit waits in memory."""
    rig.tmpfs(rig.spool, "2M")
    child = rig.collector("--spool-limit", "1G", spool=rig.spool)
    rig.waits("the spool", lambda: rig.spooled() > 0)
    rig.fill(rig.spool + "/filler")
    rig.moment(chance, 0.3, 3)  # what is in memory alone is given up 20 s after the end
    rig.aggregator()
    rig.delivers(child)
    says(rig, child, "wait in memory")
    return 1


def failing_store(what, words):
    """One call fails: that transaction is given up, the aggregator says so and ends, and the next one goes on."""
    def fault(rig, chance):
        shim = Shim(rig, rig.store + "/")
        rig.aggregator(environment=shim.environment)
        collector, done = rig.collector(), 0
        for _ in range(rig.captures.strikes):
            rig.moment_on(chance, collector)
            if collector.poll() is None:
                shim.order(what + " once")
            rig.waits("the fault", lambda: shim.has_struck() or collector.poll() is not None)
            if collector.poll() is not None:
                break
            rig.ends(rig.daemon, 1)
            says(rig, rig.daemon, *words)
            rig.aggregator(environment=shim.environment)
            done += 1
        shim.relieve()
        rig.ends(collector)
        return done
    return fault


def failing_resume(what):
    """Checkpoints cannot be written for a while: nothing is acknowledged, the collector keeps it."""
    def fault(rig, chance):
        shim = Shim(rig, rig.store + ".resume/")
        rig.aggregator(environment=shim.environment)
        collector, done = rig.collector(), 0
        for _ in range(rig.captures.strikes):
            rig.moment_on(chance, collector)
            before = rig.log(rig.daemon).count("cannot write a checkpoint")
            shim.order(what)
            rig.waits("the complaint", lambda: rig.log(rig.daemon).count("cannot write a checkpoint") > before or collector.poll() is not None)
            was_going_on = collector.poll() is None
            if was_going_on and chance.random() < 0.5:
                rig.kill(rig.daemon)
                shim.relieve()
                rig.aggregator(environment=shim.environment)
            shim.relieve()
            done += was_going_on
        rig.ends(collector)
        return done
    return fault


def place_in_spool(rig, chance):
    """An order's last word: once a file of the spool has so many bytes; one of the session's has, and is written to and synced after that."""
    return " at=%d" % chance.randrange(65536, min(SEGMENT, os.path.getsize(rig.captures.capture)) * 3 // 4)


def complains(rig, child):
    """The spool cannot be written, and the collector goes on."""
    rig.waits("the complaint", lambda: child.poll() is not None or any(words in rig.log(child) for words in IN_MEMORY))
    says(rig, child, *IN_MEMORY)


def failing_spool(what):
    """The spool cannot be written: it is said, and all arrives from memory."""
    def fault(rig, chance):
        shim = Shim(rig, rig.spool + "/")
        shim.order(what + place_in_spool(rig, chance))
        child = rig.collector(spool=rig.spool, environment=shim.environment)
        complains(rig, child)
        rig.aggregator()
        rig.moment(chance, 0.3)
        shim.relieve()
        rig.delivers(child)
        return 1
    return fault


class Disk:
    """A file system of its own, which becomes read-only as ext4 does after an error, and is mounted anew."""

    def __init__(self, rig):
        self.rig, self.image, self.mount = rig, rig.folder + "/image", rig.folder + "/mount"
        os.mkdir(self.mount)
        subprocess.run(["truncate", "-s", "64M", self.image], check=True)
        subprocess.run(["mkfs.ext4", "-q", self.image], check=True)
        self.put_in()

    def put_in(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.mount], check=True)
        self.rig.mounted.append(self.mount)
        if os.statvfs(self.mount).f_flag & os.ST_RDONLY:
            raise OSError("the file system came back read-only")

    def fail(self):
        subprocess.run(["mount", "-o", "remount,abort", self.mount], check=True)

    def mend(self):
        """What had not been written when it failed is gone."""
        subprocess.run(["umount", self.mount], check=True)
        self.rig.mounted.remove(self.mount)
        self.rig.waits("the loop device to go",
                       lambda: not subprocess.run(["losetup", "-j", self.image], check=True, capture_output=True).stdout)
        subprocess.run(["e2fsck", "-fy", self.image], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.put_in()


def readonly_store(rig, chance):
    disk = Disk(rig)
    rig.store = disk.mount + "/store"
    rig.aggregator()
    collector = rig.collector(spool=rig.spool)
    rig.moment(chance, 0.5)
    was_going_on = collector.poll() is None
    disk.fail()
    if not was_going_on:
        rig.ends(collector)
    if was_going_on:
        rig.ends(rig.daemon, 1)
        says(rig, rig.daemon, "Read-only", "read-only", "Input/output error")
        refused = rig.aggregator(is_awaited=False)
        rig.ends(refused, 1)
        says(rig, refused, "Read-only", "read-only")
    else:
        rig.kill(rig.daemon)
    disk.mend()
    rig.aggregator()
    if was_going_on:
        rig.delivers(collector)
    return int(was_going_on)


def is_stopped(child):
    return read_text("/proc/%d/stat" % child.pid).rsplit(")", 1)[-1][1:2] == "T"


def readonly_spool(rig, chance):
    """The rest waits in memory and arrives; what has arrived and could not be removed, or came back with the disk, is sent again and counts once."""
    disk = Disk(rig)
    rig.spool = disk.mount + "/spool"
    shim = Shim(rig, rig.spool + "/")
    shim.order("write STOP once" + place_in_spool(rig, chance))
    child = rig.collector(spool=rig.spool, environment=shim.environment)
    rig.waits("the spool", lambda: shim.has_struck() and is_stopped(child))
    disk.fail()
    child.send_signal(signal.SIGCONT)
    complains(rig, child)
    rig.aggregator()
    rig.moment(chance, 0.3)
    rig.delivers(child)
    disk.mend()
    rig.delivers(rig.collector(spool=rig.spool))
    return 1


FAULTS = [("store's disk full", full_store), ("checkpoints' disk full", full_resume), ("spool's disk full", full_spool),
          ("store: a write fails (EIO)", failing_store("write EIO", ["Input/output error"])),
          ("store: fsync fails (EIO)", failing_store("sync EIO", ["Input/output error"])),
          ("checkpoints: writes fail (EIO)", failing_resume("write EIO")), ("checkpoints: fsync fails (EIO)", failing_resume("sync EIO")),
          ("spool: writes fail (EIO)", failing_spool("write EIO")), ("spool: fsync fails (EIO)", failing_spool("sync EIO")),
          ("spool: fsync fails, what was not synced is gone", failing_spool("sync LOSE")),
          ("store's file system read-only", readonly_store), ("spool's file system read-only", readonly_spool)]
