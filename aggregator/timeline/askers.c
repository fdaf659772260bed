/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/askers.h"

#include "aggregator/net/message_roles.h"
#include "aggregator/net/messages.h"

#define LOOKS 16u   /* at the first transfers of an end: later ones of a connection to another host cost nothing */
#define STARTERS 4u /* one above the other, that are looked at: a shell may stand between */

static struct wp_process *process_of_pid(struct wp_timeline *timeline, uint32_t pid)
{
    uint32_t process;
    return pid > 1 && wp_intmap_get(&timeline->process_of_pid, (struct wp_intkey){pid, 0}, &process)
        ? &timeline->processes[process]
        : NULL;
}

uint32_t wp_askers_starter(struct wp_timeline *timeline, const struct wp_thread_entry *entry)
{
    if (entry->parent_pid && entry->parent_pid != entry->pid)
        return entry->parent_pid;
    const struct wp_process *before = entry->parent_pid ? process_of_pid(timeline, entry->pid) : NULL;
    return before ? before->started_by : entry->started_by; /* it was another program before its exec */
}

static uint32_t process_of(const struct wp_timeline *timeline, uint32_t thread)
{
    return timeline->identities[timeline->threads[thread].identity].process;
}

/* Has the first process started the second one, directly or through others? */
static bool has_started(struct wp_timeline *timeline, uint32_t first, uint32_t second)
{
    uint32_t pid = timeline->processes[first].pid;
    const struct wp_process *at = &timeline->processes[second];
    for (unsigned i = 0; at && i < STARTERS; i++) {
        if (at->started_by == pid)
            return pid > 1 && at->pid != pid;
        at = process_of_pid(timeline, at->started_by);
    }
    return false;
}

/* Who sent or read there last, or asked for the connection; 0: nobody that is known. */
static uint32_t user_of(const struct wp_socket *socket)
{
    if (socket->send_ring.end > socket->send_ring.first)
        return socket->sends[(socket->send_ring.end - 1) & socket->send_ring.mask].thread;
    if (socket->receive_ring.end > socket->receive_ring.first)
        return socket->receives[(socket->receive_ring.end - 1) & socket->receive_ring.mask].thread;
    return socket->connecting.thread;
}

/* The connection's start was seen: what was sent there first came from who opened it. */
static bool has_opener_begun(const struct wp_socket *accepted, const struct wp_socket *opened)
{
    bool is_seen = accepted->opened_ns || opened->opened_ns || opened->connecting.time_ns;
    return is_seen && opened->send_ring.end &&
        (!accepted->send_ring.end || opened->sends[0].time_ns < accepted->sends[0].time_ns);
}

static void judge(struct wp_timeline *timeline, uint32_t id, uint32_t thread)
{
    struct wp_messages *messages = &timeline->messages;
    const struct wp_socket *here = wp_messages_socket(messages, id);
    bool is_wanted = here && here->opener && !here->is_judged && here->send_ring.end + here->receive_ring.end < LOOKS;
    uint32_t peer = is_wanted ? wp_messages_peer(messages, id) : 0;
    const struct wp_socket *there = peer ? wp_messages_socket(messages, peer) : NULL;
    uint32_t other = there ? user_of(there) : 0;
    if (!other)
        return;
    bool is_accepted = here->opener == WP_OPENER_THERE;
    uint32_t parent = process_of(timeline, is_accepted ? thread : other),
             child = process_of(timeline, is_accepted ? other : thread);
    bool is_asking = parent != child && has_started(timeline, parent, child) &&
        !(is_accepted ? has_opener_begun(here, there) : has_opener_begun(there, here));
    wp_messages_judge(messages, is_accepted ? id : peer, is_accepted ? peer : id, is_asking);
}

void wp_askers_message(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread)
{
    bool is_transfer = event->kind == WP_EVENT_SOCK_SEND || event->kind == WP_EVENT_SOCK_RECV;
    if (thread && event->c && is_transfer && !(event->flags & (WP_SOCK_DATAGRAM | WP_SOCK_SYN | WP_SOCK_FIN)))
        judge(timeline, event->d, thread);
    wp_messages_event(&timeline->messages, event, thread);
}
