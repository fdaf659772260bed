/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/mappings.h"

#include "common/array.h"
#include "common/hex.h"
#include "storage/kind/source_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JIT (UINT64_C(1) << 32) /* an element is an object, or a frame of a JIT map */
#define SET (UINT64_C(1) << 33) /* in `known`: not an element */

struct wp_mapping_set {
    uint32_t less;    /* the set without ... */
    uint64_t element; /* ... this */
};

struct wp_stack_mapping {
    uint32_t process; /* of the timeline */
    uint64_t element;
};

void wp_mappings_fini(struct wp_mappings *m)
{
    free(m->set_of_stack);
    free(m->sets);
    wp_intmap_fini(&m->set_of);
    wp_intmap_fini(&m->known);
    free(m->last_set);
    free(m->news);
    *m = (struct wp_mappings){0};
}

size_t wp_mappings_bytes(const struct wp_mappings *m)
{
    return m->stack_room * sizeof(*m->set_of_stack) + m->set_room * sizeof(*m->sets) +
        m->process_room * sizeof(*m->last_set) + m->news_room * sizeof(*m->news) + wp_intmap_bytes(&m->set_of) +
        wp_intmap_bytes(&m->known);
}

void wp_mappings_done(struct wp_mappings *m)
{
    m->news_count = 0;
}

/* --- sets --- */

/* Code with no file behind it, and the file that perf's text names in its place. */
static bool is_jit(const char *path)
{
    return !strcmp(path, "[jit]") || (!strncmp(path, "/tmp/perf-", 10) && strstr(path, ".map"));
}

/* The object of a frame, or the frame itself where there is no file behind it; 0: nothing to report. */
static uint64_t element_of(const struct wp_dictionary *dictionary, uint32_t frame_id)
{
    const struct wp_frame_entry *frame = wp_dictionary_frame(dictionary, frame_id);
    const struct wp_object_entry *object =
        frame && !frame->is_kernel ? wp_dictionary_object(dictionary, frame->object) : NULL;
    if (!object)
        return 0;
    return is_jit(wp_dictionary_string(dictionary, object->path)) ? JIT | frame_id : frame->object;
}

static bool has_element(const struct wp_mappings *m, uint32_t set, uint64_t element)
{
    for (; set; set = m->sets[set].less)
        if (m->sets[set].element == element)
            return true;
    return false;
}

static uint32_t set_with(struct wp_mappings *m, uint32_t set, uint64_t element)
{
    const struct wp_intkey key = {set, element};
    uint32_t found;
    if (!element || wp_intmap_get(&m->set_of, key, &found))
        return element ? found : set;
    if (has_element(m, set, element))
        return set;
    if (m->set_count >= WP_MAPPINGS_LIMIT || WP_ARRAY_FIT_ZERO(m->sets, m->set_room, m->set_count + 1) ||
        wp_intmap_put(&m->set_of, key, m->set_count)) {
        m->omitted++;
        return set;
    }
    m->sets[m->set_count] = (struct wp_mapping_set){set, element};
    return m->set_count++;
}

/* Stacks come after their parents, so they are looked at in the order of their ids. */
static uint32_t set_of_stack(struct wp_mappings *m, const struct wp_dictionary *dictionary, uint32_t stack)
{
    if (!m->set_count && !WP_ARRAY_FIT_ZERO(m->sets, m->set_room, 0 + 1))
        m->set_count = 1;
    for (uint32_t id = m->stack_count ? m->stack_count : 1; m->set_count && id <= stack; id++) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, id);
        if (!entry || WP_ARRAY_FIT_ZERO(m->set_of_stack, m->stack_room, id + 1))
            break;
        uint32_t below = entry->parent < id ? m->set_of_stack[entry->parent] : 0;
        m->set_of_stack[id] = set_with(m, below, element_of(dictionary, entry->frame));
        m->stack_count = id + 1;
    }
    return stack < m->stack_count ? m->set_of_stack[stack] : 0;
}

/* --- processes --- */

/* True the first time. */
static bool learn(struct wp_mappings *m, uint32_t process, uint64_t what)
{
    const struct wp_intkey key = {process, what};
    uint32_t seen;
    if (wp_intmap_get(&m->known, key, &seen))
        return false;
    if (m->known.count >= WP_MAPPINGS_LIMIT || wp_intmap_put(&m->known, key, 1)) {
        m->omitted++;
        return false;
    }
    return true;
}

static void take_set(struct wp_mappings *m, uint32_t process, uint32_t set)
{
    if (!learn(m, process, SET | set))
        return;
    for (; set; set = m->sets[set].less) {
        uint64_t element = m->sets[set].element;
        if (!learn(m, process, element))
            continue;
        if (WP_ARRAY_FIT_ZERO(m->news, m->news_room, m->news_count + 1))
            m->omitted++;
        else
            m->news[m->news_count++] = (struct wp_stack_mapping){process, element};
    }
}

void wp_mappings_event(struct wp_mappings *m, const struct wp_timeline *timeline, const struct wp_event *event)
{
    uint32_t whose = wp_event_has_waking_stack(event) ? event->other : event->thread;
    if (!event->stack || !whose || whose >= timeline->entry_room)
        return;
    uint32_t identity = timeline->identity_of_entry[whose];
    uint32_t process = identity < timeline->identity_count ? timeline->identities[identity].process : 0;
    uint32_t set = process ? set_of_stack(m, timeline->dictionary, event->stack) : 0;
    if (!set || WP_ARRAY_FIT_ZERO(m->last_set, m->process_room, process + 1) || m->last_set[process] == set + 1)
        return;
    m->last_set[process] = set + 1;
    take_set(m, process, set);
}

/* --- the store --- */

static int compare_news(const void *left, const void *right)
{
    const struct wp_stack_mapping *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->element < b->element ? -1 : a->element > b->element;
}

/* What is known of a file: its name and the digest that its linker gave it. Alike on all hosts that have the same one.
 */
static void describe_object(struct wp_buffer *text, const struct wp_dictionary *dictionary, uint32_t id)
{
    const struct wp_object_entry *object = wp_dictionary_object(dictionary, id);
    wp_buffer_printf(text, "object %s\n", wp_dictionary_string(dictionary, object->path));
    char digits[2 * sizeof(object->build_id) + 1];
    wp_hex(digits, object->build_id, object->build_id_size);
    if (object->build_id_size)
        wp_buffer_printf(text, "build-id %s\n", digits);
}

/* A line of a JIT map, as far as it is known: where a call went on, and in which function. */
static void describe_function(struct wp_buffer *text, const struct wp_dictionary *dictionary, uint32_t id)
{
    const struct wp_frame_entry *frame = wp_dictionary_frame(dictionary, id);
    const char *name = wp_dictionary_string(dictionary, frame->function);
    wp_buffer_printf(text, "%" PRIx64 " %s\n", frame->offset, *name ? name : "?");
}

struct writing {
    const struct wp_timeline *timeline;
    struct wp_txn *txn;
    struct wp_source_row *rows; /* owned */
    size_t count;
    struct wp_buffer text;
};

static int add_row(struct writing *writing, const struct wp_source_row *process, const char *name, struct wp_error *err)
{
    struct wp_source_row *row = &writing->rows[writing->count];
    *row = *process;
    row->name = name;
    if (writing->text.failed)
        return wp_error_set(err, -ENOMEM, "out of memory for the objects of a process");
    int rc = wp_txn_put_blob(writing->txn, writing->text.data, writing->text.size, row->digest, err);
    wp_buffer_clear(&writing->text);
    writing->count += !rc;
    return rc;
}

/* All news of one process, from `news` on; its functions make one blob. */
static int put_process(struct writing *writing, const struct wp_stack_mapping *news, uint32_t count,
    const struct wp_source_row *process, struct wp_error *err)
{
    const struct wp_dictionary *dictionary = writing->timeline->dictionary;
    uint32_t i = 0;
    int rc = 0;
    for (; !rc && i < count && !(news[i].element & JIT); i++) {
        const struct wp_object_entry *object = wp_dictionary_object(dictionary, (uint32_t)news[i].element);
        describe_object(&writing->text, dictionary, (uint32_t)news[i].element);
        rc = add_row(writing, process, wp_dictionary_string(dictionary, object->path), err);
    }
    if (rc || i == count)
        return rc;
    const struct wp_frame_entry *frame = wp_dictionary_frame(dictionary, (uint32_t)(news[i].element & UINT32_MAX));
    for (; i < count; i++)
        describe_function(&writing->text, dictionary, (uint32_t)(news[i].element & UINT32_MAX));
    return add_row(
        writing, process, wp_dictionary_string(dictionary, wp_dictionary_object(dictionary, frame->object)->path), err);
}

int wp_mappings_put(const struct wp_mappings *m, const struct wp_mappings_home *home, struct wp_txn *txn,
    const char *shard, struct wp_error *err)
{
    struct writing writing = {.timeline = home->timeline, .txn = txn};
    if (!m->news_count)
        return 0;
    qsort(m->news, m->news_count, sizeof(*m->news), compare_news);
    writing.rows = calloc(m->news_count, sizeof(*writing.rows));
    int rc = writing.rows ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the objects of processes");
    for (uint32_t i = 0, end; !rc && i < m->news_count; i = end) {
        const struct wp_process *process = &home->timeline->processes[m->news[i].process];
        struct wp_source_row row = {.host = home->hostname,
            .pid = process->pid,
            .start_ns = process->start_ns ? process->start_ns + (uint64_t)home->real_offset_ns : 0};
        for (end = i; end < m->news_count && m->news[end].process == m->news[i].process; end++)
            ;
        rc = put_process(&writing, m->news + i, end - i, &row, err);
    }
    if (!rc)
        rc = wp_txn_add_sources(txn, shard, writing.rows, writing.count, err);
    wp_buffer_fini(&writing.text);
    free(writing.rows);
    return rc;
}
