/* SPDX-License-Identifier: Apache-2.0 */
#include "store_fixture.h"

#include "common/path.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_read.h"

int fixture_setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    snprintf(fixture->root, sizeof(fixture->root), "/tmp/wp-store-test-XXXXXX");
    if (!mkdtemp(fixture->root) || wp_store_open(&fixture->store, fixture->root, true, NULL))
        return -1;
    *state = fixture;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;
    wp_store_close(fixture->store);
    int rc = wp_path_remove(fixture->root, NULL);
    free(fixture);
    return rc;
}

struct wp_txn *fixture_begin(struct fixture *fixture, const char *release, bool write)
{
    struct wp_error err = {0};
    struct wp_txn *txn = NULL;
    if (wp_txn_begin(&txn, fixture->store, release, write, &err))
        fail_msg("%s", err.text);
    return txn;
}

void fixture_commit(struct wp_txn *txn)
{
    struct wp_error err = {0};
    if (wp_txn_commit(txn, &err))
        fail_msg("%s", err.text);
}

struct wp_report *fixture_report(const char *name, uint64_t ns)
{
    struct wp_report *report = wp_report_create();
    uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, "[p]", ""));
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_USER, name, "libp.so"));
    wp_report_add(report, node, WP_UNDERSTOOD_FUNCTIONS, ns, 1);
    wp_report_activity(report, 1000, 1000 + ns);
    wp_report_host(report, "h");
    return report;
}

void fixture_add(
    struct fixture *fixture, const char *release, const char *shard, uint64_t timebox_s, const char *name, uint64_t ns)
{
    struct wp_txn *txn = fixture_begin(fixture, release, true);
    struct wp_report *report = fixture_report(name, ns);
    assert_int_equal(wp_txn_register_shard(txn, shard, NULL), 0);
    assert_int_equal(
        wp_txn_add_host_report(txn, &(struct wp_report_place){"main", timebox_s, shard, NULL}, report, NULL), 0);
    fixture_commit(txn);
    wp_report_destroy(report);
}

struct wp_buffer fixture_read(
    struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection, size_t *damaged)
{
    struct wp_report_reading reading;
    struct wp_error err = {0};
    struct wp_buffer bytes = {0};
    if (wp_txn_read_report(txn, aggregate, selection, &reading, &err))
        fail_msg("%s", err.text);
    if (damaged)
        *damaged = reading.damage_count;
    else
        assert_int_equal(reading.damage_count, 0);
    assert_int_equal(wp_report_encode(reading.report, &bytes, NULL), 0);
    wp_report_destroy(reading.report);
    wp_damage_free(reading.damage, reading.damage_count);
    return bytes;
}

uint64_t fixture_total(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection)
{
    struct wp_report *report;
    struct wp_buffer bytes = fixture_read(txn, aggregate, selection, NULL);
    assert_int_equal(wp_report_decode(&report, bytes.data, bytes.size, NULL), 0);
    uint64_t total = wp_report_total(report);
    wp_report_destroy(report);
    wp_buffer_fini(&bytes);
    return total;
}

static int count_key(void *context, const char *key, size_t size)
{
    (void)key, (void)size;
    ++*(size_t *)context;
    return 0;
}

size_t fixture_count(struct wp_txn *txn, const char *prefix)
{
    size_t count = 0;
    assert_int_equal(wp_txn_visit(txn, prefix, count_key, &count, NULL), 0);
    return count;
}

void fixture_store_bytes(struct fixture *fixture, const char *release, const char *key, const void *bytes, size_t size)
{
    struct wp_txn *txn = fixture_begin(fixture, release, true);
    MDB_val k = {strlen(key), (void *)(uintptr_t)key}, v = {size, (void *)(uintptr_t)bytes};
    assert_int_equal(mdb_put(txn->mdb, txn->dbi, &k, &v, 0), 0);
    fixture_commit(txn);
}

void fixture_damage(struct fixture *fixture, const char *release, const char *key)
{
    const uint8_t *bytes;
    size_t size;
    struct wp_txn *txn = fixture_begin(fixture, release, false);
    assert_int_equal(wp_txn_stored(txn, key, &bytes, &size, NULL), 0);
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    wp_txn_abort(txn);
    copy[WP_VALUE_HEADER + (size - WP_VALUE_HEADER) / 2] ^= 0x55;
    fixture_store_bytes(fixture, release, key, copy, size);
    free(copy);
}
