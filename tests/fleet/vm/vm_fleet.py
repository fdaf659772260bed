# SPDX-License-Identifier: Apache-2.0
"""Virtual machines on a bridge, each with a kernel and a clock of its own. All of it lives in the network namespace that the
process was started in: alone_on_the_network() starts it again in a new one, which goes when the process goes."""
import contextlib, os, shlex, socket, subprocess, sys, threading, time

BRIDGE = "wpvm"
HERE = "10.78.0.254"
BOOT_S = 300
DISK = 64 << 20


def sh(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def alone_on_the_network():
    if not os.environ.get("WAKEPATH_VM_NETWORK"):
        os.environ["WAKEPATH_VM_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "--net", "--", sys.executable] + sys.argv)
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "add", BRIDGE, "type", "bridge")
    sh("ip", "addr", "add", HERE + "/24", "dev", BRIDGE)
    sh("ip", "link", "set", BRIDGE, "up")


class Program:
    """A command on a virtual machine; its input and output are a connection."""

    def __init__(self, vm, words):
        self.vm, self.connection = vm, socket.create_connection((vm.address, 99), 10)
        self.connection.settimeout(180)
        self.file = self.connection.makefile("rw")
        self.say(words if isinstance(words, str) else shlex.join(map(str, words)))
        self.pid = int(self.line())

    def say(self, line):
        self.file.write(line + "\n")
        self.file.flush()

    def line(self):
        line = self.file.readline()
        if not line:
            raise RuntimeError("%s went away\n%s" % (self.vm.name, self.vm.console()))
        return line.rstrip("\n")

    def rest(self):
        """What else it says until it ends, and its exit status."""
        *said, last = self.file.read().splitlines() or [""]
        self.close()
        if not last.startswith("exited "):
            raise RuntimeError("%s went away\n%s\n%s" % (self.vm.name, "\n".join((*said, last)), self.vm.console()))
        return said, int(last.split()[1])

    def close(self):
        self.file.close()
        self.connection.close()

    def stop(self):
        self.vm.run("kill", self.pid)
        return self.rest()


class Vm:
    """`number`: of its address. `ahead_s`: how far its clock is ahead of this machine's."""

    def __init__(self, folder, name, number, image, kernel, ahead_s=0, cpus=1):
        self.name, self.address, self.programs = name, "10.78.0.%d" % number, []
        self.log = "%s/%s.log" % (folder, name)
        disk = "%s/%s.disk" % (folder, name)
        with open(disk, "wb") as file:
            file.truncate(DISK)
        clock = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + ahead_s))
        tap = "%s%d" % (BRIDGE, number)
        sh("ip", "tuntap", "add", tap, "mode", "tap")
        sh("ip", "link", "set", tap, "master", BRIDGE, "up")
        # Its processors take turns: emulated side by side, one may run an int3 of code that another has patched already, and its kernel dies.
        self.child = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-m", "768", "-smp", str(cpus), "-nodefaults", "-display", "none", "-no-reboot",
             "-serial", "file:" + self.log, "-rtc", "base=" + clock, "-kernel", kernel.path, "-initrd", image,
             "-append", "console=ttyS0 quiet panic=-1 no_timer_check wp.name=%s wp.address=%s/24" % (name, self.address),
             "-netdev", "tap,id=net,ifname=%s,script=no,downscript=no" % tap,
             "-drive", "file=%s,if=virtio,format=raw,cache=none" % disk,
             "-device", "virtio-net-pci,netdev=net,romfile=,mac=52:54:00:77:00:%02x" % number],
            stdin=subprocess.DEVNULL)
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        """Nobody waits for what a machine says that is no more."""
        self.child.wait()
        for program in list(self.programs):
            with contextlib.suppress(OSError):
                program.connection.shutdown(socket.SHUT_RDWR)

    def console(self):
        with open(self.log, errors="replace") as log:
            return log.read()[-4000:]

    def wait(self):
        """Until it takes commands."""
        end = time.monotonic() + BOOT_S
        while True:
            try:
                return self.run("true")
            except (OSError, ValueError, RuntimeError):
                if self.child.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("%s does not boot\n%s" % (self.name, self.console())) from None
                time.sleep(0.2)

    def start(self, *words):
        self.programs.append(Program(self, words[0] if len(words) == 1 else words))
        return self.programs[-1]

    def run(self, *words):
        said, status = self.start(*words).rest()
        if status:
            raise RuntimeError("%s: %s: status %d: %s" % (self.name, words, status, said))
        return said

    def close(self):
        for program in self.programs:
            program.close()
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
