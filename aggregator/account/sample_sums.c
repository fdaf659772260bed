/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/sample_sums.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/peer/shard_peers.h"
#include "common/array.h"
#include "storage/report/report_series.h"
#include "storage/value/rows.h"

#include <stdlib.h>
#include <string.h>

static uint32_t report_node(struct wp_aggregate *aggregate, uint32_t node)
{
    if (!node || node == UINT32_MAX)
        return 0;
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    if (WP_ARRAY_FIT_ZERO(sums->report_nodes, sums->report_node_room, node + 1))
        return 0;
    if (!sums->report_nodes[node]) {
        const struct wp_node *from = &aggregate->tree.nodes[node];
        const struct wp_path_frame *info = &aggregate->tree.frames[from->frame];
        const struct wp_intern *strings = aggregate->tree.strings;
        uint32_t frame = wp_report_frame(aggregate->delta.report, info->style, wp_intern_text(strings, info->name),
            wp_intern_text(strings, info->object));
        sums->report_nodes[node] =
            wp_report_child(aggregate->delta.report, report_node(aggregate, from->parent), frame);
    }
    return sums->report_nodes[node];
}

static struct wp_process_row *row_of_process(struct wp_aggregate *aggregate, const struct wp_layer *layer)
{
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    if (WP_ARRAY_FIT_ZERO(sums->processes, sums->process_hosts, layer->host + 1))
        return NULL;
    struct wp_process_rows *host = &sums->processes[layer->host];
    const struct wp_fleet_host *there = &aggregate->fleet->hosts[layer->host];
    if (!host->rows.item_size)
        wp_idtable_init(&host->rows, sizeof(struct wp_process_row));
    if (host->generation != there->generation)
        wp_idtable_clear(&host->rows);
    host->generation = there->generation;
    if (wp_idtable_reserve(&host->rows, layer->process))
        return NULL;
    wp_idtable_use(&host->rows, layer->process);
    return (struct wp_process_row *)host->rows.items + layer->process;
}

uint32_t wp_layer_process(const struct wp_aggregate *aggregate, struct wp_report *report, const struct wp_layer *layer)
{
    struct wp_shard_process foreign;
    if (layer->host == WP_LAYER_FOREIGN)
        return wp_shards_process(aggregate->fleet->shards, layer->process, &foreign)
            ? wp_report_process(report, foreign.hostname, foreign.comm, foreign.pid, foreign.start_real_ns)
            : UINT32_MAX;
    const struct wp_fleet_host *there = &aggregate->fleet->hosts[layer->host];
    const struct wp_process *p = &there->timeline->processes[layer->process];
    if (p->is_grouped)
        return wp_report_process(report, there->hostname, WP_REPORT_OTHERS, 0, 0);
    return wp_report_process(report, there->hostname, wp_dictionary_string(there->timeline->dictionary, p->comm),
        p->pid, p->start_ns ? p->start_ns + (uint64_t)there->real_offset_ns : 0);
}

struct wp_intkey wp_layer_process_key(const struct wp_aggregate *aggregate, const struct wp_layer *layer)
{
    struct wp_intkey key = {(uint64_t)layer->host << 32 | layer->process, 0};
    if (layer->host == WP_LAYER_FOREIGN)
        return key;
    const struct wp_fleet_host *there = &aggregate->fleet->hosts[layer->host];
    const struct wp_process *p = &there->timeline->processes[layer->process];
    key.b = (uint64_t)p->is_grouped << 63 ^ (uint64_t)there->generation << 32 ^ p->comm;
    return key;
}

/* A process that takes another name gets another row: which delta it falls into must not matter. */
static uint32_t process_row(struct wp_aggregate *aggregate, const struct wp_layer *layer)
{
    if (layer->host == WP_LAYER_FOREIGN)
        return wp_layer_process(aggregate, aggregate->delta.report, layer);
    struct wp_process_row *row = row_of_process(aggregate, layer);
    const struct wp_process *p = &aggregate->fleet->hosts[layer->host].timeline->processes[layer->process];
    if (!row)
        return UINT32_MAX;
    if (p->is_grouped)
        return wp_layer_process(aggregate, aggregate->delta.report, layer);
    if (!row->row || row->comm != p->comm) {
        row->comm = p->comm;
        row->row = 1 + wp_layer_process(aggregate, aggregate->delta.report, layer);
    }
    return row->row - 1;
}

static bool is_same_layer(const struct wp_layer *a, const struct wp_layer *b)
{
    return a->host == b->host && a->process == b->process;
}

/* Pieces of one pseudo-stack. */
struct share {
    const struct wp_layer *layers;
    uint32_t count;
    bool is_run;
    uint64_t ns, times;
};

static bool is_grouped(const struct wp_aggregate *aggregate, const struct wp_layer *layer)
{
    return layer->host != WP_LAYER_FOREIGN &&
        aggregate->fleet->hosts[layer->host].timeline->processes[layer->process].is_grouped;
}

static bool has_same_row(const struct wp_aggregate *aggregate, const struct wp_layer *a, const struct wp_layer *b)
{
    return is_same_layer(a, b) || (a->host == b->host && is_grouped(aggregate, a) && is_grouped(aggregate, b));
}

/* A row that stands in the pseudo-stack twice counts once. */
static void count_processes(struct wp_aggregate *aggregate, const struct share *share)
{
    for (uint32_t i = 0; i < share->count; i++) {
        const struct wp_layer *layer = &share->layers[i];
        uint32_t j = 0;
        while (j < i && !has_same_row(aggregate, &share->layers[j], layer))
            j++;
        if (j < i)
            continue;
        bool runs = share->is_run && has_same_row(aggregate, layer, &share->layers[share->count - 1]);
        wp_report_process_add(aggregate->delta.report, process_row(aggregate, layer), share->ns, runs ? share->ns : 0);
        if (is_grouped(aggregate, layer))
            wp_report_limit(aggregate->delta.report, "processes", share->times, share->ns);
    }
}

/* --- pieces that add up --- */

#define FIRST_SLOTS 64u
#define EVICTED_A_SLOT 4u /* so many sums evicted for each slot that there is: it takes more of them */
#define SLOT_LAYERS 8u

/* Pieces of one kind: the same node, category and processes, in the same bucket of the report's time. */
struct wp_sample_sums_slot {
    uint64_t from_ns, until_ns; /* of the bucket, in home's clock; equal: nothing is like it */
    uint64_t ns, count;
    /* In an order that is not the piece's: the compiler joins comparisons of neighbours, and a piece that was just
     * written is read late then. */
    uint32_t layer_count, category, node;
    bool is_run;
    struct wp_layer layers[SLOT_LAYERS];
};

static void empty(struct wp_aggregate *aggregate, struct wp_sample_sums_slot *slot)
{
    wp_report_add_within(aggregate->delta.report, report_node(aggregate, slot->node), slot->category,
        slot->from_ns + (uint64_t)aggregate->real_offset_ns, slot->ns, slot->count);
    count_processes(aggregate, &(struct share){slot->layers, slot->layer_count, slot->is_run, slot->ns, slot->count});
    wp_line_sums_add(&aggregate->lines, &aggregate->tree, slot->node, slot->category, slot->ns, slot->is_run);
    slot->from_ns = slot->until_ns = slot->ns = slot->count = 0;
}

static bool is_alike(const struct wp_sample_sums_slot *slot, const struct wp_piece *piece)
{
    if (slot->node != piece->node || slot->category != piece->category || slot->is_run != piece->is_run ||
        slot->layer_count != piece->layer_count || piece->start_ns < slot->from_ns || piece->end_ns > slot->until_ns)
        return false;
    for (uint32_t i = piece->layer_count; i-- > 0;)
        if (!is_same_layer(&slot->layers[i], &piece->layers[i]))
            return false;
    return true;
}

static void begin(struct wp_aggregate *aggregate, struct wp_sample_sums_slot *slot, const struct wp_piece *piece)
{
    uint64_t offset_ns = (uint64_t)aggregate->real_offset_ns,
             bucket = (piece->start_ns + offset_ns) >> WP_REPORT_BUCKET_SHIFT;
    if (slot->ns)
        empty(aggregate, slot);
    slot->from_ns = (bucket << WP_REPORT_BUCKET_SHIFT) - offset_ns;
    slot->until_ns = ((bucket + 1) << WP_REPORT_BUCKET_SHIFT) - offset_ns;
    slot->ns = slot->count = 0;
    slot->node = piece->node;
    slot->category = piece->category;
    slot->layer_count = piece->layer_count;
    slot->is_run = piece->is_run;
    for (uint32_t i = 0; i < piece->layer_count; i++)
        slot->layers[i] = piece->layers[i];
}

static void empty_all(struct wp_aggregate *aggregate)
{
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    for (uint32_t i = 0; i < WP_SAMPLE_SUMS_SLOTS / 64; i++)
        for (; sums->used[i]; sums->used[i] &= sums->used[i] - 1) {
            struct wp_sample_sums_slot *slot = &sums->slots[i * 64 + (uint32_t)__builtin_ctzll(sums->used[i])];
            if (slot->ns)
                empty(aggregate, slot);
        }
}

/* Where the piece has its sum: processes of one name share the node of a wait. */
static uint32_t place_of(const struct wp_sample_sums *sums, const struct wp_piece *piece)
{
    uint32_t process = piece->layer_count ? piece->layers[piece->layer_count - 1].process : 0;
    return (piece->node + 31 * process + 7 * (uint32_t)piece->category) & sums->slot_mask;
}

/* More slots, at first or where kinds that come in turns take each other's place. False: there are none. */
static bool make_slots(struct wp_aggregate *aggregate)
{
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    uint32_t room = sums->slots ? (sums->slot_mask + 1) * 2 : FIRST_SLOTS;
    struct wp_sample_sums_slot *slots = room <= WP_SAMPLE_SUMS_SLOTS ? calloc(room, sizeof(*slots)) : NULL;
    sums->evicted = 0;
    if (!slots)
        return sums->slots;
    empty_all(aggregate);
    free(sums->slots);
    sums->slots = slots;
    sums->slot_mask = room - 1;
    return true;
}

/* The slot that the piece gets, in which another kind may stand; where that is of the same time, slots are scarce. */
static struct wp_sample_sums_slot *slot_for(
    struct wp_aggregate *aggregate, struct wp_sample_sums_slot *slot, const struct wp_piece *piece)
{
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    bool is_other = slot->ns && piece->start_ns >= slot->from_ns && piece->end_ns <= slot->until_ns;
    if (!is_other || ++sums->evicted < EVICTED_A_SLOT * (sums->slot_mask + 1))
        return slot;
    make_slots(aggregate);
    return &sums->slots[place_of(sums, piece)];
}

/* A slot for the piece and those of its kind that follow; NULL: it lies in several buckets. Apart, so that what most
 * pieces go through is short. */
static __attribute__((noinline)) struct wp_sample_sums_slot *begin_sum(
    struct wp_aggregate *aggregate, struct wp_sample_sums_slot *slot, const struct wp_piece *piece)
{
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    slot = slot_for(aggregate, slot, piece);
    begin(aggregate, slot, piece);
    if (piece->start_ns < slot->from_ns || piece->end_ns > slot->until_ns) {
        slot->from_ns = slot->until_ns = 0;
        return NULL;
    }
    uint32_t place = (uint32_t)(slot - sums->slots);
    sums->used[place / 64] |= (uint64_t)1 << place % 64;
    return slot;
}

/* True when the piece was added to others of its kind, which the report gets together. */
static bool join(struct wp_aggregate *aggregate, const struct wp_piece *piece)
{
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    if (piece->reason || piece->layer_count > SLOT_LAYERS || (!sums->slots && !make_slots(aggregate)))
        return false;
    struct wp_sample_sums_slot *slot = &sums->slots[place_of(sums, piece)];
    if (!is_alike(slot, piece) && !(slot = begin_sum(aggregate, slot, piece)))
        return false;
    slot->ns += piece->end_ns - piece->start_ns;
    slot->count += !piece->is_part;
    return true;
}

uint32_t wp_piece_tid(const struct wp_aggregate *aggregate, const struct wp_piece *piece)
{
    const struct wp_timeline *timeline = aggregate->fleet->hosts[piece->host].timeline;
    return timeline && piece->thread < timeline->thread_count ? timeline->threads[piece->thread].tid : 0;
}

/* Adds that piece to the report by itself, so many times. */
static __attribute__((noinline)) void take_alone(
    struct wp_aggregate *aggregate, const struct wp_piece *piece, uint64_t times)
{
    uint32_t node = report_node(aggregate, piece->node);
    uint64_t each_ns = piece->end_ns - piece->start_ns, ns = wp_times(each_ns, times);
    uint64_t start_ns = piece->start_ns + (uint64_t)aggregate->real_offset_ns, end_ns = start_ns + each_ns;
    if (start_ns >> WP_REPORT_BUCKET_SHIFT == (end_ns - 1) >> WP_REPORT_BUCKET_SHIFT)
        wp_report_add_within(aggregate->delta.report, node, piece->category, start_ns, ns, piece->is_part ? 0 : times);
    else
        for (uint64_t i = 0; i < times; i++) /* few: one for each end of a bucket */
            (piece->is_part ? wp_report_add_part_at : wp_report_add_at)(
                aggregate->delta.report, node, piece->category, start_ns, end_ns);
    count_processes(aggregate, &(struct share){piece->layers, piece->layer_count, piece->is_run, ns, times});
    wp_line_sums_add(&aggregate->lines, &aggregate->tree, piece->node, piece->category, ns, piece->is_run);
    if (piece->reason)
        wp_report_unexplained_each(
            aggregate->delta.report, node, piece->reason, each_ns, times, wp_piece_tid(aggregate, piece));
}

uint64_t wp_piece_uncertain_ns(const struct wp_aggregate *aggregate, const struct wp_piece *piece)
{
    if (piece->is_uncertain)
        return piece->end_ns - piece->start_ns;
    const struct wp_drop_spans *lost = aggregate->lost;
    return lost && lost->count ? wp_drop_spans_overlap(lost, piece->start_ns, piece->end_ns) : 0;
}

/* Nobody's in particular: the exemplar is full, or would have wanted each. */
static __attribute__((noinline)) void take_repeated(struct wp_aggregate *aggregate, const struct wp_piece *piece)
{
    take_alone(aggregate, piece, piece->times);
    wp_report_uncertain(aggregate->delta.report, wp_times(wp_piece_uncertain_ns(aggregate, piece), piece->times));
    if (aggregate->has_exemplar)
        aggregate->exemplar.trace->omitted += piece->times;
}

static __attribute__((noinline)) void show_piece(struct wp_aggregate *aggregate, const struct wp_piece *piece)
{
    struct wp_piece_row row = wp_piece_row_of(piece);
    wp_exemplar_piece(&aggregate->exemplar, aggregate->path_host, aggregate->path_thread, &row);
}

void wp_sample_sums_add(void *context, const struct wp_piece *piece)
{
    struct wp_aggregate *aggregate = context;
    aggregate->delta.has_news = true;
    wp_request_pieces_add(&aggregate->requests, piece);
    if (piece->times > 1) {
        take_repeated(aggregate, piece);
        return;
    }
    if (!join(aggregate, piece))
        take_alone(aggregate, piece, 1);
    uint64_t uncertain = wp_piece_uncertain_ns(aggregate, piece);
    if (uncertain)
        wp_report_uncertain(aggregate->delta.report, uncertain);
    if (!aggregate->has_exemplar)
        return;
    struct wp_exemplar *exemplar = &aggregate->exemplar;
    if (exemplar->trace->piece_count < exemplar->row_limit)
        show_piece(aggregate, piece);
    else
        exemplar->trace->omitted += piece->end_ns > exemplar->origin_ns;
}

bool wp_sample_sums_wants_each(void *context)
{
    const struct wp_aggregate *aggregate = context;
    const struct wp_exemplar *exemplar = &aggregate->exemplar;
    return aggregate->requests.is_open ||
        (aggregate->has_exemplar && exemplar->trace->piece_count < exemplar->row_limit);
}

void wp_sample_sums_flush(struct wp_aggregate *aggregate)
{
    wp_explain_settle(aggregate->explainer, &aggregate->counted);
    wp_explain_forget(aggregate->explainer);
    empty_all(aggregate);
}

size_t wp_sample_sums_bytes(const struct wp_sample_sums *sums)
{
    size_t bytes = sums->report_node_room * sizeof(*sums->report_nodes) +
        sums->process_hosts * sizeof(*sums->processes) +
        (sums->slots ? (sums->slot_mask + (size_t)1) * sizeof(*sums->slots) : 0);
    for (uint32_t i = 0; i < sums->process_hosts; i++)
        bytes += wp_idtable_bytes(&sums->processes[i].rows);
    return bytes;
}

void wp_sample_sums_next_delta(struct wp_aggregate *aggregate)
{
    struct wp_sample_sums *sums = &aggregate->sample_sums;
    if (sums->report_nodes)
        memset(sums->report_nodes, 0, sums->report_node_room * sizeof(*sums->report_nodes));
    for (uint32_t i = 0; i < sums->process_hosts; i++)
        wp_idtable_clear(&sums->processes[i].rows);
}

void wp_sample_sums_fini(struct wp_sample_sums *sums)
{
    for (uint32_t i = 0; i < sums->process_hosts; i++)
        wp_idtable_fini(&sums->processes[i].rows);
    free(sums->processes);
    free(sums->report_nodes);
    free(sums->slots);
    *sums = (struct wp_sample_sums){0};
}
