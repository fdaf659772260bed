/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/bucket.h"

#include "common/path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define DIGITS 8u
#define BASE_LIMIT (128u - 1u - DIGITS)

static bool is_digest(const char *text)
{
    return strlen(text) == DIGITS && strspn(text, "0123456789abcdef") == DIGITS;
}

size_t wp_bucket_base(const char *name)
{
    const char *mark = strrchr(name, '~');
    return mark && is_digest(mark + 1) ? (size_t)(mark - name) : strlen(name);
}

bool wp_aggregate_valid(const char *name)
{
    char base[WP_ID_ROOM];
    size_t size = wp_bucket_base(name);
    if (strlen(name) >= sizeof(base))
        return false;
    memcpy(base, name, size);
    base[size] = 0;
    return wp_id_valid(base) && strcmp(base, "__state__") && strcmp(base, "__source__");
}

/* --- what a bucket is made of --- */

/* A text takes as much as it likes; what is cut off still tells it from others. */
static void put_text(struct wp_bucket_fact *fact, const char *key, const char *text)
{
    *fact = (struct wp_bucket_fact){.key = ""};
    if (!text)
        return;
    snprintf(fact->key, sizeof(fact->key), WP_BUCKET_PREFIX "%s", key);
    if (strlen(text) < WP_BUCKET_TEXT)
        snprintf(fact->value, sizeof(fact->value), "%s", text);
    else
        snprintf(
            fact->value, sizeof(fact->value), "%.480s~%016" PRIx64, text, (uint64_t)XXH3_64bits(text, strlen(text)));
}

static void put_number(struct wp_bucket_fact *fact, const char *key, uint64_t number)
{
    snprintf(fact->key, sizeof(fact->key), WP_BUCKET_PREFIX "%s", key);
    snprintf(fact->value, sizeof(fact->value), "%" PRIu64, number);
}

void wp_bucket_facts(
    struct wp_bucket_fact facts[WP_BUCKET_FACTS], const char *aggregate, const struct wp_bucket *bucket)
{
    snprintf(facts[0].key, sizeof(facts[0].key), WP_BUCKET_PREFIX "aggregate");
    snprintf(facts[0].value, sizeof(facts[0].value), "%s", aggregate);
    put_text(&facts[1], "command", bucket->command);
    put_number(&facts[2], "depth", bucket->depth);
    put_number(&facts[3], "fit_ns", bucket->fit_ns);
    put_number(&facts[4], "history_ns", bucket->history_ns);
    put_number(&facts[5], "join_ns", bucket->join_ns);
    put_number(&facts[6], "late_sample_ns", bucket->late_sample_ns);
    put_number(&facts[7], "sample_period_ns", bucket->sample_period_ns);
    put_text(&facts[8], "selector", bucket->selector);
    put_number(&facts[9], "width", bucket->width);
    put_text(&facts[10], "workload", bucket->workload);
}

void wp_bucket_line(struct wp_buffer *lines, const char *key, const char *value)
{
    wp_buffer_printf(lines, "%s=%s\n", key, value);
}

void wp_bucket_digest(char name[WP_ID_ROOM], const char *aggregate, const struct wp_buffer *lines)
{
    uint64_t digest = XXH3_64bits(lines->data, lines->size);
    snprintf(name, WP_ID_ROOM, "%.*s~%08" PRIx64, (int)BASE_LIMIT, aggregate, digest >> 32);
}

void wp_bucket_name(char name[WP_ID_ROOM], const struct wp_bucket_fact facts[WP_BUCKET_FACTS])
{
    struct wp_buffer lines = {0};
    for (size_t i = 0; i < WP_BUCKET_FACTS; i++)
        if (*facts[i].key)
            wp_bucket_line(&lines, facts[i].key, facts[i].value);
    wp_bucket_digest(name, facts[0].value, &lines);
    wp_buffer_fini(&lines);
}

/* --- which one is meant --- */

bool wp_bucket_is_of(const char *name, const char *base, size_t size)
{
    return wp_bucket_base(name) == size && !memcmp(name, base, size);
}

bool wp_bucket_is_alone(char *const *names, size_t count, const char *name)
{
    size_t size = wp_bucket_base(name), found = 0;
    for (size_t i = 0; i < count; i++)
        found += wp_bucket_is_of(names[i], name, size);
    return found < 2;
}

int wp_bucket_choose(char *const *names, size_t count, const char *asked, char chosen[WP_ID_ROOM], struct wp_error *err)
{
    const char *only = NULL, *other = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(names[i], asked)) {
            snprintf(chosen, WP_ID_ROOM, "%s", asked);
            return 0;
        }
        if (strchr(asked, '~') ||
            !wp_bucket_is_of(names[i], asked, strlen(asked) < BASE_LIMIT ? strlen(asked) : BASE_LIMIT))
            continue;
        other = only ? names[i] : other;
        only = only ? only : names[i];
    }
    if (other)
        return wp_error_set(err, -ENOENT,
            "several aggregates are '%s', recorded with different parameters, such as '%s' and '%s'", asked, only,
            other);
    if (!only)
        return wp_error_set(err, -ENOENT, "there is no aggregate '%s'", asked);
    snprintf(chosen, WP_ID_ROOM, "%s", only);
    return 0;
}
