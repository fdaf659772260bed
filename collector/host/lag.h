/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_LAG_H
#define WP_COLLECTOR_HOST_LAG_H
/*
 * How old the oldest batch is that is not acknowledged, from what is known at each look (once a second, say): the last
 * batch there is, and the last one acknowledged. As exact as the looks are close; of long absences it keeps ever wider
 * marks.
 */
#include <stdint.h>

#define WP_LAG_MARKS 256u

struct wp_lag {
    struct wp_lag_mark {
        uint64_t seq, at_ns; /* batches up to this one were there at that time */
    } marks[WP_LAG_MARKS];   /* not acknowledged, oldest first */
    uint32_t count;
    uint64_t apart_ns; /* so far apart are they at least; doubled when there is no room */
};

/* A look: returns the lag. */
uint64_t wp_lag_look(struct wp_lag *lag, uint64_t last_seq, uint64_t acked, uint64_t now_ns);

#endif
