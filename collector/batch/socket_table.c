/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/socket_table.h"

#include "common/array.h"
#include "common/intmap.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define TCP_ESTABLISHED_STATE 1
#define TCP_CLOSE_STATE 7
#define CLOSED 16384u      /* closed streams that are still known: more than close while events wait to be sent */
#define STREAMS (1u << 19) /* in each generation; a host with more that are open and quiet has some without a name */
#define OTHERS (1u << 16)
#define RECENT 1024u /* a power of two */

struct slot {
    uint64_t key, began; /* began: initial sequence numbers, 0 not seen */
    struct wp_socket_entry entry;
    uint32_t id, id_before; /* in this session, 0 not used yet; in the one before */
    uint32_t state_before;  /* out of which it became established */
    uint8_t generation;     /* of its family's */
    bool is_used, is_closed;
};

/* Of a key that was asked for lately: most events are about few sockets. */
struct recent {
    uint64_t key; /* 0: none */
    uint32_t id;
};

/* Keys by when they were used last: what is used moves to `recent`; when that is full it is the one before, and what
 * was there goes. */
struct family {
    struct wp_intmap recent, before;
    uint32_t room;
    uint8_t generation;
};

struct wp_socket_table {
    struct wp_dict_writer *dict;
    struct slot *slots; /* owned */
    uint32_t count, room;
    uint32_t *free_slots, free_count; /* owned; as much room */
    struct family streams, others;
    uint64_t *closed; /* keys, a ring; owned */
    uint32_t closed_count;
    struct wp_intmap before; /* id in the session before -> slot, of those that had one */
    struct recent recent[RECENT];
};

struct wp_socket_table *wp_socket_table_create(struct wp_dict_writer *dict)
{
    struct wp_socket_table *t = calloc(1, sizeof(*t));
    if (!t || !(t->closed = calloc(CLOSED, sizeof(*t->closed)))) {
        free(t);
        return NULL;
    }
    t->dict = dict;
    t->streams.room = STREAMS;
    t->others.room = OTHERS;
    return t;
}

void wp_socket_table_destroy(struct wp_socket_table *t)
{
    if (!t)
        return;
    wp_intmap_fini(&t->streams.recent);
    wp_intmap_fini(&t->streams.before);
    wp_intmap_fini(&t->others.recent);
    wp_intmap_fini(&t->others.before);
    wp_intmap_fini(&t->before);
    free(t->slots);
    free(t->free_slots);
    free(t->closed);
    free(t);
}

static struct recent *recent_of(struct wp_socket_table *t, uint64_t key)
{
    return &t->recent[(key ^ key >> 12) & (RECENT - 1)];
}

/* It is looked for again. */
static void forget_recent(struct wp_socket_table *t, uint64_t key)
{
    struct recent *recent = recent_of(t, key);
    if (recent->key == key)
        recent->key = 0;
}

static void let_go(struct wp_socket_table *t, uint32_t index)
{
    forget_recent(t, t->slots[index].key);
    t->slots[index].is_used = false;
    t->free_slots[t->free_count++] = index;
}

static struct family *family_of(struct wp_socket_table *t, const struct wp_socket_entry *entry)
{
    return entry->protocol == IPPROTO_TCP ? &t->streams : &t->others;
}

static void remember(struct wp_socket_table *t, struct family *f, uint64_t key, uint32_t index)
{
    if (f->recent.count >= f->room) {
        for (uint32_t i = 0; f->before.slots && i <= f->before.mask; i++) {
            uint32_t old = f->before.slots[i].value;
            if (f->before.slots[i].used && t->slots[old].is_used && t->slots[old].key == f->before.slots[i].key.a &&
                t->slots[old].generation != f->generation)
                let_go(t, old);
        }
        wp_intmap_fini(&f->before);
        f->before = f->recent;
        f->recent = (struct wp_intmap){0};
        f->generation ^= 1;
        memset(t->recent, 0, sizeof(t->recent)); /* what is still used must be looked for, and so move */
    }
    t->slots[index].generation = f->generation;
    wp_intmap_put(&f->recent, (struct wp_intkey){key, 0}, index);
}

static struct slot *find_in(struct wp_socket_table *t, struct family *f, uint64_t key)
{
    uint32_t index;
    if (wp_intmap_get(&f->recent, (struct wp_intkey){key, 0}, &index))
        return &t->slots[index];
    if (!wp_intmap_get(&f->before, (struct wp_intkey){key, 0}, &index))
        return NULL;
    wp_intmap_remove(&f->before, (struct wp_intkey){key, 0});
    remember(t, f, key, index);
    return &t->slots[index];
}

static struct slot *find(struct wp_socket_table *t, uint64_t key)
{
    struct slot *slot = find_in(t, &t->streams, key);
    return slot ? slot : find_in(t, &t->others, key);
}

static uint32_t new_slot(struct wp_socket_table *t)
{
    if (t->free_count)
        return t->free_slots[--t->free_count];
    uint32_t room = t->room; /* of both arrays */
    if (WP_ARRAY_FIT(t->slots, room, t->count + 1) || WP_ARRAY_FIT(t->free_slots, t->room, t->count + 1))
        return UINT32_MAX;
    return t->count++;
}

/* Another entry is another socket, by whatever key. */
static uint32_t define(struct wp_socket_table *t, uint64_t key, const struct wp_socket_entry *entry)
{
    struct slot *slot = find(t, key);
    if (slot && family_of(t, &slot->entry) != family_of(t, entry)) {
        wp_intmap_remove(&family_of(t, &slot->entry)->recent, (struct wp_intkey){key, 0});
        let_go(t, (uint32_t)(slot - t->slots));
        slot = NULL;
    }
    uint32_t index = slot ? (uint32_t)(slot - t->slots) : new_slot(t);
    if (index == UINT32_MAX)
        return wp_dict_writer_socket(t->dict, entry); /* known by this once */
    t->slots[index] =
        (struct slot){.key = key, .entry = *entry, .is_used = true, .id = wp_dict_writer_socket(t->dict, entry)};
    remember(t, family_of(t, entry), key, index);
    forget_recent(t, key);
    return t->slots[index].id;
}

uint32_t wp_socket_table_id(struct wp_socket_table *t, const struct wp_fact *fact)
{
    uint64_t key = fact->socket.key;
    if (!key)
        return 0;
    struct recent *recent = recent_of(t, key);
    if (fact->event.kind && recent->key == key)
        return recent->id;
    struct slot *slot = fact->event.kind ? find(t, key) : NULL;
    if (!fact->event.kind || (!slot && fact->socket.entry.family))
        return define(t, key, &fact->socket.entry);
    if (!slot)
        return 0;
    if (!slot->id)
        slot->id = wp_dict_writer_socket(t->dict, &slot->entry);
    *recent = (struct recent){key, slot->id};
    return slot->id;
}

static void forget_closed(struct wp_socket_table *t, uint64_t key)
{
    uint64_t *place = &t->closed[t->closed_count++ % CLOSED];
    struct slot *oldest = *place ? find(t, *place) : NULL;
    if (oldest && oldest->is_closed) { /* else it was opened anew */
        wp_intmap_remove(&family_of(t, &oldest->entry)->recent, (struct wp_intkey){*place, 0});
        let_go(t, (uint32_t)(oldest - t->slots));
    }
    *place = key;
}

void wp_socket_table_state(struct wp_socket_table *t, const struct wp_fact *fact)
{
    struct slot *slot = fact->socket.key ? find(t, fact->socket.key) : NULL;
    if (slot && fact->event.c == TCP_ESTABLISHED_STATE && fact->event.a) {
        slot->began = fact->event.a;
        slot->state_before = (uint32_t)fact->event.b;
    }
    if (slot)
        slot->is_closed = fact->event.c == TCP_CLOSE_STATE;
    if (slot && slot->is_closed) {
        slot->began = 0;
        forget_closed(t, fact->socket.key);
    }
}

void wp_socket_table_renew(struct wp_socket_table *t, struct wp_dict_writer *dict)
{
    wp_intmap_fini(&t->before);
    memset(t->recent, 0, sizeof(t->recent));
    t->dict = dict;
    for (uint32_t i = 0; i < t->count; i++) {
        struct slot *slot = &t->slots[i];
        slot->id_before = slot->id;
        slot->id = 0;
        if (slot->is_used && slot->id_before)
            wp_intmap_put(&t->before, (struct wp_intkey){slot->id_before, 0}, i);
    }
}

uint32_t wp_socket_table_again(struct wp_socket_table *t, uint32_t id_before)
{
    uint32_t index;
    if (!wp_intmap_get(&t->before, (struct wp_intkey){id_before, 0}, &index) || t->slots[index].id_before != id_before)
        return 0;
    if (!t->slots[index].id)
        t->slots[index].id = wp_dict_writer_socket(t->dict, &t->slots[index].entry);
    return t->slots[index].id;
}

int wp_socket_table_tell(
    struct wp_socket_table *t, int (*tell)(void *context, const struct wp_event *event), void *context)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < t->count; i++) {
        struct slot *slot = &t->slots[i];
        if (!slot->is_used || !slot->began)
            continue;
        if (!slot->id)
            slot->id = wp_dict_writer_socket(t->dict, &slot->entry);
        rc = tell(context,
            &(struct wp_event){.kind = WP_EVENT_SOCK_STATE,
                .flags = WP_EVENT_RETOLD,
                .a = slot->began,
                .b = slot->state_before,
                .c = TCP_ESTABLISHED_STATE,
                .d = slot->id});
    }
    return rc;
}
