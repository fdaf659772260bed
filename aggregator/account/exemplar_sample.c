/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/exemplar_sample.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/explained.h"
#include "aggregator/account/piece_list.h"
#include "common/array.h"
#include "common/clock.h"
#include "storage/report/trace_encode.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_ROWS 2000u /* of each kind, halved until the window fits into its bytes */
#define LATE_BOXES 2u     /* that are remembered after a commit */

void wp_exemplar_sample_clear(struct wp_exemplar_sample *sampled)
{
    for (uint32_t i = 0; i < sampled->box_count; i++)
        wp_exemplars_fini(&sampled->boxes[i].set);
    free(sampled->boxes);
    sampled->boxes = NULL;
    sampled->box_count = sampled->box_room = 0;
    sampled->has_news = false;
}

void wp_exemplar_sample_fini(struct wp_exemplar_sample *sampled)
{
    wp_exemplar_sample_clear(sampled);
}

static struct wp_exemplars *set_at(struct wp_exemplar_sample *sampled, uint64_t real_ns)
{
    uint64_t timebox_s = sampled->timebox_s ? real_ns / WP_NS_PER_S / sampled->timebox_s * sampled->timebox_s : 0;
    for (uint32_t i = 0; i < sampled->box_count; i++)
        if (sampled->boxes[i].timebox_s == timebox_s)
            return &sampled->boxes[i].set;
    if (WP_ARRAY_FIT(sampled->boxes, sampled->box_room, sampled->box_count + 1))
        return NULL;
    sampled->boxes[sampled->box_count] = (struct wp_exemplar_sample_box){.timebox_s = timebox_s};
    return &sampled->boxes[sampled->box_count++].set;
}

static bool offer(
    struct wp_aggregate *aggregate, const char *service, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
    struct wp_exemplar_sample *sampled = &aggregate->sampled;
    struct wp_exemplar_window window = {.service = (char *)(uintptr_t)service,
        .host = aggregate->hostname,
        .start_ns = start_ns + (uint64_t)aggregate->real_offset_ns,
        .length_ns = end_ns - start_ns,
        .tid = aggregate->timeline->threads[thread].tid,
        .thread = thread,
        .is_new = true};
    struct wp_exemplars *set = set_at(sampled, window.start_ns);
    bool is_kept = set && wp_exemplars_want(set, &window) && !wp_exemplars_add(set, &window);
    sampled->has_news |= is_kept;
    return is_kept;
}

bool wp_exemplar_sample_request(struct wp_aggregate *aggregate, const char *service, const struct wp_reply *reply)
{
    return offer(aggregate, service, reply->thread, reply->arrived_ns, reply->time_ns);
}

bool wp_exemplar_sample_wait(struct wp_aggregate *aggregate, uint32_t thread, const struct wp_slice *slice)
{
    return wp_exemplar_sample_is_wait(slice) && slice->in_ns - slice->out_ns <= aggregate->reach_ns &&
        offer(aggregate, "", thread, slice->out_ns, slice->in_ns);
}

/* --- what a window consisted of --- */

/* How a window that has been explained is shown. */
struct view {
    const struct wp_exemplar_window *window;
    const struct wp_piece_list *list;
    uint32_t row_limit;      /* of each kind */
    struct wp_top_k *pieces; /* the longest are kept; NULL: the first ones */
    bool is_whole;           /* nothing had to be left out */
};

static uint64_t start_of(const struct wp_aggregate *aggregate, const struct wp_exemplar_window *window)
{
    return window->start_ns - (uint64_t)aggregate->real_offset_ns;
}

/* A thread of the aggregate when the window began, whatever it is called by its end. */
static void begin(struct wp_aggregate *aggregate, struct wp_exemplar *exemplar, const struct wp_exemplar_window *window)
{
    wp_exemplar_begin(exemplar, start_of(aggregate, window), aggregate->real_offset_ns);
    wp_exemplar_path(exemplar, aggregate->home, window->thread);
    if (exemplar->trace->path_count) {
        struct wp_trace_path *path = &exemplar->trace->paths[0];
        path->is_base = exemplar->trace->threads[path->thread].is_base = true;
    }
}

static int show(struct wp_aggregate *aggregate, struct view *view, struct wp_buffer *out)
{
    const struct wp_exemplar_window *window = view->window;
    uint64_t end_ns = start_of(aggregate, window) + window->length_ns;
    struct wp_exemplar exemplar;
    int rc = wp_exemplar_init(&exemplar, aggregate->fleet, aggregate->home, &aggregate->tree, aggregate->id.bit);
    if (rc)
        return rc;
    exemplar.row_limit = view->row_limit;
    exemplar.end_ns = end_ns;
    exemplar.pieces = view->pieces;
    begin(aggregate, &exemplar, window);
    if (view->pieces)
        wp_top_k_choose(view->pieces, view->row_limit);
    for (uint32_t i = 0; i < view->list->count; i++)
        wp_exemplar_piece(&exemplar, aggregate->home, window->thread, &view->list->rows[i]);
    exemplar.trace->omitted += view->list->lost;
    wp_exemplar_extend(&exemplar, end_ns);
    exemplar.trace->length_ns = window->length_ns;
    view->is_whole = !exemplar.trace->omitted;
    rc = wp_trace_encode(exemplar.trace, out, NULL);
    wp_exemplar_fini(&exemplar);
    return rc;
}

static void measure(const struct wp_piece_list *list, uint64_t origin_ns, struct wp_top_k *pieces)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->rows[i].end_ns > origin_ns)
            wp_top_k_add(pieces, wp_piece_row_length(&list->rows[i], origin_ns));
}

/* Most windows fit whole; of one that does not the longest rows are kept, fewer until they fit into the window's bytes.
 */
static void show_within(struct wp_aggregate *aggregate, struct view *view, struct wp_buffer *out)
{
    struct wp_top_k pieces = {0};
    bool has_fit = false;
    measure(view->list, start_of(aggregate, view->window), &pieces);
    if (pieces.count <= view->row_limit && !show(aggregate, view, out) && view->is_whole &&
        out->size <= WP_EXEMPLARS_BYTES) {
        wp_top_k_fini(&pieces);
        return;
    }
    view->pieces = &pieces;
    for (;; view->row_limit /= 2) {
        wp_buffer_clear(out);
        if (show(aggregate, view, out))
            break;
        has_fit = out->size <= WP_EXEMPLARS_BYTES;
        if (has_fit || !view->row_limit)
            break;
    }
    view->pieces = NULL;
    wp_top_k_fini(&pieces);
    if (!has_fit)
        wp_buffer_fini(out); /* no memory: it is not stored */
}

/* The request that the window is of; NULL: it is of a wait. Borrowed. */
static const struct wp_reply *reply_of(const struct wp_aggregate *aggregate, const struct wp_exemplar_window *window)
{
    const struct wp_messages *messages = &aggregate->timeline->messages;
    uint64_t end_ns = start_of(aggregate, window) + window->length_ns;
    for (uint32_t i = messages->reply_end; *window->service && i-- > messages->reply_first;) {
        const struct wp_reply *reply = &messages->replies[i];
        if (reply->time_ns == end_ns && reply->thread == window->thread)
            return reply;
    }
    return NULL;
}

/* A request of several is what itself went through; else it is its thread's time. */
static void tell_window(
    struct wp_aggregate *aggregate, const struct wp_exemplar_window *window, const struct wp_sink *sink)
{
    const struct wp_reply *reply = reply_of(aggregate, window);
    uint64_t start_ns = start_of(aggregate, window);
    struct wp_interval interval = {aggregate->home, window->thread, start_ns, start_ns + window->length_ns};
    if (reply && reply->reader && reply->read_ns < reply->time_ns) {
        const struct wp_explain_request request = {
            reply->socket, reply->reader, reply->thread, reply->read_ns, reply->time_ns};
        if (wp_explain_request(aggregate->explainer, &request, sink, NULL)) {
            interval.thread = reply->reader;
            interval.end_ns = reply->read_ns;
        }
    }
    const struct wp_explained rest = {.interval = &interval, .window_ns = UINT64_MAX};
    if (interval.start_ns < interval.end_ns)
        wp_explained_tell(aggregate, &rest, sink);
}

static void look_at_window(struct wp_aggregate *aggregate, struct wp_exemplar_window *window)
{
    struct wp_piece_list list = {0};
    struct wp_sink sink = wp_piece_list_sink(&list);
    window->is_new = false;
    tell_window(aggregate, window, &sink);
    struct view view = {.window = window, .list = &list, .row_limit = WINDOW_ROWS};
    show_within(aggregate, &view, &window->trace);
    wp_piece_list_fini(&list);
}

bool wp_exemplar_sample_look(struct wp_aggregate *aggregate)
{
    struct wp_exemplar_sample *sampled = &aggregate->sampled;
    for (uint32_t i = 0; sampled->has_news && i < sampled->box_count; i++)
        for (uint32_t j = 0; j < sampled->boxes[i].set.count; j++) {
            if (!sampled->boxes[i].set.rows[j].is_new)
                continue;
            if (wp_fleet_pauses(aggregate->fleet))
                return false;
            look_at_window(aggregate, &sampled->boxes[i].set.rows[j]);
        }
    return true;
}

void wp_exemplar_sample_stored(struct wp_exemplar_sample *sampled)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sampled->box_count; i++) {
        struct wp_exemplar_sample_box *box = &sampled->boxes[i];
        uint32_t later = 0;
        for (uint32_t j = 0; j < sampled->box_count; j++)
            later += sampled->boxes[j].timebox_s > box->timebox_s;
        for (uint32_t j = 0; j < box->set.count; j++)
            wp_buffer_fini(&box->set.rows[j].trace);
        if (later >= LATE_BOXES)
            wp_exemplars_fini(&box->set);
        else
            sampled->boxes[kept++] = *box;
    }
    sampled->box_count = kept;
    sampled->has_news = false;
}
