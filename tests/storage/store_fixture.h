/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_STORAGE_STORE_FIXTURE_H
#define WP_TESTS_STORAGE_STORE_FIXTURE_H
/* A store in a folder of its own for one test, and a transaction or report in one call; failures fail the test. */
#include "made_report.h"

#include "storage/env/store.h"
#include "storage/kind/selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

struct fixture {
    char root[64];
    struct wp_store *store;
};

int fixture_setup(void **state);
int fixture_teardown(void **state);
struct wp_txn *fixture_begin(struct fixture *fixture, const char *release, bool write);
void fixture_commit(struct wp_txn *txn);
/* A report of one cell: `ns` on the stack "[p];name". */
struct wp_report *fixture_report(const char *name, uint64_t ns);
/* Registers the shard and adds such a report, in a transaction of its own. */
void fixture_add(
    struct fixture *fixture, const char *release, const char *shard, uint64_t timebox_s, const char *name, uint64_t ns);
/* The canonical bytes of an aggregate's merged reports; damage is counted in *damaged (NULL: there must be none). */
struct wp_buffer fixture_read(
    struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection, size_t *damaged);
uint64_t fixture_total(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection);
size_t fixture_count(struct wp_txn *txn, const char *prefix);
/* Replaces what is stored under a key by other bytes, header and all. */
void fixture_store_bytes(struct fixture *fixture, const char *release, const char *key, const void *bytes, size_t size);
/* Flips a byte in the middle of a stored body. */
void fixture_damage(struct fixture *fixture, const char *release, const char *key);

#endif
