/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/refusals.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REASONS 64u
#define REASON_BYTES 96u

struct refusal {
    char reason[REASON_BYTES];
    uint64_t count;
};

struct wp_refusals {
    pthread_mutex_t lock;
    struct refusal items[REASONS]; /* the last one is for what has no place of its own */
    size_t count;
};

struct wp_refusals *wp_refusals_create(void)
{
    struct wp_refusals *refusals = calloc(1, sizeof(*refusals));
    if (refusals)
        pthread_mutex_init(&refusals->lock, NULL);
    return refusals;
}

void wp_refusals_destroy(struct wp_refusals *refusals)
{
    if (!refusals)
        return;
    pthread_mutex_destroy(&refusals->lock);
    free(refusals);
}

/* Each number becomes an N; digits behind a letter ("WPF1") are part of a word. */
static void without_numbers(const char *reason, char *out)
{
    size_t size = 0;
    for (const char *at = reason; *at && size < REASON_BYTES - 1;) {
        bool is_word = at > reason && isalpha((unsigned char)at[-1]);
        size_t digits = is_word ? 0 : strspn(at, "0123456789");
        out[size++] = digits ? 'N' : *at;
        at += digits ? digits : 1;
    }
    out[size] = 0;
}

void wp_refusals_add(struct wp_refusals *refusals, const char *reason)
{
    char text[REASON_BYTES];
    size_t i = 0;
    without_numbers(reason, text);
    pthread_mutex_lock(&refusals->lock);
    while (i < refusals->count && strcmp(refusals->items[i].reason, text))
        i++;
    if (i >= REASONS - 1)
        strcpy(text, "other reasons");
    i = i < REASONS ? i : REASONS - 1;
    if (i >= refusals->count) {
        strcpy(refusals->items[i].reason, text);
        refusals->count = i + 1;
    }
    refusals->items[i].count++;
    pthread_mutex_unlock(&refusals->lock);
}

size_t wp_refusals_count(struct wp_refusals *refusals)
{
    pthread_mutex_lock(&refusals->lock);
    size_t count = refusals->count;
    pthread_mutex_unlock(&refusals->lock);
    return count;
}

const char *wp_refusals_get(struct wp_refusals *refusals, size_t index, uint64_t *count)
{
    pthread_mutex_lock(&refusals->lock);
    *count = refusals->items[index].count;
    pthread_mutex_unlock(&refusals->lock);
    return refusals->items[index].reason;
}
