/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/commit_metadata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct facts {
    struct wp_txn *txn;
    const struct wp_host_session *session;
    const struct wp_commit_options *options;
    const char *aggregate; /* NULL: of the release */
    struct wp_error *err;
    int rc;
};

/* host.NAME.`key` = the formatted value. */
static void __attribute__((format(printf, 3, 4))) put_host(struct facts *facts, const char *key, const char *format, ...)
{
    char path[600], value[512];
    va_list arguments;
    if (facts->rc)
        return;
    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    snprintf(path, sizeof(path), "host.%.200s.%.300s", facts->session->hostname, key);
    facts->rc = wp_txn_put_metadata(facts->txn, facts->aggregate, facts->options->shard, path, value, facts->options->real_now_s,
        facts->err);
}

static void put_network(struct facts *facts, const char *from, const char *key, uint64_t count)
{
    char path[600], value[32];
    if (facts->rc)
        return;
    snprintf(path, sizeof(path), "network.%.200s.%.200s%s%s", facts->session->hostname, from, *from ? "." : "", key);
    snprintf(value, sizeof(value), "%" PRIu64, count);
    facts->rc = wp_txn_put_metadata(facts->txn, NULL, facts->options->shard, path, value, facts->options->real_now_s, facts->err);
}

static void put_identity(struct facts *facts)
{
    const struct wp_hello *hello = &facts->session->hello;
    const uint8_t *u = hello->host;
    put_host(facts, "uuid", "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3], u[4],
        u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    put_host(facts, "kernel", "%s", hello->kernel);
    put_host(facts, "machine", "%s", hello->machine);
    put_host(facts, "cpus", "%u", hello->cpus);
    put_host(facts, "boot", "%s", hello->boot_id);
    put_host(facts, "source", "%s", hello->source);
    put_host(facts, "version", "%s", hello->version);
    for (uint32_t i = 0; i < hello->label_count; i++) {
        char key[280];
        snprintf(key, sizeof(key), "label.%.255s", hello->labels[i].key);
        put_host(facts, key, "%s", hello->labels[i].value);
    }
}

static void put_traffic(struct facts *facts)
{
    const struct wp_fleet *fleet = facts->session->fleet;
    uint32_t count;
    const struct wp_traffic *rows = wp_connections_traffic(fleet->connections, &count);
    for (uint32_t i = 0; i < count; i++) {
        bool is_known = rows[i].from < fleet->count && fleet->hosts[rows[i].from].timeline;
        if (rows[i].to != facts->session->home || (!is_known && rows[i].from != UINT32_MAX))
            continue;
        const char *from = is_known ? fleet->hosts[rows[i].from].hostname : "";
        put_network(facts, from, is_known ? "messages" : "unpaired", rows[i].messages);
        put_network(facts, from, is_known ? "bytes" : "unpaired_bytes", rows[i].bytes);
        if (!is_known) {
            put_network(facts, from, "ambiguous", rows[i].ambiguous);
            put_network(facts, from, "ambiguous_bytes", rows[i].ambiguous_bytes);
        }
    }
}

static void put_clock(struct facts *facts)
{
    const struct wp_fleet *fleet = facts->session->fleet;
    struct wp_clock_health health;
    if (!wp_clocks_health(fleet->clocks, fleet->hosts[facts->session->home].clock, &health) || !health.messages)
        return;
    put_host(facts, "clock.messages", "%" PRIu64, health.messages);
    put_host(facts, "clock.contradictions", "%" PRIu64, health.contradictions);
    put_host(facts, "clock.state", "%s", health.is_usable ? "usable" : "not to be trusted");
}

int wp_commit_metadata(struct wp_txn *txn, const struct wp_host_session *session, const struct wp_commit_options *options,
    const char *release, struct wp_error *err)
{
    const struct wp_timeline_counts *counts = &session->timeline.counts;
    struct facts facts = {.txn = txn, .session = session, .options = options, .err = err};
    uint64_t events = 0, dropped = 0;
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++) {
        events += counts->events[kind];
        dropped += session->drops[kind];
    }
    put_identity(&facts);
    put_host(&facts, "healed", "%" PRIu64, counts->healed_in + counts->healed_out);
    if (session->fleet->hosts[session->home].given_up_count)
        put_host(&facts, "given_up", "%u", session->fleet->hosts[session->home].given_up_count);
    put_clock(&facts);
    put_traffic(&facts);
    for (uint32_t i = 0; i < session->aggregate_count; i++) {
        if (strcmp(session->aggregates[i]->release, release))
            continue;
        facts.aggregate = session->aggregates[i]->name;
        put_host(&facts, "events", "%" PRIu64, events);
        put_host(&facts, "dropped", "%" PRIu64, dropped);
    }
    return facts.rc;
}
