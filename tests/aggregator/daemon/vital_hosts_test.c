/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of hosts when there are more than there is room for, and when they say each other's names. */
#include "aggregator/daemon/vital_hosts.h"
#include "common/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the ones above */
#include <cmocka.h>

#define S 1000000000ull

struct place {
    char root[64];
    struct wp_engine *engine;
    struct wp_vital_hosts *hosts;
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    struct wp_engine_options options = WP_ENGINE_DEFAULTS;
    struct wp_error err = {0};
    snprintf(place->root, sizeof(place->root), "/tmp/wp-vital-hosts-%d", (int)getpid());
    options.store = place->root;
    assert_int_equal(wp_engine_create(&place->engine, &options, NULL, &err), 0);
    place->hosts = wp_vital_hosts_create();
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_vital_hosts_destroy(place->hosts);
    wp_engine_destroy(place->engine);
    wp_path_remove(place->root, NULL);
    free(place);
    return 0;
}

static void greet(struct place *place, uint32_t number, const char *name)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t)name, .start_real_ns = 5 * S};
    struct wp_welcome welcome;
    struct wp_error err = {0};
    memcpy(hello.host, &number, sizeof(number));
    memcpy(hello.session, &number, sizeof(number));
    hello.host[15] = hello.session[15] = 1;
    assert_int_equal(wp_engine_hello(place->engine, number, &hello, &welcome, &err), 0);
}

static void leave(struct place *place, uint32_t number)
{
    struct wp_error err = {0};
    assert_int_equal(wp_engine_bye(place->engine, number, 0, &err), 0);
    assert_int_equal(wp_engine_commit(place->engine, 0, 1, true, &err), 0);
}

static size_t lines(const struct wp_buffer *text, const char *begin)
{
    size_t count = 0;
    for (const char *at = (const char *)text->data; at && (at = strstr(at, begin)); at++)
        count += at == (const char *)text->data || at[-1] == '\n';
    return count;
}

static void say(struct place *place, struct wp_buffer *text, uint64_t now_ns)
{
    wp_buffer_clear(text);
    wp_vital_hosts_look(place->hosts, place->engine, now_ns, now_ns);
    wp_vital_hosts_put(place->hosts, text);
    assert_false(text->failed);
}

/* Prometheus takes no two lines of one name and labels. */
static void one_name(void **state)
{
    struct place *place = *state;
    struct wp_buffer text = {0};
    greet(place, 0x01, "web");
    greet(place, 0x02, "web");
    greet(place, 0x03, "web#02000000");
    greet(place, 0x04, "");
    say(place, &text, 10 * S);
    assert_int_equal(wp_vital_hosts_sums(place->hosts)->hosts, 4);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{"), 4);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{host=\"web\"} 1\n"), 1);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{host=\"web#02000000\"} 1\n"), 1);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{host=\"web?02000000\"} 1\n"), 1);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{host=\"unknown\"} 1\n"), 1);

    leave(place, 0x01); /* its line stays for a while, and the name with it */
    say(place, &text, 20 * S);
    assert_int_equal(wp_vital_hosts_sums(place->hosts)->hosts, 3);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{host=\"web\"} 0\n"), 1);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_silence_seconds{host=\"web\"}"), 0);
    greet(place, 0x05, "web");
    say(place, &text, 30 * S);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{host=\"web#05000000\"} 1\n"), 1);
    say(place, &text, 700 * S);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{host=\"web\"}"), 0);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{"), 4);
    wp_buffer_fini(&text);
}

static void too_many(void **state)
{
    struct place *place = *state;
    struct wp_buffer text = {0};
    for (uint32_t i = 1; i <= WP_VITAL_HOSTS + 6; i++) {
        char name[32];
        snprintf(name, sizeof(name), "h%u", i);
        greet(place, i, name);
    }
    say(place, &text, 10 * S);
    assert_int_equal(wp_vital_hosts_sums(place->hosts)->hosts, WP_VITAL_HOSTS + 6);
    assert_int_equal(wp_vital_hosts_sums(place->hosts)->unlisted_hosts, 6);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{"), WP_VITAL_HOSTS);
    for (uint32_t i = 1; i <= 10; i++)
        leave(place, i);
    say(place, &text, 20 * S);
    assert_int_equal(wp_vital_hosts_sums(place->hosts)->unlisted_hosts, 6);
    say(place, &text, 700 * S); /* rows of those that left are free, and taken at the next look at the latest */
    say(place, &text, 701 * S);
    assert_int_equal(wp_vital_hosts_sums(place->hosts)->unlisted_hosts, 0);
    assert_int_equal(lines(&text, "wakepath_aggregator_host_sessions{"), WP_VITAL_HOSTS - 4);
    wp_buffer_fini(&text);
}

/* A batch says the time of day: when that moved and the clock did not, the clock stood still, or the day was set. */
static void a_clock_stood_still(void **state)
{
    static const struct {
        uint64_t clock_ns, day_ns;
        const char *line;
    } batches[] = {{10 * S, 1000 * S, "wakepath_aggregator_host_clock_steps_total{host=\"web\"} 0\n"},
        {11 * S, 1001 * S + S / 20,
            "wakepath_aggregator_host_clock_steps_total{host=\"web\"} 0\n"},                  /* a busy machine */
        {1011 * S, 2002 * S, "wakepath_aggregator_host_clock_steps_total{host=\"web\"} 0\n"}, /* a bad crystal */
        {1012 * S, 5003 * S, "wakepath_aggregator_host_clock_steps_total{host=\"web\"} 1\n"},
        {1013 * S, 4000 * S, "wakepath_aggregator_host_clock_steps_total{host=\"web\"} 2\n"}};
    struct place *place = *state;
    struct wp_buffer text = {0};
    greet(place, 1, "web");
    for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
        struct wp_batch batch = {
            .seq = i + 1, .anchor_mono_ns = batches[i].clock_ns, .anchor_real_ns = batches[i].day_ns};
        assert_int_equal(wp_host_session_take(wp_engine_session(place->engine, 0), &batch, NULL), 0);
        say(place, &text, S);
        assert_non_null(strstr((const char *)text.data, batches[i].line));
    }
    wp_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(a_clock_stood_still, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
