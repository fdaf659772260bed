# SPDX-License-Identifier: Apache-2.0
"""Faults of the disks under store and spool: full, failing, read-only."""
import os, subprocess, time

from twin import Difference, wait_for


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
        if os.path.exists(self.orders):
            os.unlink(self.orders)

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
    collector = rig.collector()
    time.sleep(chance.uniform(0, 0.4))
    rig.fill(rig.store + "/filler")
    wait_for("the complaint", lambda: "disk is full" in rig.log(rig.daemon) or collector.poll() is not None)
    was_going_on = collector.poll() is None
    time.sleep(chance.uniform(0, 1))
    os.unlink(rig.store + "/filler")
    rig.ends(collector)
    return int(was_going_on)


def full_resume(rig, chance):
    """There is no room for checkpoints: nothing is acknowledged, the collector keeps it."""
    rig.tmpfs(rig.store + ".resume", "4M")
    rig.aggregator()
    collector = rig.collector()
    time.sleep(chance.uniform(0, 0.3))
    rig.fill(rig.store + ".resume/filler")
    time.sleep(chance.uniform(0.2, 1))
    was_going_on = collector.poll() is None
    if chance.random() < 0.5:
        rig.kill(rig.daemon)
        os.unlink(rig.store + ".resume/filler")
        rig.aggregator()
    else:
        os.unlink(rig.store + ".resume/filler")
    rig.ends(collector)
    return int(was_going_on)


def full_spool(rig, chance):
    """The spool's disk is full; what does not fit waits in memory."""
    rig.tmpfs(rig.spool, "2M")
    child = rig.collector("--spool-limit", "1G", spool=rig.spool)
    wait_for("the spool", lambda: rig.spooled() > 0)
    rig.fill(rig.spool + "/filler")
    time.sleep(chance.uniform(0, 0.3))
    rig.aggregator()
    rig.ends(child)
    says(rig, child, "wait in memory")
    return 1


def failing_store(what, words):
    """One call fails: that transaction is given up, the aggregator says so and ends, and the next one goes on."""
    def fault(rig, chance):
        shim = Shim(rig, rig.store + "/")
        rig.aggregator(environment=shim.environment)
        collector = rig.collector()
        time.sleep(chance.uniform(0, 0.5))
        if collector.poll() is None:
            shim.order(what + " once")
        wait_for("the fault", lambda: shim.has_struck() or collector.poll() is not None)
        struck = int(shim.has_struck() and collector.poll() is None)
        if struck:
            rig.ends(rig.daemon, 1)
            says(rig, rig.daemon, *words)
            rig.aggregator()
        shim.relieve()
        rig.ends(collector)
        return struck
    return fault


def failing_resume(what):
    """Checkpoints cannot be written for a while: nothing is acknowledged, the collector keeps it."""
    def fault(rig, chance):
        shim = Shim(rig, rig.store + ".resume/")
        rig.aggregator(environment=shim.environment)
        collector = rig.collector()
        time.sleep(chance.uniform(0, 0.3))
        shim.order(what)
        wait_for("the complaint", lambda: "cannot be kept" in rig.log(rig.daemon) or collector.poll() is not None)
        was_going_on = collector.poll() is None
        if was_going_on and chance.random() < 0.5:
            rig.kill(rig.daemon)
            shim.relieve()
            rig.aggregator()
        shim.relieve()
        rig.ends(collector)
        return int(was_going_on)
    return fault


def failing_spool(what):
    """The spool cannot be written: it is said, and all arrives from memory."""
    def fault(rig, chance):
        shim = Shim(rig, rig.spool + "/")
        child = rig.collector(spool=rig.spool, environment=shim.environment)
        wait_for("the spool", lambda: rig.spooled() > 0)
        time.sleep(chance.uniform(0, 0.1))
        shim.order(what)
        wait_for("the complaint", lambda: any(words in rig.log(child) for words in ("wait in memory", "goes on in memory"))
                 or child.poll() is not None)
        rig.aggregator()
        time.sleep(chance.uniform(0, 0.3))
        shim.relieve()
        rig.ends(child)
        says(rig, child, "wait in memory", "goes on in memory")
        return 1
    return fault


def remount(rig, chance):
    """A file system of its own becomes read-only under the store, as ext4 does after an error; it is mounted anew and all goes on."""
    image, mount = rig.folder + "/image", rig.folder + "/mount"
    os.mkdir(mount)
    subprocess.run(["truncate", "-s", "64M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    rig.mounted.append(mount)
    rig.store = mount + "/store"
    rig.aggregator()
    collector = rig.collector()
    time.sleep(chance.uniform(0, 0.5))
    was_going_on = collector.poll() is None
    subprocess.run(["mount", "-o", "remount,abort", mount], check=True)
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
    subprocess.run(["umount", mount], check=True)
    rig.mounted.remove(mount)
    wait_for("the loop device to go", lambda: not subprocess.run(["losetup", "-j", image], check=True, capture_output=True).stdout)
    subprocess.run(["e2fsck", "-fy", image], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    rig.mounted.append(mount)
    if os.statvfs(mount).f_flag & os.ST_RDONLY:
        raise OSError("the file system came back read-only")
    rig.aggregator()
    rig.ends(collector)
    return int(was_going_on)


FAULTS = [("store's disk full", full_store), ("checkpoints' disk full", full_resume), ("spool's disk full", full_spool),
          ("store: a write fails (EIO)", failing_store("write EIO", ["Input/output error"])),
          ("store: fsync fails (EIO)", failing_store("sync EIO", ["Input/output error"])),
          ("checkpoints: writes fail (EIO)", failing_resume("write EIO")), ("checkpoints: fsync fails (EIO)", failing_resume("sync EIO")),
          ("spool: writes fail (EIO)", failing_spool("write EIO")), ("spool: fsync fails (EIO)", failing_spool("sync EIO")),
          ("store's file system read-only", remount)]
