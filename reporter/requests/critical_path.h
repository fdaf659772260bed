/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_REQUESTS_CRITICAL_PATH_H
#define WP_REPORTER_REQUESTS_CRITICAL_PATH_H
/*
 * Who was on top of the main control path of the kept window, and what it did there, from its beginning to its end: the
 * path of interest with most time, cut into as many equal parts as can be seen; a part is what most of it was.
 */
#include "reporter/facts/facts.h"

struct wp_path_part {
    uint64_t start_ns, length_ns; /* in the window */
    const char *process;          /* on top, without brackets; "" nobody */
    enum wp_category category;
};

struct wp_critical_path {
    const char *thread; /* at its base */
    uint64_t length_ns; /* of the window */
    struct wp_path_part *parts;
    uint32_t count;
};

/* Of facts->trace, in `pool`; count 0: there is none. Out of memory shows in pool->failed. */
void wp_critical_path_build(struct wp_critical_path *path, struct wp_pool *pool, const struct wp_facts *facts);

#endif
