/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/aggregate.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/aggregate_delta.h"
#include "aggregator/account/asks.h"
#include "aggregator/account/detached.h"
#include "aggregator/account/exemplar_sample.h"
#include "aggregator/account/mates.h"
#include "aggregator/account/other_paths.h"
#include "aggregator/account/sample_sums.h"
#include "aggregator/account/transactions.h"
#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_loop.h"
#include "aggregator/explain/explain_spurious.h"
#include "aggregator/net/owed.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/taken.h"
#include "aggregator/timeline/timeline_window.h"
#include "common/array.h"
#include "common/clock.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEMPLARS                                                                                                      \
    8u /* sessions that keep one for an aggregate; only one is stored in the end, and each takes megabytes */

/* Slices of an epoch: a window that many wait with is one explanation for all of them, unless its pieces are kept.
 * Beyond this those that are still kept in the end are explained again. */
#define WINDOW_VISITS 100000u

static void take_crossed(void *context, const struct wp_crossed *crossed)
{
    struct wp_aggregate *aggregate = context;
    uint64_t times = crossed->times ? crossed->times : 1;
    wp_report_edge(aggregate->delta.report, crossed->from, crossed->to,
        &(struct wp_report_edge){.messages = times,
            .waited_ns = wp_times(crossed->waited_ns, times),
            .transit_ns = wp_times(crossed->transit_ns, times),
            .transit_max_ns = crossed->transit_ns,
            .bound_max_ns = crossed->bound_ns});
}

static void take_limit(void *context, enum wp_limit limit, uint64_t count, uint64_t ns)
{
    struct wp_aggregate *aggregate = context;
    aggregate->limits[limit].count += count;
    aggregate->limits[limit].ns += ns;
}

/* --- base threads --- */

static uint32_t *exemplars_of(struct wp_aggregate *aggregate)
{
    return &aggregate->fleet->exemplars[__builtin_ctzll(aggregate->id.bit)];
}

/* The first sessions that have something to keep do. */
static bool keeps_exemplar(struct wp_aggregate *aggregate)
{
    if (!aggregate->has_exemplar && *exemplars_of(aggregate) < EXEMPLARS) {
        aggregate->has_exemplar = true;
        ++*exemplars_of(aggregate);
    }
    return aggregate->has_exemplar;
}

/* Sleeps and runs follow each other without a gap: the report gets the whole, not each. */
static void tell_activity(struct wp_aggregate *aggregate)
{
    uint64_t offset_ns = (uint64_t)aggregate->real_offset_ns;
    wp_report_activity(
        aggregate->delta.report, aggregate->active_from_ns + offset_ns, aggregate->active_to_ns + offset_ns);
    aggregate->active_from_ns = aggregate->active_to_ns = 0;
}

/* The interval lies in that slice; of its pieces each is kept, for a window. */
static void account(struct wp_aggregate *aggregate, const struct wp_interval *interval, uint64_t slice, bool is_window)
{
    uint64_t from = interval->start_ns, to = interval->end_ns, visits = aggregate->fleet->visits;
    if (from >= to)
        return;
    aggregate->path_host = interval->host;
    aggregate->path_thread = interval->thread;
    if (!aggregate->exemplar.origin_ns && keeps_exemplar(aggregate))
        wp_exemplar_begin(&aggregate->exemplar, from, aggregate->real_offset_ns);
    if (wp_request_pieces_may_keep(&aggregate->requests, is_window))
        wp_request_pieces_open(&aggregate->requests, from, to, is_window);
    wp_explain_slice(aggregate->explainer, interval, slice, &aggregate->counted);
    if (aggregate->requests.is_open)
        wp_request_pieces_close(&aggregate->requests);
    aggregate->walk.window_visits += is_window ? aggregate->fleet->visits - visits : 0;
    if (from != aggregate->active_to_ns) {
        tell_activity(aggregate);
        aggregate->active_from_ns = from;
    }
    aggregate->active_to_ns = to;
}

/* What it waited for may still come. */
static __attribute__((noinline)) bool goes_on(
    struct wp_aggregate *aggregate, uint32_t thread, uint64_t ordinal, const struct wp_slice *slice)
{
    bool is_of_loop = wp_explain_may_go_on(slice) || slice->cause == WP_CAUSE_MESSAGE;
    return (is_of_loop && wp_explain_pending(aggregate->explainer, thread, ordinal)) ||
        wp_explain_spurious_pending(aggregate->explainer, thread, ordinal);
}

/* True when the sleep of this slice can be accounted for. */
static bool sleep_is_ready(
    struct wp_aggregate *aggregate, uint32_t thread, uint64_t ordinal, uint64_t until_ns, bool is_final)
{
    const struct wp_slice *slice = wp_thread_slice(&aggregate->timeline->threads[thread], ordinal);
    if (!slice->in_ns || slice->in_ns > until_ns)
        return false;
    bool may_go_on =
        wp_explain_may_go_on(slice) || slice->cause == WP_CAUSE_MESSAGE || wp_explain_may_be_spurious(slice);
    return is_final || until_ns - slice->in_ns > aggregate->reach_ns / 2 || !may_go_on ||
        !goes_on(aggregate, thread, ordinal, slice);
}

/* No thread of its has done anything since the recording began. */
static bool is_asleep_throughout(const struct wp_aggregate *aggregate)
{
    for (uint32_t i = 0; i < aggregate->base_count; i++) {
        const struct wp_slice *last = wp_thread_last(&aggregate->timeline->threads[aggregate->base[i].thread]);
        if (!last || last->in_ns || last->wake_ns || !(last->flags & WP_SLICE_FIRST))
            return false;
    }
    return true;
}

/* Since the recording began it has waited for what it asked, or for a lock that somebody has, or has owed an answer,
 * and no other thread has read that, or has answered. Who waits for work with a condition has not the lock of that in
 * mind, whoever holds it. */
static bool is_hanging(struct wp_aggregate *aggregate, uint32_t thread, const struct wp_slice *slice, uint64_t until_ns)
{
    const struct wp_idle_wait wait = {aggregate->timeline, &aggregate->idle_places, aggregate->id.bit, thread, slice};
    const struct wp_messages *messages = &aggregate->timeline->messages;
    const uint8_t others = WP_SLICE_FIRST | WP_SLICE_BORN | WP_SLICE_PREEMPTED;
    if (slice->flags & others || slice->wake_ns)
        return false;
    bool is_asking = slice->is_asking && wp_asked_last(&messages->asked, thread, slice->out_ns);
    return is_asking || (wp_slice_holder(slice) && !wp_idle_wait_is_known(&wait)) ||
        wp_owed_by(messages, thread, until_ns);
}

/* In a call in which nobody waits for work; a supervisor waits for its children from before to beyond. */
static bool is_for_outcome(const struct wp_slice *slice)
{
    const uint8_t others = WP_SLICE_BORN | WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_PREEMPTED;
    return !(slice->flags & others) && !slice->wake_ns && wp_wait_is_for_outcome(slice) &&
        !(slice->flags & WP_SLICE_FIRST && wp_wait_is_for_child(slice));
}

/* The recording ends while the recorded command sleeps: that is where its time went. Of others the sleeps that did not
 * end are left out, since a host is full of threads that wait for nothing in particular, unless it is known for what,
 * or all that was asked for slept all the time; where it goes on in another session they are told there. */
static bool is_unended(struct wp_aggregate *aggregate, uint32_t thread, const struct wp_slice *slice, uint64_t until_ns)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    if (timeline->paused_ns || timeline->goes_on)
        return false;
    const struct wp_thread_entry *entry =
        wp_dictionary_thread(timeline->dictionary, timeline->identities[slice->identity].entry);
    return (!slice->in_ns || slice->in_ns > until_ns) && slice->out_ns < until_ns &&
        ((entry && entry->flags & WP_THREAD_COMMAND) || is_hanging(aggregate, thread, slice, until_ns) ||
            is_for_outcome(slice) || is_asleep_throughout(aggregate));
}

/* Where the account of the thread goes on. Ordinals stay what they are until its host forgets, at the end of an epoch.
 */
static uint64_t first_slice(struct wp_aggregate *aggregate, const struct wp_thread *thread, uint64_t from)
{
    bool goes_on = aggregate->walk.goes_on;
    aggregate->walk.goes_on = false;
    uint64_t ordinal = goes_on ? aggregate->walk.ordinal : wp_thread_find(thread, from);
    return !goes_on && ordinal == thread->slice_end ? thread->first_slice : ordinal;
}

static struct wp_mates mates_of(const struct wp_aggregate *aggregate)
{
    return (struct wp_mates){.timeline = aggregate->timeline,
        .report = aggregate->delta.report,
        .bit = aggregate->id.bit,
        .taken = wp_taken_mark(aggregate->id.bit),
        .slept = wp_taken_sleep_mark(aggregate->id.bit),
        .between = aggregate->between,
        .is_progress = aggregate->view == WP_VIEW_PROGRESS};
}

/* A slice of a base thread, as far as it can be accounted for now. */
struct part {
    const struct wp_slice *slice;
    uint64_t from_ns, to_ns;
    uint64_t idle_ns; /* before from_ns it had nothing to do, which is left out */
    bool is_base;     /* the thread was one in it */
    bool is_known;    /* else it goes no further: what it waits for may still come */
    bool is_over;     /* the next slice follows */
};

static bool is_idle(struct wp_aggregate *aggregate, uint32_t thread, const struct wp_slice *slice)
{
    const struct wp_idle_wait wait = {aggregate->timeline, &aggregate->idle_places, aggregate->id.bit, thread, slice};
    return wp_idle_wait_is_idle(&wait, aggregate->explainer);
}

/* What of that slice, from `from` on, is to be explained. */
static struct part part_of(
    struct wp_aggregate *aggregate, const struct wp_interval *rest, uint64_t ordinal, bool is_final)
{
    uint32_t index = rest->thread;
    uint64_t from = rest->start_ns, until_ns = rest->end_ns;
    const struct wp_slice *slice = wp_thread_slice(&aggregate->timeline->threads[index], ordinal);
    struct part part = {.slice = slice,
        .from_ns = slice->out_ns > from ? slice->out_ns : from,
        .to_ns = until_ns,
        .is_base = aggregate->timeline->identities[slice->identity].aggregates & aggregate->id.bit,
        .is_known = sleep_is_ready(aggregate, index, ordinal, until_ns, is_final)};
    if (!part.is_known) { /* whom it started may yet wake it */
        part.is_base = part.is_base && is_final && is_unended(aggregate, index, slice, until_ns);
        return part;
    }
    part.is_over = slice->end_ns && slice->end_ns <= until_ns;
    part.to_ns = part.is_over ? slice->end_ns : until_ns;
    uint64_t woken_ns = slice->is_cut && !slice->wake_ns ? slice->in_ns : slice->wake_ns;
    if (part.is_base && aggregate->view == WP_VIEW_BUSY && part.from_ns < woken_ns &&
        is_idle(aggregate, index, slice)) {
        part.idle_ns = woken_ns - part.from_ns;
        part.from_ns = woken_ns;
    }
    return part;
}

/* How far the thread has been gone through behind that part. */
static uint64_t behind(const struct part *part, uint64_t from)
{
    uint64_t reached_ns = part->to_ns > part->slice->in_ns ? part->to_ns : part->slice->in_ns;
    return reached_ns > from ? reached_ns : from;
}

static void account_part(struct wp_aggregate *aggregate, uint32_t thread, uint64_t ordinal, const struct part *part)
{
    if (part->idle_ns) {
        struct wp_mates mates = mates_of(aggregate);
        aggregate->delta.has_news |=
            wp_mates_tell_idle(&mates, part->slice->identity, part->from_ns - part->idle_ns, part->from_ns);
    }
    struct wp_interval interval = {aggregate->home, thread, part->from_ns, part->to_ns};
    if (!wp_selector_cut(&aggregate->between, &interval.start_ns, &interval.end_ns))
        return;
    bool is_window = part->is_known && wp_exemplar_sample_is_wait(part->slice) &&
        interval.start_ns == part->slice->out_ns && interval.end_ns >= part->slice->in_ns &&
        wp_exemplar_sample_wait(aggregate, thread, part->slice) && aggregate->walk.window_visits < WINDOW_VISITS;
    account(aggregate, &interval, ordinal, is_window);
}

/* Goes through what is left of the thread's time as far as it goes, or as the part allows that is explained now
 * (walk.goes_on), for what is counted or for another sink; returns how far. */
static uint64_t go_through(
    struct wp_aggregate *aggregate, const struct wp_interval *left, bool is_final, const struct wp_sink *sink)
{
    struct wp_interval rest = *left;
    const struct wp_thread *thread = &aggregate->timeline->threads[rest.thread];
    for (uint64_t ordinal = first_slice(aggregate, thread, rest.start_ns); ordinal < thread->slice_end; ordinal++) {
        if (wp_aggregate_pauses(aggregate)) {
            aggregate->walk.goes_on = true;
            aggregate->walk.ordinal = ordinal;
            break;
        }
        struct part part = part_of(aggregate, &rest, ordinal, is_final);
        struct wp_interval interval = {rest.host, rest.thread, part.from_ns, part.to_ns};
        if (part.is_base && sink == &aggregate->counted)
            account_part(aggregate, rest.thread, ordinal, &part);
        else if (part.is_base && wp_selector_cut(&aggregate->between, &interval.start_ns, &interval.end_ns))
            wp_explain_slice(aggregate->explainer, &interval, ordinal, sink);
        if (part.is_known)
            rest.start_ns = behind(&part, rest.start_ns);
        if (!part.is_over)
            break;
    }
    return rest.start_ns;
}

/* Threads that are gone, and gone for longer than a checkpoint reaches back. */
static void forget_base(struct wp_aggregate *aggregate, uint64_t horizon_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < aggregate->base_count; i++) {
        const struct wp_thread *thread = &aggregate->timeline->threads[aggregate->base[i].thread];
        bool is_gone = thread->is_dead && !thread->slices && aggregate->base[i].until_ns < horizon_ns;
        if (!is_gone)
            aggregate->base[kept++] = aggregate->base[i];
    }
    aggregate->base_count = kept;
}

/* What nobody has waited for half a history after it was done is not waited for. */
static void count_detached(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final)
{
    uint64_t oldest_ns = until_ns > aggregate->history_ns ? until_ns - aggregate->history_ns : 0;
    uint64_t to_ns = is_final ? until_ns : wp_detached_until(until_ns, aggregate->history_ns);
    if (to_ns <= aggregate->detached_ns)
        return;
    uint64_t ns = wp_detached_count(aggregate, aggregate->detached_ns, to_ns, oldest_ns);
    struct wp_mates mates = mates_of(aggregate);
    aggregate->delta.has_news |= wp_mates_tell(&mates, aggregate->detached_ns, to_ns, is_final);
    aggregate->detached_ns = to_ns;
    aggregate->delta.has_news |= ns != 0;
    if (ns)
        wp_report_detached(aggregate->delta.report, ns);
}

/* --- an epoch, step by step --- */

/* False, of this and of the next ones: a part of it. */
static bool resolve_base(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final)
{
    struct wp_walk *walk = &aggregate->walk;
    for (; walk->at < walk->end; walk->at++) {
        uint32_t i = walk->at;
        if (!walk->goes_on) {
            aggregate->base[i].from_ns = aggregate->base[i].until_ns;
            aggregate->base[i].parts.first = aggregate->requests.part_count;
            wp_request_pieces_begin(&aggregate->requests, aggregate->base[i].requests);
        }
        struct wp_interval left = {aggregate->home, aggregate->base[i].thread, aggregate->base[i].until_ns, until_ns};
        aggregate->base[i].until_ns = go_through(aggregate, &left, is_final, &aggregate->counted);
        if (walk->goes_on)
            return false;
        aggregate->base[i].parts.end = aggregate->requests.part_count;
        tell_activity(aggregate);
        wp_asks_tell(aggregate, aggregate->base[i].thread, aggregate->base[i].from_ns, aggregate->base[i].until_ns);
    }
    uint64_t from_ns = aggregate->paused_until_ns, to_ns = until_ns;
    if (wp_selector_cut(&aggregate->between, &from_ns, &to_ns))
        aggregate->paused_ns += wp_timeline_paused(aggregate->timeline, from_ns, to_ns);
    aggregate->paused_until_ns = until_ns;
    return true;
}

static bool follow_those_asked_for(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final)
{
    if (!wp_aggregate_follow_asked(aggregate, is_final ? UINT64_MAX : until_ns))
        return false;
    bool is_over = until_ns >= aggregate->between.to_ns;
    if (is_over && aggregate->exemplar.origin_ns)
        aggregate->exemplar.end_ns = aggregate->between.to_ns;
    if (aggregate->has_exemplar)
        wp_exemplar_extend(&aggregate->exemplar, is_over ? aggregate->between.to_ns : until_ns);
    return true;
}

static bool walk_step(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final)
{
    switch (aggregate->walk.step) {
    case WP_WALK_BASE:
        return resolve_base(aggregate, until_ns, is_final);
    case WP_WALK_REPLIES:
        return wp_transactions_file(aggregate);
    case WP_WALK_PATHS:
        return wp_other_paths_follow(aggregate, &aggregate->counted);
    case WP_WALK_ASKED:
        return follow_those_asked_for(aggregate, until_ns, is_final);
    default:
        return wp_exemplar_sample_look(aggregate);
    }
}

bool wp_aggregate_resolve(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final)
{
    struct wp_walk *walk = &aggregate->walk;
    if (is_final && until_ns > aggregate->timeline->now_ns)
        until_ns = aggregate->timeline->now_ns;
    if (!walk->is_on) {
        *walk = (struct wp_walk){.is_on = true,
            .end = aggregate->base_count,
            .leaves = aggregate->fleet->leaves}; /* who comes up from now on is the next epoch's */
        wp_transactions_expect(aggregate, until_ns);
    }
    aggregate->resolving_ns = until_ns;
    for (; walk->step < WP_WALK_STEPS; walk->step++) {
        bool is_whole = walk_step(aggregate, until_ns, is_final);
        /* Hosts may come and go before it goes on. */
        wp_explain_settle(aggregate->explainer, &aggregate->counted);
        if (!is_whole)
            return false;
    }
    walk->is_on = false;
    count_detached(aggregate, until_ns, is_final);
    if (until_ns > aggregate->reach_ns)
        wp_other_paths_forget(aggregate, until_ns - aggregate->reach_ns);
    if (until_ns > 4 * aggregate->reach_ns)
        forget_base(aggregate, until_ns - 4 * aggregate->reach_ns);
    return true;
}

static struct wp_intervals copy_intervals(const struct wp_intervals *from)
{
    struct wp_intervals copy = {0};
    for (uint32_t i = 0; i < from->count; i++)
        wp_intervals_add(&copy, &from->rows[i]);
    return copy;
}

static void put_back(struct wp_intervals *to, struct wp_intervals *copy)
{
    free(to->rows);
    *to = *copy;
}

void wp_aggregate_rehearse(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final)
{
    struct wp_intervals followed = copy_intervals(aggregate->followed), asked = copy_intervals(&aggregate->asked);
    for (uint32_t i = 0; until_ns != UINT64_MAX && i < aggregate->base_count; i++) {
        struct wp_interval left = {aggregate->home, aggregate->base[i].thread, aggregate->base[i].until_ns, until_ns};
        go_through(aggregate, &left, is_final, &aggregate->rehearsed);
    }
    wp_other_paths_follow(aggregate, &aggregate->rehearsed);
    wp_other_paths_follow_asked(aggregate, is_final ? UINT64_MAX : until_ns, &aggregate->rehearsed);
    wp_explain_forget(aggregate->explainer);
    put_back(aggregate->followed, &followed);
    put_back(&aggregate->asked, &asked);
}

void wp_aggregate_add_base(struct wp_aggregate *aggregate, uint32_t thread)
{
    for (uint32_t i = aggregate->base_count; i > 0; i--)
        if (aggregate->base[i - 1].thread == thread)
            return;
    if (WP_ARRAY_FIT(aggregate->base, aggregate->base_room, aggregate->base_count + 1))
        return;
    aggregate->base[aggregate->base_count].thread = thread;
    aggregate->base[aggregate->base_count].from_ns = 0;
    aggregate->base[aggregate->base_count++].until_ns = 0;
}

void wp_aggregate_set_base(struct wp_aggregate *aggregate, uint32_t thread, uint64_t until_ns)
{
    wp_aggregate_add_base(aggregate, thread);
    for (uint32_t i = 0; i < aggregate->base_count; i++)
        if (aggregate->base[i].thread == thread)
            aggregate->base[i].until_ns = until_ns;
}

void wp_aggregate_begin_base(struct wp_aggregate *aggregate, uint64_t from_ns)
{
    for (uint32_t i = 0; i < aggregate->base_count; i++)
        if (!aggregate->base[i].until_ns)
            aggregate->base[i].until_ns = from_ns;
}

/* --- life --- */

static void set_sinks(struct wp_aggregate *aggregate)
{
    aggregate->counted = (struct wp_sink){.piece = wp_sample_sums_add,
        .other_path = wp_other_paths_take,
        .crossed = take_crossed,
        .limit = take_limit,
        .wants_each = wp_sample_sums_wants_each,
        .context = aggregate,
        .shares = true,
        .marks = true};
    aggregate->asked_for = aggregate->counted;
    aggregate->asked_for.marks = false;
    aggregate->rehearsed =
        (struct wp_sink){.other_path = wp_other_paths_take, .context = aggregate, .shares = true, .asks = true};
}

/* How the session's reports are filed depends on what they are recorded and explained with. */
static int name_bucket(
    struct wp_aggregate_id *id, const struct wp_explain_options *explain, const struct wp_aggregate_options *options)
{
    const struct wp_bucket bucket = {.selector = options->selector,
        .sample_period_ns = options->sample_period_ns,
        .depth = explain->depth,
        .width = explain->width,
        .fit_ns = explain->fit_ns,
        .history_ns = options->history_ns,
        .join_ns = explain->join_ns,
        .late_sample_ns = options->late_sample_ns,
        .command = options->command,
        .workload = options->workload};
    id->bucket_facts = calloc(WP_BUCKET_FACTS, sizeof(*id->bucket_facts));
    if (!id->bucket_facts)
        return -ENOMEM;
    wp_bucket_facts(id->bucket_facts, id->name, &bucket);
    wp_bucket_name(id->bucket, id->bucket_facts);
    return 0;
}

static void set_explain_options(struct wp_explain_options *to, const struct wp_aggregate_options *options)
{
    const struct wp_explain_options *from = &options->explain;
    to->origin_ns = options->reach_ns / 2;
    to->chunk_ns = from->chunk_ns ? from->chunk_ns : to->chunk_ns;
    to->fit_ns = from->fit_ns ? from->fit_ns : to->fit_ns;
    to->join_ns = from->join_ns ? from->join_ns : to->join_ns;
    to->depth = from->depth ? from->depth : to->depth;
    to->width = from->width ? from->width : to->width;
    to->budget = from->budget ? from->budget : to->budget;
}

static int make_parts(struct wp_aggregate *aggregate, const struct wp_aggregate_options *options)
{
    struct wp_fleet *fleet = options->fleet;
    struct wp_aggregate_id *id = &aggregate->id;
    snprintf(id->name, sizeof(id->name), "%s", fleet->names[options->number]);
    snprintf(id->release, sizeof(id->release), "%s", fleet->releases[options->number]);
    aggregate->hostname = strdup(fleet->hosts[options->home].hostname);
    aggregate->delta.report = wp_report_create();
    wp_idle_places_init(&aggregate->idle_places);
    if (!aggregate->hostname || !aggregate->delta.report || wp_pathtree_init(&aggregate->tree) ||
        wp_transactions_init(&aggregate->transactions) ||
        !(aggregate->explainer = wp_explainer_create(fleet, options->home, &aggregate->tree, id->bit)) ||
        wp_exemplar_init(&aggregate->exemplar, fleet, options->home, &aggregate->tree, id->bit))
        return -ENOMEM;
    struct wp_explain_options *explain = wp_explainer_options(aggregate->explainer);
    set_explain_options(explain, options);
    return name_bucket(id, explain, options);
}

struct wp_aggregate *wp_aggregate_create(const struct wp_aggregate_options *options)
{
    struct wp_aggregate *aggregate = malloc(sizeof(*aggregate));
    if (!aggregate)
        return NULL;
    *aggregate = (struct wp_aggregate){.id.bit = (uint64_t)1 << options->number,
        .fleet = options->fleet,
        .home = options->home,
        .between.to_ns = UINT64_MAX,
        .timeline = options->fleet->hosts[options->home].timeline,
        .followed = &options->fleet->followed[options->number],
        .real_offset_ns = options->real_offset_ns,
        .history_ns = options->history_ns,
        .reach_ns = options->reach_ns,
        .sampled.timebox_s = options->timebox_s,
        .lost = options->lost,
        .paused = options->paused,
        .shed = options->shed};
    if (make_parts(aggregate, options)) {
        wp_aggregate_destroy(aggregate);
        return NULL;
    }
    set_sinks(aggregate);
    return aggregate;
}

void wp_aggregate_destroy(struct wp_aggregate *aggregate)
{
    if (!aggregate)
        return;
    if (aggregate->has_exemplar)
        --*exemplars_of(aggregate);
    wp_aggregate_drop_closed(aggregate);
    wp_exemplar_fini(&aggregate->exemplar);
    wp_exemplar_sample_fini(&aggregate->sampled);
    wp_transactions_fini(&aggregate->transactions);
    wp_request_pieces_fini(&aggregate->requests);
    wp_line_sums_fini(&aggregate->lines);
    wp_explainer_destroy(aggregate->explainer);
    wp_idle_places_fini(&aggregate->idle_places);
    wp_pathtree_fini(&aggregate->tree);
    wp_report_destroy(aggregate->delta.report);
    free(aggregate->hostname);
    free(aggregate->id.bucket_facts);
    wp_sample_sums_fini(&aggregate->sample_sums);
    wp_detached_fini(&aggregate->detached);
    free(aggregate->base);
    wp_other_paths_fini(aggregate);
    free(aggregate);
}

const struct wp_aggregate_id *wp_aggregate_id(const struct wp_aggregate *aggregate)
{
    return &aggregate->id;
}

void wp_aggregate_set_view(struct wp_aggregate *aggregate, enum wp_selector_view view)
{
    aggregate->view = view;
}

/* In home's time; what is not bounded stays so, and before the host began there is nothing. */
void wp_aggregate_set_interval(struct wp_aggregate *aggregate, struct wp_selector_interval interval)
{
    int64_t offset_ns = aggregate->real_offset_ns;
    if (__builtin_sub_overflow(interval.from_ns, offset_ns, &aggregate->between.from_ns))
        aggregate->between.from_ns = offset_ns < 0 ? UINT64_MAX : 0;
    aggregate->between.to_ns = UINT64_MAX;
    if (interval.to_ns != UINT64_MAX && __builtin_sub_overflow(interval.to_ns, offset_ns, &aggregate->between.to_ns))
        aggregate->between.to_ns = offset_ns < 0 ? UINT64_MAX : 0;
}
