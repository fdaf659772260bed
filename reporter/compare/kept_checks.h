/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_KEPT_CHECKS_H
#define WP_REPORTER_COMPARE_KEPT_CHECKS_H
/*
 * What a check found, kept with the newer release: metadata of its aggregate, "check.METHOD.OLD", whose value is a line
 * of JSON (docs/store-format.md). It outlives the release that it was held against.
 */
#include "reporter/compare/compare.h"
#include "reporter/compare/side.h"

struct wp_kept_check {
    const char *method, *against;    /* a key of method.h, or of a later version; the older side */
    const char *severity, *sentence; /* of the worst row; "" none */
    uint64_t worse, better, real_s;
    double rate, confidence; /* of the worst row; NAN none */
};

/* Those of an aggregate, in the order of their keys, in the pool. What is no check, or of a later version, is passed
 * over. */
size_t wp_kept_checks_read(struct wp_kept_check **checks, struct wp_pool *pool, const struct wp_metadata *metadata);
/* Keeps it in the first of the stores that has the release of `side`. `against`: the older side as it was asked for.
 * -ENOENT: none has it. */
int wp_check_keep(const struct wp_stores *stores, const struct wp_compare *compare, const struct wp_side_spec *side,
    const char *against, struct wp_error *err);

#endif
