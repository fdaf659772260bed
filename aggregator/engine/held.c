/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/held.h"

#include "aggregator/timeline/timeline_gone.h"
#include "common/clock.h"

#include <errno.h>
#include <string.h>

#define LOOK_BYTES                                                                                                     \
    ((uint64_t)1 << 20) /* of batches; a batch may become so many times its size, and is bounded itself */
#define LOOK_NS WP_NS_PER_S

static uint64_t by_tree(const struct wp_pathtree *tree)
{
    return wp_intern_bytes(tree->strings) + tree->frame_room * sizeof(*tree->frames) +
        tree->node_room * (sizeof(*tree->nodes) + sizeof(*tree->recent)) + wp_intmap_bytes(&tree->frame_index) +
        wp_intmap_bytes(&tree->line_index) + wp_intmap_bytes(&tree->node_index);
}

/* Of its account, by thread, process and node of the tree: a host says how many there are of these. */
static uint64_t by_account(const struct wp_aggregate *aggregate)
{
    const struct wp_request_pieces *requests = &aggregate->requests;
    const struct wp_line_sums *lines = &aggregate->lines;
    const struct wp_transactions *transactions = &aggregate->transactions;
    const struct wp_sample_sums *sums = &aggregate->sample_sums;
    uint64_t bytes = requests->request_room * sizeof(*requests->requests) +
        requests->part_room * sizeof(*requests->parts) + requests->piece_room * sizeof(*requests->pieces) +
        lines->node_room * sizeof(*lines->nodes) + lines->row_room * sizeof(*lines->rows) +
        lines->row_node_room * sizeof(*lines->row_node) + lines->frame_room * sizeof(*lines->frame_site) +
        wp_intern_bytes(transactions->names) + transactions->node_room * sizeof(*transactions->by_node) +
        wp_intmap_bytes(&transactions->slots) + sums->report_node_room * sizeof(*sums->report_nodes) +
        sums->process_hosts * sizeof(*sums->processes);
    for (uint32_t i = 0; i < sums->process_hosts; i++)
        bytes += wp_idtable_bytes(&sums->processes[i].rows);
    return bytes;
}

/* Windows that are kept besides: few, and each is bounded. */
static uint64_t by_sample(const struct wp_exemplar_sample *sampled)
{
    uint64_t bytes = sampled->box_room * sizeof(*sampled->boxes);
    for (uint32_t i = 0; i < sampled->box_count; i++) {
        const struct wp_exemplars *set = &sampled->boxes[i].set;
        bytes += set->room * sizeof(*set->rows);
        for (uint32_t row = 0; row < set->count; row++)
            bytes += set->rows[row].trace.capacity;
    }
    return bytes;
}

static uint64_t by_aggregate(const struct wp_aggregate *aggregate)
{
    uint64_t bytes = by_tree(&aggregate->tree) + wp_explainer_bytes(aggregate->explainer) +
        wp_report_bytes(aggregate->report) + by_account(aggregate) + wp_exemplar_bytes(&aggregate->exemplar) +
        by_sample(&aggregate->sampled) + aggregate->base_room * sizeof(*aggregate->base) +
        ((uint64_t)aggregate->waiting.room + aggregate->asked.room + aggregate->following.rows.room) *
            sizeof(*aggregate->asked.rows);
    for (uint32_t i = 0; i < aggregate->closed_count; i++)
        bytes += wp_report_bytes(aggregate->closed[i].report);
    return bytes;
}

uint64_t wp_held_by_session(const struct wp_host_session *session)
{
    uint64_t bytes = sizeof(*session) + wp_dictionary_held(session->dictionary) +
        wp_timeline_bytes(&session->timeline) + wp_mappings_bytes(&session->mappings) +
        session->pending_bytes.capacity + session->scratch.capacity +
        session->pending_room * sizeof(*session->pending) + session->mark_room * sizeof(*session->marks) +
        session->late_room * sizeof(*session->late) + wp_connections_bytes(session->fleet->connections, session->home);
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        bytes += by_aggregate(session->aggregates[i]);
    return bytes;
}

bool wp_held_is_due(struct wp_held *held, size_t bytes, uint64_t now_ns)
{
    held->taken += bytes;
    return held->taken >= LOOK_BYTES || now_ns - held->looked_ns >= LOOK_NS;
}

void wp_held_look(struct wp_held *held, struct wp_peer_slots *slots, uint64_t now_ns)
{
    held->bytes = held->taken = 0;
    held->looked_ns = now_ns;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct wp_peer_slot *slot = &slots->all[i];
        slot->held_bytes = slot->session ? wp_held_by_session(slot->session) + slot->queue.bytes : 0;
        held->bytes += slot->held_bytes;
    }
}

static bool is_live(const struct wp_peer_slot *slot)
{
    return slot->session && !slot->session->is_closing;
}

/* Of the sessions of the host of `slot`. */
static uint64_t by_host(const struct wp_peer_slots *slots, const uint8_t host[16], bool is_closing_too)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct wp_peer_slot *slot = &slots->all[i];
        if (slot->session && (is_closing_too || is_live(slot)) && !memcmp(slot->session->host, host, 16))
            bytes += slot->held_bytes;
    }
    return bytes;
}

static struct wp_peer_slot *largest_of(const struct wp_peer_slots *slots, const uint8_t host[16])
{
    struct wp_peer_slot *largest = NULL;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct wp_peer_slot *slot = &slots->all[i];
        if (is_live(slot) && !memcmp(slot->session->host, host, 16) &&
            (!largest || slot->held_bytes > largest->held_bytes))
            largest = slot;
    }
    return largest;
}

struct wp_peer_slot *wp_held_excess(const struct wp_held *held, const struct wp_peer_slots *slots, uint64_t *limit)
{
    uint64_t all = 0, most = 0;
    const struct wp_peer_slot *of_most = NULL;
    for (uint32_t i = 0; i < slots->count; i++)
        all += is_live(&slots->all[i]) ? slots->all[i].held_bytes : 0;
    bool is_beyond = held->limit && all > held->limit;
    if (!is_beyond && !(held->host_limit && all > held->host_limit))
        return NULL;
    for (uint32_t i = 0; i < slots->count; i++) {
        uint64_t bytes = is_live(&slots->all[i]) ? by_host(slots, slots->all[i].session->host, false) : 0;
        if (bytes > most) {
            most = bytes;
            of_most = &slots->all[i];
        }
    }
    if (!of_most || (!is_beyond && most <= held->host_limit))
        return NULL;
    *limit = held->host_limit && most > held->host_limit ? held->host_limit : held->limit;
    return largest_of(slots, of_most->session->host);
}

void wp_held_shed(struct wp_held *held, struct wp_peer_slot *slot)
{
    struct wp_host_session *session = slot->session;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_report_limit(session->aggregates[i]->report, "memory", 1, 0);
    slot->is_shed = session->timeline.goes_on = true;
    held->shed++;
    wp_replay_queue_clear(&slot->queue);
}

int wp_held_admit(
    const struct wp_held *held, const struct wp_peer_slots *slots, const uint8_t host[16], struct wp_error *err)
{
    uint64_t bytes = held->host_limit ? by_host(slots, host, true) : 0;
    if (held->host_limit && bytes > held->host_limit)
        return wp_error_set(err, -EAGAIN,
            "the sessions of this host hold %llu bytes of %llu (--host-memory): try again when they are written",
            (unsigned long long)bytes, (unsigned long long)held->host_limit);
    if (held->limit && held->bytes > held->limit && bytes)
        return wp_error_set(err, -EAGAIN,
            "all sessions hold %llu bytes of %llu (--memory): try again when some are written",
            (unsigned long long)held->bytes, (unsigned long long)held->limit);
    return 0;
}
