/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads take two locks in opposite order, until somebody has enough of it. */
#include "zoo.h"

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, prices = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *reserve(void *arg)
{
    pthread_mutex_lock(&stock);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&prices);
    return arg;
}

static void *revalue(void *arg)
{
    pthread_mutex_lock(&prices);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&stock);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, reserve, NULL);
    pthread_create(&threads[1], NULL, revalue, NULL);
    if (!fork()) {
        sleep(2);
        return kill(getppid(), SIGINT);
    }
    pthread_join(threads[0], NULL);
    return 0;
}
