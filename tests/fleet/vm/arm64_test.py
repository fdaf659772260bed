#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of arm64 on kernels of arm64: built beside those of this machine, and run on emulated processors. arm64_test.py FOLDER, which keeps what is
fetched and built. What the report says is held against what the recorded program took."""
import glob, json, os, re, shutil, subprocess, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE]
from vm_kernel import MIRROR, NEWEST, lists_of, parts_of, sh

FOLDER = sys.argv[1]
RELEASES = ("bookworm", NEWEST) # of Debian, whose kernels are booted
TOOLS = "crossbuild-essential-arm64 cmake ninja-build pkg-config clang llvm bpftool protobuf-c-compiler scdoc uthash-dev"
LIBRARIES = ("libbpf-dev libzmq3-dev libprotobuf-c-dev liblmdb-dev libzstd-dev zlib1g-dev uuid-dev libelf-dev libdw-dev libiberty-dev "
             "liblzma-dev libcap-ng-dev libseccomp-dev libjson-c-dev libxxhash-dev libconfuse-dev libmicrohttpd-dev")
GUEST = ("libzmq5 libprotobuf-c1 liblmdb0 libzstd1 zlib1g libuuid1 libelf1 libdw1 liblzma5 libcap-ng0 libseccomp2 libjson-c5 libxxhash0 "
         "libconfuse2 libmicrohttpd12 libbpf1 libstdc++6 busybox-static python3 coreutils dash")
PROGRAMS = ("wakepath", "wakepath-collector", "wakepath-aggregator", "wakepath-reporter")


def made(name, make):
    """The folder of that name, which is made once."""
    path = "%s/%s" % (FOLDER, name)
    if not os.path.isdir(path):
        shutil.rmtree(path + ".new", ignore_errors=True)
        make(path + ".new")
        os.rename(path + ".new", path)
    return path


def debootstrap(path, variant, architectures, packages):
    sh("mmdebstrap", "--variant=" + variant, "--architectures=" + architectures, "--include=" + ",".join(packages),
       "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", "bookworm", path, MIRROR)


def build():
    """The folder of the programs."""
    root = made("builder", lambda path: debootstrap(path, "apt", "amd64,arm64", TOOLS.split() + [name + ":arm64" for name in LIBRARIES.split()]))
    out = FOLDER + "/build"
    os.makedirs(out, exist_ok=True)
    for place in ("src", "out"):
        os.makedirs("%s/%s" % (root, place), exist_ok=True)
    sh("unshare", "--mount", "sh", "-ec", 'mount --bind "$1" "$0/src"; mount --bind "$2" "$0/out"; mount --bind /proc "$0/proc"; exec chroot "$0" sh -ec "$3"',
       root, TOP, out, "export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig; "
       "cmake -S /src -B /out -G Ninja -DCMAKE_TOOLCHAIN_FILE=/src/tests/fleet/vm/arm64.cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWP_TESTS=OFF; "
       "cmake --build /out --target " + " ".join(PROGRAMS), env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    return out + "/bin"


def kernel(release):
    def fetch(path):
        os.makedirs(path)
        os.chmod(path, 0o777) # apt fetches as a user of its own
        with lists_of(release) as options:
            options += ["-o", "APT::Architecture=arm64"]
            sh("apt-get", *options, "-qq", "update")
            sh("apt-get", *options, "download", "-qq", *parts_of("linux-image-arm64", options), cwd=path)
        for package in glob.glob(path + "/*.deb"):
            sh("dpkg-deb", "-x", package, path)
            os.unlink(package)
    return glob.glob(made("kernel-" + release, fetch) + "/**/vmlinuz*", recursive=True)[0]


def image(programs):
    guest = made("guest", lambda path: debootstrap(path, "extract", "arm64", GUEST.split()))
    for place in ("proc", "sys", "dev", "tmp", "opt"):
        os.makedirs("%s/%s" % (guest, place), exist_ok=True)
    for program in PROGRAMS:
        shutil.copy("%s/%s" % (programs, program), guest + "/opt/" + program)
    shutil.copy(HERE + "/arm64_waits.py", guest + "/opt/waits.py")
    shutil.copy(HERE + "/arm64_init.sh", guest + "/init")
    os.chmod(guest + "/init", 0o755)
    with open(FOLDER + "/initrd", "wb") as file:
        names = sh("find", ".", "(", "-path", "./usr/share", "-prune", ")", "-o", "-print", cwd=guest)
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=guest, input=names.encode(), stdout=file, check=True)
    return FOLDER + "/initrd"


def boot(vmlinuz, initrd):
    """What the machine says, line by line."""
    done = subprocess.run(["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-accel", "tcg", "-m", "3072", "-smp", "2", "-nographic",
                           "-no-reboot", "-kernel", vmlinuz, "-initrd", initrd, "-append", "console=ttyAMA0 rdinit=/init quiet panic=1"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300, check=False)
    return done.stdout.replace("\r", "").splitlines()


class Arm64(unittest.TestCase):
    def said(self, lines, word):
        return [line[len(word) + 1:] for line in lines if line.startswith(word + " ")]

    def time_in(self, stacks, *frames):
        order = re.compile(".*".join(map(re.escape, frames)))
        return sum(int(ns) for stack, ns in (line.rsplit(" ", 1) for line in stacks) if order.search(stack)) / 1e9

    def check(self, lines):
        self.assertIn("END", lines, "\n".join(lines[-40:]))
        probe, took = json.loads(self.said(lines, "PROBE")[0]), json.loads(self.said(lines, "TOOK")[0])
        report, stacks = json.loads("\n".join(self.said(lines, "json"))), self.said(lines, "folded")
        used = {fact["what"] for fact in probe["facts"] for choice in fact["choices"] if choice["state"] == "used"}
        print(probe["kernel"], "without", sorted({fact["what"] for fact in probe["facts"]} - used), took, file=sys.stderr)
        self.assertGreater(self.time_in(stacks, "[python3]", "read", "[python3]", "sleep:clock_nanosleep"), 0.48, "the child's sleep, named by its call")
        self.assertGreater(self.time_in(stacks, "wait4", "[sleep]", "sleep:clock_nanosleep"), 0.58)
        if "TCP bytes sent" in used:
            self.assertGreater(self.time_in(stacks, "recv", "tcp:", "[python3]", "sleep:clock_nanosleep"), 0.45)
            self.assertLess(report["categories"]["unaccounted"], 0.02 * report["total_ns"])

    def test_kernels(self):
        initrd = image(build())
        for release in RELEASES:
            with self.subTest(release=release):
                self.check(boot(kernel(release), initrd))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
