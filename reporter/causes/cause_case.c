/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/cause_case.h"

#include "reporter/display/humanize.h"
#include "reporter/causes/caller_told.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/causes/cause_pieces.h"
#include "reporter/causes/path_wait.h"
#include "reporter/causes/sync_calls.h"

#define EVEN_PART 10u /* of the mean that the longest may be longer */

/* Kinds whose pieces are one a sleep, or one a message. */
static bool is_counted(enum wp_cause_kind kind)
{
    return kind == WP_CAUSE_KIND_FLIGHT || kind == WP_CAUSE_KIND_SLEEP || kind == WP_CAUSE_KIND_TIMEOUT;
}

/* A sleep of the program's own, not for a lock. */
static bool is_pause(enum wp_cause_kind kind)
{
    return kind == WP_CAUSE_KIND_SLEEP || kind == WP_CAUSE_KIND_TIMEOUT || kind == WP_CAUSE_KIND_DISK ||
        kind == WP_CAUSE_KIND_FLIGHT || kind == WP_CAUSE_KIND_PEER;
}

/* What the holder sleeps in while others wait, as it is told where nobody waits for it. */
static uint64_t held_by_itself(const struct wp_cause_case *of)
{
    const struct wp_causes *causes = of->causes;
    const struct wp_flame_node *nodes = of->facts->flame.nodes;
    uint32_t where = of->held.node && !of->held.is_starved ? causes->locations[of->held.node] : 0;
    uint64_t ns = 0;
    for (uint32_t i = 0; where && i < causes->count; i++) {
        const struct wp_cause_fact *other = &causes->rows[i];
        uint32_t at = causes->locations[other->sleep];
        if (is_pause(other->kind) && at && nodes[at].frame == nodes[where].frame &&
            wp_cause_is_own(of->facts, other) == wp_cause_is_own(of->facts, of->cause))
            ns += other->ns;
    }
    return ns;
}

const char *wp_cause_each(const struct wp_cause_case *of, bool is_after)
{
    struct wp_pool *pool = &of->facts->pool;
    if (!of->longest_ns)
        return wp_pool_printf(pool, "%s on average", wp_human_duration(pool, of->mean_ns));
    if (of->longest_ns > of->mean_ns + of->mean_ns / EVEN_PART)
        return wp_pool_printf(pool, "up to %s", wp_human_duration(pool, of->longest_ns));
    return wp_pool_printf(pool, "%s%s", wp_human_duration(pool, of->usual_ns), is_after ? "" : " each");
}

struct wp_cause_case wp_cause_case(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    struct wp_cause_case of = {.facts = facts, .causes = causes, .cause = cause, .row = row};
    bool is_lock = cause->kind == WP_CAUSE_KIND_LOCK, is_path = cause->kind == WP_CAUSE_KIND_PATH;
    bool is_held = is_lock || cause->kind == WP_CAUSE_KIND_POOL || cause->kind == WP_CAUSE_KIND_SERVICE;
    const struct wp_caller_place own = {.row = row, .place = cause->sleep, .ns = cause->ns};
    of.call_size = wp_cause_call(facts, cause->sleep, &of.call);
    if (of.call_size && cause->kind != WP_CAUSE_KIND_UNENDED && cause->kind != WP_CAUSE_KIND_INTERRUPTED) {
        of.count = is_counted(cause->kind) ? cause->count : wp_cause_wakings(causes, facts, row, false);
        if (cause->kind != WP_CAUSE_KIND_PAUSE && cause->kind != WP_CAUSE_KIND_GARBAGE) /* wherever they are stopped */
            of.threads = wp_cause_threads(causes, facts, row, wp_caller_told(causes, facts, &own));
    }
    of.sleeps = of.count;
    if (cause->kind == WP_CAUSE_KIND_DISK && wp_sync_call_is(of.call, of.call_size)) {
        uint64_t calls = wp_sync_calls(causes, facts, row);
        of.is_calls = calls != 0;
        of.count = calls ? calls : of.count;
    }
    of.mean_ns = of.count ? cause->ns / of.count : 0;
    if (of.count && (cause->kind == WP_CAUSE_KIND_SLEEP || cause->kind == WP_CAUSE_KIND_TIMEOUT)) {
        struct wp_cause_pieces pieces = wp_cause_pieces(causes, facts, row);
        if (pieces.count > of.count) /* of parts of a wait that goes on only the last is counted */
            pieces = (struct wp_cause_pieces){0};
        of.longest_ns = pieces.longest_ns;
        of.usual_ns = pieces.usual_ns;
        of.count = pieces.count ? pieces.count : of.count;
        of.mean_ns = pieces.count ? pieces.mean_ns : of.mean_ns;
    }
    if (is_held)
        of.held = wp_cause_held_in(causes, facts, row);
    if ((is_lock && !of.held.node) || is_path)
        of.held = wp_path_wait_held(causes, facts, row);
    if (is_lock || cause->kind == WP_CAUSE_KIND_POOL || (is_path && wp_path_wait_is_own(causes, facts, row)))
        of.own_ns = held_by_itself(&of);
    return of;
}
