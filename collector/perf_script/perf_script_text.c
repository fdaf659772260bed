/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_text.h"

#include <string.h>

struct wp_text wp_text_of(const char *text)
{
    return (struct wp_text){text, strlen(text)};
}

struct wp_text wp_text_head(struct wp_text text, size_t size)
{
    return (struct wp_text){text.at, size < text.size ? size : text.size};
}

struct wp_text wp_text_tail(struct wp_text text, size_t from)
{
    from = from < text.size ? from : text.size;
    return (struct wp_text){text.at + from, text.size - from};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct wp_text wp_text_trim(struct wp_text text)
{
    while (text.size && is_blank(text.at[0]))
        text = wp_text_tail(text, 1);
    while (text.size && is_blank(text.at[text.size - 1]))
        text.size--;
    return text;
}

bool wp_text_is(struct wp_text text, const char *word)
{
    return text.size == strlen(word) && wp_text_starts(text, word);
}

bool wp_text_starts(struct wp_text text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && !memcmp(text.at, word, size);
}

bool wp_text_ends(struct wp_text text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && !memcmp(text.at + text.size - size, word, size);
}

size_t wp_text_find(struct wp_text text, const char *word)
{
    const char *at = text.size ? memmem(text.at, text.size, word, strlen(word)) : NULL;
    return at ? (size_t)(at - text.at) : WP_TEXT_NONE;
}

size_t wp_text_rfind(struct wp_text text, const char *word)
{
    size_t size = strlen(word);
    for (size_t left = text.size; left >= size; left--)
        if (!memcmp(text.at + left - size, word, size))
            return left - size;
    return WP_TEXT_NONE;
}

bool wp_text_take(struct wp_text *text, const char *word)
{
    if (!wp_text_starts(*text, word))
        return false;
    *text = wp_text_tail(*text, strlen(word));
    return true;
}

bool wp_text_take_number(struct wp_text *text, uint64_t *value)
{
    size_t at = 0;
    uint64_t number = 0;
    for (; at < text->size && is_digit(text->at[at]); at++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text->at[at] - '0'), &number))
            return false;
    if (!at)
        return false;
    *value = number;
    *text = wp_text_tail(*text, at);
    return true;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool wp_text_take_hex(struct wp_text *text, uint64_t *value)
{
    size_t at = 0;
    uint64_t number = 0;
    for (; at < text->size && hex_digit(text->at[at]) >= 0; at++) {
        if (number >> 60)
            return false;
        number = number << 4 | (uint64_t)hex_digit(text->at[at]);
    }
    if (!at)
        return false;
    *value = number;
    *text = wp_text_tail(*text, at);
    return true;
}

bool wp_text_take_u32(struct wp_text *text, uint32_t limit, uint32_t *value)
{
    struct wp_text rest = *text;
    uint64_t number;
    if (!wp_text_take_number(&rest, &number) || number > limit)
        return false;
    *value = (uint32_t)number;
    *text = rest;
    return true;
}

struct wp_text wp_text_take_word(struct wp_text *text)
{
    size_t size = 0;
    while (size < text->size && !is_blank(text->at[size]))
        size++;
    struct wp_text word = wp_text_head(*text, size);
    while (size < text->size && is_blank(text->at[size]))
        size++;
    *text = wp_text_tail(*text, size);
    return word;
}

void wp_text_copy(struct wp_text text, char *out, size_t room)
{
    size_t size = text.size < room ? text.size : room - 1;
    for (size_t i = 0; i < size; i++)
        out[i] = (unsigned char)text.at[i] < 0x20 || text.at[i] == 0x7f ? '?' : text.at[i];
    out[size] = 0;
}
