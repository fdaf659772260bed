/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_STACK_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_STACK_H
/* The stack of one event while its lines come in, in bounded memory: depth and length of names are cut. */
#include "collector/host/source.h"
#include "collector/perf_script/perf_script_line.h"
#include "common/buffer.h"

#define WP_PERF_STACK_DEPTH 1024u
#define WP_PERF_NAME_LIMIT 1024u

/* A frame as it came in. */
struct wp_perf_stack_slot {
    size_t function, object; /* where they start in `text` */
    uint64_t offset;
    bool is_kernel, is_inlined;
};

/* Embedded: init with {0}. About 64 KiB, too large for a local variable. */
struct wp_perf_stack {
    struct wp_buffer text; /* terminated names */
    uint32_t count;
    struct wp_perf_stack_slot slots[WP_PERF_STACK_DEPTH]; /* innermost first */
    struct wp_named_frame frames[WP_PERF_STACK_DEPTH];
};

/* Frees the texts and drops all frames; it can be used again. A zeroed one is allowed. */
void wp_perf_stack_fini(struct wp_perf_stack *stack);
/* Drops all frames for the next event, and keeps the memory. */
void wp_perf_stack_clear(struct wp_perf_stack *stack);
/* Adds the next outer frame; past WP_PERF_STACK_DEPTH the outermost ones are left out. -ENOMEM. */
int wp_perf_stack_add(struct wp_perf_stack *stack, const struct wp_perf_frame *frame);
/* Fills `frames`, outermost first, and returns how many; they are valid until the stack is changed. The offset of a
 * user frame is its address in the object, that of a kernel frame the distance from its function: kernel addresses do
 * not leave the host. */
uint32_t wp_perf_stack_frames(struct wp_perf_stack *stack);

#endif
