/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/daemon/collector.h"

#include "collector/batch/batcher.h"
#include "collector/batch/load_shedding.h"
#include "collector/daemon/collector_vitals.h"
#include "collector/daemon/replay.h"
#include "collector/host/cpu_slice.h"
#include "collector/host/identity.h"
#include "collector/host/sandbox.h"
#include "collector/live/probe.h"
#include "collector/live/probe_table.h"
#include "collector/live/source_bpf.h"
#include "collector/perf_script/source_perf_script.h"
#include "collector/send/uplink.h"
#include "collector/symbols/debug_fetch.h"
#include "collector/symbols/fleet_names.h"
#include "collector/symbols/symbolizer.h"
#include "common/clock.h"
#include "common/host_pids.h"
#include "common/service.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 160 /* sources look earlier by themselves */
#define WATCH_NS WP_NS_PER_S

struct collector {
    const struct wp_collector_options *options;
    const struct wp_logger *logger;
    struct wp_hello hello;
    struct wp_source *source;
    struct wp_batcher *batcher;
    struct wp_uplink *uplink;
    struct wp_fleet_names *fleet; /* NULL: names are this host's own affair */
    struct wp_debug_fetch *fetch; /* NULL: no server is asked for debug files */
    struct wp_sandbox sandbox;
    struct wp_load_shedding shedding;
    struct wp_collector_vitals *vitals; /* NULL: nobody watches */
    struct wp_window window;            /* as it was last */
    bool is_paused;                     /* between two windows, or intervals that the overhead limit leaves */
    unsigned reloads;                   /* of the options, that were taken up */
    uint64_t told_events, told_dropped, told_programs_ns; /* of the sessions before this one */
    uint64_t watched_ns;                                  /* when the source was last told what ends its waiting */
};

static int on_batch(void *context, const struct wp_batch *batch, struct wp_error *err)
{
    struct collector *c = context;
    struct wp_batch told = *batch;
    told.programs_ns = c->shedding.programs_ns - c->told_programs_ns;
    if (c->options->test_clock.start_ns)
        wp_test_clock_batch(&c->options->test_clock, &told);
    return wp_uplink_batch(c->uplink, &told, err);
}

/* Somebody waits for the welcome: the Hello is on its way while programs are loaded. Not over a network: the clocks'
 * first probes would be answered late. */
static int pump_early(struct collector *c, struct wp_error *err)
{
    const struct wp_endpoints *to = &c->options->uplink.endpoints;
    bool is_near = true;
    for (unsigned i = 0; i < to->count; i++)
        is_near = is_near && !strncmp(to->names[i], "ipc:", 4);
    return c->options->ready_fd >= 0 && is_near ? wp_uplink_pump(c->uplink, 0, err) : 0;
}

static int programs_loaded(void *context, struct wp_error *err)
{
    return pump_early(context, err); /* the aggregator may have come since */
}

/* Read while what this kernel has is looked at, which takes one CPU. */
static void begin_reading_kernel(struct collector *c)
{
    struct wp_symbolizer *symbolizer = wp_batcher_symbolizer(c->batcher);
    if (c->options->source == WP_FROM_BPF && symbolizer)
        wp_symbolizer_prepare_begin(symbolizer);
}

static int open_source(struct collector *c, struct wp_error *err)
{
    const struct wp_collector_options *o = c->options;
    if (o->source == WP_FROM_PERF_SCRIPT)
        return wp_source_perf_script_create(&c->source, o->source_path, err);
    struct wp_source_bpf_options bpf = o->bpf;
    bpf.wants_cmdline = o->pattern_count > 0;
    bpf.learn = o->learned;
    bpf.learn_count = o->learned_count;
    bpf.loaded = programs_loaded;
    bpf.context = c;
    return wp_source_bpf_create(&c->source, &bpf, c->logger, err);
}

static bool may_renew(void *context)
{
    const struct collector *c = context;
    return wp_uplink_may_renew(c->uplink);
}

/* The session goes on in another one, of a later instant. */
static int renew(void *context, uint8_t session[16], struct wp_error *err)
{
    struct collector *c = context;
    const struct wp_batcher_stats *stats = wp_batcher_stats(c->batcher);
    uint64_t events = stats->events - c->told_events, dropped = stats->dropped - c->told_dropped;
    wp_identity_renew(&c->hello);
    wp_test_clock_hello(&c->options->test_clock, &c->hello);
    int rc = wp_uplink_renew(c->uplink, &c->hello, events, dropped, err);
    if (rc)
        return rc;
    c->told_events = stats->events;
    c->told_dropped = stats->dropped;
    c->told_programs_ns = c->shedding.programs_ns;
    memcpy(session, c->hello.session, sizeof(c->hello.session));
    if (!c->source->ops->retell)
        return 0;
    rc = c->source->ops->retell(c->source, true, err);
    return rc;
}

/* What source and batcher must tell each other so that both can forget. */
static int keep_bounds(struct collector *c, struct wp_error *err)
{
    struct wp_drop drop;
    while (wp_uplink_next_drop(c->uplink, &drop))
        wp_batcher_lost(c->batcher, &drop);
    if (wp_uplink_wants_renewal(c->uplink))
        wp_batcher_renew_soon(c->batcher);
    if (!c->source->ops->retell || !wp_batcher_wants_stacks(c->batcher))
        return 0;
    int rc = c->source->ops->retell(c->source, false, err);
    if (!rc)
        wp_batcher_turn_stacks(c->batcher);
    return rc;
}

static int open_batcher(struct collector *c, struct wp_error *err)
{
    const struct wp_collector_options *o = c->options;
    bool is_live = o->source == WP_FROM_BPF;
    struct wp_batcher_options options = {.command_pid = o->command_pid,
        .self_pid = is_live ? (uint32_t)getpid() : 0,
        .recorder_pid = o->bpf.recorder_pid,
        .has_addresses = is_live,
        .reads_proc = is_live,
        .patterns = o->patterns,
        .pattern_count = o->pattern_count,
        .resolution_ns = is_live ? WP_RESOLUTION_NS : 0,
        .logger = c->logger,
        .batch = on_batch,
        .may_renew = may_renew,
        .renew = renew,
        .session_bytes = o->uplink.session_bytes,
        .context = c};
    memcpy(options.session, c->hello.session, sizeof(options.session));
    options.names.fetch = c->fetch;
    options.names.kept_folder = o->bpf.unwind_cache;
    if (is_live && !o->command_pid &&
        !(options.names.fleet = c->fleet = wp_fleet_names_create())) /* a recording is of one host */
        return wp_error_set(err, -ENOMEM, "out of memory");
    if (c->fleet)
        wp_uplink_ask_names(c->uplink, c->fleet);
    return wp_batcher_create(&c->batcher, &options, err);
}

/* All that is not needed to attach, to read names, and to write where it must be written. */
static int renounce(struct collector *c, struct wp_error *err)
{
    const struct wp_uplink_options *o = &c->options->uplink;
    struct wp_sandbox_place places[sizeof(o->endpoints.names) / sizeof(o->endpoints.names[0]) + 2];
    unsigned count = 0;
    for (unsigned i = 0; i < o->endpoints.count; i++)
        if (!strncmp(o->endpoints.names[i], "ipc:///", 7))
            places[count++] = (struct wp_sandbox_place){o->endpoints.names[i] + 6, WP_SANDBOX_SOCKET};
    if (o->output && strcmp(o->output, "-"))
        places[count++] = (struct wp_sandbox_place){o->output, WP_SANDBOX_FILE};
    if (o->spool)
        places[count++] = (struct wp_sandbox_place){o->spool, WP_SANDBOX_FOLDER};
    return wp_sandbox_begin(&c->sandbox, places, count, err);
}

struct opening {
    struct collector *collector;
    struct wp_error *err;
};

static int open_uplink(void *context)
{
    struct opening *o = context;
    struct collector *c = o->collector;
    return wp_uplink_open(&c->uplink, &c->options->uplink, &c->hello, c->logger, o->err);
}

static int open_vitals(void *context)
{
    struct opening *o = context;
    struct collector *c = o->collector;
    return wp_collector_vitals_open(&c->vitals, c->options->metrics, c->logger, o->err);
}

/* A collector that nobody can watch is better than none. Told from a thread without capabilities. */
static void tell_vitals(struct collector *c)
{
    struct wp_error why = {0};
    if (c->options->metrics && wp_sandbox_apart(&c->sandbox, open_vitals, &(struct opening){c, &why}, &why))
        wp_log(c->logger, WP_LOG_WARN, "continuing without metrics: %s", why.text);
}

/* What an aggregator says is answered at once: its clock's bounds are as wide as the answer is late. */
static void watch_uplink(struct collector *c)
{
    uint64_t now = wp_clock_of_ns(CLOCK_MONOTONIC);
    int fd = wp_uplink_fd(c->uplink);
    if (fd < 0 || !c->source->ops->watch || now - c->watched_ns < WATCH_NS)
        return;
    c->watched_ns = now;
    c->source->ops->watch(c->source, fd);
}

static void tick(struct collector *c)
{
    watch_uplink(c);
    wp_service_tick(c->options->service);
    wp_load_shedding_tick(&c->shedding, wp_clock_of_ns(CLOCK_MONOTONIC), wp_clock_of_ns(CLOCK_REALTIME));
    struct wp_collector_view view = {&c->hello, c->source, c->batcher, c->uplink, c->fleet, &c->shedding};
    wp_collector_vitals_tick(c->vitals, &view, wp_clock_of_ns(CLOCK_MONOTONIC));
}

/* What the events are stamped with. */
static uint64_t event_clock(const void *context)
{
    const struct collector *c = context;
    return wp_test_clock_at(&c->options->test_clock, wp_clock_of_ns(CLOCK_MONOTONIC));
}

/* Before the programs are loaded, and as they will find it: the capabilities are the same. */
static int say_samples(struct collector *c, struct wp_error *err)
{
    const struct wp_collector_options *o = c->options;
    char why[128];
    if (o->source != WP_FROM_BPF)
        return 0;
    c->hello.samples = !o->bpf.frequency_hz                   ? WP_SAMPLES_UNASKED
        : wp_probe_samples(o->bpf.left_out, why, sizeof(why)) ? WP_SAMPLES_TAKEN
                                                              : WP_SAMPLES_IMPOSSIBLE;
    if (c->hello.samples == WP_SAMPLES_IMPOSSIBLE && !(c->hello.no_samples = strdup(why)))
        return wp_error_set(err, -ENOMEM, "out of memory");
    return 0;
}

static int say_hello(struct collector *c, struct wp_error *err)
{
    const struct wp_collector_options *o = c->options;
    const struct wp_host_identity identity = {.source = o->source == WP_FROM_BPF ? "bpf" : "perf-script",
        .hostname = o->hostname,
        .part = o->part,
        .release = o->release,
        .frequency_hz = o->source == WP_FROM_BPF ? o->bpf.frequency_hz : 0};
    int rc = wp_identity_hello(&c->hello, &identity, err);
    if (!rc)
        rc = say_samples(c, err);
    for (unsigned i = 0; !rc && i < o->label_count; i++)
        rc = wp_identity_label(&c->hello, o->labels[i], err);
    if (o->window)
        c->hello.window = *o->window;
    wp_test_clock_hello(&o->test_clock, &c->hello);
    if (!rc)
        rc = wp_sandbox_apart(&c->sandbox, open_uplink, &(struct opening){c, err}, err);
    if (!rc && o->source == WP_FROM_BPF)
        wp_uplink_answer_probes(c->uplink, event_clock, c);
    return rc;
}

/* Ready: tracing is attached and, when there is one, the aggregator has welcomed us. */
static int await_welcome(struct collector *c, struct wp_error *err)
{
    int rc = 0;
    while (!rc && !wp_uplink_is_ready(c->uplink) && !*c->options->stop)
        rc = wp_uplink_pump(c->uplink, LOOK_MS, err);
    return rc;
}

static void tell_ready(const struct wp_collector_options *options)
{
    wp_service_ready(options->service);
    if (options->ready_fd < 0)
        return;
    ssize_t done = write(options->ready_fd, "ready\n", 6);
    (void)done;
    if (options->ready_fd > STDERR_FILENO) /* what --stats prints comes yet */
        close(options->ready_fd);
}

/* An aggregator's word comes before the host's own. */
static struct wp_window window_now(const struct collector *c)
{
    struct wp_window told = wp_uplink_window(c->uplink);
    return told.every_ns || !c->options->window ? told : *c->options->window;
}

/* Begins or ends a window when it is time, or when the overhead limit wants it; *wait_ms: until there is something to
 * look at. */
static int keep_window(struct collector *c, const struct wp_fact_sink *sink, int *wait_ms, struct wp_error *err)
{
    struct wp_window window = window_now(c);
    char text[64], before[64]; /* an aggregator that says "always" changes nothing where none was set */
    if (strcmp(wp_window_text(&window, text), wp_window_text(&c->window, before)))
        wp_log(c->logger, WP_LOG_INFO, "the recording window has changed window=\"%s\"", wp_window_text(&window, text));
    c->window = window;
    uint64_t real_ns = wp_test_clock_real(&c->options->test_clock, wp_clock_of_ns(CLOCK_REALTIME));
    uint64_t left_ns = wp_window_left(&window, real_ns);
    bool is_paused = c->shedding.is_paused || !wp_window_is_open(&window, real_ns);
    *wait_ms = left_ns < LOOK_MS * WP_NS_PER_MS ? (int)(left_ns / WP_NS_PER_MS) + 1 : LOOK_MS;
    if (is_paused == c->is_paused || !c->source->ops->pause)
        return 0;
    c->is_paused = is_paused;
    return c->source->ops->pause(c->source, is_paused, sink, err);
}

/* Of what a reload changes, that which is not looked at by whom it is for. */
static void take_up_reload(struct collector *c)
{
    const struct wp_collector_options *o = c->options;
    struct wp_error why = {0};
    if (c->reloads == o->reloads)
        return;
    c->reloads = o->reloads;
    if (wp_batcher_match(c->batcher, o->patterns, o->pattern_count, &why))
        wp_log(
            c->logger, WP_LOG_WARN, "cannot apply --match-cmdline, command lines are matched as before: %s", why.text);
    else if (o->source == WP_FROM_BPF)
        wp_source_bpf_want_cmdlines(c->source, o->pattern_count > 0);
}

static int run_source(struct collector *c, struct wp_error *err)
{
    uint64_t deadline = c->options->duration_ns ? wp_clock_of_ns(CLOCK_MONOTONIC) + c->options->duration_ns : 0;
    struct wp_fact_sink sink = wp_batcher_sink(c->batcher);
    bool is_stopped = false;
    wp_load_shedding_init(&c->shedding, &c->options->overhead_percent, c->source, c->batcher, c->logger);
    for (;;) {
        uint64_t now = deadline ? wp_clock_of_ns(CLOCK_MONOTONIC) : 0;
        bool is_over = *c->options->stop || (deadline && now >= deadline);
        if (is_over && !is_stopped) {
            wp_service_stopping(c->options->service);
            c->source->ops->stop(c->source);
        }
        is_stopped = is_stopped || is_over;
        tick(c);
        take_up_reload(c);
        int wait_ms = LOOK_MS;
        int rc = is_stopped ? 0 : keep_window(c, &sink, &wait_ms, err);
        if (now < deadline && deadline - now < (uint64_t)wait_ms * WP_NS_PER_MS)
            wait_ms = (int)((deadline - now) / WP_NS_PER_MS) + 1;
        int more = rc ? rc : c->source->ops->poll(c->source, wait_ms, &sink, err);
        rc = more < 0 ? more : wp_uplink_pump(c->uplink, 0, err);
        if (!rc)
            rc = keep_bounds(c, err);
        if (rc || !more)
            return rc;
    }
}

/* Before there are threads; a collector without it is as good as it was. */
static void start_fetching(struct collector *c)
{
    struct wp_error why = {0};
    if (c->options->debuginfod && c->options->source == WP_FROM_BPF &&
        wp_debug_fetch_start(&c->fetch, c->options->debuginfod, &why))
        wp_log(c->logger, WP_LOG_WARN,
            "cannot fetch debug files (--debuginfod), some functions will have no source lines: %s", why.text);
}

/* What is read meanwhile is there before the first facts come, and before the right to read it is given up. */
static void prepare(struct collector *c)
{
    struct wp_symbolizer *symbolizer = wp_batcher_symbolizer(c->batcher);
    if (c->options->source == WP_FROM_BPF && symbolizer)
        wp_source_bpf_direct_io(c->source, wp_symbolizer_kernel_address(symbolizer, WP_DIRECT_IO_END));
}

static int run_live(struct collector *c, struct wp_error *err)
{
    start_fetching(c);
    int rc = renounce(c, err);
    if (!rc)
        tell_vitals(c);
    if (!rc)
        rc = say_hello(c, err);
    if (!rc)
        rc = open_batcher(c, err);
    if (!rc)
        begin_reading_kernel(c);
    if (!rc)
        rc = pump_early(c, err);
    if (!rc)
        rc = open_source(c, err);
    if (!rc)
        prepare(c);
    if (c->options->source == WP_FROM_BPF)
        wp_cpu_slice_shorten();
    if (!rc)
        rc = wp_sandbox_enter(&c->sandbox, !c->options->is_unfiltered, err);
    if (!rc && c->options->ready_fd >= 0)
        rc = await_welcome(c, err);
    if (rc)
        return rc;
    if (c->options->source == WP_FROM_BPF && !wp_host_pids_are_seen())
        wp_log(c->logger, WP_LOG_WARN,
            "this is a pid namespace of its own: what the kernel reports of processes is recorded, their functions and "
            "files "
            "have no names; run in the host's (hostPID, --pid=host)");
    tell_ready(c->options);
    char text[64];
    c->window = window_now(c);
    wp_log(c->logger, WP_LOG_INFO, "collecting source=%s window=\"%s\"", c->source->ops->name,
        wp_window_text(&c->window, text));
    rc = run_source(c, err);
    wp_load_shedding_finish(&c->shedding, wp_clock_of_ns(CLOCK_MONOTONIC));
    if (c->fleet) { /* nobody waits for answers any more */
        wp_uplink_ask_names(c->uplink, NULL);
        wp_fleet_names_turn(c->fleet, false);
    }
    if (!rc)
        rc = wp_batcher_finish(c->batcher, err);
    const struct wp_batcher_stats *stats = wp_batcher_stats(c->batcher);
    if (!rc)
        rc = wp_uplink_finish(c->uplink, stats->events - c->told_events, stats->dropped - c->told_dropped, err);
    if (!rc && stats->dropped)
        wp_log(c->logger, WP_LOG_WARN, "events were dropped, a larger --ring-size keeps more dropped=%llu of=%llu",
            (unsigned long long)stats->dropped, (unsigned long long)(stats->dropped + stats->events));
    struct wp_source_counts counts = {0};
    if (c->source->ops->count)
        c->source->ops->count(c->source, &counts);
    if (!rc && (counts.unread_lines || counts.late_lines))
        wp_log(c->logger, WP_LOG_WARN,
            "lines of the text were left out: of other events, in no form that perf writes, or out of order "
            "unread=%llu late=%llu",
            (unsigned long long)counts.unread_lines, (unsigned long long)counts.late_lines);
    if (!rc && c->options->says_stats)
        printf("{\"events\":%llu,\"dropped\":%llu,\"late\":%llu,\"batches\":%llu,\"bytes\":%llu,\"cpu_ns\":%llu}\n",
            (unsigned long long)stats->events, (unsigned long long)stats->dropped, (unsigned long long)stats->late,
            (unsigned long long)stats->batches, (unsigned long long)wp_uplink_bytes(c->uplink),
            (unsigned long long)wp_clock_of_ns(CLOCK_PROCESS_CPUTIME_ID));
    return rc;
}

/* Says what the kernel offers to a collector, which has given up most capabilities by then; an error when that does not
 * suffice for the live source. */
static int say_probe(struct collector *c, struct wp_error *err)
{
    enum wp_collector_probe form = c->options->probe;
    struct wp_probe *probe;
    struct wp_buffer text = {0};
    int rc = renounce(c, err);
    if (!rc)
        rc = wp_probe_create(&probe, c->options->bpf.left_out, err);
    if (rc)
        return rc;
    rc = form == WP_ASKED_JSON ? wp_probe_json(probe, &text) : wp_probe_text(probe, &text);
    if (rc)
        wp_error_set(err, rc, "out of memory");
    else
        fwrite(text.data, 1, text.size, stdout);
    if (!rc)
        rc = wp_probe_suffices(probe, err);
    wp_buffer_fini(&text);
    wp_probe_destroy(probe);
    return rc;
}

int wp_collector_run(const struct wp_collector_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct collector c = {.options = options, .logger = logger};
    if (options->probe)
        return say_probe(&c, err);
    if (options->source == WP_FROM_CAPTURE)
        return wp_replay_run(options, logger, err);
    int rc = run_live(&c, err);
    wp_collector_vitals_close(c.vitals);
    if (c.source)
        c.source->ops->destroy(c.source);
    wp_batcher_destroy(c.batcher);
    wp_fleet_names_destroy(c.fleet);
    wp_debug_fetch_stop(c.fetch);
    wp_uplink_close(c.uplink); /* a capture that was not finished is removed */
    wp_hello_fini(&c.hello);
    return rc;
}
