/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/system_window.h"

#include "aggregator/account/exemplar.h"
#include "aggregator/account/system_ops.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/timeline.h"
#include "storage/report/trace_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wp_system_window {
    struct wp_exemplar rows;
    struct wp_system_ops ops;
    bool has_begun, is_over;
    uint8_t session[16]; /* whose it is */
};

struct wp_system_window *wp_system_window_create(void)
{
    return calloc(1, sizeof(struct wp_system_window));
}

void wp_system_window_destroy(struct wp_system_window *window)
{
    if (!window)
        return;
    wp_exemplar_fini(&window->rows);
    wp_system_ops_fini(&window->ops);
    free(window);
}

bool wp_system_window_has_rows(const struct wp_system_window *window)
{
    return window->has_begun && window->rows.trace->thread_count;
}

static int begin(struct wp_system_window *window, struct wp_fleet *fleet, uint32_t home)
{
    const struct wp_fleet_host *host = &fleet->hosts[home];
    int rc = wp_exemplar_init(&window->rows, fleet, home, NULL, UINT64_MAX);
    if (rc)
        return rc;
    window->rows.is_system = true;
    window->rows.row_limit = WP_SYSTEM_ROWS;
    memcpy(window->session, host->session_id, sizeof(window->session));
    wp_exemplar_begin(&window->rows, host->timeline->start_ns, host->real_offset_ns);
    window->has_begun = true;
    return 0;
}

/* --- who runs --- */

static const char *group_of(const struct wp_timeline *timeline, uint32_t identity)
{
    const struct wp_dictionary *dictionary = timeline->dictionary;
    const struct wp_thread_entry *entry = wp_dictionary_thread(dictionary, timeline->identities[identity].entry);
    if (!entry || entry->flags & WP_THREAD_KERNEL)
        return "";
    return wp_dictionary_string(dictionary, entry->workload ? entry->workload : entry->cgroup);
}

/* What it is called, where it belongs and who waits for it is known as it goes on. */
static void describe(
    struct wp_system_window *window, const struct wp_timeline *timeline, uint32_t row, const struct wp_slice *slice)
{
    struct wp_trace *trace = window->rows.trace;
    struct wp_trace_thread *thread = &trace->threads[row];
    const char *group = thread->group ? "" : group_of(timeline, slice->identity);
    thread->is_base |= timeline->identities[slice->identity].aggregates != 0;
    thread->is_on_path |= slice->taken != 0;
    if (*group)
        thread->group = wp_trace_string(trace, group);
    if (slice->flags & WP_SLICE_RENAME || !thread->comm) {
        uint32_t comm = wp_trace_string(trace, wp_timeline_comm(timeline, slice->identity));
        thread->comm = comm == UINT32_MAX ? thread->comm : comm;
    }
}

/* A thread has a row once it has run, and another one from each exec on. */
static void look_at(struct wp_system_window *window, uint32_t index, uint64_t from_ns, uint64_t until_ns)
{
    struct wp_exemplar *rows = &window->rows;
    const struct wp_timeline *timeline = rows->fleet->hosts[rows->home].timeline;
    const struct wp_thread *thread = &timeline->threads[index];
    uint64_t at = window->is_over || thread->first_slice == thread->slice_end ? thread->first_slice
                                                                              : wp_thread_find(thread, from_ns);
    for (at = at == thread->slice_end ? thread->first_slice : at; at < thread->slice_end; at++) {
        const struct wp_slice *slice = wp_thread_slice(thread, at);
        if (!slice->in_ns || slice->in_ns > until_ns || (slice->end_ns && slice->end_ns <= rows->origin_ns))
            continue;
        uint32_t row = wp_exemplar_thread_at(rows, rows->home, index, slice->in_ns);
        bool is_new = slice->in_ns > from_ns;
        if (row == UINT32_MAX || (is_new && slice->flags & WP_SLICE_EXEC))
            row = wp_exemplar_program(rows, rows->home, index, slice->identity, slice->in_ns);
        if (row == UINT32_MAX)
            return;
        describe(window, timeline, row, slice);
        if (is_new)
            wp_system_ops_interrupt(rows, row, slice);
    }
}

void wp_system_window_extend(
    struct wp_system_window *window, struct wp_fleet *fleet, uint32_t home, uint64_t until_ns, bool is_final)
{
    const struct wp_fleet_host *host = &fleet->hosts[home];
    if (window->is_over || !host->timeline->start_ns || (!window->has_begun && begin(window, fleet, home)) ||
        memcmp(window->session, host->session_id, sizeof(window->session)))
        return;
    struct wp_exemplar *rows = &window->rows;
    uint64_t from_ns = rows->now_ns;
    rows->now_ns = until_ns;
    window->is_over = is_final; /* then all slices are looked at again: whether a path held them is known late */
    for (uint32_t i = 0; i < host->timeline->live_count; i++)
        look_at(window, host->timeline->live[i], from_ns, until_ns);
    rows->end_ns = is_final ? until_ns : 0;
    wp_exemplar_extend(rows, until_ns);
    wp_system_ops_extend(&window->ops, rows, from_ns, until_ns);
    rows->trace->length_ns = until_ns > rows->origin_ns ? until_ns - rows->origin_ns : 0;
}

/* --- the file --- */

static int compare_runs(const void *left, const void *right)
{
    const struct wp_trace_run *a = left, *b = right;
    return a->thread != b->thread ? (a->thread < b->thread ? -1 : 1)
                                  : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_sleeps(const void *left, const void *right)
{
    const struct wp_trace_sleep *a = left, *b = right;
    return a->thread != b->thread ? (a->thread < b->thread ? -1 : 1)
                                  : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_links(const void *left, const void *right)
{
    const struct wp_trace_link *a = left, *b = right;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int compare_ops(const void *left, const void *right)
{
    const struct wp_trace_op *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

int wp_system_window_encode(struct wp_system_window *window, struct wp_buffer *out, struct wp_error *err)
{
    struct wp_trace *trace = window->rows.trace;
    if (!window->has_begun)
        return wp_error_set(err, -ENOENT, "nothing happened");
    if (trace->run_count) /* small differences are short numbers */
        qsort(trace->runs, trace->run_count, sizeof(*trace->runs), compare_runs);
    if (trace->sleep_count)
        qsort(trace->sleeps, trace->sleep_count, sizeof(*trace->sleeps), compare_sleeps);
    if (trace->link_count)
        qsort(trace->links, trace->link_count, sizeof(*trace->links), compare_links);
    if (trace->op_count)
        qsort(trace->ops, trace->op_count, sizeof(*trace->ops), compare_ops);
    return wp_trace_encode(trace, out, err);
}
