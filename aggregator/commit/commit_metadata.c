/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/commit/commit_metadata.h"

#include "aggregator/account/aggregate.h"
#include "aggregator/fleet/fleet.h"
#include "aggregator/session/session_aggregates.h"
#include "aggregator/timeline/timeline_types.h"
#include "storage/kind/metadata_store.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What will be put: texts are kept one behind the other, and pointed to when all are there. */
struct facts {
    struct wp_buffer texts;
    size_t count;
    const struct wp_host_session *session; /* of host.NAME */
    const struct wp_commit_options *options;
};

static void put(struct facts *facts, const char *key, const char *value)
{
    wp_buffer_append(&facts->texts, key, strlen(key) + 1);
    wp_buffer_append(&facts->texts, value, strlen(value) + 1);
    facts->count++;
}

/* Writes them, and forgets them. */
static int write_facts_of(
    struct facts *facts, struct wp_txn *txn, const char *aggregate, uint64_t real_s, struct wp_error *err)
{
    struct wp_metadata_entry *entries = calloc(facts->count + 1, sizeof(*entries));
    if (!entries || facts->texts.failed) {
        free(entries);
        return wp_error_set(err, -ENOMEM, "out of memory for metadata");
    }
    const char *at = (const char *)facts->texts.data;
    for (size_t i = 0; i < facts->count; i++) {
        entries[i].key = at;
        entries[i].value = at += strlen(at) + 1;
        at += strlen(at) + 1;
    }
    int rc = wp_txn_put_metadata_at(txn, &(struct wp_metadata_scope){.aggregate = aggregate},
        &(struct wp_metadata_writer){facts->options->shard, real_s}, entries, facts->count, err);
    free(entries);
    wp_buffer_clear(&facts->texts);
    facts->count = 0;
    return rc;
}

static int write_facts(struct facts *facts, struct wp_txn *txn, const char *aggregate, struct wp_error *err)
{
    return write_facts_of(facts, txn, aggregate, facts->options->real_now_s, err);
}

/* They are said once, when the aggregator begins: what somebody sets later holds. */
static int write_labels(struct facts *facts, struct wp_txn *txn, struct wp_error *err)
{
    const struct wp_commit_options *options = facts->options;
    for (uint32_t i = 0; i < options->label_count; i++) {
        char key[280];
        snprintf(key, sizeof(key), "label.%.255s", options->labels[i].key);
        put(facts, key, options->labels[i].value);
    }
    return options->label_count ? write_facts_of(facts, txn, NULL, options->labels_s, err) : 0;
}

/* host.NAME.`key` = the formatted value. */
static void __attribute__((format(printf, 3, 4)))
put_host(struct facts *facts, const char *key, const char *format, ...)
{
    char path[600], value[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    snprintf(path, sizeof(path), "host.%.200s.%.300s", wp_host_session_source(facts->session)->hostname, key);
    put(facts, path, value);
}

static void put_network(struct facts *facts, const char *to, const char *from, const char *key, uint64_t count)
{
    char path[600], value[32];
    snprintf(path, sizeof(path), "network.%.200s.%.200s%s%s", to, from, *from ? "." : "", key);
    snprintf(value, sizeof(value), "%" PRIu64, count);
    put(facts, path, value);
}

/* "taken", "not asked for", or "none: WHY". */
static void put_samples(struct facts *facts, const struct wp_hello *hello)
{
    if (hello->samples == WP_SAMPLES_TAKEN)
        put_host(facts, "samples", "taken");
    else if (hello->samples == WP_SAMPLES_UNASKED)
        put_host(facts, "samples", "not asked for");
    else if (hello->samples == WP_SAMPLES_IMPOSSIBLE)
        put_host(facts, "samples", "none: %s", hello->no_samples);
}

static void put_identity(struct facts *facts)
{
    const struct wp_hello *hello = &wp_host_session_source(facts->session)->hello;
    const uint8_t *u = hello->host;
    put_host(facts, "uuid", "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
        u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    put_host(facts, "kernel", "%s", hello->kernel);
    put_host(facts, "machine", "%s", hello->machine);
    put_host(facts, "cpus", "%u", hello->cpus);
    put_host(facts, "boot", "%s", hello->boot_id);
    put_host(facts, "source", "%s", hello->source);
    put_host(facts, "version", "%s", hello->version);
    put_samples(facts, hello);
    for (uint32_t i = 0; i < hello->label_count; i++) {
        char key[280];
        snprintf(key, sizeof(key), "label.%.255s", hello->labels[i].key);
        put_host(facts, key, "%s", hello->labels[i].value);
    }
}

static void put_row(struct facts *facts, const struct wp_fleet *fleet, const struct wp_traffic *row)
{
    bool is_known = row->from < fleet->count && fleet->hosts[row->from].timeline;
    if (!is_known && row->from != UINT32_MAX)
        return;
    const char *to = fleet->hosts[row->to].hostname, *from = is_known ? fleet->hosts[row->from].hostname : "";
    put_network(facts, to, from, is_known ? "messages" : "unpaired", row->messages);
    put_network(facts, to, from, is_known ? "bytes" : "unpaired_bytes", row->bytes);
    if (row->resent || row->resent_bytes) {
        put_network(facts, to, from, is_known ? "retransmits" : "unpaired_retransmits", row->resent);
        put_network(facts, to, from, is_known ? "retransmit_bytes" : "unpaired_retransmit_bytes", row->resent_bytes);
    }
    if (!is_known) {
        put_network(facts, to, from, "ambiguous", row->ambiguous);
        put_network(facts, to, from, "ambiguous_bytes", row->ambiguous_bytes);
    }
}

/* What was received by the hosts of these sessions; and sent again by them, which the other end may not live to see. */
static int put_traffic(struct facts *facts, struct wp_host_session *const *sessions, size_t session_count)
{
    const struct wp_fleet *fleet = wp_host_session_source(sessions[0])->fleet;
    bool *are_written = calloc(fleet->count + 1, sizeof(*are_written)); /* by host */
    uint32_t count;
    if (!are_written)
        return -ENOMEM;
    for (size_t i = 0; i < session_count; i++)
        are_written[wp_host_session_source(sessions[i])->home] = true;
    const struct wp_traffic *rows = wp_connections_traffic(fleet->connections, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].to < fleet->count &&
            (are_written[rows[i].to] || (rows[i].from < fleet->count && are_written[rows[i].from])))
            put_row(facts, fleet, &rows[i]);
    free(are_written);
    return 0;
}

static void put_clock(struct facts *facts)
{
    const struct wp_session_source *source = wp_host_session_source(facts->session);
    struct wp_clock_health health;
    if (!wp_clocks_health(source->fleet->clocks, source->fleet->hosts[source->home].clock, &health) || !health.messages)
        return;
    put_host(facts, "clock.messages", "%" PRIu64, health.messages);
    put_host(facts, "clock.contradictions", "%" PRIu64, health.contradictions);
    put_host(facts, "clock.state", "%s", health.is_usable ? "usable" : "not to be trusted");
}

static void put_session(struct facts *facts)
{
    const struct wp_session_source *source = wp_host_session_source(facts->session);
    const struct wp_timeline *timeline = wp_host_session_timeline(facts->session);
    const struct wp_timeline_counts *counts = &timeline->counts;
    uint64_t programs_ns = wp_host_session_progress(facts->session)->programs_ns;
    put_identity(facts);
    put_host(facts, "repaired", "%" PRIu64, counts->repaired_in + counts->repaired_out);
    if (counts->recorder_ns) {
        put_host(facts, "recorder.cpu_ns", "%" PRIu64, counts->recorder_ns);
        put_host(facts, "recorder.of_ns", "%" PRIu64, timeline->now_ns - timeline->start_ns);
    }
    if (counts->recorder_ns && programs_ns)
        put_host(facts, "recorder.programs_ns", "%" PRIu64, programs_ns);
    if (source->fleet->hosts[source->home].given_up_count)
        put_host(facts, "given_up", "%u", source->fleet->hosts[source->home].given_up_count);
    put_clock(facts);
}

static void put_counts(struct facts *facts)
{
    const struct wp_timeline *timeline = wp_host_session_timeline(facts->session);
    const uint64_t *drops = wp_host_session_drops(facts->session);
    uint64_t events = 0, dropped = 0;
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++) {
        events += timeline->counts.events[kind];
        dropped += drops[kind];
    }
    put_host(facts, "events", "%" PRIu64, events);
    put_host(facts, "dropped", "%" PRIu64, dropped);
}

static const struct wp_aggregate_id *find_aggregate(
    const struct wp_host_session *session, const char *name, const char *release)
{
    uint32_t count;
    struct wp_aggregate *const *aggregates = wp_host_session_aggregates(session, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct wp_aggregate_id *id = wp_aggregate_id(aggregates[i]);
        if (!strcmp(id->name, name) && !strcmp(id->release, release))
            return id;
    }
    return NULL;
}

/* A bucket has the counts of the sessions that go into it. */
static int write_bucket(struct facts *facts, struct wp_txn *txn, const struct wp_aggregate_id *bucket,
    struct wp_host_session *const *sessions, size_t count, struct wp_error *err)
{
    for (size_t i = 0; i < WP_BUCKET_FACTS; i++)
        if (*bucket->bucket_facts[i].key)
            put(facts, bucket->bucket_facts[i].key, bucket->bucket_facts[i].value);
    for (size_t i = 0; i < count; i++) {
        const struct wp_aggregate_id *aggregate = find_aggregate(sessions[i], bucket->name, bucket->release);
        facts->session = sessions[i];
        if (aggregate && !strcmp(aggregate->bucket, bucket->bucket))
            put_counts(facts);
    }
    return write_facts(facts, txn, bucket->bucket, err);
}

static bool is_first_of_bucket(struct wp_host_session *const *sessions, size_t at, const struct wp_aggregate_id *bucket)
{
    for (size_t i = 0; i < at; i++) {
        const struct wp_aggregate_id *aggregate = find_aggregate(sessions[i], bucket->name, bucket->release);
        if (aggregate && !strcmp(aggregate->bucket, bucket->bucket))
            return false;
    }
    return true;
}

int wp_commit_metadata(struct wp_txn *txn, struct wp_host_session *const *sessions, size_t count,
    const struct wp_commit_options *options, const char *release, struct wp_error *err)
{
    const struct wp_fleet *fleet = wp_host_session_source(sessions[0])->fleet;
    struct facts facts = {.options = options};
    for (size_t i = 0; i < count; i++) {
        facts.session = sessions[i];
        put_session(&facts);
    }
    int rc = put_traffic(&facts, sessions, count);
    if (rc)
        wp_error_set(err, rc, "out of memory for metadata");
    else
        rc = write_facts(&facts, txn, NULL, err);
    if (!rc)
        rc = write_labels(&facts, txn, err);
    for (uint32_t i = 0; !rc && i < fleet->name_count; i++) {
        if (strcmp(fleet->releases[i], release))
            continue;
        for (size_t j = 0; !rc && j < count; j++) {
            const struct wp_aggregate_id *aggregate = find_aggregate(sessions[j], fleet->names[i], release);
            if (aggregate && is_first_of_bucket(sessions, j, aggregate))
                rc = write_bucket(&facts, txn, aggregate, sessions + j, count - j, err);
        }
    }
    wp_buffer_fini(&facts.texts);
    return rc;
}
