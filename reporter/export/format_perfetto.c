/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_perfetto.h"

#include "common/array.h"
#include "common/json.h"
#include "reporter/display/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An interval of a thread's track; `row` is of the runs or of the sleeps. */
struct slice {
    uint64_t start_ns, end_ns;
    uint32_t thread, row;
    bool is_run;
};

struct writer {
    struct wp_json json;
    const struct wp_trace *trace;
    uint32_t *processes;  /* owned; by thread: the first thread of the same process and host */
    struct slice *slices; /* owned; by thread, then time */
    uint32_t slice_count;
};

static const char *text_of(const struct writer *writer, uint32_t string)
{
    return wp_intern_text(writer->trace->strings, string);
}

/* Viewers take a 0 for "no process", so made-up ids begin at 1. */
static uint32_t pid_of(const struct writer *writer, uint32_t thread)
{
    return writer->processes[thread] + 1;
}

static void begin_event(struct writer *writer, const char *phase, uint32_t thread)
{
    wp_json_line(&writer->json);
    wp_json_object(&writer->json, NULL);
    wp_json_text(&writer->json, "ph", phase);
    wp_json_number(&writer->json, "pid", pid_of(writer, thread));
    wp_json_number(&writer->json, "tid", thread + 1);
}

/* With its arguments. */
static void end_event(struct writer *writer)
{
    wp_json_end(&writer->json);
    wp_json_end(&writer->json);
}

static void put_text(struct writer *writer, const char *key, const char *text)
{
    wp_json_text(&writer->json, key, *text ? text : "?");
}

static void put_time(struct writer *writer, const char *key, uint64_t ns)
{
    wp_json_raw(&writer->json, key, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static int compare_threads(const void *left, const void *right, void *context)
{
    const struct wp_trace_thread *threads = ((const struct wp_trace *)context)->threads;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const struct wp_trace_thread *a = &threads[i], *b = &threads[j];
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int find_processes(struct writer *writer)
{
    const struct wp_trace *trace = writer->trace;
    uint32_t *order = calloc(trace->thread_count + 1u, sizeof(*order));
    writer->processes = calloc(trace->thread_count + 1u, sizeof(*writer->processes));
    if (!order || !writer->processes) {
        free(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < trace->thread_count; i++)
        order[i] = i;
    qsort_r(order, trace->thread_count, sizeof(*order), compare_threads, (void *)trace);
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        const struct wp_trace_thread *here = &trace->threads[order[i]],
                                     *before = i ? &trace->threads[order[i - 1]] : NULL;
        bool is_same = before && here->host == before->host && here->pid == before->pid;
        writer->processes[order[i]] = is_same ? writer->processes[order[i - 1]] : order[i];
    }
    free(order);
    return 0;
}

static int compare_slices(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->is_run != b->is_run)
        return a->is_run ? 1 : -1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static void add_slice(
    struct writer *writer, uint32_t thread, uint32_t row, bool is_run, uint64_t start_ns, uint64_t length_ns)
{
    if (thread < writer->trace->thread_count)
        writer->slices[writer->slice_count++] = (struct slice){start_ns, start_ns + length_ns, thread, row, is_run};
}

static int find_slices(struct writer *writer)
{
    const struct wp_trace *trace = writer->trace;
    writer->slices = calloc((size_t)trace->run_count + trace->sleep_count + 1, sizeof(*writer->slices));
    if (!writer->slices)
        return -ENOMEM;
    for (uint32_t i = 0; i < trace->run_count; i++)
        add_slice(writer, trace->runs[i].thread, i, true, trace->runs[i].start_ns, trace->runs[i].length_ns);
    for (uint32_t i = 0; i < trace->sleep_count; i++)
        add_slice(writer, trace->sleeps[i].thread, i, false, trace->sleeps[i].start_ns, trace->sleeps[i].length_ns);
    qsort(writer->slices, writer->slice_count, sizeof(*writer->slices), compare_slices);
    return 0;
}

/* The last slice of the thread that begins at `ns` or before, NULL none. */
static const struct slice *slice_at(const struct writer *writer, uint32_t thread, uint64_t ns)
{
    const struct slice *slices = writer->slices;
    uint32_t low = WP_LOWER_BOUND(middle, 0, writer->slice_count,
        slices[middle].thread < thread || (slices[middle].thread == thread && slices[middle].start_ns <= ns));
    return low && writer->slices[low - 1].thread == thread ? &writer->slices[low - 1] : NULL;
}

static void put_process(struct writer *writer, uint32_t thread, bool is_many)
{
    const struct wp_trace_thread *row = &writer->trace->threads[thread];
    struct wp_pool pool = {0};
    begin_event(writer, "M", thread);
    wp_json_text(&writer->json, "name", "process_name");
    wp_json_object(&writer->json, "args");
    wp_json_text(&writer->json, "name",
        wp_pool_printf(&pool, is_many ? "%s %" PRIu32 " on %s" : "%s %" PRIu32, text_of(writer, row->comm), row->pid,
            text_of(writer, row->host)));
    wp_json_number(&writer->json, "pid", row->pid);
    put_text(writer, "host", text_of(writer, row->host));
    end_event(writer);
    begin_event(writer, "M", thread);
    wp_json_text(&writer->json, "name", "process_sort_index");
    wp_json_object(&writer->json, "args");
    /* What is asked about stands on top. */
    wp_json_number(&writer->json, "sort_index", row->is_base ? thread : writer->trace->thread_count + thread);
    end_event(writer);
    writer->json.out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

static void put_thread(struct writer *writer, uint32_t thread)
{
    const struct wp_trace_thread *row = &writer->trace->threads[thread];
    struct wp_pool pool = {0};
    begin_event(writer, "M", thread);
    wp_json_text(&writer->json, "name", "thread_name");
    wp_json_object(&writer->json, "args");
    wp_json_text(&writer->json, "name", wp_pool_printf(&pool, "%s %" PRIu32, text_of(writer, row->comm), row->tid));
    wp_json_number(&writer->json, "tid", row->tid);
    end_event(writer);
    writer->json.out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

static void put_threads(struct writer *writer)
{
    const struct wp_trace *trace = writer->trace;
    bool is_many = false;
    for (uint32_t i = 1; i < trace->thread_count; i++)
        is_many |= trace->threads[i].host != trace->threads[0].host;
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        if (writer->processes[i] == i)
            put_process(writer, i, is_many);
        put_thread(writer, i);
    }
}

/* One end of a slice. Both ends have the moment itself, not a start and a length: readers that calculate in floating
 * point (speedscope) would have a slice end after the next one began. They pair the ends by name and arguments, so both
 * have these. */
static void put_end(struct writer *writer, const struct slice *slice, const char *phase, uint64_t ns)
{
    const struct wp_trace *trace = writer->trace;
    begin_event(writer, phase, slice->thread);
    put_time(writer, "ts", ns);
    put_text(writer, "cat", slice->is_run ? "run" : "sleep");
    put_text(writer, "name",
        text_of(writer, slice->is_run ? trace->runs[slice->row].comm : trace->sleeps[slice->row].label));
    wp_json_object(&writer->json, "args");
    if (!slice->is_run)
        put_text(writer, "category", wp_category_key((enum wp_category)trace->sleeps[slice->row].category));
    end_event(writer);
}

/* Slices of a thread follow each other: of one that begins before the last has ended, what is left of it. */
static void put_slices(struct writer *writer)
{
    uint64_t at_ns = 0;
    for (uint32_t i = 0; i < writer->slice_count; i++) {
        const struct slice *slice = &writer->slices[i];
        if (!i || slice[-1].thread != slice->thread)
            at_ns = 0;
        uint64_t start_ns = slice->start_ns > at_ns ? slice->start_ns : at_ns;
        at_ns = slice->end_ns > start_ns ? slice->end_ns : start_ns;
        put_end(writer, slice, "B", start_ns);
        put_end(writer, slice, "E", at_ns);
    }
}

static const char *link_name(uint32_t kind)
{
    static const char *const names[] = {"link", "waking", "fork", "exec", "message", "io", "horizontal"};
    return names[kind < sizeof(names) / sizeof(*names) ? kind : 0];
}

/* An arrow hangs on the slice around its end. A run that ends by the link has ended at that very moment, which no
 * viewer counts as inside: the arrow then leaves it a nanosecond earlier. */
static uint64_t leave_at(const struct writer *writer, const struct wp_trace_link *link)
{
    const struct slice *slice = slice_at(writer, link->from_thread, link->from_ns);
    if (slice && slice->start_ns == link->from_ns && slice > writer->slices && slice[-1].thread == slice->thread &&
        slice[-1].end_ns == link->from_ns && slice[-1].is_run && !slice->is_run)
        slice--; /* the run before, not the sleep that it began */
    return slice && slice->end_ns == link->from_ns && slice->end_ns > slice->start_ns ? link->from_ns - 1
                                                                                      : link->from_ns;
}

/* Arrows without a bp go to the next slice that begins on their thread; with it to the one around them. */
static bool is_inside(const struct slice *slice, uint64_t ns)
{
    return slice && slice->end_ns > ns;
}

static bool goes_inside(const struct writer *writer, const struct wp_trace_link *link)
{
    const struct slice *into = slice_at(writer, link->to_thread, link->to_ns);
    return is_inside(into, link->to_ns) && into->is_run;
}

/* Viewers drop an arrow, as an error of the file, that has no slice at one of its ends: its thread's was before the
 * window, after it, or did not fit. */
static bool is_tied(const struct writer *writer, const struct wp_trace_link *link)
{
    if (link->from_thread >= writer->trace->thread_count || link->to_thread >= writer->trace->thread_count)
        return false;
    uint64_t leave_ns = leave_at(writer, link);
    if (!is_inside(slice_at(writer, link->from_thread, leave_ns), leave_ns))
        return false;
    const struct slice *last = slice_at(writer, link->to_thread, UINT64_MAX);
    return goes_inside(writer, link) || (last && last->start_ns > link->to_ns);
}

static void put_link(struct writer *writer, uint32_t number)
{
    const struct wp_trace_link *link = &writer->trace->links[number];
    bool is_bound = goes_inside(writer, link);
    for (int end = 0; end < 2; end++) {
        begin_event(writer, end ? "f" : "s", end ? link->to_thread : link->from_thread);
        put_time(writer, "ts", end ? link->to_ns : leave_at(writer, link));
        wp_json_number(&writer->json, "id", number + 1);
        put_text(writer, "cat", "link");
        put_text(writer, "name", link_name(link->kind));
        if (end && is_bound)
            put_text(writer, "bp", "e");
        wp_json_end(&writer->json);
    }
}

static void put_all(struct writer *writer, const struct wp_facts *facts)
{
    const struct wp_trace *trace = writer->trace;
    struct wp_json *json = &writer->json;
    uint32_t loose_count = 0;
    for (uint32_t i = 0; i < trace->link_count; i++)
        loose_count += !is_tied(writer, &trace->links[i]);
    wp_json_object(json, NULL);
    wp_json_text(json, "displayTimeUnit", "ns");
    wp_json_line(json);
    wp_json_object(json, "otherData");
    wp_json_text(json, "made_by", "wakepath");
    wp_json_text(json, "release", facts->release);
    wp_json_text(json, "aggregate", facts->aggregate);
    wp_json_raw(json, "start_ns", "\"%" PRIu64 "\"", trace->start_ns);
    wp_json_raw(json, "length_ns", "\"%" PRIu64 "\"", trace->length_ns);
    wp_json_raw(json, "omitted", "\"%" PRIu64 "\"", trace->omitted);
    wp_json_raw(json, "loose_links", "\"%" PRIu32 "\"", loose_count);
    wp_json_end(json);
    wp_json_line(json);
    wp_json_array(json, "traceEvents");
    put_threads(writer);
    put_slices(writer);
    for (uint32_t i = 0; i < trace->link_count; i++)
        if (is_tied(writer, &trace->links[i]))
            put_link(writer, i);
    wp_json_end(json);
    wp_json_end(json);
}

int wp_format_perfetto(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct writer writer = {.json = {.out = out, .put_text = wp_escape_json}, .trace = facts->trace};
    if (!facts->trace)
        return wp_error_set(
            err, -ENOENT, "no window of %s was kept event by event, so there is no trace to export", facts->aggregate);
    int rc = find_processes(&writer);
    if (!rc)
        rc = find_slices(&writer);
    if (!rc) {
        put_all(&writer, facts);
        rc = wp_json_finish(&writer.json, "the trace", err);
    }
    free(writer.processes);
    free(writer.slices);
    return rc ? wp_error_set(err, -ENOMEM, "out of memory for the trace") : 0;
}
