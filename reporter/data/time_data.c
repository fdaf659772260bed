/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/data/time_data.h"

#include "common/array.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct place {
    uint32_t node, category, cell; /* of the flame, and the cell's number in the report */
};

static int compare(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->category < b->category ? -1 : a->category > b->category;
}

/* The report's cells in the order of the flame's, which leaves out those without time. */
static uint32_t order_cells(struct place *places, const struct wp_facts *facts)
{
    uint32_t count, kept = 0;
    const struct wp_cell *cells = wp_report_cells(facts->report, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = facts->flame.by_source[cells[i].node];
        if (cells[i].ns && (node || !cells[i].node) && cells[i].category < WP_CATEGORIES)
            places[kept++] = (struct place){node, cells[i].category, i};
    }
    qsort(places, kept, sizeof(*places), compare);
    return kept;
}

struct table {
    const struct wp_facts *facts;
    struct place *places;
    uint32_t cell_count, sample_count, bucket_count;
    uint32_t *first; /* by cell of the report: where its samples begin in `rows` */
    uint32_t *rows;  /* samples by cell */
    const struct wp_cell_sample *samples;
    const uint64_t *buckets;
    unsigned shift;
};

static void sort_samples(struct table *table, uint32_t cells)
{
    for (uint32_t i = 0; i < table->sample_count; i++)
        table->first[table->samples[i].cell + 1]++;
    for (uint32_t i = 0; i < cells; i++)
        table->first[i + 1] += table->first[i];
    for (uint32_t i = table->sample_count; i-- > 0;) /* from the back, so that what counts up ends where it began */
        table->rows[--table->first[table->samples[i].cell + 1]] = i;
}

static uint32_t bucket_place(const struct table *table, uint64_t bucket)
{
    uint32_t behind = WP_LOWER_BOUND(middle, 0, table->bucket_count, table->buckets[middle] <= bucket);
    return behind ? behind - 1 : 0;
}

/* A cell's time by bucket, summed: equal reports give equal bytes whatever the order of their samples. */
static uint32_t sum_cell(const struct table *table, uint32_t cell, uint64_t sums[WP_REPORT_BUCKETS])
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < table->bucket_count; i++)
        sums[i] = 0;
    for (uint32_t i = table->first[cell + 1]; i < table->first[cell + 2]; i++)
        sums[bucket_place(table, table->samples[table->rows[i]].bucket)] += table->samples[table->rows[i]].ns;
    for (uint32_t i = 0; i < table->bucket_count; i++)
        used += sums[i] != 0;
    return used;
}

enum what { COUNTS, PLACES, TIMES };

static void put_samples(struct wp_buffer *out, const struct table *table, const char *name, enum what what)
{
    uint64_t sums[WP_REPORT_BUCKETS];
    const char *comma = "";
    wp_buffer_printf(out, "\"%s\":[", name);
    for (uint32_t i = 0; i < table->cell_count; i++) {
        uint32_t used = sum_cell(table, table->places[i].cell, sums);
        if (what == COUNTS) {
            wp_buffer_printf(out, "%s%" PRIu32, comma, used);
            comma = ",";
        }
        for (uint32_t bucket = 0; what != COUNTS && bucket < table->bucket_count; bucket++) {
            if (!sums[bucket])
                continue;
            wp_buffer_printf(out, "%s%" PRIu64, comma, what == PLACES ? bucket : sums[bucket]);
            comma = ",";
        }
    }
    wp_buffer_puts(out, "],\n");
}

static void put_all(struct wp_buffer *out, const struct table *table)
{
    uint64_t width = (uint64_t)1 << table->shift;
    wp_buffer_printf(out, "wakepath.data(\"times\",{\n\"width\":%.3f,\n\"start\":[", (double)width / 1e6);
    for (uint32_t i = 0; i < table->bucket_count; i++)
        wp_buffer_printf(out, "%s%.3f", i ? "," : "", (double)(table->buckets[i] << table->shift) / 1e6);
    wp_buffer_puts(out, "],\n");
    put_samples(out, table, "cells", COUNTS);
    put_samples(out, table, "place", PLACES);
    put_samples(out, table, "ns", TIMES);
    wp_buffer_puts(out, "\"end\":0});\n");
}

int wp_time_data(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct table table = {.facts = facts};
    uint32_t cells;
    wp_report_cells(facts->report, &cells);
    table.samples = wp_report_samples(facts->report, &table.sample_count);
    table.buckets = wp_report_buckets(facts->report, &table.bucket_count, &table.shift);
    table.places = calloc(cells + (size_t)1, sizeof(*table.places));
    table.first = calloc(cells + (size_t)3, sizeof(*table.first));
    table.rows = calloc(table.sample_count + (size_t)1, sizeof(*table.rows));
    int rc = table.places && table.first && table.rows ? 0 : -ENOMEM;
    if (!rc) {
        table.cell_count = order_cells(table.places, facts);
        /* first[c + 1] counts, then ends, then begins the samples of cell c. */
        sort_samples(&table, cells);
        table.first[cells + 1] = table.sample_count;
        put_all(out, &table);
    }
    free(table.places);
    free(table.first);
    free(table.rows);
    return !rc && !out->failed ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the flame's times");
}
