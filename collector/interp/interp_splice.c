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

static uint8_t part_at(const struct wp_interp_stack *s, uint32_t i)
{
    return i < s->native_count ? s->parts[i] : WP_INTERP_NO_PART;
}

/* What the loop calls to go on is called by the loop, or, where that is no last call, by a function between both. */
static bool is_again(const struct wp_interp_stack *s, uint32_t i)
{
    uint8_t outer = part_at(s, i + 1);
    return part_at(s, i) == WP_INTERP_AGAIN &&
        (outer == WP_INTERP_LOOP || (outer == WP_INTERP_NO_PART && part_at(s, i + 2) == WP_INTERP_LOOP));
}

/* A frame of a call of which the loop's own comes further out. */
static bool is_inner(const struct wp_interp_stack *s, uint32_t i)
{
    if (s->parts[i] == WP_INTERP_LOOP)
        return is_again(s, i + 1);
    if (s->parts[i] == WP_INTERP_NO_PART)
        return i && part_at(s, i + 1) == WP_INTERP_LOOP && is_again(s, i - 1);
    return is_again(s, i) || part_at(s, i + 1) == WP_INTERP_LOOP;
}

static bool is_call(const struct wp_interp_stack *s, uint32_t i)
{
    return s->parts[i] == WP_INTERP_LOOP && !is_inner(s, i);
}

/* A thread that was met inside the loop, in a call that has no frame yet or none any more: the loop, or what it calls
 * for its work, is innermost, and there is one more call of it than there are of the language. */
static bool is_before_first(const struct wp_interp_stack *s)
{
    uint32_t calls = 0, loops = 0;
    for (uint32_t i = 0; i < s->word_count; i++)
        calls += s->words[i] & WP_INTERP_ENTRY;
    for (uint32_t i = 0; i < s->native_count; i++)
        loops += is_call(s, i);
    return s->native_count && s->parts[0] && loops == calls + 1;
}

/* The words say which native frames the calls are. */
static uint32_t splice_marked(const struct wp_interp_stack *s, struct wp_spliced_frame *frames)
{
    uint32_t count = 0, word = 0, native = 0;
    while (word < s->word_count) {
        if (!WP_INTERP_IS_FROM(s->words[word])) {
            word = put_call(s, word, frames, &count);
            native += native < s->native_count;
            continue;
        }
        uint32_t from = WP_INTERP_UNIT_OF(s->words[word++]) - 1;
        while (native < from && native < s->native_count)
            frames[count++] = (struct wp_spliced_frame){native++, false};
    }
    while (native < s->native_count)
        frames[count++] = (struct wp_spliced_frame){native++, false};
    return count;
}

uint32_t wp_interp_splice(const struct wp_interp_stack *s, struct wp_spliced_frame *frames)
{
    uint32_t count = 0, word = 0;
    if (s->word_count && WP_INTERP_IS_FROM(s->words[0]))
        return splice_marked(s, frames);
    bool is_skipped = s->word_count && is_before_first(s);
    for (uint32_t i = 0; i < s->native_count; i++) {
        bool is_here = word < s->word_count && !is_skipped;
        if (is_call(s, i) && is_here)
            word = put_call(s, word, frames, &count);
        else if (!is_inner(s, i) || !is_here)
            frames[count++] = (struct wp_spliced_frame){i, false};
        is_skipped = is_skipped && !is_call(s, i);
    }
    while (word < s->word_count)
        word = put_call(s, word, frames, &count);
    return count;
}
