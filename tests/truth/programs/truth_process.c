/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_process OUT tree|vfork|timer|poll|fsync|preempted [FOLDER [CPU]]: what a process waits for that is no message.
 *   tree       children and grandchildren that work and sleep, and commands
 *   vfork      commands by vfork
 *   timer      sleeps, timers and waits that time out
 *   poll       while (!done) poll(5 ms)
 *   fsync      synchronous writes to the folder, on that CPU
 *   preempted  a neighbour on the same CPU
 */
#include "truth.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void wait_for(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child || status)
        truth_die("a child");
}

static void grow_tree(struct truth *truth)
{
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        if (!child) {
            truth_name("child");
            truth_busy(truth, TRUTH_BASE ";child", 5000);
            truth_sleep(truth, TRUTH_BASE ";child", 5000);
            pid_t grandchild = fork();
            if (!grandchild) {
                truth_name("grandchild");
                truth_settle();
                truth_busy(truth, TRUTH_BASE ";child;grandchild", 5000);
                truth_sleep(truth, TRUTH_BASE ";child;grandchild", 5000);
                _exit(0);
            }
            wait_for(grandchild);
            _exit(0);
        }
        wait_for(child);
        truth_busy(truth, TRUTH_BASE, 1000);
    }
}

static void run_commands(struct truth *truth, bool with_vfork)
{
    for (unsigned i = 0; i < 15; i++) {
        pid_t child = with_vfork ? vfork() : fork();
        if (!child) {
            execl("/bin/sleep", "sleep", "0.03", (char *)NULL);
            _exit(127);
        }
        wait_for(child);
        truth_add(truth, TRUTH_BASE ";sleep", TRUTH_SLEEP, 30000000);
        truth_busy(truth, TRUTH_BASE, 2000);
    }
}

static void run_timers(struct truth *truth)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    int never[2];
    struct itimerspec every = {.it_interval.tv_nsec = 5000000, .it_value.tv_nsec = 5000000};
    if (fd < 0 || pipe(never) || timerfd_settime(fd, 0, &every, NULL))
        truth_die("timerfd");
    for (unsigned i = 0; i < 50; i++) {
        uint64_t expired;
        truth_sleep(truth, TRUTH_BASE, 5000);
        struct truth_mark mark = truth_now();
        struct pollfd wanted = {never[0], POLLIN, 0};
        poll(&wanted, 1, 7);
        truth_since(truth, TRUTH_BASE, TRUTH_TIMEOUT, mark);
        truth_get(fd, &expired, sizeof(expired)); /* what is left of it: at once */
        mark = truth_now();
        truth_get(fd, &expired, sizeof(expired));
        truth_since(truth, TRUTH_BASE, TRUTH_TIMEOUT, mark);
        truth_busy(truth, TRUTH_BASE, 500);
    }
}

static void poll_in_loop(struct truth *truth)
{
    int ask[2], answer[2];
    if (pipe(ask) || pipe(answer))
        truth_die("pipe");
    pid_t child = fork();
    if (!child) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        truth_name("server");
        truth_pin(1);
        close(ask[1]);
        while (truth_get(ask[0], &byte, 1)) {
            truth_settle();
            truth_busy(truth, TRUTH_BASE ";server", 5000);
            truth_sleep(truth, TRUTH_BASE ";server", 6000);
            truth_put(answer[1], &byte, 1);
        }
        _exit(0);
    }
    truth_pin(0);
    for (unsigned i = 0; i < 100; i++) {
        char byte = 0;
        struct pollfd wanted = {answer[0], POLLIN, 0};
        truth_put(ask[1], &byte, 1);
        while (poll(&wanted, 1, 5) != 1)
            ;
        truth_get(answer[0], &byte, 1);
        truth_busy(truth, TRUTH_BASE, 300);
    }
    close(ask[1]);
}

static void write_much(struct truth *truth, const char *folder)
{
    int fd = truth_file(folder);
    for (unsigned i = 0; i < 300; i++) { /* long against the microseconds that a switch takes, which its clock does not have */
        truth_disk(truth, TRUTH_BASE, fd, TRUTH_DISK_KIB);
        truth_busy(truth, TRUTH_BASE, 1000);
    }
}

static void share_a_cpu(struct truth *truth)
{
    truth_pin(0);
    for (unsigned i = 0; i < 200; i++)
        truth_busy(truth, TRUTH_BASE, 5000);
}

/* Works on the first CPU until it is ended. */
static pid_t start_neighbour(void)
{
    pid_t neighbour = fork();
    if (neighbour)
        return neighbour;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct truth *unread = truth_create();
    truth_name("neighbour");
    truth_pin(0);
    for (;;)
        truth_busy(unread, "neighbour", 100000);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *what = argv[2];
    struct truth *truth = truth_create();
    pid_t neighbour = !strcmp(what, "preempted") ? start_neighbour() : 0;
    usleep(100000);
    struct truth_mark begin = truth_base_begin();
    if (!strcmp(what, "tree")) {
        grow_tree(truth);
        run_commands(truth, false);
    } else if (!strcmp(what, "vfork")) {
        run_commands(truth, true);
    } else if (!strcmp(what, "timer")) {
        run_timers(truth);
    } else if (!strcmp(what, "poll")) {
        poll_in_loop(truth);
    } else if (!strcmp(what, "fsync") && argc > 3) {
        if (argc > 4)
            truth_pin((unsigned)atoi(argv[4]));
        write_much(truth, argv[3]);
    } else if (neighbour) {
        share_a_cpu(truth);
    } else {
        return 2;
    }
    truth_base_end(truth, begin);
    if (neighbour)
        kill(neighbour, SIGKILL);
    truth_write(truth, argv[1]);
    return 0;
}
