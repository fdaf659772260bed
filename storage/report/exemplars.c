/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/exemplars.h"

#include "common/array.h"
#include "proto/store.pb-c.h"
#include "storage/report/trace.h"
#include "storage/report/trace_decode.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void free_row(struct wp_exemplar_window *row)
{
    free(row->service);
    free(row->host);
    wp_buffer_fini(&row->trace);
}

void wp_exemplars_fini(struct wp_exemplars *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        free_row(&set->rows[i]);
    free(set->rows);
    *set = (struct wp_exemplars){0};
}

static bool is_wait(const struct wp_exemplar_window *row)
{
    return !*row->service;
}

/* The order of a service's rows; 0: the same window. */
static int compare_within(const struct wp_exemplar_window *a, const struct wp_exemplar_window *b)
{
    if (a->length_ns != b->length_ns)
        return a->length_ns > b->length_ns ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    int names = strcmp(a->host, b->host);
    return names ? names : a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* The order of the rows. */
static int compare(const struct wp_exemplar_window *a, const struct wp_exemplar_window *b)
{
    int names = strcmp(a->service, b->service);
    return names ? names : compare_within(a, b);
}

/* A number that says nothing of the window, and is the same wherever it is drawn. */
static uint64_t draw_of(const struct wp_exemplar_window *row)
{
    if (row->draw)
        return row->draw;
    uint8_t numbers[12];
    for (unsigned i = 0; i < 8; i++)
        numbers[i] = (uint8_t)(row->start_ns >> 8 * i);
    for (unsigned i = 0; i < 4; i++)
        numbers[8 + i] = (uint8_t)(row->tid >> 8 * i);
    return XXH3_64bits_withSeed(numbers, sizeof(numbers), XXH3_64bits(row->host, strlen(row->host)));
}

/* Whether `a` wins the draw of one service. Among waits the chances are as their lengths: draw / length is least. */
static bool is_sampled_before(const struct wp_exemplar_window *a, const struct wp_exemplar_window *b)
{
    uint64_t x = draw_of(a), y = draw_of(b);
    if (is_wait(a)) {
        unsigned __int128 left = (unsigned __int128)x * b->length_ns, right = (unsigned __int128)y * a->length_ns;
        if (left != right)
            return left < right;
    } else if (x != y) {
        return x < y;
    }
    return compare_within(a, b) < 0;
}

static unsigned octave(const struct wp_exemplar_window *row)
{
    return row->length_ns ? 63u - (unsigned)__builtin_clzll(row->length_ns) : 0;
}

/* Whether two of one service stand in one draw. */
static bool is_rival(const struct wp_exemplar_window *a, const struct wp_exemplar_window *b)
{
    return is_wait(a) || octave(a) == octave(b);
}

struct range {
    uint32_t from, to; /* rows of one service */
};

static struct range range_of(const struct wp_exemplars *set, const char *service)
{
    struct range range = {0, 0};
    if (!*service) { /* waits, of which there are most, come first */
        while (range.to < set->count && is_wait(&set->rows[range.to]))
            range.to++;
        return range;
    }
    while (range.from < set->count && strcmp(set->rows[range.from].service, service) < 0)
        range.from++;
    range.to = range.from;
    while (range.to < set->count && !strcmp(set->rows[range.to].service, service))
        range.to++;
    return range;
}

/* The roles that the window has among those of its service; it may be one of them itself. */
static unsigned roles_of(const struct wp_exemplars *set, struct range range, const struct wp_exemplar_window *window)
{
    uint32_t slower = 0, before = 0;
    for (uint32_t i = range.from; i < range.to; i++) {
        const struct wp_exemplar_window *row = &set->rows[i];
        int order = compare_within(row, window);
        slower += order < 0;
        before += order && is_rival(row, window) && is_sampled_before(row, window);
    }
    return (slower < WP_EXEMPLARS_SLOWEST ? WP_EXEMPLAR_SLOW : 0) |
        (before < (is_wait(window) ? WP_EXEMPLARS_SAMPLED : 1u) ? WP_EXEMPLAR_SAMPLED : 0);
}

unsigned wp_exemplars_roles(const struct wp_exemplars *set, uint32_t row)
{
    return roles_of(set, range_of(set, set->rows[row].service), &set->rows[row]);
}

/* The first row of a service that is one too many. */
static uint32_t limit_of(const struct wp_exemplars *set)
{
    uint32_t services = 0, i = 0;
    for (; i < set->count; i++) {
        services += !is_wait(&set->rows[i]) && (!i || strcmp(set->rows[i].service, set->rows[i - 1].service));
        if (services > WP_EXEMPLARS_SERVICES)
            break;
    }
    return i;
}

/* How many services the set has of lesser names than this one. */
static uint32_t services_before(const struct wp_exemplars *set, uint32_t until)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < until; i++)
        count += !is_wait(&set->rows[i]) && (!i || strcmp(set->rows[i].service, set->rows[i - 1].service));
    return count;
}

bool wp_exemplars_want(const struct wp_exemplars *set, const struct wp_exemplar_window *window)
{
    struct range range = range_of(set, window->service);
    if (!is_wait(window) && services_before(set, range.from) >= WP_EXEMPLARS_SERVICES)
        return false;
    for (uint32_t i = range.from; i < range.to; i++)
        if (!compare_within(&set->rows[i], window))
            return false;
    struct wp_exemplar_window sampled = *window;
    sampled.draw = draw_of(window);
    return roles_of(set, range, &sampled) != 0;
}

static void drop_row(struct wp_exemplars *set, uint32_t row)
{
    free_row(&set->rows[row]);
    set->count--;
    memmove(&set->rows[row], &set->rows[row + 1], (set->count - row) * sizeof(*set->rows));
}

static void trim(struct wp_exemplars *set, const char *service)
{
    for (uint32_t limit = limit_of(set); set->count > limit;)
        drop_row(set, set->count - 1);
    struct range range = range_of(set, service);
    for (uint32_t i = range.to; i-- > range.from;) /* one that has no role takes none from another */
        if (!roles_of(set, (struct range){range.from, range.to}, &set->rows[i])) {
            drop_row(set, i);
            range.to--;
        }
}

/* The same window, explained twice: what is known, and of that the more. */
static int take_other_trace(struct wp_exemplar_window *row, const struct wp_buffer *trace)
{
    bool is_more = trace->size != row->trace.size
        ? trace->size > row->trace.size
        : trace->size && memcmp(trace->data, row->trace.data, trace->size) > 0;
    if (!is_more)
        return 0;
    wp_buffer_clear(&row->trace);
    return wp_buffer_append(&row->trace, trace->data, trace->size);
}

static int insert(struct wp_exemplars *set, uint32_t at, const struct wp_exemplar_window *window)
{
    if (WP_ARRAY_FIT(set->rows, set->room, set->count + 1))
        return -ENOMEM;
    struct wp_exemplar_window row = *window;
    row.service = strdup(window->service);
    row.host = strdup(window->host);
    row.trace = (struct wp_buffer){0};
    row.draw = draw_of(window);
    if (!row.service || !row.host ||
        (window->trace.size && wp_buffer_append(&row.trace, window->trace.data, window->trace.size))) {
        free_row(&row);
        return -ENOMEM;
    }
    memmove(&set->rows[at + 1], &set->rows[at], (set->count - at) * sizeof(*set->rows));
    set->rows[at] = row;
    set->count++;
    return 0;
}

int wp_exemplars_add(struct wp_exemplars *set, const struct wp_exemplar_window *window)
{
    if (strlen(window->service) > WP_EXEMPLARS_NAME || strlen(window->host) > WP_EXEMPLARS_NAME ||
        window->trace.size > WP_EXEMPLARS_BYTES)
        return -EINVAL;
    uint32_t at = 0;
    int order = 1;
    while (at < set->count && (order = compare(&set->rows[at], window)) < 0)
        at++;
    if (at < set->count && !order)
        return take_other_trace(&set->rows[at], &window->trace);
    int rc = insert(set, at, window);
    if (!rc)
        trim(set, window->service);
    return rc;
}

int wp_exemplars_join(struct wp_exemplars *into, const struct wp_exemplars *from)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < from->count; i++)
        rc = wp_exemplars_add(into, &from->rows[i]);
    return rc;
}

/* --- the stored form --- */

typedef Wakepath__Store__Exemplars__Window window_type;

static ProtobufCBinaryData text_data(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

int wp_exemplars_encode(const struct wp_exemplars *set, struct wp_buffer *out, struct wp_error *err)
{
    Wakepath__Store__Exemplars message = WAKEPATH__STORE__EXEMPLARS__INIT;
    window_type *windows = calloc(set->count + 1u, sizeof(*windows)), **rows = calloc(set->count + 1u, sizeof(*rows));
    int rc = windows && rows ? 0 : wp_error_set(err, -ENOMEM, "out of memory for %u exemplars", set->count);
    for (uint32_t i = 0; !rc && i < set->count; i++) {
        const struct wp_exemplar_window *row = &set->rows[i];
        if (!row->trace.size)
            continue;
        window_type *window = rows[message.n_windows] = &windows[message.n_windows];
        message.n_windows++;
        wakepath__store__exemplars__window__init(window);
        window->service = text_data(row->service);
        window->host = text_data(row->host);
        window->start_ns = row->start_ns;
        window->length_ns = row->length_ns;
        window->tid = row->tid;
        window->trace = (ProtobufCBinaryData){row->trace.size, row->trace.data};
    }
    message.windows = rows;
    if (!rc)
        rc = wp_message_pack(&message.base, out, err);
    free(windows);
    free(rows);
    return rc;
}

static int copy_name(char out[WP_EXEMPLARS_NAME + 1], ProtobufCBinaryData name, struct wp_error *err)
{
    if (name.len > WP_EXEMPLARS_NAME || (name.len && memchr(name.data, 0, name.len)))
        return wp_error_set(err, -EBADMSG, "exemplars: a name of %zu bytes, or with a NUL in it", name.len);
    if (name.len)
        memcpy(out, name.data, name.len);
    out[name.len] = 0;
    return 0;
}

static int take_window(struct wp_exemplars *set, const window_type *window, struct wp_error *err)
{
    char service[WP_EXEMPLARS_NAME + 1], host[WP_EXEMPLARS_NAME + 1];
    struct wp_exemplar_window row = {.service = service,
        .host = host,
        .start_ns = window->start_ns,
        .length_ns = window->length_ns,
        .tid = window->tid,
        .trace = {.data = window->trace.data, .size = window->trace.len}};
    struct wp_trace *trace = NULL;
    int rc = copy_name(service, window->service, err);
    if (!rc)
        rc = copy_name(host, window->host, err);
    if (!rc && (!window->trace.len || window->trace.len > WP_EXEMPLARS_BYTES))
        rc = wp_error_set(err, -EBADMSG, "exemplars: a trace of %zu bytes", window->trace.len);
    if (!rc)
        rc = wp_trace_decode(&trace, window->trace.data, window->trace.len, err);
    wp_trace_destroy(trace);
    if (!rc && set->count && compare(&set->rows[set->count - 1], &row) >= 0)
        rc = wp_error_set(err, -EBADMSG, "exemplars: not in their order, or one is there twice");
    if (!rc && wp_exemplars_add(set, &row))
        rc = wp_error_set(err, -ENOMEM, "out of memory for exemplars");
    return rc;
}

int wp_exemplars_decode(struct wp_exemplars *set, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    *set = (struct wp_exemplars){0};
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__exemplars__descriptor, bytes, size, "exemplars", err);
    if (!message)
        return -errno;
    const Wakepath__Store__Exemplars *m = (const Wakepath__Store__Exemplars *)message;
    int rc = 0;
    for (size_t i = 0; !rc && i < m->n_windows; i++) {
        rc = take_window(set, m->windows[i], err);
        if (!rc && set->count != i + 1) /* no more of a hostile set is looked at than a good one has */
            rc = wp_error_set(err, -EBADMSG, "exemplars: more than are kept");
    }
    protobuf_c_message_free_unpacked(message, NULL);
    if (rc)
        wp_exemplars_fini(set);
    return rc;
}
