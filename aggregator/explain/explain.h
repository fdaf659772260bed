/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_H
/*
 * The explanation: an interval of a thread's time is cut into pieces without gap or overlap, each with a pseudo-stack
 * and a category. A run is its samples; a sleep is what it waited for: the waker's time walked back from the waking to
 * the sleep's start, with the waker's own sleeps explained the same way (after "A Recursive Systemic Profiler",
 * section 5.2). docs/engine.md has the rules and where they differ from the paper.
 */
#include "aggregator/explain/explain_options.h"
#include "aggregator/explain/explain_sink.h"
#include "aggregator/explain/pathtree.h"
#include "aggregator/fleet/fleet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_explainer;

/* Of host `home`; both are borrowed. `base_bit`: of the aggregate whose identities are of interest, 0 none. NULL: out
 * of memory. */
struct wp_explainer *wp_explainer_create(
    struct wp_fleet *fleet, uint32_t home, struct wp_pathtree *tree, uint64_t base_bit);
void wp_explainer_destroy(struct wp_explainer *explainer); /* NULL-safe */
/* Begins with WP_EXPLAIN_DEFAULTS; may be changed until the first explanation. */
struct wp_explain_options *wp_explainer_options(struct wp_explainer *explainer);
/* What it remembers from one explanation to the next, in bytes. */
size_t wp_explainer_bytes(const struct wp_explainer *explainer);
/* A host has left since: numbers of hosts may have another meaning. */
bool wp_explainer_is_outdated(const struct wp_explainer *explainer);
/* Accounts for the interval on a fresh control path: all that it leads to goes to the sink, pieces latest first.
 * -ENODATA: its host has left, or its clock has not been compared with home's. */
int wp_explain(struct wp_explainer *explainer, const struct wp_interval *interval, const struct wp_sink *sink);
/* The same of a path that others wait for: base time in it is left out. */
int wp_explain_path(struct wp_explainer *explainer, const struct wp_interval *interval, const struct wp_sink *sink);
/* The same of a thread of home, and an interval that lies in that slice. */
void wp_explain_slice(
    struct wp_explainer *explainer, const struct wp_interval *interval, uint64_t slice, const struct wp_sink *sink);

/* A request to a socket of home, which `reader` read and `thread` answered. */
struct wp_explain_request {
    uint32_t socket, reader, thread;
    uint64_t read_ns, answered_ns;
};
/* Accounts for its time where its threads worked for others meanwhile: `behind` takes what they did when it could have
 * gone on (NULL: that is one piece of another path), `sink` the rest. False: they are not known to have, or what the
 * request waited for is not, and nothing is told. */
bool wp_explain_request(struct wp_explainer *explainer, const struct wp_explain_request *request,
    const struct wp_sink *sink, const struct wp_sink *behind);

/* As reports and metrics call it. */
const char *wp_limit_name(enum wp_limit limit);

/* --- between explanations --- */
/* What many wait for is repeated for each of them as a sum, which the sink gets now. */
void wp_explain_settle(struct wp_explainer *explainer, const struct wp_sink *sink);
/* Forgets what many wait for, told or not. */
void wp_explain_forget(struct wp_explainer *explainer);
/* The node of the tree of that identity of home upon `parent`, 0: what a path of it begins with; UINT32_MAX: out of
 * memory. */
uint32_t wp_explain_home_node(struct wp_explainer *explainer, uint32_t parent, uint32_t identity);
/* Whether processes of home are called "[comm]@host" from now on, as those of other hosts are. */
void wp_explain_say_home(struct wp_explainer *explainer, bool says_home);

#endif
