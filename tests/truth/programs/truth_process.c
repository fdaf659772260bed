/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_process OUT WHAT TURNS [FOLDER CPU | TRANSPORT]: what a process waits for that is no message.
 *   tree       children and grandchildren that work and sleep, and programs
 *   vfork      programs by vfork
 *   timer      sleeps, timers and waits that time out
 *   poll       while (!done) poll(5 ms), over pipe, unix or tcp
 *   fsync      synchronous writes to the folder, on that CPU
 *   preempted  a neighbour on the same CPU
 * truth_process nap FD DIARY WALL CPU DELAY: the program that tree and vfork execute, with its memory of the truth and
 * the mark before.
 */
#include "truth.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLLS 256u /* of one answer, the last ones */
#define NAP TRUTH_BASE ";exe"

struct stage {
    struct truth *truth;
    struct truth_party base;
    int memory; /* of the truth */
    unsigned turns;
    _Atomic uint32_t *diary; /* of the last child */
};

static void wait_for(const struct truth_party *party, pid_t child, const _Atomic uint32_t *diary)
{
    int status;
    struct truth_mark mark = truth_now(party);
    if (waitpid(child, &status, 0) != child || status)
        truth_die("a child");
    truth_waited(party, *diary, mark);
}

static void live(struct stage *stage)
{
    struct truth_party child = truth_born(stage->truth, TRUTH_BASE ";child", TRUTH_BASE);
    truth_name("child");
    stage->diary[0] = child.diary;
    truth_busy(&child, 5000);
    truth_sleep(&child, 15000);
    struct truth_mark mark = truth_now(&child);
    pid_t grandchild = fork();
    if (!grandchild) {
        struct truth_party party = truth_born(stage->truth, TRUTH_BASE ";child;grandchild", TRUTH_BASE ";child");
        truth_name("grandchild");
        stage->diary[1] = party.diary;
        truth_busy(&party, 5000);
        truth_sleep(&party, 15000);
        _exit(0);
    }
    truth_sent(&child, mark);
    wait_for(&child, grandchild, &stage->diary[1]);
    _exit(0);
}

static void grow_tree(struct stage *stage)
{
    for (unsigned i = 0; i < stage->turns; i++) {
        pid_t child = fork();
        if (!child)
            live(stage);
        wait_for(&stage->base, child, &stage->diary[0]);
        truth_busy(&stage->base, 1000);
    }
}

/* What a child of the base is before it calls itself as the program is the base's own, and another path of it. It does
 * so itself: when the call to execute it does, before or after a wait for a CPU, no clock says. */
static void execute(struct stage *stage)
{
    char words[5][24];
    struct truth_party party = truth_born(stage->truth, NAP, TRUTH_BASE);
    truth_name("exe");
    struct truth_mark mark = truth_now(&party);
    const uint64_t values[5] = {(uint64_t)stage->memory, party.diary, mark.wall_ns, mark.cpu_ns, mark.delay_ns};
    stage->diary[0] = party.diary;
    for (unsigned i = 0; i < 5; i++)
        snprintf(words[i], sizeof(words[i]), "%llu", (unsigned long long)values[i]);
    execl("/proc/self/exe", "exe", "nap", words[0], words[1], words[2], words[3], words[4], (char *)NULL);
    _exit(127);
}

static int take_nap(char **words)
{
    uint64_t values[5];
    for (unsigned i = 0; i < 5; i++)
        values[i] = strtoull(words[i], NULL, 10);
    struct truth *truth = truth_attach((int)values[0]);
    struct truth_party party = truth_executed(truth, NAP, (uint32_t)values[1],
        (struct truth_mark){.wall_ns = values[2], .cpu_ns = values[3], .delay_ns = values[4]});
    truth_sleep(&party, 60000);
    return 0;
}

static void run_program(struct stage *stage, bool with_vfork)
{
    struct truth_mark mark = truth_now(&stage->base);
    pid_t child = with_vfork ? vfork() : fork();
    if (!child)
        execute(stage);
    if (with_vfork)
        truth_waited(&stage->base, stage->diary[0], mark);
    wait_for(&stage->base, child, &stage->diary[0]);
    truth_busy(&stage->base, 2000);
}

static void run_programs(struct stage *stage, bool with_vfork)
{
    for (unsigned i = 0; i < stage->turns; i++)
        run_program(stage, with_vfork);
}

static void run_timers(struct stage *stage)
{
    const struct truth_party *base = &stage->base;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    int never[2];
    struct itimerspec every = {.it_interval.tv_nsec = 5000000, .it_value.tv_nsec = 5000000};
    if (fd < 0 || pipe(never) || timerfd_settime(fd, 0, &every, NULL))
        truth_die("timerfd");
    for (unsigned i = 0; i < stage->turns; i++) {
        uint64_t expired;
        truth_sleep(base, 5000);
        struct truth_mark mark = truth_now(base);
        struct pollfd wanted = {never[0], POLLIN, 0};
        poll(&wanted, 1, 7);
        truth_since(base, TRUTH_TIMEOUT, mark);
        truth_get(fd, &expired, sizeof(expired)); /* what is left of it: at once */
        mark = truth_now(base);
        truth_get(fd, &expired, sizeof(expired));
        truth_since(base, TRUTH_TIMEOUT, mark);
        truth_busy(base, 500);
    }
}

/* Two ends of each; [0] the server's, [1] the client's; each reads from .in and writes to .out. */
struct way {
    int in, out;
};

static void connect_tcp(struct way ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int door = socket(AF_INET, SOCK_STREAM, 0), here = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(door, (struct sockaddr *)&address, size) || listen(door, 1) ||
        getsockname(door, (struct sockaddr *)&address, &size) || connect(here, (struct sockaddr *)&address, size))
        truth_die("connect");
    ends[0].in = ends[0].out = accept(door, NULL, NULL);
    ends[1].in = ends[1].out = here;
}

static void make_way(struct way ends[2], const char *how)
{
    int ask[2], answer[2];
    if (!strcmp(how, "tcp")) {
        connect_tcp(ends);
    } else if (!strcmp(how, "unix")) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ask))
            truth_die("socketpair");
        ends[0].in = ends[0].out = ask[0];
        ends[1].in = ends[1].out = ask[1];
    } else {
        if (pipe(ask) || pipe(answer))
            truth_die("pipe");
        ends[0] = (struct way){ask[0], answer[1]};
        ends[1] = (struct way){answer[0], ask[1]};
    }
}

static void answer_polls(const struct stage *stage, struct way way)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("server");
    truth_pin(1);
    struct truth_party party = truth_join(stage->truth, TRUTH_BASE ";server");
    for (;;) {
        struct truth_mark mark = truth_now(&party);
        if (!truth_get(way.in, &byte, 1))
            _exit(0);
        truth_taken(&party, mark);
        truth_busy(&party, 5000);
        truth_sleep(&party, 6000);
        mark = truth_now(&party);
        truth_put(way.out, &byte, 1);
        truth_answered(&party, mark);
    }
}

static void poll_in_loop(struct stage *stage, struct way way)
{
    for (unsigned i = 0; i < stage->turns; i++) {
        struct truth_window windows[POLLS];
        unsigned polls = 0;
        char byte = 0;
        truth_put(way.out, &byte, 1);
        for (int ready = 0; ready != 1; polls++) {
            struct pollfd wanted = {way.in, POLLIN, 0};
            struct truth_mark mark = truth_now(&stage->base);
            ready = poll(&wanted, 1, 5);
            windows[polls % POLLS] = truth_slept(&stage->base, mark);
        }
        truth_get(way.in, &byte, 1);
        for (unsigned k = polls > POLLS ? polls - POLLS : 0; k < polls; k++)
            truth_read_diary(&stage->base, 1, windows[k % POLLS]);
        truth_busy(&stage->base, 300);
    }
}

static void write_much(struct stage *stage, const char *folder)
{
    int fd = truth_file(folder);
    for (unsigned i = 0; i < stage->turns;
         i++) { /* long against the microseconds that a switch takes, which its clock does not have */
        truth_disk(&stage->base, fd, TRUTH_DISK_KIB);
        truth_busy(&stage->base, 1000);
    }
}

static void share_a_cpu(struct stage *stage)
{
    truth_pin_always(0);
    for (unsigned i = 0; i < stage->turns; i++)
        truth_busy(&stage->base, 5000);
}

/* Works on the first CPU until it is ended. */
static pid_t start_neighbour(struct truth *truth)
{
    pid_t neighbour = fork();
    if (neighbour)
        return neighbour;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("neighbour");
    truth_pin_always(0);
    struct truth_party party = truth_join(truth, "neighbour");
    for (;;)
        truth_busy(&party, 100000);
}

/* Before the base begins: whom it will need, if anybody. */
static pid_t prepare(struct stage *stage, const char *what, const char *how, struct way *own)
{
    struct way ends[2];
    if (!strcmp(what, "preempted"))
        return start_neighbour(stage->truth);
    if (strcmp(what, "poll"))
        return 0;
    make_way(ends, how);
    *own = ends[1];
    pid_t server = fork();
    if (!server)
        answer_polls(stage, ends[0]);
    truth_pin(0);
    return server;
}

static void act(struct stage *stage, char **words, int count, struct way way)
{
    const char *what = words[0];
    if (!strcmp(what, "tree")) {
        grow_tree(stage);
        run_programs(stage, false);
    } else if (!strcmp(what, "vfork")) {
        run_programs(stage, true);
    } else if (!strcmp(what, "timer")) {
        run_timers(stage);
    } else if (!strcmp(what, "poll")) {
        poll_in_loop(stage, way);
    } else if (!strcmp(what, "fsync") && count > 2) {
        if (count > 3)
            truth_pin((unsigned)atoi(words[3]));
        write_much(stage, words[2]);
    } else {
        share_a_cpu(stage);
    }
}

int main(int argc, char **argv)
{
    struct stage stage;
    struct way way = {-1, -1};
    if (argc == 7 && !strcmp(argv[1], "nap"))
        return take_nap(argv + 2);
    if (argc < 4)
        return 2;
    stage = (struct stage){.turns = (unsigned)strtoul(argv[3], NULL, 10)};
    stage.truth = truth_create(&stage.memory);
    pid_t helper = prepare(&stage, argv[2], argc > 4 ? argv[4] : "pipe", &way);
    stage.diary = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stage.diary == MAP_FAILED)
        truth_die("mmap");
    truth_await(stage.truth, helper ? 1 : 0);
    stage.base = truth_join(stage.truth, TRUTH_BASE);
    struct truth_mark begin = truth_base_begin(&stage.base);
    act(&stage, argv + 2, argc - 2, way);
    truth_base_end(&stage.base, begin);
    if (helper)
        kill(helper, SIGKILL);
    truth_write(stage.truth, argv[1]);
    return 0;
}
