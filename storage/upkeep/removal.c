/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/removal.h"

#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/release_store.h"
#include "storage/upkeep/retention.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WHY "asked for"
#define PROCESSED "__state__/processed."
#define LEAST_DIGITS 4u

static bool is_data(const struct wp_key *key)
{
    return key->kind == WP_VALUE_REPORT || key->kind == WP_VALUE_TRACE || key->kind == WP_VALUE_EXEMPLARS;
}

struct nearness {
    bool is_any;
    uint64_t timebox_s;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void compare(struct nearness *nearest, uint64_t wanted_s, uint64_t timebox_s)
{
    if (!nearest->is_any || distance(timebox_s, wanted_s) < distance(nearest->timebox_s, wanted_s))
        *nearest = (struct nearness){true, timebox_s};
}

static int refuse(const struct wp_removal *removal, const struct nearness *nearest, struct wp_error *err)
{
    const char *name = removal->aggregate;
    if (!removal->has_timebox || !nearest->is_any)
        return wp_error_set(err, -ENOENT, "%s%s%s holds nothing", *name ? "aggregate '" : "the release",
            *name ? name : "", *name ? "'" : "");
    return wp_error_set(err, -ENOENT, "there is no timebox %llu%s%s%s: did you mean %llu?",
        (unsigned long long)removal->timebox_s, *name ? " of '" : "", name, *name ? "'" : "",
        (unsigned long long)nearest->timebox_s);
}

static int drop_metadata(
    struct wp_txn *txn, const struct wp_retention *rule, const struct wp_removal *removal, struct wp_error *err)
{
    char **aggregates = NULL;
    size_t count = 0;
    int rc = wp_txn_aggregates(txn, &aggregates, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        if (!*removal->aggregate || !strcmp(removal->aggregate, aggregates[i]))
            rc = wp_txn_drop_empty_of(txn, rule, aggregates[i], err);
    wp_strings_free(aggregates, count);
    return rc;
}

int wp_txn_remove(
    struct wp_txn *txn, const struct wp_retention *rule, const struct wp_removal *removal, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0, gone = 0;
    struct nearness nearest = {0};
    struct wp_key key;
    int rc = wp_txn_keys(txn, "", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (wp_key_parse(&key, keys[i], NULL) || !is_data(&key) ||
            (*removal->aggregate && strcmp(key.aggregate, removal->aggregate)))
            continue;
        compare(&nearest, removal->timebox_s, key.timebox_s);
        if (removal->has_timebox && key.timebox_s != removal->timebox_s)
            continue;
        rc = wp_retention_delete(txn, rule, keys[i], WHY, err);
        gone++;
    }
    wp_strings_free(keys, count);
    if (!rc && !gone)
        return refuse(removal, &nearest, err);
    return rc ? rc : drop_metadata(txn, rule, removal, err);
}

struct search {
    const char *text;
    size_t size;
    uint8_t session[16];
    bool is_found, is_several;
};

/* Several shards may have one session. */
static int look_at(void *context, const char *text, size_t size)
{
    struct search *search = context;
    struct wp_key key;
    (void)size;
    if (strncasecmp(text + strlen(PROCESSED), search->text, search->size) || wp_key_parse(&key, text, NULL))
        return 0;
    search->is_several |= search->is_found && memcmp(search->session, key.session, 16);
    memcpy(search->session, key.session, 16);
    search->is_found = true;
    return 0;
}

int wp_txn_find_session(struct wp_txn *txn, const char *text, uint8_t session[16], struct wp_error *err)
{
    struct search search = {.text = text, .size = strlen(text)};
    size_t digits = 0;
    while (isxdigit((unsigned char)text[digits]) || text[digits] == '-')
        digits++;
    if (text[digits] || digits < LEAST_DIGITS || digits > 36)
        return wp_error_set(err, -EINVAL,
            "'%.100s' is not a session: give its id, or %u or more digits that it begins with (ls ROOT/RELEASE/%s)",
            text, LEAST_DIGITS, PROCESSED);
    int rc = wp_txn_visit(txn, PROCESSED, look_at, &search, err);
    if (rc)
        return rc;
    if (search.is_several)
        return wp_error_set(err, -EINVAL, "several sessions begin with '%s': give more digits", text);
    if (!search.is_found)
        return wp_error_set(err, -ENOENT, "there is no session '%s'", text);
    memcpy(session, search.session, 16);
    return 0;
}
