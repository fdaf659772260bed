/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/commit/commit.h"

#include "aggregator/account/aggregate.h"
#include "aggregator/account/aggregate_delta.h"
#include "aggregator/account/exemplar.h"
#include "aggregator/commit/commit_metadata.h"
#include "aggregator/commit/commit_timebox.h"
#include "aggregator/session/session_aggregates.h"
#include "aggregator/session/session_deltas.h"
#include "aggregator/timeline/mappings.h"
#include "aggregator/timeline/timeline_types.h"
#include "common/array.h"
#include "common/clock.h"
#include "storage/env/txn.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/exemplars_store.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_compact.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/sourcemap_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 40 /* the map doubles each time */
#define CHUNK 1024u
#define CLOCK_SPANS 64u
#define METADATA_S 10u /* what is said of a host is written so often, and at its session's begin and end */

/* One transaction: of one release, what those sessions have for it. */
struct work {
    const struct wp_commit_options *options;
    const char *release;
    struct wp_host_session **sessions; /* owned array */
    size_t count;
    struct wp_txn *txn;
    struct wp_timebox_notes notes; /* owned */
};

/* What the sessions of one host say of one aggregate in one timebox is one delta; of hosts without reports of their
 * own, what they all say. */
struct delta {
    const char *bucket;                 /* of the aggregate, as the store names it */
    const char *host;                   /* NULL: several */
    const struct wp_bucket_fact *facts; /* to be said of it; NULL: the store has them */
    uint64_t timebox_s;
    const struct wp_report *report; /* of a session, or `merged` */
    struct wp_report *merged;       /* owned */
};

struct deltas {
    struct delta *rows; /* owned */
    size_t count;
};

static bool is_of(const struct delta *delta, const char *bucket, const char *host, uint64_t timebox_s)
{
    bool same_host = delta->host && host ? !strcmp(delta->host, host) : delta->host == host;
    return same_host && delta->timebox_s == timebox_s && !strcmp(delta->bucket, bucket);
}

static int add_delta(struct deltas *deltas, const struct wp_aggregate *aggregate, const char *host, uint64_t timebox_s,
    const struct wp_report *report, struct wp_error *err)
{
    const struct wp_aggregate_id *id = wp_aggregate_id(aggregate);
    const struct wp_bucket_fact *facts = wp_aggregate_delta(aggregate)->is_bucket_said ? NULL : id->bucket_facts;
    for (size_t i = 0; i < deltas->count; i++) {
        struct delta *delta = &deltas->rows[i];
        if (!is_of(delta, id->bucket, host, timebox_s))
            continue;
        delta->facts = facts ? facts : delta->facts;
        if (!delta->merged) {
            delta->merged = wp_report_create();
            int rc = delta->merged ? wp_report_merge(delta->merged, delta->report, err) : -ENOMEM;
            if (rc)
                return rc;
            delta->report = delta->merged;
        }
        return wp_report_merge(delta->merged, report, err);
    }
    if (WP_ARRAY_NEXT(deltas->rows, deltas->count))
        return -ENOMEM;
    deltas->rows[deltas->count++] =
        (struct delta){.bucket = id->bucket, .host = host, .facts = facts, .timebox_s = timebox_s, .report = report};
    return 0;
}

static int add_deltas(const struct work *work, const struct wp_host_session *session,
    const struct wp_aggregate *aggregate, struct deltas *deltas, struct wp_error *err)
{
    const char *hostname = wp_host_session_source(session)->hostname;
    const char *host = wp_host_parts_has(work->options->host_parts, hostname) ? hostname : NULL;
    const struct wp_aggregate_delta *delta = wp_aggregate_delta(aggregate);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < delta->closed_count; i++)
        rc = add_delta(deltas, aggregate, host, delta->closed[i].timebox_s, delta->closed[i].report, err);
    return rc ? rc
              : add_delta(deltas, aggregate, host, wp_session_deltas_timebox(session, work->options->timebox_s),
                    delta->report, err);
}

/* Under the timebox in which it begins, where a longer state of it replaces it. */
static int put_exemplar(const struct work *work, const struct wp_host_session *session,
    const struct wp_aggregate *aggregate, struct wp_error *err)
{
    const struct wp_session_progress *progress = wp_host_session_progress(session);
    const struct wp_exemplar *exemplar =
        wp_aggregate_due_exemplar(aggregate, progress->resolved_ns, progress->is_ended);
    if (!exemplar)
        return 0;
    uint64_t length_s = work->options->timebox_s;
    uint64_t real_s = (exemplar->origin_ns + (uint64_t)wp_host_session_source(session)->real_offset_ns) / WP_NS_PER_S;
    return wp_txn_put_trace(work->txn,
        &(struct wp_report_place){.aggregate = wp_aggregate_id(aggregate)->bucket,
            .timebox_s = real_s / length_s * length_s,
            .shard = work->options->shard},
        exemplar->trace, err);
}

static int put_sampled(const struct work *work, const struct wp_aggregate *aggregate, struct wp_error *err)
{
    const struct wp_exemplar_sample *sampled = wp_aggregate_sampled(aggregate);
    int rc = 0;
    for (uint32_t i = 0; !rc && sampled->has_news && i < sampled->box_count; i++) {
        const struct wp_exemplar_sample_box *box = &sampled->boxes[i];
        bool has_news = false;
        for (uint32_t j = 0; j < box->set.count; j++)
            has_news |= box->set.rows[j].trace.size != 0;
        if (has_news)
            rc = wp_txn_join_exemplars(work->txn,
                &(struct wp_report_place){.aggregate = wp_aggregate_id(aggregate)->bucket,
                    .timebox_s = box->timebox_s,
                    .shard = work->options->shard},
                &box->set, err);
    }
    return rc;
}

/* What the host is, once in each timebox. */
static int note_host(struct work *work, const struct wp_host_session *session, const struct wp_aggregate *aggregate)
{
    const char *bucket = wp_aggregate_id(aggregate)->bucket;
    const struct wp_aggregate_delta *delta = wp_aggregate_delta(aggregate);
    uint64_t noted_s = delta->has_noted ? delta->noted_timebox_s : UINT64_MAX,
             now_s = wp_session_deltas_timebox(session, work->options->timebox_s);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < delta->closed_count; i++) {
        uint64_t timebox_s = delta->closed[i].timebox_s;
        if (timebox_s != noted_s)
            rc = wp_timebox_notes_host(&work->notes, bucket, timebox_s, session);
        noted_s = timebox_s;
    }
    return rc || now_s == noted_s ? rc : wp_timebox_notes_host(&work->notes, bucket, now_s, session);
}

static int gather(struct work *work, const struct wp_host_session *session, struct deltas *deltas, struct wp_error *err)
{
    uint32_t count;
    struct wp_aggregate *const *aggregates = wp_host_session_aggregates(session, &count);
    for (uint32_t i = 0; wp_host_session_progress(session)->has_deltas && i < count; i++) {
        const struct wp_aggregate *aggregate = aggregates[i];
        const struct wp_aggregate_id *id = wp_aggregate_id(aggregate);
        if (strcmp(id->release, work->release))
            continue;
        int rc = add_deltas(work, session, aggregate, deltas, err);
        if (!rc)
            rc = note_host(work, session, aggregate);
        if (!rc)
            rc = put_exemplar(work, session, aggregate, err);
        if (!rc)
            rc = put_sampled(work, aggregate, err);
        if (rc)
            return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for a report")
                                 : wp_error_wrap(err, rc, "aggregate '%s'", id->name);
    }
    return 0;
}

static bool is_late(const struct wp_commit_options *options, uint64_t timebox_s)
{
    uint64_t now_s = options->real_now_s, end_s = timebox_s + options->timebox_s;
    return now_s > end_s && now_s - end_s > options->late_after_s;
}

static int put_reports(struct work *work, struct wp_error *err)
{
    struct deltas deltas = {0};
    int rc = 0;
    wp_timebox_notes_fini(&work->notes); /* of a try before this */
    for (size_t i = 0; !rc && i < work->count; i++)
        rc = gather(work, work->sessions[i], &deltas, err);
    for (size_t i = 0; i < deltas.count; i++) {
        const struct delta *delta = &deltas.rows[i];
        if (!rc && delta->facts)
            rc = wp_bucket_put(work->txn, work->options->shard, delta->facts, work->options->real_now_s, err);
        if (!rc &&
            (rc = wp_txn_add_host_report(work->txn,
                 &(struct wp_report_place){delta->bucket, delta->timebox_s, work->options->shard, delta->host},
                 delta->report, err)))
            wp_error_wrap(err, rc, "aggregate '%s'", delta->bucket);
        if (!rc && is_late(work->options, delta->timebox_s) &&
            (rc = wp_timebox_notes_late(&work->notes, delta->bucket, delta->timebox_s, delta->host, delta->report)))
            wp_error_set(err, rc, "out of memory for metadata");
    }
    if (!rc)
        rc = wp_timebox_notes_write(&work->notes, work->txn, work->options, err);
    for (size_t i = 0; i < deltas.count; i++)
        wp_report_destroy(deltas.rows[i].merged);
    free(deltas.rows);
    return rc;
}

/* False: no process of a program. At its end it has the parent that it had at its birth, forgotten or not: that joins
 * the two rows. */
static bool genealogy_row(const struct wp_host_session *session, uint32_t id, struct wp_genealogy_row *row)
{
    const struct wp_dictionary *dictionary = wp_host_session_dictionary(session);
    const struct wp_session_source *source = wp_host_session_source(session);
    const struct wp_thread_entry *child = wp_dictionary_thread(dictionary, id);
    if (!child || child->tid != child->pid || child->flags & WP_THREAD_KERNEL)
        return false;
    uint64_t offset = (uint64_t)source->real_offset_ns;
    *row = (struct wp_genealogy_row){.host = source->hostname,
        .comm = wp_dictionary_string(dictionary, child->comm),
        .exe = wp_dictionary_string(dictionary, child->exe),
        .cgroup = wp_dictionary_string(dictionary, child->cgroup),
        .workload = wp_dictionary_string(dictionary, child->workload),
        .pid = child->pid,
        .parent_pid = child->parent_pid,
        .start_ns = child->start_ns ? child->start_ns + offset : 0,
        .parent_start_ns = child->parent_start_ns ? child->parent_start_ns + offset : 0};
    return true;
}

/* Whose memory had run out: the path, "/" of the whole machine. */
static void put_oom(const struct wp_host_session *session, const struct wp_oom *oom, struct wp_genealogy_row *row)
{
    const struct wp_dictionary *dictionary = wp_host_session_dictionary(session);
    const char *cgroup = wp_dictionary_string(dictionary, oom->cgroup);
    size_t head = strlen(WP_MEMORY_GROUP);
    if (strncmp(cgroup, WP_MEMORY_GROUP, head))
        return;
    row->oom_cgroup = cgroup[head] ? cgroup + head : "/";
    row->oom_holder = wp_dictionary_string(dictionary, oom->holder);
    row->oom_bytes = oom->bytes;
}

/* Threads that the dictionary has learnt since the last commit, processes only: parent -> child; then what became of
 * processes. */
static int put_genealogy(struct work *work, const struct wp_host_session *session, struct wp_error *err)
{
    const struct wp_timeline *timeline = wp_host_session_timeline(session);
    uint64_t offset = (uint64_t)wp_host_session_source(session)->real_offset_ns;
    uint32_t count = wp_dictionary_thread_count(wp_host_session_dictionary(session)), rows_count = 0;
    uint32_t first = (uint32_t)wp_host_session_progress(session)->genealogy_done + 1, new = count + 1 - first;
    struct wp_genealogy_row *rows = calloc(CHUNK, sizeof(*rows));
    int rc = rows ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the genealogy");
    for (uint32_t i = 0; !rc && i < new + timeline->end_count; i++) {
        const struct wp_process_end *end = i < new ? NULL : &timeline->ends[i - new];
        struct wp_genealogy_row *row = &rows[rows_count];
        if (!genealogy_row(session, end ? end->entry : first + i, row))
            continue;
        row->exec_ns = end && end->exec_ns ? end->exec_ns + offset : 0;
        row->end_ns = end && end->end_ns ? end->end_ns + offset : 0;
        row->ending = end ? end->ending : 0;
        if (end && end->oom.cgroup)
            put_oom(session, &end->oom, row);
        if (++rows_count == CHUNK) {
            rc = wp_txn_add_genealogy(work->txn, work->options->shard, rows, rows_count, err);
            rows_count = 0;
        }
    }
    if (!rc && rows_count)
        rc = wp_txn_add_genealogy(work->txn, work->options->shard, rows, rows_count, err);
    free(rows);
    return rc;
}

static int put_sourcemap(struct work *work, const struct wp_host_session *session, struct wp_error *err)
{
    const struct wp_dictionary *dictionary = wp_host_session_dictionary(session);
    uint32_t count = wp_dictionary_frame_count(dictionary), rows_count = 0;
    uint32_t first = (uint32_t)wp_host_session_progress(session)->sourcemap_done + 1;
    struct wp_sourcemap_row *rows = calloc(CHUNK, sizeof(*rows));
    uint8_t *levels =
        calloc(count - first + 2, 1); /* how many functions a frame is inlined in; its id is behind theirs */
    int rc = rows && levels ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the source map");
    for (uint32_t id = first; !rc && id <= count; id++) {
        const struct wp_frame_entry *frame = wp_dictionary_frame(dictionary, id);
        if (frame->inlined > id && frame->inlined <= count && levels[id - first] < UINT8_MAX)
            levels[frame->inlined - first] = (uint8_t)(levels[id - first] + 1);
        const struct wp_object_entry *object = wp_dictionary_object(dictionary, frame->object);
        if (!frame->function || !object || !object->build_id_size)
            continue;
        rows[rows_count++] = (struct wp_sourcemap_row){.build_id = object->build_id,
            .build_id_size = object->build_id_size,
            .object = wp_dictionary_string(dictionary, object->path),
            .function = wp_dictionary_string(dictionary, frame->function),
            .offset = frame->offset,
            .file = wp_dictionary_string(dictionary, frame->file),
            .line = frame->line,
            .level = levels[id - first]};
        if (rows_count == CHUNK) {
            rc = wp_txn_add_sourcemap(work->txn, work->options->shard, rows, rows_count, err);
            rows_count = 0;
        }
    }
    if (!rc && rows_count)
        rc = wp_txn_add_sourcemap(work->txn, work->options->shard, rows, rows_count, err);
    free(levels);
    free(rows);
    return rc;
}

static int put_mappings(const struct work *work, const struct wp_host_session *session, struct wp_error *err)
{
    const struct wp_session_source *source = wp_host_session_source(session);
    const struct wp_mappings_home home = {wp_host_session_timeline(session), source->hostname, source->real_offset_ns};
    return wp_mappings_put(wp_host_session_mappings(session), &home, work->txn, work->options->shard, err);
}

/* The session's anchor, and once a timebox and at its end how its clock stood to the aggregator's. */
static size_t clock_rows(const struct work *work, const struct wp_host_session *session, struct wp_clock_row *rows)
{
    const struct wp_session_source *source = wp_host_session_source(session);
    const struct wp_session_progress *progress = wp_host_session_progress(session);
    const struct wp_fleet *fleet = source->fleet;
    uint64_t step_ns = work->options->timebox_s * WP_NS_PER_S, from_ns = wp_host_session_timeline(session)->start_ns;
    uint64_t resolved_ns = progress->resolved_ns;
    uint64_t to_ns = resolved_ns > from_ns ? resolved_ns : from_ns; /* epochs begin before the session does */
    size_t count = 0;
    rows[0] = (struct wp_clock_row){.hostname = source->hostname,
        .method = "anchor",
        .from_mono_ns = from_ns,
        .to_mono_ns = to_ns,
        .offset_ns = source->real_offset_ns,
        .bound_ns = UINT64_MAX};
    if (progress->is_ended || resolved_ns / step_ns != progress->committed_ns / step_ns) {
        struct wp_clock_span spans[CLOCK_SPANS];
        from_ns = resolved_ns > from_ns + step_ns ? resolved_ns - step_ns : from_ns;
        count = wp_clocks_spans(fleet->clocks,
            &(struct wp_clock_range){fleet->hosts[source->home].clock, fleet->reference, from_ns, resolved_ns}, spans,
            CLOCK_SPANS);
        for (size_t i = 0; i < count; i++)
            rows[1 + i] = (struct wp_clock_row){.hostname = source->hostname,
                .method = "probes",
                .from_mono_ns = spans[i].from_ns,
                .to_mono_ns = spans[i].to_ns,
                .offset_ns = spans[i].offset_ns,
                .bound_ns = spans[i].bound_ns};
    }
    for (size_t i = 0; i <= count; i++)
        memcpy(rows[i].host, source->host, 16);
    return 1 + count;
}

static int put_clocks(struct work *work, struct wp_error *err)
{
    struct wp_clock_row *rows = calloc(work->count * (1 + CLOCK_SPANS), sizeof(*rows));
    size_t count = 0;
    if (!rows)
        return wp_error_set(err, -ENOMEM, "out of memory for the clocks");
    for (size_t i = 0; i < work->count; i++)
        count += clock_rows(work, work->sessions[i], rows + count);
    int rc = wp_txn_put_clock(work->txn, work->options->shard, rows, count, err);
    free(rows);
    return rc;
}

static int put_resume(struct work *work, const struct wp_host_session *session, struct wp_error *err)
{
    const struct wp_session_source *source = wp_host_session_source(session);
    const struct wp_session_progress *progress = wp_host_session_progress(session);
    struct wp_resume resume = {
        .seq = progress->counted_seq, .until_mono_ns = progress->closed_ns, .ended = progress->is_ended};
    memcpy(resume.session, source->id, 16);
    memcpy(resume.host, source->host, 16);
    snprintf(resume.hostname, sizeof(resume.hostname), "%s", source->hostname);
    return wp_txn_put_resume(work->txn, work->options->shard, &resume, err);
}

static int put_state(struct work *work, struct wp_error *err)
{
    uint8_t(*ids)[16] = calloc(work->count, sizeof(*ids));
    int rc = ids ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the last samples");
    for (size_t i = 0; !rc && i < work->count; i++) {
        memcpy(ids[i], wp_host_session_source(work->sessions[i])->id, 16);
        rc = put_resume(work, work->sessions[i], err);
    }
    if (!rc)
        rc = wp_txn_put_last_samples(
            work->txn, work->options->shard, (const uint8_t(*)[16])ids, work->count, work->options->real_now_s, err);
    free(ids);
    return rc ? rc : put_clocks(work, err);
}

/* Counts and clocks of the last seconds need not be in the store at once. */
static bool wants_metadata(const struct work *work, const struct wp_host_session *session)
{
    const struct wp_session_progress *progress = wp_host_session_progress(session);
    uint64_t now_s = work->options->real_now_s;
    return progress->is_ended || !progress->metadata_s || now_s < progress->metadata_s ||
        now_s - progress->metadata_s >= METADATA_S;
}

static int put_metadata(struct work *work, struct wp_error *err)
{
    struct wp_host_session **sessions = calloc(work->count, sizeof(*sessions));
    size_t count = 0;
    if (!sessions)
        return wp_error_set(err, -ENOMEM, "out of memory for metadata");
    for (size_t i = 0; i < work->count; i++)
        if (wants_metadata(work, work->sessions[i]))
            sessions[count++] = work->sessions[i];
    int rc = count ? wp_commit_metadata(work->txn, sessions, count, work->options, work->release, err) : 0;
    free(sessions);
    return rc;
}

static int write_all(struct work *work, struct wp_error *err)
{
    bool has_ended = false;
    int rc = wp_txn_register_shard(work->txn, work->options->shard, err);
    if (!rc)
        rc = put_reports(work, err);
    for (size_t i = 0; !rc && i < work->count; i++) {
        rc = put_genealogy(work, work->sessions[i], err);
        if (!rc)
            rc = put_sourcemap(work, work->sessions[i], err);
        if (!rc)
            rc = put_mappings(work, work->sessions[i], err);
        has_ended |= wp_host_session_progress(work->sessions[i])->is_ended;
    }
    if (!rc)
        rc = put_state(work, err);
    if (!rc)
        rc = put_metadata(work, err);
    if (!rc && has_ended)
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

static bool has_release(const struct wp_host_session *session, const char *release)
{
    uint32_t count;
    struct wp_aggregate *const *aggregates = wp_host_session_aggregates(session, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(wp_aggregate_id(aggregates[i])->release, release))
            return true;
    return false;
}

/* The sessions with that release for their own, or those of other releases that have aggregates in it. */
static void pick(struct work *work, struct wp_host_session *const *sessions, size_t count, bool is_own)
{
    work->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool owns = !strcmp(wp_host_session_source(sessions[i])->release, work->release);
        if (is_own ? owns : !owns && has_release(sessions[i], work->release))
            work->sessions[work->count++] = sessions[i];
    }
}

/* What is in the store of their own release says that the others are in. */
static void finish(struct work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        struct wp_host_session *session = work->sessions[i];
        wp_session_deltas_mark_committed(session,
            wants_metadata(work, session) ? work->options->real_now_s : wp_host_session_progress(session)->metadata_s);
    }
}

struct names {
    const char **rows; /* owned array */
    size_t count;
};

static int add_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->rows[i], name))
            return 0;
    if (WP_ARRAY_NEXT(names->rows, names->count))
        return -ENOMEM;
    names->rows[names->count++] = name;
    return 0;
}

static int name_releases(struct names *names, struct wp_host_session *const *sessions, size_t count)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        uint32_t aggregate_count;
        struct wp_aggregate *const *aggregates = wp_host_session_aggregates(sessions[i], &aggregate_count);
        rc = add_name(names, wp_host_session_source(sessions[i])->release);
        for (uint32_t j = 0; !rc && j < aggregate_count; j++)
            rc = add_name(names, wp_aggregate_id(aggregates[j])->release);
    }
    return rc;
}

/* Whether an aggregate has time that the store lacks. */
static bool has_time(struct wp_host_session *const *sessions, size_t count)
{
    bool has_time = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t aggregate_count;
        struct wp_aggregate *const *aggregates = wp_host_session_aggregates(sessions[i], &aggregate_count);
        for (uint32_t j = 0; j < aggregate_count; j++) {
            const struct wp_aggregate_delta *delta = wp_aggregate_delta(aggregates[j]);
            has_time |= wp_report_total(delta->report) != 0;
            for (uint32_t k = 0; k < delta->closed_count; k++)
                has_time |= wp_report_total(delta->closed[k].report) != 0;
        }
    }
    return has_time;
}

int wp_commit_sessions(struct wp_store *store, struct wp_host_session *const *sessions, size_t count,
    const struct wp_commit_options *options, struct wp_error *err)
{
    struct names releases = {0};
    struct work work = {.options = options, .sessions = calloc(count + 1, sizeof(*work.sessions))};
    int rc = work.sessions ? name_releases(&releases, sessions, count) : -ENOMEM;
    if (rc)
        wp_error_set(err, rc, "out of memory for a commit");
    for (size_t i = 0; !rc && i < count; i++)
        wp_session_deltas_close(sessions[i]);
    bool waits = !rc && options->waits_for_time && *options->waits_for_time && !has_time(sessions, count);
    if (options->waits_for_time)
        *options->waits_for_time = waits;
    for (size_t i = 0; !rc && !waits && i < 2 * releases.count; i++) { /* those of others first */
        bool is_own = i >= releases.count;
        work.release = releases.rows[is_own ? i - releases.count : i];
        pick(&work, sessions, count, is_own);
        if (!work.count)
            continue;
        rc = commit_release(store, &work, err);
        for (size_t j = 0; !rc && j < work.count; j++)
            wp_session_deltas_mark_stored(work.sessions[j], work.release, options->timebox_s);
        if (!rc && options->late)
            wp_timebox_notes_count(&work.notes, options->late);
        wp_timebox_notes_fini(&work.notes);
        if (!rc && is_own)
            finish(&work);
    }
    free(releases.rows);
    free(work.sessions);
    return rc;
}
