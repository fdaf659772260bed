/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/daemon/collector_vitals.h"

#include "collector/host/lag.h"
#include "collector/interp/interp_languages.h"
#include "collector/live/probe.h"
#include "collector/symbols/fleet_names.h"
#include "common/clock.h"
#include "common/health.h"
#include "common/metrics.h"
#include "common/version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_NS WP_NS_PER_S
#define ABSENT_MS 30000u           /* an aggregator that restarts is no trouble yet */
#define FULL_PERCENT 90u           /* of the spool ... */
#define LATE_NS (30 * WP_NS_PER_S) /* ... while this waits: what was acknowledged may fill it */

struct wp_collector_vitals {
    struct wp_health *health;
    struct wp_lag lag;
    struct wp_buffer text;
    uint64_t looked_ns;
};

int wp_collector_vitals_open(
    struct wp_collector_vitals **out, const char *listen, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_collector_vitals *v = calloc(1, sizeof(*v));
    if (!v)
        return wp_error_set(err, -ENOMEM, "out of memory");
    int rc = wp_health_open(&v->health, listen, logger, err);
    if (rc) {
        free(v);
        return rc;
    }
    *out = v;
    return 0;
}

void wp_collector_vitals_close(struct wp_collector_vitals *v)
{
    if (!v)
        return;
    wp_health_close(v->health);
    wp_buffer_fini(&v->text);
    free(v);
}

static void put_kinds(struct wp_buffer *out, const char *name, const char *help, const uint64_t counts[WP_EVENT_KINDS])
{
    wp_metric_begin(out, name, WP_COUNTER, help);
    for (unsigned kind = 1; kind < WP_EVENT_KINDS; kind++)
        wp_metric_labelled(out, name, "kind", wp_event_kind_name(kind), (double)counts[kind]);
    if (counts[0])
        wp_metric_labelled(out, name, "kind", "other", (double)counts[0]);
}

static void put_events(struct wp_buffer *out, const struct wp_collector_view *view)
{
    const struct wp_batcher_stats *stats = wp_batcher_stats(view->batcher);
    put_kinds(out, "wakepath_collector_events_total", "Events taken from the source.", stats->taken_kinds);
    put_kinds(out, "wakepath_collector_dropped_events_total", "Events that the buffer had no room for.",
        stats->dropped_kinds);
    wp_metric_put(out, "wakepath_collector_late_events_total", WP_COUNTER,
        "Events that arrived after their time had been sent.", (double)stats->late);
    wp_metric_put(out, "wakepath_collector_batches_total", WP_COUNTER, "Batches made.", (double)stats->batches);
    wp_metric_put(out, "wakepath_collector_batch_bytes_total", WP_COUNTER, "Compressed bytes of batches.",
        (double)wp_uplink_bytes(view->uplink));
}

static void put_stacks(struct wp_buffer *out, const struct wp_stack_counts *counts)
{
    static const char name[] = "wakepath_collector_stacks_total";
    wp_metric_begin(
        out, name, WP_COUNTER, "Stacks of events, by origin: already known, assembled from frames, or lost.");
    wp_metric_labelled(out, name, "from", "memory", (double)counts->known);
    wp_metric_labelled(out, name, "from", "frames", (double)counts->made);
    wp_metric_labelled(out, name, "from", "nowhere", (double)counts->lost);
}

static void put_names(struct wp_buffer *out, const struct wp_fleet_names *fleet)
{
    static const char name[] = "wakepath_collector_names_total";
    if (!fleet)
        return;
    struct wp_fleet_names_counts counts = wp_fleet_names_counts(fleet);
    wp_metric_begin(out, name, WP_COUNTER,
        "Code places whose names were asked of the aggregator: it knew them, or the file was read here.");
    wp_metric_labelled(out, name, "from", "fleet", (double)counts.named);
    wp_metric_labelled(out, name, "from", "file", (double)counts.read);
    wp_metric_put(out, "wakepath_collector_names_told_total", WP_COUNTER,
        "Code places named here and sent to the aggregator.", (double)counts.told);
}

static void put_naming(struct wp_buffer *out, const struct wp_symbolizer_stats *stats)
{
    static const char name[] = "wakepath_collector_places_total";
    wp_metric_begin(out, name, WP_COUNTER, "Places in files of which the names were looked up, by what came of it.");
    wp_metric_labelled(out, name, "result", "named", (double)(stats->answered - stats->unnamed));
    wp_metric_labelled(out, name, "result", "unnamed", (double)stats->unnamed);
    wp_metric_labelled(out, name, "result", "waiting", (double)(stats->asked - stats->answered));
    wp_metric_put(out, "wakepath_collector_objects_read_total", WP_COUNTER, "Files that were read for names.",
        (double)stats->objects);
    wp_metric_put(out, "wakepath_collector_objects_refused_total", WP_COUNTER,
        "Files that could not be opened, or are of another build than what runs.", (double)stats->refused_files);
    wp_metric_put(
        out, "wakepath_collector_debug_bytes", WP_GAUGE, "Debug information in memory.", (double)stats->debug_bytes);
}

static void put_codes(struct wp_buffer *out, struct wp_interp_codes_counts counts)
{
    static const char name[] = "wakepath_collector_interpreter_codes_total";
    wp_metric_begin(out, name, WP_COUNTER, "Code objects of interpreters that are not whole, by what is missing.");
    wp_metric_labelled(out, name, "missing", "room", (double)counts.refused);
    wp_metric_labelled(out, name, "missing", "text", (double)counts.unread);
    wp_metric_labelled(out, name, "missing", "object", (double)counts.unknown);
    wp_metric_put(out, "wakepath_collector_interpreter_codes", WP_GAUGE, "Code objects of interpreters in memory.",
        (double)counts.held);
}

static void put_interps(struct wp_buffer *out, const struct wp_source_counts *counts)
{
    static const char name[] = "wakepath_collector_interpreter_walks_total";
    static const char *const ends[WP_INTERP_ENDS] = {"complete", "no_thread", "unreadable", "not_code", "too_deep"};
    wp_metric_begin(out, name, WP_COUNTER, "Walks of interpreted languages' frames in the kernel, by how they ended.");
    for (uint32_t i = 0; i < WP_INTERP_LANGUAGES * WP_INTERP_ENDS; i++) {
        uint32_t language = i / WP_INTERP_ENDS, end = i % WP_INTERP_ENDS;
        const struct wp_metric_label labels[] = {
            {"language", wp_interp_language(WP_INTERP_VERSION(language, 0, 0))->name}, {"end", ends[end]}};
        wp_metric_line(out, name, labels, 2, (double)counts->interps.ends[language][end]);
    }
    wp_metric_put(out, "wakepath_collector_interpreters_refused_total", WP_COUNTER,
        "Files of interpreters of an unknown version or build, or beyond 1024: their functions are not seen.",
        (double)counts->interps_refused);
}

static void put_source(struct wp_buffer *out, const struct wp_source *source)
{
    static const char name[] = "wakepath_collector_stack_walks_total";
    struct wp_source_counts counts;
    if (!source->ops->count)
        return;
    source->ops->count(source, &counts);
    if (!source->ops->thin) {
        wp_metric_put(out, "wakepath_collector_unread_lines_total", WP_COUNTER,
            "Lines of the text of other events, or in no form that perf writes.", (double)counts.unread_lines);
        wp_metric_put(out, "wakepath_collector_late_lines_total", WP_COUNTER,
            "Lines whose time was before that of one above them.", (double)counts.late_lines);
        return;
    }
    wp_metric_begin(out, name, WP_COUNTER, "Walks of user stacks in the kernel, by how they ended.");
    wp_metric_labelled(out, name, "end", "complete", (double)counts.walks_complete);
    wp_metric_labelled(out, name, "end", "not_yet", (double)counts.walks_not_yet);
    wp_metric_labelled(out, name, "end", "no_rows", (double)counts.walks_no_rows);
    wp_metric_labelled(out, name, "end", "not_code", (double)counts.walks_not_code);
    wp_metric_labelled(out, name, "end", "unreadable", (double)counts.walks_unreadable);
    wp_metric_labelled(out, name, "end", "too_deep", (double)counts.walks_too_deep);
    put_interps(out, &counts);
    wp_metric_put(out, "wakepath_collector_lost_mappings_total", WP_COUNTER,
        "Mmap events that were lost: functions there have no names.", (double)counts.lost_mappings);
    wp_metric_put(
        out, "wakepath_collector_bpf_runs_total", WP_COUNTER, "Runs of the BPF programs.", (double)counts.program_runs);
    wp_metric_put(out, "wakepath_collector_bpf_seconds_total", WP_COUNTER, "Time in the BPF programs, of all CPUs.",
        (double)counts.program_ns / 1e9);
}

/* 1: what the kernel offers at best; 2, 3: what stands in; 0: nothing could. */
static void put_choices(struct wp_buffer *out, const struct wp_source *source)
{
    static const char name[] = "wakepath_collector_choice";
    const struct wp_probe *probe = source->ops->probe ? source->ops->probe(source) : NULL;
    if (!probe)
        return;
    wp_metric_begin(
        out, name, WP_GAUGE, "Source of each fact: 1 the best programs, 2 and 3 others, 0 none (docs/kernels.md).");
    for (unsigned i = 0; i < wp_probe_count(probe); i++) {
        const struct wp_probe_fact *fact = wp_probe_fact(probe, i);
        const struct wp_probe_choice *used = wp_probe_used(fact);
        const char *programs = used ? used->programs : fact->without ? fact->without : "";
        wp_metric_line(out, name, (struct wp_metric_label[]){{"of", fact->name}, {"programs", programs}}, 2,
            used ? (double)(used - fact->choices + 1) : 0);
    }
}

static void put_load_shedding(struct wp_buffer *out, const struct wp_source *source, const struct wp_load_shedding *t)
{
    static const char name[] = "wakepath_collector_left_out_seconds_total";
    struct wp_source_counts counts;
    if (!source->ops->thin)
        return;
    source->ops->count(source, &counts);
    wp_metric_put(out, "wakepath_collector_reading_seconds_total", WP_COUNTER,
        "CPU time of reading names and unwind rows, once for each object: not limited.", (double)t->reading_ns / 1e9);
    wp_metric_put(out, "wakepath_collector_overhead_ratio", WP_GAUGE,
        "Limited CPU time of the collector with its BPF programs, as a share of one CPU, over the last seconds.",
        t->budget.share_percent / 100);
    if (t->budget.limit_percent > 0)
        wp_metric_put(out, "wakepath_collector_overhead_limit_ratio", WP_GAUGE,
            "Limit of wakepath_collector_overhead_ratio.", t->budget.limit_percent / 100);
    wp_metric_put(out, "wakepath_collector_shedding_level", WP_GAUGE,
        "Level of load shedding: 0 none, 1 and 2 fewer stacks, 3 and up intervals without events.", t->budget.level);
    wp_metric_put(out, "wakepath_collector_thinning_level", WP_GAUGE,
        "Deprecated, removed in the next release: use wakepath_collector_shedding_level.", t->budget.level);
    wp_metric_begin(out, name, WP_COUNTER, "Time in which load was shed, by what was left out.");
    wp_metric_labelled(out, name, "what", "stacks", (double)t->left_out_ns[0] / 1e9);
    wp_metric_labelled(out, name, "what", "events", (double)t->left_out_ns[1] / 1e9);
    wp_metric_put(out, "wakepath_collector_left_out_stacks_total", WP_COUNTER, "Stacks of sleeps that were not walked.",
        (double)counts.unwalked);
}

static void put_delivery(struct wp_buffer *out, const struct wp_uplink_counts *counts, uint64_t lag_ns)
{
    if (counts->has_aggregator) {
        wp_metric_put(
            out, "wakepath_collector_welcome", WP_GAUGE, "1: an aggregator accepts batches.", counts->is_welcome);
        wp_metric_put(out, "wakepath_collector_absence_seconds", WP_GAUGE, "Seconds since an aggregator last answered.",
            (double)counts->absent_ms / 1e3);
        wp_metric_put(out, "wakepath_collector_unacknowledged_batches", WP_GAUGE,
            "Batches that no aggregator has on disk yet.", (double)counts->waiting);
        wp_metric_put(out, "wakepath_collector_lag_seconds", WP_GAUGE, "Age of the oldest unacknowledged batch.",
            (double)lag_ns / 1e9);
    }
    wp_metric_put(out, "wakepath_collector_sessions_renewed_total", WP_COUNTER,
        "Sessions that continued in a new one, because their dictionary reached --session-limit or an aggregator "
        "accepted no more.",
        (double)counts->renewals);
    wp_metric_put(out, "wakepath_collector_refused_events_total", WP_COUNTER,
        "Events of sessions that no aggregator accepts: lost, and reported as dropped.",
        (double)counts->refused_events);
    if (!counts->has_spool)
        return;
    wp_metric_put(out, "wakepath_collector_spool_bytes", WP_GAUGE, "The spool.", (double)counts->spool_bytes);
    wp_metric_put(
        out, "wakepath_collector_spool_limit_bytes", WP_GAUGE, "Limit of the spool.", (double)counts->spool_limit);
    wp_metric_put(out, "wakepath_collector_spool_lost_batches_total", WP_COUNTER,
        "Batches of this session that were removed from the spool before an aggregator had them.",
        (double)counts->spool_lost);
}

static void put_identity(struct wp_buffer *out, const struct wp_collector_view *view)
{
    static const char name[] = "wakepath_collector_info";
    const struct wp_hello *hello = view->hello;
    wp_metric_begin(out, name, WP_GAUGE, "Version and identity; always 1.");
    wp_metric_line(out, name,
        (struct wp_metric_label[]){{"version", wp_version()}, {"host", hello->hostname}, {"kernel", hello->kernel},
            {"source", view->source->ops->name}},
        4, 1);
}

/* Next to what it is: without samples all time is accounted for, and what ran in it is not known. */
static void put_samples(struct wp_buffer *out, const struct wp_collector_view *view)
{
    if (view->hello->samples != WP_SAMPLES_TAKEN && view->hello->samples != WP_SAMPLES_IMPOSSIBLE)
        return;
    wp_metric_put(out, "wakepath_collector_sampling", WP_GAUGE,
        "1: CPU samples are taken; 0: the kernel gives none, functions that run are unknown (docs/kernels.md).",
        view->hello->samples == WP_SAMPLES_TAKEN);
    if (view->source->ops->unsampled_cpus && view->hello->samples == WP_SAMPLES_TAKEN)
        wp_metric_put(out, "wakepath_collector_unsampled_cpus", WP_GAUGE,
            "CPUs that came online after the start: they have no samples until a restart.",
            view->source->ops->unsampled_cpus(view->source));
}

/* "" when all is well. */
static void judge(const struct wp_uplink_counts *counts, uint64_t lag_ns, char *text, size_t room)
{
    *text = 0;
    if (counts->has_aggregator && !counts->is_welcome && counts->absent_ms > ABSENT_MS)
        snprintf(text, room, "no aggregator answers since %llu s%s%s", (unsigned long long)counts->absent_ms / 1000,
            *counts->trouble ? ": " : "", counts->trouble);
    else if (counts->has_spool && lag_ns > LATE_NS && counts->spool_bytes > counts->spool_limit / 100 * FULL_PERCENT)
        snprintf(text, room, "the spool is nearly full: %llu of %llu bytes", (unsigned long long)counts->spool_bytes,
            (unsigned long long)counts->spool_limit);
}

void wp_collector_vitals_tick(struct wp_collector_vitals *v, const struct wp_collector_view *view, uint64_t now_ns)
{
    struct wp_uplink_counts counts;
    char trouble[512];
    if (!v || now_ns - v->looked_ns < LOOK_NS)
        return;
    v->looked_ns = now_ns;
    wp_uplink_count(view->uplink, &counts);
    uint64_t lag_ns =
        wp_lag_look(&v->lag, counts.last_seq, counts.has_aggregator ? counts.acked_seq : counts.last_seq, now_ns);
    wp_buffer_clear(&v->text);
    put_identity(&v->text, view);
    put_samples(&v->text, view);
    put_events(&v->text, view);
    put_stacks(&v->text, wp_batcher_stacks(view->batcher));
    struct wp_symbolizer_stats naming = wp_batcher_names(view->batcher);
    put_naming(&v->text, &naming);
    put_codes(&v->text, wp_batcher_codes(view->batcher));
    put_names(&v->text, view->fleet);
    put_source(&v->text, view->source);
    put_choices(&v->text, view->source);
    put_load_shedding(&v->text, view->source, view->shedding);
    put_delivery(&v->text, &counts, lag_ns);
    wp_metric_process(&v->text);
    judge(&counts, lag_ns, trouble, sizeof(trouble));
    wp_health_publish(v->health, &v->text, *trouble ? trouble : NULL);
}
