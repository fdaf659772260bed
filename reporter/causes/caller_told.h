/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CALLER_TOLD_H
#define WP_REPORTER_CAUSES_CALLER_TOLD_H
/* Whether it is worth telling who calls the function that a cause is told by. */
#include "reporter/causes/causes.h"

/* A place of a cause. */
struct wp_caller_place {
    uint32_t row;   /* of the cause */
    uint32_t place; /* a node there, */
    bool is_above;  /* ... of a layer above the cause's sleep; else of that */
    uint64_t ns;    /* of the cause, which passes there */
};

/* Who calls a helper there in nearly all of the time, by the node of its place; 0: nobody, or it says no more. */
uint32_t wp_caller_told(const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_caller_place *at);

#endif
