# SPDX-License-Identifier: Apache-2.0
"""The programs of programs/tokio, built with Debian's crates (librust-tokio-dev)."""
import os
import shutil
import subprocess

CRATES = "/usr/share/cargo/registry"


def build(name, folder, has_lines=True):
    """The program in that folder; without has_lines as a release is built by itself: no inlined functions, no lines."""
    target = os.path.join(folder, "target")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "tokio")
    profile = [] if has_lines else ["--config", "profile.release.debug=0", "--config", 'profile.release.strip="debuginfo"']
    subprocess.run(["cargo", "build", "--quiet", "--offline", "--release", "--target-dir", target, "--bin", name, *profile,
                    "--config", 'source.crates-io.replace-with="debian"', "--config", f'source.debian.directory="{CRATES}"'],
                   check=True, cwd=shutil.copytree(source, os.path.join(folder, "tokio")))
    return os.path.join(target, "release", name)
