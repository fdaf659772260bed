/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_TXN_BODY_H
#define WP_STORAGE_ENV_TXN_BODY_H
/* The inside of a transaction, for the files that say which release of which store they could not read, or ask LMDB
 * themselves. */
#include "common/buffer.h"
#include "storage/env/store_body.h"
#include "storage/value/value.h"

struct wp_txn {
    struct wp_store *store;
    struct wp_env *env; /* entered */
    MDB_txn *mdb;
    MDB_dbi dbi;
    bool is_write;
    struct wp_buffer scratch; /* a value on its way in */
    struct wp_value_zstd zstd;
};

#endif
