/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain.h"

#include "aggregator/explain/explain_cover.h"
#include "aggregator/explain/explain_hops.h"
#include "aggregator/explain/explain_message.h"
#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_shared.h"
#include "proto/shard_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WP_LIMITS <= WP_FLEET_LIMITS, "a fleet counts them all");

const char *wp_limit_name(enum wp_limit limit)
{
    static const char *const names[WP_LIMITS] = {
        "depth", "width", "budget", "history", "shards", "join", "late sample", "loop"};
    return names[limit];
}

struct wp_explainer *wp_explainer_create(
    struct wp_fleet *fleet, uint32_t home, struct wp_pathtree *tree, uint64_t base_bit)
{
    struct wp_explainer *x = malloc(sizeof(*x));
    if (!x)
        return NULL;
    *x = (struct wp_explainer){.fleet = fleet,
        .home = home,
        .host = home,
        .timeline = fleet->hosts[home].timeline,
        .tree = tree,
        .base_bit = base_bit,
        .options = WP_EXPLAIN_DEFAULTS,
        .cover = wp_explain_cover_from,
        .leaves = fleet->leaves,
        .owner = home,
        .hops = WP_SHARD_HOPS};
    return x;
}

void wp_explainer_destroy(struct wp_explainer *x)
{
    if (!x)
        return;
    wp_shared_fini(x);
    wp_explain_nodes_fini(x);
    free(x);
}

struct wp_explain_options *wp_explainer_options(struct wp_explainer *x)
{
    return &x->options;
}

size_t wp_explainer_bytes(const struct wp_explainer *x)
{
    return wp_intmap_bytes(&x->sites);
}

bool wp_explainer_is_outdated(const struct wp_explainer *x)
{
    return x->leaves != x->fleet->leaves;
}

/* Numbers of hosts may have another meaning now. */
static __attribute__((noinline)) void forget_hosts(struct wp_explainer *x)
{
    wp_intmap_clear(&x->sites);
    memset(x->own_places, 0, sizeof(x->own_places));
    memset(x->resumed, 0, sizeof(x->resumed));
    x->last_process.node = 0;
    memset(x->lock_stacks, 0, sizeof(x->lock_stacks));
    memset(x->rivals, 0, sizeof(x->rivals));
    memset(x->rival_runs, 0, sizeof(x->rival_runs));
    wp_shared_clear(x);
}

/* `end_ns`: of what is explained, in home's clock. */
static inline void begin(struct wp_explainer *x, uint64_t end_ns, const struct wp_sink *sink)
{
    x->sink = sink;
    if (x->leaves != x->fleet->leaves)
        forget_hosts(x);
    if (x->shared)
        wp_shared_bound(x);
    x->leaves = x->fleet->leaves;
    x->depth = 0;
    x->visited = 0;
    x->oldest_ns = end_ns > x->options.origin_ns ? end_ns - x->options.origin_ns : 0;
}

void wp_explain_slice(
    struct wp_explainer *x, const struct wp_interval *interval, uint64_t slice, const struct wp_sink *sink)
{
    const struct wp_slice *asleep = wp_thread_slice(&x->timeline->threads[interval->thread], slice);
    uint64_t to_ns = interval->end_ns; /* between explanations the walk is at home */
    begin(x, asleep->in_ns && asleep->in_ns < to_ns ? asleep->in_ns : to_ns, sink);
    wp_explain_cover_from(x, 0, interval->thread, slice, interval->start_ns, to_ns);
    x->sink = NULL;
}

int wp_explain(struct wp_explainer *x, const struct wp_interval *interval, const struct wp_sink *sink)
{
    struct wp_offset offset = {.offset_ns = 0};
    if (interval->host != x->home &&
        (interval->host >= x->fleet->count || !x->fleet->hosts[interval->host].timeline ||
            !wp_fleet_offset(x->fleet, interval->host, interval->end_ns, x->home, &offset)))
        return -ENODATA;
    begin(x, interval->end_ns + (uint64_t)offset.offset_ns, sink);
    struct wp_explain_place home = wp_explain_enter(x, interval->host, -offset.offset_ns);
    wp_explain_cover(x, 0, interval->thread, interval->start_ns, interval->end_ns);
    wp_explain_leave(x, &home);
    x->sink = NULL;
    return 0;
}

bool wp_explain_request(struct wp_explainer *x, const struct wp_explain_request *request, const struct wp_sink *sink,
    const struct wp_sink *behind)
{
    const struct wp_receive read = {.time_ns = request->read_ns, .thread = request->reader};
    struct wp_hops hops;
    struct wp_hop_part part;
    begin(x, request->answered_ns, sink);
    bool is_known = wp_hops_find(x, &hops, request->socket, &read, request->thread, request->answered_ns);
    x->doubts = is_known && hops.is_guess;
    while (is_known && wp_hops_next(&hops, &part)) {
        bool is_behind = part.kind == WP_HOP_READY && behind;
        x->sink = is_behind ? behind : sink;
        if (part.kind == WP_HOP_WORK || is_behind)
            wp_explain_cover(x, 0, part.thread, part.from_ns, part.to_ns);
        else if (part.from_ns < part.to_ns)
            wp_wait_on_hop(x, 0, &part, part.from_ns, part.to_ns);
    }
    x->doubts = 0;
    x->sink = NULL;
    return is_known;
}

int wp_explain_path(struct wp_explainer *x, const struct wp_interval *interval, const struct wp_sink *sink)
{
    x->is_other_path = true;
    int rc = wp_explain(x, interval, sink);
    x->is_other_path = false;
    return rc;
}

void wp_explain_settle(struct wp_explainer *x, const struct wp_sink *sink)
{
    wp_shared_settle(x, sink);
}

void wp_explain_forget(struct wp_explainer *x)
{
    wp_shared_clear(x);
}

void wp_explain_say_home(struct wp_explainer *x, bool says_home)
{
    wp_explain_name_home(x, says_home);
}

uint32_t wp_explain_home_node(struct wp_explainer *x, uint32_t parent, uint32_t identity)
{
    return wp_explain_process_node(x, parent, identity);
}
