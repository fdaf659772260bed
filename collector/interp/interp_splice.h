/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_INTERP_SPLICE_H
#define WP_COLLECTOR_INTERP_INTERP_SPLICE_H
/*
 * A user stack through an interpreter: in place of each frame of the interpreter's loop, and of the function that the
 * loop calls for its work, stand the frames of the language that this call of the loop runs. A part that one of both
 * walks did not reach stays as it is. Of V8 the words say which native frames its calls are (WP_INTERP_IS_FROM).
 */
#include <stdbool.h>
#include <stdint.h>

/* What a native frame is to the interpreter. */
enum wp_interp_part {
    WP_INTERP_NO_PART,
    WP_INTERP_LOOP,
    WP_INTERP_INNER, /* what the loop calls for its work */
    WP_INTERP_AGAIN  /* what the loop calls to go on in a loop within: both are one call */
};

/* Innermost first. Borrowed. */
struct wp_interp_stack {
    const uint8_t *parts; /* enum wp_interp_part, of each native frame */
    uint32_t native_count;
    const uint64_t *words; /* collector/bpf/interp_row.h */
    uint32_t word_count;
};

struct wp_spliced_frame {
    uint32_t index; /* of the native frame, or of the word */
    bool is_word;
};

/* Fills frames, which has room for native_count + word_count, innermost first; how many. */
uint32_t wp_interp_splice(const struct wp_interp_stack *stack, struct wp_spliced_frame *frames);

#endif
