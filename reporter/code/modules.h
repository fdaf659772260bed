/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CODE_MODULES_H
#define WP_REPORTER_CODE_MODULES_H
/* Time by object file: with all that stands on its functions (once a stack) and by itself. The kernel is one,
 * "[kernel]". */
#include "reporter/facts/facts.h"

#define WP_MODULE_KERNEL "[kernel]"

struct wp_module_fact {
    const char *name; /* of the file; "[kernel]"; "" functions whose file is not known */
    uint64_t inclusive_ns, running_ns, waiting_ns;
    uint64_t count;     /* pieces in which one of its functions was innermost */
    uint32_t functions; /* that were seen */
};

/* In the pool, the most inclusive time first; NULL and 0 when there are none. Out of memory shows in pool->failed. */
struct wp_module_fact *wp_modules_build(struct wp_pool *pool, const struct wp_facts *facts, size_t *count);

#endif
