/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/load/other_windows.h"

#include "reporter/requests/exemplar_facts.h"
#include "reporter/window/window_fit.h"

#include <errno.h>
#include <string.h>

#define OTHER_BYTES (WP_WINDOW_BYTES / 8)

struct newest {
    struct wp_trace *rows[WP_OTHER_WINDOWS + 1]; /* owned; the latest first */
    size_t count;
    size_t of_store; /* how many the store in hand has given */
};

/* Where begins are equal the one that came first stays: stores and shards come in the same order each time. */
static bool take_trace(void *context, struct wp_trace *trace)
{
    struct newest *newest = context;
    size_t at = newest->count;
    while (at && newest->rows[at - 1]->start_ns < trace->start_ns)
        at--;
    if (at > WP_OTHER_WINDOWS) {
        wp_trace_destroy(trace);
    } else {
        if (newest->count > WP_OTHER_WINDOWS)
            wp_trace_destroy(newest->rows[--newest->count]);
        memmove(&newest->rows[at + 1], &newest->rows[at], (newest->count - at) * sizeof(*newest->rows));
        newest->rows[at] = trace;
        newest->count++;
    }
    return ++newest->of_store <= WP_OTHER_WINDOWS;
}

static bool is_shown(const struct wp_facts *facts, const struct wp_trace *trace)
{
    const struct wp_trace *first = facts->trace;
    return first && first->start_ns == trace->start_ns && first->length_ns == trace->length_ns &&
        first->piece_count == trace->piece_count && first->run_count == trace->run_count;
}

int wp_other_windows_read(struct wp_facts *facts, const struct wp_snapshot *snapshot,
    const struct wp_selection *selection, struct wp_error *err)
{
    struct newest newest = {0};
    struct wp_exemplar_facts *exemplars = &facts->exemplars;
    bool was_shown = false;
    const struct wp_trace_visit visit = {.each = take_trace, .context = &newest, .of_store = &newest.of_store};
    int rc = wp_snapshot_traces(snapshot, facts->aggregate, selection, &visit, err);
    struct wp_exemplar_fact *rows = wp_pool_alloc(&facts->pool, (exemplars->count + newest.count + 1) * sizeof(*rows));
    if (rows && exemplars->count)
        memcpy(rows, exemplars->rows, exemplars->count * sizeof(*rows));
    for (size_t i = 0; i < newest.count; i++) {
        bool is_first = !was_shown && is_shown(facts, newest.rows[i]);
        was_shown |= is_first;
        if (rc || !rows || is_first)
            wp_trace_destroy(newest.rows[i]);
        else
            wp_exemplar_facts_window(&facts->pool, &rows[exemplars->count++], newest.rows[i]);
    }
    if (rows)
        exemplars->rows = rows;
    return !rc && facts->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for windows of %s", facts->aggregate)
                                     : rc;
}

int wp_other_windows_fit(struct wp_facts *facts, struct wp_error *err)
{
    int rc = wp_window_fit(&facts->trace, WP_WINDOW_BYTES, err);
    for (size_t i = 0; i < facts->exemplars.count && !rc; i++)
        if (facts->exemplars.rows[i].is_beginning)
            rc = wp_window_fit(&facts->exemplars.rows[i].trace, OTHER_BYTES, err);
    return rc;
}
