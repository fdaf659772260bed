/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/interp_splice.h"

#include "collector/bpf/interp_row.h"

/* The frames of one call; where the next call's begin. */
static uint32_t put_call(
    const struct wp_interp_stack *s, uint32_t word, struct wp_spliced_frame *frames, uint32_t *count)
{
    while (word < s->word_count) {
        uint64_t value = s->words[word];
        if (value != WP_INTERP_ENTRY)
            frames[(*count)++] = (struct wp_spliced_frame){word, true};
        word++;
        if (value & WP_INTERP_ENTRY)
            break;
    }
    return word;
}

/* A thread that was met inside the loop, in a call that has no frame yet or none any more: the loop is innermost, and
 * has one more call than there are of the language. */
static bool is_before_first(const struct wp_interp_stack *s)
{
    uint32_t calls = 0, loops = 0;
    for (uint32_t i = 0; i < s->word_count; i++)
        calls += s->words[i] & WP_INTERP_ENTRY;
    for (uint32_t i = 0; i < s->native_count; i++)
        loops += s->is_loop[i];
    return s->native_count && s->is_loop[0] && loops == calls + 1;
}

uint32_t wp_interp_splice(const struct wp_interp_stack *s, struct wp_spliced_frame *frames)
{
    uint32_t count = 0, word = 0;
    bool is_skipped = s->word_count && is_before_first(s);
    for (uint32_t i = 0; i < s->native_count; i++) {
        bool is_replaced = s->is_loop[i] && word < s->word_count && !(is_skipped && !i);
        if (is_replaced)
            word = put_call(s, word, frames, &count);
        else
            frames[count++] = (struct wp_spliced_frame){i, false};
    }
    while (word < s->word_count)
        word = put_call(s, word, frames, &count);
    return count;
}
