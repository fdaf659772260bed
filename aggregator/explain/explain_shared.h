/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_SHARED_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_SHARED_H
/*
 * Many threads wait for one: its time is the explanation of each of their sleeps, cut at where each began. A walk back
 * through a thread's slices that overlaps one that was made before for the same pseudo-stack is recorded, slice by
 * slice, with the pieces that each slice led to, whatever was behind it; the next one repeats what is recorded. So N
 * slices that K threads waited for cost N and K, and not N times K. Slices at the ends of a walk, which it cuts, are
 * never recorded.
 *
 * What of a slice's pieces depends on who waits is watched while it is recorded: which threads a search for causes came
 * by (none of them may be one of the sleepers, explain_origin.h), and between which bounds of how far back causes count
 * the same is found. It is repeated for those of whom that holds, and walked for the others. Private to the
 * explanation.
 */
#include "aggregator/explain/explain_types.h"

struct wp_shared_walk;

/* A walk back through [from, to) of a thread's time, as it goes on: `to_ns` shrinks towards `from_ns`. */
struct wp_shared_use {
    uint32_t parent, thread;
    uint64_t ordinal; /* the slice of the last instant; the thread's slice_end: there is none */
    uint64_t from_ns, to_ns;
    /* of wp_shared_begin() */
    struct wp_shared_walk *walk; /* NULL: it shares nothing */
    uint64_t low;                /* the first slice that lies whole in it */
    bool records;                /* what is not known yet is worth recording */
    bool is_alike;               /* those who wait are the same processes as when it was recorded */
};

/* Most walks are short. */
static inline bool wp_shared_may(const struct wp_explainer *x, const struct wp_shared_use *use)
{
    const struct wp_thread *thread = &x->timeline->threads[use->thread];
    uint32_t least = x->options.share;
    return x->depth && x->sink->shares && least && !x->recording && use->ordinal != thread->slice_end &&
        use->ordinal - thread->first_slice >= least &&
        wp_thread_slice(thread, use->ordinal - least)->out_ns >= use->from_ns;
}
/* A walk of which that is true begins; false: it shares nothing. */
bool wp_shared_begin(struct wp_explainer *x, struct wp_shared_use *use);
/* Repeats what is recorded from to_ns downwards; false: the next slice is to be walked. */
bool wp_shared_repeat(struct wp_explainer *x, struct wp_shared_use *use);
/* The next slice is going to be walked; true: recorded, too, until wp_shared_recorded() with its ordinal. */
bool wp_shared_record(struct wp_explainer *x, struct wp_shared_use *use);
/* Ends the recording of that slice: keeps what was found, or drops it if it was refused meanwhile. */
void wp_shared_recorded(struct wp_explainer *x, struct wp_shared_use *use, uint64_t ordinal);

/* --- while a slice is recorded (x->recording) --- */
void wp_shared_piece(struct wp_explainer *x, const struct wp_piece *piece);
/* Copies it, unless the slice was refused; the host names are borrowed. */
void wp_shared_crossed(struct wp_explainer *x, const struct wp_crossed *crossed);
/* The same; WP_LIMIT_WIDTH and WP_LIMIT_BUDGET refuse the slice, since they depend on the sleeper. */
void wp_shared_limit(struct wp_explainer *x, enum wp_limit limit, uint64_t count, uint64_t ns);
/* That thread of the present host waits, and stands in the pseudo-stack below the recorded slice only. */
bool wp_shared_is_below(const struct wp_explainer *x, uint32_t thread);
/* A search for causes came by that thread of the present host, which is nobody's who waits. */
void wp_shared_met(const struct wp_explainer *x, uint32_t thread);
/* What was found is not to be repeated: for this sleeper it was found (is_own), or for nobody. */
void wp_shared_refuse(const struct wp_explainer *x, bool is_own);
/* What was found holds while causes count that are older than neither: after_ns < wp_explain_oldest() <= until_ns. */
#define WP_SHARED_ALWAYS INT64_MAX
/* Times are the present host's; -WP_SHARED_ALWAYS and WP_SHARED_ALWAYS: no bound. Of several calls for one slice the
 * narrowest bounds hold. */
void wp_shared_holds(const struct wp_explainer *x, int64_t after_ns, int64_t until_ns);

/* --- of the whole --- */
/* Tells the sink of all that was repeated since the last time; between explanations. */
void wp_shared_settle(struct wp_explainer *x, const struct wp_sink *sink);
/* Forgets what is recorded, and what was repeated and not emitted. */
void wp_shared_clear(struct wp_explainer *x);
/* An explanation begins: when too much is recorded it is emitted and forgotten. */
void wp_shared_bound(struct wp_explainer *x);
/* Frees all that is recorded; what wp_shared_settle() has not emitted is lost. Nothing recorded yet is allowed. */
void wp_shared_fini(struct wp_explainer *x);

#endif
