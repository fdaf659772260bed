/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces that add up: whatever kinds come in turns, the report has each sum, and they do not take each other's slots.
 */
#include "aggregator/account/sample_sums.h"

#include "aggregator/account/aggregate.h"
#include "aggregator/account/aggregate_body.h"
#include "storage/report/report_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define KINDS 300u
#define ROUNDS 40u
#define PIECE_NS 10u

struct made {
    struct wp_dictionary *dictionary;
    struct wp_timeline timeline;
    struct wp_fleet *fleet;
    struct wp_aggregate *aggregate;
};

static void begin(struct made *made)
{
    uint32_t home;
    *made = (struct made){.dictionary = wp_dictionary_create()};
    assert_non_null(made->dictionary);
    assert_int_equal(wp_timeline_init(&made->timeline, made->dictionary), 0);
    assert_int_equal(wp_fleet_create(&made->fleet), 0);
    assert_int_equal(wp_fleet_join(made->fleet, &made->timeline, "host", 0, &home), 0);
    int number = wp_fleet_aggregate(made->fleet, "main", "v1");
    assert_int_equal(number, 0);
    made->aggregate = wp_aggregate_create(
        &(struct wp_aggregate_options){.fleet = made->fleet, .home = home, .selector = "comm=x", .reach_ns = 1000});
    assert_non_null(made->aggregate);
}

static void end(struct made *made)
{
    wp_aggregate_destroy(made->aggregate);
    wp_fleet_destroy(made->fleet);
    wp_timeline_fini(&made->timeline);
    wp_dictionary_destroy(made->dictionary);
}

/* Each kind once, all in one bucket of the report's time. */
static void add_round(struct made *made, uint32_t round)
{
    const struct wp_layer layer = {0};
    struct wp_pathtree *tree = &made->aggregate->tree;
    for (uint32_t i = 0; i < KINDS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%u", i);
        uint64_t start_ns = ((uint64_t)round * KINDS + i) * PIECE_NS;
        wp_sample_sums_add(made->aggregate,
            &(struct wp_piece){.node = wp_pathtree_child(tree, 0, wp_pathtree_frame(tree, WP_STYLE_USER, name, "")),
                .category = WP_UNDERSTOOD_FUNCTIONS,
                .start_ns = start_ns,
                .end_ns = start_ns + PIECE_NS,
                .layers = &layer,
                .layer_count = 1,
                .is_run = true});
    }
}

static void kinds_in_turns_have_slots(void **state)
{
    (void)state;
    struct made made;
    uint32_t count;
    begin(&made);
    for (uint32_t round = 0; round < ROUNDS; round++)
        add_round(&made, round);
    const struct wp_sample_sums *sums = &made.aggregate->sample_sums;
    assert_in_range(sums->slot_mask + 1, KINDS, WP_SAMPLE_SUMS_SLOTS);
    uint32_t evicted = sums->evicted;
    add_round(&made, ROUNDS);
    assert_int_equal(sums->evicted, evicted); /* each has its own by now */
    wp_sample_sums_flush(made.aggregate);
    const struct wp_cell *cells = wp_report_cells(made.aggregate->delta.report, &count);
    assert_int_equal(count, KINDS);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(cells[i].ns, (ROUNDS + 1) * PIECE_NS);
        assert_int_equal(cells[i].count, ROUNDS + 1);
    }
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_in_turns_have_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
