/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_threads OUT pool|convoy|producer: threads of one process that wait for each other on futexes.
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
    bool is_wanted, is_ready, is_over;
    uint64_t busy_end_ns, sleep_end_ns; /* of the item that is ready */
    unsigned made;                      /* items so far */
};

static void start(struct shop *shop, void *(*run)(void *), unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, shop) || pthread_detach(thread))
            truth_die("pthread_create");
    }
    truth_pin(0);
    usleep(100000);
}

/* --- pool --- */

static void *run_worker(void *context)
{
    struct shop *shop = context;
    truth_name("worker");
    truth_pin(1);
    for (;;) {
        pthread_mutex_lock(&shop->lock);
        while (!shop->is_wanted)
            pthread_cond_wait(&shop->wanted, &shop->lock);
        shop->is_wanted = false;
        pthread_mutex_unlock(&shop->lock);
        truth_settle();
        truth_busy(shop->truth, TRUTH_BASE ";worker", 1000);
        truth_sleep(shop->truth, TRUTH_BASE ";worker", 1000);
        pthread_mutex_lock(&shop->lock);
        shop->is_ready = true;
        pthread_cond_signal(&shop->ready);
        pthread_mutex_unlock(&shop->lock);
    }
    return NULL;
}

static void pool(struct shop *shop)
{
    start(shop, run_worker, THREADS);
    struct truth_mark begin = truth_base_begin();
    for (unsigned i = 0; i < 500; i++) {
        pthread_mutex_lock(&shop->lock);
        shop->is_wanted = true;
        pthread_cond_signal(&shop->wanted);
        while (!shop->is_ready)
            pthread_cond_wait(&shop->ready, &shop->lock);
        shop->is_ready = false;
        pthread_mutex_unlock(&shop->lock);
        truth_busy(shop->truth, TRUTH_BASE, 300);
    }
    truth_base_end(shop->truth, begin);
}

/* --- convoy --- */

static void *run_holder(void *context)
{
    struct shop *shop = context;
    struct truth *unread = truth_create(); /* what a holder does is not waited for as a whole */
    truth_name("holder");
    truth_pin(1);
    while (!shop->is_over) {
        pthread_mutex_lock(&shop->lock);
        truth_busy(unread, "holder", 5000);
        pthread_mutex_unlock(&shop->lock);
        truth_sleep(unread, "holder", 2000);
    }
    return NULL;
}

static void convoy(struct shop *shop)
{
    start(shop, run_holder, THREADS);
    struct truth_mark begin = truth_base_begin();
    for (unsigned i = 0; i < 60; i++) {
        struct truth_mark mark = truth_now();
        pthread_mutex_lock(&shop->lock);
        truth_since(shop->truth, TRUTH_BASE, TRUTH_HELD, mark);
        truth_busy(shop->truth, TRUTH_BASE, 1000);
        pthread_mutex_unlock(&shop->lock);
        truth_sleep(shop->truth, TRUTH_BASE, 1000);
    }
    truth_base_end(shop->truth, begin);
    shop->is_over = true;
}

/* --- producer --- */

static void *run_producer(void *context)
{
    struct shop *shop = context;
    struct truth *unread = truth_create();
    truth_name("producer");
    truth_pin(1);
    for (;;) {
        truth_busy(unread, "producer", 1500);
        uint64_t busy_end = truth_now().wall_ns;
        truth_sleep(unread, "producer", 1000);
        uint64_t sleep_end = truth_now().wall_ns;
        pthread_mutex_lock(&shop->lock);
        shop->busy_end_ns = busy_end;
        shop->sleep_end_ns = sleep_end;
        shop->made++;
        shop->is_ready = true;
        pthread_cond_signal(&shop->ready);
        pthread_mutex_unlock(&shop->lock);
    }
    return NULL;
}

static void producer(struct shop *shop)
{
    start(shop, run_producer, 1);
    struct truth_mark begin = truth_base_begin();
    for (unsigned i = 0, seen = 0; i < 400; i++) {
        pthread_mutex_lock(&shop->lock);
        uint64_t since = truth_now().wall_ns;
        bool waits = !shop->is_ready;
        while (!shop->is_ready)
            pthread_cond_wait(&shop->ready, &shop->lock);
        shop->is_ready = false;
        bool is_next = shop->made == seen + 1; /* else it was overwritten while this thread waited for a CPU */
        seen = shop->made;
        if (waits && is_next && shop->busy_end_ns > since) {
            truth_add(shop->truth, TRUTH_BASE ";producer", TRUTH_CPU, shop->busy_end_ns - since);
            truth_add(shop->truth, TRUTH_BASE ";producer", TRUTH_SLEEP, shop->sleep_end_ns - shop->busy_end_ns);
        }
        pthread_mutex_unlock(&shop->lock);
        truth_busy(shop->truth, TRUTH_BASE, 400);
    }
    truth_base_end(shop->truth, begin);
}

int main(int argc, char **argv)
{
    static struct shop shop = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER,
        .ready = PTHREAD_COND_INITIALIZER};
    if (argc != 3)
        return 2;
    shop.truth = truth_create();
    if (!strcmp(argv[2], "pool"))
        pool(&shop);
    else if (!strcmp(argv[2], "convoy"))
        convoy(&shop);
    else
        producer(&shop);
    truth_write(shop.truth, argv[1]);
    return 0;
}
