/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_TEXT_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_TEXT_H
/*
 * A piece of a line: any bytes, not terminated, borrowed. The "take" functions eat from the front and leave the piece
 * as it was when what they look for is not there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes; no NUL ends them. */
struct wp_text {
    const char *at;
    size_t size;
};

#define WP_TEXT_NONE SIZE_MAX

/* A piece that borrows a terminated string, without its NUL. */
struct wp_text wp_text_of(const char *text);
/* The first `size` bytes (or all), and what stands behind them. */
struct wp_text wp_text_head(struct wp_text text, size_t size);
/* What follows the first `from` bytes; empty when there are no more. */
struct wp_text wp_text_tail(struct wp_text text, size_t from);
/* Without spaces and tabs at both ends. */
struct wp_text wp_text_trim(struct wp_text text);
/* Whether the piece equals a terminated word; case matters, here and in the next two. */
bool wp_text_is(struct wp_text text, const char *word);
/* Whether it begins with the word; so it does with an empty one. */
bool wp_text_starts(struct wp_text text, const char *word);
/* Whether it ends with the word; so it does with an empty one. */
bool wp_text_ends(struct wp_text text, const char *word);
/* Where the first or the last `word` starts, or WP_TEXT_NONE. */
size_t wp_text_find(struct wp_text text, const char *word);
/* An empty word is found at the end of the text. */
size_t wp_text_rfind(struct wp_text text, const char *word);

/* Removes the word from the front; false without a change when the text begins with something else. */
bool wp_text_take(struct wp_text *text, const char *word);
/* Decimal or hexadecimal digits; false when there are none or the value is past 64 bits. */
bool wp_text_take_number(struct wp_text *text, uint64_t *value);
/* In hexadecimal, digits of either case, without "0x". */
bool wp_text_take_hex(struct wp_text *text, uint64_t *value);
/* A decimal of at most `limit`. */
bool wp_text_take_u32(struct wp_text *text, uint32_t limit, uint32_t *value);
/* Up to the next space (or the end), and the spaces behind it; may be empty. */
struct wp_text wp_text_take_word(struct wp_text *text);

/* Copies, terminated, cut to `room`; control bytes (NUL among them) become '?'. */
void wp_text_copy(struct wp_text text, char *out, size_t room);

#endif
