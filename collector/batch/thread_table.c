/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/thread_table.h"

#include "collector/host/containers.h"
#include "common/array.h"
#include "common/intmap.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRONMENT 65536 /* bytes of it that are looked through */
#define RECENT 1024u      /* a power of two */
#define MATCHES (sizeof(((struct wp_thread_entry *)0)->cmdline_matches) / sizeof(uint32_t))

#define GRAVES 16384u /* that are remembered: more than die while events wait to be sent */

struct slot {
    struct wp_thread_entry entry;
    uint32_t id, comm_before;
    uint64_t left_ns; /* when it left the CPU last, 0 not seen */
    bool is_missing;  /* by the last sweep */
};

struct grave {
    struct wp_thread_entry entry;
    uint32_t id;
};

/* Of a thread number that was asked for lately: most events are about few threads. */
struct recent {
    uint32_t tid, pid, id, slot; /* tid 0: nothing */
};

struct patterns {
    regex_t *compiled; /* owned */
    uint32_t *texts;   /* string ids; owned */
    size_t count;
};

struct wp_thread_table {
    struct wp_thread_table_options options;
    struct wp_cgroups *cgroups;
    struct wp_containers *containers;
    struct patterns patterns; /* of command lines */
    bool is_command_there;    /* it has begun: its process is not the recorder's any more */
    struct wp_intmap by_tid;  /* -> slot */
    struct slot *slots;
    uint32_t slot_count, slot_room;
    uint32_t *free_slots;
    uint32_t free_count, free_room;
    struct grave *graves; /* owned; a ring, of identities that have ended */
    uint32_t grave_count;
    char environment[ENVIRONMENT];
    struct recent recent[RECENT];
};

static void patterns_fini(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        regfree(&patterns->compiled[i]);
    free(patterns->compiled);
    free(patterns->texts);
    *patterns = (struct patterns){0};
}

static int compile(struct patterns *patterns, const char *const *texts, size_t count, struct wp_dict_writer *dict,
    struct wp_error *err)
{
    patterns->compiled = calloc(count + 1, sizeof(*patterns->compiled));
    patterns->texts = calloc(count + 1, sizeof(*patterns->texts));
    if (!patterns->compiled || !patterns->texts)
        return wp_error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        int rc = regcomp(&patterns->compiled[i], texts[i], REG_EXTENDED | REG_NOSUB);
        if (rc) {
            char why[256];
            regerror(rc, &patterns->compiled[i], why, sizeof(why));
            return wp_error_set(err, -EINVAL, "'%s' is not an extended regular expression: %s", texts[i], why);
        }
        patterns->texts[i] = wp_dict_writer_string(dict, texts[i]);
        patterns->count++;
    }
    return 0;
}

int wp_thread_table_match(struct wp_thread_table *t, const char *const *texts, size_t count, struct wp_error *err)
{
    struct patterns patterns = {0};
    int rc = compile(&patterns, texts, count, t->options.dict, err);
    if (rc) {
        patterns_fini(&patterns);
        return rc;
    }
    patterns_fini(&t->patterns);
    t->patterns = patterns;
    return 0;
}

int wp_thread_table_create(
    struct wp_thread_table **table, const struct wp_thread_table_options *options, struct wp_error *err)
{
    struct wp_thread_table *t = calloc(1, sizeof(*t));
    if (!t)
        return wp_error_set(err, -ENOMEM, "out of memory");
    t->options = *options;
    t->cgroups = wp_cgroups_create();
    /* The files of the host's first process, should this one be in a container itself. */
    t->containers = wp_containers_create(access("/proc/1/root/proc", X_OK) ? "" : "/proc/1/root");
    int rc = t->cgroups && t->containers ? wp_thread_table_match(t, options->patterns, options->pattern_count, err)
                                         : wp_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        wp_thread_table_destroy(t);
        return rc;
    }
    *table = t;
    return 0;
}

void wp_thread_table_destroy(struct wp_thread_table *t)
{
    if (!t)
        return;
    patterns_fini(&t->patterns);
    wp_cgroups_destroy(t->cgroups);
    wp_containers_destroy(t->containers);
    wp_intmap_fini(&t->by_tid);
    free(t->slots);
    free(t->free_slots);
    free(t->graves);
    free(t);
}

static struct slot *find(struct wp_thread_table *t, uint32_t tid)
{
    uint32_t index;
    return wp_intmap_get(&t->by_tid, (struct wp_intkey){tid, 0}, &index) ? &t->slots[index] : NULL;
}

static struct slot *make_slot(struct wp_thread_table *t, uint32_t tid)
{
    struct slot *slot = find(t, tid);
    if (slot)
        return slot;
    uint32_t index;
    if (t->free_count) {
        index = t->free_slots[--t->free_count];
    } else {
        if (WP_ARRAY_FIT(t->slots, t->slot_room, t->slot_count + 1))
            return NULL;
        index = t->slot_count++;
    }
    t->slots[index].id = 0;
    return wp_intmap_put(&t->by_tid, (struct wp_intkey){tid, 0}, index) ? NULL : &t->slots[index];
}

/* Events of it may wait to be sent. */
static void bury(struct wp_thread_table *t, const struct slot *slot)
{
    if (!t->graves && !(t->graves = calloc(GRAVES, sizeof(*t->graves))))
        return;
    t->graves[t->grave_count++ % GRAVES] = (struct grave){slot->entry, slot->id};
}

/* The thread number `entry->tid` has this identity from now on. */
static uint32_t enter(struct wp_thread_table *t, const struct wp_thread_entry *entry)
{
    struct slot *slot = make_slot(t, entry->tid);
    if (!slot)
        return 0;
    if (slot->id)
        bury(t, slot);
    *slot = (struct slot){.entry = *entry, .id = wp_dict_writer_thread(t->options.dict, entry)};
    t->recent[entry->tid % RECENT] = (struct recent){entry->tid, entry->pid, slot->id, (uint32_t)(slot - t->slots)};
    return slot->id;
}

void wp_thread_table_dead(struct wp_thread_table *t, uint32_t tid)
{
    uint32_t index;
    if (!wp_intmap_get(&t->by_tid, (struct wp_intkey){tid, 0}, &index))
        return;
    if (t->recent[tid % RECENT].tid == tid)
        t->recent[tid % RECENT].tid = 0;
    if (WP_ARRAY_FIT(t->free_slots, t->free_room, t->free_count + 1))
        return; /* it stays until the number is used again */
    wp_intmap_remove(&t->by_tid, (struct wp_intkey){tid, 0});
    bury(t, &t->slots[index]);
    t->slots[index].id = 0;
    t->free_slots[t->free_count++] = index;
}

void wp_thread_table_sweep(struct wp_thread_table *t, bool (*is_there)(void *context, uint32_t tid), void *context)
{
    for (uint32_t i = 0; i < t->slot_count; i++) {
        struct slot *slot = &t->slots[i];
        if (!slot->id)
            continue;
        bool was_missing = slot->is_missing;
        slot->is_missing = !is_there(context, slot->entry.tid);
        if (was_missing && slot->is_missing)
            wp_thread_table_dead(t, slot->entry.tid);
    }
}

/* Who asks has the expression on its own command line and is not meant: wakepath, sudo before it, the collector. */
static bool asks(const char *cmdline)
{
    bool is_told = strstr(cmdline, "wakepath-aggregator") && strstr(cmdline, "--command-line"); /* another's words */
    return strstr(cmdline, "cmdline~") || strstr(cmdline, "--match-cmdline") || is_told;
}

static void judge_cmdline(struct wp_thread_table *t, struct wp_thread_entry *entry, const char *cmdline)
{
    size_t matches = 0;
    memset(entry->cmdline_matches, 0, sizeof(entry->cmdline_matches));
    if (asks(cmdline))
        return;
    for (size_t i = 0; i < t->patterns.count && matches < MATCHES; i++)
        if (!regexec(&t->patterns.compiled[i], cmdline, 0, NULL, 0))
            entry->cmdline_matches[matches++] = t->patterns.texts[i];
}

/* Up to room - 1 bytes of /proc/ID/name, its NULs as blanks; the size, or 0. */
static size_t read_proc(uint32_t id, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", id, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, room - 1);
    if (fd >= 0)
        close(fd);
    if (size < 0)
        size = 0;
    for (ssize_t i = 0; i < size; i++)
        if (!text[i] || text[i] == '\n')
            text[i] = ' ';
    while (size && text[size - 1] == ' ')
        size--;
    text[size] = 0;
    return (size_t)size;
}

/* WAKEPATH_RELEASE of the process' environment as a string's id, 0 when it says none that could be a release. Unchanged
 * when the environment cannot be read (the process may be gone already): what was inherited holds then. */
static void read_release(struct wp_thread_table *t, uint32_t pid, uint32_t *release)
{
    static const char name[] = "WAKEPATH_RELEASE=";
    char path[64], *text = t->environment;
    snprintf(path, sizeof(path), "/proc/%u/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, ENVIRONMENT - 1);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return;
    text[size] = 0;
    *release = 0;
    for (const char *at = text; at < text + size; at += strlen(at) + 1)
        if (!strncmp(at, name, sizeof(name) - 1))
            *release =
                wp_id_valid(at + sizeof(name) - 1) ? wp_dict_writer_string(t->options.dict, at + sizeof(name) - 1) : 0;
}

static uint32_t read_exe(struct wp_thread_table *t, uint32_t pid)
{
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%u/exe", pid);
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    if (size <= 0)
        return 0;
    target[size] = 0;
    char *deleted = strstr(target, " (deleted)");
    if (deleted && !deleted[10])
        *deleted = 0;
    return wp_dict_writer_string(t->options.dict, target);
}

/* Pid of who created that process; 0: it is gone. */
static uint32_t read_parent(uint32_t pid)
{
    char text[1024];
    const char *name_end =
        read_proc(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL; /* the name may hold anything */
    unsigned parent = 0;
    return name_end && sscanf(name_end, ") %*c %u", &parent) == 1 ? parent : 0;
}

/* The child that will run the command is the recorder's until its exec. */
static bool is_own(const struct wp_thread_table *t, uint32_t pid)
{
    uint32_t self = t->options.self_pid, recorder = t->options.recorder_pid;
    if (pid == t->options.command_pid && t->is_command_there)
        return false;
    if (!pid || pid == self || !recorder || pid == recorder || !t->options.reads_proc)
        return pid && (pid == self || pid == recorder);
    return read_parent(pid) == recorder;
}

/* What belongs to a process: from another thread of it that is known, else from /proc. */
static void fill_process(struct wp_thread_table *t, struct wp_thread_entry *entry)
{
    const struct slot *leader = entry->pid != entry->tid ? find(t, entry->pid) : NULL;
    if (leader ? leader->entry.flags & WP_THREAD_SELF : is_own(t, entry->pid))
        entry->flags |= WP_THREAD_SELF;
    if (leader) {
        entry->exe = leader->entry.exe;
        entry->release = leader->entry.release;
        entry->flags |= leader->entry.flags & WP_THREAD_COMMAND;
        memcpy(entry->cmdline_matches, leader->entry.cmdline_matches, sizeof(entry->cmdline_matches));
        if (!entry->cgroup) {
            entry->cgroup = leader->entry.cgroup;
            entry->workload = leader->entry.workload;
        }
        return;
    }
    if (entry->flags & WP_THREAD_KERNEL || !t->options.reads_proc || !entry->pid)
        return;
    errno = 0;
    entry->exe = read_exe(t, entry->pid);
    if (!entry->exe && (errno == ENOENT || errno == ESRCH)) /* it is gone, or a thread of the kernel */
        return;
    read_release(t, entry->pid, &entry->release);
    entry->started_by = read_parent(entry->pid);
    char cmdline[4096];
    if (t->patterns.count && read_proc(entry->pid, "cmdline", cmdline, sizeof(cmdline)))
        judge_cmdline(t, entry, cmdline);
}

/* Node.js 24 names the main thread of every program so: its file says more. */
static bool names_no_program(const char *comm)
{
    return comm && !strcmp(comm, "MainThread");
}

static void name_main_thread(struct wp_thread_table *t, struct wp_thread_entry *entry)
{
    const char *exe = entry->tid == entry->pid ? wp_dict_writer_text(t->options.dict, entry->exe) : "";
    const char *slash = strrchr(exe, '/');
    char comm[16];
    if (!slash || !names_no_program(wp_dict_writer_text(t->options.dict, entry->comm)))
        return;
    snprintf(comm, sizeof(comm), "%.15s", slash + 1);
    entry->comm = wp_dict_writer_string(t->options.dict, comm);
}

/* `is_new`: it may be another one than that of whom it comes from. */
static void set_cgroup(struct wp_thread_table *t, struct wp_thread_entry *entry, uint64_t id, bool is_new)
{
    if (!id)
        return;
    bool is_kernel = entry->flags & WP_THREAD_KERNEL;
    struct wp_cgroup group = wp_cgroups_of(t->cgroups, id, entry->pid, is_new && !is_kernel && t->options.reads_proc);
    if (!group.id && entry->cgroup)
        return; /* where version 1 counts, a child is where its parent was */
    entry->cgroup = wp_dict_writer_string(t->options.dict, group.path);
    entry->workload = wp_dict_writer_string(t->options.dict, wp_containers_name(t->containers, group.id, group.path));
}

/* The thread group of a thread that no fact has named. */
static uint32_t read_pid(uint32_t tid)
{
    char text[1024];
    if (!read_proc(tid, "status", text, sizeof(text)))
        return 0;
    const char *line = strstr(text, "Tgid:");
    return line ? (uint32_t)strtoul(line + 5, NULL, 10) : 0;
}

/* Of a thread that was not asked for lately. Apart, so that the usual answer needs no room on the stack. */
static __attribute__((noinline)) uint32_t look_up(
    struct wp_thread_table *t, uint32_t tid, uint32_t pid, const char *comm)
{
    const struct slot *slot = find(t, tid);
    if (slot && (!pid || !slot->entry.pid || slot->entry.pid == pid)) { /* else: its birth was dropped */
        t->recent[tid % RECENT] = (struct recent){tid, slot->entry.pid, slot->id, (uint32_t)(slot - t->slots)};
        return slot->id;
    }
    struct wp_thread_entry entry = {.tid = tid, .pid = pid};
    char read[64] = "";
    if ((!comm || !*comm) && t->options.reads_proc && read_proc(tid, "comm", read, sizeof(read)))
        comm = read;
    if (!pid && t->options.reads_proc)
        entry.pid = read_pid(tid);
    entry.comm = wp_dict_writer_string(t->options.dict, comm);
    fill_process(t, &entry);
    name_main_thread(t, &entry);
    return enter(t, &entry);
}

uint32_t wp_thread_table_id(struct wp_thread_table *t, uint32_t tid, uint32_t pid, const char *comm)
{
    if (!tid)
        return 0;
    const struct recent *recent = &t->recent[tid % RECENT];
    return recent->tid == tid && (!pid || !recent->pid || recent->pid == pid) ? recent->id : look_up(t, tid, pid, comm);
}

uint32_t wp_thread_table_existing(struct wp_thread_table *t, const struct wp_fact *fact)
{
    const struct slot *slot = find(t, fact->tid);
    if (slot && slot->entry.start_ns ? slot->entry.start_ns == fact->start_ns : slot && slot->entry.pid == fact->pid)
        return slot->id; /* told before, or met between two lists */
    struct wp_thread_entry entry = {.tid = fact->tid,
        .pid = fact->pid,
        .start_ns = fact->start_ns,
        .comm = wp_dict_writer_string(t->options.dict, fact->comm),
        .flags = fact->thread_flags};
    set_cgroup(t, &entry, fact->cgroup_id, fact->tid == fact->pid);
    fill_process(t, &entry);
    name_main_thread(t, &entry);
    return enter(t, &entry);
}

uint32_t wp_thread_table_born(struct wp_thread_table *t, const struct wp_fact *fact)
{
    struct wp_thread_entry entry = {.tid = fact->other_tid,
        .pid = fact->other_pid,
        .start_ns = fact->start_ns,
        .comm = wp_dict_writer_string(t->options.dict, fact->other_comm),
        .flags = fact->thread_flags};
    entry.parent = wp_thread_table_id(t, fact->tid, fact->pid, fact->comm);
    const struct slot *parent = find(t, fact->tid);
    bool is_thread = fact->event.flags & WP_FORK_THREAD;
    if (parent) {
        entry.comm = names_no_program(fact->other_comm) ? parent->entry.comm : entry.comm;
        entry.exe = parent->entry.exe;
        entry.release = parent->entry.release;
        memcpy(entry.cmdline_matches, parent->entry.cmdline_matches, sizeof(entry.cmdline_matches));
        entry.flags |= parent->entry.flags & (is_thread ? WP_THREAD_COMMAND | WP_THREAD_SELF : WP_THREAD_SELF);
        entry.cgroup = parent->entry.cgroup;
        entry.workload = parent->entry.workload;
    }
    set_cgroup(t, &entry, fact->cgroup_id, false);
    return enter(t, &entry);
}

uint32_t wp_thread_table_exec(struct wp_thread_table *t, const struct wp_fact *fact, const char *exe, uint32_t *before)
{
    uint32_t caller = fact->other_tid ? fact->other_tid : fact->tid;
    *before = wp_thread_table_id(t, caller, fact->pid, NULL);
    const struct slot *old = find(t, caller);
    struct wp_thread_entry entry = old ? old->entry : (struct wp_thread_entry){0};
    entry.tid = fact->tid;
    entry.pid = fact->pid;
    entry.parent = *before;
    entry.comm = wp_dict_writer_string(t->options.dict, fact->comm);
    entry.exe = wp_dict_writer_string(t->options.dict, exe && *exe ? exe : fact->exe);
    if (fact->start_ns)
        entry.start_ns = fact->start_ns;
    set_cgroup(t, &entry, fact->cgroup_id, true);
    entry.flags = fact->thread_flags | (entry.flags & WP_THREAD_SELF);
    if (t->options.command_pid && fact->pid == t->options.command_pid) {
        entry.flags = (entry.flags | WP_THREAD_COMMAND) & ~WP_THREAD_SELF;
        t->is_command_there = true;
    }
    judge_cmdline(t, &entry, fact->cmdline ? fact->cmdline : "");
    if (t->options.reads_proc)
        read_release(t, fact->pid, &entry.release);
    if (caller != fact->tid)
        wp_thread_table_dead(t, caller);
    return enter(t, &entry);
}

uint32_t wp_thread_table_rename(struct wp_thread_table *t, uint32_t tid, const char *comm)
{
    struct slot *slot = find(t, tid);
    if (slot && slot->entry.tid == slot->entry.pid && names_no_program(comm))
        return slot->entry.comm;
    uint32_t text = wp_dict_writer_string(t->options.dict, comm);
    if (slot) {
        slot->comm_before = slot->entry.comm;
        slot->entry.comm = text;
    }
    return text;
}

uint32_t wp_thread_table_comm_before(const struct wp_thread_table *t, uint32_t tid)
{
    uint32_t index;
    return wp_intmap_get(&t->by_tid, (struct wp_intkey){tid, 0}, &index) ? t->slots[index].comm_before : 0;
}

void wp_thread_table_left(struct wp_thread_table *t, uint32_t tid, uint64_t time_ns)
{
    const struct recent *recent = &t->recent[tid % RECENT];
    struct slot *slot = recent->tid == tid ? &t->slots[recent->slot] : find(t, tid);
    if (slot)
        slot->left_ns = time_ns;
}

uint64_t wp_thread_table_left_ns(const struct wp_thread_table *t, uint32_t tid)
{
    uint32_t index;
    return wp_intmap_get(&t->by_tid, (struct wp_intkey){tid, 0}, &index) ? t->slots[index].left_ns : 0;
}

/* --- another session --- */

const struct wp_thread_entry *wp_thread_table_dead_entry(const struct wp_thread_table *t, uint32_t id)
{
    uint32_t count = t->grave_count < GRAVES ? t->grave_count : GRAVES;
    for (uint32_t i = 0; i < count; i++)
        if (t->graves[i].id == id)
            return &t->graves[i].entry;
    return NULL;
}

static int by_id(const void *a, const void *b, void *context)
{
    const struct slot *slots = context;
    uint32_t x = slots[*(const uint32_t *)a].id, y = slots[*(const uint32_t *)b].id;
    return x < y ? -1 : x > y;
}

/* Creators were made before those they made, and come before them again. */
int wp_thread_table_renew(struct wp_thread_table *t, struct wp_dict_writer *dict, struct wp_heir *heir)
{
    t->options.dict = dict;
    uint32_t *order = malloc((t->slot_count + 1) * sizeof(*order)), count = 0;
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->slot_count; i++)
        if (t->slots[i].id)
            order[count++] = i;
    qsort_r(order, count, sizeof(*order), by_id, t->slots);
    for (uint32_t i = 0; i < count; i++) {
        struct slot *slot = &t->slots[order[i]];
        uint32_t before = slot->id;
        slot->entry = wp_heir_thread_entry(heir, &slot->entry, before);
        slot->comm_before = wp_heir_string(heir, slot->comm_before);
        wp_heir_make_room(heir);
        slot->id = wp_dict_writer_thread(dict, &slot->entry);
        wp_heir_put_thread(heir, before, slot->id);
    }
    for (size_t i = 0; i < t->patterns.count; i++)
        t->patterns.texts[i] = wp_heir_string(heir, t->patterns.texts[i]);
    free(order);
    memset(t->recent, 0, sizeof(t->recent));
    return 0;
}

void wp_thread_table_forget_dead(struct wp_thread_table *t)
{
    t->grave_count = 0;
}
