/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/source_perf_script.h"

#include "collector/perf_script/perf_script_facts.h"
#include "collector/perf_script/perf_script_input.h"
#include "common/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND_MS 40 /* in which lines are read, before what was made of them is sent */
#define GIVE_UP_LINES 10000u
#define EXCERPT_ROOM 61u

#define RECORD_HINT                                                                                                    \
    "record with: perf record -a -g -k CLOCK_MONOTONIC -e sched:sched_switch,sched:sched_waking,"                      \
    "sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,block:block_rq_issue,"                 \
    "block:block_rq_complete,irq:irq_handler_entry,task:task_rename,cpu-clock/freq=99/ -- CMD; perf script > FILE "    \
    "(`wakepath perf-events` prints all of it for a machine)"

/* What the lines below a head are. */
enum stack_of { STACK_OF_NOTHING, STACK_WANTED, STACK_UNWANTED };

struct source_perf_script {
    struct wp_source source; /* first */
    struct wp_perf_input input;
    struct wp_perf_state state;
    char *path; /* owned */
    atomic_bool is_stopping;
    bool has_ended;
    bool is_pending; /* `event` waits for the rest of its stack */
    enum stack_of below;
    uint64_t printed_ns, last_ns, told_ns; /* the latest printed time, the last given, the last watermark */
    uint64_t lines, heads, known, skipped, late;
    char first_line[EXCERPT_ROOM], first_unknown[EXCERPT_ROOM];
    struct wp_perf_event event;
};

static struct source_perf_script *of(struct wp_source *source)
{
    return (struct source_perf_script *)source;
}

/* --- lines --- */

static int flush(struct source_perf_script *s, const struct wp_fact_sink *sink, struct wp_error *err)
{
    s->below = STACK_OF_NOTHING;
    if (!s->is_pending)
        return 0;
    s->is_pending = false;
    return wp_perf_event_deliver(&s->event, &s->state, sink, err);
}

/* See the header: no two facts share a time, and none goes back. */
static uint64_t take_time(struct source_perf_script *s, uint64_t printed_ns)
{
    s->late += printed_ns < s->printed_ns;
    s->printed_ns = printed_ns > s->printed_ns ? printed_ns : s->printed_ns;
    s->last_ns = printed_ns > s->last_ns ? printed_ns : s->last_ns + 1;
    return s->last_ns;
}

static int on_lost(struct source_perf_script *s, uint32_t cpu, uint64_t count, uint64_t to_ns,
    const struct wp_fact_sink *sink, struct wp_error *err)
{
    if (wp_perf_state_reach(&s->state, cpu))
        return wp_error_set(err, -ENOMEM, "out of memory");
    uint64_t from_ns = s->state.cpus[cpu].last_ns;
    to_ns = to_ns > s->last_ns ? to_ns : s->last_ns;
    struct wp_drop drop = {.cpu = cpu, .count = count, .from_ns = from_ns ? from_ns : to_ns, .to_ns = to_ns};
    return sink->drops(sink->context, &drop, err);
}

static void on_unknown(struct source_perf_script *s, struct wp_text event)
{
    s->below = STACK_UNWANTED;
    s->skipped++;
    if (!s->first_unknown[0])
        wp_text_copy(event, s->first_unknown, sizeof(s->first_unknown));
}

static int add_frame(struct source_perf_script *s, struct wp_text line, struct wp_error *err)
{
    struct wp_perf_frame frame;
    if (!wp_perf_frame_parse(line, &frame)) {
        s->skipped++;
        return 0;
    }
    return wp_perf_stack_add(&s->event.stack, &frame) ? wp_error_set(err, -ENOMEM, "out of memory") : 0;
}

static int on_head(struct source_perf_script *s, const struct wp_perf_head *head, const struct wp_fact_sink *sink,
    struct wp_error *err)
{
    uint64_t lost;
    int rc = flush(s, sink, err);
    enum wp_perf_kind kind = wp_perf_kind_of(head->event);
    s->heads++;
    if (rc || (kind == WP_PERF_LOST && wp_perf_lost_count(head, &lost)))
        return rc ? rc : on_lost(s, head->cpu, lost, head->time_ns, sink, err);
    if (kind == WP_PERF_OTHER || kind == WP_PERF_LOST || !wp_perf_event_begin(&s->event, kind, head)) {
        on_unknown(s, head->event);
        return 0;
    }
    s->known++;
    s->is_pending = kind != WP_PERF_IGNORED;
    s->below = STACK_UNWANTED;
    if (!s->is_pending)
        return 0;
    if (wp_perf_state_reach(&s->state, head->cpu))
        return wp_error_set(err, -ENOMEM, "out of memory");
    s->event.time_ns = take_time(s, head->time_ns);
    s->state.cpus[head->cpu].last_ns = s->event.time_ns;
    if (wp_perf_event_wants_stack(&s->event))
        s->below = STACK_WANTED;
    /* a sample without a call chain has its one frame behind the name */
    return kind == WP_PERF_SAMPLE && head->trace.size ? add_frame(s, head->trace, err) : 0;
}

static int on_frame(struct source_perf_script *s, struct wp_text line, struct wp_error *err)
{
    if (s->below == STACK_WANTED)
        return add_frame(s, line, err);
    s->skipped += s->below == STACK_OF_NOTHING;
    return 0;
}

static int on_line(
    struct source_perf_script *s, struct wp_text line, const struct wp_fact_sink *sink, struct wp_error *err)
{
    struct wp_perf_head head;
    uint64_t lost;
    uint32_t cpu;
    s->lines++;
    if (!wp_text_trim(line).size)
        return flush(s, sink, err);
    if (!s->first_line[0])
        wp_text_copy(line, s->first_line, sizeof(s->first_line));
    if (line.at[0] == '\t') /* never a head: names of functions can look like anything */
        return on_frame(s, line, err);
    if (wp_perf_head_parse(line, &head))
        return on_head(s, &head, sink, err);
    if (line.at[0] == ' ' && s->below != STACK_OF_NOTHING)
        return on_frame(s, line, err);
    if (wp_perf_lost_parse(line, &cpu, &lost)) {
        int rc = flush(s, sink, err);
        return rc ? rc : on_lost(s, cpu, lost, 0, sink, err);
    }
    s->skipped += line.at[0] != '#'; /* perf script --header */
    return 0;
}

/* --- text of another kind --- */

static int refuse(const struct source_perf_script *s, struct wp_error *err)
{
    if (!strncmp(s->first_line, "PERFILE2", 8))
        return wp_error_set(err, -EINVAL,
            "%s is a recording of perf itself, not its text: give the output of "
            "`perf script -i %s`",
            s->path, s->path);
    if (s->heads && s->first_unknown[0])
        return wp_error_set(err, -EINVAL, "%s has events of perf script, but none that is known (the first is %s); %s",
            s->path, s->first_unknown, RECORD_HINT);
    if (!s->lines)
        return wp_error_set(err, -EINVAL, "%s is empty; expected the text of perf script; %s", s->path, RECORD_HINT);
    return wp_error_set(err, -EINVAL,
        "%s is not the text of perf script: none of its first %llu lines is like "
        "\"COMM PID [CPU] SECONDS.FRACTION: EVENT: ...\", the first is \"%s\"; %s",
        s->path, (unsigned long long)s->lines, s->first_line, RECORD_HINT);
}

/* --- the source --- */

/* All whole lines that are in memory. */
static int take_lines(struct source_perf_script *s, const struct wp_fact_sink *sink, struct wp_error *err)
{
    struct wp_text line;
    while (wp_perf_input_line(&s->input, &line)) {
        int rc = on_line(s, line, sink, err);
        if (rc)
            return rc;
        if (s->lines == GIVE_UP_LINES && !s->heads)
            return refuse(s, err);
    }
    return 0;
}

static int tell_time(struct source_perf_script *s, const struct wp_fact_sink *sink, struct wp_error *err)
{
    if (s->last_ns == s->told_ns)
        return 0;
    s->told_ns = s->last_ns;
    return sink->watermark(sink->context, s->last_ns, err);
}

static int finish(struct source_perf_script *s, const struct wp_fact_sink *sink, struct wp_error *err)
{
    int rc = flush(s, sink, err);
    if (!rc)
        rc = tell_time(s, sink, err);
    if (!rc && !s->known && !atomic_load(&s->is_stopping))
        rc = refuse(s, err);
    s->has_ended = true;
    return rc;
}

static int poll_source(struct wp_source *source, int timeout_ms, const struct wp_fact_sink *sink, struct wp_error *err)
{
    struct source_perf_script *s = of(source);
    uint64_t until = wp_clock_ms() + (uint64_t)(timeout_ms > 0 ? timeout_ms < ROUND_MS ? timeout_ms : ROUND_MS : 0),
             now;
    int rc = s->has_ended ? 0 : 1;
    while (rc > 0) {
        bool is_stopping = atomic_load(&s->is_stopping);
        now = wp_clock_ms();
        rc = wp_perf_input_read(&s->input, is_stopping || now >= until ? 0 : (int)(until - now), err);
        bool is_idle = rc == 0;
        if (rc >= 0)
            rc = take_lines(s, sink, err);
        if (!rc)
            rc = tell_time(s, sink, err);
        if (rc)
            break;
        if (s->input.is_at_end || is_stopping)
            return finish(s, sink, err);
        rc = 1;
        if (is_idle || wp_clock_ms() >= until)
            break;
    }
    return rc;
}

static void stop_source(struct wp_source *source)
{
    atomic_store(&of(source)->is_stopping, true);
}

static void destroy_source(struct wp_source *source)
{
    if (!source)
        return;
    struct source_perf_script *s = of(source);
    wp_perf_input_close(&s->input);
    wp_perf_state_fini(&s->state);
    wp_perf_stack_fini(&s->event.stack);
    free(s->path);
    free(s);
}

static void count_lines(const struct wp_source *source, struct wp_source_counts *counts)
{
    const struct source_perf_script *s = (const struct source_perf_script *)source;
    *counts = (struct wp_source_counts){.unread_lines = s->skipped + s->input.too_long, .late_lines = s->late};
}

static const struct wp_source_ops ops = {
    "perf-script", poll_source, stop_source, NULL, destroy_source, count_lines, NULL, NULL, NULL, NULL, NULL};

int wp_source_perf_script_create(struct wp_source **source, const char *path, struct wp_error *err)
{
    *source = NULL;
    struct source_perf_script *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &ops;
    s->input.fd = -1;
    s->path = strdup(strcmp(path, "-") ? path : "standard input");
    int rc = !s->path ? wp_error_set(err, -ENOMEM, "out of memory") : 0;
    if (!rc)
        rc = wp_perf_input_open(&s->input, path, err);
    if (rc) {
        destroy_source(&s->source);
        return rc;
    }
    *source = &s->source;
    return 0;
}
