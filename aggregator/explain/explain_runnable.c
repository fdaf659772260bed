/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_runnable.h"

#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_piece.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_quota.h"
#include "common/array.h"
#include "common/cgroup_path.h"

#include <stdio.h>
#include <string.h>

#define PARTS 64u         /* of one wait in their order; what lies before them is summed up by who it was */
#define RIVALS 16u        /* with a name in such a sum; others of them are told together */
#define LOOKS 4096u       /* runs that are looked at */
#define FOR_NS 100000u    /* of a shorter part is not told for whom the other ran */
#define THROTTLES 16u     /* of one wait; the kernel's programs remember fewer */
#define LOOKS_A_VISIT 32u /* what they cost of the budget */
#define NO_CPU UINT32_MAX

/* Who had the CPU, or why that is not known. */
enum who {
    WHO_LOST,
    WHO_UNSEEN, /* before the first run that is remembered */
    WHO_LATER,  /* the thread has not run since */
    WHO_MANY,
    WHO_ELSEWHERE, /* the idle task, or a thread of another host that shares the CPUs */
    WHO_IDLE,
    WHO_OTHER,
    WHO_OWN,
    WHO_RECORDER,
    WHO_QUOTA,
    WHO_THROTTLED,      /* a quota of which nothing is told yet */
    WHO_NAMED,          /* and more: an occupant's number */
    WHO_SPENT = 1 << 20 /* and more: the same, who spent the quota; 0: own threads */
};

static const char *const labels[] = {
    [WHO_LOST] = "sched:not known (events were lost)",
    [WHO_UNSEEN] = "sched:not known (before what is remembered of the CPU)",
    [WHO_LATER] = "sched:not known (it has not run since)",
    [WHO_MANY] = "sched:not known (too many switches)",
    [WHO_ELSEWHERE] = "sched:not known (other network namespaces had the CPU)",
    [WHO_IDLE] = "sched:wake-up latency",
    [WHO_OTHER] = "sched:behind others",
    [WHO_OWN] = "sched:behind own threads",
    [WHO_RECORDER] = "sched:behind recording",
    [WHO_QUOTA] = "sched:quota",
    [WHO_THROTTLED] = "sched:quota",
};

/* A wait for a CPU being cut: [to_ns, part_ns) is of `who` and not emitted yet. */
struct cut {
    struct wp_runnable runnable;
    uint32_t process;      /* whose thread waits */
    uint32_t looks, parts; /* parts: told so far */
    uint32_t who;
    uint64_t to_ns, part_ns;
};

/* Of a wait. */
struct part {
    uint64_t from_ns, to_ns;
    bool is_further; /* a later one was told before */
};

/* So much of a wait was behind one. */
struct rival {
    uint32_t who;
    uint64_t ns;
};

struct sums {
    uint64_t unnamed_ns[WHO_NAMED];
    struct rival rivals[RIVALS], steal; /* steal is uncertain: it has a place of its own */
    uint32_t count;
};

/* --- labels --- */

/* "sched:behind [gzip]". A kernel thread that each CPU has is one: "kworker/0:1-events" is "kworker". */
static uint32_t rival_node(struct wp_explainer *x, uint32_t parent, const char *relation, uint32_t comm, bool is_kernel)
{
    const char *text = wp_dictionary_string(x->timeline->dictionary, comm);
    bool is_home = x->host == x->home && !x->names_home;
    char name[WP_EXPLAIN_NAME + 16];
    snprintf(name, sizeof(name), "sched:%s [%.*s]%s%s", relation, (int)strcspn(text, is_kernel ? "/" : ""), text,
        is_home ? "" : "@", is_home ? "" : x->fleet->hosts[x->host].hostname);
    return wp_explain_label(x, parent, WP_STYLE_SCHED, name);
}

/* What had the CPU in its thread's stead: "sched:interrupt virtio0-input.0", "sched:soft interrupt net_rx",
 * "sched:steal". NULL: the occupant is a thread. */
static const char *seizure(const struct wp_occupant *occupant)
{
    switch (occupant->for_comm) {
    case WP_OCCUPANT_INTERRUPT:
        return "interrupt";
    case WP_OCCUPANT_SOFT_INTERRUPT:
        return "soft interrupt";
    case WP_OCCUPANT_STEAL:
        return "steal";
    default:
        return NULL;
    }
}

static uint32_t seizure_node(struct wp_explainer *x, uint32_t parent, const struct wp_occupant *occupant)
{
    const char *name = wp_dictionary_string(x->timeline->dictionary, occupant->comm);
    bool is_home = x->host == x->home && !x->names_home;
    char text[WP_EXPLAIN_NAME];
    snprintf(text, sizeof(text), "sched:%s%s%.128s%s%s", seizure(occupant), *name ? " " : "", name, is_home ? "" : "@",
        is_home ? "" : x->fleet->hosts[x->host].hostname);
    return wp_explain_label(x, parent, WP_STYLE_SCHED, text);
}

static uint32_t state_node(struct wp_explainer *x, const struct wp_runnable *runnable)
{
    return wp_explain_literal(
        x, runnable->node, WP_STYLE_SCHED, runnable->is_preempted ? "sched:preempted" : "sched:runnable");
}

static uint32_t make_node(struct wp_explainer *x, const struct wp_runnable *runnable, uint32_t who, bool with_for)
{
    uint32_t node = state_node(x, runnable);
    if (who < WHO_NAMED)
        return wp_explain_literal(x, node, WP_STYLE_SCHED, labels[who]);
    const struct wp_occupant *occupant = &x->timeline->cpu_runs.occupants[who - WHO_NAMED];
    if (seizure(occupant))
        return seizure_node(x, node, occupant);
    node = rival_node(x, node, "behind", occupant->comm, occupant->is_kernel);
    bool has_for = with_for && occupant->for_comm && occupant->for_comm != occupant->comm;
    return has_for ? rival_node(x, node, "for", occupant->for_comm, false) : node;
}

/* "sched:quota of nginx.service": by the systemd unit or the container where the cgroup is one's, else by its path. */
static void name_quota(const struct wp_explainer *x, uint32_t cgroup, char *name, size_t room)
{
    const char *group = wp_dictionary_string(x->timeline->dictionary, cgroup);
    bool is_home = x->host == x->home && !x->names_home;
    char called[WP_EXPLAIN_NAME - 32];
    wp_cgroup_path_name(group, called, sizeof(called));
    snprintf(name, room, "sched:quota of %s%s%s", called, is_home ? "" : "@",
        is_home ? "" : x->fleet->hosts[x->host].hostname);
}

static uint32_t quota_node(struct wp_explainer *x, const struct wp_runnable *runnable)
{
    uint64_t what = (uint64_t)1 << 47 | (uint64_t)runnable->is_preempted << 33 | runnable->cgroup;
    struct wp_intkey key = {runnable->node, wp_explain_here(x, what)};
    char name[WP_EXPLAIN_NAME];
    uint32_t node;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    node = state_node(x, runnable);
    if (runnable->cgroup) {
        name_quota(x, runnable->cgroup, name, sizeof(name));
        node = wp_explain_label(x, node, WP_STYLE_SCHED, name);
    } else {
        node = wp_explain_literal(x, node, WP_STYLE_SCHED, labels[WHO_QUOTA]);
    }
    wp_explain_remember(x, key, node);
    return node;
}

static uint32_t spender_node(struct wp_explainer *x, const struct wp_runnable *runnable, uint32_t occupant)
{
    uint32_t quota = quota_node(x, runnable), node;
    if (!occupant)
        return wp_explain_literal(x, quota, WP_STYLE_SCHED, "sched:spent by own threads");
    static const struct wp_occupant nobody;
    bool is_other = occupant < WP_OCCUPANT_FIRST;
    const struct wp_occupant *is = is_other ? &nobody : &x->timeline->cpu_runs.occupants[occupant];
    struct wp_intkey key = {(uint64_t)is->comm << 32 | quota,
        wp_explain_here(x, (uint64_t)3 << 46 | (uint64_t)is_other << 33 | is->is_kernel)};
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    node = is_other ? wp_explain_literal(x, quota, WP_STYLE_SCHED, "sched:spent by others")
                    : rival_node(x, quota, "spent by", is->comm, is->is_kernel);
    wp_explain_remember(x, key, node);
    return node;
}

static uint32_t who_node(struct wp_explainer *x, const struct wp_runnable *runnable, uint32_t who, bool with_for)
{
    if (who >= WHO_SPENT)
        return spender_node(x, runnable, who - WHO_SPENT);
    if (who == WHO_QUOTA)
        return quota_node(x, runnable);
    uint64_t comm = 0, what = who;
    uint32_t node;
    if (who >= WHO_NAMED) { /* its number may become another's */
        const struct wp_occupant *is = &x->timeline->cpu_runs.occupants[who - WHO_NAMED];
        comm = is->comm;
        what = (uint64_t)1 << 35 | (uint64_t)is->is_kernel << 34 | (with_for || seizure(is) ? is->for_comm : 0);
    }
    what |= (uint64_t)3 << 45 | (uint64_t)runnable->is_preempted << 33 | (with_for ? (uint64_t)1 << 32 : 0);
    struct wp_intkey key = {comm << 32 | runnable->node, wp_explain_here(x, what)};
    struct wp_rival_place *last = &x->rivals[(runnable->node ^ comm) % WP_RIVAL_PLACES]; /* mostly it is this one */
    if (last->a == key.a && last->b == key.b && last->node)
        return last->node;
    if (!wp_intmap_get(&x->sites, key, &node)) {
        node = make_node(x, runnable, who, with_for);
        wp_explain_remember(x, key, node);
    }
    *last = (struct wp_rival_place){key.a, key.b, node == UINT32_MAX ? 0 : node};
    return node;
}

/* The kernel counts it up to a switch or tick: when it was before that is not known. */
static bool is_steal(const struct wp_explainer *x, uint32_t who)
{
    return who >= WHO_NAMED && who < WHO_SPENT &&
        x->timeline->cpu_runs.occupants[who - WHO_NAMED].for_comm == WP_OCCUPANT_STEAL;
}

static void emit_part(struct wp_explainer *x, const struct wp_runnable *runnable, uint32_t who, const struct part *part)
{
    const struct wp_slice *slice = runnable->wait->slice;
    bool with_for = who >= WHO_NAMED && who < WHO_SPENT && part->to_ns - part->from_ns >= FOR_NS;
    wp_explain_emit(x,
        &(struct wp_piece){.node = who_node(x, runnable, who, with_for),
            .thread = runnable->wait->thread,
            .category = runnable->is_preempted ? WP_INVOLUNTARY : WP_SCHEDULER,
            .start_ns = part->from_ns,
            .end_ns = part->to_ns,
            .is_uncertain =
                slice->flags & WP_SLICE_UNCERTAIN || slice->is_inferred || who == WHO_LOST || is_steal(x, who),
            .is_part = part->is_further});
}

static void emit(struct wp_explainer *x, struct cut *cut, uint32_t who, uint64_t from, uint64_t to)
{
    if (from < to)
        emit_part(x, &cut->runnable, who, &(struct part){from, to, cut->parts++});
}

static uint32_t who_ran(const struct wp_explainer *x, const struct wp_runnable *runnable, const struct wp_cpu_run *run)
{
    uint32_t process = x->timeline->identities[runnable->wait->slice->identity].process;
    switch (run->occupant) {
    case WP_OCCUPANT_LOST:
        return WHO_LOST;
    case WP_OCCUPANT_UNSEEN:
        return WHO_UNSEEN;
    case WP_OCCUPANT_IDLE:
        return WHO_IDLE;
    default:
        break;
    }
    if (run->process && run->process == process)
        return WHO_OWN;
    if (x->timeline->processes[run->process].is_recorder)
        return WHO_RECORDER;
    if (run->occupant == WP_OCCUPANT_OTHER)
        return WHO_OTHER;
    bool is_elsewhere = x->timeline->cpu_runs.occupants[run->occupant].for_comm == WP_OCCUPANT_ELSEWHERE;
    return is_elsewhere ? WHO_ELSEWHERE : WHO_NAMED + run->occupant;
}

/* --- the parts of a wait --- */

/* From there down to `from` it was behind that one. */
static void add_part(struct wp_explainer *x, struct cut *cut, uint32_t who, uint64_t from)
{
    if (who != cut->who && cut->to_ns < cut->part_ns) {
        emit(x, cut, cut->who, cut->to_ns, cut->part_ns);
        cut->part_ns = cut->to_ns;
    }
    cut->who = who;
    cut->to_ns = from;
}

static void end_parts(struct wp_explainer *x, struct cut *cut)
{
    emit(x, cut, cut->who, cut->to_ns, cut->part_ns);
    cut->part_ns = cut->to_ns;
}

static void add_steal(struct sums *sums, uint32_t who, uint64_t ns)
{
    sums->steal.who = who;
    sums->steal.ns += ns;
}

static void add_sum(struct sums *sums, uint32_t who, uint64_t ns)
{
    uint32_t i = 0;
    while (who >= WHO_NAMED && i < sums->count && sums->rivals[i].who != who)
        i++;
    if (who < WHO_NAMED) {
        sums->unnamed_ns[who] += ns;
    } else if (i == RIVALS) {
        sums->unnamed_ns[WHO_OTHER] += ns;
    } else {
        sums->rivals[i].who = who;
        sums->rivals[i].ns += ns;
        sums->count = i < sums->count ? sums->count : i + 1;
    }
}

/* What lies before the parts, down to `from`: not in its order, but as long as each had the CPU. */
static void add_sums(struct wp_explainer *x, struct cut *cut, struct wp_cpu_cursor *cursor, uint64_t from)
{
    struct sums sums = {0};
    uint64_t to = cut->to_ns, at = to;
    bool is_known = true;
    while (at > from && is_known && cut->looks++ < LOOKS) {
        struct wp_cpu_run run = wp_cpu_cursor_run(cursor);
        uint64_t low = run.start_ns > from ? run.start_ns : from;
        if (low < at) {
            uint32_t who = who_ran(x, &cut->runnable, &run);
            (is_steal(x, who) ? add_steal : add_sum)(&sums, who, at - low);
        }
        at = low < at ? low : at;
        is_known = wp_cpu_cursor_back(cursor);
    }
    for (uint32_t i = 0; i < sums.count; i++) {
        emit(x, cut, sums.rivals[i].who, to - sums.rivals[i].ns, to);
        to -= sums.rivals[i].ns;
    }
    emit(x, cut, sums.steal.who, to - sums.steal.ns, to);
    to -= sums.steal.ns;
    for (uint32_t who = 0; who < WHO_NAMED; who++) {
        emit(x, cut, who, to - sums.unnamed_ns[who], to);
        to -= sums.unnamed_ns[who];
    }
    emit(x, cut, is_known ? WHO_MANY : WHO_UNSEEN, from, at);
    cut->to_ns = cut->part_ns = from;
}

/* Down to `from` it stood in that CPU's queue. */
static void cut_queue(struct wp_explainer *x, struct cut *cut, uint32_t cpu, uint64_t from)
{
    struct wp_cpu_cursor cursor;
    bool is_known =
        cpu != NO_CPU && cut->to_ns > from && wp_cpu_runs_find(&x->timeline->cpu_runs, cpu, cut->to_ns - 1, &cursor);
    while (is_known && cut->to_ns > from && cut->parts < PARTS) {
        struct wp_cpu_run run = wp_cpu_cursor_run(&cursor);
        if (run.start_ns < cut->to_ns)
            add_part(x, cut, who_ran(x, &cut->runnable, &run), run.start_ns > from ? run.start_ns : from);
        cut->looks++;
        is_known = wp_cpu_cursor_back(&cursor);
    }
    if (cut->to_ns > from && is_known) {
        end_parts(x, cut);
        add_sums(x, cut, &cursor, from);
    } else if (cut->to_ns > from) {
        add_part(x, cut, cpu == NO_CPU ? WHO_LATER : WHO_UNSEEN, from);
    }
}

/* The quota kept it from its CPU down to `from`: in the shares in which it was spent, not in the order of time. */
static void add_quota(struct wp_explainer *x, struct cut *cut, const struct wp_quota_wait *wait, uint64_t from)
{
    struct wp_quota_spenders spenders;
    uint64_t to = cut->to_ns, whole = to > from ? to - from : 0;
    end_parts(x, cut);
    if (!whole)
        return;
    cut->runnable.cgroup = wait->cgroup;
    wp_quota_spenders(x, wait, &spenders);
    cut->looks += spenders.looks;
    for (uint32_t i = 0; i < spenders.count; i++) {
        uint64_t ns = (uint64_t)((double)whole * (double)spenders.rows[i].ns / (double)spenders.ns);
        uint64_t low = i + 1 == spenders.count || ns > to - from ? from : to - ns;
        emit(x, cut, WHO_SPENT + spenders.rows[i].occupant, low, to);
        to = low;
    }
    emit(x, cut, WHO_QUOTA, from, to);
    cut->to_ns = cut->part_ns = from;
}

/* It is still kept from its CPU: whose quota that is, and who spent it, is told later. */
static void add_throttled(struct wp_explainer *x, struct cut *cut, uint64_t from)
{
    end_parts(x, cut);
    emit(x, cut, WHO_THROTTLED, from, cut->to_ns);
    cut->to_ns = cut->part_ns = from;
}

/* --- whose queue --- */

/* When that CPU was first idle in [from, to): who stood in its queue had gone to another one by then. If it never was,
 * the thread was pulled from there as it came to run. */
static uint64_t idle_at(const struct wp_explainer *x, struct cut *cut, uint32_t cpu, uint64_t from, uint64_t to)
{
    struct wp_cpu_cursor cursor;
    if (!wp_cpu_runs_find(&x->timeline->cpu_runs, cpu, from, &cursor))
        return to;
    for (; cut->looks < LOOKS; cut->looks++) {
        struct wp_cpu_run run = wp_cpu_cursor_run(&cursor);
        if (run.start_ns >= to)
            break;
        if (run.occupant == WP_OCCUPANT_IDLE && run.end_ns > from)
            return run.start_ns > from ? run.start_ns : from;
        if (!wp_cpu_cursor_on(&cursor))
            break;
    }
    return to;
}

/* The last time in [from, to) in which its queue waited for a quota, as far as is told up to where explanations go. */
static bool find_throttled(const struct wp_explainer *x, const struct wp_runnable *runnable, uint64_t from, uint64_t to,
    struct wp_queue_quota *quota)
{
    if (!x->timeline->queue_quotas.rings.row_bytes) /* as on kernels since 6.18 */
        return false;
    *quota = (struct wp_queue_quota){.time_ns = wp_explain_horizon(x), .from_ns = from, .to_ns = to};
    return wp_queue_quotas_last(&x->timeline->queue_quotas, runnable->wait->thread, quota);
}

/* Its queue waited for a quota, once or more often; between it stood in the queue in which it ran next. */
static bool cut_throttled(struct wp_explainer *x, struct cut *cut, uint32_t cpu, uint64_t from)
{
    struct wp_queue_quota quota;
    unsigned count = 0;
    for (; count < THROTTLES && cut->to_ns > from && find_throttled(x, &cut->runnable, from, cut->to_ns, &quota);
         count++) {
        uint64_t until = quota.to_ns < cut->to_ns ? quota.to_ns : 0; /* it may have gone on behind what is explained */
        cut_queue(x, cut, cpu, quota.to_ns);
        const struct wp_quota_wait wait = {
            cut->runnable.wait->slice->identity, (uint32_t)quota.cgroup, quota.from_ns, until};
        add_quota(x, cut, &wait, quota.from_ns);
    }
    if (count) {
        cut_queue(x, cut, cpu, from);
        end_parts(x, cut);
    }
    return count;
}

/* The queue in which it stood last, and before it was moved there the one of the CPU that it had left. */
static void cut_wait(struct wp_explainer *x, struct cut *cut, uint64_t from)
{
    const struct wp_slice *slice = cut->runnable.wait->slice;
    const struct wp_thread *thread = &x->timeline->threads[cut->runnable.wait->thread];
    uint64_t ordinal = cut->runnable.ordinal, to = cut->to_ns;
    bool has_run = slice->in_ns && slice->in_ns <= wp_explain_horizon(x) && !slice->is_cut;
    uint32_t cpu = has_run ? wp_thread_slice_cpu(thread, ordinal)->cpu : NO_CPU;
    uint32_t left = wp_thread_ran_before(thread, ordinal).cpu;
    uint64_t end = has_run ? slice->in_ns : to;
    uint64_t oldest = end > x->options.origin_ns ? end - x->options.origin_ns : 0;
    uint64_t low = oldest < from ? from : oldest < to ? oldest : to;
    uint64_t quota = wp_slice_quota_end(slice);
    if (quota && !has_run && !slice->is_cut) { /* the rest is told as it runs, behind where explanations go to */
        add_throttled(x, cut, from);
        return;
    }
    if (quota) { /* on which CPU it stands from then on is not told: the one on which it runs next */
        if (quota < to)
            cut_queue(x, cut, cpu, quota > from ? quota : from);
        const struct wp_quota_wait wait = {slice->identity, wp_timeline_wait(x->timeline, slice), slice->out_ns, quota};
        add_quota(x, cut, &wait, from);
        return;
    }
    if (cut_throttled(x, cut, cpu, from))
        return;
    if (slice->flags & WP_SLICE_PREEMPTED && !(slice->flags & WP_SLICE_FIRST) && left != cpu) {
        uint64_t moved = idle_at(x, cut, left, slice->out_ns > oldest ? slice->out_ns : oldest, end);
        cut_queue(x, cut, cpu, moved < low ? low : moved < to ? moved : to);
        cpu = left;
    }
    cut_queue(x, cut, cpu, low);
    if (from < low)
        add_part(x, cut, WHO_UNSEEN, from);
    end_parts(x, cut);
}

/* The CPU in whose queue it stood all the time since `from_ns`, if that is simple. */
static uint32_t only_queue(const struct wp_explainer *x, const struct wp_runnable *runnable, uint64_t from_ns)
{
    const struct wp_slice *slice = runnable->wait->slice;
    const struct wp_thread *thread = &x->timeline->threads[runnable->wait->thread];
    if (!slice->in_ns || slice->in_ns > wp_explain_horizon(x) || slice->is_cut ||
        slice->in_ns - from_ns > x->options.origin_ns)
        return NO_CPU;
    uint32_t cpu = wp_thread_slice_cpu(thread, runnable->ordinal)->cpu;
    bool may_move = slice->flags & WP_SLICE_PREEMPTED;
    struct wp_queue_quota quota;
    if (may_move && (slice->cause_a || cpu != wp_thread_ran_before(thread, runnable->ordinal).cpu))
        return NO_CPU;
    return find_throttled(x, runnable, from_ns, slice->in_ns, &quota) ? NO_CPU : cpu;
}

/* The run of that CPU at that instant, but for its end; false: none is known. */
static bool run_at(const struct wp_explainer *x, uint32_t cpu, uint64_t at_ns, struct wp_cpu_run *run)
{
    struct wp_cpu_cursor cursor;
    if (wp_cpu_runs_near(&x->timeline->cpu_runs, cpu, at_ns, run))
        return true;
    if (!wp_cpu_runs_find(&x->timeline->cpu_runs, cpu, at_ns, &cursor))
        return false;
    *run = wp_cpu_cursor_run(&cursor);
    return true;
}

/* Into `rival`, which has `how`. */
static __attribute__((noinline)) void name_rival(struct wp_explainer *x, const struct wp_runnable *runnable,
    const struct wp_cpu_run *run, struct wp_rival_run *rival)
{
    uint32_t who = who_ran(x, runnable, run);
    rival->on = runnable->node;
    rival->own = x->timeline->identities[runnable->wait->slice->identity].process;
    rival->host = x->host;
    rival->reuses = x->timeline->cpu_runs.reuses;
    rival->node = who_node(x, runnable, who, who >= WHO_NAMED && rival->how & 1);
    rival->is_uncertain = who == WHO_LOST || is_steal(x, who);
}

/* What the whole of a wait behind that run is called: most are like one shortly before. */
static const struct wp_rival_run *rival_run(
    struct wp_explainer *x, const struct wp_runnable *runnable, const struct wp_cpu_run *run, uint64_t ns)
{
    uint32_t own = x->timeline->identities[runnable->wait->slice->identity].process;
    uint32_t reuses = x->timeline->cpu_runs.reuses;
    uint64_t how = (uint64_t)run->process << 32 | (uint64_t)run->occupant << 2 | (uint64_t)runnable->is_preempted << 1 |
        (ns >= FOR_NS);
    struct wp_rival_run *known = &x->rival_runs[(runnable->node * 3 + run->occupant) % WP_RIVAL_PLACES];
    if (known->node && known->node != UINT32_MAX && known->on == runnable->node && known->how == how &&
        known->own == own && known->host == x->host && known->reuses == reuses)
        return known;
    known->how = how;
    name_rival(x, runnable, run, known);
    return known;
}

/* All of [from, to) was behind that run. */
static void emit_behind(struct wp_explainer *x, const struct wp_runnable *runnable, const struct wp_cpu_run *run,
    uint64_t from, uint64_t to)
{
    const struct wp_slice *slice = runnable->wait->slice;
    const struct wp_rival_run *rival = rival_run(x, runnable, run, to - from);
    wp_explain_emit(x,
        &(struct wp_piece){.node = rival->node,
            .thread = runnable->wait->thread,
            .category = runnable->is_preempted ? WP_INVOLUNTARY : WP_SCHEDULER,
            .start_ns = from,
            .end_ns = to,
            .is_uncertain = slice->flags & WP_SLICE_UNCERTAIN || slice->is_inferred || rival->is_uncertain});
}

static __attribute__((noinline)) void in_parts(
    struct wp_explainer *x, const struct wp_runnable *runnable, uint64_t from, uint64_t to)
{
    struct cut cut = {.runnable = *runnable, .to_ns = to, .part_ns = to};
    cut_wait(x, &cut, from);
    x->fleet->visits += cut.looks / LOOKS_A_VISIT;
}

void wp_explain_runnable(struct wp_explainer *x, const struct wp_runnable *runnable, uint64_t from, uint64_t to)
{
    uint32_t cpu = only_queue(x, runnable, from);
    struct wp_cpu_run run;
    if (cpu != NO_CPU && run_at(x, cpu, to - 1, &run) && run.start_ns <= from) { /* most are short, and behind one */
        emit_behind(x, runnable, &run, from, to);
        return;
    }
    in_parts(x, runnable, from, to);
}
