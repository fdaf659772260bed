/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/asks.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/net/messages.h"
#include "aggregator/net/owed.h"
#include "aggregator/timeline/names.h"
#include "aggregator/timeline/slices.h"

#include <stdio.h>
#include <string.h>

#define PEERS 16u /* of a thread that are summed up before they are told */

/* Of one process and peer. */
struct sum {
    const struct wp_socket_entry *peer; /* borrowed from the dictionary; NULL: none */
    uint32_t process;                   /* its name in the dictionary */
    uint64_t asks, opens;
};

/* One thread that is gone through. */
struct telling {
    struct wp_aggregate *aggregate;
    uint32_t thread;
    struct sum sums[PEERS];
    uint32_t next; /* the one that gives way */
};

static void put_row(struct telling *telling, const struct sum *sum, const char *kind, uint64_t count)
{
    char peer[96], name[WP_STRING_BYTES + 128];
    if (!count)
        return;
    wp_name_socket(sum->peer, WP_OPENER_HERE, peer, sizeof(peer));
    peer[strlen("tcp")] = ' '; /* as waits have it */
    snprintf(name, sizeof(name), "%s%s" WP_REPORT_ASKED "%s", kind,
        wp_dictionary_string(telling->aggregate->timeline->dictionary, sum->process), peer);
    wp_report_limit(telling->aggregate->delta.report, name, count, 0);
    telling->aggregate->delta.has_news = true;
}

static void put_sum(struct telling *telling, struct sum *sum)
{
    if (!sum->peer)
        return;
    put_row(telling, sum, WP_REPORT_ASKS, sum->asks);
    put_row(telling, sum, WP_REPORT_OPENS, sum->opens);
    *sum = (struct sum){0};
}

static bool is_same_peer(const struct wp_socket_entry *one, const struct wp_socket_entry *other)
{
    return one->remote_port == other->remote_port && one->family == other->family &&
        !memcmp(one->remote, other->remote, sizeof(one->remote));
}

static struct sum *sum_of(struct telling *telling, const struct wp_socket_entry *peer, uint32_t process)
{
    for (uint32_t i = 0; i < PEERS; i++)
        if (telling->sums[i].peer && telling->sums[i].process == process && is_same_peer(telling->sums[i].peer, peer))
            return &telling->sums[i];
    struct sum *sum = &telling->sums[telling->next++ % PEERS];
    put_sum(telling, sum);
    *sum = (struct sum){.peer = peer, .process = process};
    return sum;
}

/* The name of its process, where the thread was of interest then; 0: it was not. */
static uint32_t process_at(const struct telling *telling, uint64_t at_ns)
{
    const struct wp_aggregate *aggregate = telling->aggregate;
    const struct wp_timeline *timeline = aggregate->timeline;
    const struct wp_thread *thread = &timeline->threads[telling->thread];
    uint64_t ordinal = thread->slices ? wp_thread_find(thread, at_ns) : thread->slice_end;
    if (ordinal == thread->slice_end || at_ns < aggregate->between.from_ns || at_ns >= aggregate->between.to_ns)
        return 0;
    const struct wp_identity *who = &timeline->identities[wp_thread_slice(thread, ordinal)->identity];
    return !(who->aggregates & aggregate->id.bit) ? 0 : who->process_comm ? who->process_comm : who->comm;
}

static void take_act(struct telling *telling, const struct wp_act *act)
{
    const struct wp_messages *messages = &telling->aggregate->timeline->messages;
    const struct wp_socket *socket = wp_messages_socket(messages, act->socket);
    const struct wp_socket_entry *peer = wp_dictionary_socket(messages->dictionary, act->socket);
    struct wp_receive read;
    struct wp_send before;
    uint32_t process = socket && peer ? process_at(telling, act->time_ns) : 0;
    if (!process)
        return;
    bool goes_on = wp_messages_last_send(messages, act->socket, act->time_ns - 1, &before) &&
        before.time_ns > socket->connecting.time_ns;
    bool begins = !goes_on || before.thread != telling->thread ||
        (wp_messages_received(messages, act->socket, act->time_ns, &read) && read.time_ns > before.time_ns) ||
        wp_owed_by_several(messages, telling->thread, act->time_ns);
    if (!begins)
        return;
    struct sum *sum = sum_of(telling, peer, process);
    sum->asks++;
    sum->opens += !goes_on && (socket->connecting.time_ns || socket->opened_ns);
}

void wp_asks_tell(struct wp_aggregate *aggregate, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
    const struct wp_acts *acts = &aggregate->timeline->messages.acts;
    const struct wp_act *act = wp_acts_since(acts, thread, from_ns + 1);
    struct telling telling; /* without zeros for most threads, which ask nobody */
    if (!act || act->time_ns > to_ns)
        return;
    telling = (struct telling){.aggregate = aggregate, .thread = thread};
    for (; act && act->time_ns <= to_ns; act = wp_acts_since(acts, thread, act->time_ns + 1))
        if (act->kind == WP_ACT_ASK)
            take_act(&telling, act);
    for (uint32_t i = 0; i < PEERS; i++)
        put_sum(&telling, &telling.sums[i]);
}
