/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregator's broker and collectors' questions, joined by hand: no socket, a clock of the test's own. */
#include "aggregator/daemon/symbol_broker.h"
#include "aggregator/daemon/symbol_cache.h"
#include "collector/symbols/fleet_names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define HOSTS 3u

struct fleet {
    struct wp_symbol_broker *broker;
    struct wp_symbol_cache *cache;
    struct wp_fleet_names *hosts[HOSTS];
    bool is_away[HOSTS];
    uint32_t from;
    uint64_t now_ms;
};

static const struct wp_build build = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 20};

static int to_host(void *context, uint32_t peer, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct fleet *f = context;
    if (peer >= HOSTS || f->is_away[peer])
        return -EHOSTUNREACH;
    wp_fleet_names_take(f->hosts[peer], type, raw, size);
    return 0;
}

static int to_broker(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct fleet *f = context;
    if (!f->is_away[f->from])
        assert_int_equal(
            wp_symbol_broker_take(f->broker, &(struct wp_symbol_frame){f->from, type, raw, size}, f->now_ms, NULL), 0);
    return 0;
}

static void to_cache(void *context, const uint8_t *raw, size_t size)
{
    struct fleet *f = context;
    wp_symbol_cache_add(f->cache, raw, size);
}

static void make_broker(struct fleet *f)
{
    f->broker =
        wp_symbol_broker_create(&(struct wp_symbol_broker_options){.send = to_host, .keep = to_cache, .context = f});
}

static int create(void **state)
{
    struct fleet *f = calloc(1, sizeof(*f));
    make_broker(f);
    for (uint32_t i = 0; i < HOSTS; i++) {
        f->hosts[i] = wp_fleet_names_create();
        wp_fleet_names_turn(f->hosts[i], true);
    }
    f->now_ms = 1000;
    *state = f;
    return 0;
}

static int destroy(void **state)
{
    struct fleet *f = *state;
    wp_symbol_broker_destroy(f->broker);
    wp_symbol_cache_close(f->cache);
    for (uint32_t i = 0; i < HOSTS; i++)
        wp_fleet_names_destroy(f->hosts[i]);
    free(f);
    return 0;
}

/* All say what they have to say, twice, for answers make questions. */
static void talk(struct fleet *f, uint64_t later_ms)
{
    f->now_ms += later_ms;
    for (unsigned i = 0; i < 2 * HOSTS; i++) {
        f->from = i % HOSTS;
        wp_fleet_names_pump(f->hosts[f->from], f->now_ms, to_broker, f);
    }
    wp_symbol_broker_step(f->broker, f->now_ms);
}

static void ask(struct fleet *f, uint32_t host, uint64_t offset, uint32_t ticket)
{
    assert_true(wp_fleet_names_ask(f->hosts[host], &build, 7, offset, ticket));
}

static struct wp_fleet_named answer_to(struct fleet *f, uint32_t host)
{
    struct wp_fleet_named named;
    assert_true(wp_fleet_names_next(f->hosts[host], &named));
    assert_true(wp_build_equals(&named.build, &build));
    return named;
}

static void nothing_for(struct fleet *f, uint32_t host)
{
    struct wp_fleet_named named;
    assert_false(wp_fleet_names_next(f->hosts[host], &named));
}

static void is_read_by(struct fleet *f, uint32_t host, uint64_t offset, uint32_t ticket)
{
    struct wp_fleet_named named = answer_to(f, host);
    assert_int_equal(named.reply, WP_FLEET_READ);
    assert_int_equal(named.offset, offset);
    assert_int_equal(named.ticket, ticket);
    assert_int_equal(named.object, 7);
}

static void tell(struct fleet *f, uint32_t host, uint64_t offset)
{
    char name[32];
    snprintf(name, sizeof(name), "f%llu", (unsigned long long)offset);
    struct wp_place_name place = {{{name, "a.c", 3}, {"inlined", "a.h", 9}}, 2};
    wp_fleet_names_tell(f->hosts[host], &build, offset, &place);
}

static void is_named(struct fleet *f, uint32_t host, uint64_t offset, uint32_t ticket)
{
    char name[32];
    snprintf(name, sizeof(name), "f%llu", (unsigned long long)offset);
    struct wp_fleet_named named = answer_to(f, host);
    assert_int_equal(named.reply, WP_FLEET_NAMED);
    assert_int_equal(named.ticket, ticket);
    assert_int_equal(named.place.count, 2);
    assert_string_equal(named.place.levels[0].function, name);
    assert_string_equal(named.place.levels[0].file, "a.c");
    assert_string_equal(named.place.levels[1].function, "inlined");
    assert_int_equal(named.place.levels[1].line, 9);
}

static void the_first_reads_for_all(void **state)
{
    struct fleet *f = *state;
    ask(f, 0, 100, 1);
    talk(f, 10);
    is_read_by(f, 0, 100, 1);
    tell(f, 0, 100);
    talk(f, 10);
    ask(f, 1, 100, 5); /* known */
    ask(f, 1, 200, 6); /* not yet: the reader is asked */
    assert_false(wp_fleet_names_are_settled(f->hosts[1]));
    talk(f, 10);
    is_named(f, 1, 100, 5);
    nothing_for(f, 1);
    struct wp_fleet_named wanted = answer_to(f, 0);
    assert_int_equal(wanted.reply, WP_FLEET_WANTED);
    assert_int_equal(wanted.offset, 200);
    tell(f, 0, 200);
    talk(f, 10);
    is_named(f, 1, 200, 6);
    assert_true(wp_fleet_names_are_settled(f->hosts[1]));
    struct wp_symbol_broker_counts counts = wp_symbol_broker_counts(f->broker);
    assert_int_equal(counts.readers, 1);
    assert_int_equal(counts.known, 1);
    assert_int_equal(counts.awaited, 1);
    assert_int_equal(counts.places, 2);
    assert_int_equal(counts.waiting, 0);
}

/* A reader that says nothing, one that is away, one that has not the object: who waits reads, and the others get it
 * from him. */
static void readers_are_replaced(void **state)
{
    struct fleet *f = *state;
    ask(f, 0, 100, 1);
    talk(f, 10);
    is_read_by(f, 0, 100, 1); /* and never tells */
    ask(f, 1, 100, 2);
    ask(f, 2, 200, 3);
    talk(f, 10);
    nothing_for(f, 1);
    nothing_for(f, 2);
    talk(f, 2000);
    is_read_by(f, 1, 100, 2);
    nothing_for(f, 2);
    struct wp_fleet_named wanted = answer_to(f, 1); /* what host 2 waits for */
    assert_int_equal(wanted.reply, WP_FLEET_WANTED);
    assert_int_equal(wanted.offset, 200);
    wp_fleet_names_tell(f->hosts[1], &build, 200, NULL); /* it has not the object any more */
    talk(f, 10);
    is_read_by(f, 2, 200, 3);
    tell(f, 2, 200);
    talk(f, 10);
    f->is_away[2] = true;
    ask(f, 0, 200, 8);
    ask(f, 0, 300, 9);
    talk(f, 10);
    is_named(f, 0, 200, 8);
    is_read_by(f, 0, 300, 9);
}

static void who_waits_too_long_reads(void **state)
{
    struct fleet *f = *state;
    f->is_away[0] = true;
    ask(f, 0, 100, 1);
    talk(f, 10);
    nothing_for(f, 0);
    talk(f, 3001);
    is_read_by(f, 0, 100, 1);
    ask(f, 0, 200, 2);
    wp_fleet_names_turn(f->hosts[0], false);
    is_read_by(f, 0, 200, 2);
    assert_false(wp_fleet_names_ask(f->hosts[0], &build, 7, 300, 3));
}

static void many_places(void **state)
{
    struct fleet *f = *state;
    for (uint32_t i = 0; i < 5000; i++)
        ask(f, 0, i, i);
    talk(f, 10);
    for (uint32_t i = 0; i < 5000; i++) {
        is_read_by(f, 0, i, i);
        tell(f, 0, i);
    }
    talk(f, 10);
    for (uint32_t i = 0; i < 5000; i++)
        ask(f, 1, i, i);
    talk(f, 10);
    for (uint32_t i = 0; i < 5000; i++)
        is_named(f, 1, i, i);
    nothing_for(f, 1);
}

/* What is out of bounds is refused and counted, and nobody waits for ever. */
static void hostile(void **state)
{
    struct fleet *f = *state;
    struct wp_buffer raw = {0};
    static uint64_t offsets[WP_NAME_PLACES + 1];
    struct wp_name_question q = {.id = 1, .build = build, .offsets = offsets, .count = WP_NAME_PLACES + 1};
    assert_int_equal(wp_name_question_encode(&q, &raw, NULL), 0);
    assert_int_equal(wp_symbol_broker_take(
                         f->broker, &(struct wp_symbol_frame){0, WP_FRAME_NAME_QUESTION, raw.data, raw.size}, 1, NULL),
        -EINVAL);
    wp_buffer_clear(&raw);
    q = (struct wp_name_question){.id = 1, .offsets = offsets, .count = 1}; /* of no object */
    assert_int_equal(wp_name_question_encode(&q, &raw, NULL), 0);
    assert_int_equal(wp_symbol_broker_take(
                         f->broker, &(struct wp_symbol_frame){0, WP_FRAME_NAME_QUESTION, raw.data, raw.size}, 1, NULL),
        -EINVAL);
    wp_buffer_clear(&raw);
    struct wp_name_row row = {5, 0, 17};
    struct wp_name_level levels[17];
    for (unsigned i = 0; i < 17; i++)
        levels[i] = (struct wp_name_level){"f", "", 0};
    struct wp_name_answer a = {.build = build, .rows = &row, .row_count = 1, .levels = levels, .level_count = 17};
    assert_int_equal(wp_name_answer_encode(&a, &raw, NULL), 0);
    assert_int_equal(wp_symbol_broker_take(
                         f->broker, &(struct wp_symbol_frame){0, WP_FRAME_NAME_ANSWER, raw.data, raw.size}, 1, NULL),
        -EINVAL);
    wp_buffer_clear(&raw);
    row.count = 2; /* a level that belongs to no place */
    a.level_count = 3;
    assert_int_equal(wp_name_answer_encode(&a, &raw, NULL), 0);
    assert_int_equal(wp_symbol_broker_take(
                         f->broker, &(struct wp_symbol_frame){0, WP_FRAME_NAME_ANSWER, raw.data, raw.size}, 1, NULL),
        -EINVAL);
    wp_buffer_clear(&raw);
    a.level_count = 2;
    assert_int_equal(wp_name_answer_encode(&a, &raw, NULL), 0);
    for (size_t cut = 0; cut < raw.size; cut++) {
        wp_symbol_broker_take(f->broker, &(struct wp_symbol_frame){0, WP_FRAME_NAME_ANSWER, raw.data, cut}, 1, NULL);
        wp_fleet_names_take(f->hosts[0], WP_FRAME_NAME_ANSWER, raw.data, cut);
    }
    memset(&a, 0xab, sizeof(a)); /* one that is no message leaves nothing behind that would be freed */
    assert_int_equal(wp_name_answer_decode(&a, (const uint8_t *)"\xff\xff", 2, NULL), -EINVAL);
    wp_name_answer_fini(&a);
    assert_true(wp_symbol_broker_counts(f->broker).refused >= 4);
    nothing_for(f, 0);
    wp_buffer_fini(&raw);
}

/* Who was not told to read an object does not name what others see of it. */
static void only_the_reader_is_believed(void **state)
{
    struct fleet *f = *state;
    struct wp_buffer raw = {0};
    struct wp_name_row row = {100, 0, 1};
    struct wp_name_level level = {"planted", "x.c", 1};
    struct wp_name_answer a = {.build = build, .rows = &row, .row_count = 1, .levels = &level, .level_count = 1};
    assert_int_equal(wp_name_answer_encode(&a, &raw, NULL), 0);
    assert_int_equal(wp_symbol_broker_take(
                         f->broker, &(struct wp_symbol_frame){1, WP_FRAME_NAME_ANSWER, raw.data, raw.size}, 1, NULL),
        0); /* before anybody asked */
    ask(f, 0, 100, 1);
    talk(f, 10);
    is_read_by(f, 0, 100, 1);
    assert_int_equal(wp_symbol_broker_take(
                         f->broker, &(struct wp_symbol_frame){1, WP_FRAME_NAME_ANSWER, raw.data, raw.size}, 1, NULL),
        0); /* while another reads */
    assert_int_equal(wp_symbol_broker_counts(f->broker).places, 0);
    tell(f, 0, 100);
    ask(f, 2, 100, 2);
    talk(f, 10);
    is_named(f, 2, 100, 2);
    wp_buffer_fini(&raw);
}

/* The aggregator ends and begins anew, in the same folder. */
static void restart(struct fleet *f, const char *folder)
{
    struct wp_error err = {0};
    wp_symbol_cache_close(f->cache);
    f->cache = NULL;
    wp_symbol_broker_destroy(f->broker);
    make_broker(f);
    if (wp_symbol_cache_open(&f->cache, folder, "s", f->broker, NULL, &err))
        fail_msg("%s", err.text);
}

static void a_restart_forgets_nothing(void **state)
{
    struct fleet *f = *state;
    char folder[] = "/tmp/wp-names-XXXXXX", path[64];
    struct stat st;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/~names.s", folder);
    restart(f, folder);
    for (uint32_t i = 0; i < 1200; i++)
        ask(f, 0, i, i);
    talk(f, 10);
    for (uint32_t i = 0; i < 1200; i++) {
        is_read_by(f, 0, i, i);
        tell(f, 0, i);
    }
    talk(f, 10);
    assert_int_equal(wp_symbol_broker_counts(f->broker).places, 1200);
    restart(f, folder);
    for (uint32_t i = 0; i < 1200; i++)
        ask(f, 1, i, i);
    ask(f, 1, 5000, 5000);
    talk(f, 10);
    for (uint32_t i = 0; i < 1200; i++)
        is_named(f, 1, i, i);
    is_read_by(f, 1, 5000, 5000); /* what nobody has told before: he is the reader now */
    struct wp_symbol_broker_counts counts = wp_symbol_broker_counts(f->broker);
    assert_int_equal(counts.known, 1200);
    assert_int_equal(counts.readers, 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 5), 0); /* torn: the last answer is lost, those before it are there */
    restart(f, folder);
    uint32_t left = wp_symbol_broker_counts(f->broker).places;
    assert_true(left >= 512 && left < 1200);
    tell(f, 1, 5000); /* of one who was not told to read it since */
    talk(f, 10);
    assert_int_equal(wp_symbol_broker_counts(f->broker).places, left);
    ask(f, 2, 6000, 1);
    talk(f, 10);
    is_read_by(f, 2, 6000, 1);
    tell(f, 2, 6000);
    talk(f, 10);
    restart(f, folder); /* what was appended behind the torn end is there */
    assert_int_equal(wp_symbol_broker_counts(f->broker).places, left + 1);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_reads_for_all, create, destroy),
        cmocka_unit_test_setup_teardown(readers_are_replaced, create, destroy),
        cmocka_unit_test_setup_teardown(who_waits_too_long_reads, create, destroy),
        cmocka_unit_test_setup_teardown(many_places, create, destroy),
        cmocka_unit_test_setup_teardown(a_restart_forgets_nothing, create, destroy),
        cmocka_unit_test_setup_teardown(hostile, create, destroy),
        cmocka_unit_test_setup_teardown(only_the_reader_is_believed, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
