/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/transactions.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/exemplar_sample.h"
#include "aggregator/account/explained.h"
#include "aggregator/timeline/slices.h"
#include "common/array.h"
#include "storage/report/report_transactions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRANSACTION_SUMS 1024u
#define BUDGET_SHARE 64u /* of an epoch's: so much may be looked at for time in which requests lay unread */
#define LOOKS_A_VISIT 8u /* pieces that take as long as a slice */
#define BEHIND 0x100u    /* with a part: what others' threads did, which the request was behind */

int wp_transactions_init(struct wp_transactions *transactions)
{
    *transactions = (struct wp_transactions){0};
    return wp_transaction_names_init(&transactions->names);
}

void wp_transactions_fini(struct wp_transactions *transactions)
{
    wp_transaction_names_fini(&transactions->names);
    wp_intmap_fini(&transactions->slots);
    free(transactions->sums);
    *transactions = (struct wp_transactions){0};
}

static void name_service(uint32_t port, char name[32])
{
    snprintf(name, 32, "tcp port %u", port);
}

static void put_sum(struct wp_aggregate *aggregate, struct wp_transaction_sum *sum)
{
    struct wp_transaction_names *names = &aggregate->transactions.names;
    char service[32];
    if (!sum->count)
        return;
    struct wp_transaction_said said = sum->part == WP_PART_UNREAD || sum->part & BEHIND
        ? wp_transaction_names_reader(names, &aggregate->tree, sum->node)
        : wp_transaction_names_top(names, &aggregate->tree, sum->node, (enum wp_category)sum->part);
    name_service(sum->port, service);
    wp_report_transaction_parts(aggregate->delta.report,
        &(struct wp_transaction_part){service, said.who, said.what, sum->part & ~BEHIND, sum->bucket, sum->ns},
        sum->count);
    sum->ns = sum->count = 0;
}

/* Equal pieces of earlier transactions are reported together. False: it is lost. */
static bool add_piece(struct wp_aggregate *aggregate, const struct wp_piece *piece, uint32_t part)
{
    struct wp_transactions *transactions = &aggregate->transactions;
    const struct wp_pathtree *tree = &aggregate->tree;
    if (piece->node >= tree->node_count || !wp_transaction_names_extend(&transactions->names, tree))
        return false;
    if (!transactions->sums && !(transactions->sums = calloc(TRANSACTION_SUMS, sizeof(*transactions->sums))))
        return false;
    uint32_t place = piece->node * 31 + transactions->bucket * 7 + part;
    struct wp_transaction_sum *sum = &transactions->sums[place % TRANSACTION_SUMS];
    if (sum->node != piece->node || sum->part != part || sum->bucket != transactions->bucket ||
        sum->port != transactions->port) {
        put_sum(aggregate, sum);
        *sum = (struct wp_transaction_sum){
            .node = piece->node, .part = part, .bucket = transactions->bucket, .port = transactions->port};
    }
    sum->ns += piece->end_ns - piece->start_ns;
    sum->count++;
    return true;
}

static void take_piece(void *context, const struct wp_piece *piece)
{
    add_piece(context, piece, piece->category);
}

static void take_behind(void *context, const struct wp_piece *piece)
{
    add_piece(context, piece, WP_OTHER_PATH | BEHIND);
}

static void take_unread(void *context, const struct wp_piece *piece)
{
    struct wp_aggregate *aggregate = context;
    struct wp_transactions *transactions = &aggregate->transactions;
    uint64_t ns = piece->end_ns - piece->start_ns;
    aggregate->fleet->visits += !(++transactions->unread_looks % LOOKS_A_VISIT);
    if (ns <= transactions->unread_ns && add_piece(aggregate, piece, WP_PART_UNREAD))
        transactions->unread_ns -= ns;
}

/* The thread worked for others meanwhile. Each such request asks again for time that others ask for, which is bounded
 * and takes nothing from the host's budget. */
static bool tell_hops(struct wp_aggregate *aggregate, const struct wp_reply *reply)
{
    const struct wp_sink own = {.piece = take_piece, .context = aggregate};
    const struct wp_sink behind = {.piece = take_behind, .context = aggregate};
    struct wp_transactions *transactions = &aggregate->transactions;
    struct wp_fleet *fleet = aggregate->fleet;
    uint64_t visits = fleet->visits;
    const struct wp_explain_request request = {
        reply->socket, reply->reader, reply->thread, reply->read_ns, reply->time_ns};
    if (!reply->reader || transactions->hop_visits >= wp_explainer_options(aggregate->explainer)->budget / BUDGET_SHARE)
        return false;
    bool is_told = wp_explain_request(aggregate->explainer, &request, &own, &behind);
    transactions->hop_visits += fleet->visits - visits;
    fleet->visits_before += fleet->visits - visits;
    return is_told;
}

/* What the account of its thread led to; what is explained for it alone serves its window, if that is kept, too. */
static void tell_pieces(
    struct wp_aggregate *aggregate, const struct wp_reply *reply, const struct wp_request_parts *in, bool is_window)
{
    const struct wp_sink taken = {.piece = take_piece, .context = aggregate}, none = {0};
    const struct wp_interval interval = {aggregate->home, reply->thread, reply->read_ns, reply->time_ns};
    bool is_told = reply->read_ns < reply->time_ns && tell_hops(aggregate, reply);
    const struct wp_sink sink = is_told ? none : taken;
    if (reply->read_ns < reply->time_ns &&
        (!is_told || is_window)) /* else the time itself is accounted for elsewhere */
        wp_explained_tell(
            aggregate, &(struct wp_explained){&interval, in, is_window ? reply->arrived_ns : UINT64_MAX}, &sink);
}

/* A request lay unread: what its reader did meanwhile. That is not asked of what a waking alone may take; and many that
 * lie behind one another ask for the same time again, which is bounded and takes nothing from the host's budget. */
static void tell_unread(
    struct wp_aggregate *aggregate, const struct wp_reply *reply, const struct wp_request_parts *parts)
{
    struct wp_transactions *transactions = &aggregate->transactions;
    const struct wp_explain_options *options = wp_explainer_options(aggregate->explainer);
    const struct wp_sink sink = {.piece = take_unread, .context = aggregate};
    const struct wp_interval interval = {aggregate->home, reply->reader, reply->arrived_ns, reply->read_ns};
    struct wp_fleet *fleet = aggregate->fleet;
    uint64_t visits = fleet->visits;
    transactions->unread_ns = reply->read_ns - reply->arrived_ns;
    if (reply->reader && transactions->unread_ns >= options->fit_ns &&
        transactions->unread_visits < options->budget / BUDGET_SHARE)
        wp_explained_tell(aggregate,
            &(struct wp_explained){&interval, reply->reader == reply->thread ? parts : NULL, UINT64_MAX}, &sink);
    transactions->unread_visits += fleet->visits - visits;
    fleet->visits_before += fleet->visits - visits;
    if (transactions->unread_ns)
        wp_report_transaction_part(aggregate->delta.report,
            &(struct wp_transaction_part){
                transactions->service, "", "", WP_PART_UNREAD, transactions->bucket, transactions->unread_ns});
}

static void file(struct wp_aggregate *aggregate, const struct wp_reply *reply, const struct wp_request_parts *parts)
{
    struct wp_transactions *transactions = &aggregate->transactions;
    const struct wp_socket_entry *entry = wp_dictionary_socket(aggregate->timeline->dictionary, reply->socket);
    uint64_t ns = reply->time_ns - reply->arrived_ns;
    uint32_t port = entry ? entry->local_port : 0u;
    if (!*transactions->service || port != transactions->port) /* mostly the next request is of the same one */
        name_service(port, transactions->service);
    transactions->port = port;
    transactions->bucket = wp_latency_bucket(ns);
    aggregate->delta.has_news = true;
    wp_report_transaction(
        aggregate->delta.report, transactions->service, reply->arrived_ns + (uint64_t)aggregate->real_offset_ns, ns);
    if (reply->arrived_ns < reply->read_ns)
        tell_unread(aggregate, reply, parts);
    bool is_window = wp_exemplar_sample_request(aggregate, transactions->service, reply);
    tell_pieces(aggregate, reply, parts, is_window);
}

static bool find_slots(struct wp_aggregate *aggregate)
{
    struct wp_intmap *slots = &aggregate->transactions.slots;
    int rc = 0;
    wp_intmap_clear(slots);
    for (uint32_t i = 0; !rc && i < aggregate->base_count; i++)
        rc = wp_intmap_put(slots, (struct wp_intkey){aggregate->base[i].thread, 0}, i);
    return !rc;
}

/* Of interest when the reply left? */
static bool is_base_at(const struct wp_aggregate *aggregate, uint32_t index, uint64_t at_ns)
{
    const struct wp_thread *thread = &aggregate->timeline->threads[index];
    uint64_t ordinal = thread->slices ? wp_thread_find(thread, at_ns) : thread->slice_end;
    return ordinal != thread->slice_end &&
        aggregate->timeline->identities[wp_thread_slice(thread, ordinal)->identity].aggregates & aggregate->id.bit;
}

void wp_transactions_expect(struct wp_aggregate *aggregate, uint64_t until_ns)
{
    const struct wp_messages *messages = &aggregate->timeline->messages;
    wp_request_pieces_clear(&aggregate->requests);
    aggregate->transactions.unread_visits = aggregate->transactions.hop_visits = 0;
    for (uint32_t i = 0; i < aggregate->base_count; i++)
        aggregate->base[i].requests = 0;
    if (messages->reply_first == messages->reply_end || !find_slots(aggregate))
        return;
    for (uint32_t i = messages->reply_end; i-- > messages->reply_first;) {
        const struct wp_reply *reply = &messages->replies[i];
        uint32_t slot;
        if (wp_intmap_get(&aggregate->transactions.slots, (struct wp_intkey){reply->thread, 0}, &slot) &&
            reply->read_ns >= aggregate->base[slot].until_ns && reply->read_ns < reply->time_ns &&
            reply->time_ns <= until_ns)
            wp_request_pieces_expect(&aggregate->requests, &aggregate->base[slot].requests,
                reply->arrived_ns < reply->read_ns ? reply->arrived_ns : reply->read_ns, reply->time_ns);
    }
}

bool wp_transactions_file(struct wp_aggregate *aggregate)
{
    const struct wp_messages *messages = &aggregate->timeline->messages;
    uint32_t *done = &aggregate->walk.replies; /* those before them are forgotten between epochs only */
    if (messages->reply_first == messages->reply_end || !find_slots(aggregate))
        return true;
    for (; *done < messages->reply_end - messages->reply_first; ++*done) {
        const struct wp_reply *reply = &messages->replies[messages->reply_first + *done];
        uint32_t slot;
        if (!wp_intmap_get(&aggregate->transactions.slots, (struct wp_intkey){reply->thread, 0}, &slot) ||
            reply->time_ns <= aggregate->base[slot].from_ns || reply->time_ns > aggregate->base[slot].until_ns)
            continue;
        /* What is older than the history may be forgotten, or not yet there after a restart: never counted by chance.
         */
        if (reply->time_ns < aggregate->between.from_ns || reply->time_ns >= aggregate->between.to_ns ||
            reply->time_ns - reply->arrived_ns > aggregate->reach_ns ||
            !is_base_at(aggregate, reply->thread, reply->time_ns))
            continue;
        if (wp_fleet_pauses(aggregate->fleet))
            return false;
        file(aggregate, reply, &aggregate->base[slot].parts);
    }
    for (uint32_t i = 0; i < TRANSACTION_SUMS && aggregate->transactions.sums; i++)
        put_sum(aggregate, &aggregate->transactions.sums[i]);
    return true;
}
