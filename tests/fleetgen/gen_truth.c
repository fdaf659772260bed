/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_fleet.h"

#include <errno.h>
#include <stdio.h>

#define NUMBER(value) ((unsigned long long)(value))

static const char *host_name(const struct gen_fleet *fleet, uint32_t number)
{
    return number < fleet->plan.hosts ? fleet->hosts[number]->name : "";
}

static void write_hosts(FILE *out, const struct gen_fleet *fleet)
{
    fprintf(out, "\"hosts\":[");
    for (uint32_t i = 0; i < fleet->plan.hosts; i++) {
        const struct gen_host *host = fleet->hosts[i];
        fprintf(out,
            "%s\n{\"name\":\"%s\",\"offset_ns\":%lld,\"drift_ppm\":%d,\"begin_ns\":%llu,\"events\":%llu,\"dropped\":%"
            "llu,\"steps\":[",
            i ? "," : "", host->name, (long long)host->clock.offset_ns, host->clock.drift_ppm, NUMBER(host->start_ns),
            NUMBER(host->events), NUMBER(host->dropped));
        for (uint32_t j = 0; j < host->clock.step_count; j++)
            fprintf(out, "%s{\"at_ns\":%llu,\"by_ns\":%llu}", j ? "," : "", NUMBER(host->clock.steps[j].at_ns),
                NUMBER(host->clock.steps[j].by_ns));
        fprintf(out, "]}");
    }
    fprintf(out, "],\n");
}

static void write_services(FILE *out, const struct gen_fleet *fleet)
{
    fprintf(out, "\"total_ns\":%llu,\"requests\":%llu,\"services\":{", NUMBER(fleet->sums.total_ns),
        NUMBER(fleet->requests));
    for (uint32_t i = 0; i < fleet->plan.service_count; i++) {
        const char *comma = "";
        fprintf(out, "%s\n\"%s\":{", i ? "," : "", fleet->plan.services[i].name);
        for (int c = 0; c < WP_CATEGORIES; c++) {
            if (!fleet->sums.ns[i][c])
                continue;
            fprintf(out, "%s\"%s\":%llu", comma, wp_category_key((enum wp_category)c), NUMBER(fleet->sums.ns[i][c]));
            comma = ",";
        }
        fprintf(out, "}");
    }
    fprintf(out, "},\n");
}

/* What each read by an application took, by the hosts of sender and reader. */
static void write_pairs(FILE *out, const struct gen_fleet *fleet)
{
    fprintf(out, "\"reads\":[");
    for (uint32_t i = 0; i < fleet->pair_count; i++) {
        const struct gen_pair *pair = &fleet->pairs[i];
        fprintf(out, "%s\n{\"from\":\"%s\",\"to\":\"%s\",\"reads\":%llu,\"bytes\":%llu,\"unmatchable\":%llu}",
            i ? "," : "", host_name(fleet, pair->from), host_name(fleet, pair->to), NUMBER(pair->reads),
            NUMBER(pair->bytes), NUMBER(pair->unmatchable));
    }
    fprintf(out, "],\n");
}

static void write_connections(FILE *out, const struct gen_fleet *fleet)
{
    const char *comma = "";
    fprintf(out, "\"connections\":[");
    for (uint32_t i = 0; i < fleet->stream_count; i++) {
        const struct gen_stream *stream = fleet->streams[i];
        const struct gen_end *a = &stream->ends[0], *b = &stream->ends[1];
        if (!a->host)
            continue;
        fprintf(out,
            "%s\n{\"from\":\"%s\",\"from_socket\":%u,\"to\":\"%s\",\"to_socket\":%u,\"old\":%s,\"translated\":%s,"
            "\"sent\":%u,\"answered\":%u}",
            comma, a->host->name, a->socket, b->host->name, b->socket, stream->options.is_old ? "true" : "false",
            stream->options.is_translated ? "true" : "false", a->sent, b->sent);
        comma = ",";
    }
    fprintf(out, "]}\n");
}

int gen_truth_write(const struct gen_fleet *fleet, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return -errno;
    fprintf(out, "{\"seed\":%llu,\"retransmits\":%llu,\"partial_reads\":%llu,\"coalesced\":%llu,\n",
        NUMBER(fleet->options.seed), NUMBER(fleet->traffic.retransmits), NUMBER(fleet->traffic.partial_reads),
        NUMBER(fleet->traffic.coalesced));
    write_hosts(out, fleet);
    write_services(out, fleet);
    write_pairs(out, fleet);
    write_connections(out, fleet);
    int rc = ferror(out) ? -EIO : 0;
    return fclose(out) && !rc ? -errno : rc;
}
