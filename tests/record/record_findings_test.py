#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording says first of programs with a planted fault: who holds which lock, where it is waited for, what did not answer."""
import os
import signal
import socket
import subprocess
import time

from recording import LIMIT_S, RecordTest, main, wait_for

DEADLOCK = """#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, prices = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *reserve(void *arg)
{
    pthread_mutex_lock(&stock);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&prices);
    return arg;
}
static void *revalue(void *arg)
{
    pthread_mutex_lock(&prices);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&stock);
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t threads[2];
    usleep(700000); /* for whoever reads how this program is unwound */
    alarm(argc > 1); /* or none */
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&threads[0], 0, reserve, 0);
    pthread_create(&threads[1], 0, revalue, 0);
    pthread_join(threads[0], 0);
    return 0;
}
"""
OF_THE_MACHINE = ("scheduler", "involuntary", "processor")
HELD = """#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void publish(void)
{
    usleep(4000);
}
__attribute__((noinline)) static void insert(void)
{
    pthread_mutex_lock(&table);
    publish();
    pthread_mutex_unlock(&table);
}
static void *work(void *arg)
{
    for (int i = 0; i < 100; i++)
        insert();
    return arg;
}
int main(void)
{
    pthread_t threads[4];
    usleep(700000); /* for whoever reads how this program is unwound */
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""


def calls(pid):
    """The system call each thread of the process is in."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/syscall", encoding="ascii") as file:
            found.append(file.read().split()[0])
    return found


class Findings(RecordTest):
    def build(self, name, source):
        path = self.path(name)
        subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", path, self.write(name + ".c", source)], check=True)
        return path

    def said(self):
        return [(row["kind"], row["sentence"]) for row in self.summary()["explanations"]]

    def command_of(self, process, name):
        """The recorded command, once it runs its program."""
        def found():
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                for pid in file.read().split():
                    try:
                        with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                            if comm.read().strip() == name:
                                return int(pid)
                    except OSError:
                        pass
            return 0
        wait_for(f"{name} to run", found)
        return found()

    def test_a_deadlock(self):
        process = self.start([self.build("hang", DEADLOCK)])
        pid = self.command_of(process, "hang")
        wait_for("its threads to sleep", lambda: calls(pid) == ["202"] * 3)
        end = time.monotonic() + 1
        wait_for("a hang that a person would notice", lambda: time.monotonic() > end)
        os.kill(pid, signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), 128 + signal.SIGINT, self.stderr())
        self.assertEqual([kind for kind, _ in self.said()].count("deadlock"), 1, self.said())
        kind, sentence = self.said()[0]
        self.assertEqual(kind, "deadlock", self.said())
        for words in ("`reserve` holds `stock` and waits for `prices` (hang.c:9)", "until SIGINT from python3.",
                      "`revalue` holds `prices` and waits for `stock` (hang.c:16)"):
            self.assertIn(words, sentence)

    def test_a_deadlock_that_a_timer_ends(self):
        """Whom the timer's interrupt met has nothing to do with it."""
        self.record([self.build("hang", DEADLOCK), "alarm"], want=128 + signal.SIGALRM)
        sentences = [sentence for kind, sentence in self.said() if kind == "deadlock"]
        self.assertEqual(len(sentences), 1, self.said())
        self.assertIn("until SIGALRM from a timer.", sentences[0])

    def test_a_lock_that_is_held_while_its_holder_sleeps(self):
        self.record([self.build("held", HELD)])
        kind, sentence = [row for row in self.said() if row[0] not in OF_THE_MACHINE][0]
        self.assertEqual(kind, "lock", self.said())
        self.assertRegex(sentence, r" for `table` in `insert` \(held\.c:10\), in \d threads of `work`, \d+ times; it is held during `usleep` "
                                   r"in `publish` \(held\.c:6\)\. Lock held across I/O, certain: ")

    def test_nobody_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            process = self.start(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}; read -u 3"])
            server.accept()[0].detach()
            pid = self.command_of(process, "bash")
            wait_for("it to read", lambda: calls(pid) == ["0"])
            end = time.monotonic() + 1
            wait_for("a wait that a person would notice", lambda: time.monotonic() > end)
            os.kill(pid, signal.SIGTERM)
            self.assertEqual(process.wait(LIMIT_S), 128 + signal.SIGTERM, self.stderr())
        kind, sentence = self.said()[0]
        self.assertEqual(kind, "interrupted", self.said())
        self.assertIn(f" in `read` on tcp 127.0.0.1:{port}", sentence)
        self.assertIn(": nobody answered until SIGTERM from python3 ended it.", sentence)

    def test_who_sleeps_all_the_time_and_who_is_not_there(self):
        with subprocess.Popen([self.build("hang", DEADLOCK)]) as hang:
            wait_for("its threads to sleep", lambda: calls(hang.pid) == ["202"] * 3)
            self.record(None, "--duration", "0.5", "--aggregate", f"x=pid={hang.pid}")
            hang.kill()
        self.assertEqual(self.said()[0][0], "unended")
        self.assertRegex(self.said()[0][1], r"^hang is asleep for the whole [\d.]+ s in `futex`, and was when the recording ended\.$")
        self.record(None, "--duration", "0.2", "--aggregate", "x=comm=nosuch", "--out", self.path("none"), want=1)
        self.assertIn("no thread that was seen fits its selector", self.stderr())


if __name__ == "__main__":
    main()
