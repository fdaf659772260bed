/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_PATH_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_PATH_H
/*
 * Other control paths: a thread that is of interest itself, or that does somebody else's work, is followed as a path of
 * its own, and whoever waits for it waits on that path. Private to the explanation.
 */
#include "aggregator/explain/explain_origin.h"
#include "aggregator/explain/explain_types.h"
#include "aggregator/timeline/slices.h"

/* [from, to) waits on what `waker` does on its own path. */
void wp_explain_on_path(struct wp_explainer *x, uint32_t node, uint32_t waker, uint64_t from_ns, uint64_t to_ns);
/* The same, of that thread of the present host, who it is in that interval, and who set its work going (NULL: nobody is
 * asked). */
void wp_explain_on_path_of(struct wp_explainer *x, uint32_t node, const struct wp_interval *interval, uint32_t identity,
    const struct wp_handover *by);
/* Whether the thread of the present host was of interest then; thread 0, nobody, never is. */
bool wp_explain_is_base(const struct wp_explainer *x, uint32_t thread, uint64_t at_ns);
/* It is of the sleeper's process, whose progress the aggregate shows: it is followed whatever set it going
 * (docs/engine.md, "What a total is"). */
bool wp_explain_is_mate(const struct wp_explainer *x, uint32_t identity);

/* Who the thread was in that slice, which wp_thread_find() found. */
static inline uint32_t wp_explain_identity(const struct wp_thread *thread, uint64_t ordinal)
{
    return ordinal == thread->slice_end ? thread->identity : wp_thread_slice(thread, ordinal)->identity;
}

/* The same at that time; most threads have one name as long as they live. */
static inline uint32_t wp_explain_identity_at(const struct wp_explainer *x, uint32_t index, uint64_t at_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    bool is_only = !x->timeline->identities[thread->identity].before;
    return is_only ? thread->identity : wp_explain_identity(thread, wp_thread_find(thread, at_ns));
}

/* Whether that identity of the present host is a base of the aggregate that is explained. */
static inline bool wp_explain_is_of_interest(const struct wp_explainer *x, uint32_t identity)
{
    return x->timeline->identities[identity].aggregates & x->base_bit;
}

#endif
