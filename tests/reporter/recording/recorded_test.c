/* SPDX-License-Identifier: Apache-2.0 */
/* Several commands recorded into one release: each is a report of its own, with its own words, and is compared with
 * itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/path.h"
#include "reporter/compare/operand.h"
#include "reporter/export/format_json.h"
#include "reporter/export/format_perun.h"
#include "reporter/load/facts_read.h"
#include "reporter/recording/recorded_title.h"
#include "storage/env/txn.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    char folder[64], root[96];
    struct wp_stores stores;
};

static void note(struct wp_txn *txn, const char *aggregate, const char *key, const char *value)
{
    const struct wp_metadata_scope scope = {.aggregate = aggregate};
    assert_int_equal(
        wp_txn_set_metadata(txn, &scope, &(struct wp_metadata_writer){"s1", 1790000000}, key, value, NULL), 0);
}

/* One recording of a command, of so much time. */
static void record(const char *root, const char *release, const char *command, const char *workload, uint64_t ns)
{
    const struct wp_bucket bucket = {.selector = "command", .command = command, .workload = workload};
    struct wp_report *report = wp_report_create();
    struct wp_bucket_fact facts[WP_BUCKET_FACTS];
    struct wp_resume session = {.session = {(uint8_t)*release, (uint8_t)strlen(command), (uint8_t)(workload != NULL)},
        .hostname = "web-1",
        .seq = 1,
        .ended = true};
    struct wp_error err = {0};
    struct wp_store *store;
    struct wp_txn *txn;
    char name[WP_ID_ROOM];
    wp_bucket_facts(facts, "main", &bucket);
    wp_bucket_name(name, facts);
    wp_report_host(report, "web-1");
    wp_report_add_at(
        report, sample_node(report, "[sh];main@sh"), WP_UNDERSTOOD_FUNCTIONS, 1000000000000, 1000000000000 + ns);
    if (sample_put(root, release, name, 1000, report, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(wp_store_open(&store, root, true, &err), 0);
    assert_int_equal(wp_txn_begin(&txn, store, release, true, &err), 0);
    assert_int_equal(wp_bucket_put(txn, "s1", facts, 1790000000, &err), 0);
    assert_int_equal(wp_txn_put_resume(txn, "s1", &session, &err), 0);
    note(txn, NULL, "recorded.command", "the last one");
    note(txn, name, "recorded.command", command);
    note(txn, name, "recorded.exit", "3");
    note(txn, name, "recorded.user_ns", "7000");
    note(txn, name, "recorded.times", "1");
    assert_int_equal(wp_txn_commit(txn, &err), 0);
    wp_store_close(store);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    const char *roots[1];
    struct wp_error err = {0};
    snprintf(place->folder, sizeof(place->folder), "/tmp/wakepath-recorded-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->root, sizeof(place->root), "%s/root", place->folder);
    record(place->root, "v1", "sort 'a b'", "big", 300);
    record(place->root, "v1", "/usr/bin/ls -l /", NULL, 900);
    record(place->root, "v2", "sort 'a b'", "big", 5000);
    record(place->root, "v2", "/usr/bin/ls -l /", NULL, 400);
    record(place->root, "v2", "make", NULL, 100);
    record(place->root, "v3", "/usr/bin/ls -l /", NULL, 100);
    roots[0] = place->root;
    if (wp_stores_open(&place->stores, roots, 1, &err))
        fail_msg("%s", err.text);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_stores_close(&place->stores);
    wp_path_remove(place->folder, NULL);
    free(place);
    return 0;
}

static void has(struct wp_buffer *text, const char *wanted)
{
    wp_buffer_putc(text, 0);
    text->size--;
    if (!strstr((const char *)text->data, wanted))
        fail_msg("no %s in %s", wanted, (const char *)text->data);
}

static void each_has_its_own_words(void **state)
{
    struct place *place = *state;
    struct wp_snapshot snapshot;
    struct wp_facts facts;
    struct wp_buffer perun = {0}, json = {0};
    char name[WP_ID_ROOM];
    const struct wp_bucket bucket = {.selector = "command", .command = "sort 'a b'", .workload = "big"};
    struct wp_bucket_fact keys[WP_BUCKET_FACTS];
    wp_bucket_facts(keys, "main", &bucket);
    wp_bucket_name(name, keys);
    assert_int_equal(wp_snapshot_begin(&snapshot, &place->stores, "v1", NULL), 0);
    assert_int_equal(wp_facts_read(&facts, &snapshot, name, NULL, NULL), 0);
    assert_true(facts.is_command);
    assert_int_equal(facts.recordings, 1); /* the release has two */
    assert_string_equal(wp_recorded_title(&facts.pool, &facts), "sort 'a b'");
    assert_string_equal(wp_recorded_what(&facts.pool, &facts), "sort 'a b', workload big");
    assert_int_equal(wp_format_perun(&perun, &facts, NULL), 0);
    has(&perun, "\"cmd\":\"sort\",\"args\":\"'a b'\",\"workload\":\"big\"");
    assert_int_equal(wp_format_json(&json, &facts, NULL), 0);
    has(&json, "\"line\": \"sort 'a b'\"");
    has(&json, "\"exit_status\": 3");
    has(&json, "\"user_ns\": 7000");
    wp_buffer_fini(&perun);
    wp_buffer_fini(&json);
    wp_facts_fini(&facts);
    wp_snapshot_end(&snapshot);
}

/* (total of the older, of the newer) of what is compared when nobody says which. */
static void compared(struct place *place, const char *before, const char *after, const char *asked, uint64_t wanted[2])
{
    struct wp_operand_spec spec[2] = {{.since_s = 0}};
    struct wp_facts facts[2];
    struct wp_error err = {0};
    snprintf(spec[0].release, sizeof(spec[0].release), "%s", before);
    snprintf(spec[1].release, sizeof(spec[1].release), "%s", after);
    if (wp_operands_read(facts, &place->stores, spec, asked, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(facts[i].total_ns, wanted[i]);
        wp_facts_fini(&facts[i]);
    }
}

static void each_is_compared_with_itself(void **state)
{
    struct place *place = *state;
    compared(place, "v1", "v2", NULL, (uint64_t[]){300, 5000});  /* the newer one's largest, not each one's own */
    compared(place, "v1", "v3", NULL, (uint64_t[]){900, 100});   /* the older one has several: the same command */
    compared(place, "v1", "v3", "main", (uint64_t[]){900, 100}); /* and by a name that is only there the only one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(each_has_its_own_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_is_compared_with_itself, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
