# SPDX-License-Identifier: Apache-2.0
"""What a virtual machine boots from besides its kernel: an initramfs of busybox, the kernel's modules for the network and programs of
this machine with the libraries that they need."""
import glob, os, re, shutil, subprocess, sys, sysconfig

from vm_kernel import sh

HERE = os.path.dirname(os.path.abspath(__file__))


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
