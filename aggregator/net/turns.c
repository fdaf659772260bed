/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/turns.h"

#include "common/array.h"

#include <stdlib.h>

#define LOOKS 1024u /* at turns of a thread for one sleep */

void wp_turns_init(struct wp_turns *turns)
{
    wp_idtable_init(&turns->threads, sizeof(struct wp_turn_list));
    turns->row_bytes = 0;
    turns->refused = 0;
}

void wp_turns_fini(struct wp_turns *turns)
{
    for (uint32_t i = 0; i < turns->threads.room; i++)
        wp_turns_forget(turns, i);
    wp_idtable_fini(&turns->threads);
}

/* NULL: it has none. */
static struct wp_turn_list *list_of(const struct wp_turns *turns, uint32_t thread)
{
    return wp_idtable_has(&turns->threads, thread) ? (struct wp_turn_list *)turns->threads.items + thread : NULL;
}

static size_t bytes_of(const struct wp_turn_list *list)
{
    return list->rows ? (list->ring.mask + (size_t)1) * sizeof(*list->rows) : 0;
}

void wp_turns_forget(struct wp_turns *turns, uint32_t thread)
{
    struct wp_turn_list *list = list_of(turns, thread);
    if (!list)
        return;
    turns->row_bytes -= bytes_of(list);
    free(list->rows);
    wp_idtable_drop(&turns->threads, thread);
}

size_t wp_turns_bytes(const struct wp_turns *turns)
{
    return wp_idtable_bytes(&turns->threads) + turns->row_bytes;
}

static const struct wp_turn *turn_at(const struct wp_turn_list *list, uint64_t i)
{
    return &list->rows[i & list->ring.mask];
}

void wp_turns_add(struct wp_turns *turns, uint32_t thread, const struct wp_turn *turn)
{
    if (wp_idtable_reserve(&turns->threads, thread))
        return;
    wp_idtable_use(&turns->threads, thread);
    struct wp_turn_list *list = list_of(turns, thread);
    if (list->ring.end > list->ring.first && turn->time_ns < turn_at(list, list->ring.end - 1)->time_ns) {
        turns->refused++;
        return;
    }
    void *rows = list->rows;
    turns->row_bytes -= bytes_of(list);
    bool has_room = wp_message_ring_room(&rows, &list->ring, sizeof(*list->rows), turn->time_ns);
    list->rows = rows;
    turns->row_bytes += bytes_of(list);
    if (has_room)
        list->rows[list->ring.end++ & list->ring.mask] = *turn;
}

void wp_turns_event(struct wp_turns *turns, const struct wp_event *event, uint32_t thread)
{
    uint64_t ago_ns = !event->c && event->a < event->time_ns ? event->a : 0;
    if (thread)
        wp_turns_add(turns, thread, &(struct wp_turn){event->time_ns - ago_ns, event->d, event->c != 0});
}

/* Behind the last one that is earlier than that. */
static uint64_t turns_before(const struct wp_turn_list *list, uint64_t time_ns)
{
    return WP_LOWER_BOUND(middle, list->ring.first, list->ring.end, turn_at(list, middle)->time_ns < time_ns);
}

bool wp_turns_read(const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t before_ns,
    struct wp_turn *read, struct wp_turn *other)
{
    const struct wp_turn_list *list = list_of(turns, thread);
    uint64_t i = list ? turns_before(list, before_ns) : 0;
    *read = *other = (struct wp_turn){0};
    for (uint32_t looks = 0; list && i-- > list->ring.first && looks < LOOKS && !other->time_ns; looks++) {
        const struct wp_turn *turn = turn_at(list, i);
        if (!turn->is_read)
            continue;
        if (turn->connection == connection && !read->time_ns)
            *read = *turn;
        else if (turn->connection != connection && read->time_ns)
            *other = *turn;
    }
    return read->time_ns;
}

/* The last one of that kind. */
static bool find_last(
    const struct wp_turns *turns, uint32_t thread, uint64_t before_ns, bool is_read, struct wp_turn *found)
{
    const struct wp_turn_list *list = list_of(turns, thread);
    uint64_t i = list ? turns_before(list, before_ns) : 0;
    for (uint32_t looks = 0; list && i-- > list->ring.first && looks < LOOKS; looks++)
        if (turn_at(list, i)->is_read == is_read) {
            *found = *turn_at(list, i);
            return true;
        }
    return false;
}

bool wp_turns_last(const struct wp_turns *turns, uint32_t thread, uint64_t before_ns, struct wp_turn *read)
{
    return find_last(turns, thread, before_ns, true, read);
}

bool wp_turns_last_written(const struct wp_turns *turns, uint32_t thread, uint64_t before_ns, struct wp_turn *written)
{
    return find_last(turns, thread, before_ns, false, written);
}

bool wp_turns_next(const struct wp_turns *turns, uint32_t thread, uint64_t since_ns, struct wp_turn *read)
{
    const struct wp_turn_list *list = list_of(turns, thread);
    uint64_t i = list ? turns_before(list, since_ns) : 0;
    for (uint32_t looks = 0; list && i < list->ring.end && looks < LOOKS; i++, looks++)
        if (turn_at(list, i)->is_read) {
            *read = *turn_at(list, i);
            return true;
        }
    return false;
}

uint64_t wp_turns_written(const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t before_ns)
{
    const struct wp_turn_list *list = list_of(turns, thread);
    uint64_t i = list ? turns_before(list, before_ns) : 0;
    for (uint32_t looks = 0; list && i-- > list->ring.first && looks < LOOKS; looks++)
        if (!turn_at(list, i)->is_read && turn_at(list, i)->connection == connection)
            return turn_at(list, i)->time_ns;
    return 0;
}

/* The first one of that kind on that connection. */
static const struct wp_turn *find_first(
    const struct wp_turn_list *list, uint32_t connection, uint64_t since_ns, bool is_read)
{
    uint64_t i = list ? turns_before(list, since_ns) : 0;
    for (uint32_t looks = 0; list && i < list->ring.end && looks < LOOKS; i++, looks++)
        if (turn_at(list, i)->is_read == is_read && turn_at(list, i)->connection == connection)
            return turn_at(list, i);
    return NULL;
}

bool wp_turns_first_read(
    const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t since_ns, struct wp_turn *read)
{
    const struct wp_turn *found = find_first(list_of(turns, thread), connection, since_ns, true);
    if (found)
        *read = *found;
    return found;
}

uint64_t wp_turns_first_written(const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t since_ns)
{
    const struct wp_turn *found = find_first(list_of(turns, thread), connection, since_ns, false);
    return found ? found->time_ns : 0;
}
