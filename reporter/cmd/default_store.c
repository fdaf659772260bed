/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/default_store.h"

#include <stddef.h>
#include <sys/stat.h>

const char *wp_default_store(void)
{
    static const char *const store = "wakepath-report/store";
    struct stat st;
    return !stat(store, &st) && S_ISDIR(st.st_mode) ? store : NULL;
}
