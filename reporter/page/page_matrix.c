/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_matrix.h"

#include <stdlib.h>
#include <string.h>

#define LOSERS 20u
#define WINNERS 6u
#define NAME_BYTES 120u
#define TITLE_BYTES 24u

/* One side of the matrix: names, the longest time first. */
struct axis {
    struct axis_name {
        const char *name;
        uint64_t ns;
    } * names;
    size_t count; /* that stand for themselves */
    bool has_others;
};

static int by_name(const void *left, const void *right)
{
    const struct axis_name *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int by_time(const void *left, const void *right)
{
    const struct axis_name *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static struct axis axis_of(struct wp_pool *pool, const struct wp_matrix *matrix, bool is_winner, size_t most)
{
    struct axis axis = {.names = wp_pool_alloc(pool, matrix->count * sizeof(*axis.names))};
    if (!axis.names)
        return axis;
    for (size_t i = 0; i < matrix->count; i++) {
        const struct wp_pair *pair = &matrix->pairs[i];
        axis.names[i] = (struct axis_name){is_winner ? pair->winner : pair->loser, pair->ns};
    }
    qsort(axis.names, matrix->count, sizeof(*axis.names), by_name);
    for (size_t i = 0; i < matrix->count; i++)
        if (axis.count && !strcmp(axis.names[axis.count - 1].name, axis.names[i].name))
            axis.names[axis.count - 1].ns += axis.names[i].ns;
        else
            axis.names[axis.count++] = axis.names[i];
    qsort(axis.names, axis.count, sizeof(*axis.names), by_time);
    axis.has_others = axis.count > most;
    axis.count = axis.has_others ? most - 1 : axis.count;
    return axis;
}

/* Of others axis->count. */
static size_t place_of(const struct axis *axis, const char *name)
{
    size_t i = 0;
    while (i < axis->count && strcmp(axis->names[i].name, name) != 0)
        i++;
    return i;
}

static const char *name_at(const struct axis *axis, size_t place)
{
    return place < axis->count ? axis->names[place].name : "others";
}

/* Name, all, and the winners; NULL: out of memory. */
static struct wp_column *head_of(struct wp_pool *pool, const struct wp_matrix *matrix, const struct axis *winners)
{
    size_t count = winners->count + winners->has_others;
    struct wp_column *columns = wp_pool_alloc(pool, (count + 2) * sizeof(*columns));
    if (!columns)
        return NULL;
    columns[0] = (struct wp_column){matrix->losers, NULL, WP_CELL_NAME};
    columns[1] = (struct wp_column){"All", "Lost to all together", WP_CELL_DURATION};
    for (size_t i = 0; i < count; i++) {
        const char *name = name_at(winners, i);
        columns[i + 2] = (struct wp_column){
            wp_pool_clip(pool, name, TITLE_BYTES), wp_pool_printf(pool, "Lost to %s", name), WP_CELL_DURATION};
    }
    return columns;
}

void wp_page_matrix(struct wp_display *display, const struct wp_matrix *matrix)
{
    struct wp_pool *pool = &display->pool;
    if (!matrix->count)
        return;
    struct axis losers = axis_of(pool, matrix, false, LOSERS), winners = axis_of(pool, matrix, true, WINNERS);
    struct wp_column *columns = head_of(pool, matrix, &winners);
    size_t rows = losers.count + losers.has_others, width = winners.count + winners.has_others;
    uint64_t *sums = wp_pool_alloc(pool, rows * width * sizeof(*sums));
    if (!losers.names || !winners.names || !columns || !sums)
        return; /* the pool says so */
    memset(sums, 0, rows * width * sizeof(*sums));
    for (size_t i = 0; i < matrix->count; i++) {
        const struct wp_pair *pair = &matrix->pairs[i];
        sums[place_of(&losers, pair->loser) * width + place_of(&winners, pair->winner)] += pair->ns;
    }
    struct wp_table *table = wp_display_table(display, matrix->id, columns, width + 2, rows);
    table->whole_ns = matrix->whole_ns;
    for (size_t i = 0; i < rows; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        row[0].text = wp_pool_clip(pool, name_at(&losers, i), NAME_BYTES);
        for (size_t j = 0; j < width; j++) {
            row[j + 2].number = sums[i * width + j];
            row[j + 2].is_none = !row[j + 2].number;
            row[1].number += row[j + 2].number;
        }
    }
}
