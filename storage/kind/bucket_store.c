/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/bucket_store.h"

#include "common/strings.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wp_bucket_put(struct wp_txn *txn, const char *shard, const struct wp_bucket_fact facts[WP_BUCKET_FACTS],
    uint64_t real_s, struct wp_error *err)
{
    struct wp_metadata_entry entries[WP_BUCKET_FACTS];
    char name[WP_ID_ROOM];
    size_t count = 0;
    wp_bucket_name(name, facts);
    for (size_t i = 0; i < WP_BUCKET_FACTS; i++)
        if (*facts[i].key)
            entries[count++] = (struct wp_metadata_entry){facts[i].key, facts[i].value};
    return wp_txn_put_metadata_at(txn, &(struct wp_metadata_scope){.aggregate = name},
        &(struct wp_metadata_writer){shard, real_s}, entries, count, err);
}

struct reading {
    struct wp_buffer lines;
    char aggregate[512];
};

static int add_fact(void *context, const struct wp_metadata_row *row)
{
    struct reading *reading = context;
    if (!row->is_winner || strncmp(row->key, WP_BUCKET_PREFIX, strlen(WP_BUCKET_PREFIX)))
        return 0;
    wp_bucket_line(&reading->lines, row->key, row->value);
    if (!strcmp(row->key, WP_BUCKET_PREFIX "aggregate"))
        snprintf(reading->aggregate, sizeof(reading->aggregate), "%s", row->value);
    return 0;
}

int wp_bucket_check(struct wp_txn *txn, const char *name, struct wp_error *err)
{
    struct reading reading = {.aggregate = ""};
    struct wp_metadata_scope scope = {.aggregate = name};
    char wanted[WP_ID_ROOM];
    if (!name[wp_bucket_base(name)])
        return 0;
    int rc = wp_txn_all_metadata(txn, &scope, add_fact, &reading, NULL);
    if (!rc && reading.lines.size) {
        wp_bucket_digest(wanted, reading.aggregate, &reading.lines);
        if (strcmp(wanted, name))
            rc = wp_error_set(err, -EBADMSG, "its metadata says parameters of the bucket '%s'", wanted);
    }
    wp_buffer_fini(&reading.lines);
    return rc == -EBADMSG ? rc : 0; /* metadata that cannot be read is said by itself */
}

struct parameters {
    struct {
        char *key, *value;
    } rows[2 * WP_BUCKET_FACTS]; /* more than are known now, for later versions */
    size_t count;
};

static int add_parameter(void *context, const struct wp_metadata_row *row)
{
    struct parameters *parameters = context;
    if (!row->is_winner || strncmp(row->key, WP_BUCKET_PREFIX, strlen(WP_BUCKET_PREFIX)) ||
        parameters->count == 2 * WP_BUCKET_FACTS)
        return 0;
    parameters->rows[parameters->count].key = strdup(row->key + strlen(WP_BUCKET_PREFIX));
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
    struct wp_metadata_scope scope = {.aggregate = name};
    parameters->count = 0;
    int rc = wp_txn_all_metadata(txn, &scope, add_parameter, parameters, err);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for a bucket") : rc;
}

static const char *find_parameter(const struct parameters *parameters, const char *key)
{
    for (size_t i = 0; i < parameters->count; i++)
        if (!strcmp(parameters->rows[i].key, key))
            return parameters->rows[i].value;
    return NULL;
}

static void mark_differences(
    const struct parameters *own, const struct parameters *other, bool differ[2 * WP_BUCKET_FACTS])
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

int wp_bucket_difference(
    struct wp_txn *txn, char *const *names, size_t count, const char *name, struct wp_buffer *out, struct wp_error *err)
{
    struct parameters own, other = {.count = 0};
    bool differ[2 * WP_BUCKET_FACTS] = {false};
    const char *comma = "";
    int rc = read_parameters(txn, name, &own, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (!strcmp(names[i], name) || !wp_bucket_is_of(names[i], name, wp_bucket_base(name)))
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
