/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/pattern_timers.h"

#include "common/clock.h"
#include "reporter/display/humanize.h"
#include "reporter/evidence/pauses.h"
#include "reporter/evidence/waker_trace.h"

#define LEAST_POLLS 10u
#define AWAITED_PERCENT 25u
#define LEAST_RETRIES 2u
#define LONGEST_POLL_NS ((uint64_t)WP_NS_PER_S)

static const char *each(const struct wp_cause_case *of, const char *what)
{
    struct wp_pool *pool = &of->facts->pool;
    return wp_pool_printf(pool, "%s %s of %s", wp_human_count(pool, of->count), what, wp_cause_each(of, true));
}

static bool is_retry(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    const char *peer = wp_cause_peer(of->facts, of->cause->sleep);
    if (!peer)
        peer = wp_cause_due(of->causes, of->facts, of->row);
    if (of->cause->kind != WP_CAUSE_KIND_TIMEOUT || !peer || of->count < LEAST_RETRIES)
        return false;
    pattern->sure = WP_SURETY_LIKELY;
    pattern->evidence =
        wp_pool_printf(&of->facts->pool, "%s on %s", each(of, "timeouts"), wp_pool_clip(&of->facts->pool, peer, 80));
    return true;
}

/* Whether other threads wait meanwhile for what the sleeper holds. */
static bool is_awaited(const struct wp_cause_case *of)
{
    const struct wp_facts *facts = of->facts;
    uint32_t sleep = of->cause->sleep, location = of->causes->locations[sleep];
    struct wp_trace_place place = {wp_facts_frame_name(facts, facts->flame.nodes[sleep].frame),
        location ? wp_facts_frame_name(facts, facts->flame.nodes[location].frame) : "", false};
    return wp_waker_trace_awaited(of->facts, &place) >= AWAITED_PERCENT;
}

/* A pause of who was asked is none of who asks: only what the process of interest does itself is polling. */
static bool is_polling(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    bool is_own = !of->cause->asked && wp_cause_is_own(of->facts, of->cause);
    if ((of->cause->kind != WP_CAUSE_KIND_SLEEP && of->cause->kind != WP_CAUSE_KIND_TIMEOUT) || !is_own ||
        of->count < LEAST_POLLS || of->mean_ns > LONGEST_POLL_NS ||
        wp_pause_is_timer_thread(of->facts, of->cause->process, of->cause->sleep) || is_awaited(of))
        return false;
    pattern->sure = of->cause->kind == WP_CAUSE_KIND_TIMEOUT ? WP_SURETY_LIKELY : WP_SURETY_POSSIBLE;
    pattern->evidence = each(of, of->cause->kind == WP_CAUSE_KIND_TIMEOUT ? "timeouts" : "sleeps");
    return true;
}

const struct wp_pattern_rule wp_pattern_timers[] = {
    {"retry_after_timeout", "Retry after a timeout", is_retry},
    {"polling", "Polling, or a pause for each item", is_polling},
    {NULL, NULL, NULL},
};
