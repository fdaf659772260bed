/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_state.h"

#include "common/clock.h"
#include "common/path.h"
#include "reporter/display/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STATE_LIMIT (256u << 20)
#define HEAD_BYTES 51u
#define SETTLED_NS (2 * WP_NS_PER_S) /* more than any file system's clock steps */

/* --- writing: one line a release, then one an aggregate; fields parted by tabs, texts as in a URL --- */

static void put_text(struct wp_buffer *out, const char *text)
{
    wp_buffer_putc(out, '\t');
    wp_escape_url(out, text ? text : "");
}

static void put_number(struct wp_buffer *out, uint64_t number)
{
    wp_buffer_printf(out, "\t%" PRIu64, number);
}

/* The first line: the key, and a digest of what follows. */
static void make_head(char head[64], uint64_t key, const uint8_t *bytes, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) /* FNV-1a: against a file cut short or edited, not against malice */
        hash = (hash ^ bytes[i]) * 1099511628211u;
    snprintf(head, 64, "wakepath-state 2 %016" PRIx64 " %016" PRIx64 "\n", key, hash);
}

void wp_site_state_begin(struct wp_buffer *out, uint64_t key)
{
    char head[64];
    make_head(head, key, NULL, 0);
    wp_buffer_puts(out, head);
}

void wp_site_state_finish(struct wp_buffer *out, uint64_t key)
{
    char head[64];
    if (out->failed)
        return;
    make_head(head, key, out->data + HEAD_BYTES, out->size - HEAD_BYTES);
    memcpy(out->data, head, HEAD_BYTES);
}

static void put_aggregate(struct wp_buffer *out, const struct wp_aggregate_summary *row)
{
    wp_buffer_putc(out, 'A');
    put_text(out, row->name);
    put_number(out, row->wall_ns);
    put_number(out, row->total_ns);
    put_number(out, row->first_ns);
    put_number(out, row->last_ns);
    put_number(out, row->events_total);
    put_number(out, row->events_dropped);
    put_number(out, row->host_count);
    put_number(out, row->process_count);
    put_number(out, row->damage_count);
    wp_buffer_printf(out, "\t%a\t%a", row->accounted_percent, row->coverage);
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        put_number(out, row->categories[i]);
    put_number(out, row->worse);
    put_number(out, row->better);
    put_number(out, row->stored_worse);
    put_number(out, row->stored_better);
    put_number(out, row->change != NULL);
    put_text(out, row->change);
    put_number(out, row->finding_count);
    for (size_t i = 0; i < row->finding_count; i++) {
        put_number(out, row->findings[i].page);
        put_number(out, row->findings[i].fragment != NULL);
        put_text(out, row->findings[i].fragment);
        put_text(out, row->findings[i].sentence);
    }
    put_text(out, row->unsampled);
    put_text(out, row->recorded);
    put_text(out, row->title);
    put_text(out, row->subtitle);
    put_text(out, row->base);
    wp_buffer_putc(out, '\n');
}

void wp_site_state_put(struct wp_buffer *out, const struct wp_release_summary *release, const char *inputs,
    uint64_t first_ns, uint64_t last_ns)
{
    size_t damaged = 0;
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next)
        damaged += row->damage_count;
    wp_buffer_putc(out, 'R');
    put_text(out, release->id);
    put_text(out, inputs);
    put_number(out, first_ns);
    put_number(out, last_ns);
    put_text(out, release->baseline);
    put_text(out, release->overlaps);
    put_text(out, release->commit);
    put_number(out, release->aggregate_count);
    put_number(out, damaged);
    wp_buffer_putc(out, '\n');
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next)
        put_aggregate(out, row);
}

/* --- reading --- */

struct line {
    char *rest;
    char nothing[1];
    bool is_bad;
};

static char *next_field(struct line *line)
{
    char *field = strsep(&line->rest, "\t");
    line->is_bad |= !field;
    return field ? field : line->nothing;
}

static uint64_t next_number(struct line *line)
{
    char *end, *field = next_field(line);
    uint64_t number = strtoull(field, &end, 10);
    line->is_bad |= end == field || *end;
    return number;
}

static double next_double(struct line *line)
{
    char *end, *field = next_field(line);
    double number = strtod(field, &end);
    line->is_bad |= end == field || *end;
    return number;
}

/* In place. */
static const char *next_text(struct line *line)
{
    char *field = next_field(line), *to = field;
    for (const char *at = field; *at; at++) {
        unsigned byte;
        if (*at != '%') {
            *to++ = *at;
        } else if (sscanf(at + 1, "%2x", &byte) == 1 && at[1] && at[2]) {
            *to++ = (char)byte;
            at += 2;
        } else {
            line->is_bad = true;
        }
    }
    *to = 0;
    return field;
}

static int read_release(struct wp_state_row *row, char *text)
{
    struct line line = {.rest = text};
    next_field(&line);
    row->release = next_text(&line);
    row->inputs = next_text(&line);
    row->first_ns = next_number(&line);
    row->last_ns = next_number(&line);
    row->baseline = next_text(&line);
    row->overlaps = next_text(&line);
    row->commit = next_text(&line);
    row->aggregate_count = next_number(&line);
    row->damaged = next_number(&line);
    return line.is_bad ? -EBADMSG : 0;
}

static int compare_rows(const void *left, const void *right)
{
    return strcmp(((const struct wp_state_row *)left)->release, ((const struct wp_state_row *)right)->release);
}

static int parse(struct wp_site_state *state, char *text)
{
    size_t lines = 0, open = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    state->rows = wp_pool_alloc(&state->pool, (lines + 1) * sizeof(*state->rows));
    if (!state->rows)
        return -ENOMEM;
    for (char *line, *rest = text; (line = rest) && *line;) {
        rest = strchr(line, '\n');
        if (!rest)
            return -EBADMSG;
        if (*line == 'A' && open) {
            open--;
            rest++; /* the lines of the aggregates stay one text until they are needed */
            continue;
        }
        *rest++ = 0;
        if (open || *line != 'R' || read_release(&state->rows[state->count], line))
            return -EBADMSG;
        open = state->rows[state->count].aggregate_count;
        state->rows[state->count++].aggregates = rest;
    }
    qsort(state->rows, state->count, sizeof(*state->rows), compare_rows);
    return open ? -EBADMSG : 0;
}

int wp_site_state_read(struct wp_site_state *state, const char *folder, uint64_t key, struct wp_error *err)
{
    char path[PATH_MAX], head[64];
    struct wp_buffer file = {0};
    struct stat st;
    memset(state, 0, sizeof(*state));
    if ((size_t)snprintf(path, sizeof(path), "%s/" WP_SITE_STATE, folder) >= sizeof(path) || stat(path, &st) ||
        wp_file_read(path, STATE_LIMIT, &file, NULL))
        return 0;
    int rc = 0;
    size_t size = file.size > HEAD_BYTES ? file.size - HEAD_BYTES : 0;
    make_head(head, key, size ? file.data + HEAD_BYTES : NULL, size);
    if (size && !memcmp(file.data, head, HEAD_BYTES) && !memchr(file.data, 0, file.size)) {
        char *text = wp_pool_alloc(&state->pool, size + 1);
        if (text)
            memcpy(text, file.data + HEAD_BYTES, size);
        rc = text ? parse(state, text) : -ENOMEM;
        state->began_ns = wp_timespec_ns(st.st_mtim);
    }
    wp_buffer_fini(&file);
    if (rc)
        wp_site_state_fini(state);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the state of the site") : 0;
}

void wp_site_state_fini(struct wp_site_state *state)
{
    wp_pool_fini(&state->pool);
    memset(state, 0, sizeof(*state));
}

const struct wp_state_row *wp_site_state_find(const struct wp_site_state *state, const char *release)
{
    struct wp_state_row key = {.release = release};
    return state->count ? bsearch(&key, state->rows, state->count, sizeof(key), compare_rows) : NULL;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char *wp_site_inputs(
    struct wp_pool *pool, const struct wp_stores *stores, const char *release, uint64_t *changed_ns)
{
    const char *parts[WP_STORES_LIMIT], *text = "";
    size_t count = 0;
    *changed_ns = 0;
    for (size_t i = 0; i < stores->count; i++) {
        char path[PATH_MAX];
        struct stat st;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s/data.mdb", wp_store_root(stores->stores[i]), release) >=
                sizeof(path) ||
            stat(path, &st))
            continue;
        uint64_t modified = wp_timespec_ns(st.st_mtim);
        uint64_t changed = wp_timespec_ns(st.st_ctim);
        modified = changed > modified ? changed : modified;
        *changed_ns = modified > *changed_ns ? modified : *changed_ns;
        parts[count++] = wp_pool_printf(pool, "%ju.%jd.%" PRIu64, (uintmax_t)st.st_ino, (intmax_t)st.st_size,
            modified); /* not the device: each machine numbers its mounts as it likes */
    }
    qsort(parts, count, sizeof(*parts), compare_texts); /* whichever way the stores were given */
    for (size_t i = 0; i < count; i++)
        text = wp_pool_printf(pool, "%s%s,", text, parts[i]);
    return text;
}

uint64_t wp_site_state_settled_ns(const struct wp_site_state *state)
{
    return state->began_ns > SETTLED_NS ? state->began_ns - SETTLED_NS : 0;
}

bool wp_site_state_is_settled(const struct wp_site_state *state, uint64_t changed_ns)
{
    return changed_ns < wp_site_state_settled_ns(state);
}

bool wp_site_state_is_same(
    const struct wp_site_state *state, const struct wp_state_row *row, const char *inputs, uint64_t changed_ns)
{
    return row && *inputs && !strcmp(row->inputs, inputs) && wp_site_state_is_settled(state, changed_ns);
}

static int read_aggregate(struct wp_aggregate_summary *row, char *text)
{
    struct line line = {.rest = text};
    next_field(&line);
    row->name = next_text(&line);
    row->wall_ns = next_number(&line);
    row->total_ns = next_number(&line);
    row->first_ns = next_number(&line);
    row->last_ns = next_number(&line);
    row->events_total = next_number(&line);
    row->events_dropped = next_number(&line);
    row->host_count = next_number(&line);
    row->process_count = next_number(&line);
    row->damage_count = next_number(&line);
    row->accounted_percent = next_double(&line);
    row->coverage = next_double(&line);
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        row->categories[i] = next_number(&line);
    row->worse = next_number(&line);
    row->better = next_number(&line);
    row->stored_worse = next_number(&line);
    row->stored_better = next_number(&line);
    bool is_compared = next_number(&line) != 0;
    const char *change = next_text(&line);
    row->change = is_compared ? change : NULL;
    row->finding_count = next_number(&line);
    if (row->finding_count > 3)
        return -EBADMSG;
    for (size_t i = 0; i < row->finding_count; i++) {
        uint64_t page = next_number(&line);
        bool is_linked = next_number(&line) != 0;
        const char *fragment = next_text(&line);
        row->findings[i].page = page < WP_PAGES ? (enum wp_page_kind)page : WP_PAGE_OVERVIEW;
        row->findings[i].fragment = is_linked ? fragment : NULL;
        row->findings[i].sentence = next_text(&line);
    }
    row->unsampled = next_text(&line);
    row->recorded = next_text(&line);
    row->title = next_text(&line);
    row->subtitle = next_text(&line);
    row->base = next_text(&line);
    return line.is_bad ? -EBADMSG : 0;
}

int wp_site_state_restore(
    const struct wp_state_row *row, struct wp_site_summary *site, struct wp_release_summary *release)
{
    const char *at = row->aggregates;
    for (size_t i = 0; i < row->aggregate_count; i++) {
        const char *end = strchr(at, '\n');
        struct wp_aggregate_summary *aggregate = wp_summary_row(site, release);
        char *text = end ? wp_pool_alloc(&site->pool, (size_t)(end - at) + 1) : NULL;
        if (!aggregate || !text)
            return end ? -ENOMEM : -EBADMSG;
        memcpy(text, at, (size_t)(end - at));
        if (read_aggregate(aggregate, text))
            return -EBADMSG;
        if (aggregate->last_ns > release->last_ns)
            release->last_ns = aggregate->last_ns;
        at = end + 1;
    }
    return 0;
}
