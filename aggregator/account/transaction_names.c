/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/transaction_names.h"

#include "aggregator/explain/pathtree.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/code_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 300u /* a longer chain of processes ends there; a longer function is not said */
#define TASK "task "    /* begins the frame that the frames of a task stand on */

int wp_transaction_names_init(struct wp_transaction_names *names)
{
    *names = (struct wp_transaction_names){.texts = wp_intern_create()};
    return names->texts ? 0 : -ENOMEM;
}

void wp_transaction_names_fini(struct wp_transaction_names *names)
{
    wp_intern_destroy(names->texts);
    free(names->by_node);
    *names = (struct wp_transaction_names){0};
}

size_t wp_transaction_names_bytes(const struct wp_transaction_names *names)
{
    return wp_intern_bytes(names->texts) + names->node_room * sizeof(*names->by_node);
}

/* "postgres on db-1" of "[postgres]@db-1". */
static void put_plain(struct wp_buffer *out, const char *frame)
{
    size_t size = strlen(frame);
    const char *host = NULL;
    for (const char *at = strstr(frame, "]@"); at; at = strstr(at + 1, "]@"))
        host = at;
    if (size > 2 && frame[0] == '[' && frame[size - 1] == ']')
        wp_buffer_printf(out, "%.*s", (int)(size - 2), frame + 1);
    else if (host && frame[0] == '[' && host[2])
        wp_buffer_printf(out, "%.*s on %s", (int)(host - frame - 1), frame + 1, host + 2);
    else
        wp_buffer_puts(out, frame);
}

/* Text that is too long, or for which there is no memory: the other one. */
static uint32_t text_id(struct wp_transaction_names *names, const struct wp_buffer *text, uint32_t other)
{
    uint32_t id = text->failed || text->size > TEXT_BYTES
        ? UINT32_MAX
        : wp_intern_id(names->texts, (const char *)text->data, text->size);
    return id == UINT32_MAX ? other : id;
}

/* A source file, as wp_code_rank_of_source, one of a language that HotSpot runs, or of tokio. */
static bool is_source(const char *object)
{
    static const char *const endings[] = {".java", ".kt", ".scala", ".groovy", ".clj", ".rs"};
    const char *ending = strrchr(object, '.');
    for (size_t i = 0; ending && i < sizeof(endings) / sizeof(*endings); i++)
        if (!strcmp(ending, endings[i]))
            return true;
    return wp_code_rank_of_source(object);
}

static bool is_task(const char *name, const char *object)
{
    return !strncmp(name, TASK, sizeof(TASK) - 1) && is_source(object);
}

/* The innermost of those nearest to the program. */
static void take_function(struct wp_transaction_name *name, const struct wp_pathtree *tree, uint32_t id)
{
    const struct wp_path_frame *frame = &tree->frames[id];
    const char *text = wp_intern_text(tree->strings, frame->name),
               *object = wp_intern_text(tree->strings, frame->object);
    unsigned rank = is_task(text, object) ? 0 : wp_code_rank(text, object);
    if (rank < name->rank)
        return;
    name->function = id;
    name->rank = (uint8_t)rank;
}

static struct wp_transaction_name name_of(
    struct wp_transaction_names *names, const struct wp_pathtree *tree, uint32_t node)
{
    const struct wp_path_frame *frame = &tree->frames[tree->nodes[node].frame];
    struct wp_transaction_name name = names->by_node[tree->nodes[node].parent];
    name.has_reader = false;
    if (frame->style == WP_STYLE_USER)
        take_function(&name, tree, tree->nodes[node].frame);
    if (frame->style != WP_STYLE_PROCESS)
        return name;
    struct wp_buffer text = {0};
    const char *below = wp_intern_text(names->texts, name.who);
    wp_buffer_printf(&text, "%s%s", below, *below ? " › " : "");
    put_plain(&text, wp_intern_text(tree->strings, frame->name));
    name.who = text_id(names, &text, name.who);
    name.function = 0;
    name.rank = 0;
    wp_buffer_fini(&text);
    return name;
}

/* Nodes come after their parents: those that are new since the last time are named in their order. */
bool wp_transaction_names_extend(struct wp_transaction_names *names, const struct wp_pathtree *tree)
{
    if (WP_ARRAY_FIT(names->by_node, names->node_room, tree->node_count))
        return false;
    for (uint32_t i = names->node_count; i < tree->node_count; i++)
        names->by_node[i] =
            i ? name_of(names, tree, i) : (struct wp_transaction_name){.who = wp_intern_id(names->texts, "", 0)};
    names->node_count = tree->node_count;
    return true;
}

static bool names_function(enum wp_category category)
{
    return category != WP_UNDERSTOOD_FUNCTIONS && category != WP_RUNNING_NOT_SAMPLED && category != WP_SCHEDULER &&
        category != WP_INVOLUNTARY;
}

/* "path:[redis-server]", the peer at the other end of a connection, which is busy with others; NULL: the node is none
 * of such. */
static const char *busy_peer(const struct wp_pathtree *tree, uint32_t node)
{
    const struct wp_path_frame *frame = &tree->frames[tree->nodes[node].frame];
    const char *text = frame->style == WP_STYLE_WAIT ? wp_intern_text(tree->strings, frame->name) : "";
    if (strncmp(text, "path:", 5) != 0)
        return NULL;
    do {
        node = tree->nodes[node].parent;
        frame = &tree->frames[tree->nodes[node].frame];
    } while (node && frame->style == WP_STYLE_WAIT);
    return frame->style == WP_STYLE_NET ? text : NULL;
}

struct wp_transaction_said wp_transaction_names_top(
    const struct wp_transaction_names *names, const struct wp_pathtree *tree, uint32_t node, enum wp_category category)
{
    const struct wp_transaction_name *name = &names->by_node[node];
    const char *path = category == WP_OTHER_PATH ? busy_peer(tree, node) : NULL;
    if (path)
        return (struct wp_transaction_said){wp_intern_text(names->texts, name->who), path};
    const char *what = name->function && names_function(category)
        ? wp_intern_text(tree->strings, tree->frames[name->function].name)
        : "";
    return (struct wp_transaction_said){wp_intern_text(names->texts, name->who), what};
}

/* --- who reads --- */

/* Of the layer that is walked outwards: frames, 0 none. */
struct layer {
    uint32_t function, task, scheduler;
    unsigned rank; /* of the function */
};

static void take_frame(struct layer *layer, const struct wp_pathtree *tree, uint32_t id)
{
    const struct wp_path_frame *frame = &tree->frames[id];
    const char *name = wp_intern_text(tree->strings, frame->name);
    if (frame->style == WP_STYLE_SCHED && strcmp(name, "sched:runnable") && strcmp(name, "sched:preempted"))
        layer->scheduler = id;
    if (frame->style != WP_STYLE_USER)
        return;
    const char *object = wp_intern_text(tree->strings, frame->object);
    unsigned rank = wp_code_rank(name, object);
    if (is_task(name, object)) {
        layer->task = layer->task ? layer->task : id;
    } else if (rank > layer->rank) {
        layer->function = id;
        layer->rank = rank;
    }
}

static void put_layer(struct wp_buffer *out, const struct wp_pathtree *tree, const struct layer *layer)
{
    const uint32_t ids[] = {layer->scheduler ? 0 : layer->task, layer->scheduler ? layer->scheduler : layer->function};
    for (unsigned i = 0; i < 2; i++)
        if (ids[i])
            wp_buffer_printf(
                out, "%s%s", out->size ? " › " : "", wp_intern_text(tree->strings, tree->frames[ids[i]].name));
}

static void name_reader(struct wp_transaction_names *names, const struct wp_pathtree *tree, uint32_t node)
{
    struct wp_transaction_name *name = &names->by_node[node];
    struct wp_buffer text = {0};
    struct layer layer = {0};
    uint32_t first = node;
    for (uint32_t at = node; at; at = tree->nodes[at].parent) {
        if (tree->frames[tree->nodes[at].frame].style != WP_STYLE_PROCESS)
            take_frame(&layer, tree, tree->nodes[at].frame);
        else if (tree->nodes[at].parent)
            layer = (struct layer){0};
        first = at;
    }
    put_layer(&text, tree, &layer);
    name->reads = text.size ? text_id(names, &text, names->by_node[0].who) : names->by_node[0].who;
    name->reader = names->by_node[first].who;
    name->has_reader = true;
    wp_buffer_fini(&text);
}

struct wp_transaction_said wp_transaction_names_reader(
    struct wp_transaction_names *names, const struct wp_pathtree *tree, uint32_t node)
{
    const struct wp_transaction_name *name = &names->by_node[node];
    if (!name->has_reader)
        name_reader(names, tree, node);
    return (struct wp_transaction_said){
        wp_intern_text(names->texts, name->reader), wp_intern_text(names->texts, name->reads)};
}
