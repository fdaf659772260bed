# SPDX-License-Identifier: Apache-2.0
"""What a virtual machine boots from: Debian's kernel as packaged, and an initramfs of busybox, the kernel's modules for the
network and programs of this machine with the libraries that they need."""
import glob, os, re, shutil, subprocess, sys, sysconfig, tempfile

# Debian 12's kernel, and the newer one that it offers beside it.
PACKAGES = ["linux-image-amd64", "linux-image-6.12-amd64"]
# In the order of loading: what a network device, a disk, a file system and disks made of others need on a PC. A kernel may have some built in.
MODULES = ["net/core/failover", "drivers/net/net_failover", "drivers/virtio/virtio_ring", "drivers/virtio/virtio",
           "drivers/virtio/virtio_pci_legacy_dev", "drivers/virtio/virtio_pci_modern_dev", "drivers/virtio/virtio_pci",
           "drivers/net/virtio_net", "drivers/block/virtio_blk", "crypto/crc32c_generic", "lib/crc16", "fs/mbcache",
           "fs/jbd2/jbd2", "fs/ext4/ext4", "drivers/block/loop", "drivers/md/dm-mod", "drivers/md/md-mod", "drivers/md/raid1"]
HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """Something that this machine does not have and that cannot be had."""


def sh(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing("no %s: deploy/packages.sh --test installs it" % program)


def fetch(folder, package):
    """The kernel's package, unpacked as far as it is needed; nothing is installed. Kept in `folder` for the next time."""
    depends = sh("apt-cache", "depends", package)
    name = re.search(r"Depends: (linux-image-\S+)", depends)
    if not name:
        raise Missing("no package %s in apt's lists: apt-get update" % package)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        os.chmod(temporary, 0o777) # apt fetches as a user of its own
        sh("apt-get", "download", "-qq", name.group(1), cwd=temporary)
        package, = glob.glob(temporary + "/*.deb")
        parts = ["--wildcards", "./boot/vmlinuz-*", "*/modules.builtin"] + ["*/kernel/%s.ko*" % module for module in MODULES]
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
            subprocess.run(["tar", "-x", "-C", temporary, *parts], stdin=tar.stdout, stderr=subprocess.DEVNULL, check=False)
        os.unlink(package)
        for packed in glob.glob(temporary + "/lib/modules/**/*.ko.xz", recursive=True):
            sh("xz", "-d", packed)
        for part in os.listdir(temporary):
            os.rename(temporary + "/" + part, folder + "/" + part)


class Kernel:
    """`folder`: where it is looked for and kept; `instead`: another one, that holds boot/ and lib/modules/."""

    def __init__(self, folder, package, instead=None):
        folder = instead or folder
        if not self.find(folder):
            if instead:
                raise Missing("not all of a kernel in %s" % folder)
            shutil.rmtree(folder, ignore_errors=True) # what another version of this file left
            os.makedirs(folder)
            try:
                fetch(folder, package)
            except (OSError, RuntimeError, ValueError) as error:
                raise Missing("no kernel in %s and none to be had: %s" % (folder, error)) from error
            if not self.find(folder):
                raise Missing("the kernel's package has not all of %s" % " ".join(MODULES))

    def find(self, folder):
        kernels = sorted(glob.glob(folder + "/boot/vmlinuz-*"))
        self.path = kernels[-1] if kernels else ""
        self.release = os.path.basename(self.path)[len("vmlinuz-"):]
        home = folder + "/lib/modules/%s/" % self.release
        if not self.path or not os.path.exists(home + "modules.builtin"):
            return False
        with open(home + "modules.builtin") as file:
            builtin = set(file.read().split())
        self.modules = [home + "kernel/%s.ko" % module for module in MODULES if "kernel/%s.ko" % module not in builtin]
        return all(map(os.path.exists, self.modules))


class Image:
    """The initramfs in the making: files by their place in it."""

    def __init__(self, folder):
        self.root = folder + "/root"
        for part in ("bin", "etc", "proc", "sys", "dev", "modules"):
            os.makedirs(self.root + "/" + part)
        os.symlink("bin", self.root + "/sbin")

    def add(self, source, place, mode=0o755):
        target = self.root + place
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            shutil.copyfile(source, target)
            os.chmod(target, mode)

    def program(self, source, place):
        """With its libraries, where the loader looks for them."""
        self.add(source, place)
        for line in sh("ldd", source).splitlines():
            found = re.search(r"(?:=> )?(/\S+) \(0x", line)
            if found:
                self.add(found.group(1), found.group(1))

    def python(self):
        """The one that runs this, with its library."""
        library = sysconfig.get_path("stdlib")
        self.program(os.path.realpath(sys.executable), os.path.realpath(sys.executable))
        shutil.copytree(library, self.root + library, ignore=shutil.ignore_patterns(
            "test", "__pycache__", "site-packages", "dist-packages", "idlelib", "ensurepip", "tkinter", "lib2to3", "config-*", "*.a"))
        for extension in glob.glob(sysconfig.get_path("platstdlib") + "/lib-dynload/*.so"):
            self.program(extension, extension)
        return os.path.realpath(sys.executable)

    def modules(self, kernel):
        for module in kernel.modules:
            self.add(module, "/modules/" + os.path.basename(module))
        with open(self.root + "/modules/order", "w") as order:
            order.writelines(os.path.basename(module)[:-3] + "\n" for module in kernel.modules)

    def write(self, path):
        """As a cpio archive: not packed, an emulated processor would take long to unpack it."""
        self.add(shutil.which("busybox"), "/bin/busybox")
        self.program(os.path.realpath("/bin/sh"), "/bin/sh")
        self.add(HERE + "/guest_init.sh", "/init")
        self.add(HERE + "/guest_agent.sh", "/agent")
        names = "".join(os.path.relpath(os.path.join(folder, name), self.root) + "\n"
                        for folder, folders, files in os.walk(self.root) for name in folders + files)
        with open(path, "wb") as out:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=self.root, input=names.encode(),
                           stdout=out, check=True)
