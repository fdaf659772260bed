/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads meet at a barrier; one of them comes late. */
#include "zoo.h"

static pthread_barrier_t all;

static __attribute__((noinline)) void merge_last(void)
{
    usleep(40000);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 50; i++) {
        if (arg)
            merge_last();
        pthread_barrier_wait(&all);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    pthread_barrier_init(&all, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, i == 3 ? &all : NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
