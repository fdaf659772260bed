/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_TRACE_H
#define WP_TESTS_GEN_TRACE_H
/*
 * The truth about time: what was done for a request, stretch by stretch, by which service. A thread of the base service
 * has a root trace: what comes in is summed at once.
 */
#include "storage/value/category.h"

#include <stdbool.h>
#include <stdint.h>

#define GEN_SERVICES 32u

struct gen_sums {
    uint64_t ns[GEN_SERVICES][WP_CATEGORIES];
    uint64_t total_ns;
};

struct gen_part {
    uint64_t from_ns, to_ns;
    uint16_t service;
    uint8_t category;
};

struct gen_trace {
    struct gen_part *parts; /* owned, in order */
    uint32_t count, room;
    struct gen_sums *sums; /* of a root, borrowed; NULL else */
    uint32_t holders;
    uint64_t since_ns, until_ns; /* of a root: what is recorded */
};

/* Two hold it: who asked, and who answers. The second release frees it; NULL is allowed. */
struct gen_trace *gen_trace_create(void);
void gen_trace_release(struct gen_trace *trace);
void gen_trace_add(
    struct gen_trace *trace, uint16_t service, enum wp_category category, uint64_t from_ns, uint64_t to_ns);
/* What `from` has in that stretch. */
void gen_trace_splice(struct gen_trace *trace, const struct gen_trace *from, uint64_t from_ns, uint64_t to_ns);

#endif
