/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/keys.h"

#include "common/hex.h"
#include "common/path.h"
#include "storage/value/bucket.h"
#include "storage/value/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#define STATE "__state__/"
#define SOURCE "__source__/"
#define DELTA_DIGITS 10

static bool has_delta_form(enum wp_value_kind kind)
{
    return kind == WP_VALUE_REPORT || kind == WP_VALUE_GENEALOGY || kind == WP_VALUE_SOURCEMAP ||
        kind == WP_VALUE_SOURCE;
}

static void format_blob(const uint8_t digest[16], char text[WP_KEY_ROOM])
{
    char hex[33];
    wp_hex(hex, digest, 16);
    snprintf(text, WP_KEY_ROOM, SOURCE "%.2s/%.2s/%s", hex, hex + 2, hex);
}

static bool is_in_aggregate(const struct wp_key *key)
{
    return key->kind == WP_VALUE_REPORT || key->kind == WP_VALUE_TRACE || key->kind == WP_VALUE_EXEMPLARS ||
        (key->kind == WP_VALUE_METADATA && *key->aggregate);
}

/* What stands before the shard. */
static int format_front(const struct wp_key *key, char text[WP_KEY_ROOM], struct wp_error *err)
{
    const char *name = wp_value_kind_name(key->kind);
    char session[37];
    bool in_aggregate = is_in_aggregate(key);
    int folder =
        (int)wp_bucket_base(key->aggregate); /* buckets of one name share it; their digests stand behind the shard */
    if (in_aggregate && !wp_aggregate_valid(key->aggregate))
        return wp_error_set(
            err, -EINVAL, "'%s' is not an aggregate's name: letters, digits and ._+- (1 to 128)", key->aggregate);
    if (key->kind == WP_VALUE_PROCESSED) {
        uuid_unparse_lower(key->session, session);
        snprintf(text, WP_KEY_ROOM, STATE "processed.%s.", session);
    } else if (!in_aggregate) {
        snprintf(text, WP_KEY_ROOM, STATE "%s.", name);
    } else if (key->kind == WP_VALUE_METADATA && key->has_timebox) {
        snprintf(text, WP_KEY_ROOM, "%.*s/metadata.~%llu.", folder, key->aggregate, (unsigned long long)key->timebox_s);
    } else if (key->kind == WP_VALUE_METADATA) {
        snprintf(text, WP_KEY_ROOM, "%.*s/metadata.", folder, key->aggregate);
    } else {
        snprintf(text, WP_KEY_ROOM, "%.*s/%s.%llu.", folder, key->aggregate, name, (unsigned long long)key->timebox_s);
    }
    return 0;
}

int wp_key_format(const struct wp_key *key, char text[WP_KEY_ROOM], struct wp_error *err)
{
    if (key->kind == WP_VALUE_BLOB) {
        format_blob(key->digest, text);
        return 0;
    }
    if (key->kind < WP_VALUE_SHARD || key->kind >= WP_VALUE_KINDS)
        return wp_error_set(err, -EINVAL, "no key for values of kind %d", (int)key->kind);
    if (!wp_id_valid(key->shard))
        return wp_error_set(err, -EINVAL, "'%s' is not a shard's id: letters, digits and ._+- (1 to 128)", key->shard);
    if (key->has_delta && (!has_delta_form(key->kind) || key->delta > WP_DELTA_LIMIT))
        return wp_error_set(
            err, -EINVAL, "no delta %llu for a %s", (unsigned long long)key->delta, wp_value_kind_name(key->kind));
    int rc = format_front(key, text, err);
    if (rc)
        return rc;
    size_t used = strlen(text);
    snprintf(text + used, WP_KEY_ROOM - used, "%s%s", key->shard,
        is_in_aggregate(key) ? key->aggregate + wp_bucket_base(key->aggregate) : "");
    if (*key->host && (key->kind != WP_VALUE_REPORT || !wp_host_part_valid(key->host)))
        return wp_error_set(
            err, -EINVAL, "'%s' is not a host's part of a %s", key->host, wp_value_kind_name(key->kind));
    used = strlen(text);
    if (*key->host)
        snprintf(text + used, WP_KEY_ROOM - used, "@%s", key->host);
    used = strlen(text);
    if (key->has_delta)
        snprintf(text + used, WP_KEY_ROOM - used, ".~%010llu", (unsigned long long)key->delta);
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A decimal number without leading zeros up to '.'; *rest behind the dot. */
static bool take_number(const char *text, uint64_t *number, const char **rest)
{
    uint64_t value = 0;
    if (!is_digit(*text) || (*text == '0' && is_digit(text[1])))
        return false;
    for (; is_digit(*text); text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    *rest = text + 1;
    return *text == '.';
}

/* "~<digest>" behind a shard belongs to the aggregate's name. */
static bool take_bucket(struct wp_key *key, const char *text, size_t size)
{
    size_t used = strlen(key->aggregate);
    if (!size)
        return true;
    if (!used || used + size >= sizeof(key->aggregate))
        return false;
    memcpy(key->aggregate + used, text, size);
    key->aggregate[used + size] = 0;
    return wp_bucket_base(key->aggregate) == used;
}

/* "@<host>" behind them: whose report it is. */
static bool take_host(struct wp_key *key, const char *text, size_t size)
{
    if (key->kind != WP_VALUE_REPORT || size >= sizeof(key->host))
        return false;
    memcpy(key->host, text, size);
    key->host[size] = 0;
    return wp_host_part_valid(key->host);
}

/* "<shard>" or "<shard>.~<delta>", of a bucket "<shard>~<digest>" and "<shard>~<digest>.~<delta>"; of a host "@<host>"
 * before the delta. */
static bool take_shard(struct wp_key *key, const char *text)
{
    const char *mark = strstr(text, ".~");
    size_t whole = mark ? (size_t)(mark - text) : strlen(text);
    const char *host = memchr(text, '@', whole);
    if (host && !take_host(key, host + 1, whole - (size_t)(host + 1 - text)))
        return false;
    whole = host ? (size_t)(host - text) : whole;
    const char *bucket = memchr(text, '~', whole);
    size_t size = bucket ? (size_t)(bucket - text) : whole;
    if (size >= sizeof(key->shard))
        return false;
    memcpy(key->shard, text, size);
    key->shard[size] = 0;
    if (!take_bucket(key, text + size, whole - size))
        return false;
    if (mark) {
        const char *digits = mark + 2;
        if (!has_delta_form(key->kind) || strlen(digits) != DELTA_DIGITS)
            return false;
        key->has_delta = true;
        for (int i = 0; i < DELTA_DIGITS; i++) {
            if (!is_digit(digits[i]))
                return false;
            key->delta = key->delta * 10 + (uint64_t)(digits[i] - '0');
        }
    }
    return wp_id_valid(key->shard);
}

static bool parse_state(struct wp_key *key, const char *text)
{
    const char *dot = strchr(text, '.');
    char session[37];
    if (!dot)
        return false;
    for (int kind = WP_VALUE_SHARD; kind <= WP_VALUE_CLOCK && !key->kind; kind++) {
        const char *name = wp_value_kind_name((enum wp_value_kind)kind);
        if (strlen(name) == (size_t)(dot - text) && !memcmp(name, text, (size_t)(dot - text)))
            key->kind = (enum wp_value_kind)kind;
    }
    if (!key->kind)
        return false;
    text = dot + 1;
    if (key->kind == WP_VALUE_PROCESSED) {
        if (strlen(text) < sizeof(session) || text[36] != '.')
            return false;
        memcpy(session, text, 36);
        session[36] = 0;
        char again[37];
        if (uuid_parse(session, key->session))
            return false;
        uuid_unparse_lower(key->session, again);
        if (strcmp(session, again))
            return false;
        text += 37;
    }
    return take_shard(key, text);
}

static bool parse_blob(struct wp_key *key, const char *text)
{
    char again[WP_KEY_ROOM];
    key->kind = WP_VALUE_BLOB;
    if (strlen(text) != 38)
        return false;
    for (int i = 0; i < 16; i++) {
        unsigned byte;
        if (sscanf(text + 6 + 2 * i, "%2x", &byte) != 1)
            return false;
        key->digest[i] = (uint8_t)byte;
    }
    format_blob(key->digest, again);
    return !strcmp(again + strlen(SOURCE), text);
}

static bool parse_aggregate(struct wp_key *key, const char *text)
{
    const char *slash = strchr(text, '/');
    if (!slash || (size_t)(slash - text) >= sizeof(key->aggregate))
        return false;
    memcpy(key->aggregate, text, (size_t)(slash - text));
    key->aggregate[slash - text] = 0;
    text = slash + 1;
    const char *dot = strchr(text, '.');
    if (!wp_aggregate_valid(key->aggregate) || key->aggregate[wp_bucket_base(key->aggregate)] || !dot)
        return false;
    if (!strncmp(text, "metadata.", 9)) {
        key->kind = WP_VALUE_METADATA;
        key->has_timebox = dot[1] == '~';
        return key->has_timebox ? take_number(dot + 2, &key->timebox_s, &text) && take_shard(key, text)
                                : take_shard(key, dot + 1);
    }
    if (!strncmp(text, "report.", 7))
        key->kind = WP_VALUE_REPORT;
    else if (!strncmp(text, "trace.", 6))
        key->kind = WP_VALUE_TRACE;
    else if (!strncmp(text, "exemplars.", 10))
        key->kind = WP_VALUE_EXEMPLARS;
    return key->kind && take_number(dot + 1, &key->timebox_s, &text) && take_shard(key, text);
}

bool wp_key_is_of(const char *text, const char *aggregate)
{
    struct wp_key key;
    return !wp_key_parse(&key, text, NULL) && !strcmp(key.aggregate, aggregate);
}

int wp_key_parse(struct wp_key *key, const char *text, struct wp_error *err)
{
    bool is_good;
    memset(key, 0, sizeof(*key));
    if (!strncmp(text, STATE, strlen(STATE)))
        is_good = parse_state(key, text + strlen(STATE));
    else if (!strncmp(text, SOURCE, strlen(SOURCE)))
        is_good = parse_blob(key, text + strlen(SOURCE));
    else
        is_good = parse_aggregate(key, text);
    return is_good ? 0 : wp_error_set(err, -EINVAL, "'%.200s' is not a key of a store", text);
}
