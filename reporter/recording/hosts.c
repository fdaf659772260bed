/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/hosts.h"

#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 200 /* of a host in a key of metadata */
#define HOSTS_LIMIT 20000u
#define PAIRS_LIMIT 100000u

struct building {
    struct wp_hosts *hosts;
    struct wp_pool *pool;
    const struct wp_facts *facts;
    size_t room, pair_room;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct wp_host_fact *)left)->name, ((const struct wp_host_fact *)right)->name);
}

static void add_name(struct building *building, const char *name)
{
    if (building->hosts->count < building->room)
        building->hosts->rows[building->hosts->count++].name = name;
}

static bool ends_in(const char *text, const char *end)
{
    size_t size = strlen(text), own = strlen(end);
    return size > own && !strcmp(text + size - own, end);
}

/* The host of "[comm]@host"; NULL: the frame names none. */
static const char *host_in(const struct wp_facts *facts, uint32_t frame)
{
    const char *name = wp_facts_frame_name(facts, frame), *host = NULL;
    if (wp_facts_frame_style(facts, frame) != WP_STYLE_PROCESS)
        return NULL;
    for (const char *at = strstr(name, "]@"); at; at = strstr(at + 1, "]@"))
        host = at + 2;
    return host;
}

/* All names once each, sorted: from then on they are found by halving. */
static void collect_names(struct building *building)
{
    const struct wp_facts *facts = building->facts;
    const struct wp_metadata *metadata = &facts->release_metadata;
    struct wp_hosts *hosts = building->hosts;
    size_t kept = 0;
    uint32_t frames = 0;
    if (facts->report) /* a release's page knows of none */
        wp_report_frames(facts->report, &frames);
    building->room = facts->host_count + facts->process_count + facts->edge_count * 2 + metadata->count + frames + 1;
    hosts->rows = wp_pool_alloc(building->pool, building->room * sizeof(*hosts->rows));
    if (!hosts->rows)
        return;
    for (size_t i = 0; i < facts->host_count; i++)
        add_name(building, facts->hosts[i]);
    for (size_t i = 0; i < facts->process_count; i++)
        if (!i || facts->processes[i].host != facts->processes[i - 1].host)
            add_name(building, facts->processes[i].host);
    for (size_t i = 0; i < facts->edge_count; i++) {
        add_name(building, facts->edges[i].from);
        add_name(building, facts->edges[i].to);
    }
    for (uint32_t i = 1; i < frames; i++)
        if (host_in(facts, i))
            add_name(building, host_in(facts, i));
    for (size_t i = wp_metadata_find(metadata, "host."); i < metadata->count; i++) {
        const char *key = metadata->rows[i].key;
        if (strncmp(key, "host.", 5))
            break;
        if (strlen(key) >= 10 && ends_in(key, ".uuid"))
            add_name(building, wp_pool_printf(building->pool, "%.*s", (int)(strlen(key) - 10), key + 5));
    }
    qsort(hosts->rows, hosts->count, sizeof(*hosts->rows), by_name);
    for (size_t i = 0; i < hosts->count; i++)
        if (!kept || strcmp(hosts->rows[kept - 1].name, hosts->rows[i].name))
            hosts->rows[kept++] = hosts->rows[i];
    hosts->count = kept < HOSTS_LIMIT ? kept : HOSTS_LIMIT;
}

static struct wp_host_fact *find(const struct wp_hosts *hosts, const char *name)
{
    struct wp_host_fact key = {.name = name};
    return hosts->count ? bsearch(&key, hosts->rows, hosts->count, sizeof(key), by_name) : NULL;
}

static void sum_report(struct building *building)
{
    const struct wp_facts *facts = building->facts;
    struct wp_host_fact *host;
    for (size_t i = 0; i < facts->host_count; i++)
        if ((host = find(building->hosts, facts->hosts[i])))
            host->is_recorded = true;
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct wp_process_fact *process = &facts->processes[i];
        if (!(host = find(building->hosts, process->host)))
            continue;
        host->is_recorded = true;
        host->processes++;
        host->total_ns += process->total_ns;
        host->running_ns += process->running_ns;
    }
    for (size_t i = 0; i < facts->edge_count; i++) {
        if ((host = find(building->hosts, facts->edges[i].to)))
            host->waited_ns += facts->edges[i].waited_ns;
        if ((host = find(building->hosts, facts->edges[i].from)))
            host->waited_for_ns += facts->edges[i].waited_ns;
    }
}

/* The flame is in preorder: what a host's frame has on it is counted there, and not again inside. */
static void sum_others(struct building *building)
{
    const struct wp_flame *flame = &building->facts->flame;
    uint32_t *until = wp_pool_alloc(building->pool, (building->hosts->count + 1) * sizeof(*until));
    for (uint32_t i = 1; until && i < flame->count; i++) {
        const char *name = host_in(building->facts, flame->nodes[i].frame);
        struct wp_host_fact *host = name ? find(building->hosts, name) : NULL;
        size_t place = host ? (size_t)(host - building->hosts->rows) : 0;
        if (!host || i < until[place])
            continue;
        host->is_recorded = true;
        host->others_ns += flame->nodes[i].total_ns;
        until[place] = flame->nodes[i].end;
    }
}

static const char *said(const struct building *building, const char *name, const char *what)
{
    const char *key = wp_pool_printf(building->pool, "host.%.*s.%s", NAME_BYTES, name, what);
    return wp_metadata_text(&building->facts->release_metadata, key);
}

static uint64_t counted(
    const struct building *building, const struct wp_metadata *metadata, const char *name, const char *what)
{
    return wp_metadata_sum(metadata, wp_pool_printf(building->pool, "host.%.*s.%s", NAME_BYTES, name, what));
}

/* "rack=7 zone=b": all "host.NAME.label.KEY". */
static const char *labels_of(const struct building *building, const char *name)
{
    const struct wp_metadata *metadata = &building->facts->release_metadata;
    const char *prefix = wp_pool_printf(building->pool, "host.%.*s.label.", NAME_BYTES, name), *labels = NULL,
               *before = "";
    size_t size = strlen(prefix);
    for (size_t i = wp_metadata_find(metadata, prefix); i < metadata->count; i++) {
        const char *key = metadata->rows[i].key;
        if (strncmp(key, prefix, size) || (labels && strlen(labels) > 400))
            break;
        if (strcmp(key, before))
            labels = wp_pool_printf(building->pool, "%s%s%s=%s", labels ? labels : "", labels ? " " : "", key + size,
                wp_pool_clip(building->pool, metadata->rows[i].value, 100));
        before = key;
    }
    return labels;
}

static void read_identity(struct building *building, struct wp_host_fact *host)
{
    const struct wp_facts *facts = building->facts;
    host->uuid = said(building, host->name, "uuid");
    if (!host->uuid)
        return;
    building->hosts->has_identity = true;
    host->kernel = said(building, host->name, "kernel");
    host->machine = said(building, host->name, "machine");
    host->cpus = said(building, host->name, "cpus");
    host->source = said(building, host->name, "source");
    host->version = said(building, host->name, "version");
    host->clock = said(building, host->name, "clock.state");
    host->labels = labels_of(building, host->name);
    host->repaired = counted(building, &facts->release_metadata, host->name, "repaired");
    if (!host->repaired) /* its key in older stores */
        host->repaired = counted(building, &facts->release_metadata, host->name, "healed");
    host->clock_messages = counted(building, &facts->release_metadata, host->name, "clock.messages");
    host->contradictions = counted(building, &facts->release_metadata, host->name, "clock.contradictions");
    host->events = counted(building, &facts->metadata, host->name, "events");
    building->hosts->has_counts |= host->events > 0;
    host->dropped = counted(building, &facts->metadata, host->name, "dropped");
}

static struct wp_host_pair *pair_of(struct building *building, uint32_t from, uint32_t to)
{
    struct wp_hosts *hosts = building->hosts;
    for (size_t i = hosts->pair_count; i > 0; i--) /* what is said of one pair stands together */
        if (hosts->pairs[i - 1].from == from && hosts->pairs[i - 1].to == to)
            return &hosts->pairs[i - 1];
        else if (i + 4 < hosts->pair_count)
            break;
    if (hosts->pair_count >= building->pair_room)
        return NULL;
    hosts->pairs[hosts->pair_count] = (struct wp_host_pair){.from = from, .to = to};
    return &hosts->pairs[hosts->pair_count++];
}

/* "TO.FROM" parted where both halves are hosts; "TO" alone has no FROM. Names may hold dots. */
static bool part_names(
    const struct building *building, const char *text, const struct wp_host_fact **to, const struct wp_host_fact **from)
{
    *from = NULL;
    *to = find(building->hosts, text);
    if (*to)
        return true;
    for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.')) {
        *to = find(building->hosts, wp_pool_printf(building->pool, "%.*s", (int)(dot - text), text));
        *from = *to ? find(building->hosts, dot + 1) : NULL;
        if (*from)
            return true;
    }
    return false;
}

static void take_traffic(struct building *building, const struct wp_metadata_fact *row)
{
    const char *what = strrchr(row->key, '.');
    const struct wp_host_fact *to = NULL, *from = NULL;
    uint64_t number = strtoull(row->value, NULL, 10);
    struct wp_hosts *hosts = building->hosts;
    if (what <= row->key + 8 ||
        !part_names(
            building, wp_pool_printf(building->pool, "%.*s", (int)(what - row->key - 8), row->key + 8), &to, &from))
        return;
    struct wp_host_fact *mine = &hosts->rows[to - hosts->rows];
    if (!from) {
        if (!strcmp(what, ".unpaired_retransmits"))
            mine->resent += number;
        if (strstr(what, "retransmit"))
            return;
        *(!strcmp(what, ".unpaired")               ? &mine->unpaired
                : !strcmp(what, ".unpaired_bytes") ? &mine->unpaired_bytes
                                                   : &mine->ambiguous) +=
            !strcmp(what, ".ambiguous_bytes") ? 0 : number;
        return;
    }
    struct wp_host_pair *pair = pair_of(building, (uint32_t)(from - hosts->rows), (uint32_t)(to - hosts->rows));
    if (!pair)
        return;
    hosts->has_traffic = true;
    if (!strcmp(what, ".messages"))
        pair->received += number;
    else if (!strcmp(what, ".bytes"))
        pair->bytes += number;
    else if (!strcmp(what, ".retransmits"))
        pair->resent += number;
}

static int by_ends(const void *left, const void *right)
{
    const struct wp_host_pair *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static void take_pairs(struct building *building)
{
    const struct wp_metadata *metadata = &building->facts->release_metadata;
    struct wp_hosts *hosts = building->hosts;
    building->pair_room = building->facts->edge_count + metadata->count;
    if (building->pair_room > PAIRS_LIMIT)
        building->pair_room = PAIRS_LIMIT;
    hosts->pairs = wp_pool_alloc(building->pool, (building->pair_room + 1) * sizeof(*hosts->pairs));
    if (!hosts->pairs)
        return;
    for (size_t i = wp_metadata_find(metadata, "network."); i < metadata->count; i++) {
        if (strncmp(metadata->rows[i].key, "network.", 8))
            break;
        take_traffic(building, &metadata->rows[i]);
    }
    qsort(hosts->pairs, hosts->pair_count, sizeof(*hosts->pairs), by_ends);
    size_t sorted = hosts->pair_count;
    for (size_t i = 0; i < building->facts->edge_count; i++) {
        const struct wp_edge_fact *edge = &building->facts->edges[i];
        const struct wp_host_fact *from = find(hosts, edge->from), *to = find(hosts, edge->to);
        if (!from || !to)
            continue;
        struct wp_host_pair key = {.from = (uint32_t)(from - hosts->rows), .to = (uint32_t)(to - hosts->rows)};
        struct wp_host_pair *pair = sorted ? bsearch(&key, hosts->pairs, sorted, sizeof(key), by_ends) : NULL;
        if (!pair && hosts->pair_count < building->pair_room)
            *(pair = &hosts->pairs[hosts->pair_count++]) = key;
        if (pair)
            pair->edge = edge;
    }
}

static int by_time(const void *left, const void *right)
{
    const struct wp_host_fact *a = left, *b = right;
    if (a->is_recorded != b->is_recorded)
        return a->is_recorded ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int by_waits(const void *left, const void *right)
{
    const struct wp_host_pair *a = left, *b = right;
    uint64_t a_ns = a->edge ? a->edge->waited_ns : 0, b_ns = b->edge ? b->edge->waited_ns : 0;
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return by_ends(left, right);
}

/* Hosts into the order of the page, and the pairs' places with them. */
static void sort_rows(struct building *building)
{
    struct wp_hosts *hosts = building->hosts;
    struct wp_host_fact *sorted = wp_pool_alloc(building->pool, (hosts->count + 1) * sizeof(*sorted));
    if (!sorted || !hosts->pairs)
        return;
    memcpy(sorted, hosts->rows, hosts->count * sizeof(*sorted));
    qsort(sorted, hosts->count, sizeof(*sorted), by_time);
    uint32_t *place = wp_pool_alloc(building->pool, (hosts->count + 1) * sizeof(*place));
    for (uint32_t i = 0; place && i < hosts->count; i++)
        place[find(hosts, sorted[i].name) - hosts->rows] = i;
    for (size_t i = 0; place && i < hosts->pair_count; i++) {
        hosts->pairs[i].from = place[hosts->pairs[i].from];
        hosts->pairs[i].to = place[hosts->pairs[i].to];
    }
    hosts->rows = sorted;
    qsort(hosts->pairs, hosts->pair_count, sizeof(*hosts->pairs), by_waits);
}

void wp_hosts_build(struct wp_hosts *hosts, struct wp_pool *pool, const struct wp_facts *facts)
{
    struct building building = {.hosts = hosts, .pool = pool, .facts = facts};
    memset(hosts, 0, sizeof(*hosts));
    collect_names(&building);
    if (!hosts->rows)
        return;
    sum_report(&building);
    sum_others(&building);
    for (size_t i = 0; i < hosts->count; i++)
        read_identity(&building, &hosts->rows[i]);
    take_pairs(&building);
    sort_rows(&building);
}
