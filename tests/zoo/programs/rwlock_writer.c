/* SPDX-License-Identifier: Apache-2.0 */
/* Readers wait for a configuration that is read anew under the writer's lock. */
#include "zoo.h"

static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile int is_over;

static __attribute__((noinline)) void reload_config(void)
{
    pthread_rwlock_wrlock(&config_lock);
    usleep(90000);
    pthread_rwlock_unlock(&config_lock);
}

static void *reloader(void *arg)
{
    while (!is_over) {
        reload_config();
        usleep(5000);
    }
    return arg;
}

static __attribute__((noinline)) void read_config(void)
{
    pthread_rwlock_rdlock(&config_lock);
    pthread_rwlock_unlock(&config_lock);
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, reloader, NULL);
    usleep(2000);
    for (int i = 0; i < 20; i++) {
        read_config();
        usleep(6000);
    }
    is_over = 1;
    pthread_join(thread, NULL);
    return 0;
}
