#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scene in which the commands of the manuals do what they say: docs_scene.py BIN PAGES_JSON, in mount and network namespaces of its
own (docs_test.py makes them). It has a store of real recordings wherever the pages look for one, daemons, users, names of hosts, and the
programs that are looked at; PAGES_JSON is {page: [command...]}. Prints {page: what went wrong}."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS, BIN, PAGES = os.path.abspath(sys.argv[1]), "/mnt", sys.argv[2]
RELEASES = ("v1", "v2", "v1.1", "v1.2", "v1.4", "v1.7", "v1.8-rc1", "v1.8")
SPARE = ("mail", "flamegraph.pl")  # other people's, which eat what they are given
PLAY = "for name in shop web nginx postgres cc1; do $name 0.15; done"
LIMIT_S = 240  # of what hangs
# What a page means by a time or a place that is not this scene's.
MEANT = (("--duration 30", "--duration 1"), ("..2026-11-20T12:00'", "..2099-01-01T00:00'"), ("2026-11-20T08:00", "2020-01-01T00:00"),
         ("2026-11-20T12:00", "2020-01-01T00:00"), ("2026-11-20T22:00", "2020-01-01T00:00"),
         ("--shard a --bind tcp://0.0.0.0", "--shard a --bind tcp://127.0.0.2"),
         ("--shard b --bind tcp://0.0.0.0", "--shard b --bind tcp://127.0.0.3"))


def run(line, folder, want=(0,)):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)
    if done.returncode == 1 and ": error: nothing that was recorded fits --" in done.stderr:
        return done.stdout  # the scene does not have the processes that pages speak of
    if done.returncode not in want:
        raise RuntimeError(f"{line}\nends with {done.returncode}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def under(text, path):
    """The file as it is, with more at its end, in this namespace alone."""
    with open(path, encoding="utf-8") as file:
        write(f"{top}/mine{path}", file.read() + text)
    run(f"mount --bind {top}/mine{path} {path}", "/")


class Daemon:
    def __init__(self, line, folder):
        self.line, self.log = line, tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(["sh", "-c", "exec " + line], cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        told = "listening endpoint" if "wakepath-aggregator" in line else "collecting source"
        for _ in range(LIMIT_S * 10):
            if told in self.text():
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"{line}: does not begin: {self.text()[-1500:]}")

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        if self.process.wait(LIMIT_S):
            raise RuntimeError(f"{self.line}\nends with {self.process.returncode}: {self.text()[-1500:]}")


def places():
    run("ip link set lo up", "/")
    run(f"mount --bind {shlex.quote(PROGRAMS)} {BIN}", "/")  # they may lie below what the scene covers
    for path in ("/etc/wakepath", "/var/lib/wakepath", "/var/lib/wakepath-collector", "/run/wakepath", "/srv", "/media", "/root"):
        os.makedirs(path, exist_ok=True)
        run(f"mount -t tmpfs scene {path}", "/")
    under("127.0.0.1 aggr agg web1 collect\n127.0.0.2 a.example\n127.0.0.3 b.example\n", "/etc/hosts")
    if subprocess.run(["id", "wakepath"], capture_output=True, check=False).returncode:
        under("wakepath:x:7447:7447::/nonexistent:/bin/false\n", "/etc/passwd")
        under("wakepath:x:7447:\n", "/etc/group")
    for name in ("shop", "web", "nginx", "postgres", "cc1"):
        shutil.copy("/bin/sleep", f"{top}/bin/{name}")
    for name in SPARE:
        if not shutil.which(name):
            write(f"{top}/bin/{name}", "#!/bin/sh\ncat > /dev/null\n")
            os.chmod(f"{top}/bin/{name}", 0o755)
    write(f"{top}/bin/CMD", "#!/bin/sh\nshop 0.1\n")
    os.chmod(f"{top}/bin/CMD", 0o755)


def store():
    """A release of two hosts, recorded; the others are the same, filed under their names."""
    for host in ("host-1", "host-2", "late"):
        collector = Daemon(f"wakepath-collector --no-config --output {host}.capture --hostname {host} --release v1.4", top)
        run(PLAY, top)
        collector.end()
    rules = " ".join(f"--aggregate {name}=comm={comm}" for name, comm in (("main", "sh"), ("web", "web"), ("shop", "shop")))
    for release in RELEASES:
        for host in ("host-1", "host-2") if release == "v1.8" else ("host-1",):
            run(f"wakepath-store import {host}.capture --into ROOT --release {release} --force {rules} --shard {host}", top)
    for path in ("/var/lib/wakepath/store", "/media/usb/store", "/srv/host-a"):
        shutil.copytree(f"{top}/ROOT", path)
    os.makedirs("/srv/host-b")
    shutil.copytree(f"{top}/ROOT", "/srv/host-b", dirs_exist_ok=True)


def folder_of(page):
    """Where its commands are typed."""
    folder = f"{top}/at/{re.sub('[^a-z]', '_', page)}"
    for name in ("hosts", "allowed.d"):
        os.makedirs(f"{folder}/{name}")
    shutil.copytree(f"{top}/ROOT", f"{folder}/ROOT")
    shutil.copytree(f"{top}/wakepath-report/store", f"{folder}/OTHER_STORE")
    shutil.copy(f"{top}/late.capture", f"{folder}/run.capture")
    write(f"{folder}/Makefile", "all:\n\tshop 0.1\n\tcc1 0.1\n")
    shutil.copytree(f"{top}/wakepath-report", f"{folder}/wakepath-report")
    run("git init -q -b main . && git config user.name scene && git config user.email scene@example.org && for tag in v1.7 v1.8-rc1 v1.8; "
        "do git commit -q --allow-empty -m $tag && git tag $tag; done", folder)
    return folder


def keys_arrive(folder):
    """What the pages tell an operator to copy from host to host."""
    os.makedirs("/etc/wakepath/allow", exist_ok=True)
    for path, into in (("/etc/wakepath/collector.pub", "/etc/wakepath/allow"), (f"{folder}/a.pub", f"{folder}/allowed.d"),
                       (f"{folder}/b.pub", f"{folder}/allowed.d")):
        if os.path.exists(path):
            shutil.copy(path, into)


def play(page, lines):
    folder, daemons = folder_of(page), []
    run("mount -t tmpfs scene /etc/wakepath", "/")  # each page begins without keys
    for line in lines:
        for said, meant in MEANT:
            line = line.replace(said, meant)
        if re.match(r"(setpriv .* )?wakepath-(aggregator|collector) ", line) and not re.search(r"--(duration|help|probe|check|print)", line):
            daemons.append(Daemon(line, folder))
        elif line != "echo $?":
            run(line, folder, (0, 1) if re.match("wakepath (status|doctor)", line) else (0, 2) if "reporter check" in line else (0,))
        keys_arrive(folder)
    for daemon in reversed(daemons):
        daemon.end()


def main():
    with open(PAGES, encoding="utf-8") as file:
        pages = json.load(file)
    os.environ.update(PATH=f"{BIN}:{top}/bin:/usr/sbin:/sbin:{os.environ['PATH']}", HOME=top, LC_ALL="C", WAKEPATH_COLLECTOR_OVERHEAD_LIMIT="none")
    wrong = {}
    places()
    store()
    run("wakepath record --quiet -- sh -c 'cc1 0.1'", top)
    aggregator = Daemon("wakepath-aggregator --no-config --bind ipc:///run/wakepath/events.sock --store live --metrics 127.0.0.1:9470", top)
    os.chmod("/run/wakepath/events.sock", 0o666)
    nginx = subprocess.Popen(["nginx", "600"])
    collector = Daemon("wakepath-collector --no-config --connect ipc:///run/wakepath/events.sock --metrics 127.0.0.1:9469", top)
    for page, lines in pages.items():
        began = time.monotonic()
        try:
            play(page, lines)
        except (RuntimeError, subprocess.SubprocessError, OSError) as error:
            wrong[page] = str(error)
        print(f"{time.monotonic() - began:6.1f} s {page}: {len(lines)} commands", file=sys.stderr, flush=True)
    nginx.kill()
    nginx.wait()
    collector.end()
    aggregator.end()
    print(json.dumps(wrong))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="wakepath-scene-", dir="/var/tmp") as top:
        os.chmod(top, 0o755)
        os.mkdir(top + "/bin")
        main()
