/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/shard/shard_answer.h"

#include "aggregator/peer/shard_peers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROOM WP_SHARD_STRINGS              /* of each table: what a reader takes */
#define BYTES (WP_SHARD_MESSAGE_BYTES / 2) /* of texts, before the answer is cut */

/* Rows of columns as the message has them, in place. */
struct wp_shard_answer {
    const struct wp_pathtree *tree;
    const struct wp_fleet *fleet; /* borrowed */
    uint32_t depth;
    struct wp_intern *strings;                         /* owned; [0] is empty */
    struct wp_intmap frames, nodes, processes, layers; /* what they were -> number here */
    uint32_t frame_count, node_count, process_count, layer_count, piece_count, edge_count;
    uint64_t limit_count[WP_LIMITS], limit_ns[WP_LIMITS];
    struct wp_intervals paths;
    size_t bytes;
    uint64_t cut_ns; /* of what no longer had room */
    bool is_cut;
    /* What is behind `count` of each is not set: from here on nothing is cleared. */
    uint32_t frame_style[ROOM], frame_name[ROOM], frame_object[ROOM], node_parent[ROOM], node_frame[ROOM];
    uint32_t process_host[ROOM], process_comm[ROOM], process_pid[ROOM], layer_parent[ROOM], layer_process[ROOM];
    uint64_t process_start_ns[ROOM];
    uint32_t piece_node[WP_SHARD_PIECES], piece_layer[WP_SHARD_PIECES], piece_category[WP_SHARD_PIECES];
    uint32_t piece_flags[WP_SHARD_PIECES], piece_reason[WP_SHARD_PIECES];
    uint64_t piece_ns[WP_SHARD_PIECES];
    uint32_t edge_from[WP_SHARD_PIECES], edge_to[WP_SHARD_PIECES];
    uint64_t edge_waited_ns[WP_SHARD_PIECES], edge_transit_ns[WP_SHARD_PIECES], edge_bound_ns[WP_SHARD_PIECES];
};

struct wp_shard_answer *wp_shard_answer_create(const struct wp_pathtree *tree)
{
    struct wp_shard_answer *answer = malloc(sizeof(*answer));
    if (!answer)
        return NULL;
    memset(answer, 0, offsetof(struct wp_shard_answer, frame_style));
    answer->tree = tree;
    return answer;
}

static void clear(struct wp_shard_answer *answer)
{
    wp_intern_destroy(answer->strings);
    answer->strings = NULL;
    wp_intmap_clear(&answer->frames);
    wp_intmap_clear(&answer->nodes);
    wp_intmap_clear(&answer->processes);
    wp_intmap_clear(&answer->layers);
}

void wp_shard_answer_destroy(struct wp_shard_answer *answer)
{
    if (!answer)
        return;
    clear(answer);
    wp_intmap_fini(&answer->frames);
    wp_intmap_fini(&answer->nodes);
    wp_intmap_fini(&answer->processes);
    wp_intmap_fini(&answer->layers);
    free(answer->paths.rows);
    free(answer);
}

/* --- tables; UINT32_MAX: no room --- */

static uint32_t text(struct wp_shard_answer *answer, const char *bytes)
{
    size_t size = strlen(bytes);
    uint32_t count = answer->strings ? wp_intern_count(answer->strings) : ROOM;
    if (size >= WP_SHARD_STRING_BYTES)
        size = WP_SHARD_STRING_BYTES - 1;
    if (count >= ROOM || answer->bytes > BYTES)
        return UINT32_MAX;
    uint32_t id = wp_intern_id(answer->strings, bytes, size);
    answer->bytes += id == count ? size : 0;
    return id;
}

static uint32_t frame_number(struct wp_shard_answer *answer, uint32_t frame)
{
    uint32_t number;
    if (wp_intmap_get(&answer->frames, (struct wp_intkey){frame, 0}, &number))
        return number;
    const struct wp_path_frame *info = &answer->tree->frames[frame];
    uint32_t name = text(answer, wp_intern_text(answer->tree->strings, info->name));
    uint32_t object = text(answer, wp_intern_text(answer->tree->strings, info->object));
    number = answer->frame_count;
    if (name == UINT32_MAX || object == UINT32_MAX || number == ROOM ||
        wp_intmap_put(&answer->frames, (struct wp_intkey){frame, 0}, number + 1))
        return UINT32_MAX;
    answer->frame_style[number] = info->style;
    answer->frame_name[number] = name;
    answer->frame_object[number] = object;
    return ++answer->frame_count;
}

/* From the root down: parents first. */
static uint32_t node_number(struct wp_shard_answer *answer, uint32_t node)
{
    uint32_t path[1024], count = 0, number = 0;
    for (; node && !wp_intmap_get(&answer->nodes, (struct wp_intkey){node, 0}, &number);
         node = answer->tree->nodes[node].parent) {
        if (count == sizeof(path) / sizeof(path[0]))
            return UINT32_MAX;
        path[count++] = node;
    }
    while (count) {
        uint32_t at = path[--count], frame = frame_number(answer, answer->tree->nodes[at].frame),
                 i = answer->node_count;
        if (frame == UINT32_MAX || i == ROOM || wp_intmap_put(&answer->nodes, (struct wp_intkey){at, 0}, i + 1))
            return UINT32_MAX;
        answer->node_parent[i] = number;
        answer->node_frame[i] = frame;
        number = ++answer->node_count;
    }
    return number;
}

static bool describe(
    const struct wp_shard_answer *answer, const struct wp_layer *layer, struct wp_shard_process *process)
{
    const struct wp_fleet *fleet = answer->fleet;
    if (layer->host == WP_LAYER_FOREIGN)
        return wp_shards_process(fleet->shards, layer->process, process);
    const struct wp_fleet_host *host = &fleet->hosts[layer->host];
    const struct wp_process *row = &host->timeline->processes[layer->process];
    if (row->is_grouped) {
        *process = (struct wp_shard_process){host->hostname, WP_REPORT_OTHERS, 0, 0};
        return true;
    }
    *process = (struct wp_shard_process){host->hostname, wp_dictionary_string(host->timeline->dictionary, row->comm),
        row->pid, row->start_ns ? row->start_ns + (uint64_t)host->real_offset_ns : 0};
    return true;
}

static uint32_t process_number(struct wp_shard_answer *answer, const struct wp_layer *layer)
{
    struct wp_shard_process process;
    struct wp_intkey key = {layer->host, layer->process};
    uint32_t number;
    if (wp_intmap_get(&answer->processes, key, &number))
        return number;
    number = answer->process_count;
    if (number == ROOM || !describe(answer, layer, &process))
        return UINT32_MAX;
    uint32_t host = text(answer, process.hostname), comm = text(answer, process.comm);
    if (host == UINT32_MAX || comm == UINT32_MAX || wp_intmap_put(&answer->processes, key, number))
        return UINT32_MAX;
    answer->process_host[number] = host;
    answer->process_comm[number] = comm;
    answer->process_pid[number] = process.pid;
    answer->process_start_ns[number] = process.start_real_ns;
    return answer->process_count++;
}

static uint32_t layer_number(struct wp_shard_answer *answer, const struct wp_piece *piece)
{
    uint32_t number = 0;
    for (uint32_t i = answer->depth; i < piece->layer_count; i++) {
        uint32_t process = process_number(answer, &piece->layers[i]), at = answer->layer_count;
        struct wp_intkey key = {number, process};
        if (process == UINT32_MAX)
            return UINT32_MAX;
        if (wp_intmap_get(&answer->layers, key, &number))
            continue;
        if (at == ROOM || wp_intmap_put(&answer->layers, key, at + 1))
            return UINT32_MAX;
        answer->layer_parent[at] = (uint32_t)key.a;
        answer->layer_process[at] = process;
        number = ++answer->layer_count;
    }
    return number;
}

/* --- what the explainer says --- */

static void take_piece(void *context, const struct wp_piece *piece)
{
    struct wp_shard_answer *answer = context;
    uint32_t i = answer->piece_count;
    uint32_t node = 0, layer = 0, reason = 0;
    answer->is_cut |= i == WP_SHARD_PIECES - 1; /* one is left to say so */
    if (!answer->is_cut) {
        node = node_number(answer, piece->node);
        layer = layer_number(answer, piece);
        reason = piece->reason ? text(answer, piece->reason) : 0;
        answer->is_cut = node == UINT32_MAX || layer == UINT32_MAX || reason == UINT32_MAX;
    }
    if (answer->is_cut) {
        answer->cut_ns += piece->end_ns - piece->start_ns;
        return;
    }
    answer->piece_ns[i] = piece->end_ns - piece->start_ns;
    answer->piece_node[i] = node;
    answer->piece_layer[i] = layer;
    answer->piece_category[i] = piece->category;
    answer->piece_flags[i] =
        (piece->is_run ? WP_SHARD_PIECE_RUN : 0u) | (piece->is_uncertain ? WP_SHARD_PIECE_UNCERTAIN : 0u);
    answer->piece_reason[i] = reason;
    answer->piece_count++;
}

static void take_path(void *context, const struct wp_interval *interval)
{
    struct wp_shard_answer *answer = context;
    wp_intervals_add(&answer->paths, interval);
}

static void take_crossed(void *context, const struct wp_crossed *crossed)
{
    struct wp_shard_answer *answer = context;
    uint32_t i = answer->edge_count, from = text(answer, crossed->from), to = text(answer, crossed->to);
    if (i == WP_SHARD_PIECES || from == UINT32_MAX || to == UINT32_MAX)
        return;
    answer->edge_from[i] = from;
    answer->edge_to[i] = to;
    answer->edge_waited_ns[i] = crossed->waited_ns;
    answer->edge_transit_ns[i] = crossed->transit_ns;
    answer->edge_bound_ns[i] = crossed->bound_ns;
    answer->edge_count++;
}

static void take_limit(void *context, enum wp_limit limit, uint64_t count, uint64_t ns)
{
    struct wp_shard_answer *answer = context;
    answer->limit_count[limit] += count;
    answer->limit_ns[limit] += ns;
}

struct wp_sink wp_shard_answer_sink(struct wp_shard_answer *answer)
{
    return (struct wp_sink){
        .piece = take_piece, .other_path = take_path, .crossed = take_crossed, .limit = take_limit, .context = answer};
}

void wp_shard_answer_begin(struct wp_shard_answer *answer, const struct wp_fleet *fleet, uint32_t depth)
{
    answer->fleet = fleet;
    clear(answer);
    answer->strings = wp_intern_create();
    answer->depth = depth;
    answer->frame_count = answer->node_count = answer->process_count = answer->layer_count = 0;
    answer->piece_count = answer->edge_count = answer->paths.count = 0;
    answer->bytes = 0;
    answer->cut_ns = 0;
    answer->is_cut = false;
    memset(answer->limit_count, 0, sizeof(answer->limit_count));
    memset(answer->limit_ns, 0, sizeof(answer->limit_ns));
}

/* --- the message --- */

static void say_cut(struct wp_shard_answer *answer)
{
    uint32_t i = answer->piece_count++;
    static const char why[] = "the answer of its shard grew too long";
    uint32_t count = wp_intern_count(answer->strings), reason = count < ROOM ? wp_intern_str(answer->strings, why) : 0;
    answer->piece_ns[i] = answer->cut_ns;
    answer->piece_node[i] = answer->piece_layer[i] = answer->piece_flags[i] = 0;
    answer->piece_category[i] = WP_UNACCOUNTED;
    answer->piece_reason[i] = reason == UINT32_MAX ? 0 : reason;
}

static void point(struct wp_shard_answer *answer, Wakepath__Shard__Answer *m)
{
    m->n_frame_style = m->n_frame_name = m->n_frame_object = answer->frame_count;
    m->frame_style = answer->frame_style;
    m->frame_name = answer->frame_name;
    m->frame_object = answer->frame_object;
    m->n_node_parent = m->n_node_frame = answer->node_count;
    m->node_parent = answer->node_parent;
    m->node_frame = answer->node_frame;
    m->n_process_host = m->n_process_comm = m->n_process_pid = m->n_process_start_ns = answer->process_count;
    m->process_host = answer->process_host;
    m->process_comm = answer->process_comm;
    m->process_pid = answer->process_pid;
    m->process_start_ns = answer->process_start_ns;
    m->n_layer_parent = m->n_layer_process = answer->layer_count;
    m->layer_parent = answer->layer_parent;
    m->layer_process = answer->layer_process;
    m->n_piece_ns = m->n_piece_node = m->n_piece_layer = m->n_piece_category = m->n_piece_flags = m->n_piece_reason =
        answer->piece_count;
    m->piece_ns = answer->piece_ns;
    m->piece_node = answer->piece_node;
    m->piece_layer = answer->piece_layer;
    m->piece_category = answer->piece_category;
    m->piece_flags = answer->piece_flags;
    m->piece_reason = answer->piece_reason;
    m->n_edge_from = m->n_edge_to = m->n_edge_waited_ns = m->n_edge_transit_ns = m->n_edge_bound_ns =
        answer->edge_count;
    m->edge_from = answer->edge_from;
    m->edge_to = answer->edge_to;
    m->edge_waited_ns = answer->edge_waited_ns;
    m->edge_transit_ns = answer->edge_transit_ns;
    m->edge_bound_ns = answer->edge_bound_ns;
    m->n_limit_count = m->n_limit_ns = WP_LIMITS;
    m->limit_count = answer->limit_count;
    m->limit_ns = answer->limit_ns;
}

/* A copy that owns what it points to: one way to make it is that of whoever reads it. */
static Wakepath__Shard__Answer *copy(const Wakepath__Shard__Answer *m)
{
    struct wp_buffer raw = {0};
    Wakepath__Shard__Answer *made =
        wp_shard_pack(&m->base, &raw) ? NULL : wakepath__shard__answer__unpack(NULL, raw.size, raw.data);
    wp_buffer_fini(&raw);
    return made;
}

Wakepath__Shard__Answer *wp_shard_answer_end(struct wp_shard_answer *answer, const Wakepath__Shard__Question *question)
{
    Wakepath__Shard__Answer m = WAKEPATH__SHARD__ANSWER__INIT;
    if (!answer->strings)
        return NULL;
    if (answer->cut_ns)
        say_cut(answer);
    m.id = question->id;
    m.n_strings = wp_intern_count(answer->strings);
    m.strings = calloc(m.n_strings, sizeof(*m.strings));
    if (!m.strings)
        return NULL;
    for (uint32_t i = 0; i < m.n_strings; i++)
        m.strings[i] = (ProtobufCBinaryData){
            wp_intern_size(answer->strings, i), (uint8_t *)(uintptr_t)wp_intern_text(answer->strings, i)};
    point(answer, &m);
    Wakepath__Shard__Answer *made = copy(&m);
    free(m.strings);
    return made;
}

const struct wp_interval *wp_shard_answer_paths(const struct wp_shard_answer *answer, uint32_t *count)
{
    *count = answer->paths.count;
    return answer->paths.rows;
}
