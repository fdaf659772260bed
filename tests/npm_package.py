# SPDX-License-Identifier: Apache-2.0
"""Packages of npm's registry, each of one version with one digest, kept in a folder. Nothing of them is installed: they are unpacked at most."""
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile


class Missing(Exception):
    """It cannot be had here."""


def archive(name, version, sha256, cache):
    """The path of the package's archive."""
    file = f"{name.replace('@', '').replace('/', '-')}-{version}.tgz"
    path = f"{cache}/{file}"
    if not os.path.exists(path):
        os.makedirs(cache, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            try:
                done = subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, capture_output=True, text=True,
                                      timeout=240, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Missing(f"{name} {version} is not here, and npm cannot fetch it: {error}") from error
            if done.returncode:
                raise Missing(f"{name} {version} is not here, and npm cannot fetch it: {done.stderr.strip()[-300:]}")
            os.replace(f"{folder}/{file}", path)
    with open(path, "rb") as data:
        digest = hashlib.sha256(data.read()).hexdigest()
    if digest != sha256:
        os.unlink(path)
        raise SystemExit(f"{name} {version} is not what it was: sha256 {digest}")
    return path


def unpack(path, prefix, folder):
    """The files below `prefix` of the archive, in `folder` without it."""
    with tarfile.open(path) as tar:
        for member in tar:
            if not member.isfile() or not member.name.startswith(prefix) or ".." in member.name.split("/"):
                continue
            target = os.path.join(folder, member.name[len(prefix):])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with tar.extractfile(member) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file)
