/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that is listed is one thread, however much of it was told before. */
#include "collector/batch/thread_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define START_NS 1000u

static const struct wp_fact listed = {.tid = 22, .pid = 20, .comm = "worker", .start_ns = START_NS};

struct table {
    struct wp_dict_writer *dict;
    struct wp_thread_table *threads;
};

static struct table create(void)
{
    struct table t = {.dict = wp_dict_writer_create()};
    assert_int_equal(wp_thread_table_create(&t.threads, &(struct wp_thread_table_options){.dict = t.dict}, NULL), 0);
    return t;
}

static void destroy(struct table *t)
{
    wp_thread_table_destroy(t->threads);
    wp_dict_writer_destroy(t->dict);
}

static void listed_first(void **state)
{
    (void)state;
    struct table t = create();
    uint32_t id = wp_thread_table_existing(t.threads, &listed);
    assert_int_equal(wp_thread_table_id(t.threads, 22, 20, NULL), id);
    assert_int_equal(wp_thread_table_existing(t.threads, &listed), id);
    destroy(&t);
}

static void met_before_it_is_listed(void **state)
{
    (void)state;
    struct table t = create();
    uint32_t id = wp_thread_table_id(t.threads, 22, 20, "worker");
    assert_int_equal(wp_thread_table_existing(t.threads, &listed), id);
    destroy(&t);
}

/* The number is another thread's now: of another process, or one that began later. */
static void another_one(void **state)
{
    (void)state;
    struct table t = create();
    struct wp_fact later = listed, elsewhere = listed;
    later.start_ns++;
    elsewhere.pid = elsewhere.tid;
    uint32_t id = wp_thread_table_existing(t.threads, &listed), next = wp_thread_table_existing(t.threads, &later);
    assert_int_not_equal(next, id);
    wp_thread_table_dead(t.threads, listed.tid);
    id = wp_thread_table_id(t.threads, listed.tid, listed.pid, "worker");
    assert_int_not_equal(wp_thread_table_existing(t.threads, &elsewhere), id);
    destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_first), cmocka_unit_test(met_before_it_is_listed), cmocka_unit_test(another_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
