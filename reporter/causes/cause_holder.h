/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSE_HOLDER_H
#define WP_REPORTER_CAUSES_CAUSE_HOLDER_H
/* What ends a wait, and what that one does meanwhile. */
#include "common/clock.h"
#include "reporter/causes/causes.h"

/* A thread that does not run so long at a time is kept from it: the scheduler's own slices are of some ms each. */
#define WP_STARVED_NS (40u * (uint64_t)WP_NS_PER_MS)

/* What the holders of a lock did most of the time that is known of them. */
struct wp_cause_held {
    uint32_t node;    /* the innermost of the holder's layer, of the cell with most time of it; 0: not known */
    bool is_starved;  /* it would have run, and had no CPU, */
    uint32_t rival;   /* ... but mostly that one: wp_rival_frame, 0 nobody */
    uint64_t mean_ns; /* ... so long at a time, in the mean */
    uint64_t ns;
    uint64_t starved_ns; /* all time without a CPU */
    uint32_t thread;     /* of the window, +1: it ends most of what one waits for; 0: none does, or it is not known */
};

/* Out of memory shows in facts->pool.failed. */
struct wp_cause_held wp_cause_held_in(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);
/* What the runtime does most while it has threads stopped for the cause of that row: "VM_ThreadDump", in the facts'
 * pool; "" not known. */
const char *wp_cause_operation(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);

#endif
