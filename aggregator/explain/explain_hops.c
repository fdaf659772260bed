/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_hops.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_path.h"
#include "aggregator/net/messages.h"
#include "aggregator/timeline/slices.h"

#define BATCH 16u        /* reads and sends of one turn that are looked at */
#define LOOKS_A_VISIT 8u /* so many take as long as a slice of a thread */
#define LOOK_LIMIT 128u  /* acts that are tried for one request */
#define ACT_LIMIT 256u   /* acts of a thread since a request */
#define SLEEP_LIMIT 64u  /* slices */

/* What a thread read before it sent something: one of these is why. */
struct batch {
    struct wp_act reads[BATCH]; /* the last one first */
    uint32_t count;
    uint32_t sends, replies; /* after those reads and before this one */
    uint64_t last_ns;        /* the last act of all */
};

/* The search, back from an answer. */
struct search {
    struct wp_explainer *x;
    struct wp_hops *hops;
    uint32_t socket, looks;
};

const struct wp_slice *wp_hops_sleep(const struct wp_explainer *x, uint32_t index, uint64_t before_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, before_ns - 1);
    for (uint32_t i = 0; i < SLEEP_LIMIT && ordinal != thread->slice_end; i++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        if (!(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN)) && wp_wait_is_choosing(slice))
            return slice;
        ordinal = ordinal == thread->first_slice ? thread->slice_end : ordinal - 1;
    }
    return NULL;
}

/* The reads of the turn in which the thread sends something at `at_ns`, up to the sends before them. Several of one
 * message are one. */
static struct batch batch_of(const struct wp_explainer *x, uint32_t thread, uint64_t at_ns)
{
    struct batch batch = {0};
    struct wp_acts_back back = wp_acts_before(&x->timeline->messages.acts, thread, at_ns);
    const struct wp_act *act = wp_acts_next(&back), *after = NULL;
    const struct wp_slice *asleep = act ? wp_hops_sleep(x, thread, at_ns) : NULL;
    uint64_t began_ns = asleep ? asleep->in_ns : 0;
    batch.last_ns = act ? act->time_ns : 0;
    for (; act && act->time_ns >= began_ns && batch.count < BATCH && batch.sends < BATCH; act = wp_acts_next(&back)) {
        bool is_same = after && after->socket == act->socket && after->kind == act->kind;
        if (!wp_act_is_read(act) && batch.count)
            break;
        batch.replies += act->kind == WP_ACT_REPLY && !is_same;
        if (!wp_act_is_read(act))
            batch.sends += !is_same;
        else if (is_same)
            batch.reads[batch.count - 1] = *act;
        else
            batch.reads[batch.count++] = *act;
        after = act;
    }
    return batch;
}

/* The place among the reads of the one that the send is for, when each read led to one send. */
static uint32_t likely(const struct batch *batch)
{
    return batch->sends < batch->count ? batch->count - 1 - batch->sends : 0;
}

/* The answer that was read then, if it was asked for in the request's time. */
static bool hop_of(const struct search *s, uint32_t thread, const struct wp_act *read, struct wp_hop *hop)
{
    const struct wp_messages *messages = &s->x->timeline->messages;
    struct wp_receive receive;
    struct wp_send asked;
    if (read->kind != WP_ACT_ANSWER || !wp_messages_received(messages, read->socket, read->time_ns, &receive) ||
        receive.time_ns != read->time_ns)
        return false;
    uint64_t arrived_ns = receive.arrived_ns && receive.arrived_ns < read->time_ns ? receive.arrived_ns : read->time_ns;
    if (!wp_messages_last_send(messages, read->socket, arrived_ns, &asked) || !asked.thread ||
        asked.time_ns <= s->hops->read_ns || asked.time_ns >= arrived_ns)
        return false;
    *hop = (struct wp_hop){.socket = read->socket,
        .reader = thread,
        .asker = asked.thread,
        .end = receive.end,
        .asked_ns = asked.time_ns,
        .arrived_ns = arrived_ns,
        .read_ns = read->time_ns};
    return true;
}

/* Of a batch whose reads led to sends in turn, each works since the act before it. */
static uint64_t own_since(const struct batch *batch, const struct wp_act *read)
{
    return batch->count == 1 || batch->sends >= batch->count ? read->time_ns : batch->last_ns;
}

/* Is that read of the request itself? */
static bool is_begin(const struct search *s, const struct wp_act *read)
{
    return read->kind == WP_ACT_REQUEST && read->socket == s->socket && read->time_ns >= s->hops->read_ns;
}

/* Was that answer asked for when nothing but the request had been read? */
static bool is_certain(const struct search *s, uint32_t thread, const struct wp_act *read)
{
    struct wp_hop hop;
    if (!hop_of(s, thread, read, &hop))
        return false;
    const struct batch batch = batch_of(s->x, hop.asker, hop.asked_ns);
    return batch.count == 1 && is_begin(s, &batch.reads[0]);
}

/* The place of the read that is tried first: the last one that is certainly for the request, which may have asked for
 * several at once; else the likely one. */
static uint32_t first_of(const struct search *s, uint32_t thread, const struct batch *batch)
{
    for (uint32_t i = 0; batch->count > 1 && i < batch->count; i++)
        if (is_certain(s, thread, &batch->reads[i]))
            return i;
    return likely(batch);
}

/* Why the thread sends at `at_ns`, back to the read of the request. Not to be found: the hops are as before. */
static bool search(struct search *s, uint32_t thread, uint64_t at_ns)
{
    struct wp_hops *hops = s->hops;
    struct batch batch = batch_of(s->x, thread, at_ns);
    uint32_t first = first_of(s, thread, &batch), count = hops->count;
    if (s->x->depth && wp_explain_is_base(s->x, thread, at_ns - 1))
        return false;
    for (uint32_t i = 0; i < batch.count && s->looks < LOOK_LIMIT; i++) {
        const struct wp_act *read = &batch.reads[i == 0 ? first : i <= first ? i - 1 : i];
        struct wp_hop *hop = &hops->hops[count];
        s->looks++;
        if (is_begin(s, read)) {
            hops->own_ns = own_since(&batch, read);
            hops->reader = thread;
            return true;
        }
        if (count == WP_HOPS || !hop_of(s, thread, read, hop))
            continue;
        hop->own_ns = own_since(&batch, read);
        hops->count = count + 1;
        if (search(s, hop->asker, hop->asked_ns))
            return true;
        hops->count = count;
    }
    return false;
}

/* Which of the answers that were read is the request's: those of others have been passed on to them. NULL: none is. */
static const struct wp_act *answer_in(const struct batch *batch)
{
    uint32_t answers = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->reads[i].kind == WP_ACT_OTHER)
            return NULL;
        answers += batch->reads[i].kind == WP_ACT_ANSWER;
    }
    uint32_t place = batch->replies < answers ? answers - 1 - batch->replies : 0;
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->reads[i].kind == WP_ACT_ANSWER && !place--)
            return &batch->reads[i];
    return NULL;
}

/* Was somebody else answered for that read? */
static bool is_of_others(const struct search *s, uint32_t thread, const struct wp_act *read)
{
    uint64_t since_ns = read->time_ns + 1;
    const struct wp_act *act = wp_acts_since(&s->x->timeline->messages.acts, thread, since_ns);
    for (uint32_t i = 0; act && !wp_act_is_read(act) && i < BATCH; i++) {
        if (act->kind == WP_ACT_REPLY)
            return act->socket != s->socket;
        act = wp_acts_since(&s->x->timeline->messages.acts, thread, act->time_ns + 1);
    }
    return false;
}

/* What is answered for an answer waited for that, though it was asked for as something else was read: the request
 * waited for its turn in the server, as for a connection. Goes back as far as that is known. */
static bool guess(struct search *s, uint32_t thread, uint64_t at_ns)
{
    struct wp_hops *hops = s->hops;
    struct batch batch = batch_of(s->x, thread, at_ns);
    const struct wp_act *read = answer_in(&batch);
    hops->count = 0;
    while (read && hops->count < WP_HOPS && !(s->x->depth && wp_explain_is_base(s->x, thread, at_ns - 1))) {
        struct wp_hop *hop = &hops->hops[hops->count];
        if (!hop_of(s, thread, read, hop))
            break;
        hop->own_ns = own_since(&batch, read);
        hops->count++;
        thread = hop->asker;
        at_ns = hop->asked_ns;
        batch = batch_of(s->x, thread, at_ns);
        read = batch.count == 1 && !batch.replies && !is_of_others(s, thread, &batch.reads[0]) ? &batch.reads[0] : NULL;
    }
    return hops->count;
}

/* Did the thread read or send anything else in that time? */
static bool did_others(const struct wp_explainer *x, uint32_t thread, const struct wp_hop *hop)
{
    struct wp_acts_back back = wp_acts_before(&x->timeline->messages.acts, thread, hop->read_ns);
    const struct wp_act *act;
    do
        act = wp_acts_next(&back);
    while (act && act->time_ns > hop->asked_ns && act->socket == hop->socket);
    return act && act->time_ns > hop->asked_ns;
}

/* Did the thread serve anybody else between the request and its answer? */
static bool serves_others(const struct search *s, uint32_t thread)
{
    struct wp_acts_back back = wp_acts_before(&s->x->timeline->messages.acts, thread, s->hops->at_ns);
    const struct wp_act *act = wp_acts_next(&back);
    for (uint32_t i = 0; act && act->time_ns > s->hops->read_ns && i < ACT_LIMIT; i++, act = wp_acts_next(&back))
        if (act->socket != s->socket && act->kind != WP_ACT_ASK && act->kind != WP_ACT_ANSWER)
            return true;
    return false;
}

/* Do its threads work for others as it waits? What they ask for this one alone is no such thing. */
static bool is_mixed(const struct search *s)
{
    const struct wp_hops *hops = s->hops;
    bool is_served = serves_others(s, hops->thread) || serves_others(s, hops->reader);
    bool is_mixed = hops->own_ns > hops->read_ns;
    for (uint32_t i = 0; i < hops->count && (!is_served || !is_mixed); i++) {
        const struct wp_hop *hop = &hops->hops[i];
        is_served = is_served || serves_others(s, hop->reader) || serves_others(s, hop->asker);
        is_mixed = is_mixed || did_others(s->x, hop->reader, hop) || did_others(s->x, hop->asker, hop);
    }
    return is_served && is_mixed;
}

/* Was the thread asleep as the answer arrived, and woken by it? */
static bool is_woken_by(const struct wp_explainer *x, const struct wp_hop *hop)
{
    const struct wp_thread *thread = &x->timeline->threads[hop->reader];
    uint64_t ordinal = wp_thread_find(thread, hop->read_ns - 1);
    const struct wp_slice *slice = ordinal == thread->slice_end ? NULL : wp_thread_slice(thread, ordinal);
    return slice && slice->wake_ns && slice->cause == WP_CAUSE_MESSAGE && slice->cause_d == hop->socket;
}

/* Was that answer asked for in one go with the hop's? Then nothing was read in between. */
static bool is_asked_with(const struct wp_explainer *x, const struct wp_hop *hop, const struct wp_act *answer)
{
    struct wp_send asked;
    if (answer->kind != WP_ACT_ANSWER ||
        !wp_messages_last_send(&x->timeline->messages, answer->socket, answer->time_ns, &asked) ||
        asked.thread != hop->asker)
        return false;
    uint64_t first_ns = asked.time_ns < hop->asked_ns ? asked.time_ns : hop->asked_ns;
    uint64_t last_ns = asked.time_ns < hop->asked_ns ? hop->asked_ns : asked.time_ns;
    struct wp_acts_back back = wp_acts_before(&x->timeline->messages.acts, hop->asker, last_ns);
    const struct wp_act *act = wp_acts_next(&back);
    while (act && act->time_ns > first_ns && !wp_act_is_read(act))
        act = wp_acts_next(&back);
    return act && act->time_ns <= first_ns;
}

/* Does the reader work for the request as the answer arrives, or is it woken by that? */
static bool is_own(const struct wp_explainer *x, const struct wp_hop *hop)
{
    struct wp_acts_back back = wp_acts_before(&x->timeline->messages.acts, hop->reader, hop->read_ns);
    const struct wp_act *act = wp_acts_next(&back);
    if (is_woken_by(x, hop) || !did_others(x, hop->reader, hop))
        return true;
    while (act && (!wp_act_is_read(act) || act->socket == hop->socket))
        act = wp_acts_next(&back);
    return act && is_asked_with(x, hop, act);
}

/* Up to when the reader worked for the request as it had read it: it did something else, or fell asleep, before that
 * was asked for. */
static uint64_t turned_away(const struct wp_explainer *x, const struct wp_hops *hops)
{
    const struct wp_act *next = wp_acts_since(&x->timeline->messages.acts, hops->reader, hops->read_ns + 1);
    const struct wp_thread *thread = &x->timeline->threads[hops->reader];
    uint64_t until_ns = next && next->time_ns < hops->own_ns ? next->time_ns : hops->own_ns;
    uint64_t ordinal = wp_thread_find(thread, hops->read_ns);
    for (; ordinal < thread->slice_end; ordinal++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        if (slice->out_ns >= until_ns)
            break;
        if (slice->out_ns > hops->read_ns && !(slice->flags & WP_SLICE_PREEMPTED))
            return slice->out_ns;
    }
    return until_ns;
}

/* When the answer began to leave: it may have been on its way before its call was reported. 0: it is none of that
 * thread. */
static uint64_t replied(const struct wp_explainer *x, const struct wp_hops *hops, uint32_t socket)
{
    struct wp_acts_back back = wp_acts_before(&x->timeline->messages.acts, hops->thread, hops->at_ns + 1);
    const struct wp_act *act = wp_acts_next(&back);
    for (uint32_t i = 0; act && act->time_ns > hops->read_ns && i < ACT_LIMIT; i++, act = wp_acts_next(&back))
        if (act->kind == WP_ACT_REPLY && act->socket == socket)
            return act->time_ns;
    return 0;
}

bool wp_hops_find(struct wp_explainer *x, struct wp_hops *hops, uint32_t socket, const struct wp_receive *read,
    uint32_t sender, uint64_t answered_ns)
{
    struct search s = {x, hops, socket, 0};
    hops->read_ns = hops->ready_ns = hops->own_ns = read->time_ns;
    hops->reader = read->thread;
    hops->thread = sender;
    hops->at_ns = answered_ns;
    hops->count = hops->next = hops->step = 0;
    hops->is_guess = false;
    bool is_bounded = x->depth + 2 > x->options.depth || x->visited > x->options.width;
    uint64_t replied_ns = is_bounded || !read->thread ? 0 : replied(x, hops, socket);
    if (!replied_ns)
        return false;
    bool is_found = search(&s, sender, replied_ns);
    x->visited += s.looks / LOOKS_A_VISIT;
    x->fleet->visits += s.looks / LOOKS_A_VISIT;
    if (!is_found) {
        hops->is_guess = guess(&s, sender, replied_ns);
        hops->own_ns = hops->is_guess ? hops->hops[hops->count - 1].asked_ns : hops->read_ns;
        hops->ready_ns = turned_away(x, hops);
    }
    if (!hops->count || !is_mixed(&s))
        return false;
    for (uint32_t i = 0; i < hops->count; i++)
        if (hops->hops[i].own_ns == hops->hops[i].read_ns && is_own(x, &hops->hops[i]))
            hops->hops[i].own_ns = hops->hops[i].arrived_ns;
    return true;
}

bool wp_hops_next(struct wp_hops *hops, struct wp_hop_part *part)
{
    bool is_last = hops->next == hops->count;
    const struct wp_hop *hop = &hops->hops[is_last ? 0 : hops->next];
    if (hops->step == 3)
        return false;
    *part = (struct wp_hop_part){.kind = WP_HOP_WORK, .to_ns = hops->at_ns};
    if (!is_last)
        part->answer = (struct wp_answer){hop->read_ns, hop->asked_ns, hop->arrived_ns, hop->socket, hop->end};
    if (!hops->step) {
        part->thread = hops->next ? hops->hops[hops->next - 1].asker : hops->thread;
        part->from_ns = is_last ? hops->own_ns : hop->own_ns;
    } else if (hops->step == 1) {
        part->kind = WP_HOP_READY;
        part->thread = is_last ? hops->reader : hop->reader;
        part->from_ns = is_last ? hops->ready_ns : hop->arrived_ns;
    } else if (is_last) {
        part->thread = hops->reader;
        part->from_ns = hops->read_ns;
    } else {
        part->kind = WP_HOP_ASKED;
        part->thread = hop->asker;
        part->from_ns = hop->asked_ns;
        hops->next++;
    }
    hops->step = hops->step == 2 && !is_last ? 0 : hops->step + 1;
    hops->at_ns = part->from_ns;
    return true;
}
