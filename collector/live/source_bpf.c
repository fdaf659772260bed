/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/source_bpf.h"

#include "collector/host/cpu_slice.h"
#include "collector/interp/interp_languages.h"
#include "collector/live/bpf_programs.h"
#include "collector/live/file_paths.h"
#include "collector/live/interp_files.h"
#include "collector/live/mmap_events.h"
#include "collector/live/records.h"
#include "collector/live/ring_facts.h"
#include "collector/unwind/unwinder.h"
#include "common/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUND_BYTES ((size_t)8 << 20) /* that are worked on before something else is looked at */
#define YIELD_RECORDS 1024u           /* some 60 us of work: then others on this CPU run first */
#define MOST_YIELDS 16u               /* of a round: what waits for its end does not wait for a busy CPU each time */
#define LOOK_MS 40                    /* the ring is looked at so often when nothing wakes the reader, ... */
#define LOOK_QUIET_MS 160             /* ... and on a host where little happens */
#define QUIET_RECORDS 512u            /* of a round: less is little; it has no mappings of files either ... */
#define QUIET_ROUNDS 25u              /* ... for so long */
/* A record is stamped before its place in the ring is taken; an interrupt, or a hypervisor, may stand between. */
#define MARGIN_NS 50000000u
#define SETTLE_MS 2000u                 /* for the C library to be known to the unwinder */
#define LEARN_MS 10000u                 /* for programs that were reported to it */
#define KEPT_BYTES ((uint64_t)32 << 20) /* of unwind rows from before: about half of the kernel's pages ... */
#define KEPT_BYTES_BRIEF                                                                                               \
    ((uint64_t)4 << 20)                  /* ... where one command is recorded: some fifty of a host's last objects */
#define MEMORY_NS (uint64_t) WP_NS_PER_S /* at least from one list of who has memory to the next */

struct source_bpf {
    struct wp_source base;
    struct wp_programs *programs;
    struct wp_records *records;
    struct wp_unwinder *unwinder; /* NULL when this kernel cannot */
    struct wp_interp_files interps;
    struct wp_file_paths *paths;
    struct wp_mmap_events *mmap_events; /* NULL when the kernel refuses it */
    struct wp_record_drops *drops, *drops_before;
    uint64_t drops_read_ns, newest_ns, mmap_events_lost;
    uint64_t list_ns;   /* of the last list of all threads */
    uint64_t memory_ns; /* when it was listed last who has memory */
    const struct wp_logger *logger;
    unsigned since_yield; /* records */
    unsigned yields;      /* of the round */
    unsigned taken;       /* records of the round */
    unsigned quiet_rounds;
    bool is_stopping, is_full;
};

static int deliver_mappings(
    struct source_bpf *s, uint64_t until_ns, const struct wp_fact_sink *sink, struct wp_error *err)
{
    const struct wp_mmap_event *r;
    while (s->mmap_events && (r = wp_mmap_events_next(s->mmap_events, until_ns))) {
        s->quiet_rounds = 0;
        const struct wp_mapped_file file = {.time_ns = r->time_ns,
            .pid = r->pid,
            .is_exec = r->is_exec,
            .start = r->start,
            .size = r->size,
            .file_offset = r->file_offset,
            .path = r->path,
            .build_id = r->build_id,
            .build_id_size = r->build_id_size};
        int rc = sink->mapped(sink->context, &file, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Between records: whoever waits for this CPU has it, unless the kernel would soon have no room for more, or somebody
 * waits for the end. */
static void yield_between(struct source_bpf *s)
{
    if (++s->since_yield < YIELD_RECORDS)
        return;
    s->since_yield = 0;
    if (s->is_stopping || s->yields == MOST_YIELDS || wp_records_are_filling(s->records))
        return;
    s->yields++;
    wp_cpu_slice_yield();
}

/* All of the round. Mappings that are reported before a record are there: they were read after the round began. */
static int deliver_all(struct source_bpf *s, const struct wp_fact_sink *sink, struct wp_error *err)
{
    struct wp_ring_facts facts;
    uint64_t mapping_ns = s->mmap_events ? wp_mmap_events_next_ns(s->mmap_events) : UINT64_MAX;
    size_t size;
    wp_ring_facts_init(&facts, s->paths, sink);
    for (const struct wp_record *r; (r = wp_records_next(s->records, &size));) {
        int rc = 0;
        s->taken++;
        yield_between(s);
        if (r->kind == WP_RECORD_FILE) {
            if (s->unwinder && size >= sizeof(*r))
                wp_unwinder_ask(s->unwinder, r->a, (uint32_t)r->d, r->pid, r->b);
            continue;
        }
        if (r->time_ns >= mapping_ns) {
            rc = deliver_mappings(s, r->time_ns, sink, err);
            mapping_ns = wp_mmap_events_next_ns(s->mmap_events);
        }
        if (!rc)
            rc = wp_ring_fact(&facts, r, size, err);
        if (rc)
            return rc;
        if (r->time_ns > s->newest_ns)
            s->newest_ns = r->time_ns;
    }
    return 0;
}

/* Tells what the ring had no room for since the last look. */
static int deliver_drops(struct source_bpf *s, const struct wp_fact_sink *sink, struct wp_error *err)
{
    uint64_t now = wp_clock_ns();
    int rc = wp_programs_drops(s->programs, s->drops);
    if (rc)
        return wp_error_errno(err, rc, "cannot read what was dropped");
    for (unsigned cpu = 0; cpu < wp_programs_cpus(s->programs); cpu++)
        for (unsigned kind = 0; kind < WP_RECORD_KINDS; kind++) {
            uint64_t count = s->drops[cpu].count[kind] - s->drops_before[cpu].count[kind];
            if (!count)
                continue;
            uint64_t last = s->drops[cpu].last_ns[kind];
            struct wp_drop drop = {.kind = kind < WP_EVENT_KINDS ? kind : 0,
                .cpu = cpu,
                .count = count,
                .from_ns = s->drops_read_ns < last ? s->drops_read_ns : last,
                .to_ns = last};
            rc = sink->drops(sink->context, &drop, err);
            if (rc)
                return rc;
        }
    struct wp_record_drops *read = s->drops;
    s->drops = s->drops_before;
    s->drops_before = read;
    s->drops_read_ns = now;
    return 0;
}

/* A cgroup, or the machine, is short of memory: its processes tell how much they have. Without the list nobody is
 * named. */
static void list_memory(struct source_bpf *s, uint64_t now_ns)
{
    struct wp_error why = {0};
    if (!wp_programs_is_memory_short(s->programs) || now_ns - s->memory_ns < MEMORY_NS)
        return;
    s->memory_ns = now_ns;
    if (wp_programs_list_memory(s->programs, &why))
        wp_log(s->logger, WP_LOG_WARN, "cannot list who has memory reason=\"%s\"", why.text);
}

/* How long nobody need look: a wake-up has its price, whatever there is to do. */
static int look_ms(const struct source_bpf *s)
{
    return s->quiet_rounds < QUIET_ROUNDS ? LOOK_MS : LOOK_QUIET_MS;
}

static int poll_source(struct wp_source *source, int timeout_ms, const struct wp_fact_sink *sink, struct wp_error *err)
{
    struct source_bpf *s = (struct source_bpf *)source;
    if (!s->is_stopping && !s->is_full)
        wp_records_wait(s->records, timeout_ms < look_ms(s) ? timeout_ms : look_ms(s));
    bool is_stopping = s->is_stopping;
    uint64_t before = wp_clock_ns();
    if (!is_stopping)
        list_memory(s, before);
    wp_records_begin(s->records, ROUND_BYTES);
    s->yields = s->taken = 0;
    s->quiet_rounds++;
    int rc = s->mmap_events ? wp_mmap_events_read(s->mmap_events) : 0;
    if (rc)
        return wp_error_errno(err, rc, "cannot read the mappings");
    rc = deliver_all(s, sink, err);
    s->is_full = wp_records_end(s->records);
    if (s->taken >= QUIET_RECORDS)
        s->quiet_rounds = 0;
    if (!rc)
        rc = deliver_mappings(s, s->is_full ? s->newest_ns : before, sink, err);
    if (!rc)
        rc = deliver_drops(s, sink, err);
    uint64_t certain = s->is_full ? s->newest_ns : before;
    if (!rc)
        rc = sink->watermark(sink->context, certain > MARGIN_NS ? certain - MARGIN_NS : 0, err);
    if (s->mmap_events && wp_mmap_events_lost(s->mmap_events) != s->mmap_events_lost) {
        s->mmap_events_lost = wp_mmap_events_lost(s->mmap_events);
        wp_log(s->logger, WP_LOG_WARN, "mmap events were lost, some functions will have no names lost=%llu",
            (unsigned long long)s->mmap_events_lost);
    }
    if (rc)
        return rc;
    return is_stopping && !s->is_full ? 0 : 1;
}

static void stop_source(struct wp_source *source)
{
    struct source_bpf *s = (struct source_bpf *)source;
    wp_programs_end(s->programs);
    if (s->unwinder)
        wp_unwinder_wind_down(s->unwinder);
    s->is_stopping = true;
}

/* Taking the records of the list costs about what making them does. */
static int list_threads(struct source_bpf *s, struct wp_error *err)
{
    uint64_t before = wp_clock_of_ns(CLOCK_THREAD_CPUTIME_ID);
    int rc = wp_programs_snapshot(s->programs, err);
    s->list_ns = 2 * (wp_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) - before);
    return rc;
}

/* The mark of a beginning is older than all that the programs tell from then on, that of an end newer than all before.
 */
static int pause_source(struct wp_source *source, bool is_paused, const struct wp_fact_sink *sink, struct wp_error *err)
{
    struct source_bpf *s = (struct source_bpf *)source;
    struct wp_fact fact = {.event = {.kind = WP_EVENT_WINDOW, .c = !is_paused}};
    if (is_paused)
        wp_programs_pause(s->programs, true);
    fact.event.time_ns = wp_clock_ns();
    if (!is_paused)
        wp_programs_pause(s->programs, false);
    int rc = sink->fact(sink->context, &fact, err);
    return rc || is_paused ? rc : list_threads(s, err);
}

static void say_unwound(const struct source_bpf *s)
{
    struct wp_unwind_counts counts;
    if (!s->unwinder)
        return;
    wp_programs_unwind_counts(s->programs, &counts);
    wp_log(s->logger, WP_LOG_DEBUG,
        "user stacks complete=%llu not_yet=%llu no_rows=%llu not_code=%llu unreadable=%llu too_deep=%llu",
        (unsigned long long)counts.ends[WP_UNWIND_COMPLETE], (unsigned long long)counts.ends[WP_UNWIND_NOT_YET],
        (unsigned long long)counts.ends[WP_UNWIND_NO_ROWS], (unsigned long long)counts.ends[WP_UNWIND_NOT_CODE],
        (unsigned long long)counts.ends[WP_UNWIND_UNREADABLE], (unsigned long long)counts.ends[WP_UNWIND_TOO_DEEP]);
}

static void log_interps(const struct source_bpf *s)
{
    struct wp_interp_counts counts;
    if (s->interps.map_fd < 0)
        return;
    wp_programs_interp_counts(s->programs, &counts);
    for (uint32_t i = 0; i < WP_INTERP_LANGUAGES; i++) {
        const wp_u64 *ends = counts.ends[i];
        wp_log(s->logger, WP_LOG_DEBUG,
            "interpreter stacks language=%s complete=%llu no_thread=%llu unreadable=%llu not_code=%llu too_deep=%llu",
            wp_interp_language(WP_INTERP_VERSION(i, 0, 0))->name, (unsigned long long)ends[WP_INTERP_COMPLETE],
            (unsigned long long)ends[WP_INTERP_NO_THREAD], (unsigned long long)ends[WP_INTERP_UNREADABLE],
            (unsigned long long)ends[WP_INTERP_NOT_CODE], (unsigned long long)ends[WP_INTERP_TOO_DEEP]);
    }
    wp_log(s->logger, WP_LOG_DEBUG, "interpreter stacks held_back=%llu", (unsigned long long)counts.held_back);
}

static void destroy_source(struct wp_source *source)
{
    struct source_bpf *s = (struct source_bpf *)source;
    if (!s)
        return;
    say_unwound(s);
    if (s->unwinder)
        log_interps(s);
    wp_unwinder_destroy(s->unwinder); /* it works on the programs' maps */
    wp_records_destroy(s->records);
    wp_file_paths_destroy(s->paths);
    wp_programs_destroy(s->programs);
    wp_mmap_events_close(s->mmap_events);
    free(s->drops);
    free(s->drops_before);
    free(s);
}

static void count(const struct wp_source *source, struct wp_source_counts *counts)
{
    const struct source_bpf *s = (const struct source_bpf *)source;
    struct wp_unwind_counts unwound = {0};
    if (s->unwinder)
        wp_programs_unwind_counts(s->programs, &unwound);
    *counts = (struct wp_source_counts){.walks_complete = unwound.ends[WP_UNWIND_COMPLETE],
        .walks_not_yet = unwound.ends[WP_UNWIND_NOT_YET],
        .walks_no_rows = unwound.ends[WP_UNWIND_NO_ROWS],
        .walks_not_code = unwound.ends[WP_UNWIND_NOT_CODE],
        .walks_unreadable = unwound.ends[WP_UNWIND_UNREADABLE],
        .walks_too_deep = unwound.ends[WP_UNWIND_TOO_DEEP],
        .lost_mappings = s->mmap_events_lost};
    wp_programs_interp_counts(s->programs, &counts->interps);
    counts->interps_refused = __atomic_load_n(&s->interps.refused, __ATOMIC_RELAXED);
    wp_programs_run_time(s->programs, &counts->program_runs, &counts->program_ns);
    counts->unwalked = wp_programs_unwalked(s->programs);
    counts->list_ns = s->list_ns;
    counts->reading_ns = s->unwinder ? wp_unwinder_cpu_ns(s->unwinder) : 0;
}

static void thin(struct wp_source *source, uint32_t stack_one_in)
{
    wp_programs_thin(((struct source_bpf *)source)->programs, stack_one_in);
}

static const struct wp_probe *probe(const struct wp_source *source)
{
    return wp_programs_probe(((const struct source_bpf *)source)->programs);
}

static unsigned unsampled_cpus(struct wp_source *source)
{
    return wp_programs_unsampled(((struct source_bpf *)source)->programs);
}

static void watch(struct wp_source *source, int fd)
{
    wp_records_watch(((struct source_bpf *)source)->records, fd);
}

static int retell(struct wp_source *source, bool threads, struct wp_error *err)
{
    struct source_bpf *s = (struct source_bpf *)source;
    wp_programs_forget_stacks(s->programs);
    return threads ? list_threads(s, err) : 0;
}

static const struct wp_source_ops ops = {
    "bpf", poll_source, stop_source, pause_source, destroy_source, count, thin, watch, retell, probe, unsampled_cpus};

static int start(struct source_bpf *s, const struct wp_source_bpf_options *options, struct wp_error *err)
{
    struct wp_error why = {0};
    struct wp_unwinder_options unwinding;
    int rc = wp_programs_load(&s->programs, options, s->logger, err);
    if (!rc && options->loaded)
        rc = options->loaded(options->context, err);
    if (rc)
        return rc;
    if (wp_programs_unwinding(s->programs, &unwinding)) {
        unwinding.cache = options->unwind_cache;
        s->interps = (struct wp_interp_files){.map_fd = wp_programs_interp_files(s->programs), .logger = s->logger};
        unwinding.opened = s->interps.map_fd >= 0 ? wp_interp_files_opened : NULL;
        unwinding.forgotten = s->interps.map_fd >= 0 ? wp_interp_files_forgotten : NULL;
        unwinding.context = &s->interps;
        unwinding.kept_bytes = options->learn_count ? KEPT_BYTES_BRIEF : KEPT_BYTES;
        s->unwinder = wp_unwinder_create(&unwinding);
        for (unsigned i = 0; s->unwinder && i < options->learn_count; i++)
            wp_unwinder_learn(s->unwinder, options->learn[i]);
        if (s->unwinder && options->learns_running)
            wp_unwinder_learn_running(s->unwinder, !options->learn_count);
    }
    if (wp_mmap_events_open(&s->mmap_events, &why))
        wp_log(s->logger, WP_LOG_WARN,
            "cannot record mmap events, functions of short-lived processes will have no names reason=\"%s\"", why.text);
    s->drops = calloc(wp_programs_cpus(s->programs), sizeof(*s->drops));
    s->drops_before = calloc(wp_programs_cpus(s->programs), sizeof(*s->drops));
    s->paths = wp_file_paths_create("/proc/self/mountinfo");
    if (!s->drops || !s->drops_before || !s->paths)
        return wp_error_set(err, -ENOMEM, "out of memory for the ring of events");
    struct wp_records_options records;
    wp_programs_records(s->programs, &records);
    rc = wp_records_create(&s->records, &records);
    if (rc)
        return wp_error_errno(err, rc, "cannot map the buffers of events");
    s->drops_read_ns = wp_clock_ns();
    if (s->unwinder)
        wp_unwinder_settle(s->unwinder, options->learn_count || options->learns_running ? LEARN_MS : SETTLE_MS);
    rc = wp_programs_introduce(s->programs, err);
    rc = rc ? rc : wp_programs_attach(s->programs, options->frequency_hz, err);
    return rc ? rc : list_threads(s, err);
}

void wp_source_bpf_want_cmdlines(struct wp_source *source, bool is_wanted)
{
    wp_programs_want_cmdlines(((struct source_bpf *)source)->programs, is_wanted);
}

void wp_source_bpf_direct_io(struct wp_source *source, uint64_t address)
{
    wp_programs_direct_io(((struct source_bpf *)source)->programs, address);
}

/*
 * The kernel stamps events by its own monotonic clock (bpf_ktime_get_ns). In a time namespace (time_namespaces(7),
 * Linux 5.6) ours is another one: all that happened would be filed so much earlier or later, without a sign of it.
 */
static int refuse_time_namespace(struct wp_error *err)
{
    FILE *file = fopen("/proc/self/timens_offsets", "re");
    long long seconds = 0, ns = 0;
    if (!file)
        return 0; /* a kernel without them */
    int found = fscanf(file, "monotonic %lld %lld", &seconds, &ns);
    fclose(file);
    if (found < 2 || (!seconds && !ns))
        return 0;
    return wp_error_set(err, -EINVAL,
        "this is a time namespace whose monotonic clock is %lld s from the kernel's, which stamps events: times "
        "would be wrong by that; start the collector outside of it (nsenter -T -t 1)",
        seconds);
}

int wp_source_bpf_create(struct wp_source **source, const struct wp_source_bpf_options *options,
    const struct wp_logger *logger, struct wp_error *err)
{
    int rc = refuse_time_namespace(err);
    if (rc)
        return rc;
    struct source_bpf *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    s->base.ops = &ops;
    s->logger = logger;
    rc = start(s, options, err);
    if (rc) {
        destroy_source(&s->base);
        return rc;
    }
    *source = &s->base;
    return 0;
}
