# SPDX-License-Identifier: Apache-2.0
"""In a virtual machine: writes through block devices that are made of others. stacked_devices.py FOLDER ROUNDS

A loop device on a file of FOLDER, a linear device of the device mapper on that one, and a mirror (md, raid1) of two loop devices. A process each, called
on-loop, on-dm and on-md, writes ROUNDS times past the page cache and has it flushed; prints {its name: ns that it slept} as JSON."""
import fcntl
import json
import mmap
import os
import stat
import struct
import subprocess
import sys
import time

BYTES = 8 << 20
DM_CREATE, DM_RESUME, DM_LOAD = 3, 6, 9
MD_SET_ARRAY, MD_ADD_DISK, MD_RUN = (1 << 30 | size << 16 | 9 << 8 | number for size, number in ((72, 0x23), (20, 0x21), (12, 0x30)))


def loop_device(path):
    with open(path, "wb") as file:
        file.write(bytes(BYTES))
        file.flush()
        os.fsync(file.fileno())
    device = subprocess.check_output(["losetup", "-f"], text=True).strip()
    subprocess.check_call(["losetup", device, path])
    return device


def mapped_device(below):
    """include/uapi/linux/dm-ioctl.h"""
    def ask(number, targets=b""):
        head = struct.pack("<3I7IQ128s129s7x", 4, 0, 0, 312 + len(targets), 312, bool(targets), 0, 0, 0, 0, 0, b"stacked", b"")
        fcntl.ioctl(control, 3 << 30 | 312 << 16 | 0xfd << 8 | number, bytearray(head + targets))
    control = os.open("/dev/mapper/control", os.O_RDWR)
    table = f"{below} 0".encode() + b"\0" * 16
    ask(DM_CREATE)
    ask(DM_LOAD, struct.pack("<2QiI16s", 0, BYTES >> 9, 0, 0, b"linear") + table)
    ask(DM_RESUME)
    os.close(control)
    return "/dev/dm-0"


def mirror(below):
    """include/uapi/linux/raid/md_u.h; without superblocks."""
    os.mknod("/dev/md0", 0o600 | stat.S_IFBLK, os.makedev(9, 0))
    array = os.open("/dev/md0", os.O_RDWR)
    fcntl.ioctl(array, MD_SET_ARRAY, struct.pack("<18i", 0, 90, 0, 0, 1, BYTES >> 10, len(below), len(below), 0, 1, 0, 1, *[len(below)] * 2, 0, 0, 0, 0))
    for number, device in enumerate(below):
        node = os.stat(device).st_rdev
        fcntl.ioctl(array, MD_ADD_DISK, struct.pack("<5i", number, os.major(node), os.minor(node), number, 6))  # active, in sync
    fcntl.ioctl(array, MD_RUN, struct.pack("<3i", 0, 0, 0))
    os.close(array)
    return "/dev/md0"


def slept_ns(call):
    """Of the wall what was neither on a processor nor waiting for one."""
    def clocks():
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return time.monotonic_ns(), sum(map(int, file.read().split()[:2]))
    begun, awake = clocks()
    call()
    ended, awake_then = clocks()
    return ended - begun - (awake_then - awake)


def write(name, device, rounds):
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(name)
    buffer = mmap.mmap(-1, 1 << 16)
    disk = os.open(device, os.O_RDWR | os.O_DIRECT)
    return sum(slept_ns(lambda at=i << 16: os.pwrite(disk, buffer, at)) + slept_ns(lambda: os.fsync(disk)) for i in range(rounds))


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2])
    loops = [loop_device(f"{folder}/stacked{i}") for i in range(4)]
    told = {}
    for name, device in (("on-loop", loops[0]), ("on-dm", mapped_device(loops[1])), ("on-md", mirror(loops[2:]))):
        answers, said = os.pipe()
        if not os.fork():
            os.write(said, str(write(name, device, rounds)).encode())
            os._exit(0)
        os.close(said)
        told[name] = int(os.read(answers, 64) or b"-1")
        os.wait()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
