# SPDX-License-Identifier: Apache-2.0
"""Other releases of Debian as folders: packages unpacked by mmdebstrap, nothing of them configured; their programs run by chroot
in a mount namespace of their own. So a test has language runtimes that the machine's release does not."""
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile

MIRROR = "http://deb.debian.org/debian"


class Missing(Exception):
    """It cannot be had here."""


def unpacked(suite, packages, cache):
    """The path of a folder with the packages of the suite ("trixie") and all they need, made once and kept in `cache`."""
    name = f"{suite}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:12]}"
    root = f"{cache}/{name}"
    os.makedirs(cache, exist_ok=True)
    with open(f"{root}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(root):
            folder = tempfile.mkdtemp(prefix=name, dir=cache)
            # A mirror that stands still has a signature that has expired, which is no harm here.
            made = subprocess.run(["mmdebstrap", "--variant=extract", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
                                   '--aptopt=Acquire::Check-Valid-Until "false"', f"--include={','.join(packages)}", suite, folder, MIRROR],
                                  capture_output=True, text=True, timeout=400, check=False)
            if made.returncode:
                shutil.rmtree(folder, ignore_errors=True)
                raise Missing(f"packages of {suite} are not here, and {MIRROR} does not give them: {made.stderr.strip()[-300:]}")
            for place in ("proc", "dev", "mnt", "tmp"):
                os.makedirs(f"{folder}/{place}", exist_ok=True)
            os.chmod(folder, 0o755)
            os.rename(folder, root)
    return root


def command(root, folder, arguments):
    """The command that runs `arguments` in the root, as the process that is started itself. `folder` is its /mnt."""
    script = ('mount --bind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind "$1" "$0/mnt" && shift && '
              'exec env LC_ALL=C.UTF-8 chroot "$0" "$@"')
    return ["unshare", "--mount", "sh", "-c", script, root, folder, *arguments]
