/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/pattern_peers.h"

#include "common/clock.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/ask_counts.h"
#include "reporter/facts/stack_text.h"
#include "reporter/sentences/cause_chain.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/causes/new_connections.h"
#include "reporter/causes/own_requests.h"
#include "reporter/causes/shut_out.h"

#include <string.h>

#define LEAST_REQUESTS 20u
#define SURE_REQUESTS 100u
#define LEAST_EACH 3u  /* for each request that the process serves: fewer are what it is made of, */
#define SURE_EACH 10u  /* ... and as many are a loop */
#define MOST_OF_ONE 5u /* requests on a connection that is made for them: who logs in asks, too */
#define LEAST_PEERS 3u
#define LEAST_DELAYS 3u
#define DELAY_LEAST_NS (36u * (uint64_t)WP_NS_PER_MS) /* TCP_DELACK_MIN is 40 ms (include/net/tcp.h), */
#define RETRANSMIT_NS (200u * (uint64_t)WP_NS_PER_MS) /* TCP_RTO_MIN: what is lost is sent again then (same file) */
#define DELAY_MOST_NS (48u * (uint64_t)WP_NS_PER_MS)  /* ... and its timer has ticks */

/* Who writes waits for room, which the reader makes: neither Nagle's algorithm nor a delayed acknowledgement stops it.
 */
static bool is_writing(const struct wp_cause_case *of)
{
    static const char *const calls[] = {"write", "writev", "sendto", "sendmsg", "sendmmsg", "sendfile", "splice"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (of->call_size == strlen(calls[i]) && !strncmp(of->call, calls[i], of->call_size))
            return true;
    return false;
}

static bool is_delayed_ack(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    struct wp_pool *pool = &of->facts->pool;
    uint64_t count = of->cause->count, mean = count ? of->cause->ns / count : 0;
    if (of->cause->kind != WP_CAUSE_KIND_FLIGHT || count < LEAST_DELAYS || mean < DELAY_LEAST_NS ||
        mean > DELAY_MOST_NS || is_writing(of))
        return false;
    pattern->sure = WP_SURETY_LIKELY;
    pattern->evidence = wp_pool_printf(pool,
        "%s messages are on their way for %s on average, as long as an acknowledgement is delayed; TCP_NODELAY, or one "
        "write "
        "for each message, avoids it",
        wp_human_count(pool, count), wp_human_duration(pool, mean));
    return true;
}

/* Between which hosts most segments were sent again, of those whose messages took as long as that takes. */
struct lossy {
    const struct wp_edge_fact *edge;
    uint64_t resent, longest_ns;
};

static struct lossy find_lossy(struct wp_facts *facts)
{
    const struct wp_metadata *said = &facts->release_metadata;
    struct lossy most = {0};
    for (size_t i = 0; i < facts->edge_count; i++) {
        const struct wp_edge_fact *edge = &facts->edges[i];
        const char *there = wp_pool_printf(&facts->pool, "network.%s.%s.retransmits", edge->to, edge->from);
        const char *back = wp_pool_printf(&facts->pool, "network.%s.%s.retransmits", edge->from, edge->to);
        uint64_t resent = wp_metadata_sum(said, there) + wp_metadata_sum(said, back);
        if (edge->transit_max_ns >= RETRANSMIT_NS && resent > most.resent)
            most = (struct lossy){edge, resent, edge->transit_max_ns};
    }
    return most;
}

static bool is_loss(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    struct wp_pool *pool = &of->facts->pool;
    struct lossy lossy = of->cause->kind == WP_CAUSE_KIND_FLIGHT && of->cause->ns >= RETRANSMIT_NS
        ? find_lossy(of->facts)
        : (struct lossy){0};
    if (!lossy.edge)
        return false;
    pattern->sure = lossy.resent >= of->cause->ns / RETRANSMIT_NS / 2 ? WP_SURETY_LIKELY : WP_SURETY_POSSIBLE;
    pattern->evidence = wp_pool_printf(pool, "%s %s sent again between %s and %s, and a message took up to %s",
        wp_human_many(pool, lossy.resent, "segment"), lossy.resent == 1 ? "was" : "were",
        wp_pool_clip(pool, lossy.edge->from, 60), wp_pool_clip(pool, lossy.edge->to, 60),
        wp_human_duration(pool, lossy.longest_ns));
    return true;
}

static bool is_shut_out(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    const char *by;
    if (!wp_cause_is_shut_out(of, &by))
        return false;
    pattern->sure = WP_SURETY_LIKELY;
    pattern->evidence = wp_pool_printf(&of->facts->pool,
        "a connection takes %s on average, as its request is dropped and sent again after a second: %s accepts more "
        "slowly than others connect, and its backlog is full",
        wp_human_duration(&of->facts->pool, of->cause->ns / of->cause->count), by);
    return true;
}

/* Who opened a connection, and waits on it for somebody; not where its clients' next requests are waited for. */
static bool asks(const struct wp_facts *facts, uint32_t sleep)
{
    const char *peer = sleep ? wp_cause_peer(facts, sleep) : NULL;
    return peer && !wp_cause_is_accepted(peer);
}

/* The outermost sleep is for a socket, and others do the work meanwhile. */
static uint32_t asking(const struct wp_cause_case *of)
{
    enum wp_cause_kind kind = of->cause->kind;
    bool is_own = !of->cause->asked && wp_cause_is_own(of->facts, of->cause);
    if (kind == WP_CAUSE_KIND_SERVICE && asks(of->facts, of->cause->sleep))
        return of->cause->sleep; /* a thread may be waited for that asks */
    if (!asks(of->facts, of->cause->first) || wp_cause_is_unreachable(of->facts, of->cause))
        return 0;
    return kind == WP_CAUSE_KIND_SERVICE || kind == WP_CAUSE_KIND_PEER || kind == WP_CAUSE_KIND_FLIGHT ||
            (!is_own && kind != WP_CAUSE_KIND_DEADLOCK)
        ? of->cause->first
        : 0;
}

static bool is_fan_out(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    uint32_t first = asking(of), peers = first ? wp_cause_peers(of->causes, of->facts, first) : 0;
    if (peers < LEAST_PEERS)
        return false;
    struct wp_code_location location = wp_code_location_at(of->facts, of->causes->locations, first);
    pattern->sure = WP_SURETY_LIKELY;
    pattern->evidence = wp_pool_printf(&of->facts->pool, "%s waits for %u services, one after the other",
        wp_code_location_text(&of->facts->pool, &location), peers);
    return true;
}

/* Where much is asked on each connection, that is told first. */
static bool is_connecting(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    uint32_t first = asking(of);
    const char *peer = first && first == of->cause->first ? wp_cause_peer(of->facts, first) : NULL;
    const struct wp_ask_fact *ask = peer ? wp_ask_counts_of(of->facts, of->cause->base, peer) : NULL;
    return ask && ask->asks <= ask->opens * MOST_OF_ONE &&
        wp_new_connections(of->facts, of->cause->base, peer, pattern);
}

/* How often the process asks that peer in the cause's sleeps, and in those that one function of the program leads to:
 * as often as it was woken from them, or what is counted of its requests there, as many as their part of the wakings
 * for that peer is. */
struct asked {
    uint64_t count, of_one;
    const struct wp_ask_fact *counted; /* NULL: they are wakings */
};

static struct asked count_asked(const struct wp_cause_case *of, uint32_t first)
{
    bool is_outer = first != of->cause->sleep;
    struct asked asked = {.count = wp_cause_wakings(of->causes, of->facts, of->row, is_outer),
        .of_one = wp_cause_wakings_of_caller(of->causes, of->facts, of->row, is_outer)};
    if (first == of->cause->first)
        asked.counted = wp_ask_counts_of(of->facts, of->cause->base, wp_cause_peer(of->facts, first));
    uint64_t all = asked.counted ? wp_cause_wakings_for(of->causes, of->facts, of->row) : 0;
    if (!all || asked.of_one > all) {
        asked.counted = NULL;
        return asked;
    }
    uint64_t count = asked.count < all ? asked.count : all;
    asked.count = (uint64_t)((double)asked.counted->asks * (double)count / (double)all);
    asked.of_one = (uint64_t)((double)asked.counted->asks * (double)asked.of_one / (double)all);
    return asked;
}

/* "redis-server (tcp 10.0.0.7:6379)": who answers there, where that is recorded. */
static const char *peer_text(const struct wp_cause_case *of, uint32_t first)
{
    struct wp_facts *facts = of->facts;
    const char *peer = wp_pool_clip(&facts->pool, wp_cause_peer(facts, first), 80);
    uint32_t process = 0;
    for (uint32_t at = of->cause->node; at && at != first; at = facts->flame.nodes[at].parent)
        process = wp_facts_frame_style(facts, facts->flame.nodes[at].frame) == WP_STYLE_PROCESS ? at : process;
    return process
        ? wp_pool_printf(&facts->pool, "%s (%s)",
              wp_stack_plain_process(&facts->pool, wp_facts_frame_name(facts, facts->flame.nodes[process].frame)), peer)
        : peer;
}

/* A service asks once for each of its own requests at least; a script has none. */
static bool is_many_requests(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    struct wp_pool *pool = &of->facts->pool;
    uint32_t first = asking(of);
    struct asked asked = first ? count_asked(of, first) : (struct asked){0};
    if (asked.count < LEAST_REQUESTS || wp_cause_chain_is_of_client(of, first))
        return false;
    struct wp_own_requests served = wp_own_requests_of(of->facts, of->cause->base);
    uint64_t each = served.count ? (asked.of_one + served.count / 2) / served.count : 0;
    if (served.count && each < LEAST_EACH)
        return false;
    struct wp_code_location location = wp_code_location_at(of->facts, of->causes->locations, first);
    const char *where = wp_code_location_text(pool, &location), *whose = "", *what = asked.counted ? "" : " waits";
    bool is_new = asked.counted && asked.counted->opens * 2 >= asked.counted->asks;
    if (served.count)
        whose = wp_pool_printf(pool, ", %s%s for each request on %s", wp_human_count(pool, each), what,
            wp_pool_clip(pool, served.service, 60));
    pattern->sure =
        asked.count >= SURE_REQUESTS && (!served.count || each >= SURE_EACH) ? WP_SURETY_LIKELY : WP_SURETY_POSSIBLE;
    pattern->evidence = wp_pool_printf(pool, "%s %s %s %s times, one after the other%s%s", *where ? where : "it",
        asked.counted ? "asks" : "waits for",
        asked.counted ? peer_text(of, first) : wp_pool_clip(pool, wp_cause_peer(of->facts, first), 80),
        wp_human_count(pool, asked.count), whose, is_new ? ", mostly on new connections" : "");
    return true;
}

const struct wp_pattern_rule wp_pattern_peers[] = {
    {"lost_packets", "Lost packets", is_loss},
    {"listen_queue", "Full listen queue", is_shut_out},
    {"delayed_ack", "Nagle's algorithm with delayed acknowledgements", is_delayed_ack},
    {"serial_fan_out", "Serial fan-out", is_fan_out},
    {WP_NEW_CONNECTIONS, WP_NEW_CONNECTIONS_TITLE, is_connecting},
    {"n_plus_one", "N+1 requests", is_many_requests},
    {NULL, NULL, NULL},
};
