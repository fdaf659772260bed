/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_node.h"

#include "aggregator/timeline/names.h"
#include "common/array.h"
#include "common/task_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE_LIMIT 131072u /* many are of a process or a connection, and never asked for again */

static uint32_t *cache_slot(uint32_t **cache, uint32_t *room, uint32_t index)
{
    return WP_ARRAY_FIT_ZERO(*cache, *room, index + (size_t)1) ? NULL : *cache + index;
}

void wp_explain_remember(struct wp_explainer *x, struct wp_intkey key, uint32_t node)
{
    if (x->sites.count > SITE_LIMIT)
        wp_intmap_clear(&x->sites);
    if (node != UINT32_MAX)
        wp_intmap_put(&x->sites, key, node);
}

/* What is remembered of this host's names; NULL: out of memory. */
static struct wp_explain_names *names_here(struct wp_explainer *x)
{
    if (WP_ARRAY_FIT_ZERO(x->names, x->name_room, x->host + 1))
        return NULL;
    struct wp_explain_names *names = &x->names[x->host];
    uint32_t generation = x->fleet->hosts[x->host].generation;
    if (names->generation != generation) { /* another host has that number now */
        if (names->frames)
            memset(names->frames, 0, names->frame_room * sizeof(*names->frames));
        if (names->processes)
            memset(names->processes, 0, names->process_room * sizeof(*names->processes));
        names->generation = generation;
    }
    return names;
}

void wp_explain_name_process(const struct wp_explainer *x, uint32_t identity, char *name, size_t room)
{
    wp_name_process(x->timeline, identity, name, room);
    if (x->host == x->home && !x->names_home)
        return;
    size_t length = strlen(name);
    snprintf(name + length, room - length, "@%s", x->fleet->hosts[x->host].hostname);
}

void wp_explain_name_home(struct wp_explainer *x, bool names_home)
{
    if (x->names_home == names_home)
        return;
    x->names_home = names_home;
    wp_intmap_clear(&x->sites);
    memset(x->rivals, 0, sizeof(x->rivals));
    memset(x->rival_runs, 0, sizeof(x->rival_runs));
    x->last_process.node = 0;
    if (x->home < x->name_room && x->names[x->home].processes)
        memset(x->names[x->home].processes, 0, x->names[x->home].process_room * sizeof(*x->names[x->home].processes));
}

static uint32_t process_frame(struct wp_explainer *x, uint32_t identity)
{
    struct wp_explain_names *names = names_here(x);
    uint32_t *slot = names ? cache_slot(&names->processes, &names->process_room, identity) : NULL;
    if (slot && *slot)
        return *slot;
    char name[WP_EXPLAIN_NAME];
    wp_explain_name_process(x, identity, name, sizeof(name));
    uint32_t of =
        x->timeline->identities[identity].process_comm; /* a thread that names itself stands under its process */
    uint32_t frame =
        wp_pathtree_frame(x->tree, WP_STYLE_PROCESS, name, of ? wp_dictionary_string(x->timeline->dictionary, of) : "");
    if (slot && frame != UINT32_MAX)
        *slot = frame;
    return frame;
}

uint32_t wp_explain_process_node(struct wp_explainer *x, uint32_t parent, uint32_t identity)
{
    struct wp_process_place *last = &x->last_process; /* mostly the next slice of the same thread */
    if (last->node && last->identity == identity && last->parent == parent && last->host == x->host)
        return last->node;
    const struct wp_explain_names *known = x->host < x->name_room ? &x->names[x->host] : NULL;
    bool is_known = known && identity < known->process_room && known->generation == x->fleet->hosts[x->host].generation;
    uint32_t frame = is_known ? known->processes[identity] : 0;
    uint32_t node = wp_pathtree_child(x->tree, parent, frame ? frame : process_frame(x, identity));
    *last = (struct wp_process_place){x->host, parent, identity, node == UINT32_MAX ? 0 : node};
    return node;
}

/* `is_inlined` follows from the id: who inlines names each frame once. */
static uint32_t frame_of(struct wp_explainer *x, uint32_t id, bool is_inlined)
{
    struct wp_explain_names *names = names_here(x);
    uint32_t *slot = names ? cache_slot(&names->frames, &names->frame_room, id) : NULL;
    if (slot && *slot)
        return *slot;
    char name[WP_STRING_BYTES + 8];
    const char *object;
    enum wp_frame_style style = wp_name_frame(x->timeline->dictionary, id, name, sizeof(name), &object);
    const struct wp_frame_entry *entry = wp_dictionary_frame(x->timeline->dictionary, id);
    uint32_t frame = wp_pathtree_frame(x->tree, style, name, object);
    if (entry && entry->function)
        frame = wp_pathtree_at_line(
            x->tree, frame, wp_dictionary_string(x->timeline->dictionary, entry->file), entry->line, is_inlined);
    if (slot && frame != UINT32_MAX)
        *slot = frame;
    return frame;
}

/* The frame that the frames of a task stand on, where a frame has the first function of a task's own; 0: it has none.
 */
static uint32_t task_of(struct wp_explainer *x, struct wp_task_place *place, uint32_t id)
{
    const struct wp_dictionary *dictionary = x->timeline->dictionary;
    uint32_t task = 0;
    for (uint32_t levels = 0; id && levels < 64; id = wp_dictionary_inlined(dictionary, id), levels++) {
        const struct wp_frame_entry *entry = wp_dictionary_frame(dictionary, id);
        const struct wp_object_entry *object = entry ? wp_dictionary_object(dictionary, entry->object) : NULL;
        const char *function = entry && !entry->is_kernel ? wp_dictionary_string(dictionary, entry->function) : "";
        char name[WP_STRING_BYTES];
        if (!wp_task_place_add(place, function, object ? wp_dictionary_string(dictionary, object->path) : "") || task)
            continue;
        wp_task_place_name(function, name, sizeof(name));
        task = wp_pathtree_frame(x->tree, WP_STYLE_USER, name, WP_TASK_PLACE_OBJECT);
    }
    return task;
}

uint32_t wp_explain_known_stack(struct wp_explainer *x, uint32_t parent, uint32_t stack)
{
    struct wp_intkey key = {parent, wp_explain_here(x, stack)};
    const struct wp_dictionary *dictionary = x->timeline->dictionary;
    uint32_t node, path[512], count = 0;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    for (uint32_t at = stack; at && count < 512;) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, at);
        if (!entry)
            break;
        path[count++] = entry->frame;
        at = entry->parent;
    }
    node = parent;
    struct wp_task_place place = {0};
    while (count) {
        uint32_t id = path[--count], task = task_of(x, &place, id);
        if (task)
            node = wp_pathtree_child(x->tree, node, task);
        /* a place may be in functions that were inlined there, each a frame of its own */
        for (uint32_t levels = 0; id && levels < 64; id = wp_dictionary_inlined(dictionary, id), levels++)
            node = wp_pathtree_child(x->tree, node, frame_of(x, id, levels > 0));
    }
    wp_explain_remember(x, key, node);
    return node;
}

uint32_t wp_explain_label(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *name)
{
    return wp_pathtree_child(x->tree, parent, wp_pathtree_frame(x->tree, style, name, ""));
}

uint32_t wp_explain_literal(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *literal)
{
    struct wp_intkey key = {parent, (uint64_t)1 << 63 | (uintptr_t)literal};
    uint32_t node;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    node = wp_explain_label(x, parent, style, literal);
    wp_explain_remember(x, key, node);
    return node;
}

void wp_explain_nodes_fini(struct wp_explainer *x)
{
    wp_intmap_fini(&x->sites);
    for (uint32_t i = 0; i < x->name_room; i++) {
        free(x->names[i].frames);
        free(x->names[i].processes);
    }
    free(x->names);
    x->names = NULL;
    x->name_room = 0;
}
