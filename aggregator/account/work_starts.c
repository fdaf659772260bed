/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/work_starts.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/net/messages.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/timeline.h"

#define HOPS 32u  /* so many threads at most between one of interest and one that works */
#define LOOKS 96u /* pieces of work that are looked at for it */
#define READS 64u /* of one piece of work */

/* --- from slice to slice --- */

bool wp_work_goes_on(const struct wp_slice *slice)
{
    return slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_EXEC | WP_SLICE_RENAME) || slice->cause == WP_CAUSE_BLOCK;
}

/* Back from the last slice of that piece to the first of its that there is, or to what is known of it already. */
static void find_beginning(
    const struct wp_thread *thread, struct wp_work_piece *piece, const struct wp_work_piece *known, uint64_t oldest_ns)
{
    for (uint64_t at = piece->last; at < thread->slice_end; at--) {
        const struct wp_slice *slice = wp_thread_slice(thread, at);
        if (known->thread == piece->thread && at <= known->last && at >= known->first) {
            piece->first = known->first;
            piece->is_whole = known->is_whole;
            return;
        }
        piece->first = at;
        if (slice->out_ns < oldest_ns || slice->flags & WP_SLICE_UNCERTAIN)
            return;
        piece->is_whole = !wp_work_goes_on(slice);
        if (piece->is_whole || at == thread->first_slice || wp_thread_slice(thread, at - 1)->end_ns != slice->out_ns)
            return;
    }
}

/* The slice with which the work of that thread began that this one is a part of. False: before `oldest_ns`, or that is
 * not known. */
static bool work_beginning(
    const struct wp_timeline *timeline, uint32_t index, uint64_t *ordinal, struct wp_work_look *look)
{
    const struct wp_thread *thread = &timeline->threads[index];
    struct wp_work_piece *known = &look->pieces[index % (sizeof(look->pieces) / sizeof(*look->pieces))];
    if (*ordinal >= thread->slice_end)
        return false;
    if (known->thread != index || *ordinal < known->first || *ordinal > known->last) {
        struct wp_work_piece piece = {.thread = index, .first = *ordinal, .last = *ordinal};
        find_beginning(thread, &piece, known, look->oldest_ns);
        *known = piece;
    }
    *ordinal = known->first;
    return known->is_whole;
}

/* Who set work going, when, and how. */
struct start {
    uint32_t thread; /* 0: nobody of this host, or not known */
    uint64_t at_ns;
    const char *how;
    bool is_birth;
};

static const char *birth_link(const struct wp_timeline *timeline, uint32_t identity)
{
    const struct wp_thread_entry *entry =
        wp_dictionary_thread(timeline->dictionary, timeline->identities[identity].entry);
    return entry && entry->tid == entry->pid ? "starts:fork" : "starts:new thread";
}

static struct start start_of(const struct wp_timeline *timeline, const struct wp_slice *first)
{
    struct wp_send send;
    if (!first->wake_ns)
        return (struct start){0};
    if (first->flags & WP_SLICE_BORN)
        return (struct start){first->waker, first->wake_ns, birth_link(timeline, first->identity), true};
    if (first->cause == WP_CAUSE_TASK) /* cause_d: it wrote to a unix stream */
        return (struct start){first->waker, first->wake_ns, first->cause_d ? "starts:message" : "starts:waking", false};
    if (first->cause != WP_CAUSE_MESSAGE ||
        wp_messages_match(&timeline->messages, first->cause_d, first->cause_a, first->wake_ns, &send) != WP_MATCH_FOUND)
        return (struct start){0};
    return (struct start){send.thread, send.time_ns, "starts:message", false};
}

/* Who the thread was then. */
static uint32_t identity_then(const struct wp_thread *thread, uint64_t at_ns)
{
    uint64_t ordinal = wp_thread_find(thread, at_ns);
    return ordinal == thread->slice_end ? thread->identity : wp_thread_slice(thread, ordinal)->identity;
}

static bool is_of_interest(const struct wp_aggregate *aggregate, uint32_t identity)
{
    return aggregate->timeline->identities[identity].aggregates & aggregate->id.bit;
}

/* All that the base thread waited for until then has been asked. */
static bool has_asked(const struct wp_aggregate *aggregate, uint32_t thread, uint64_t until_ns)
{
    uint32_t row = 0;
    while (row < aggregate->base_count && aggregate->base[row].thread != thread)
        row++;
    return row < aggregate->base_count &&
        (wp_thread_is_dead(&aggregate->timeline->threads[thread], aggregate->resolving_ns) ||
            aggregate->base[row].until_ns >= until_ns);
}

/* --- which threads were set going --- */

static struct wp_intkey thread_key(const struct wp_timeline *timeline, uint32_t thread)
{
    return (struct wp_intkey){thread, timeline->threads[thread].tid};
}

bool wp_work_may_start(const struct wp_aggregate *aggregate, uint32_t thread)
{
    const struct wp_work_starts *starts = &aggregate->detached.starts;
    const struct wp_intkey key = thread_key(aggregate->timeline, thread);
    uint32_t unused;
    return wp_intmap_get(&starts->reached[0], key, &unused) || wp_intmap_get(&starts->reached[1], key, &unused);
}

/* --- the way in the tree --- */

static uint32_t link_node(struct wp_aggregate *aggregate, uint32_t process, const char *how)
{
    struct wp_pathtree *tree = &aggregate->tree;
    uint32_t node = wp_pathtree_child(tree, process, wp_pathtree_frame(tree, WP_STYLE_WAIT, how, ""));
    return node == UINT32_MAX ? 0 : node;
}

/* The link on which the work of that identity stands: a process that the way has been through before is not entered
 * again, so that two that wake each other in turn are one step. */
static uint32_t shortened(struct wp_aggregate *aggregate, uint32_t link, uint32_t identity)
{
    uint32_t process = link ? wp_explain_home_node(aggregate->explainer, 0, identity) : UINT32_MAX;
    const struct wp_node *nodes = aggregate->tree.nodes;
    if (process == UINT32_MAX)
        return link;
    for (uint32_t node = nodes[link].parent; node && nodes[node].parent; node = nodes[nodes[node].parent].parent)
        if (nodes[node].frame == nodes[process].frame)
            return nodes[node].parent;
    return link;
}

/* A thread that `from` set going: upon `below`, which `from` stands on itself, 0: it is of interest. */
static uint32_t step_node(
    struct wp_aggregate *aggregate, uint32_t below, uint32_t from, const char *how, uint32_t identity)
{
    uint32_t process = wp_explain_home_node(aggregate->explainer, below, from);
    return process == UINT32_MAX ? 0 : shortened(aggregate, link_node(aggregate, process, how), identity);
}

/* --- looking for them --- */

static bool note_starts(struct wp_aggregate *aggregate, uint32_t index, uint64_t since_ns, uint64_t to_ns)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    const struct wp_thread *thread = &timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, since_ns);
    if (ordinal == thread->slice_end)
        ordinal = thread->first_slice;
    for (; ordinal < thread->slice_end && wp_thread_slice(thread, ordinal)->out_ns <= to_ns; ordinal++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        struct start start = {0};
        if (!wp_work_goes_on(slice) && slice->wake_ns > since_ns && slice->wake_ns <= to_ns)
            start = start_of(timeline, slice);
        if (start.thread &&
            (is_of_interest(aggregate, identity_then(&timeline->threads[start.thread], start.at_ns)) ||
                wp_work_may_start(aggregate, start.thread)))
            return !wp_intmap_put(&aggregate->detached.starts.reached[0], thread_key(timeline, index), 1);
    }
    return false;
}

/* What is older than the history is forgotten, some of it a history later. */
static void forget_starts(struct wp_aggregate *aggregate, uint64_t to_ns)
{
    struct wp_work_starts *starts = &aggregate->detached.starts;
    const struct wp_intmap before = starts->reached[1];
    if (to_ns < starts->forgot_ns + aggregate->history_ns)
        return;
    starts->forgot_ns = to_ns;
    starts->reached[1] = starts->reached[0];
    starts->reached[0] = before;
    wp_intmap_clear(&starts->reached[0]);
}

void wp_work_starts_look(struct wp_aggregate *aggregate, uint64_t to_ns, uint64_t oldest_ns)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    struct wp_work_starts *starts = &aggregate->detached.starts;
    uint64_t since_ns = starts->looked_ns > oldest_ns ? starts->looked_ns : oldest_ns;
    bool goes_on = true;
    forget_starts(aggregate, to_ns);
    for (unsigned round = 0; goes_on && round <= HOPS; round++) {
        goes_on = false;
        for (uint32_t i = 0; i < timeline->live_count; i++) {
            uint32_t index = timeline->live[i], unused;
            const struct wp_thread *thread = &timeline->threads[index];
            if (thread->slices && !wp_intmap_get(&starts->reached[0], thread_key(timeline, index), &unused))
                goes_on |= note_starts(aggregate, index, since_ns, to_ns);
        }
    }
    starts->looked_ns = to_ns;
}

/* --- of one slice --- */

/* From a slice back to a thread of interest. */
struct way {
    struct wp_aggregate *aggregate;
    struct wp_work_look *look;
    uint64_t until_ns; /* the work's end */
    uint32_t thread;   /* whose work is looked at now, ... */
    uint64_t ordinal;  /* ... a slice of it, ... */
    uint64_t to_ns;    /* ... and up to when; 0: that does not matter */
    struct step {
        uint32_t from, identity; /* who set that one going */
        const char *how;
    } steps[HOPS];
    uint32_t count;
};

/* What a timer of its own sets going, and what has gone on for longer than is known, its creator has. */
static struct start start_by_birth(const struct way *way, uint32_t index)
{
    const struct wp_timeline *timeline = way->aggregate->timeline;
    const struct wp_thread *thread = &timeline->threads[index];
    if (thread->birth_ns < way->look->oldest_ns || !thread->birth_ns || !timeline->threads[thread->creator].tid)
        return (struct start){0};
    return (struct start){
        thread->creator, thread->birth_ns, birth_link(timeline, identity_then(thread, thread->birth_ns)), true};
}

/* The thread fell asleep while the starter was at that work: then it may have asked for it, and has been answered. */
static bool may_be_answered(const struct way *way, const struct wp_slice *first, const struct start *start)
{
    const struct wp_thread *starter = &way->aggregate->timeline->threads[start->thread];
    uint64_t ordinal = wp_thread_find(starter, start->at_ns);
    return !start->is_birth && work_beginning(way->aggregate->timeline, start->thread, &ordinal, way->look) &&
        first->out_ns > wp_thread_slice(starter, ordinal)->wake_ns;
}

/* A piece of work and who set it going. */
struct piece {
    uint32_t thread, starter;
    const struct wp_slice *first;
};

/* It set the work going itself, or a thread of interest sent it. */
static bool is_read_for(const struct way *way, const struct piece *piece, const struct wp_read *read)
{
    const struct wp_timeline *timeline = way->aggregate->timeline;
    const struct wp_slice *first = piece->first;
    struct wp_send send;
    if (first->cause == WP_CAUSE_MESSAGE && first->cause_d == read->socket &&
        (first->cause_a == read->position || wp_messages_socket(&timeline->messages, read->socket)))
        return true;
    if (wp_messages_match(&timeline->messages, read->socket, read->position, read->time_ns, &send) != WP_MATCH_FOUND ||
        !send.thread)
        return false;
    return send.thread == piece->starter ||
        is_of_interest(way->aggregate, identity_then(&timeline->threads[send.thread], send.time_ns));
}

/* When it first turned to another unix stream than that by which it was woken; `to_ns`: before that it did not. */
static uint64_t other_stream_ns(const struct way *way, const struct piece *piece, uint64_t since_ns, uint64_t to_ns)
{
    const struct wp_turns *turns = &way->aggregate->timeline->messages.turns;
    uint32_t own = piece->first->cause == WP_CAUSE_TASK ? piece->first->cause_d : 0;
    struct wp_turn turn = {0};
    for (unsigned look = 0; look < READS && wp_turns_next(turns, piece->thread, since_ns, &turn); look++) {
        if (turn.time_ns >= to_ns)
            return to_ns;
        if (turn.connection != own)
            return turn.time_ns;
        since_ns = turn.time_ns + 1;
    }
    return to_ns;
}

/* Up to when it is for who set it going: until it reads what another peer asks for, at most `to_ns`. */
static uint64_t work_until(const struct way *way, const struct piece *piece, uint64_t to_ns)
{
    const struct wp_reads *reads = &way->aggregate->timeline->messages.reads;
    uint64_t since_ns = piece->first->wake_ns ? piece->first->wake_ns : piece->first->out_ns;
    struct wp_read read = {0};
    to_ns = other_stream_ns(way, piece, since_ns, to_ns);
    for (unsigned look = 0; wp_reads_next(reads, piece->thread, since_ns, &read) && read.time_ns < to_ns; look++) {
        if (look == READS || !is_read_for(way, piece, &read))
            return read.time_ns;
        since_ns = read.time_ns + 1;
    }
    return to_ns;
}

/* False: by then it worked for somebody else. Of the work itself only the end is put there. */
static bool end_work(struct way *way, struct wp_interval *work, const struct piece *piece)
{
    uint64_t to_ns = way->to_ns, until_ns = to_ns ? work_until(way, piece, to_ns) : 0;
    way->to_ns = 0;
    if (until_ns == to_ns || way->count)
        return until_ns == to_ns;
    work->end_ns = until_ns;
    return until_ns > work->start_ns;
}

enum found {
    FOUND_NOBODY,
    FOUND_BASE,
    FOUND_MORE,
    FOUND_ANSWERED /* the same thread's work before that one */
};

static void find_step(const struct way *way, struct wp_work_step *step)
{
    const struct wp_timeline *timeline = way->aggregate->timeline;
    const struct wp_thread *thread = &timeline->threads[step->thread];
    step->first = step->ordinal;
    bool is_known = work_beginning(timeline, step->thread, &step->first, way->look);
    if (step->first >= thread->slice_end)
        return;
    const struct wp_slice *first = wp_thread_slice(thread, step->first);
    bool is_own = !is_known || (first->cause == WP_CAUSE_TIMER && !(first->flags & WP_SLICE_BORN));
    const struct start start = is_own ? start_by_birth(way, step->thread) : start_of(timeline, first);
    if (!start.thread)
        return;
    const struct wp_thread *starter = &timeline->threads[start.thread];
    step->starter = start.thread;
    step->from = identity_then(starter, start.at_ns);
    step->how = start.how;
    step->at_ns = start.at_ns;
    if (is_of_interest(way->aggregate, step->from)) {
        step->found = FOUND_BASE;
    } else if (may_be_answered(way, first, &start)) {
        bool goes_on =
            step->first != thread->first_slice && wp_thread_slice(thread, step->first - 1)->end_ns == first->out_ns;
        step->found = goes_on ? FOUND_ANSWERED : FOUND_NOBODY;
        step->next = step->first - 1;
    } else if (!wp_is_recorder(timeline, step->from) && wp_work_may_start(way->aggregate, start.thread)) {
        step->found = FOUND_MORE;
        step->next = wp_thread_find(starter, start.at_ns);
    }
}

/* The step from there, looked for once. */
static const struct wp_work_step *step_at(const struct way *way)
{
    struct wp_work_look *look = way->look;
    struct wp_work_step *step =
        &look->steps[(way->thread * 31u + way->ordinal) % (sizeof(look->steps) / sizeof(*look->steps))];
    if (step->thread != way->thread || step->ordinal != way->ordinal) {
        *step = (struct wp_work_step){.thread = way->thread, .found = FOUND_NOBODY, .ordinal = way->ordinal};
        find_step(way, step);
    }
    return step;
}

/* One step back from the work at way->thread. */
static enum found step_back(struct way *way, struct wp_interval *work)
{
    const struct wp_timeline *timeline = way->aggregate->timeline;
    const struct wp_work_step *step = way->count < HOPS ? step_at(way) : NULL;
    if (!step || step->found == FOUND_NOBODY)
        return FOUND_NOBODY;
    const struct wp_slice *first = wp_thread_slice(&timeline->threads[way->thread], step->first);
    if (!end_work(way, work, &(struct piece){way->thread, step->starter, first}))
        return FOUND_NOBODY;
    if (step->found != FOUND_ANSWERED)
        way->steps[way->count++] = (struct step){step->from, first->identity, step->how};
    if (step->found == FOUND_BASE)
        return has_asked(way->aggregate, step->starter, way->until_ns) ? FOUND_BASE : FOUND_NOBODY;
    way->ordinal = step->next;
    if (step->found == FOUND_MORE) {
        way->thread = step->starter;
        way->to_ns = step->at_ns;
    }
    return step->found;
}

static struct wp_work_answers *answers_at(struct wp_work_look *look, uint32_t thread, uint64_t ordinal)
{
    return &look->answers[(thread * 31u + ordinal) % (sizeof(look->answers) / sizeof(*look->answers))];
}

/* Back through work that may have been answered: what is known of that thread is not looked at again, yet counted. */
static unsigned skip_answered(struct way *way, struct wp_work_answers *passed)
{
    const struct wp_work_answers *known = answers_at(way->look, way->thread, way->ordinal);
    unsigned looks = 0;
    if (!passed->thread)
        *passed = (struct wp_work_answers){.thread = way->thread, .from = way->ordinal};
    else
        passed->count++;
    if (known->thread == way->thread && known->from == way->ordinal) {
        looks = known->count;
        passed->count += looks;
        way->ordinal = known->to;
    }
    passed->to = way->ordinal;
    return looks;
}

static void keep_answers(struct wp_work_look *look, struct wp_work_answers *passed)
{
    if (passed->thread)
        *answers_at(look, passed->thread, passed->from) = *passed;
    passed->thread = 0;
}

/* Whether a thread of interest is found at the other end. */
static bool go_back(struct way *way, struct wp_interval *work)
{
    struct wp_work_answers passed = {0};
    enum found found = FOUND_MORE;
    for (unsigned look = 0; (found == FOUND_MORE || found == FOUND_ANSWERED) && look < LOOKS; look++) {
        found = step_back(way, work);
        if (found == FOUND_ANSWERED)
            look += skip_answered(way, &passed);
        else
            keep_answers(way->look, &passed);
    }
    keep_answers(way->look, &passed);
    return found == FOUND_BASE;
}

uint32_t wp_work_start(
    struct wp_aggregate *aggregate, struct wp_interval *work, uint64_t ordinal, struct wp_work_look *look)
{
    struct way way; /* without zeros for its steps */
    way.aggregate = aggregate;
    way.look = look;
    way.until_ns = way.to_ns = work->end_ns;
    way.thread = work->thread;
    way.ordinal = ordinal;
    way.count = 0;
    bool is_found = go_back(&way, work);
    uint32_t node = 0;
    for (uint32_t i = way.count; is_found && i-- > 0 && (node || i + 1 == way.count);)
        node = step_node(aggregate, node, way.steps[i].from, way.steps[i].how, way.steps[i].identity);
    return node;
}

void wp_work_starts_fini(struct wp_work_starts *starts)
{
    wp_intmap_fini(&starts->reached[0]);
    wp_intmap_fini(&starts->reached[1]);
}
