/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_STORED_CHECKS_H
#define WP_REPORTER_COMPARE_STORED_CHECKS_H
/*
 * What a check found, stored with the newer release: metadata of its aggregate, "check.METHOD.OLD", whose value is a
 * line of JSON (wakepath-store(5)). It outlives the release that it was held against.
 */
#include "reporter/compare/compare.h"
#include "reporter/compare/operand.h"

struct wp_stored_check {
    const char *method, *against;    /* a key of method.h, or of a later version; the older operand */
    const char *severity, *sentence; /* of the worst row; "" none */
    uint64_t worse, better, real_s;
    double rate, confidence; /* of the worst row; NAN none */
};

/* Those of an aggregate, in the order of their keys, in the pool. What is no check, or of a later version, is passed
 * over. */
size_t wp_stored_checks_read(struct wp_stored_check **checks, struct wp_pool *pool, const struct wp_metadata *metadata);
/* Keeps it in the first of the stores that has the release of the newer operand. `against`: the older operand as it was
 * asked for (NULL: as it was found), kept with its release's id in place of its reference. -ENOENT: none has it. */
int wp_check_store(const struct wp_stores *stores, const struct wp_compare *compare,
    const struct wp_operand_spec operand[2], const char *against, struct wp_error *err);

#endif
