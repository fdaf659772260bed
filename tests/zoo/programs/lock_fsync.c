/* SPDX-License-Identifier: Apache-2.0 */
/* Four workers write a journal to the disk under the lock of a cache. */
#include "zoo.h"

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal;

static __attribute__((noinline)) void audit_log(void)
{
    static char page[65536];
    if (pwrite(journal, page, sizeof(page), 0) != (ssize_t)sizeof(page) || fsync(journal))
        abort();
}

static __attribute__((noinline)) void update_cache(void)
{
    pthread_mutex_lock(&cache_lock);
    audit_log();
    pthread_mutex_unlock(&cache_lock);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 600; i++)
        update_cache();
    return arg;
}

int main(void)
{
    journal = open("journal.log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    zoo_threads(4, worker);
    return 0;
}
