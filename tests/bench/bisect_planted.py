#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How often `wakepath bisect` names the commit that was planted: histories of 16 commits, one of which makes a small program slower.

bisect_planted.py BIN [--runs N] [--skip N] [--kind lock|fsync|remote]... [--repeat N]

Kinds: a lock that one thread holds longer while another waits for it, one more fsync for each item, a server that answers later.
Traces the live kernel, so it needs root. Prints JSON: of each kind the runs, those that named the commit, and the recordings taken."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

COMMITS = 16
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static void *hold(void *unused)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&ledger);
        usleep(HOLD_US);
        pthread_mutex_unlock(&ledger);
        usleep(500);
    }
    return unused;
}
static void locked(void)
{
    pthread_t other;
    pthread_create(&other, NULL, hold, NULL);
    for (int i = 0; i < 20; i++) {
        usleep(600);
        pthread_mutex_lock(&ledger);
        pthread_mutex_unlock(&ledger);
    }
    pthread_join(other, NULL);
}
static void append(void)
{
    int fd = open("items", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char item[4096] = "x";
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < SYNCS; k++)
            if (write(fd, item, sizeof(item)) < 0 || fsync(fd))
                abort();
}
static void serve(int listener)
{
    int fd = accept(listener, NULL, NULL);
    char c;
    while (read(fd, &c, 1) == 1) {
        usleep(SERVER_US);
        if (write(fd, &c, 1) != 1)
            break;
    }
    _exit(0);
}
static void ask(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    char c = 0;
    if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1) || getsockname(listener, (struct sockaddr *)&at, &size))
        abort();
    if (!fork()) {
        close(fd); /* or the server never reads an end */
        serve(listener);
    }
    if (connect(fd, (struct sockaddr *)&at, size))
        abort();
    for (int i = 0; i < 20; i++)
        if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
            abort();
    close(fd);
    wait(NULL);
}
int main(void)
{
    locked();
    append();
    ask();
    return 0;
}
"""
NORMAL = {"HOLD_US": 1000, "SYNCS": 1, "SERVER_US": 1000}
PLANTED = {"lock": {"HOLD_US": 2500}, "fsync": {"SYNCS": 3}, "remote": {"SERVER_US": 2500}}


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@b", *words], check=True, stdout=subprocess.DEVNULL)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def make_history(folder, kind, planted):
    git(folder, "init", "-q", "-b", "main")
    write(f"{folder}/bench.c", PROGRAM)
    for number in range(COMMITS):
        values = {**NORMAL, **(PLANTED[kind] if number >= planted else {})}
        write(f"{folder}/build.sh", f"# {number}\ncc -g -O1 -pthread " + " ".join(f"-D{name}={value}" for name, value in values.items()) +
              " -o bench bench.c\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"step {number}")


def search(options, kind, planted):
    folder = tempfile.mkdtemp(prefix="wp-bisect-", dir="/var/tmp")
    try:
        os.mkdir(f"{folder}/repo")
        make_history(f"{folder}/repo", kind, planted)
        done = subprocess.run([f"{options.bin}/wakepath", "bisect", "--git", f"{folder}/repo", "--out", f"{folder}/out", "--quiet", "--json",
                               "--good", f"HEAD~{COMMITS - 1}", "--repeat", str(options.repeat), "--build", "sh build.sh", "--", "./bench"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return {"named": None, "why": done.stderr.strip()}
        found = json.loads(done.stdout)
        return {"named": found["first"]["subject"], "sure": found["sure"], "figure": found["figure"], "recordings": found["recordings"]}
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--skip", type=int, default=0, help="runs of each kind that were made before")
    parser.add_argument("--kind", action="append", choices=PLANTED)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    result = {}
    for kind in options.kind or PLANTED:
        chosen = random.Random(kind)
        runs = []
        for planted in [chosen.randrange(1, COMMITS) for _ in range(options.skip + options.runs)][options.skip:]:
            runs.append({"planted": f"step {planted}", **search(options, kind, planted)})
            print(kind, runs[-1], file=sys.stderr, flush=True)
        right = sum(run["named"] == run["planted"] for run in runs)
        result[kind] = {"runs": len(runs), "right": right, "recordings": sum(run.get("recordings", 0) for run in runs)}
    print(json.dumps(result, indent=1))
    return any(kind["right"] < kind["runs"] for kind in result.values())


if __name__ == "__main__":
    sys.exit(main())
