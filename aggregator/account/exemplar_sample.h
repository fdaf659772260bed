/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_EXEMPLAR_SAMPLE_H
#define WP_AGGREGATOR_ACCOUNT_EXEMPLAR_SAMPLE_H
/*
 * The windows of one aggregate of one session that are kept event by event: the slowest and the typical requests and
 * waits of each timebox, by the rule of storage/report/exemplars.h. A window is offered when it is over; what it
 * consisted of is looked up only if it is kept when its epoch is resolved, while the timelines still know.
 */
#include "aggregator/account/aggregate_types.h"
#include "aggregator/timeline/timeline_types.h"

#define WP_EXEMPLAR_WAIT_NS 100000u /* shorter sleeps are no windows: there are very many, and they show nothing */

struct wp_aggregate;
struct wp_exemplar;
struct wp_reply;

/* Frees all windows, written or not, as wp_exemplar_sample_clear() does; zeroed is allowed. */
void wp_exemplar_sample_fini(struct wp_exemplar_sample *sampled);
/* A request that came to `service`; its reply leaves now. True, here and below: it is kept, and will be looked at. */
bool wp_exemplar_sample_request(struct wp_aggregate *aggregate, const char *service, const struct wp_reply *reply);
/* Whether that slice's sleep may be a window: most are not. */
static inline bool wp_exemplar_sample_is_wait(const struct wp_slice *slice)
{
    return slice->in_ns > slice->out_ns && slice->in_ns - slice->out_ns >= WP_EXEMPLAR_WAIT_NS &&
        !(slice->flags & WP_SLICE_PREEMPTED);
}
/* A thread of interest slept until that slice began. */
bool wp_exemplar_sample_wait(struct wp_aggregate *aggregate, uint32_t thread, const struct wp_slice *slice);
/* The epoch is resolved: what was offered and is to be kept is read from the pieces that were kept of it
 * (request_pieces.h), or explained where it is not whole there. False: a part of it, as much as
 * wp_fleet_pauses() allows. */
bool wp_exemplar_sample_look(struct wp_aggregate *aggregate);
/* All of it is in the store: only names and times are remembered, and those of late timeboxes alone. */
void wp_exemplar_sample_stored(struct wp_exemplar_sample *sampled);
/* What was offered so far is in the store already. */
void wp_exemplar_sample_clear(struct wp_exemplar_sample *sampled);

#endif
