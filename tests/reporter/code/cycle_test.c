/* SPDX-License-Identifier: Apache-2.0 */
/* Links between the members of a cycle, over all stacks and by context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/code/calls.h"
#include "reporter/code/cycle.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page_parts.h"
#include "storage/report/report_read.h"
#include "tests/reporter/sample.h"

#include <stdlib.h>
#include <string.h>

static void build(struct wp_facts *facts, const char *const *stacks, size_t count)
{
    struct wp_report *report = wp_report_create();
    for (size_t i = 0; i < count; i++)
        wp_report_add(report, sample_node(report, stacks[i]), WP_UNDERSTOOD_FUNCTIONS, 1u << (4 * i), 1);
    assert_int_equal(wp_facts_build(facts, "v1", "main", report, NULL, NULL), 0);
}

static uint64_t time_between(
    const struct wp_facts *facts, const struct wp_cycle_link *links, uint32_t count, const char *from, const char *to)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(wp_facts_frame_name(facts, links[i].from), from) &&
            !strcmp(wp_facts_frame_name(facts, links[i].to), to))
            return links[i].ns;
    return 0;
}

/* The first cycle of functions, or the frames of those names. */
static void make(struct wp_cycle *cycle, struct wp_facts *facts, const char *const *processes)
{
    uint32_t frames;
    bool *is_member;
    struct wp_calls calls;
    wp_report_frames(facts->report, &frames);
    is_member = calloc(frames + 1u, sizeof(*is_member));
    assert_int_equal(wp_calls_build(&calls, facts, NULL), 0);
    for (uint32_t i = 1; i < frames; i++)
        for (size_t at = 0; processes ? at < 2 : !at; at++)
            is_member[i] |= processes ? !strcmp(wp_facts_frame_name(facts, i), processes[at]) : calls.clique[i] == 1;
    wp_cycle_build(cycle, &facts->pool, facts, &(struct wp_cycle_members){is_member, processes != NULL});
    assert_false(facts->pool.failed);
    wp_calls_fini(&calls);
    free(is_member);
}

/* main and other call walk; walk calls itself, and visit, which calls it. */
static void functions_by_context(void **state)
{
    static const char *const stacks[] = {"[p];main;walk", "[p];main;walk;walk;leaf",
        "[p];main;walk;visit;walk;visit;leaf", "[p];main;other;walk", "[p];main", "[p];main;other;visit;walk"};
    struct wp_facts facts;
    struct wp_cycle cycle;
    (void)state;
    build(&facts, stacks, 6);
    make(&cycle, &facts, NULL);
    assert_int_equal(cycle.ns, 0x101111);
    assert_int_equal(cycle.link_count, 3);
    assert_int_equal(
        time_between(&facts, cycle.links, 3, "walk", "visit"), 0x100); /* once, though twice on the stack */
    assert_int_equal(time_between(&facts, cycle.links, 3, "visit", "walk"), 0x100100);
    assert_int_equal(time_between(&facts, cycle.links, 3, "walk", "walk"), 0x10);
    assert_int_equal(cycle.context_count, 3);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const struct wp_cycle_context *context = &cycle.contexts[i];
        sum += context->ns;
        assert_true(!i || context->ns <= context[-1].ns);
        if (context->ns == 0x111) { /* main, walk */
            assert_int_equal(time_between(&facts, context->links, context->link_count, "visit", "walk"), 0x100);
            assert_int_equal(time_between(&facts, context->links, context->link_count, "walk", "walk"), 0x10);
        } else if (context->ns == 0x1000) { /* other, walk */
            assert_int_equal(context->link_count, 0);
        } else {
            assert_int_equal(time_between(&facts, context->links, context->link_count, "visit", "walk"), 0x100000);
            assert_int_equal(context->link_count, 1);
        }
    }
    assert_int_equal(sum, cycle.ns);
    wp_facts_fini(&facts);
}

/* a waits for b, which waits for a: what a does itself is not in the cycle. */
static void processes_by_context(void **state)
{
    static const char *const stacks[] = {"[a];f", "[a];f;sleep:x;[b];g", "[a];f;sleep:x;[b];g;sleep:y;[a];h",
        "[a];f;sleep:x;[b];g;sleep:y;[a];h;sleep:x;[b];g", "[c];k;sleep:z;[b];g;sleep:y;[a];h"};
    static const char *const names[] = {"[a]", "[b]"};
    struct wp_facts facts;
    struct wp_cycle cycle;
    (void)state;
    build(&facts, stacks, 5);
    make(&cycle, &facts, names);
    assert_int_equal(cycle.ns, 0x11110);
    assert_int_equal(cycle.link_count, 2);
    assert_int_equal(time_between(&facts, cycle.links, 2, "[a]", "[b]"), 0x1110);
    assert_int_equal(time_between(&facts, cycle.links, 2, "[b]", "[a]"), 0x11100);
    assert_int_equal(cycle.context_count, 2);
    assert_int_equal(cycle.contexts[0].ns, 0x10000);
    assert_int_equal(cycle.contexts[1].ns, 0x1110);
    assert_int_equal(time_between(&facts, cycle.contexts[1].links, cycle.contexts[1].link_count, "[b]", "[a]"), 0x1100);
    wp_facts_fini(&facts);
}

static void each_cycle_has_a_page(void **state)
{
    static const char *const stacks[] = {"[a];walk;walk;sleep:x;[b];g", "[a];walk;sleep:x;[b];g;sleep:y;[a];h"};
    struct wp_facts facts;
    struct wp_page_parts parts;
    struct wp_error err = {0};
    unsigned seen[WP_PAGES] = {0};
    (void)state;
    build(&facts, stacks, 2);
    assert_int_equal(wp_page_parts_build(&parts, &facts, &err), 0);
    for (unsigned number = 1; number <= wp_page_parts_count(&parts); number++) {
        struct wp_display display;
        wp_display_init(&display, &(struct wp_page_id){WP_PAGE_FUNCTION, "v1", "main"});
        assert_int_equal(wp_page_parts_page(&display, &parts, number, &err), 0);
        seen[display.page_id.page]++;
        assert_int_equal(display.part, seen[display.page_id.page]);
        wp_display_fini(&display);
    }
    assert_int_equal(seen[WP_PAGE_CYCLE], 1);
    assert_int_equal(seen[WP_PAGE_WAIT_CYCLE], 1);
    wp_page_parts_fini(&parts);
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_by_context), cmocka_unit_test(processes_by_context),
        cmocka_unit_test(each_cycle_has_a_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
