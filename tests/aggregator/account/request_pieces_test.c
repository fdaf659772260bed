/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a thread's account for its requests: whole or not at all, cut to the request, latest first. */
#include "aggregator/account/request_pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the headers above */
#include <cmocka.h>

struct told {
    struct wp_piece pieces[8];
    unsigned count;
};

static void take_piece(void *context, const struct wp_piece *piece)
{
    struct told *told = context;
    assert_in_range(told->count, 0, 7);
    told->pieces[told->count++] = *piece;
}

/* [from, to) explained as two pieces of the nodes `node` and `node` + 1, the latter one first. */
static void explain(struct wp_request_pieces *pieces, uint32_t node, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t middle_ns = (from_ns + to_ns) / 2;
    wp_request_pieces_open(pieces, from_ns, to_ns, false);
    wp_request_pieces_add(pieces, &(struct wp_piece){.node = 99, .start_ns = 0, .end_ns = to_ns, .is_settled = true});
    wp_request_pieces_add(pieces, &(struct wp_piece){.node = node + 1, .start_ns = middle_ns, .end_ns = to_ns});
    wp_request_pieces_add(pieces, &(struct wp_piece){.node = node, .start_ns = from_ns, .end_ns = middle_ns});
    wp_request_pieces_close(pieces);
}

static bool tell(const struct wp_request_pieces *pieces, uint64_t from_ns, uint64_t to_ns, struct told *told)
{
    *told = (struct told){.count = 0};
    return wp_request_pieces_tell(pieces, &(struct wp_request_parts){0, pieces->part_count}, from_ns, to_ns,
        &(struct wp_sink){.piece = take_piece, .context = told});
}

static void a_request_is_whole_and_cut(void **state)
{
    (void)state;
    struct wp_request_pieces pieces = {0};
    struct told told;
    uint32_t first = 0;
    wp_request_pieces_expect(&pieces, &first, 150, 450); /* latest first; this one holds the other */
    wp_request_pieces_expect(&pieces, &first, 200, 250);
    wp_request_pieces_begin(&pieces, first);
    explain(&pieces, 10, 100, 200);
    explain(&pieces, 20, 200, 300);
    explain(&pieces, 30, 300, 500);
    explain(&pieces, 40, 500, 600); /* of no request */
    assert_int_equal(pieces.part_count, 3);
    assert_true(tell(&pieces, 150, 450, &told));
    static const struct wp_piece all[] = {{.node = 31, .start_ns = 400, .end_ns = 450},
        {.node = 30, .start_ns = 300, .end_ns = 400}, {.node = 21, .start_ns = 250, .end_ns = 300},
        {.node = 20, .start_ns = 200, .end_ns = 250}, {.node = 11, .start_ns = 150, .end_ns = 200}};
    assert_int_equal(told.count, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(told.pieces[i].node, all[i].node);
        assert_int_equal(told.pieces[i].start_ns, all[i].start_ns);
        assert_int_equal(told.pieces[i].end_ns, all[i].end_ns);
    }
    assert_true(tell(&pieces, 200, 250, &told));
    assert_int_equal(told.count, 1);
    wp_request_pieces_fini(&pieces);
}

/* A window of a thread without requests; and one that began too early for the account, explained by itself. */
static void windows_are_kept(void **state)
{
    (void)state;
    struct wp_request_pieces pieces = {0};
    struct told told;
    wp_request_pieces_begin(&pieces, 0);
    explain(&pieces, 10, 100, 200);
    assert_int_equal(pieces.part_count, 0);
    wp_request_pieces_open(&pieces, 200, 300, true);
    wp_request_pieces_add(&pieces, &(struct wp_piece){.node = 20, .thread = 8, .start_ns = 200, .end_ns = 300});
    wp_request_pieces_close(&pieces);
    assert_true(tell(&pieces, 200, 250, &told));
    assert_true(told.count == 1 && told.pieces[0].thread == 8 && told.pieces[0].end_ns == 250);
    struct wp_request_parts apart = wp_request_pieces_apart(&pieces, 9, 300);
    assert_int_equal(apart.end, 0);
    assert_true(wp_request_pieces_open_apart(&pieces, 9, 50, 300));
    wp_request_pieces_add(&pieces, &(struct wp_piece){.node = 30, .start_ns = 50, .end_ns = 300});
    wp_request_pieces_close(&pieces);
    apart = wp_request_pieces_apart(&pieces, 9, 300);
    assert_true(apart.first == 1 && apart.end == 2);
    told.count = 0;
    assert_true(
        wp_request_pieces_tell(&pieces, &apart, 60, 300, &(struct wp_sink){.piece = take_piece, .context = &told}));
    assert_true(told.count == 1 && told.pieces[0].node == 30 && told.pieces[0].start_ns == 60);
    wp_request_pieces_clear(&pieces);
    apart = wp_request_pieces_apart(&pieces, 9, 300);
    assert_int_equal(apart.end, 0);
    for (uint32_t thread = 9; thread < 11; thread++) { /* the account has no part before them */
        assert_true(wp_request_pieces_open_apart(&pieces, thread, 50, 300));
        wp_request_pieces_close(&pieces);
    }
    apart = wp_request_pieces_apart(&pieces, 9, 300);
    assert_true(apart.first == 0 && apart.end == 1);
    apart = wp_request_pieces_apart(&pieces, 10, 300);
    assert_true(apart.first == 1 && apart.end == 2);
    wp_request_pieces_fini(&pieces);
}

static void what_has_a_gap_is_not_told(void **state)
{
    (void)state;
    struct wp_request_pieces pieces = {0};
    struct told told;
    uint32_t first = 0;
    wp_request_pieces_expect(&pieces, &first, 100, 900);
    wp_request_pieces_begin(&pieces, first);
    explain(&pieces, 10, 200, 300);
    explain(&pieces, 20, 400, 500);
    static const uint64_t not_whole[][2] = {{100, 250}, {250, 450}, {450, 501}, {600, 700}, {300, 400}};
    for (unsigned i = 0; i < sizeof(not_whole) / sizeof(not_whole[0]); i++) {
        assert_false(tell(&pieces, not_whole[i][0], not_whole[i][1], &told));
        assert_int_equal(told.count, 0);
    }
    assert_true(tell(&pieces, 400, 500, &told));
    wp_request_pieces_clear(&pieces);
    assert_false(tell(&pieces, 400, 500, &told));
    explain(&pieces, 10, 200, 300); /* no request is expected any more */
    assert_int_equal(pieces.part_count, 0);
    wp_request_pieces_fini(&pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_request_is_whole_and_cut), cmocka_unit_test(windows_are_kept),
        cmocka_unit_test(what_has_a_gap_is_not_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
