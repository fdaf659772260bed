/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/gone_ids.h"

#include "common/array.h"

#include <errno.h>

static bool has_thread(const struct wp_dictionary *dictionary, uint32_t id)
{
    return wp_dictionary_thread(dictionary, id);
}

static bool has_socket(const struct wp_dictionary *dictionary, uint32_t id)
{
    return wp_dictionary_socket(dictionary, id);
}

struct kind {
    uint32_t (*count)(const struct wp_dictionary *dictionary);
    bool (*has)(const struct wp_dictionary *dictionary, uint32_t id);
    void (*forget)(struct wp_dictionary *dictionary, uint32_t id);
};

static const struct kind thread_kind = {wp_dictionary_thread_count, has_thread, wp_dictionary_forget_thread};
static const struct kind socket_kind = {wp_dictionary_socket_count, has_socket, wp_dictionary_forget_socket};

static int put_run(uint32_t **runs, size_t *count, uint32_t length)
{
    if (WP_ARRAY_NEXT(*runs, *count))
        return -ENOMEM;
    (*runs)[(*count)++] = length;
    return 0;
}

/* Lengths of runs of ids by turns, the first of those that are there, the last of those that are not. */
static int save_kind(
    const struct wp_dictionary *dictionary, const struct kind *kind, uint32_t **runs, size_t *runs_count)
{
    uint32_t count = kind->count(dictionary), first = 1;
    bool is_there = true;
    int rc = 0;
    for (uint32_t id = 1; id <= count && !rc; id++) {
        if (kind->has(dictionary, id) == is_there)
            continue;
        rc = put_run(runs, runs_count, id - first);
        first = id;
        is_there = !is_there;
    }
    return is_there || rc ? rc : put_run(runs, runs_count, count + 1 - first);
}

static void restore_kind(
    struct wp_dictionary *dictionary, const struct kind *kind, const uint32_t *runs, size_t run_count)
{
    uint64_t id = 1, count = kind->count(dictionary);
    for (size_t i = 0; i < run_count; i++) {
        uint64_t end = id + runs[i];
        for (uint64_t gone = id; i % 2 && gone < end && gone <= count; gone++)
            kind->forget(dictionary, (uint32_t)gone);
        id = end;
    }
}

int wp_gone_ids_save(const struct wp_dictionary *dictionary, Wakepath__Resume__Checkpoint *out)
{
    int rc = save_kind(dictionary, &thread_kind, &out->gone_threads, &out->n_gone_threads);
    return rc ? rc : save_kind(dictionary, &socket_kind, &out->gone_sockets, &out->n_gone_sockets);
}

void wp_gone_ids_restore(struct wp_dictionary *dictionary, const Wakepath__Resume__Checkpoint *from)
{
    restore_kind(dictionary, &thread_kind, from->gone_threads, from->n_gone_threads);
    restore_kind(dictionary, &socket_kind, from->gone_sockets, from->n_gone_sockets);
}
