/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/vital_hosts.h"

#include "aggregator/fleet/fleet.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_NS (600 * WP_NS_PER_S)
#define NAME_BYTES 128u
#define NO_ROW UINT32_MAX

struct row {
    uint8_t host[16];
    char name[NAME_BYTES];
    uint64_t seen_ns; /* 0: the row is free */
    uint64_t events, drops;
    uint32_t sessions; /* now; what follows is of them */
    double lag_s, silence_s, bound_s;
    bool has_lag, is_known, is_settled, is_usable;
    uint64_t contradictions, steps, unmatched, ambiguous;
};

struct pair {
    uint32_t to, from; /* rows */
    uint64_t messages, bytes;
};

struct wp_vital_hosts {
    struct row *rows;         /* owned */
    struct wp_intmap by_host; /* UUID -> row */
    uint32_t *row_of;         /* owned: number in the fleet -> row, NO_ROW */
    uint32_t fleet_room;
    struct pair *pairs; /* owned */
    uint32_t pair_count;
    struct wp_intmap by_pair;
    struct wp_vital_sums sums;
};

struct wp_vital_hosts *wp_vital_hosts_create(void)
{
    struct wp_vital_hosts *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->rows = calloc(WP_VITAL_HOSTS, sizeof(*h->rows));
    h->pairs = calloc(WP_VITAL_PAIRS, sizeof(*h->pairs));
    if (h->rows && h->pairs)
        return h;
    wp_vital_hosts_destroy(h);
    return NULL;
}

void wp_vital_hosts_destroy(struct wp_vital_hosts *h)
{
    if (!h)
        return;
    wp_intmap_fini(&h->by_host);
    wp_intmap_fini(&h->by_pair);
    free(h->rows);
    free(h->row_of);
    free(h->pairs);
    free(h);
}

/* --- rows --- */

static struct wp_intkey key_of(const uint8_t host[16])
{
    struct wp_intkey key;
    memcpy(&key, host, sizeof(key));
    return key;
}

/* A host may say any name, also another one's: then a part of its UUID tells them apart, behind a mark that no name
 * has. */
static void name_row(struct wp_vital_hosts *h, struct row *row, const char *hostname)
{
    wp_metric_clean(*hostname ? hostname : "unknown", row->name, sizeof(row->name) - 10);
    for (char *c = row->name; (c = strchr(c, '#'));)
        *c = '?';
    for (uint32_t i = 0; i < WP_VITAL_HOSTS; i++) {
        if (&h->rows[i] == row || !h->rows[i].seen_ns || strcmp(h->rows[i].name, row->name))
            continue;
        size_t size = strlen(row->name);
        snprintf(row->name + size, sizeof(row->name) - size, "#%02x%02x%02x%02x", row->host[0], row->host[1],
            row->host[2], row->host[3]);
        return;
    }
}

static uint32_t row_of(struct wp_vital_hosts *h, const struct wp_session_source *source, uint64_t now_ns)
{
    uint32_t index;
    if (wp_intmap_get(&h->by_host, key_of(source->host), &index))
        return index;
    for (index = 0; index < WP_VITAL_HOSTS && h->rows[index].seen_ns; index++)
        continue;
    if (index == WP_VITAL_HOSTS || wp_intmap_put(&h->by_host, key_of(source->host), index))
        return NO_ROW;
    struct row *row = &h->rows[index];
    *row = (struct row){.seen_ns = now_ns ? now_ns : 1};
    memcpy(row->host, source->host, sizeof(row->host));
    name_row(h, row, source->hostname);
    return index;
}

static void begin(struct wp_vital_hosts *h, uint32_t fleet_count)
{
    struct wp_vital_sums *sums = &h->sums;
    *sums = (struct wp_vital_sums){.events = sums->events, .drops = sums->drops};
    for (uint32_t i = 0; i < WP_VITAL_HOSTS; i++) {
        struct row *row = &h->rows[i];
        row->sessions = 0;
        row->lag_s = row->silence_s = row->bound_s = 0;
        row->has_lag = row->is_known = row->is_settled = row->is_usable = false;
        row->contradictions = row->steps = row->unmatched = row->ambiguous = 0;
    }
    (void)WP_ARRAY_FIT(h->row_of, h->fleet_room, fleet_count); /* hosts past it have no row of their own */
    for (uint32_t i = 0; i < h->fleet_room; i++)
        h->row_of[i] = NO_ROW;
}

static void forget_old(struct wp_vital_hosts *h, uint64_t now_ns)
{
    for (uint32_t i = 0; i < WP_VITAL_HOSTS; i++) {
        struct row *row = &h->rows[i];
        if (!row->seen_ns || now_ns <= row->seen_ns + KEEP_NS)
            continue;
        wp_intmap_remove(&h->by_host, key_of(row->host));
        *row = (struct row){.seen_ns = 0};
    }
}

/* --- a session --- */

/* How far what is explained is behind now; by the compared clocks where they are, else by the host's own word. */
static bool lag_of(const struct wp_host_session *session, const struct wp_offset *offset, uint64_t now_ns,
    uint64_t real_now_ns, double *lag_s)
{
    uint64_t resolved_ns = wp_host_session_progress(session)->resolved_ns;
    if (!resolved_ns)
        return false;
    int64_t at_ns =
        (int64_t)resolved_ns + (offset ? offset->offset_ns : wp_host_session_source(session)->real_offset_ns);
    int64_t lag_ns = (int64_t)(offset ? now_ns : real_now_ns) - at_ns;
    *lag_s = lag_ns > 0 ? (double)lag_ns / 1e9 : 0;
    return true;
}

static void look_at_clock(struct row *row, const struct wp_fleet *fleet, uint32_t clock, const struct wp_offset *offset)
{
    struct wp_clock_health health;
    bool is_first = row->sessions == 1;
    if (offset) {
        double bound_s = (double)offset->bound_ns / 1e9;
        if (!row->is_known || bound_s < row->bound_s) /* one clock: what is known best */
            row->bound_s = bound_s;
        row->is_settled = row->is_settled || offset->is_settled;
        row->is_known = true;
    }
    if (!wp_clocks_health(fleet->clocks, clock, &health))
        return;
    row->contradictions += health.contradictions;
    row->steps += health.steps;
    row->is_usable = (is_first || row->is_usable) && health.is_usable;
}

static void look_at_session(struct wp_vital_hosts *h, const struct wp_fleet *fleet, struct wp_host_session *session,
    uint64_t now_ns, uint64_t real_now_ns)
{
    static const struct wp_fleet_host nobody = {.heard_ns = 0};
    struct wp_vital_sums *sums = &h->sums;
    const struct wp_session_source *source = wp_host_session_source(session);
    const struct wp_session_progress *progress = wp_host_session_progress(session);
    const struct wp_fleet_host *host = source->has_joined ? &fleet->hosts[source->home] : &nobody;
    uint64_t more_events, more_drops;
    wp_host_session_arrivals(session, &more_events, &more_drops);
    sums->events += more_events;
    sums->drops += more_drops;

    uint32_t index = row_of(h, source, now_ns);
    struct row none = {.seen_ns = 0}, *row = index == NO_ROW ? &none : &h->rows[index];
    row->seen_ns = now_ns ? now_ns : 1;
    row->events += more_events;
    row->drops += more_drops;
    if (progress->is_ended) /* it stays for what others may ask of it */
        return;
    sums->hosts += !row->sessions;
    sums->unlisted_hosts += index == NO_ROW;
    bool is_first = !row->sessions++;
    if (source->has_joined && source->home < h->fleet_room)
        h->row_of[source->home] = index;
    struct wp_offset offset;
    bool is_known = source->has_joined && progress->resolved_ns &&
        wp_clocks_map(fleet->clocks, host->clock, progress->resolved_ns, fleet->reference, &offset);
    uint64_t heard_ns = source->has_joined && host->heard_ns < now_ns ? host->heard_ns : now_ns;
    double lag_s = 0, silence_s = (double)(now_ns - heard_ns) / 1e9;
    if (lag_of(session, is_known ? &offset : NULL, now_ns, real_now_ns, &lag_s)) {
        row->has_lag = true;
        row->lag_s = lag_s > row->lag_s ? lag_s : row->lag_s;
    }
    if (is_first || silence_s < row->silence_s) /* any session's word is the host's */
        row->silence_s = silence_s;
    bool is_silent = silence_s > (double)fleet->give_up_ns / 1e9;
    sums->silent += is_silent;
    sums->lag_s = !is_silent && lag_s > sums->lag_s ? lag_s : sums->lag_s;
    look_at_clock(row, fleet, host->clock, is_known ? &offset : NULL);
    if (is_known && (double)offset.bound_ns / 1e9 > sums->bound_s)
        sums->bound_s = (double)offset.bound_ns / 1e9;
}

/* --- pairs --- */

static uint32_t row_in_fleet(const struct wp_vital_hosts *h, uint32_t number)
{
    return number < h->fleet_room ? h->row_of[number] : NO_ROW;
}

static void look_at_pair(struct wp_vital_hosts *h, const struct wp_traffic *traffic, uint32_t to)
{
    uint32_t index, from = row_in_fleet(h, traffic->from);
    struct wp_intkey key = {(uint64_t)to << 32 | from, 0};
    h->sums.edges++;
    if (to == NO_ROW || from == NO_ROW) {
        h->sums.unlisted_pairs++;
        return;
    }
    if (!wp_intmap_get(&h->by_pair, key, &index)) {
        if (h->pair_count == WP_VITAL_PAIRS || wp_intmap_put(&h->by_pair, key, h->pair_count)) {
            h->sums.unlisted_pairs++;
            return;
        }
        index = h->pair_count++;
        h->pairs[index] = (struct pair){.to = to, .from = from};
    }
    h->pairs[index].messages += traffic->messages;
    h->pairs[index].bytes += traffic->bytes;
}

/* The first ones that fit: rows of traffic keep their places while their hosts are there. */
static void look_at_traffic(struct wp_vital_hosts *h, const struct wp_fleet *fleet)
{
    uint32_t count;
    const struct wp_traffic *traffic = wp_connections_traffic(fleet->connections, &count);
    h->pair_count = 0;
    wp_intmap_clear(&h->by_pair);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = row_in_fleet(h, traffic[i].to);
        if (traffic[i].from != UINT32_MAX) {
            look_at_pair(h, &traffic[i], to);
        } else if (to != NO_ROW) {
            h->rows[to].unmatched += traffic[i].messages - traffic[i].ambiguous;
            h->rows[to].ambiguous += traffic[i].ambiguous;
        }
    }
}

void wp_vital_hosts_look(struct wp_vital_hosts *h, struct wp_engine *engine, uint64_t now_ns, uint64_t real_now_ns)
{
    const struct wp_fleet *fleet = wp_engine_fleet(engine);
    begin(h, fleet->count);
    for (uint32_t i = 0; i < wp_engine_slots(engine); i++) {
        struct wp_host_session *session = wp_engine_session(engine, i);
        if (session)
            look_at_session(h, fleet, session, now_ns, real_now_ns);
    }
    look_at_traffic(h, fleet);
    forget_old(h, now_ns);
}

const struct wp_vital_sums *wp_vital_hosts_sums(const struct wp_vital_hosts *h)
{
    return &h->sums;
}

/* --- told --- */

/* A metric with a line for each row whose `value` is not negative. */
static void put_rows(const struct wp_vital_hosts *h, struct wp_buffer *out, const char *name, enum wp_metric_type type,
    const char *help, double (*value)(const struct row *row))
{
    wp_metric_begin(out, name, type, help);
    for (uint32_t i = 0; i < WP_VITAL_HOSTS; i++) {
        double number = h->rows[i].seen_ns ? value(&h->rows[i]) : -1;
        if (number >= 0)
            wp_metric_labelled(out, name, "host", h->rows[i].name, number);
    }
}

static double events(const struct row *row)
{
    return (double)row->events;
}
static double drops(const struct row *row)
{
    return (double)row->drops;
}
static double sessions(const struct row *row)
{
    return row->sessions;
}
static double silence(const struct row *row)
{
    return row->sessions ? row->silence_s : -1;
}
static double lag(const struct row *row)
{
    return row->has_lag ? row->lag_s : -1;
}
static double bound(const struct row *row)
{
    return row->is_known ? row->bound_s : -1;
}
static double known(const struct row *row)
{
    return row->sessions ? row->is_known : -1;
}
static double settled(const struct row *row)
{
    return row->sessions ? row->is_settled : -1;
}
static double usable(const struct row *row)
{
    return row->sessions ? row->is_usable : -1;
}
static double contradictions(const struct row *row)
{
    return row->sessions ? (double)row->contradictions : -1;
}
static double steps(const struct row *row)
{
    return row->sessions ? (double)row->steps : -1;
}
static double unmatched(const struct row *row)
{
    return row->sessions ? (double)row->unmatched : -1;
}
static double ambiguous(const struct row *row)
{
    return row->sessions ? (double)row->ambiguous : -1;
}

static void put_pairs(
    const struct wp_vital_hosts *h, struct wp_buffer *out, const char *name, const char *help, bool is_bytes)
{
    wp_metric_begin(out, name, WP_COUNTER, help);
    for (uint32_t i = 0; i < h->pair_count; i++) {
        const struct pair *pair = &h->pairs[i];
        wp_metric_line(out, name,
            (struct wp_metric_label[]){{"from", h->rows[pair->from].name}, {"to", h->rows[pair->to].name}}, 2,
            (double)(is_bytes ? pair->bytes : pair->messages));
    }
}

void wp_vital_hosts_put(const struct wp_vital_hosts *h, struct wp_buffer *out)
{
    put_rows(h, out, "wakepath_aggregator_host_events_total", WP_COUNTER, "Events of a host.", events);
    put_rows(h, out, "wakepath_aggregator_host_dropped_events_total", WP_COUNTER,
        "Events that its collector had no room for.", drops);
    put_rows(h, out, "wakepath_aggregator_host_sessions", WP_GAUGE, "Its sessions.", sessions);
    put_rows(h, out, "wakepath_aggregator_host_silence_seconds", WP_GAUGE,
        "Seconds since its collector last sent anything.", silence);
    put_rows(h, out, "wakepath_aggregator_host_lag_seconds", WP_GAUGE,
        "Now minus the time up to which the host is explained.", lag);
    put_rows(h, out, "wakepath_aggregator_host_clock_bound_seconds", WP_GAUGE,
        "Bound of the host's clock against the aggregator's.", bound);
    put_rows(h, out, "wakepath_aggregator_host_clock_known", WP_GAUGE,
        "1: the host's clock is known against the aggregator's.", known);
    put_rows(h, out, "wakepath_aggregator_host_clock_settled", WP_GAUGE,
        "1: the clock is known by messages before and after the moment.", settled);
    put_rows(h, out, "wakepath_aggregator_host_clock_usable", WP_GAUGE,
        "0: the host's clock contradicts itself and is not used.", usable);
    put_rows(h, out, "wakepath_aggregator_host_clock_contradictions_total", WP_COUNTER,
        "Contradictions in the host's clock.", contradictions);
    put_rows(h, out, "wakepath_aggregator_host_clock_steps_total", WP_COUNTER,
        "How often it stood still, or somebody set the host's time of day.", steps);
    put_rows(h, out, "wakepath_aggregator_host_unmatched_messages", WP_GAUGE,
        "Messages it read whose sender is not recorded.", unmatched);
    put_rows(h, out, "wakepath_aggregator_host_ambiguous_messages", WP_GAUGE,
        "Messages it read that two senders fit: they count as unexplained.", ambiguous);
    put_pairs(h, out, "wakepath_aggregator_pair_messages_total",
        "Messages read on one host whose sender is known on another.", false);
    put_pairs(h, out, "wakepath_aggregator_pair_bytes_total", "Bytes of those messages.", true);
}
