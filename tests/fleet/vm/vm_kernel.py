# SPDX-License-Identifier: Apache-2.0
"""Kernels for virtual machines, as Debian packages them: unpacked as far as is needed, and nothing installed."""
import contextlib, glob, os, re, shutil, subprocess, tempfile

# Debian 12's kernel, and the newer one that it offers beside it.
PACKAGES = ["linux-image-amd64", "linux-image-6.12-amd64"]
NEWEST = "sid" # the release of Debian whose kernel is the newest
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# In the order of loading: what a network device, a disk, a file system and disks made of others need on a PC, each where kernels have it.
# A kernel may have some built in; the checksum of ext4 is no module of its own since Linux 6.16.
MODULES = [["net/core/failover"], ["drivers/net/net_failover"], ["drivers/virtio/virtio_ring"], ["drivers/virtio/virtio"],
           ["drivers/virtio/virtio_pci_legacy_dev"], ["drivers/virtio/virtio_pci_modern_dev"], ["drivers/virtio/virtio_pci"],
           ["drivers/net/virtio_net"], ["drivers/block/virtio_blk"], ["crypto/crc32c_generic", "lib/crc/crc16"], ["lib/crc16", "lib/crc/crc16"],
           ["fs/mbcache"], ["fs/jbd2/jbd2"], ["fs/ext4/ext4"], ["drivers/block/loop"], ["drivers/md/dm-mod"], ["drivers/md/md-mod"],
           ["drivers/md/raid1"]]


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


@contextlib.contextmanager
def lists_of(release):
    """apt's options to read that release of Debian instead of the machine's own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.makedirs(folder + "/lists/partial")
        with open(folder + "/sources.list", "w") as file:
            file.write("deb [signed-by=%s] %s %s main\n" % (KEYRING, MIRROR, release))
        options = ["Dir::Etc::SourceList=%s/sources.list" % folder, "Dir::Etc::SourceParts=-", "Dir::State::Lists=%s/lists" % folder,
                   "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=", "Acquire::Check-Valid-Until=false", "Acquire::Languages=none"]
        options = [word for option in options for word in ("-o", option)]
        sh("apt-get", *options, "-qq", "update")
        yield options


def parts_of(package, options):
    """The packages that make up the kernel which the package stands for."""
    depends = sh("apt-cache", *options, "depends", package)
    name = re.search(r"Depends: (linux-image-\S+)", depends)
    if not name:
        raise Missing("no package %s in apt's lists: apt-get update" % package)
    more = re.findall(r"Depends: (linux-(?:base|binary|modules)-\S+)", sh("apt-cache", *options, "depends", name.group(1)))
    return [name.group(1), *more]


def unpack(folder, package):
    wanted = ["./boot/vmlinuz-*", "*/vmlinuz", "*/modules.builtin"] + ["*/kernel/%s.ko*" % place for places in MODULES for place in places]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-x", "-C", folder, "--wildcards", *wanted], stdin=tar.stdout, stderr=subprocess.DEVNULL, check=False)
    os.unlink(package)


def as_before(folder):
    """Since Linux 7.2 packages have the kernel beside its modules, in /usr."""
    if os.path.isdir(folder + "/usr/lib"):
        os.rename(folder + "/usr/lib", folder + "/lib")
        os.rmdir(folder + "/usr")
    for path in glob.glob(folder + "/lib/modules/*/vmlinuz"):
        os.makedirs(folder + "/boot", exist_ok=True)
        os.rename(path, folder + "/boot/vmlinuz-" + os.path.basename(os.path.dirname(path)))


def fetch(folder, package, options=()):
    """Kept in `folder` for the next time."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        os.chmod(temporary, 0o777) # apt fetches as a user of its own
        sh("apt-get", *options, "download", "-qq", *parts_of(package, options), cwd=temporary)
        for archive in glob.glob(temporary + "/*.deb"):
            unpack(temporary, archive)
        as_before(temporary)
        for packed in glob.glob(temporary + "/lib/modules/**/*.ko.xz", recursive=True):
            sh("xz", "-d", packed)
        for part in os.listdir(temporary):
            os.rename(temporary + "/" + part, folder + "/" + part)


class Kernel:
    """`folder`: where it is looked for and kept; `instead`: another one, that holds boot/ and lib/modules/; `release`: of Debian, if not
    the machine's."""

    def __init__(self, folder, package, instead=None, release=None):
        folder = instead or folder
        if not self.find(folder):
            if instead:
                raise Missing("not all of a kernel in %s" % folder)
            shutil.rmtree(folder, ignore_errors=True) # what another version of this file left
            os.makedirs(folder)
            try:
                with lists_of(release) if release else contextlib.nullcontext(()) as options:
                    fetch(folder, package, options)
            except (OSError, RuntimeError, ValueError) as error:
                raise Missing("no kernel in %s and none to be had: %s" % (folder, error)) from error
            if not self.find(folder):
                raise Missing("the kernel's package has not all of %s" % " ".join(places[0] for places in MODULES))

    def find(self, folder):
        kernels = sorted(glob.glob(folder + "/boot/vmlinuz-*"))
        self.path = kernels[-1] if kernels else ""
        self.release = os.path.basename(self.path)[len("vmlinuz-"):]
        home = folder + "/lib/modules/%s/" % self.release
        if not self.path or not os.path.exists(home + "modules.builtin"):
            return False
        with open(home + "modules.builtin") as file:
            builtin = set(file.read().split())
        self.modules = []
        for places in MODULES:
            there = [home + "kernel/%s.ko" % place for place in places if os.path.exists(home + "kernel/%s.ko" % place)]
            if there:
                self.modules += [path for path in there[:1] if path not in self.modules]
            elif not any("kernel/%s.ko" % place in builtin for place in places):
                return False
        return True
