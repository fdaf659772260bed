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
#define WHO_BYTES 300u /* a longer chain of processes ends there */

int wp_transactions_init(struct wp_transactions *transactions)
{
    *transactions = (struct wp_transactions){.names = wp_intern_create()};
    return transactions->names ? 0 : -ENOMEM;
}

void wp_transactions_fini(struct wp_transactions *transactions)
{
    wp_intern_destroy(transactions->names);
    free(transactions->by_node);
    wp_intmap_fini(&transactions->slots);
    free(transactions->sums);
    *transactions = (struct wp_transactions){0};
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

static struct wp_transaction_name name_of(
    struct wp_transactions *transactions, const struct wp_pathtree *tree, uint32_t node)
{
    const struct wp_path_frame *frame = &tree->frames[tree->nodes[node].frame];
    struct wp_transaction_name name = transactions->by_node[tree->nodes[node].parent];
    if (frame->style == WP_STYLE_USER)
        name.function = tree->nodes[node].frame;
    if (frame->style != WP_STYLE_PROCESS)
        return name;
    struct wp_buffer text = {0};
    const char *below = wp_intern_text(transactions->names, name.who);
    wp_buffer_printf(&text, "%s%s", below, *below ? " › " : "");
    put_plain(&text, wp_intern_text(tree->strings, frame->name));
    if (!text.failed && text.size <= WHO_BYTES) {
        uint32_t who = wp_intern_id(transactions->names, (const char *)text.data, text.size);
        name.who = who == UINT32_MAX ? name.who : who;
    }
    name.function = 0;
    wp_buffer_fini(&text);
    return name;
}

/* Nodes come after their parents: those that are new since the last time are named in their order. */
static bool name_nodes(struct wp_transactions *transactions, const struct wp_pathtree *tree)
{
    if (WP_ARRAY_FIT(transactions->by_node, transactions->node_room, tree->node_count))
        return false;
    for (uint32_t i = transactions->node_count; i < tree->node_count; i++)
        transactions->by_node[i] = i ? name_of(transactions, tree, i)
                                     : (struct wp_transaction_name){wp_intern_id(transactions->names, "", 0), 0};
    transactions->node_count = tree->node_count;
    return true;
}

/* Where a CPU was used, or wanted, is said by the process; a wait is said by the function that waits. */
static bool names_function(enum wp_category category)
{
    return category != WP_UNDERSTOOD_FUNCTIONS && category != WP_RUNNING_NOT_SAMPLED && category != WP_SCHEDULER &&
        category != WP_INVOLUNTARY;
}

static void name_service(uint32_t port, char name[32])
{
    snprintf(name, 32, "tcp port %u", port);
}

static void put_sum(struct wp_aggregate *aggregate, struct wp_transaction_sum *sum)
{
    const struct wp_transactions *transactions = &aggregate->transactions;
    const struct wp_pathtree *tree = &aggregate->tree;
    char service[32];
    if (!sum->count)
        return;
    struct wp_transaction_name name = transactions->by_node[sum->node];
    const char *what = name.function && names_function(sum->category)
        ? wp_intern_text(tree->strings, tree->frames[name.function].name)
        : "";
    name_service(sum->port, service);
    wp_report_transaction_parts(aggregate->delta.report,
        &(struct wp_transaction_part){
            service, wp_intern_text(transactions->names, name.who), what, sum->category, sum->bucket, sum->ns},
        sum->count);
    sum->ns = sum->count = 0;
}

/* Equal pieces of earlier transactions are reported together. */
static void take_piece(void *context, const struct wp_piece *piece)
{
    struct wp_aggregate *aggregate = context;
    struct wp_transactions *transactions = &aggregate->transactions;
    const struct wp_pathtree *tree = &aggregate->tree;
    if (piece->node >= tree->node_count || !name_nodes(transactions, tree))
        return;
    if (!transactions->sums && !(transactions->sums = calloc(TRANSACTION_SUMS, sizeof(*transactions->sums))))
        return;
    uint32_t place = piece->node * 31 + transactions->bucket * 7 + piece->category;
    struct wp_transaction_sum *sum = &transactions->sums[place % TRANSACTION_SUMS];
    if (sum->node != piece->node || sum->category != (uint32_t)piece->category || sum->bucket != transactions->bucket ||
        sum->port != transactions->port) {
        put_sum(aggregate, sum);
        *sum = (struct wp_transaction_sum){.node = piece->node,
            .category = piece->category,
            .bucket = transactions->bucket,
            .port = transactions->port};
    }
    sum->ns += piece->end_ns - piece->start_ns;
    sum->count++;
}

/* What the account of its thread led to; what is explained for it alone serves its window, if that is kept, too. */
static void tell_pieces(
    struct wp_aggregate *aggregate, const struct wp_reply *reply, const struct wp_request_parts *in, bool is_window)
{
    const struct wp_sink sink = {.piece = take_piece, .context = aggregate};
    const struct wp_interval interval = {aggregate->home, reply->thread, reply->read_ns, reply->time_ns};
    if (reply->read_ns < reply->time_ns) /* else the time itself is accounted for elsewhere */
        wp_explained_tell(
            aggregate, &(struct wp_explained){&interval, in, is_window ? reply->arrived_ns : UINT64_MAX}, &sink);
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
        wp_report_transaction_part(aggregate->delta.report,
            &(struct wp_transaction_part){transactions->service, "", "", WP_PART_UNREAD, transactions->bucket,
                reply->read_ns - reply->arrived_ns});
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
