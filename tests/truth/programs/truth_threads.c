/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_threads OUT pool|convoy|producer TURNS: threads of one process that wait for each other on futexes.
 *   pool      the client hands jobs to four workers and waits for each
 *   convoy    the client and four holders want one lock, and keep it for 5 ms
 *   producer  the client takes what a producer makes
 */
#include "truth.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4

struct shop {
    struct truth *truth;
    pthread_mutex_t lock;
    pthread_cond_t wanted, ready;
    unsigned turns;
    _Atomic uint64_t released_ns; /* the lock, by the last who held it */
    uint32_t by;                  /* the diary of who made what is ready */
    bool is_wanted, is_ready, is_over;
};

static void start(struct shop *shop, void *(*run)(void *), unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, shop) || pthread_detach(thread))
            truth_die("pthread_create");
    }
    truth_pin(0);
    truth_await(shop->truth, count);
}

/* --- pool --- */

static void *run_worker(void *context)
{
    struct shop *shop = context;
    truth_name("worker");
    truth_pin(1);
    struct truth_party party = truth_join(shop->truth, TRUTH_BASE ";worker");
    for (;;) {
        struct truth_mark mark = truth_now(&party);
        pthread_mutex_lock(&shop->lock);
        while (!shop->is_wanted)
            pthread_cond_wait(&shop->wanted, &shop->lock);
        shop->is_wanted = false;
        pthread_mutex_unlock(&shop->lock);
        truth_taken(&party, mark);
        truth_busy(&party, 1000);
        truth_sleep(&party, 1000);
        mark = truth_now(&party);
        pthread_mutex_lock(&shop->lock);
        shop->by = party.diary;
        shop->is_ready = true;
        pthread_cond_signal(&shop->ready);
        pthread_mutex_unlock(&shop->lock);
        truth_answered(&party, mark);
    }
    return NULL;
}

static void pool(struct shop *shop)
{
    start(shop, run_worker, THREADS);
    struct truth_party base = truth_join(shop->truth, TRUTH_BASE);
    struct truth_mark begin = truth_base_begin(&base);
    for (unsigned i = 0; i < shop->turns; i++) {
        pthread_mutex_lock(&shop->lock);
        shop->is_wanted = true;
        pthread_cond_signal(&shop->wanted);
        struct truth_mark mark = truth_now(&base);
        while (!shop->is_ready)
            pthread_cond_wait(&shop->ready, &shop->lock);
        shop->is_ready = false;
        truth_waited(&base, shop->by, mark);
        pthread_mutex_unlock(&shop->lock);
        truth_busy(&base, 300);
    }
    truth_base_end(&base, begin);
}

/* --- convoy --- */

static void *run_holder(void *context)
{
    struct shop *shop = context;
    truth_name("holder");
    truth_pin(1);
    struct truth_party party = truth_join(shop->truth, "holder"); /* what a holder does is not waited for as a whole */
    while (!shop->is_over) {
        pthread_mutex_lock(&shop->lock);
        truth_busy(&party, 5000);
        shop->released_ns = truth_now(&party).wall_ns;
        pthread_mutex_unlock(&shop->lock);
        truth_sleep(&party, 2000);
    }
    return NULL;
}

static void convoy(struct shop *shop)
{
    start(shop, run_holder, THREADS);
    struct truth_party base = truth_join(shop->truth, TRUTH_BASE);
    struct truth_mark begin = truth_base_begin(&base);
    for (unsigned i = 0; i < shop->turns; i++) {
        struct truth_mark mark = truth_now(&base);
        pthread_mutex_lock(&shop->lock);
        truth_held(&base, mark, shop->released_ns);
        truth_busy(&base, 1000);
        pthread_mutex_unlock(&shop->lock);
        truth_sleep(&base, 1000);
    }
    truth_base_end(&base, begin);
    shop->is_over = true;
}

/* --- producer --- */

static void *run_producer(void *context)
{
    struct shop *shop = context;
    truth_name("producer");
    truth_pin(1);
    struct truth_party party = truth_join(shop->truth, TRUTH_BASE ";producer");
    for (;;) {
        truth_busy(&party, 1500);
        truth_sleep(&party, 1000);
        struct truth_mark mark = truth_now(&party);
        pthread_mutex_lock(&shop->lock);
        shop->by = party.diary;
        shop->is_ready = true;
        pthread_cond_signal(&shop->ready);
        pthread_mutex_unlock(&shop->lock);
        truth_answered(&party, mark);
    }
    return NULL;
}

static void producer(struct shop *shop)
{
    start(shop, run_producer, 1);
    struct truth_party base = truth_join(shop->truth, TRUTH_BASE);
    struct truth_mark begin = truth_base_begin(&base);
    for (unsigned i = 0; i < shop->turns; i++) {
        pthread_mutex_lock(&shop->lock);
        struct truth_mark mark = truth_now(&base);
        while (!shop->is_ready)
            pthread_cond_wait(&shop->ready, &shop->lock);
        shop->is_ready = false;
        truth_read_diary(&base, shop->by, truth_slept(&base, mark));
        pthread_mutex_unlock(&shop->lock);
        truth_busy(&base, 400);
    }
    truth_base_end(&base, begin);
}

int main(int argc, char **argv)
{
    static struct shop shop = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER, .ready = PTHREAD_COND_INITIALIZER};
    if (argc != 4)
        return 2;
    shop.truth = truth_create(NULL);
    shop.turns = (unsigned)strtoul(argv[3], NULL, 10);
    if (!strcmp(argv[2], "pool"))
        pool(&shop);
    else if (!strcmp(argv[2], "convoy"))
        convoy(&shop);
    else
        producer(&shop);
    truth_write(shop.truth, argv[1]);
    return 0;
}
