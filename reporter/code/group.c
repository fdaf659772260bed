/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/code/group.h"

#include "common/array.h"
#include "reporter/code/group_lines.h"
#include "reporter/facts/code_location.h"
#include "reporter/facts/frame_table.h"
#include "reporter/facts/stack_ends.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Rows are keys in one table of strings: a name, of functions with PARTED and the object behind it. The empty key is
 * row 0. */
#define PARTED 0x1f

struct sums {
    uint64_t ns, inclusive_ns, count, running_ns;
    uint32_t cell; /* the last cell that counted inclusively, + 1 */
};

struct frame_row {
    uint32_t row; /* + 1; 0 not known yet */
    bool is_process, is_function;
    bool fits_process, fits_function; /* the pattern of its kind, host included */
};

struct maker {
    const struct wp_facts *facts;
    const struct wp_group_filter *filter;
    enum wp_group_by by;
    const char *home;       /* host of a process frame that names none */
    struct wp_intern *keys; /* owned */
    struct sums *sums;      /* owned; by key id */
    uint32_t sum_room;
    struct frame_row *frames; /* owned; by frame id */
    const uint32_t *places;   /* by node of the flame: the program's own function (code_place.h); of functions only */
    struct wp_buffer text;
    bool failed;
};

static const char *const by_names[WP_BYS] = {"process", "function", "host", "category", "path", "file", "line"};

int wp_group_by_find(const char *name)
{
    for (int i = 0; i < WP_BYS; i++)
        if (!strcmp(by_names[i], name))
            return i;
    return -1;
}

const char *wp_group_by_name(enum wp_group_by by)
{
    return by_names[by];
}

/* Where the host of "[comm]@host" begins; NULL: the frame names none. */
static const char *host_in(const char *name)
{
    const char *found = NULL;
    for (const char *at = strstr(name, "]@"); at; at = strstr(at + 1, "]@"))
        found = at + 2;
    return found;
}

/* "cc1" of "[cc1]@host" into maker->text. */
static const char *comm_of(struct maker *maker, const char *name)
{
    const char *host = host_in(name);
    size_t size = host ? (size_t)(host - 1 - name) : strlen(name);
    bool is_framed = size > 1 && name[0] == '[' && name[size - 1] == ']';
    wp_buffer_clear(&maker->text);
    wp_buffer_append(&maker->text, name + is_framed, size - 2u * is_framed);
    wp_buffer_putc(&maker->text, '\0');
    maker->failed |= maker->text.failed;
    return maker->text.failed ? "" : (const char *)maker->text.data;
}

static bool fits(const char *pattern, const char *text)
{
    return !pattern || !strcmp(pattern, text) || !fnmatch(pattern, text, 0);
}

static void judge_frames(struct maker *maker)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(maker->facts->report, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = wp_report_text(maker->facts->report, frames[i].name), *host = host_in(name);
        struct frame_row *row = &maker->frames[i];
        row->is_process = frames[i].style == WP_STYLE_PROCESS;
        row->is_function = frames[i].style == WP_STYLE_USER || frames[i].style == WP_STYLE_KERNEL;
        row->fits_function = row->is_function && fits(maker->filter->function, name);
        row->fits_process = row->is_process && fits(maker->filter->host, host ? host : maker->home) &&
            fits(maker->filter->process, comm_of(maker, name));
    }
}

/* The host that frames without one mean: the only one there is, or the only one that no frame names. */
static const char *find_home(const struct wp_facts *facts)
{
    const char *home = NULL;
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    for (size_t i = 0; i < facts->host_count; i++) {
        bool is_named = false;
        for (uint32_t j = 1; j < count && facts->host_count > 1 && !is_named; j++) {
            const char *host = host_in(wp_report_text(facts->report, frames[j].name));
            is_named = frames[j].style == WP_STYLE_PROCESS && host && !strcmp(host, facts->hosts[i]);
        }
        if (is_named)
            continue;
        if (home)
            return "(several)";
        home = facts->hosts[i];
    }
    return home ? home : "(unknown)";
}

static uint32_t key_row(struct maker *maker, const char *key, size_t size)
{
    uint32_t row = wp_intern_id(maker->keys, key, size);
    if (row != UINT32_MAX && WP_ARRAY_FIT_ZERO(maker->sums, maker->sum_room, row + 1)) {
        maker->failed = true;
        return 0;
    }
    maker->failed |= row == UINT32_MAX;
    return row == UINT32_MAX ? 0 : row;
}

static uint32_t text_row(struct maker *maker, const char *key)
{
    return key_row(maker, key, strlen(key));
}

static uint32_t make_row(struct maker *maker, uint32_t frame)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(maker->facts->report, &count);
    const char *name = wp_report_text(maker->facts->report, frames[frame].name), *host = host_in(name);
    if (maker->by == WP_BY_HOST)
        return text_row(maker, host ? host : maker->home);
    if (maker->by == WP_BY_PROCESS)
        return text_row(maker, comm_of(maker, name));
    const char *object = wp_report_text(maker->facts->report, frames[frame].object);
    wp_buffer_clear(&maker->text);
    wp_buffer_puts(&maker->text, name);
    wp_buffer_putc(&maker->text, PARTED); /* always: a hostile name may have one itself, the last one counts */
    wp_buffer_puts(&maker->text, object);
    maker->failed |= maker->text.failed;
    return maker->text.failed ? 0 : key_row(maker, (const char *)maker->text.data, maker->text.size);
}

static uint32_t frame_row(struct maker *maker, uint32_t frame)
{
    struct frame_row *row = &maker->frames[frame];
    if (!row->row)
        row->row = make_row(maker, frame) + 1;
    return row->row - 1;
}

static uint32_t frame_at(const struct wp_stack_walk *walk, uint32_t depth)
{
    return walk->flame->nodes[walk->stack[depth]].frame;
}

static bool counts(const struct maker *maker, const struct wp_stack_walk *walk)
{
    const struct wp_group_filter *filter = maker->filter;
    bool has_layer_filter = filter->process || filter->host, has_function = !filter->function;
    if (filter->categories && !(filter->categories >> walk->cell->category & 1))
        return false;
    for (uint32_t i = walk->depth; i--;) {
        const struct frame_row *row = &maker->frames[frame_at(walk, i)];
        has_function |= row->fits_function;
        if (!row->is_process)
            continue;
        if (has_function && row->fits_process)
            return true;
        has_function = !filter->function;
    }
    return has_function && !has_layer_filter; /* what stands on no process at all */
}

/* "make › sh › io:read vda": processes, and the last frame where it is no function. */
static uint32_t path_row(struct maker *maker, const struct wp_stack_walk *walk)
{
    struct wp_buffer path = {0};
    uint32_t row = 0;
    wp_buffer_puts(&path, "");
    for (uint32_t i = 0; i < walk->depth; i++) {
        uint32_t frame = frame_at(walk, i);
        const struct frame_row *at = &maker->frames[frame];
        bool is_end = i + 1 == walk->depth && !at->is_function;
        const char *name = wp_facts_frame_name(maker->facts, frame);
        if (!at->is_process && !is_end)
            continue;
        wp_buffer_puts(&path, path.size ? " › " : "");
        wp_buffer_puts(&path, *name ? name : "?");
    }
    maker->failed |= path.failed;
    if (!path.failed)
        row = key_row(maker, (const char *)path.data, path.size);
    wp_buffer_fini(&path);
    return row;
}

/* The innermost function that is a program's own, of the highest layer that has one; else the innermost one but the
 * scheduler's, which every wait ends in; 0: there is none. */
static uint32_t function_of(const struct maker *maker, const struct wp_stack_walk *walk)
{
    const struct wp_facts *facts = maker->facts;
    uint32_t innermost = 0, other = 0;
    bool is_below = false; /* the topmost layer is behind us */
    for (uint32_t i = walk->depth; i--;) {
        uint32_t frame = frame_at(walk, i), place = maker->places[walk->stack[i]];
        const struct frame_row *row = &maker->frames[frame];
        if (place)
            return facts->flame.nodes[place].frame;
        is_below |= row->is_process;
        if (is_below || !row->is_function)
            continue;
        innermost = innermost ? innermost : frame;
        if (!other && !wp_stack_is_scheduler(wp_facts_frame_style(facts, frame), wp_facts_frame_name(facts, frame)))
            other = frame;
    }
    return other ? other : innermost;
}

/* Whose the time on top is. Row 0, the empty key, is nobody's. */
static uint32_t top_row(struct maker *maker, const struct wp_stack_walk *walk)
{
    if (maker->by == WP_BY_CATEGORY)
        return text_row(maker, wp_category_key((enum wp_category)walk->cell->category));
    if (maker->by == WP_BY_PATH)
        return path_row(maker, walk);
    uint32_t function = maker->by == WP_BY_FUNCTION ? function_of(maker, walk) : 0;
    if (maker->by == WP_BY_FUNCTION)
        return function ? frame_row(maker, function) : 0;
    for (uint32_t i = walk->depth; i--;)
        if (maker->frames[frame_at(walk, i)].is_process)
            return frame_row(maker, frame_at(walk, i));
    return 0;
}

static void add_inclusive(struct maker *maker, uint32_t row, const struct wp_stack_walk *walk)
{
    struct sums *sums = &maker->sums[row];
    if (sums->cell == walk->next) /* next is the number of this cell, + 1 */
        return;
    sums->cell = walk->next;
    sums->inclusive_ns += walk->cell->ns;
}

static void add(struct maker *maker, const struct wp_stack_walk *walk)
{
    uint32_t top = top_row(maker, walk);
    if (maker->failed)
        return;
    maker->sums[top].ns += walk->cell->ns;
    maker->sums[top].count += walk->cell->count;
    maker->sums[top].running_ns += walk->cell->category == WP_UNDERSTOOD_FUNCTIONS ? walk->cell->ns : 0;
    add_inclusive(maker, top, walk);
    for (uint32_t i = 0; i < walk->depth && maker->by <= WP_BY_HOST && !maker->failed; i++) {
        const struct frame_row *row = &maker->frames[frame_at(walk, i)];
        if (maker->by == WP_BY_FUNCTION ? row->is_function : row->is_process) {
            uint32_t number = frame_row(maker, frame_at(walk, i)); /* may move maker->sums */
            add_inclusive(maker, number, walk);
        }
    }
}

static void take_rows(struct wp_group *group, struct maker *maker)
{
    uint32_t count = wp_intern_count(maker->keys);
    group->rows = calloc(count + 1u, sizeof(*group->rows));
    for (uint32_t i = 0; group->rows && i < count && i < maker->sum_room; i++) {
        const struct sums *sums = &maker->sums[i];
        if (!sums->inclusive_ns)
            continue;
        const char *key = wp_pool_text(&group->pool, wp_intern_text(maker->keys, i));
        char *parted = maker->by == WP_BY_FUNCTION ? strrchr(key, PARTED) : NULL;
        if (parted)
            *parted++ = 0;
        group->rows[group->count++] = (struct wp_group_row){
            key, parted ? parted : "", sums->ns, sums->inclusive_ns, sums->count, sums->running_ns};
        group->matched_ns += sums->ns;
    }
    wp_group_sort(group);
    maker->failed |= !group->rows || group->pool.failed;
}

int wp_group_build(struct wp_group *group, const struct wp_facts *facts, const struct wp_group_filter *filter,
    enum wp_group_by by, struct wp_error *err)
{
    if (by == WP_BY_FILE || by == WP_BY_LINE) {
        int rc = wp_group_lines(group, facts, filter, by == WP_BY_LINE, err);
        if (rc)
            wp_group_fini(group);
        return rc;
    }
    struct maker maker = {
        .facts = facts, .filter = filter, .by = by, .home = find_home(facts), .keys = wp_intern_create()};
    struct wp_stack_walk walk;
    uint32_t frames;
    memset(group, 0, sizeof(*group));
    wp_report_frames(facts->report, &frames);
    maker.frames = calloc(frames + 1u, sizeof(*maker.frames));
    maker.places = by == WP_BY_FUNCTION ? wp_code_locations_build(&group->pool, facts) : NULL;
    maker.failed = !maker.keys || !maker.frames || (by == WP_BY_FUNCTION && !maker.places);
    wp_stack_walk_init(&walk, &facts->flame);
    if (!maker.failed && !walk.failed) {
        key_row(&maker, "", 0);
        judge_frames(&maker);
        while (!maker.failed && wp_stack_walk_next(&walk))
            if (counts(&maker, &walk))
                add(&maker, &walk);
        take_rows(group, &maker);
    }
    group->total_ns = facts->total_ns;
    bool failed = maker.failed || walk.failed;
    wp_stack_walk_fini(&walk);
    wp_intern_destroy(maker.keys);
    wp_buffer_fini(&maker.text);
    free(maker.sums);
    free(maker.frames);
    if (failed)
        wp_group_fini(group);
    return failed ? wp_error_set(err, -ENOMEM, "out of memory for the sums of %s", facts->aggregate) : 0;
}

/* --- in another order --- */

int wp_group_measure_find(const char *name)
{
    static const char *const names[WP_ORDERS] = {"own", "total", "run", "wait", "pieces", "each"};
    for (int i = 0; i < WP_ORDERS; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

uint64_t wp_group_measured(const struct wp_group_row *row, enum wp_group_measure measure)
{
    switch (measure) {
    case WP_ORDER_TOTAL:
        return row->inclusive_ns;
    case WP_ORDER_RUN:
        return row->running_ns;
    case WP_ORDER_WAIT:
        return row->ns - row->running_ns;
    case WP_ORDER_PIECES:
        return row->count;
    case WP_ORDER_EACH:
        return row->count ? row->ns / row->count : 0;
    default:
        return row->ns;
    }
}

static int compare_measured(const void *left, const void *right, void *context)
{
    const struct wp_group_row *a = left, *b = right;
    enum wp_group_measure measure = ((const struct wp_group_order *)context)->measure;
    uint64_t a_has = wp_group_measured(a, measure), b_has = wp_group_measured(b, measure);
    if (a_has != b_has)
        return a_has > b_has ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    int rc = strcmp(a->name, b->name);
    return rc ? rc : strcmp(a->object, b->object);
}

size_t wp_group_sort_by(struct wp_group *group, const struct wp_group_order *order)
{
    uint64_t least =
        order->least_percent > 0 ? (uint64_t)(order->least_percent / 100 * (double)group->total_ns) : order->least;
    size_t count = 0;
    if (group->count && order->measure != WP_ORDER_OWN)
        qsort_r(group->rows, group->count, sizeof(*group->rows), compare_measured, (void *)(uintptr_t)order);
    while (count < group->count && wp_group_measured(&group->rows[count], order->measure) >= least)
        count++;
    return count;
}

void wp_group_fini(struct wp_group *group)
{
    free(group->rows);
    wp_pool_fini(&group->pool);
    memset(group, 0, sizeof(*group));
}
