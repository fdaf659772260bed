/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/turns.h"

#define LOOKS 1024u /* at turns of a thread for one sleep */

void wp_turns_init(struct wp_turns *turns)
{
    wp_thread_rings_init(&turns->rings, sizeof(struct wp_turn));
    turns->refused = 0;
}

void wp_turns_fini(struct wp_turns *turns)
{
    wp_thread_rings_fini(&turns->rings);
}

/* NULL: it has none. */
static const struct wp_thread_ring *list_of(const struct wp_turns *turns, uint32_t thread)
{
    return wp_thread_rings_of(&turns->rings, thread);
}

void wp_turns_forget(struct wp_turns *turns, uint32_t thread)
{
    wp_thread_rings_forget(&turns->rings, thread);
}

size_t wp_turns_bytes(const struct wp_turns *turns)
{
    return wp_thread_rings_bytes(&turns->rings);
}

static const struct wp_turn *turn_at(const struct wp_thread_ring *list, uint64_t i)
{
    return (const struct wp_turn *)list->rows + (i & list->ring.mask);
}

void wp_turns_add(struct wp_turns *turns, uint32_t thread, const struct wp_turn *turn)
{
    turns->refused += !wp_thread_rings_add(&turns->rings, thread, turn);
}

void wp_turns_event(struct wp_turns *turns, const struct wp_event *event, uint32_t thread)
{
    uint64_t ago_ns = !event->c && event->a < event->time_ns ? event->a : 0;
    if (thread)
        wp_turns_add(turns, thread, &(struct wp_turn){event->time_ns - ago_ns, event->d, event->c != 0});
}

/* Behind the last one that is earlier than that. */
static uint64_t turns_before(const struct wp_thread_ring *list, uint64_t time_ns)
{
    return wp_thread_ring_since(list, sizeof(struct wp_turn), time_ns);
}

bool wp_turns_read(const struct wp_turns *turns, uint32_t thread, uint32_t connection, uint64_t before_ns,
    struct wp_turn *read, struct wp_turn *other)
{
    const struct wp_thread_ring *list = list_of(turns, thread);
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
    const struct wp_thread_ring *list = list_of(turns, thread);
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
    const struct wp_thread_ring *list = list_of(turns, thread);
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
    const struct wp_thread_ring *list = list_of(turns, thread);
    uint64_t i = list ? turns_before(list, before_ns) : 0;
    for (uint32_t looks = 0; list && i-- > list->ring.first && looks < LOOKS; looks++)
        if (!turn_at(list, i)->is_read && turn_at(list, i)->connection == connection)
            return turn_at(list, i)->time_ns;
    return 0;
}

/* The first one of that kind on that connection. */
static const struct wp_turn *find_first(
    const struct wp_thread_ring *list, uint32_t connection, uint64_t since_ns, bool is_read)
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
