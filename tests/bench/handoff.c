/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handoff SECONDS KILOBYTES: on every processor a client asks a server by a pipe and waits for its answer; each reads
 * through so many kilobytes of its own memory for each request. The processors are busy all the time, every hand-over
 * is a switch and a waking, and what one run makes of it another makes too, for nobody moves. Prints requests a second,
 * switches a second, and the processor time of a request in nanoseconds, which what else runs on the machine disturbs
 * least.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CPUS_MOST = 256, LINE = 8 };

struct counts {
    volatile int is_over;
    volatile unsigned long requests[CPUS_MOST * LINE]; /* a cache line each */
};

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Reads through memory as a program does that looks at its data: nothing of it can be left out. */
static unsigned long look(const unsigned long *words, size_t count, unsigned long seed)
{
    for (size_t i = 0; i < count; i++)
        seed = (seed ^ words[i]) * 0x9e3779b97f4a7c15ul;
    return seed;
}

static void serve(int in, int out, size_t words, volatile unsigned long *requests, volatile int *is_over)
{
    unsigned long *memory = calloc(words ? words : 1, sizeof(*memory)), seed = 1;
    while (memory && !(requests && *is_over)) {
        if (requests && write(out, &seed, sizeof(seed)) != sizeof(seed)) /* the client asks first */
            break;
        if (read(in, &seed, sizeof(seed)) != sizeof(seed))
            break;
        seed = look(memory, words, seed);
        if (!requests && write(out, &seed, sizeof(seed)) != sizeof(seed))
            break;
        if (requests)
            ++*requests;
    }
    _exit(0);
}

static int start_pair(int cpu, size_t words, struct counts *counts)
{
    int there[2], back[2];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (pipe(there) || pipe(back))
        return -1;
    for (int is_client = 0; is_client < 2; is_client++) {
        pid_t pid = fork();
        if (pid < 0)
            return -1;
        if (pid)
            continue;
        sched_setaffinity(0, sizeof(set), &set);
        close(is_client ? there[0] : there[1]);
        close(is_client ? back[1] : back[0]);
        if (is_client)
            serve(back[0], there[1], words, &counts->requests[cpu * LINE], &counts->is_over);
        serve(there[0], back[1], words, NULL, NULL);
    }
    close(there[0]);
    close(there[1]);
    close(back[0]);
    close(back[1]);
    return 0;
}

static unsigned long sum(const struct counts *counts)
{
    unsigned long all = 0;
    for (int cpu = 0; cpu < CPUS_MOST; cpu++)
        all += counts->requests[cpu * LINE];
    return all;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    size_t words = argc > 2 ? strtoul(argv[2], NULL, 10) * 1024 / sizeof(unsigned long) : 0;
    struct counts *counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cpu_set_t set;
    if (seconds <= 0 || argc != 3 || counts == MAP_FAILED || sched_getaffinity(0, sizeof(set), &set)) {
        fprintf(stderr, "usage: %s SECONDS KILOBYTES\n", argv[0]);
        return 64;
    }
    for (int cpu = 0; cpu < CPUS_MOST; cpu++)
        if (CPU_ISSET(cpu, &set) && start_pair(cpu, words, counts))
            return EXIT_FAILURE;
    usleep(200000);
    double begun = now_s();
    unsigned long before = sum(counts);
    usleep((useconds_t)(seconds * 1e6));
    double rate = (double)(sum(counts) - before) / (now_s() - begun);
    counts->is_over = 1;
    while (wait(NULL) > 0)
        ;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    double cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
        (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("%.0f %.0f %.0f\n", rate, 2 * rate, 1e9 * cpu_s / (double)sum(counts));
    return EXIT_SUCCESS;
}
