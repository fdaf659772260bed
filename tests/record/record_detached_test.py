#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work that a recorded command set going and nobody waited for: a job behind two forks, and a server that got a message which asks for
no answer. The programs say themselves how long they computed."""
import glob
import html
import json
import os
import re
import socket
import subprocess

from recording import LIMIT_S, RecordTest, main, program

SOURCE = r"""#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static long cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}
__attribute__((noinline)) static void compute(void)
{
    for (long until = cpu_ns() + 250000000L; cpu_ns() < until;)
        for (int i = 0; i < 10000; i++)
            sink = sink * 31 + (unsigned long)i;
}
static void say(const char *name, long first, long second)
{
    char made[64];
    snprintf(made, sizeof(made), "%s.new", name);
    FILE *file = fopen(made, "w");
    fprintf(file, "%ld %ld\n", first, second);
    fclose(file);
    rename(made, name);
}
static int connected(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        exit(9);
    return fd;
}
static void wait_for(const char *name)
{
    while (access(name, F_OK))
        usleep(5000);
}
static void serve(int listener)
{
    char what;
    int fd = accept(listener, NULL, NULL);
    if (read(fd, &what, 1) != 1)
        exit(8);
    long since = cpu_ns();
    compute();
    say("served", cpu_ns() - since, 0);
}
int main(int argc, char **argv)
{
    int port = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(argv[1], "job")) {
        usleep(700000); /* for whoever reads how this program is unwound */
        compute();
        say("job-done", cpu_ns(), 0);
    } else if (!strcmp(argv[1], "server")) {
        serve(port);
    } else if (!strcmp(argv[1], "client")) {
        int fd = connected(port);
        usleep(700000);
        if (write(fd, "n", 1) != 1)
            return 1;
        wait_for("served");
    }
    return 0;
}
"""


class Detached(RecordTest):
    def build(self, *names):
        subprocess.run(["cc", "-g", "-O1", "-o", self.path(names[0]), self.write("work.c", SOURCE)], check=True)
        for name in names[1:]:
            os.link(self.path(names[0]), self.path(name))

    def told(self, name):
        with open(self.path(name), encoding="ascii") as file:
            return [int(word) for word in file.read().split()]

    def ran_ns(self, process):
        """Of the detached work that stands on that process: what ran."""
        done = subprocess.run([program("wakepath"), "query", "--store", self.store, "--aggregate", "main", "--detached", "--process", process,
                               "--by", "category", "--format", "json"], check=True, capture_output=True, timeout=LIMIT_S)
        rows = {row["category"]: row["ns"] for row in json.loads(done.stdout)["releases"][0]["rows"]}
        return rows.get("understood_functions", 0) + rows.get("running_not_sampled", 0)

    def started(self):
        """(started by, through, how, worked) of each row of the page."""
        path, = glob.glob(os.path.join(self.out, "*", "main", "detached.html"))
        with open(path, encoding="utf-8") as file:
            table = re.search(r'<table id="started".*?</table>', file.read(), re.S).group(0)
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr.*?</tr>", table, re.S)[1:]]
        return [tuple(html.unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in row[:4]) for row in rows]

    def test_a_job_behind_two_forks(self):
        self.build("job")
        self.record(["sh", "-c", "( ./job job & ); while ! [ -e job-done ]; do sleep 0.05; done; sleep 0.2"])
        ran, told = self.ran_ns("job"), self.told("job-done")[0]
        self.assertGreater(ran, 0.9 * told)
        self.assertLess(ran, 1.1 * told)
        self.assertIn(("sh", "fork", "job"), [(row[0], row[2], row[3]) for row in self.started()])

    def test_a_message_that_asks_for_no_answer(self):
        self.build("server", "client")
        with socket.socket() as listener:
            for port in range(20000, 21000):  # below those that clients get: who serves is known
                try:
                    listener.bind(("127.0.0.1", port))
                    break
                except OSError:
                    pass
            listener.listen()
            os.dup2(listener.fileno(), 100)
        server = subprocess.Popen([self.path("server"), "server", "100"], cwd=self.folder, pass_fds=[100])
        try:
            self.record([self.path("client"), "client", str(port)])
            self.assertEqual(server.wait(LIMIT_S), 0)
        finally:
            os.close(100)
            server.kill()
            server.wait()
        hers = self.told("served")[0]
        ran = self.ran_ns("server")
        self.assertGreater(ran, 0.9 * hers)
        self.assertLess(ran, 1.1 * hers)
        self.assertIn(("client", "–", "message", "server"), self.started())


if __name__ == "__main__":
    main()
