#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corpus.py unpack DIR: the inputs of each target into DIR/TARGET: those with a name from corpus/TARGET, and those that libFuzzer kept from
corpus/TARGET.tar.zst.
corpus.py pack BUILD_DIR [FOUND_DIR] [TARGET]...: makes those archives again with the libFuzzer programs of a build: of what is in them and in
FOUND_DIR/TARGET, the fewest inputs that reach all that the named ones do not."""
import glob, hashlib, io, os, shutil, subprocess, sys, tarfile, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = HERE + "/corpus"
INPUT_LIMIT = 1 << 22  # as corpus_run.c


def targets():
    return sorted(name for name in os.listdir(CORPUS) if os.path.isdir(f"{CORPUS}/{name}"))


def archived(name):
    """(file name, bytes) of each input of a target's archive."""
    path = f"{CORPUS}/{name}.tar.zst"
    if not os.path.exists(path):
        return
    raw = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:
            if member.isfile() and member.size <= INPUT_LIMIT:
                yield os.path.basename(member.name), archive.extractfile(member).read()


def unpack(folder, name):
    shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
    shutil.copytree(f"{CORPUS}/{name}", f"{folder}/{name}")
    for file_name, data in archived(name):
        with open(f"{folder}/{name}/{file_name}", "wb") as file:
            file.write(data)


def write_archive(name, folder):
    """Alike for alike inputs: in order, nobody's, of no time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(glob.glob(folder + "/*")):
            with open(path, "rb") as file:
                data = file.read()
            member = tarfile.TarInfo(hashlib.sha1(data).hexdigest())
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    path = f"{CORPUS}/{name}.tar.zst"
    subprocess.run(["zstd", "-19", "-qfo", path], input=out.getvalue(), check=True)


def pack(build, found, name):
    with tempfile.TemporaryDirectory(prefix="wakepath-corpus-") as holder:
        unpack(holder, name)
        kept = holder + "/kept"
        shutil.copytree(f"{CORPUS}/{name}", kept)
        sources = [f"{holder}/{name}"] + ([f"{found}/{name}"] if found and os.path.isdir(f"{found}/{name}") else [])
        subprocess.run([f"{build}/bin/fuzz_{name}", "-merge=1", "-rss_limit_mb=2048", kept, *sources], check=True, stderr=subprocess.DEVNULL)
        for named in os.listdir(f"{CORPUS}/{name}"):
            os.unlink(f"{kept}/{named}")
        count = len(os.listdir(kept))
        before = sum(1 for _ in archived(name))
        if count:
            write_archive(name, kept)
        print(f"{name}: {before} -> {count} inputs")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "unpack":
        for name in targets():
            unpack(sys.argv[2], name)
    elif len(sys.argv) >= 3 and sys.argv[1] == "pack":
        for name in sys.argv[4:] or targets():
            pack(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None, name)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
