/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/recorded_title.h"

#include "common/selector.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/host_names.h"
#include "storage/report/trace.h"
#include "storage/value/bucket.h"
#include "storage/value/recorded_keys.h"

#include <stdlib.h>
#include <string.h>

#define TITLE_BYTES 100u

/* The name of the main thread: of the kept window, else of the process with most time; NULL when nobody was there. */
static const char *main_thread(const struct wp_facts *facts)
{
    const struct wp_trace *trace = facts->trace;
    for (uint32_t i = 0; trace && i < trace->path_count; i++)
        if (trace->paths[i].is_base && trace->paths[i].thread < trace->thread_count) {
            const char *comm = wp_intern_text(trace->strings, trace->threads[trace->paths[i].thread].comm);
            if (*comm)
                return comm;
        }
    return facts->process_count ? facts->processes[0].comm : NULL;
}

/* A command line without the folders of its program. */
static const char *without_folders(const char *command)
{
    size_t program = strcspn(command, " ");
    for (size_t i = program; i > 0; i--)
        if (command[i - 1] == '/' && i < program)
            return command + i;
    return command;
}

const char *wp_recorded_text(const struct wp_facts *facts, const char *key)
{
    /* An aggregate that says nothing itself is of an earlier version, which noted it with the release. */
    bool is_own = wp_metadata_text(&facts->metadata, WP_RECORDED_EXIT) != NULL;
    return wp_metadata_text(is_own ? &facts->metadata : &facts->release_metadata, key);
}

const char *wp_recorded_line(const struct wp_facts *facts)
{
    const char *line = facts->is_command ? wp_recorded_text(facts, WP_RECORDED_COMMAND) : NULL;
    const char *cut = wp_metadata_text(&facts->metadata, WP_BUCKET_PREFIX "command");
    return cut && (!line || !wp_metadata_text(&facts->metadata, WP_RECORDED_COMMAND)) ? cut : line;
}

const char *wp_recorded_workload(const struct wp_facts *facts)
{
    return wp_metadata_text(&facts->metadata, WP_BUCKET_PREFIX "workload");
}

size_t wp_recorded_word(const char *line)
{
    size_t size = 0;
    for (bool is_quoted = false; line[size] && (is_quoted || line[size] != ' '); size++)
        is_quoted ^= line[size] == '\'';
    return size;
}

const char *wp_recorded_what(struct wp_pool *pool, const struct wp_facts *facts)
{
    const char *line = wp_recorded_line(facts), *workload = wp_recorded_workload(facts);
    const char *command = line && facts->is_command ? wp_pool_clip(pool, without_folders(line), TITLE_BYTES) : "";
    return wp_pool_printf(pool, "%s%s%s%s", command, *command && workload ? ", " : "", workload ? "workload " : "",
        workload ? workload : "");
}

bool wp_recorded_differs(const struct wp_facts *one, const struct wp_facts *other)
{
    const char *line[] = {wp_recorded_line(one), wp_recorded_line(other)};
    const char *workload[] = {wp_recorded_workload(one), wp_recorded_workload(other)};
    if (!one->is_command || !other->is_command)
        return false;
    if (line[0] && line[1] && strcmp(without_folders(line[0]), without_folders(line[1])))
        return true;
    return (workload[0] || workload[1]) && strcmp(workload[0] ? workload[0] : "", workload[1] ? workload[1] : "");
}

/* "nginx (pid 71)" where the aggregate selects one process by its number; NULL: it selects otherwise. */
static const char *numbered_process(struct wp_pool *pool, const struct wp_facts *facts)
{
    const char *text = wp_metadata_text(&facts->metadata, WP_BUCKET_PREFIX "selector"), *title = NULL;
    struct wp_selector selector;
    uint32_t pid = 0;
    if (!text || wp_selector_parse(&selector, text, NULL))
        return NULL;
    if (selector.count == 1 && selector.terms[0].field == WP_SELECT_PID && !selector.terms[0].ids[1])
        pid = selector.terms[0].ids[0];
    wp_selector_fini(&selector);
    for (uint32_t i = 0; i < facts->process_count && !title; i++)
        title = pid && facts->processes[i].pid == pid
            ? wp_pool_printf(pool, "%s (pid %u)", facts->processes[i].comm, pid)
            : NULL;
    return title;
}

const char *wp_recorded_title(struct wp_pool *pool, const struct wp_facts *facts)
{
    const char *command = facts->is_command ? wp_recorded_line(facts) : NULL;
    const char *view = strchr(facts->aggregate, '.');
    if (!command)
        command = facts->is_command ? main_thread(facts) : numbered_process(pool, facts);
    if (!command || !*command)
        return wp_pool_text(pool, facts->aggregate);
    command = wp_pool_clip(pool, without_folders(command), TITLE_BYTES);
    return view ? wp_pool_printf(pool, "%s, by %s", command, wp_pool_clip(pool, view + 1, TITLE_BYTES)) : command;
}

/* "(2 CPUs, load 3.1)" of the only host; "" when it is not known or there are several. */
static const char *machine(struct wp_pool *pool, const struct wp_facts *facts)
{
    if (facts->host_count != 1)
        return "";
    const char *cpus =
        wp_metadata_text(&facts->release_metadata, wp_pool_printf(pool, "host.%s.cpus", facts->hosts[0]));
    const char *load = facts->is_command ? wp_recorded_text(facts, WP_RECORDED_LOAD) : NULL;
    uint64_t count = cpus ? strtoull(cpus, NULL, 10) : 0;
    if (!count)
        return "";
    const char *many = wp_human_many(pool, count, "CPU");
    return load ? wp_pool_printf(pool, " (%s, load %s)", many, wp_pool_clip(pool, load, 12))
                : wp_pool_printf(pool, " (%s)", many);
}

const char *wp_recorded_subtitle(struct wp_pool *pool, const struct wp_facts *facts)
{
    const char *when = facts->first_ns ? wp_human_time(pool, facts->first_ns) : "";
    const char *where = facts->host_count
        ? wp_pool_printf(pool, "%son %s%s", *when ? " " : "", wp_host_names(pool, facts->report), machine(pool, facts))
        : "";
    const char *release = /* what nobody has named is called so */
        strcmp(facts->release, "unversioned") ? wp_pool_printf(pool, "release %s", facts->release) : "";
    const char *workload = wp_recorded_workload(facts);
    return wp_pool_printf(pool, "%s%s%s%s%s%s%s%s", when, where, *release && (*when || *where) ? ", " : "", release,
        workload ? ", workload " : "", workload ? workload : "", facts->group ? ", only hosts " : "",
        facts->group ? facts->group : "");
}
