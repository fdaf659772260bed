/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CHAINS 256
#define CHAIN_BYTES 160
#define REQUESTS 4096

struct chain {
    char name[CHAIN_BYTES];
    _Atomic uint64_t ns[TRUTH_KINDS];
};

struct truth {
    atomic_flag lock;           /* of adding a chain */
    _Atomic unsigned count;
    _Atomic uint64_t total_ns;  /* of all base threads */
    struct chain chains[CHAINS];
    _Atomic unsigned requests;
    struct truth_request log[REQUESTS];
    _Atomic uint64_t back_ns[REQUESTS];
};

void truth_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct truth *truth_create(void)
{
    struct truth *truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE,
        -1, 0);
    if (truth == MAP_FAILED)
        truth_die("mmap");
    return truth;
}

static struct chain *find(struct truth *truth, const char *name)
{
    for (unsigned i = 0; i < truth->count; i++)
        if (!strcmp(truth->chains[i].name, name))
            return &truth->chains[i];
    return NULL;
}

void truth_add(struct truth *truth, const char *name, enum truth_kind kind, uint64_t ns)
{
    struct chain *chain = find(truth, name);
    if (!chain) {
        while (atomic_flag_test_and_set(&truth->lock))
            ;
        chain = find(truth, name);
        if (!chain && truth->count < CHAINS) {
            chain = &truth->chains[truth->count];
            snprintf(chain->name, sizeof(chain->name), "%s", name);
            truth->count++;
        }
        atomic_flag_clear(&truth->lock);
        if (!chain) {
            errno = ENOSPC;
            truth_die("too many chains");
        }
    }
    chain->ns[kind] += ns;
}

uint32_t truth_slot(struct truth *truth)
{
    unsigned at = truth->requests++;
    if (at >= REQUESTS) {
        errno = ENOSPC;
        truth_die("too many requests");
    }
    return at;
}

void truth_log(struct truth *truth, const struct truth_request *request)
{
    truth->log[request->slot - 1] = *request;
}

void truth_back(struct truth *truth, uint32_t slot)
{
    truth->back_ns[slot] = clock_ns(CLOCK_MONOTONIC);
}

struct truth_mark truth_now(void)
{
    return (struct truth_mark){clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_THREAD_CPUTIME_ID)};
}

void truth_since(struct truth *truth, const char *chain, enum truth_kind kind, struct truth_mark mark)
{
    struct truth_mark now = truth_now();
    uint64_t wall = now.wall_ns - mark.wall_ns, cpu = now.cpu_ns - mark.cpu_ns;
    truth_add(truth, chain, TRUTH_CPU, cpu < wall ? cpu : wall);
    truth_add(truth, chain, kind, wall > cpu ? wall - cpu : 0);
}

void truth_settle(void)
{
    for (uint64_t until = clock_ns(CLOCK_MONOTONIC) + 60000; clock_ns(CLOCK_MONOTONIC) < until;)
        ;
}

void truth_busy(struct truth *truth, const char *chain, unsigned us)
{
    struct truth_mark mark = truth_now();
    uint64_t until = mark.cpu_ns + us * (uint64_t)1000;
    for (volatile unsigned spin = 0; clock_ns(CLOCK_THREAD_CPUTIME_ID) < until;)
        for (unsigned i = 0; i < 2000; i++)
            spin = spin + i;
    truth_since(truth, chain, TRUTH_PREEMPTED, mark);
}

void truth_sleep(struct truth *truth, const char *chain, unsigned us)
{
    struct truth_mark mark = truth_now();
    struct timespec left = {us / 1000000, us % 1000000 * 1000L};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
    truth_since(truth, chain, TRUTH_SLEEP, mark);
}

void truth_disk(struct truth *truth, const char *chain, int fd, unsigned kib)
{
    static const char block[TRUTH_DISK_KIB * 1024];
    size_t size = kib < TRUTH_DISK_KIB ? kib * 1024 : sizeof(block);
    struct truth_mark mark = truth_now();
    if (pwrite(fd, block, size, 0) != (ssize_t)size || fdatasync(fd))
        truth_die("write to the disk");
    truth_since(truth, chain, TRUTH_DISK, mark);
}

int truth_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        truth_die(folder);
    return fd;
}

void truth_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

void truth_pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        truth_die("sched_setaffinity");
}

struct truth_mark truth_base_begin(void)
{
    truth_name(TRUTH_BASE);
    return truth_now();
}

void truth_base_end(struct truth *truth, struct truth_mark begin)
{
    truth->total_ns += truth_now().wall_ns - begin.wall_ns;
    truth_name("over");
}

void truth_put(int fd, const void *bytes, unsigned size)
{
    for (unsigned done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);
        if (n < 0)
            truth_die("write");
        done += (unsigned)n;
    }
}

int truth_get(int fd, void *bytes, unsigned size)
{
    for (unsigned done = 0; done < size;) {
        ssize_t n = read(fd, (char *)bytes + done, size - done);
        if (n < 0)
            truth_die("read");
        if (!n)
            return 0;
        done += (unsigned)n;
    }
    return 1;
}

static const char *const kinds[TRUTH_KINDS] = {"cpu", "preempted", "sleep", "disk", "timeout", "queue", "held"};

static void write_requests(FILE *file, const struct truth *truth)
{
    uint64_t mono = clock_ns(CLOCK_MONOTONIC);
    fprintf(file, ",\n\"real_offset_ns\": %llu, \"requests\": [", (unsigned long long)(clock_ns(CLOCK_REALTIME) - mono));
    for (unsigned i = 0; i < truth->requests; i++) {
        const struct truth_request *r = &truth->log[i];
        const struct { const char *name; uint64_t ns; } times[] = {{"sent", r->sent_ns}, {"written", r->written_ns}, {"done", r->done_ns},
            {"free", r->free_ns}, {"taken", r->taken_ns}, {"answered", r->answered_ns}, {"received", r->received_ns},
            {"asked", r->asked_ns}, {"back", truth->back_ns[i]}};
        fprintf(file, "%s\n  {\"tid\": %u", i ? "," : "", r->tid);
        for (unsigned k = 0; k < sizeof(times) / sizeof(*times); k++)
            fprintf(file, ", \"%s\": %llu", times[k].name, (unsigned long long)times[k].ns);
        for (unsigned k = 0; k < TRUTH_KINDS; k++)
            if (r->ns[k])
                fprintf(file, ", \"%s\": %llu", kinds[k], (unsigned long long)r->ns[k]);
        fprintf(file, "}");
    }
    fprintf(file, "]");
}

void truth_write(struct truth *truth, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        truth_die(path);
    fprintf(file, "{\"base\": \"%s\", \"total_ns\": %llu, \"chains\": {", TRUTH_BASE, (unsigned long long)truth->total_ns);
    for (unsigned i = 0; i < truth->count; i++) {
        fprintf(file, "%s\n  \"%s\": {", i ? "," : "", truth->chains[i].name);
        for (unsigned k = 0, n = 0; k < TRUTH_KINDS; k++)
            if (truth->chains[i].ns[k])
                fprintf(file, "%s\"%s\": %llu", n++ ? ", " : "", kinds[k], (unsigned long long)truth->chains[i].ns[k]);
        fprintf(file, "}");
    }
    fprintf(file, "\n}");
    if (truth->requests)
        write_requests(file, truth);
    fprintf(file, "}\n");
    if (fclose(file))
        truth_die(path);
    munmap(truth, sizeof(*truth));
}
