/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/wait_table.h"

#include "common/array.h"
#include "common/intern.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 65536u /* in each generation: more than the source remembers to have told */
#define NUMBERS (4u << 20)
#define DIFFERENT 16384u /* names; what comes later has none */
#define NO_NAME UINT32_MAX

struct wait {
    uint32_t text;   /* in texts; NO_NAME */
    uint32_t string; /* of the dictionary; 0: not told */
};

struct wp_wait_table {
    struct wp_dict_writer *dict;
    struct wp_intern *texts;
    struct wp_intmap recent,
        before;         /* key -> number. What is used moves to `recent`; when that is full it is the one before */
    struct wait *waits; /* owned; by number, [0] is none */
    uint32_t count, room;
};

struct wp_wait_table *wp_wait_table_create(struct wp_dict_writer *dict)
{
    struct wp_wait_table *t = calloc(1, sizeof(*t));
    if (t && !(t->texts = wp_intern_create())) {
        free(t);
        return NULL;
    }
    if (t) {
        t->dict = dict;
        t->count = 1;
    }
    return t;
}

void wp_wait_table_destroy(struct wp_wait_table *t)
{
    if (!t)
        return;
    wp_intern_destroy(t->texts);
    wp_intmap_fini(&t->recent);
    wp_intmap_fini(&t->before);
    free(t->waits);
    free(t);
}

static void remember(struct wp_wait_table *t, struct wp_intkey key, uint32_t number)
{
    if (t->recent.count >= KEYS) {
        wp_intmap_fini(&t->before);
        t->before = t->recent;
        t->recent = (struct wp_intmap){0};
    }
    wp_intmap_put(&t->recent, key, number);
}

static uint32_t text_of(struct wp_wait_table *t, const char *name)
{
    return wp_intern_count(t->texts) < DIFFERENT ? wp_intern_str(t->texts, name)
                                                 : wp_intern_find(t->texts, name, strlen(name));
}

uint32_t wp_wait_table_define(struct wp_wait_table *t, uint64_t key, const char *name)
{
    if (t->count >= NUMBERS || WP_ARRAY_FIT(t->waits, t->room, t->count + 1))
        return 0;
    t->waits[0] = (struct wait){NO_NAME, 0};
    t->waits[t->count] = (struct wait){name && *name ? text_of(t, name) : NO_NAME, 0};
    remember(t, (struct wp_intkey){key, 0}, t->count);
    return t->count++;
}

void wp_wait_table_name(struct wp_wait_table *t, uint32_t number, const char *name)
{
    if (number < t->count && *name)
        t->waits[number].text = text_of(t, name);
}

uint32_t wp_wait_table_number(struct wp_wait_table *t, uint64_t key)
{
    struct wp_intkey at = {key, 0};
    uint32_t number;
    if (wp_intmap_get(&t->recent, at, &number))
        return number;
    if (!wp_intmap_get(&t->before, at, &number))
        return 0;
    remember(t, at, number);
    return number;
}

void wp_wait_table_settle(struct wp_wait_table *t, struct wp_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct wp_event *event = &events[i];
        if (!wp_event_has_wait(event) || !event->wait)
            continue;
        struct wait *wait = event->wait < t->count ? &t->waits[event->wait] : NULL;
        if (wait && !wait->string && wait->text != NO_NAME)
            wait->string = wp_dict_writer_string(t->dict, wp_intern_text(t->texts, wait->text));
        event->wait = wait ? wait->string : 0;
    }
}

/* What a number of the old table is in the new one. */
static uint32_t move(struct wp_wait_table *to, const struct wp_wait_table *from, uint32_t *moved, uint32_t number)
{
    if (!number || number >= from->count || moved[number])
        return number && number < from->count ? moved[number] : 0;
    uint32_t text = from->waits[number].text;
    moved[number] = wp_wait_table_define(to, 0, text == NO_NAME ? NULL : wp_intern_text(from->texts, text));
    return moved[number];
}

static void move_keys(
    struct wp_wait_table *to, struct wp_intmap *keys, const struct wp_wait_table *from, uint32_t *moved)
{
    for (uint32_t i = 0; keys->slots && i <= keys->mask; i++)
        if (keys->slots[i].used)
            keys->slots[i].value = move(to, from, moved, keys->slots[i].value);
}

int wp_wait_table_renew(struct wp_wait_table *t, struct wp_dict_writer *dict, struct wp_event *events, size_t count)
{
    struct wp_wait_table *anew = wp_wait_table_create(dict);
    uint32_t *moved = calloc(t->count + 1, sizeof(*moved));
    if (!anew || !moved) {
        wp_wait_table_destroy(anew);
        free(moved);
        return -ENOMEM;
    }
    move_keys(anew, &t->recent, t, moved);
    move_keys(anew, &t->before, t, moved);
    for (size_t i = 0; i < count; i++)
        if (wp_event_has_wait(&events[i]))
            events[i].wait = move(anew, t, moved, events[i].wait);
    wp_intmap_fini(&anew->recent); /* of numbers that were being moved */
    wp_intmap_fini(&anew->before);
    anew->recent = t->recent;
    anew->before = t->before;
    t->recent = t->before = (struct wp_intmap){0};
    struct wp_wait_table old = *t;
    *t = *anew;
    *anew = old;
    wp_wait_table_destroy(anew);
    free(moved);
    return 0;
}
