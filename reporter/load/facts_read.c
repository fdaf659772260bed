/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/load/facts_read.h"

#include "common/path.h"
#include "reporter/code/functions.h"
#include "reporter/facts/ask_counts.h"
#include "reporter/facts/beside.h"
#include "reporter/facts/contour.h"
#include "reporter/facts/stack_text.h"
#include "reporter/findings/findings.h"
#include "reporter/load/other_windows.h"
#include "reporter/recording/origins.h"
#include "reporter/recording/recorded_command.h"
#include "reporter/recording/unsampled.h"
#include "reporter/requests/exemplar_facts.h"
#include "storage/kind/late.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void take_hosts(struct wp_facts *facts)
{
    uint32_t count;
    const uint32_t *hosts = wp_report_hosts(facts->report, &count);
    facts->hosts = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->hosts));
    for (uint32_t i = 0; facts->hosts && i < count; i++)
        facts->hosts[facts->host_count++] = wp_report_text(facts->report, hosts[i]);
    if (facts->host_count)
        qsort(facts->hosts, facts->host_count, sizeof(*facts->hosts), compare_texts);
}

static int compare_processes(const void *left, const void *right)
{
    const struct wp_process_fact *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->running_ns != b->running_ns)
        return a->running_ns > b->running_ns ? -1 : 1;
    int rc = strcmp(a->host, b->host);
    rc = rc ? rc : strcmp(a->comm, b->comm);
    if (!rc && a->pid != b->pid)
        rc = a->pid < b->pid ? -1 : 1;
    return rc ? rc : a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static void take_processes(struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_report_process *rows = wp_report_processes(facts->report, &count);
    facts->processes = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->processes));
    for (uint32_t i = 0; facts->processes && i < count; i++)
        facts->processes[facts->process_count++] =
            (struct wp_process_fact){.host = wp_report_text(facts->report, rows[i].host),
                .comm = wp_report_text(facts->report, rows[i].comm),
                .pid = rows[i].pid,
                .start_ns = rows[i].start_ns,
                .total_ns = rows[i].total_ns,
                .running_ns = rows[i].running_ns};
    if (facts->process_count)
        qsort(facts->processes, facts->process_count, sizeof(*facts->processes), compare_processes);
}

static int compare_unexplained(const void *left, const void *right)
{
    const struct wp_unexplained_fact *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    int rc = strcmp(a->stack, b->stack);
    return rc ? rc : strcmp(a->reason, b->reason);
}

static void take_unexplained(struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_unexplained *rows = wp_report_unexplained_rows(facts->report, &count);
    facts->unexplained = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->unexplained));
    for (uint32_t i = 0; facts->unexplained && i < count; i++) {
        uint32_t node = rows[i].node < facts->flame.source_count ? facts->flame.by_source[rows[i].node] : 0;
        facts->unexplained[facts->unexplained_count++] =
            (struct wp_unexplained_fact){.stack = wp_stack_text(&facts->pool, facts, rows[i].node),
                .top = wp_stack_top(facts, rows[i].node),
                .reason = wp_report_text(facts->report, rows[i].reason),
                .permalink = node ? facts->flame.nodes[node].permalink : 0,
                .ns = rows[i].ns,
                .count = rows[i].count,
                .longest_ns = rows[i].longest_ns,
                .tid = rows[i].tid};
    }
    if (facts->unexplained_count)
        qsort(facts->unexplained, facts->unexplained_count, sizeof(*facts->unexplained), compare_unexplained);
}

static int compare_events(const void *left, const void *right)
{
    const struct wp_event_fact *a = left, *b = right;
    return strcmp(a->kind, b->kind);
}

static void take_events(struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_event_count *rows = wp_report_event_counts(facts->report, &count);
    facts->events = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->events));
    for (uint32_t i = 0; facts->events && i < count; i++) {
        facts->events[facts->event_count++] =
            (struct wp_event_fact){wp_report_text(facts->report, rows[i].kind), rows[i].total, rows[i].dropped};
        facts->events_total += rows[i].total;
        facts->events_dropped += rows[i].dropped;
    }
    if (facts->event_count)
        qsort(facts->events, facts->event_count, sizeof(*facts->events), compare_events);
}

static int compare_limits(const void *left, const void *right)
{
    const struct wp_limit_fact *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void take_limits(struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_limit_count *rows = wp_report_limits(facts->report, &count);
    facts->limits = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->limits));
    facts->beside = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->beside));
    facts->asks = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->asks));
    for (uint32_t i = 0; facts->limits && facts->beside && facts->asks && i < count; i++) {
        const char *name = wp_report_text(facts->report, rows[i].name);
        if (!wp_beside_take(facts, name, rows[i].ns) && !wp_ask_counts_take(facts, name, rows[i].count))
            facts->limits[facts->limit_count++] = (struct wp_limit_fact){name, rows[i].count, rows[i].ns};
    }
    wp_beside_sort(facts);
    if (facts->limit_count)
        qsort(facts->limits, facts->limit_count, sizeof(*facts->limits), compare_limits);
}

static int compare_edges(const void *left, const void *right)
{
    const struct wp_edge_fact *a = left, *b = right;
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns > b->waited_ns ? -1 : 1;
    int order = strcmp(a->from, b->from);
    return order ? order : strcmp(a->to, b->to);
}

static void take_edges(struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_report_edge *rows = wp_report_edges(facts->report, &count);
    facts->edges = wp_pool_alloc(&facts->pool, (count + 1u) * sizeof(*facts->edges));
    for (uint32_t i = 0; facts->edges && i < count; i++)
        facts->edges[facts->edge_count++] = (struct wp_edge_fact){.from = wp_report_text(facts->report, rows[i].from),
            .to = wp_report_text(facts->report, rows[i].to),
            .messages = rows[i].messages,
            .waited_ns = rows[i].waited_ns,
            .transit_ns = rows[i].messages ? rows[i].transit_ns / rows[i].messages : 0,
            .transit_max_ns = rows[i].transit_max_ns,
            .bound_ns = rows[i].bound_max_ns};
    if (facts->edge_count)
        qsort(facts->edges, facts->edge_count, sizeof(*facts->edges), compare_edges);
}

static void take_totals(struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_span *spans = wp_report_spans(facts->report, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!facts->first_ns || spans[i].start_ns < facts->first_ns)
            facts->first_ns = spans[i].start_ns;
        if (spans[i].end_ns > facts->last_ns)
            facts->last_ns = spans[i].end_ns;
    }
    facts->wall_ns = wp_report_wall(facts->report);
    /* The total is the sum of its parts by definition, so it is made from them. */
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        facts->total_ns += facts->categories[i] = wp_report_category(facts->report, (enum wp_category)i);
    facts->uncertain_ns = wp_report_uncertain_ns(facts->report);
    facts->detached_ns = wp_report_detached_ns(facts->report);
    facts->coverage = wp_report_coverage(facts->report);
    facts->estimated_ns = facts->coverage > 0 ? (uint64_t)((double)facts->total_ns / facts->coverage) : facts->total_ns;
    facts->accounted_percent =
        facts->total_ns ? 100.0 * (1.0 - (double)facts->categories[WP_UNACCOUNTED] / (double)facts->total_ns) : 100.0;
}

/* What facts are built from. */
struct origin {
    const char *release, *aggregate;
    struct wp_report *report; /* taken over, as ... */
    struct wp_trace *trace;   /* ... this; NULL none */
};

static int build(struct wp_facts *facts, const struct origin *from, struct wp_error *err)
{
    struct wp_report *report = from->report;
    memset(facts, 0, sizeof(*facts));
    facts->report = report;
    facts->trace = from->trace;
    facts->release = wp_pool_text(&facts->pool, from->release);
    facts->aggregate = wp_pool_text(&facts->pool, from->aggregate);
    int rc = wp_flame_build(&facts->flame, report, err);
    if (rc)
        return wp_error_wrap(err, rc, "cannot lay out %s of release %s", from->aggregate, from->release);
    take_totals(facts);
    facts->pool.failed |= wp_stack_ends_measure(report, &facts->stack_ends) != 0;
    take_hosts(facts);
    take_processes(facts);
    take_unexplained(facts);
    take_events(facts);
    take_limits(facts);
    take_edges(facts);
    wp_functions_build(facts);
    wp_source_lines_build(&facts->source, &facts->pool, facts->report);
    return facts->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for the facts of %s", from->aggregate) : 0;
}

/* Facts of work that nobody waited for. */
static int build_detached(struct wp_facts *facts, struct wp_error *err)
{
    const struct wp_report *work = wp_report_detached_work(facts->report);
    if (!work)
        return 0;
    struct wp_report *copy = wp_report_create();
    facts->detached = calloc(1, sizeof(*facts->detached));
    if (!copy || !facts->detached || wp_report_merge(copy, work, NULL)) {
        wp_report_destroy(copy);
        return wp_error_set(err, -ENOMEM, "out of memory for detached work of %s", facts->aggregate);
    }
    return build(facts->detached, &(struct origin){facts->release, facts->aggregate, copy, NULL}, err);
}

static int build_whole(struct wp_facts *facts, const struct origin *from, struct wp_error *err)
{
    int rc = build(facts, from, err);
    return rc ? rc : build_detached(facts, err);
}

/* They look at work that nobody waited for and at what recordings said, too, and speak of waits. */
static int build_findings(struct wp_facts *facts, const struct wp_trace *by_threads, struct wp_error *err)
{
    facts->by_threads = by_threads || facts->is_progress ? by_threads : facts->trace;
    wp_findings_build(facts);
    facts->by_threads = NULL;
    return facts->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for the findings of %s", facts->aggregate)
                              : 0;
}

int wp_facts_build(struct wp_facts *facts, const char *release, const char *aggregate, struct wp_report *report,
    struct wp_trace *trace, struct wp_error *err)
{
    int rc = build_whole(facts, &(struct origin){release, aggregate, report, trace}, err);
    return rc ? rc : build_findings(facts, NULL, err);
}

/* The window of the view by threads of the same processes; NULL: there is none, or it cannot be read, which is told
 * where that view is shown. */
static struct wp_trace *read_by_threads(
    const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection)
{
    struct wp_trace *trace = NULL;
    char *name = NULL;
    if (asprintf(&name, "%s" WP_BESIDE_THREADS, aggregate) < 0)
        return NULL;
    if (wp_snapshot_trace(snapshot, name, selection, &trace, NULL))
        trace = NULL;
    free(name);
    return trace;
}

static int read_metadata(struct wp_facts *facts, const struct wp_snapshot *snapshot, struct wp_error *err)
{
    struct wp_error reason = {0};
    int rc = wp_metadata_read(&facts->metadata, &facts->pool, snapshot, facts->aggregate, &reason);
    if (!rc)
        rc = wp_metadata_read(&facts->release_metadata, &facts->pool, snapshot, NULL, &reason);
    if (rc == -EBADMSG)
        return wp_facts_add_damage(facts, "metadata", reason.text);
    return rc ? wp_error_set(err, rc, "%s", reason.text) : 0;
}

static int read_late(struct wp_facts *facts, const struct wp_snapshot *snapshot, const struct wp_selection *selection,
    struct wp_error *err)
{
    struct wp_error reason = {0};
    char bucket[WP_ID_ROOM];
    int rc = 0;
    if (wp_snapshot_bucket(snapshot, facts->aggregate, bucket, NULL))
        return 0;
    for (size_t i = 0; !rc && i < snapshot->stores->count; i++)
        if (snapshot->txns[i])
            rc = wp_txn_late(snapshot->txns[i], bucket, selection, &facts->late, &reason);
    if (rc == -EBADMSG)
        return wp_facts_add_damage(facts, "metadata", reason.text);
    return rc ? wp_error_set(err, rc, "%s", reason.text) : 0;
}

static int read_exemplars(struct wp_facts *facts, const struct wp_snapshot *snapshot,
    const struct wp_selection *selection, struct wp_error *err)
{
    struct wp_exemplars set = {0};
    struct wp_error reason = {0};
    int rc = wp_snapshot_exemplars(snapshot, facts->aggregate, selection, &set, &reason);
    if (rc == -EBADMSG)
        rc = wp_facts_add_damage(facts, "exemplars", reason.text);
    if (!rc || rc == -ENOENT)
        wp_exemplar_facts_build(facts, &set);
    wp_exemplars_fini(&set);
    rc = rc == -ENOENT ? 0 : rc;
    return rc || facts->pool.failed
        ? wp_error_set(err, rc ? rc : -ENOMEM, "%s", rc ? reason.text : "out of memory for exemplars")
        : 0;
}

static int read_facts(struct wp_facts *facts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_selection *selection, const struct wp_contour *contour, struct wp_error *err)
{
    struct wp_snapshot_sum sum;
    struct wp_trace *trace = NULL;
    struct wp_error trace_error = {0};
    struct wp_recordings recordings = {0};
    memset(facts, 0, sizeof(*facts));
    int rc = wp_snapshot_report(snapshot, aggregate, selection, &sum, err);
    if (rc)
        return rc;
    rc = wp_contour_apply(&sum.report, contour, err);
    if (rc) {
        wp_snapshot_sum_fini(&sum);
        return rc;
    }
    int trace_rc = wp_snapshot_trace(snapshot, aggregate, selection, &trace, &trace_error);
    struct wp_trace *by_threads = read_by_threads(snapshot, aggregate, selection);
    rc = build_whole(facts, &(struct origin){snapshot->release, aggregate, sum.report, trace_rc ? NULL : trace}, err);
    wp_facts_set_contour(facts, contour);
    facts->damage = sum.damage;
    facts->damage_count = sum.damage_count;
    facts->group = selection && selection->hosts ? wp_pool_text(&facts->pool, selection->hosts) : NULL;
    if (!rc)
        rc = read_metadata(facts, snapshot, err);
    if (!rc)
        rc = build_findings(facts, by_threads, err);
    wp_trace_destroy(by_threads);
    if (!rc)
        wp_unsampled_build(facts);
    if (!rc)
        rc = read_late(facts, snapshot, selection, err);
    if (!rc)
        rc = wp_snapshot_recordings(snapshot, selection ? selection->hosts : NULL, &recordings, err);
    struct wp_recorded_command command = {0};
    if (!rc)
        rc = wp_recorded_command(snapshot, aggregate, &command, err);
    facts->is_command = command.is_command;
    facts->recordings = wp_recorded_times(&command, recordings.at_least);
    if (!rc)
        rc = read_exemplars(facts, snapshot, selection, err);
    for (size_t i = 0; i < snapshot->damage_count && !rc; i++)
        rc = wp_facts_add_damage(facts, snapshot->damage[i].key, snapshot->damage[i].reason);
    if (!rc && trace_rc && trace_rc != -ENOENT)
        rc = wp_facts_add_damage(facts, "trace", trace_error.text);
    return rc == -ENOMEM ? wp_error_set(err, -ENOMEM, "out of memory for the damage list") : rc;
}

int wp_facts_read(struct wp_facts *facts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_selection *selection, struct wp_error *err)
{
    return read_facts(facts, snapshot, aggregate, selection, NULL, err);
}

/* The window of an exemplar stands in for the one that is shown by itself. */
static int choose_window(struct wp_facts *facts, unsigned number, struct wp_error *err)
{
    if (number > facts->exemplars.count)
        return wp_error_set(
            err, -ENOENT, "%s has %zu exemplars, not %u", facts->aggregate, facts->exemplars.count, number);
    struct wp_exemplar_fact *fact = &facts->exemplars.rows[number - 1];
    wp_trace_destroy(facts->trace);
    facts->trace = fact->trace;
    fact->trace = NULL;
    return 0;
}

int wp_facts_read_windows(struct wp_facts *facts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_selection *selection, const struct wp_facts_windows *windows, struct wp_error *err)
{
    int rc = read_facts(facts, snapshot, aggregate, selection, windows->contour, err);
    if (!rc && windows->of_others)
        rc = wp_other_windows_read(facts, snapshot, selection, err);
    if (!rc && windows->fits_pages)
        rc = wp_other_windows_fit(facts, err);
    if (!rc && windows->exemplar)
        rc = choose_window(facts, windows->exemplar, err);
    return rc;
}

void wp_facts_fini(struct wp_facts *facts)
{
    wp_damage_free(facts->damage, facts->damage_count);
    wp_flame_fini(&facts->flame);
    wp_report_destroy(facts->report);
    wp_trace_destroy(facts->trace);
    wp_exemplar_facts_fini(&facts->exemplars);
    wp_pool_fini(&facts->pool);
    if (facts->detached)
        wp_facts_fini(facts->detached);
    free(facts->detached);
    memset(facts, 0, sizeof(*facts));
}
