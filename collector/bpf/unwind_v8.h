/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_UNWIND_V8_H
#define WP_COLLECTOR_BPF_UNWIND_V8_H
/*
 * Stacks through code that V8 made, or had made when it was built: all of it keeps frame pointers (src/execution/
 * frame-constants.h), and has no rows.
 */
#include "interp_bind.h"
#include "unwind_walk.h"

/* Of a frame, from bp on. */
#define V8_FRAME_FUNCTION (-16)
#define V8_FRAME_BYTECODES (-32) /* of an interpreted one, and where in them it is */
#define V8_FRAME_BYTECODE_AT (-40)

static __always_inline bool is_v8(void)
{
    struct wp_interp_process *process = interp_here(current_task());
    return process && WP_INTERP_LANGUAGE(process->file.version) == WP_INTERP_V8;
}

/* What the frame is says walk_v8. The words that say which function runs are among those that lead to this walk. */
static __always_inline void put_v8(struct walk *w)
{
    __u64 word, bp = w->bp;
    if (bp < w->sp || bp & 7)
        return;
    read_word(w, bp + V8_FRAME_FUNCTION, &word);
    read_word(w, bp + V8_FRAME_BYTECODES, &word);
    read_word(w, bp + V8_FRAME_BYTECODE_AT, &word);
    put_jit(w, bp, w->is_exact ? w->ip : w->ip - 1);
}

#endif
