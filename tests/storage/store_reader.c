/* SPDX-License-Identifier: Apache-2.0 */
/* store_reader ROOT RELEASE: opens a read transaction, says "reading", and stays. */
#include "storage/env/store.h"
#include "storage/env/txn.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct wp_store *store;
    struct wp_txn *txn;
    if (argc != 3 || wp_store_open(&store, argv[1], false, NULL) || wp_txn_begin(&txn, store, argv[2], false, NULL))
        return 1;
    puts("reading");
    fflush(stdout);
    pause();
    return 0;
}
