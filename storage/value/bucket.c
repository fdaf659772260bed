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
#define PREFIX "bucket."

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

/* A selector takes as much as it likes; what is cut off still tells it from others. */
static void put_selector(char value[512], const char *selector)
{
    if (strlen(selector) < 480)
        snprintf(value, 512, "%s", selector);
    else
        snprintf(value, 512, "%.480s~%016" PRIx64, selector, (uint64_t)XXH3_64bits(selector, strlen(selector)));
}

static void put_number(struct wp_bucket_fact *fact, const char *key, uint64_t number)
{
    snprintf(fact->key, sizeof(fact->key), PREFIX "%s", key);
    snprintf(fact->value, sizeof(fact->value), "%" PRIu64, number);
}

void wp_bucket_facts(struct wp_bucket_fact facts[WP_BUCKET_FACTS], const char *aggregate, const struct wp_bucket *bucket)
{
    snprintf(facts[0].key, sizeof(facts[0].key), PREFIX "aggregate");
    snprintf(facts[0].value, sizeof(facts[0].value), "%s", aggregate);
    put_number(&facts[1], "depth", bucket->depth);
    put_number(&facts[2], "fit_ns", bucket->fit_ns);
    put_number(&facts[3], "history_ns", bucket->history_ns);
    put_number(&facts[4], "join_ns", bucket->join_ns);
    put_number(&facts[5], "late_sample_ns", bucket->late_sample_ns);
    put_number(&facts[6], "sample_period_ns", bucket->sample_period_ns);
    snprintf(facts[7].key, sizeof(facts[7].key), PREFIX "selector");
    put_selector(facts[7].value, bucket->selector);
    put_number(&facts[8], "width", bucket->width);
}

/* "key=value\n" of each, in order of the keys. */
static void add_line(struct wp_buffer *lines, const char *key, const char *value)
{
    wp_buffer_printf(lines, "%s=%s\n", key, value);
}

static void name_of(char name[WP_ID_ROOM], const char *aggregate, const struct wp_buffer *lines)
{
    uint64_t digest = XXH3_64bits(lines->data, lines->size);
    snprintf(name, WP_ID_ROOM, "%.*s~%08" PRIx64, (int)BASE_LIMIT, aggregate, digest >> 32);
}

void wp_bucket_name(char name[WP_ID_ROOM], const struct wp_bucket_fact facts[WP_BUCKET_FACTS])
{
    struct wp_buffer lines = {0};
    for (size_t i = 0; i < WP_BUCKET_FACTS; i++)
        add_line(&lines, facts[i].key, facts[i].value);
    name_of(name, facts[0].value, &lines);
    wp_buffer_fini(&lines);
}

int wp_bucket_put(struct wp_txn *txn, const char *shard, const struct wp_bucket_fact facts[WP_BUCKET_FACTS], uint64_t real_s,
    struct wp_error *err)
{
    struct wp_metadata_entry entries[WP_BUCKET_FACTS];
    char name[WP_ID_ROOM];
    wp_bucket_name(name, facts);
    for (size_t i = 0; i < WP_BUCKET_FACTS; i++)
        entries[i] = (struct wp_metadata_entry){facts[i].key, facts[i].value};
    return wp_txn_put_all_metadata(txn, name, shard, entries, WP_BUCKET_FACTS, real_s, err);
}

struct reading {
    struct wp_buffer lines;
    char aggregate[512];
};

static int add_fact(void *context, const struct wp_metadata_row *row)
{
    struct reading *reading = context;
    if (!row->is_winner || strncmp(row->key, PREFIX, strlen(PREFIX)))
        return 0;
    add_line(&reading->lines, row->key, row->value);
    if (!strcmp(row->key, PREFIX "aggregate"))
        snprintf(reading->aggregate, sizeof(reading->aggregate), "%s", row->value);
    return 0;
}

int wp_bucket_check(struct wp_txn *txn, const char *name, struct wp_error *err)
{
    struct reading reading = {.aggregate = ""};
    struct wp_metadata_place place = {.aggregate = name};
    char wanted[WP_ID_ROOM];
    if (!name[wp_bucket_base(name)])
        return 0;
    int rc = wp_txn_all_metadata(txn, &place, add_fact, &reading, NULL);
    if (!rc && reading.lines.size) {
        name_of(wanted, reading.aggregate, &reading.lines);
        if (strcmp(wanted, name))
            rc = wp_error_set(err, -EBADMSG, "its metadata says parameters of the bucket '%s'", wanted);
    }
    wp_buffer_fini(&reading.lines);
    return rc == -EBADMSG ? rc : 0; /* metadata that cannot be read is said by itself */
}

/* --- which one is meant --- */

static bool is_of(const char *name, const char *base, size_t size)
{
    return wp_bucket_base(name) == size && !memcmp(name, base, size);
}

bool wp_bucket_is_alone(char *const *names, size_t count, const char *name)
{
    size_t size = wp_bucket_base(name), found = 0;
    for (size_t i = 0; i < count; i++)
        found += is_of(names[i], name, size);
    return found < 2;
}

struct parameters {
    struct { char *key, *value; } rows[2 * WP_BUCKET_FACTS]; /* more than are known now, for later versions */
    size_t count;
};

static int add_parameter(void *context, const struct wp_metadata_row *row)
{
    struct parameters *parameters = context;
    if (!row->is_winner || strncmp(row->key, PREFIX, strlen(PREFIX)) || parameters->count == 2 * WP_BUCKET_FACTS)
        return 0;
    parameters->rows[parameters->count].key = strdup(row->key + strlen(PREFIX));
    parameters->rows[parameters->count].value = strdup(row->value);
    parameters->count++;
    return parameters->rows[parameters->count - 1].key && parameters->rows[parameters->count - 1].value ? 0 : -ENOMEM;
}

static void free_parameters(struct parameters *parameters)
{
    for (size_t i = 0; i < parameters->count; i++) {
        free(parameters->rows[i].key);
        free(parameters->rows[i].value);
    }
    parameters->count = 0;
}

static int read_parameters(struct wp_txn *txn, const char *name, struct parameters *parameters, struct wp_error *err)
{
    struct wp_metadata_place place = {.aggregate = name};
    parameters->count = 0;
    int rc = wp_txn_all_metadata(txn, &place, add_parameter, parameters, err);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for a bucket") : rc;
}

static const char *find_parameter(const struct parameters *parameters, const char *key)
{
    for (size_t i = 0; i < parameters->count; i++)
        if (!strcmp(parameters->rows[i].key, key))
            return parameters->rows[i].value;
    return NULL;
}

static void mark_differences(const struct parameters *own, const struct parameters *other, bool differ[2 * WP_BUCKET_FACTS])
{
    for (size_t i = 0; i < own->count; i++) {
        const char *value = find_parameter(other, own->rows[i].key);
        differ[i] |= !value || strcmp(value, own->rows[i].value);
    }
}

/* What a store says may be hostile to a terminal. */
static void print_parameter(struct wp_buffer *out, const char *comma, const char *key, const char *value)
{
    wp_buffer_puts(out, comma);
    for (const char *at = key; *at; at++)
        wp_buffer_putc(out, (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at);
    wp_buffer_putc(out, ' ');
    for (const char *at = value; *at; at++)
        wp_buffer_putc(out, (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at);
}

int wp_bucket_difference(struct wp_txn *txn, char *const *names, size_t count, const char *name, struct wp_buffer *out,
    struct wp_error *err)
{
    struct parameters own, other = {.count = 0};
    bool differ[2 * WP_BUCKET_FACTS] = {false};
    const char *comma = "";
    int rc = read_parameters(txn, name, &own, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (!strcmp(names[i], name) || !is_of(names[i], name, wp_bucket_base(name)))
            continue;
        rc = read_parameters(txn, names[i], &other, err);
        mark_differences(&own, &other, differ);
        free_parameters(&other);
    }
    for (size_t i = 0; !rc && i < own.count; i++)
        if (differ[i]) {
            print_parameter(out, comma, own.rows[i].key, own.rows[i].value);
            comma = ", ";
        }
    free_parameters(&own);
    free_parameters(&other);
    return rc;
}

int wp_bucket_choose(char *const *names, size_t count, const char *asked, char chosen[WP_ID_ROOM], struct wp_error *err)
{
    const char *only = NULL, *other = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(names[i], asked)) {
            snprintf(chosen, WP_ID_ROOM, "%s", asked);
            return 0;
        }
        if (strchr(asked, '~') || !is_of(names[i], asked, strlen(asked) < BASE_LIMIT ? strlen(asked) : BASE_LIMIT))
            continue;
        other = only ? names[i] : other;
        only = only ? only : names[i];
    }
    if (other)
        return wp_error_set(err, -ENOENT, "several aggregates are '%s', recorded with different parameters, such as '%s' and '%s'",
            asked, only, other);
    if (!only)
        return wp_error_set(err, -ENOENT, "there is no aggregate '%s'", asked);
    snprintf(chosen, WP_ID_ROOM, "%s", only);
    return 0;
}

int wp_txn_bucket(struct wp_txn *txn, const char *asked, char chosen[WP_ID_ROOM], struct wp_error *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = wp_txn_aggregates(txn, &names, &count, err);
    if (!rc)
        rc = wp_bucket_choose(names, count, asked, chosen, err);
    wp_strings_free(names, count);
    return rc;
}
