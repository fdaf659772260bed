/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAINS 64u
#define CHAIN_BYTES 160
#define REQUESTS 4096
#define DIARIES 320u
#define SPINNERS 64u
#define PIECES 2048u    /* of a diary, the last ones */
#define GAP_NS 20000u   /* off its processor, where it only computes */
#define READ_NS 100000u /* of a read and the waking in it, by two threads' clocks */

struct chain {
    char name[CHAIN_BYTES];
    _Atomic uint64_t ns[TRUTH_KINDS], pieces[TRUTH_KINDS];
};

struct piece {
    uint64_t start_ns, end_ns;
    uint32_t owner;
    uint8_t chain, kind;
    bool is_sending;
};

/* Written by one thread, read by who waited for it. */
struct diary {
    _Atomic uint64_t count;
    struct piece pieces[PIECES];
};

struct truth {
    atomic_flag lock; /* of adding a chain */
    _Atomic uint32_t count, diary_count;
    _Atomic uint64_t total_ns; /* of all base threads */
    _Atomic uint64_t edge_ns;  /* on a processor in their waits: a clock does not say on which side of the sleep */
    _Atomic uint64_t false_ns; /* of their delays: in the scheduler's account, and cannot have been */
    struct chain chains[CHAINS];
    _Atomic unsigned requests;
    struct truth_request log[REQUESTS];
    _Atomic uint64_t back_ns[REQUESTS];
    struct diary diaries[DIARIES];
    unsigned spinner_count;
    pid_t spinners[SPINNERS];
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct truth *truth_attach(int fd)
{
    struct truth *truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (truth == MAP_FAILED)
        truth_die("mmap");
    return truth;
}

struct truth *truth_create(int *fd)
{
    int memory = memfd_create("truth", 0);
    if (memory < 0 || ftruncate(memory, sizeof(struct truth)))
        truth_die("memfd_create");
    struct truth *truth = truth_attach(memory);
    if (fd)
        *fd = memory;
    else
        close(memory);
    return truth;
}

/* --- chains and diaries --- */

static void spin(struct truth *truth)
{
    const char *text = getenv("TRUTH_SPINNERS");
    unsigned wanted = text ? (unsigned)strtoul(text, NULL, 10) : 0;
    for (; truth->spinner_count < wanted && truth->spinner_count < SPINNERS; truth->spinner_count++) {
        pid_t spinner = fork();
        if (!spinner) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            truth_name("spinner");
            for (;;)
                ;
        }
        truth->spinners[truth->spinner_count] = spinner;
    }
    if (wanted)
        usleep(300000);
}

void truth_relax(struct truth *truth)
{
    while (truth->spinner_count > 0) {
        pid_t spinner = truth->spinners[--truth->spinner_count];
        kill(spinner, SIGKILL);
        waitpid(spinner, NULL, 0);
    }
}

void truth_await_diaries(const struct truth *truth, uint32_t parties)
{
    for (unsigned turns = 0; truth->diary_count < parties; turns++) {
        if (turns > 60000) {
            errno = ETIMEDOUT;
            truth_die("waiting for the others to begin");
        }
        usleep(1000);
    }
}

void truth_await(struct truth *truth, uint32_t parties)
{
    truth_await_diaries(truth, parties);
    usleep(100000);
    spin(truth);
}

static uint32_t chain_of(struct truth *truth, const char *name)
{
    uint32_t i = 0;
    while (atomic_flag_test_and_set(&truth->lock))
        sched_yield();
    while (i < truth->count && strcmp(truth->chains[i].name, name))
        i++;
    if (i == truth->count && i < CHAINS) {
        snprintf(truth->chains[i].name, sizeof(truth->chains[i].name), "%s", name);
        truth->count++;
    }
    atomic_flag_clear(&truth->lock);
    if (i == CHAINS) {
        errno = ENOSPC;
        truth_die("too many chains");
    }
    return i;
}

static void add(
    const struct truth_party *party, uint32_t chain, enum truth_kind kind, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns >= end_ns)
        return;
    if (!party->diary) {
        party->truth->chains[chain].ns[kind] += end_ns - start_ns;
        party->truth->chains[chain].pieces[kind]++;
        return;
    }
    struct diary *diary = &party->truth->diaries[party->diary - 1];
    uint64_t n = diary->count;
    diary->pieces[n % PIECES] =
        (struct piece){start_ns, end_ns, party->owner, (uint8_t)chain, (uint8_t)kind, party->is_sending};
    atomic_store_explicit(&diary->count, n + 1, memory_order_release);
}

/* The base's own delay is taken from its account as a whole, at its end: what it met between two calls counts as well.
 */
static void add_delay(const struct truth_party *party, uint64_t start_ns, uint64_t end_ns)
{
    if (party->diary)
        add(party, party->chain, TRUTH_RUNNABLE, start_ns, end_ns);
}

static struct truth_party join(struct truth *truth, const char *chain, uint32_t diary)
{
    struct truth_party party = {.truth = truth, .chain = chain_of(truth, chain), .diary = diary};
    party.account = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (party.account < 0)
        truth_die("/proc/thread-self/schedstat");
    return party;
}

static uint32_t new_diary(struct truth *truth)
{
    uint32_t diary = 1 + truth->diary_count++;
    if (diary > DIARIES) {
        errno = ENOSPC;
        truth_die("too many diaries");
    }
    return diary;
}

struct truth_party truth_join(struct truth *truth, const char *chain)
{
    return join(truth, chain, strcmp(chain, TRUTH_BASE) ? new_diary(truth) : 0);
}

struct truth_party truth_born(struct truth *truth, const char *chain, const char *until_now)
{
    struct truth_party party = truth_join(truth, chain), as_base = party;
    struct truth_mark now = truth_now(&party);
    uint64_t awake_ns = now.wall_ns - now.cpu_ns, born_ns = awake_ns - now.delay_ns;
    if (strcmp(until_now, TRUTH_BASE)) {
        add(&party, chain_of(truth, until_now), TRUTH_RUNNABLE, born_ns, awake_ns);
        add(&party, chain_of(truth, until_now), TRUTH_CPU, awake_ns, now.wall_ns);
        return party;
    }
    as_base.diary = 0;
    truth->total_ns += now.wall_ns - born_ns;
    add(&as_base, chain_of(truth, until_now), TRUTH_RUNNABLE, born_ns, awake_ns);
    add(&as_base, chain_of(truth, until_now), TRUTH_CPU, awake_ns, now.wall_ns);
    add(&party, chain_of(truth, until_now), TRUTH_QUEUE, born_ns,
        now.wall_ns); /* whoever waits for a base thread waits on a path of its own */
    return party;
}

struct truth_party truth_executed(struct truth *truth, const char *chain, uint32_t diary, struct truth_mark before)
{
    struct truth_party party = join(truth, chain, diary);
    struct truth_mark now = truth_now(&party);
    uint64_t cpu_ns = now.cpu_ns - before.cpu_ns, delay_ns = now.delay_ns - before.delay_ns;
    add(&party, party.chain, TRUTH_RUNNABLE, before.wall_ns, before.wall_ns + delay_ns);
    add(&party, party.chain, TRUTH_CPU, before.wall_ns + delay_ns, before.wall_ns + delay_ns + cpu_ns);
    return party;
}

/* --- requests --- */

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

/* --- time --- */

static uint64_t delay_of(const struct truth_party *party)
{
    char text[96] = "";
    ssize_t size = pread(party->account, text, sizeof(text) - 1, 0);
    char *delay = size > 0 ? strchr(text, ' ') : NULL;
    if (!delay)
        truth_die("schedstat");
    return strtoull(delay, NULL, 10);
}

static void count_switches(struct truth_mark *mark)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage))
        truth_die("getrusage");
    mark->sleeps = (uint64_t)usage.ru_nvcsw;
    mark->preemptions = (uint64_t)usage.ru_nivcsw;
}

/* All of one moment: it may lose its processor between two of them. */
struct truth_mark truth_now(const struct truth_party *party)
{
    struct truth_mark mark = {0};
    for (uint64_t before = UINT64_MAX; before != mark.delay_ns;) {
        before = before == UINT64_MAX ? delay_of(party) : mark.delay_ns;
        count_switches(&mark);
        mark.wall_ns = clock_ns(CLOCK_MONOTONIC);
        mark.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        mark.delay_ns = delay_of(party);
    }
    return mark;
}

struct took {
    uint64_t sleep_end_ns, delay_end_ns, end_ns, cpu_ns;
};

/* In a call: what the scheduler and the processor took lies behind the sleep, of which so much is certain. */
static struct took took_between(struct truth_mark mark, struct truth_mark now, uint64_t asleep_ns)
{
    uint64_t wall = now.wall_ns - mark.wall_ns, cpu = now.cpu_ns - mark.cpu_ns, delay = now.delay_ns - mark.delay_ns;
    cpu = cpu < wall ? cpu : wall;
    asleep_ns = asleep_ns < wall - cpu ? asleep_ns : wall - cpu;
    delay = delay < wall - cpu - asleep_ns ? delay : wall - cpu - asleep_ns;
    return (struct took){now.wall_ns - cpu - delay, now.wall_ns - cpu, now.wall_ns, cpu};
}

static struct took took_since(const struct truth_party *party, struct truth_mark mark)
{
    return took_between(mark, truth_now(party), 0);
}

/* It slept: until then for that reason. */
static void add_sleep(
    const struct truth_party *party, enum truth_kind kind, uint64_t start_ns, uint64_t until_ns, struct took took)
{
    until_ns = until_ns < took.sleep_end_ns ? until_ns : took.sleep_end_ns;
    add(party, party->chain, kind, start_ns, until_ns);
    add(party, party->chain, TRUTH_OVERSLEPT, until_ns > start_ns ? until_ns : start_ns, took.sleep_end_ns);
    add_delay(party, took.sleep_end_ns, took.delay_end_ns);
    add(party, party->chain, TRUTH_WAKING, took.delay_end_ns, took.end_ns);
}

void truth_since(const struct truth_party *party, enum truth_kind kind, struct truth_mark mark)
{
    add_sleep(party, kind, mark.wall_ns, UINT64_MAX, took_since(party, mark));
}

void truth_held(const struct truth_party *party, struct truth_mark mark, uint64_t released_ns)
{
    add_sleep(party, TRUTH_HELD, mark.wall_ns, released_ns, took_since(party, mark));
}

void truth_taken(const struct truth_party *party, struct truth_mark mark)
{
    struct took took = took_since(party, mark);
    add_delay(party, took.sleep_end_ns, took.delay_end_ns);
    add(party, party->chain, TRUTH_TAKING, took.delay_end_ns, took.end_ns);
}

static void sent(const struct truth_party *party, enum truth_kind kind, struct truth_mark mark)
{
    struct took took = took_since(party, mark);
    struct truth_party sending = *party;
    sending.is_sending = true;
    add(&sending, party->chain, kind, mark.wall_ns, mark.wall_ns + took.cpu_ns);
    add_delay(&sending, mark.wall_ns + took.cpu_ns, took.end_ns);
}

void truth_sent(const struct truth_party *party, struct truth_mark mark)
{
    sent(party, TRUTH_CPU, mark);
}

void truth_answered(const struct truth_party *party, struct truth_mark mark)
{
    sent(party, TRUTH_ANSWERING, mark);
}

static void add_edge(const struct truth_party *party, uint64_t cpu_ns)
{
    if (!party->diary)
        party->truth->edge_ns += cpu_ns;
}

/* Linux begins a thread's delay at a sleep, not at its end, if it moves the thread to another CPU between the call to
 * sleep and the moment at which the thread leaves the queue (6.12 and later, delayed dequeue). */
static void add_false_delay(const struct truth_party *party, uint64_t ns)
{
    if (!party->diary)
        party->truth->false_ns += ns;
}

/* How much of its time on a processor was before the sleep is not known: of neither end more counts than is certain. */
struct truth_window truth_slept(const struct truth_party *party, struct truth_mark mark)
{
    struct took took = took_since(party, mark);
    add_edge(party, took.cpu_ns);
    add_delay(party, took.sleep_end_ns, took.delay_end_ns);
    return (struct truth_window){.start_ns = mark.wall_ns + took.cpu_ns, .end_ns = took.sleep_end_ns};
}

/* Of the pieces [from, end) the first that ended behind that time. */
static uint64_t first_since(const struct diary *diary, uint64_t end, uint64_t since_ns)
{
    uint64_t from = end, oldest = end > PIECES / 2 ? end - PIECES / 2 : 0;
    while (from > oldest && diary->pieces[(from - 1) % PIECES].end_ns > since_ns)
        from--;
    return from;
}

/* How much of that piece it was not asleep. */
static uint64_t vain_in(const struct truth_window *window, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t since_ns = start_ns > window->vain_start_ns ? start_ns : window->vain_start_ns;
    uint64_t left_ns = since_ns < end_ns ? end_ns - since_ns : 0;
    return window->vain_ns < left_ns ? window->vain_ns : left_ns;
}

void truth_read_diary(const struct truth_party *party, uint32_t number, struct truth_window window)
{
    const struct diary *diary = &party->truth->diaries[number - 1];
    uint64_t end = atomic_load_explicit(&diary->count, memory_order_acquire);
    bool has_run = window.vain_start_ns != 0;
    for (uint64_t n = first_since(diary, end, window.start_ns); n < end; n++) {
        struct piece piece = diary->pieces[n % PIECES];
        uint64_t start_ns = piece.start_ns > window.start_ns ? piece.start_ns : window.start_ns;
        uint64_t end_ns = piece.end_ns < window.end_ns ? piece.end_ns : window.end_ns;
        if (start_ns >= end_ns)
            continue;
        has_run |= piece.owner == party->owner && piece.kind != TRUTH_RUNNABLE;
        uint64_t vain_ns = has_run ? vain_in(&window, start_ns, end_ns) : 0;
        uint64_t since_ns = vain_ns && start_ns < window.vain_start_ns ? window.vain_start_ns : start_ns;
        bool is_own = piece.owner == party->owner, is_answer = piece.is_sending && piece.kind == TRUTH_ANSWERING;
        uint32_t chain = is_own || is_answer ? piece.chain : party->chain;
        enum truth_kind others = is_answer ? TRUTH_ANSWERING_OTHERS : TRUTH_QUEUE;
        enum truth_kind kind = is_own ? (enum truth_kind)piece.kind : others;
        window.vain_ns -= vain_ns;
        add(party, chain, kind, start_ns, since_ns);
        add(party, chain, kind, since_ns + vain_ns, end_ns);
    }
}

static uint64_t answered_ns(const struct truth_party *party, uint32_t number, uint64_t since_ns, uint64_t until_ns)
{
    const struct diary *diary = &party->truth->diaries[number - 1];
    uint64_t end = atomic_load_explicit(&diary->count, memory_order_acquire), from = first_since(diary, end, since_ns);
    while (end-- > from) {
        const struct piece *piece = &diary->pieces[end % PIECES];
        if (piece->owner == party->owner && !piece->is_sending && piece->end_ns <= until_ns)
            return piece->end_ns;
    }
    return since_ns;
}

/* Where its one delay began as its request was read, that ended the sleep: since then. Otherwise the answer did. */
static uint64_t woken_ns(const struct truth_party *party, uint32_t number, uint64_t since_ns, struct took took)
{
    const struct diary *diary = &party->truth->diaries[number - 1];
    uint64_t end = atomic_load_explicit(&diary->count, memory_order_acquire), n = first_since(diary, end, since_ns);
    for (; party->is_unix && n < end && diary->pieces[n % PIECES].start_ns <= took.delay_end_ns; n++) {
        const struct piece *piece = &diary->pieces[n % PIECES];
        if (piece->owner == party->owner && piece->kind == TRUTH_TAKING &&
            took.sleep_end_ns + READ_NS >= piece->start_ns && took.sleep_end_ns <= piece->end_ns + READ_NS)
            return took.sleep_end_ns;
    }
    return answered_ns(party, number, since_ns, took.delay_end_ns);
}

void truth_waited(const struct truth_party *party, uint32_t diary, struct truth_mark mark)
{
    truth_waited_on(party, diary, mark, 0);
}

void truth_waited_on(const struct truth_party *party, uint32_t diary, struct truth_mark mark, unsigned vain_us)
{
    struct truth_mark now = truth_now(party);
    struct took took = took_between(mark, now, 0);
    add_edge(party, took.cpu_ns);
    bool is_one = now.sleeps - mark.sleeps == 1 && now.preemptions == mark.preemptions; /* its one delay was the last */
    uint64_t woken = is_one ? woken_ns(party, diary, mark.wall_ns, took)
                            : answered_ns(party, diary, mark.wall_ns, took.delay_end_ns);
    uint64_t since_ns = took.delay_end_ns - woken;
    uint64_t delay_ns = took.delay_end_ns - took.sleep_end_ns, last_ns = delay_ns < since_ns ? delay_ns : since_ns;
    if (is_one) {
        add_false_delay(party, delay_ns - last_ns);
        delay_ns = last_ns;
    }
    truth_read_diary(party, diary,
        (struct truth_window){mark.wall_ns + took.cpu_ns, took.delay_end_ns - last_ns, delay_ns - last_ns,
            vain_us ? mark.wall_ns + vain_us * (uint64_t)1000 : 0});
    add_delay(party, took.delay_end_ns - delay_ns, took.delay_end_ns);
}

/* Between two looks at the clocks it computes; where the one went on without the other it was not let. */
void truth_busy(const struct truth_party *party, unsigned us)
{
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC),
             until = cpu + us * (uint64_t)1000, since = wall;
    for (volatile unsigned spin = 0; cpu < until;) {
        for (unsigned i = 0; i < 2000; i++)
            spin = spin + i;
        uint64_t cpu_now = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall_now = clock_ns(CLOCK_MONOTONIC);
        uint64_t off = wall_now - wall > cpu_now - cpu ? wall_now - wall - (cpu_now - cpu) : 0;
        if (off > GAP_NS) {
            add(party, party->chain, TRUTH_CPU, since, wall_now - off);
            add_delay(party, wall_now - off, wall_now);
            since = wall_now;
        }
        cpu = cpu_now;
        wall = wall_now;
    }
    add(party, party->chain, TRUTH_CPU, since, wall);
}

void truth_sleep(const struct truth_party *party, unsigned us)
{
    struct truth_mark mark = truth_now(party);
    struct timespec left = {us / 1000000, us % 1000000 * 1000L};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
    struct truth_mark now = truth_now(party);
    struct took took = took_between(mark, now, us * (uint64_t)1000);
    if (now.preemptions == mark.preemptions) /* else a part of it may be a real one */
        add_false_delay(party, now.delay_ns - mark.delay_ns - (took.delay_end_ns - took.sleep_end_ns));
    add_sleep(party, TRUTH_SLEEP, mark.wall_ns, mark.wall_ns + us * (uint64_t)1000, took);
}

void truth_disk(const struct truth_party *party, int fd, unsigned kib)
{
    static const char block[TRUTH_DISK_KIB * 1024];
    size_t size = kib < TRUTH_DISK_KIB ? kib * 1024 : sizeof(block);
    struct truth_mark mark = truth_now(party);
    if (pwrite(fd, block, size, 0) != (ssize_t)size || fdatasync(fd))
        truth_die("write to the disk");
    truth_since(party, TRUTH_DISK, mark);
}

struct truth_mark truth_base_begin(const struct truth_party *base)
{
    truth_name(TRUTH_BASE);
    return truth_now(base);
}

void truth_base_end(const struct truth_party *base, struct truth_mark begin)
{
    struct truth_mark now = truth_now(base);
    uint64_t false_ns = atomic_exchange(&base->truth->false_ns, 0);
    base->truth->total_ns += now.wall_ns - begin.wall_ns;
    base->truth->chains[base->chain].ns[TRUTH_RUNNABLE] += now.delay_ns - begin.delay_ns - false_ns;
    truth_name("over");
}

static const char *const kinds[TRUTH_KINDS] = {"cpu", "runnable", "sleep", "disk", "timeout", "queue", "held",
    "overslept", "waking", "taking", "answering", "answering_others"};

/* How many calls the time of kinds is of that a clock leaves open. */
static void write_calls(FILE *file, const struct truth *truth)
{
    fprintf(file, ",\n\"calls\": {");
    for (unsigned i = 0; i < truth->count; i++) {
        fprintf(file, "%s\n  \"%s\": {\"%s\": %llu", i ? "," : "", truth->chains[i].name, kinds[TRUTH_DISK],
            (unsigned long long)truth->chains[i].pieces[TRUTH_DISK]);
        for (unsigned k = TRUTH_OVERSLEPT; k < TRUTH_KINDS; k++)
            fprintf(file, ", \"%s\": %llu", kinds[k], (unsigned long long)truth->chains[i].pieces[k]);
        fprintf(file, "}");
    }
    fprintf(file, "\n}");
}

static void write_requests(FILE *file, const struct truth *truth)
{
    uint64_t mono = clock_ns(CLOCK_MONOTONIC);
    fprintf(
        file, ",\n\"real_offset_ns\": %llu, \"requests\": [", (unsigned long long)(clock_ns(CLOCK_REALTIME) - mono));
    for (unsigned i = 0; i < truth->requests; i++) {
        const struct truth_request *r = &truth->log[i];
        const struct {
            const char *name;
            uint64_t ns;
        } times[] = {{"sent", r->sent_ns}, {"written", r->written_ns}, {"done", r->done_ns}, {"free", r->free_ns},
            {"taken", r->taken_ns}, {"answered", r->answered_ns}, {"received", r->received_ns}, {"asked", r->asked_ns},
            {"back", truth->back_ns[i]}, {"cpu", r->cpu_ns}, {"preempted", r->preempted_ns}, {"sleep", r->sleep_ns}};
        fprintf(file, "%s\n  {\"tid\": %u", i ? "," : "", r->tid);
        for (unsigned k = 0; k < sizeof(times) / sizeof(*times); k++)
            fprintf(file, ", \"%s\": %llu", times[k].name, (unsigned long long)times[k].ns);
        fprintf(file, "}");
    }
    fprintf(file, "]");
}

void truth_write(struct truth *truth, const char *path)
{
    truth_relax(truth);
    FILE *file = fopen(path, "w");
    if (!file)
        truth_die(path);
    fprintf(file, "{\"base\": \"%s\", \"total_ns\": %llu, \"edge_ns\": %llu, \"chains\": {", TRUTH_BASE,
        (unsigned long long)truth->total_ns, (unsigned long long)truth->edge_ns);
    for (unsigned i = 0, rows = 0; i < truth->count; i++) {
        uint64_t sum = 0;
        for (unsigned k = 0; k < TRUTH_KINDS; k++)
            sum += truth->chains[i].ns[k];
        if (!sum) /* of one that nobody waited for */
            continue;
        fprintf(file, "%s\n  \"%s\": {", rows++ ? "," : "", truth->chains[i].name);
        for (unsigned k = 0, n = 0; k < TRUTH_KINDS; k++)
            if (truth->chains[i].ns[k])
                fprintf(file, "%s\"%s\": %llu", n++ ? ", " : "", kinds[k], (unsigned long long)truth->chains[i].ns[k]);
        fprintf(file, "}");
    }
    fprintf(file, "\n}");
    write_calls(file, truth);
    if (truth->requests)
        write_requests(file, truth);
    fprintf(file, "}\n");
    if (fclose(file))
        truth_die(path);
}
