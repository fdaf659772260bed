/* SPDX-License-Identifier: Apache-2.0 */
/* Eight workers share two connections, handed from one to the next in turn under a lock and a condition each. */
#include "zoo.h"

#define WORKERS 8

struct waiter {
    pthread_cond_t is_served;
    int has_connection;
    struct waiter *next;
};

struct pool {
    pthread_mutex_t lock;
    unsigned count;
    struct waiter *first, **last; /* those that wait, in turn: nobody who comes later is served before */
};

static __attribute__((noinline)) void run_query(void)
{
    usleep(10000);
}

static __attribute__((noinline)) void checkout_connection(struct pool *pool)
{
    struct waiter own = {.is_served = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&pool->lock);
    if (pool->count && !pool->first) {
        pool->count--;
    } else {
        *pool->last = &own;
        pool->last = &own.next;
        while (!own.has_connection)
            pthread_cond_wait(&own.is_served, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

static __attribute__((noinline)) void return_connection(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct waiter *next = pool->first;
    if (next) {
        pool->first = next->next;
        if (!pool->first)
            pool->last = &pool->first;
        next->has_connection = 1;
        pthread_cond_signal(&next->is_served);
    } else {
        pool->count++;
    }
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
    pthread_t threads[WORKERS];
    struct pool *pool = calloc(1, sizeof(*pool));
    pthread_mutex_init(&pool->lock, NULL);
    pool->count = 2;
    pool->last = &pool->first;
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, pool);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    free(pool);
    return 0;
}
