/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/commit.h"

#include "aggregator/commit_metadata.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 40 /* the map doubles each time */
#define CHUNK 1024u
#define CLOCK_SPANS 64u

struct work {
    struct wp_host_session *session;
    const struct wp_commit_options *options;
    const char *release;          /* this transaction's */
    bool has_news;                /* deltas are closed, of all aggregates: events are counted up to one batch for all */
    struct wp_txn *txn;
    uint64_t genealogy_done, sourcemap_done;
};

static uint64_t timebox_of(const struct work *work)
{
    const struct wp_host_session *session = work->session;
    uint64_t at_ns = session->committed_ns > session->timeline.start_ns ? session->committed_ns : session->timeline.start_ns;
    uint64_t real_s = (at_ns + (uint64_t)session->real_offset_ns) / 1000000000;
    return real_s / work->options->timebox_s * work->options->timebox_s;
}

static int put_reports(struct work *work, struct wp_error *err)
{
    struct wp_host_session *session = work->session;
    for (uint32_t i = 0; i < session->aggregate_count; i++) {
        struct wp_aggregate *aggregate = session->aggregates[i];
        if (!work->has_news || strcmp(aggregate->release, work->release))
            continue;
        int rc = wp_txn_add_report(work->txn, aggregate->name, timebox_of(work), work->options->shard, aggregate->report, err);
        if (!rc && session->is_ended && aggregate->exemplar.trace->piece_count)
            rc = wp_txn_put_trace(work->txn, aggregate->name, timebox_of(work), work->options->shard,
                aggregate->exemplar.trace, err);
        if (rc)
            return wp_error_wrap(err, rc, "aggregate '%s'", aggregate->name);
    }
    return 0;
}

/* Threads that the dictionary has learnt since the last commit, processes only: parent -> child. */
static int put_genealogy(struct work *work, struct wp_error *err)
{
    const struct wp_host_session *session = work->session;
    const struct wp_dictionary *dictionary = session->dictionary;
    uint32_t count = wp_dictionary_thread_count(dictionary), rows_count = 0;
    struct wp_genealogy_row *rows = calloc(CHUNK, sizeof(*rows));
    int rc = rows ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the genealogy");
    uint32_t id = (uint32_t)work->genealogy_done + 1;
    for (; !rc && id <= count; id++) {
        const struct wp_thread_entry *child = wp_dictionary_thread(dictionary, id);
        if (child->tid != child->pid || child->flags & WP_THREAD_KERNEL)
            continue;
        const struct wp_thread_entry *parent = wp_dictionary_thread(dictionary, child->parent);
        uint64_t offset = (uint64_t)session->real_offset_ns;
        rows[rows_count++] = (struct wp_genealogy_row){.host = session->hostname,
            .comm = wp_dictionary_string(dictionary, child->comm), .exe = wp_dictionary_string(dictionary, child->exe),
            .pid = child->pid, .parent_pid = parent ? parent->pid : 0,
            .start_ns = child->start_ns ? child->start_ns + offset : 0,
            .parent_start_ns = parent && parent->start_ns ? parent->start_ns + offset : 0};
        if (rows_count == CHUNK) {
            rc = wp_txn_add_genealogy(work->txn, work->options->shard, rows, rows_count, err);
            rows_count = 0;
        }
    }
    if (!rc && rows_count)
        rc = wp_txn_add_genealogy(work->txn, work->options->shard, rows, rows_count, err);
    work->genealogy_done = count;
    free(rows);
    return rc;
}

static int put_sourcemap(struct work *work, struct wp_error *err)
{
    const struct wp_dictionary *dictionary = work->session->dictionary;
    uint32_t count = wp_dictionary_frame_count(dictionary), rows_count = 0;
    struct wp_sourcemap_row *rows = calloc(CHUNK, sizeof(*rows));
    int rc = rows ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the source map");
    for (uint32_t id = (uint32_t)work->sourcemap_done + 1; !rc && id <= count; id++) {
        const struct wp_frame_entry *frame = wp_dictionary_frame(dictionary, id);
        const struct wp_object_entry *object = wp_dictionary_object(dictionary, frame->object);
        if (!frame->function || !object || !object->build_id_size)
            continue;
        rows[rows_count++] = (struct wp_sourcemap_row){.build_id = object->build_id, .build_id_size = object->build_id_size,
            .object = wp_dictionary_string(dictionary, object->path),
            .function = wp_dictionary_string(dictionary, frame->function), .offset = frame->offset};
        if (rows_count == CHUNK) {
            rc = wp_txn_add_sourcemap(work->txn, work->options->shard, rows, rows_count, err);
            rows_count = 0;
        }
    }
    if (!rc && rows_count)
        rc = wp_txn_add_sourcemap(work->txn, work->options->shard, rows, rows_count, err);
    work->sourcemap_done = count;
    free(rows);
    return rc;
}

/* The session's anchor, and once a timebox and at its end how its clock stood to the aggregator's. */
static int put_clock(struct work *work, struct wp_error *err)
{
    const struct wp_host_session *session = work->session;
    const struct wp_fleet *fleet = session->fleet;
    uint64_t step_ns = work->options->timebox_s * 1000000000, from_ns = session->timeline.start_ns;
    uint64_t to_ns = session->resolved_ns > from_ns ? session->resolved_ns : from_ns; /* epochs begin before the session does */
    struct wp_clock_row rows[1 + CLOCK_SPANS] = {{.hostname = session->hostname, .method = "anchor", .from_mono_ns = from_ns,
        .to_mono_ns = to_ns, .offset_ns = session->real_offset_ns, .bound_ns = UINT64_MAX}};
    size_t count = 0;
    if (session->is_ended || session->resolved_ns / step_ns != session->committed_ns / step_ns) {
        struct wp_clock_span spans[CLOCK_SPANS];
        from_ns = session->resolved_ns > from_ns + step_ns ? session->resolved_ns - step_ns : from_ns;
        count = wp_clocks_spans(fleet->clocks, fleet->hosts[session->home].clock, fleet->reference, from_ns,
            session->resolved_ns, spans, CLOCK_SPANS);
        for (size_t i = 0; i < count; i++)
            rows[1 + i] = (struct wp_clock_row){.hostname = session->hostname, .method = "probes", .from_mono_ns = spans[i].from_ns,
                .to_mono_ns = spans[i].to_ns, .offset_ns = spans[i].offset_ns, .bound_ns = spans[i].bound_ns};
    }
    for (size_t i = 0; i <= count; i++)
        memcpy(rows[i].host, session->host, 16);
    return wp_txn_put_clock(work->txn, work->options->shard, rows, 1 + count, err);
}

static int put_state(struct work *work, struct wp_error *err)
{
    const struct wp_host_session *session = work->session;
    const char *shard = work->options->shard;
    struct wp_resume resume = {.seq = session->counted_seq,
        .until_mono_ns = session->closed_ns, .ended = session->is_ended};
    memcpy(resume.session, session->id, 16);
    memcpy(resume.host, session->host, 16);
    snprintf(resume.hostname, sizeof(resume.hostname), "%s", session->hostname);
    int rc = wp_txn_put_resume(work->txn, shard, &resume, err);
    if (!rc)
        rc = wp_txn_put_last_sample(work->txn, shard, session->id, work->options->real_now_s, err);
    return rc ? rc : put_clock(work, err);
}

static int write_all(struct work *work, struct wp_error *err)
{
    work->genealogy_done = work->session->genealogy_done;
    work->sourcemap_done = work->session->sourcemap_done;
    const struct wp_host_session *session = work->session;
    int rc = wp_txn_register_shard(work->txn, work->options->shard, err);
    if (!rc)
        rc = put_reports(work, err);
    if (!rc)
        rc = put_genealogy(work, err);
    if (!rc)
        rc = put_sourcemap(work, err);
    if (!rc)
        rc = put_state(work, err);
    if (!rc)
        rc = wp_commit_metadata(work->txn, session, work->options, work->release, err);
    if (!rc && work->session->is_ended)
        rc = wp_txn_compact(work->txn, work->options->shard, err);
    return rc;
}

static int commit_release(struct wp_store *store, struct work *work, struct wp_error *err)
{
    int rc = -EAGAIN;
    for (int i = 0; i < TRIES && rc == -EAGAIN; i++) {
        rc = wp_txn_begin(&work->txn, store, work->release, true, err);
        if (rc)
            continue;
        rc = write_all(work, err);
        if (rc)
            wp_txn_abort(work->txn);
        else
            rc = wp_txn_commit(work->txn, err);
    }
    return rc ? wp_error_wrap(err, rc, "cannot write release '%s'", work->release) : 0;
}

/* True when an aggregate before this one is of the same release. */
static bool is_seen(const struct wp_host_session *session, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (!strcmp(session->aggregates[i]->release, session->aggregates[index]->release))
            return true;
    return !strcmp(session->release, session->aggregates[index]->release);
}

/* One that was written must not be written again, whatever becomes of the others. */
static void begin_deltas(struct wp_host_session *session, const char *release)
{
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        if (!strcmp(session->aggregates[i]->release, release))
            wp_aggregate_next_delta(session->aggregates[i]);
}

int wp_commit_session(struct wp_store *store, struct wp_host_session *session, const struct wp_commit_options *options,
    struct wp_error *err)
{
    struct work work = {.session = session, .options = options, .release = session->release, .has_news = session->is_ended};
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        work.has_news |= session->aggregates[i]->has_news;
    if (work.has_news) {
        session->counted_seq = session->last_seq;
        session->closed_ns = session->resolved_ns;
    }
    for (uint32_t i = 0; work.has_news && i < session->aggregate_count; i++)
        wp_aggregate_close_delta(session->aggregates[i], session->drops, session->resolved_ns);
    wp_host_session_durable_seq(session);
    for (uint32_t i = 0; i < session->aggregate_count; i++) {
        if (is_seen(session, i))
            continue;
        work.release = session->aggregates[i]->release;
        int rc = commit_release(store, &work, err);
        if (rc)
            return rc;
        if (work.has_news)
            begin_deltas(session, work.release);
    }
    work.release = session->release; /* last: its resume point says that the others are in */
    int rc = commit_release(store, &work, err);
    if (rc)
        return rc;
    if (work.has_news)
        begin_deltas(session, work.release);
    session->genealogy_done = work.genealogy_done;
    session->sourcemap_done = work.sourcemap_done;
    session->committed_ns = session->resolved_ns;
    return 0;
}
