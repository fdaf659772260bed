/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_origin.h"

#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/timeline/slices.h"

#define STEP_LIMIT 4096u /* slices of one search */

/* Where the search is: the activity of `thread` at `at_ns`. */
struct search {
    const struct wp_explainer *x;
    const struct wp_layer *layers;
    uint32_t layer_count, thread;
    uint64_t at_ns, budget_ns; /* how much further back it may go */
    uint64_t beyond_ns;        /* it would have gone on to so much further back than it may; 0: it ended otherwise */
};

static bool is_layer(const struct search *search, uint32_t thread)
{
    for (uint32_t i = search->layer_count; i-- > 0;)
        if (search->layers[i].host == search->x->host && search->layers[i].thread == thread)
            return true;
    return false;
}

static bool is_continuation(const struct wp_slice *slice)
{
    return slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_RENAME | WP_SLICE_EXEC) && !(slice->flags & WP_SLICE_BORN);
}

/* Goes back to `at_ns`; false: too far. */
static bool go_back(struct search *search, uint64_t at_ns)
{
    uint64_t step = search->at_ns > at_ns ? search->at_ns - at_ns : 0;
    if (step > search->budget_ns) {
        search->beyond_ns = step - search->budget_ns;
        return false;
    }
    search->budget_ns -= step;
    search->at_ns = at_ns;
    return true;
}

enum step {
    STEP_END,
    STEP_SAME /* on in this thread, before the sleep */,
    STEP_OTHER /* to the thread that caused it */
};

static enum step to_thread(struct search *search, uint32_t thread, uint64_t at_ns)
{
    if (!thread || thread == search->thread)
        return STEP_SAME;
    if (!go_back(search, at_ns))
        return STEP_END;
    search->thread = thread;
    return STEP_OTHER;
}

/* Not to another host: a request over the network is known by its read, and a shard could not follow where another
 * one's hosts are. */
static enum step to_sender(struct search *search, const struct wp_slice *slice)
{
    struct wp_send send;
    if (wp_messages_match(&search->x->timeline->messages, slice->cause_d, slice->cause_a, slice->wake_ns, &send) !=
        WP_MATCH_FOUND)
        return STEP_END;
    return send.thread ? to_thread(search, send.thread, send.time_ns < slice->wake_ns ? send.time_ns : slice->wake_ns)
                       : STEP_END;
}

/* What ended this sleep: on whom to go on. */
static enum step to_cause(struct search *search, const struct wp_slice *slice)
{
    const struct wp_blockop *op;
    if (slice->flags & WP_SLICE_BORN)
        return slice->waker ? to_thread(search, slice->waker, slice->wake_ns) : STEP_END;
    if (!slice->wake_ns)
        return STEP_END;
    switch (slice->cause) {
    case WP_CAUSE_TASK:
        return to_thread(search, slice->waker, slice->wake_ns);
    case WP_CAUSE_MESSAGE:
        return to_sender(search, slice);
    case WP_CAUSE_BLOCK:
        op = wp_blockops_at(&search->x->timeline->blockops, slice->cause_a);
        return op ? to_thread(search, op->thread, op->insert_ns) : STEP_SAME;
    default:
        return STEP_SAME;
    }
}

/* One cause back. */
static enum step step_back(struct search *search)
{
    const struct wp_thread *thread = &search->x->timeline->threads[search->thread];
    uint64_t ordinal = search->at_ns ? wp_thread_find(thread, search->at_ns - 1) : thread->slice_end;
    if (ordinal == thread->slice_end) /* its slices are forgotten, or it was not born yet when it was first named */
        return thread->birth_ns && thread->birth_ns < search->at_ns && thread->creator
            ? to_thread(search, thread->creator, thread->birth_ns)
            : STEP_END;
    while (ordinal > thread->first_slice && is_continuation(wp_thread_slice(thread, ordinal)))
        ordinal--;
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    if (is_continuation(slice))
        return STEP_END;
    enum step step = to_cause(search, slice);
    if (step != STEP_SAME)
        return step;
    return !(slice->flags & WP_SLICE_FIRST) && ordinal > thread->first_slice && go_back(search, slice->out_ns)
        ? STEP_SAME
        : STEP_END;
}

static void note_other(const struct search *search, struct wp_handover *found)
{
    const struct wp_timeline *timeline = search->x->timeline;
    if (!found->thread && !wp_is_kernel_thread(timeline, timeline->threads[search->thread].identity))
        found->thread = search->thread;
}

/* For whom the same is found: where the thread is one that waits below the recorded slice, only for that one; and while
 * neither what decided falls out of the time that counts, nor what lies beyond it falls into it. */
static void watch(const struct search *search, const struct wp_handover *found, int64_t beyond_ns, int64_t decided_ns)
{
    const struct wp_explainer *x = search->x;
    if (found->origin == WP_ORIGIN_PATH && search->layers == x->layers && wp_shared_is_below(x, found->thread))
        wp_shared_refuse(x, true);
    wp_shared_holds(x, search->beyond_ns ? beyond_ns : -WP_SHARED_ALWAYS,
        found->origin == WP_ORIGIN_NOT_KNOWN ? WP_SHARED_ALWAYS : decided_ns);
}

struct wp_handover wp_explain_origin(
    const struct wp_explainer *x, const struct wp_layer *layers, uint32_t layer_count, uint32_t thread, uint64_t at_ns)
{
    uint64_t oldest_ns = wp_explain_oldest(x);
    uint64_t budget_ns = at_ns > oldest_ns ? at_ns - oldest_ns : 0, decided_ns = 0;
    struct search search = {x, layers, layer_count, thread, at_ns, budget_ns, 0};
    struct wp_handover found = {.origin = WP_ORIGIN_NOT_KNOWN};
    for (uint32_t links = 0, steps = 0; links < WP_ORIGIN_LINKS && steps < STEP_LIMIT; steps++) {
        enum step step = step_back(&search);
        if (step == STEP_END)
            break;
        if (step == STEP_SAME)
            continue;
        links++;
        if (!found.thread)
            decided_ns = budget_ns - search.budget_ns;
        if (is_layer(&search, search.thread)) {
            decided_ns = budget_ns - search.budget_ns;
            found = (struct wp_handover){WP_ORIGIN_PATH, search.thread, search.at_ns};
            break;
        }
        found.origin = WP_ORIGIN_OTHER;
        note_other(&search, &found);
        if (x->recording && layers == x->layers)
            wp_shared_met(x, search.thread);
    }
    if (x->recording)
        watch(&search, &found, (int64_t)(at_ns - budget_ns - search.beyond_ns), (int64_t)(at_ns - decided_ns));
    return found;
}

enum wp_origin wp_explain_waking(
    struct wp_explainer *x, uint32_t thread, const struct wp_slice *slice, uint64_t *oldest_ns)
{
    const struct wp_layer sleeper = {.host = x->host, .thread = thread};
    x->oldest_ns = slice->in_ns > x->options.origin_ns ? slice->in_ns - x->options.origin_ns : 0;
    *oldest_ns = x->oldest_ns;
    return wp_explain_origin(x, &sleeper, 1, slice->waker, slice->wake_ns).origin;
}
