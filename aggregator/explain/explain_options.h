/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_OPTIONS_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_OPTIONS_H
/* The bounds of an explanation (docs/engine.md). */
#include "common/clock.h"

#include <stdint.h>

struct wp_explain_options {
    uint64_t fit_ns;    /* small overlap that is still the same control path; 100 us */
    uint64_t join_ns;   /* a run shorter than this parts two sleeps of one loop; 100 us */
    uint64_t origin_ns; /* causes are followed back so far from the end of what is explained; half of what is kept at
                         * most, so that a restart changes nothing; 5 s */
    uint64_t chunk_ns;  /* a long run is divided among its samples by this grid; 1 s */
    uint32_t depth;     /* layers */
    uint32_t width;     /* slices looked at for one base sleep */
    uint64_t budget;    /* ... for all of one host's epoch */
    uint32_t share;     /* a walk through so many slices may be one that many wait for (explain_shared.h); 0: none is */
};

#define WP_EXPLAIN_DEFAULTS                                                                                            \
    ((struct wp_explain_options){100000, 100000, 5 * WP_NS_PER_S, WP_NS_PER_S, 64, 200000, 10000000, 32})
#define WP_DEPTH_LIMIT 256u

#endif
