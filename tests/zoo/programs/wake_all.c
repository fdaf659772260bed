/* SPDX-License-Identifier: Apache-2.0 */
/* Eight workers wait on one condition; each job is announced to all of them, and one finds it. */
#include "zoo.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static int jobs, is_over;

static __attribute__((noinline)) void look_through_queue(void)
{
    zoo_burn(200000);
}

static __attribute__((noinline)) int next_job(void)
{
    pthread_mutex_lock(&queue_lock);
    while (!jobs && !is_over) {
        pthread_cond_wait(&has_work, &queue_lock);
        look_through_queue();
    }
    int found = jobs > 0;
    jobs -= found;
    pthread_mutex_unlock(&queue_lock);
    return found;
}

static void *worker(void *arg)
{
    while (next_job())
        usleep(50);
    return arg;
}

static __attribute__((noinline)) void announce(int count, int end)
{
    pthread_mutex_lock(&queue_lock);
    jobs += count;
    is_over = end;
    pthread_cond_broadcast(&has_work);
    pthread_mutex_unlock(&queue_lock);
}

int main(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 200; i++) {
        usleep(100);
        announce(1, 0);
    }
    announce(0, 1);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
