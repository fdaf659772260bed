/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_PERUN_MODELS_H
#define WP_REPORTER_EXPORT_PERUN_MODELS_H
/*
 * Curves of the largest functions over the course of a recording, for Perun's regression analysis: the amounts of a
 * function in a snapshot, over the snapshot's middle in seconds since the beginning. The first and the last snapshot
 * are pieces of intervals and no points.
 */
#include "reporter/compare/model_fit.h"

#include <stdint.h>

#define WP_PERUN_MODELS 100u

/* Sums of ns, by function and then snapshot; borrowed. */
struct wp_perun_amounts {
    const uint64_t *ns;
    const double *x; /* of the snapshots */
    size_t functions, snapshots;
};

struct wp_perun_model {
    size_t function;
    uint64_t total_ns;
    struct wp_fitted fitted;
};

/* Those with most time first, at most WP_PERUN_MODELS; how many. */
size_t wp_perun_models_fit(
    struct wp_perun_model models[WP_PERUN_MODELS], const struct wp_perun_amounts *amounts, double *room);

#endif
