/* SPDX-License-Identifier: Apache-2.0 */
/* Eight workers share two connections, handed out under a lock and a condition. */
#include "zoo.h"

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t is_free;
    unsigned count;
};

static __attribute__((noinline)) void run_query(void)
{
    usleep(10000);
}

static __attribute__((noinline)) void checkout_connection(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!pool->count)
        pthread_cond_wait(&pool->is_free, &pool->lock);
    pool->count--;
    pthread_mutex_unlock(&pool->lock);
}

static __attribute__((noinline)) void return_connection(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->count++;
    pthread_cond_signal(&pool->is_free);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 40; i++) {
        checkout_connection(arg);
        run_query();
        return_connection(arg);
    }
    return arg;
}

int main(void)
{
    pthread_t threads[8];
    struct pool *pool = calloc(1, sizeof(*pool));
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->is_free, NULL);
    pool->count = 2;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, worker, pool);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    free(pool);
    return 0;
}
