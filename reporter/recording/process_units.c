/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/process_units.h"

#include "common/array.h"
#include "common/cgroup_path.h"
#include "common/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 160u

/* A program that a process of that host ran, and where; ids of texts. */
struct member {
    uint32_t host, comm, cgroup, workload;
};

#define COMPARE(a, b)                                                                                                  \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

static int by_member(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    COMPARE(a->host, b->host);
    COMPARE(a->comm, b->comm);
    COMPARE(a->workload, b->workload);
    COMPARE(a->workload ? 0 : a->cgroup, b->workload ? 0 : b->cgroup); /* a container has a name: that is one */
    return 0;
}

/* Processes of the report by the names that they gave themselves, which the genealogy does not have. */
static size_t find_renamed(struct member *members, const struct wp_facts *facts, const struct wp_genealogy *genealogy)
{
    size_t count = 0;
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct wp_process_fact *fact = &facts->processes[i];
        uint32_t place = wp_genealogy_find(genealogy, fact->host, fact->pid, fact->start_ns);
        const struct wp_genealogy_process *process = place == UINT32_MAX ? NULL : &genealogy->processes[place];
        uint32_t comm = process ? wp_intern_str(genealogy->texts, fact->comm) : UINT32_MAX;
        if (comm == UINT32_MAX || !process->program_count)
            continue;
        const struct wp_program *last = &genealogy->programs[process->first_program + process->program_count - 1];
        if (last->cgroup || last->workload)
            members[count++] = (struct member){process->host, comm, last->cgroup, last->workload};
    }
    return count;
}

static size_t find_members(struct member *members, const struct wp_facts *facts, const struct wp_genealogy *genealogy)
{
    size_t count = find_renamed(members, facts, genealogy);
    for (uint32_t i = 0; i < genealogy->process_count; i++) {
        const struct wp_genealogy_process *process = &genealogy->processes[i];
        for (uint32_t j = 0; j < process->program_count; j++) {
            const struct wp_program *program = &genealogy->programs[process->first_program + j];
            if (program->cgroup || program->workload)
                members[count++] = (struct member){process->host, program->comm, program->cgroup, program->workload};
        }
    }
    if (count)
        qsort(members, count, sizeof(*members), by_member);
    return count;
}

static const char *unit_name(struct wp_pool *pool, const struct wp_genealogy *genealogy, const struct member *member)
{
    char name[NAME_BYTES];
    if (member->workload)
        return wp_pool_text(pool, wp_intern_text(genealogy->texts, member->workload));
    wp_cgroup_path_name(wp_intern_text(genealogy->texts, member->cgroup), name, sizeof(name));
    return wp_pool_text(pool, name);
}

static int by_name(const void *left, const void *right)
{
    const struct wp_process_unit *a = left, *b = right;
    int rc = strcmp(a->comm, b->comm);
    return rc ? rc : strcmp(a->host, b->host);
}

/* One row for all members of one host and name. */
static void put_units(struct wp_facts *facts, struct wp_process_units *units, const struct wp_genealogy *genealogy,
    const struct member *members, size_t count)
{
    for (size_t i = 0, end; i < count && units->count < WP_PROCESS_UNITS; i = end) {
        bool is_one = true;
        for (end = i + 1; end < count && members[end].host == members[i].host && members[end].comm == members[i].comm;
             end++)
            is_one &= !by_member(&members[end], &members[i]);
        units->rows[units->count++] = (struct wp_process_unit){
            .host = wp_pool_text(&facts->pool, wp_intern_text(genealogy->texts, members[i].host)),
            .comm = wp_pool_text(&facts->pool, wp_intern_text(genealogy->texts, members[i].comm)),
            .unit = is_one ? unit_name(&facts->pool, genealogy, &members[i]) : WP_UNIT_SEVERAL};
    }
    if (units->count && !facts->pool.failed)
        qsort(units->rows, units->count, sizeof(*units->rows), by_name);
}

int wp_process_units_build(struct wp_facts *facts, const struct wp_genealogy *genealogy, struct wp_error *err)
{
    struct member *members = calloc(genealogy->program_count + facts->process_count + 1, sizeof(*members));
    struct wp_process_units *units = wp_pool_alloc(&facts->pool, sizeof(*units));
    size_t count = members ? find_members(members, facts, genealogy) : 0;
    size_t room = count < WP_PROCESS_UNITS ? count : WP_PROCESS_UNITS;
    if (units)
        *units = (struct wp_process_units){.rows = wp_pool_alloc(&facts->pool, (room + 1) * sizeof(*units->rows))};
    bool has_failed = !members || !units || !units->rows;
    if (!has_failed) {
        put_units(facts, units, genealogy, members, count);
        facts->units = units;
    }
    free(members);
    return has_failed || facts->pool.failed
        ? wp_error_set(err, -ENOMEM, "out of memory for the control groups of %s", facts->aggregate)
        : 0;
}

const char *wp_process_unit(const struct wp_facts *facts, const char *host, const char *comm)
{
    const struct wp_process_units *units = facts->units;
    const char *unit = NULL;
    size_t at = units ? WP_LOWER_BOUND(middle, 0, units->count, strcmp(units->rows[middle].comm, comm) < 0) : 0;
    for (; units && at < units->count && !strcmp(units->rows[at].comm, comm); at++) {
        if (host && strcmp(units->rows[at].host, host))
            continue;
        if (unit && strcmp(unit, units->rows[at].unit))
            return WP_UNIT_SEVERAL;
        unit = units->rows[at].unit;
    }
    return unit;
}
