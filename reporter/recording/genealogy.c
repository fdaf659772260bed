/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/genealogy.h"

#include "common/array.h"
#include "common/intern.h"
#include "common/strings.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/release_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS (4 * WP_GENEALOGY_ROWS) /* of all shards together */

struct row {
    uint32_t host, pid, parent_pid, ending;
    uint64_t start_ns, parent_start_ns, end_ns;
    struct wp_killed killed;
    struct wp_program program;
};

struct reading {
    struct wp_genealogy *genealogy;
    struct row *rows; /* owned */
    uint32_t count, room;
};

static int add_row(void *context, const struct wp_genealogy_row *row)
{
    struct reading *reading = context;
    struct wp_intern *texts = reading->genealogy->texts;
    if (reading->count >= ROWS) {
        reading->genealogy->left_out++;
        return 0;
    }
    if (WP_ARRAY_FIT(reading->rows, reading->room, reading->count + 1))
        return -ENOMEM;
    struct row made = {.host = wp_intern_str(texts, row->host),
        .pid = row->pid,
        .parent_pid = row->parent_pid,
        .ending = row->ending,
        .start_ns = row->start_ns,
        .parent_start_ns = row->parent_start_ns,
        .end_ns = row->end_ns,
        .killed = {wp_intern_str(texts, row->oom_cgroup), wp_intern_str(texts, row->oom_holder), row->oom_bytes},
        .program = {.comm = wp_intern_str(texts, row->comm),
            .exe = wp_intern_str(texts, row->exe),
            .cgroup = wp_intern_str(texts, row->cgroup),
            .workload = wp_intern_str(texts, row->workload),
            .exec_ns = row->exec_ns,
            .is_forked = row->parent_pid != row->pid && (row->parent_pid || !row->exec_ns)}};
    reading->rows[reading->count++] = made;
    bool is_lost = made.host == UINT32_MAX || made.program.comm == UINT32_MAX || made.program.exe == UINT32_MAX ||
        made.killed.cgroup == UINT32_MAX || made.killed.holder == UINT32_MAX || made.program.cgroup == UINT32_MAX ||
        made.program.workload == UINT32_MAX;
    return is_lost ? -ENOMEM : 0;
}

static int read_store(struct reading *reading, struct wp_txn *txn, struct wp_error *err)
{
    struct wp_genealogy_visit visit = {.each = add_row, .context = reading};
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_shards(txn, &shards, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = wp_txn_read_genealogy(txn, shards[i], &visit, err);
        reading->genealogy->damaged += visit.damaged;
    }
    wp_strings_free(shards, count);
    return rc;
}

#define COMPARE(a, b)                                                                                                  \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

static int by_process(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    COMPARE(a->host, b->host);
    COMPARE(a->pid, b->pid);
    COMPARE(a->start_ns, b->start_ns);
    COMPARE(a->parent_pid, b->parent_pid);
    COMPARE(a->program.comm, b->program.comm);
    COMPARE(a->program.exe, b->program.exe);
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    COMPARE(!a->program.is_forked, !b->program.is_forked);
    COMPARE(a->program.exec_ns, b->program.exec_ns);
    return by_process(left, right);
}

/* How many rows from `first` on are of one process; its start, as far as one of them knows it. */
static uint32_t rows_of_one(const struct reading *reading, uint32_t first, uint64_t *start_ns)
{
    const struct row *rows = reading->rows;
    uint32_t end = first;
    *start_ns = 0;
    for (; end < reading->count && rows[end].host == rows[first].host && rows[end].pid == rows[first].pid &&
         wp_genealogy_same_start(*start_ns, rows[end].start_ns);
         end++)
        *start_ns = *start_ns ? *start_ns : rows[end].start_ns;
    return end - first;
}

#define DOUBLES 64u /* rows of one process that are looked through for one program */

static void join(struct row *to, const struct row *from)
{
    to->program.exec_ns = to->program.exec_ns > from->program.exec_ns ? to->program.exec_ns : from->program.exec_ns;
    to->end_ns = to->end_ns > from->end_ns ? to->end_ns : from->end_ns;
    to->ending = to->ending > from->ending ? to->ending : from->ending;
    to->killed = to->killed.cgroup ? to->killed : from->killed;
}

/* The same program of that process with the parent that the row does not know; those without one come first. NULL:
 * there is none. */
static struct row *double_of(const struct reading *reading, uint32_t at)
{
    struct row *rows = reading->rows;
    const struct row *row = &rows[at];
    uint32_t end = reading->count - at > DOUBLES ? at + DOUBLES : reading->count;
    if (row->parent_pid)
        return NULL;
    for (uint32_t i = at + 1; i < end && rows[i].host == row->host && rows[i].pid == row->pid; i++)
        if (rows[i].parent_pid && rows[i].start_ns == row->start_ns && rows[i].program.comm == row->program.comm &&
            rows[i].program.exe == row->program.exe)
            return &rows[i];
    return NULL;
}

/* Sorted. What became of a process may have been written when its creator was forgotten, as after a restart: that is no
 * other program. */
static void drop_doubles(struct reading *reading)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < reading->count; i++) {
        struct row *other = double_of(reading, i);
        if (other)
            join(other, &reading->rows[i]);
        else
            reading->rows[left++] = reading->rows[i];
    }
    reading->count = left;
}

static void add_process(struct wp_genealogy *genealogy, struct row *rows, uint32_t count, uint64_t start_ns)
{
    struct wp_genealogy_process *process = &genealogy->processes[genealogy->process_count++];
    *process = (struct wp_genealogy_process){.host = rows[0].host,
        .pid = rows[0].pid,
        .start_ns = start_ns,
        .first_program = genealogy->program_count,
        .program_count = count};
    qsort(rows, count, sizeof(*rows), by_time);
    for (uint32_t i = 0; i < count; i++) {
        genealogy->programs[genealogy->program_count++] = rows[i].program;
        process->killed = rows[i].killed.cgroup ? rows[i].killed : process->killed;
        if (rows[i].end_ns < process->end_ns || !rows[i].end_ns)
            continue;
        process->end_ns = rows[i].end_ns;
        process->ending = rows[i].ending;
    }
}

static bool is_before(const struct wp_genealogy_process *process, uint32_t host, uint32_t pid)
{
    return process->host != host ? process->host < host : process->pid < pid;
}

/* Of the processes of that number the one with the start that the row tells, or else the last one, that began before
 * the child: whatever hostile rows say, no process is its own ancestor. */
static uint32_t parent_of(const struct wp_genealogy *genealogy, uint32_t child, const struct row *row)
{
    const struct wp_genealogy_process *all = genealogy->processes;
    uint32_t low = WP_LOWER_BOUND(
                 middle, 0, genealogy->process_count, is_before(&all[middle], row->host, row->parent_pid)),
             found = 0;
    for (uint32_t i = low; i < genealogy->process_count && all[i].host == row->host && all[i].pid == row->parent_pid;
         i++) {
        bool is_older = all[i].start_ns != all[child].start_ns ? all[i].start_ns < all[child].start_ns : i < child;
        if (!is_older || !wp_genealogy_same_start(all[i].start_ns, row->parent_start_ns))
            continue;
        found = i + 1;
        if (row->parent_start_ns)
            break;
    }
    return found;
}

static void add_parents(struct wp_genealogy *genealogy, const struct row *rows)
{
    for (uint32_t i = 0; i < genealogy->process_count; i++) {
        struct wp_genealogy_process *process = &genealogy->processes[i];
        for (uint32_t at = 0; at < process->program_count && !process->parent; at++) {
            const struct row *row = &rows[process->first_program + at];
            if (row->program.is_forked && row->parent_pid)
                process->parent = parent_of(genealogy, i, row);
        }
    }
}

static int build(struct reading *reading)
{
    struct wp_genealogy *genealogy = reading->genealogy;
    genealogy->programs = calloc(reading->count + (size_t)1, sizeof(*genealogy->programs));
    genealogy->processes = calloc(reading->count + (size_t)1, sizeof(*genealogy->processes));
    if (!genealogy->programs || !genealogy->processes)
        return -ENOMEM;
    if (reading->count)
        qsort(reading->rows, reading->count, sizeof(*reading->rows), by_process);
    drop_doubles(reading);
    for (uint32_t i = 0, count; i < reading->count; i += count) {
        uint64_t start_ns;
        count = rows_of_one(reading, i, &start_ns);
        add_process(genealogy, reading->rows + i, count, start_ns);
    }
    add_parents(genealogy, reading->rows);
    return 0;
}

int wp_genealogy_read(struct wp_genealogy **genealogy, const struct wp_snapshot *snapshot, struct wp_error *err)
{
    struct reading reading = {.genealogy = calloc(1, sizeof(*reading.genealogy))};
    int rc = reading.genealogy && (reading.genealogy->texts = wp_intern_create()) ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && i < snapshot->stores->count; i++)
        if (snapshot->txns[i])
            rc = read_store(&reading, snapshot->txns[i], err);
    if (!rc)
        rc = build(&reading);
    free(reading.rows);
    if (rc) {
        wp_genealogy_fini(&reading.genealogy);
        return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the genealogy of %s", snapshot->release) : rc;
    }
    *genealogy = reading.genealogy;
    return 0;
}

void wp_genealogy_fini(struct wp_genealogy **genealogy)
{
    if (!*genealogy)
        return;
    wp_intern_destroy((*genealogy)->texts);
    free((*genealogy)->programs);
    free((*genealogy)->processes);
    free(*genealogy);
    *genealogy = NULL;
}

uint32_t wp_genealogy_find(const struct wp_genealogy *genealogy, const char *host, uint32_t pid, uint64_t start_ns)
{
    uint32_t id = wp_intern_find(genealogy->texts, host, strlen(host)), found = UINT32_MAX;
    if (id == UINT32_MAX)
        return UINT32_MAX;
    uint32_t low =
        WP_LOWER_BOUND(middle, 0, genealogy->process_count, is_before(&genealogy->processes[middle], id, pid));
    for (uint32_t i = low;
         i < genealogy->process_count && genealogy->processes[i].host == id && genealogy->processes[i].pid == pid;
         i++) {
        if (genealogy->processes[i].start_ns == start_ns)
            return i;
        if (found == UINT32_MAX && wp_genealogy_same_start(genealogy->processes[i].start_ns, start_ns))
            found = i;
    }
    return found;
}
