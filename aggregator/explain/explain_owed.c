/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_owed.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_hops.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/net/owed.h"

#define STEP_LIMIT 8u /* asked for one after the other for one answer */

/* A request on a connection where nothing was owed ended it. Whose end opened one that began in the recording has to be
 * known: an answer may be what came. */
static bool is_by_request(const struct wp_explainer *x, const struct wp_slice *slice)
{
    const struct wp_socket *socket =
        slice->cause == WP_CAUSE_MESSAGE ? wp_messages_socket(&x->timeline->messages, slice->cause_d) : NULL;
    return socket && (socket->opener || !socket->opened_ns) && slice->wake_ns &&
        !(slice->cause_a & WP_POSITION_ACKNOWLEDGES) && wp_wait_is_choosing(slice) &&
        !(slice->flags & WP_SLICE_PREEMPTED) && wp_owed_nothing(&x->timeline->messages, slice->cause_d, slice->out_ns);
}

/* That request was not answered itself before the answer that is owed: it is why that leaves. */
static bool lets_go(const struct wp_explainer *x, const struct wp_slice *slice, uint64_t sent_ns)
{
    struct wp_send send;
    return !wp_owed_sent(&x->timeline->messages, slice->cause_d, slice->wake_ns, &send) || send.time_ns >= sent_ns;
}

enum wp_owing wp_explain_owing(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *slice, struct wp_owing_end *end)
{
    const struct wp_messages *messages = &x->timeline->messages;
    struct wp_owed owed;
    *end = (struct wp_owing_end){0};
    if (!is_by_request(x, slice) || !wp_owed_first(messages, thread, slice->out_ns, wp_explain_horizon(x), &owed))
        return WP_OWING_NOTHING;
    if (!owed.sent_ns)
        return WP_OWING_OPEN;
    uint64_t at_ns = owed.sent_ns;
    for (uint32_t i = 0; i < STEP_LIMIT; i++) {
        const struct wp_slice *last = wp_hops_sleep(x, thread, at_ns);
        if (!last || last->out_ns < slice->out_ns)
            break;
        if (last->cause == WP_CAUSE_TIMER || (is_by_request(x, last) && lets_go(x, last, at_ns))) {
            if (last->out_ns == slice->out_ns)
                return WP_OWING_NOTHING;
            *end = (struct wp_owing_end){*last, owed.sent_ns};
            return WP_OWING_KNOWN;
        }
        uint64_t asked_ns =
            last->cause == WP_CAUSE_MESSAGE ? wp_messages_asked(messages, last->cause_d, last->wake_ns) : 0;
        if (asked_ns <= slice->out_ns || asked_ns >= last->wake_ns)
            break;
        at_ns = asked_ns;
    }
    end->sent_ns = owed.sent_ns;
    return WP_OWING_UNKNOWN;
}

bool wp_explain_owing_parts(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *before, const struct wp_slice *after)
{
    struct wp_owed owed;
    struct wp_owing_end end;
    if (!is_by_request(x, after) ||
        !wp_owed_first(&x->timeline->messages, thread, before->out_ns, wp_explain_horizon(x), &owed))
        return false;
    bool is_answered = owed.sent_ns && owed.sent_ns < after->out_ns;
    return is_answered || wp_explain_owing(x, thread, after, &end) != WP_OWING_NOTHING;
}
