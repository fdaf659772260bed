/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/naming_thread.h"

#include "collector/host/sandbox.h"
#include "collector/symbols/named_object.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/clock.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define JOBS (1u << 20)              /* that may wait */
#define HAND_OVER 64u                /* answers, so that the caller gets the first before the last is there */
#define KEPT_BYTES ((size_t)1 << 20) /* of answers: room that stays behind a burst */
#define LEVELS 4u                    /* of jobs, by the size of their file: up to LEAST_BYTES, 8 times that ... */
#define LEAST_BYTES ((uint64_t)256 << 10)
#define NICENESS 10 /* what is recorded goes first, and what is walked by (unwinder) */

enum job_kind { JOB_OBJECT, JOB_PLACE, JOB_JIT, JOB_DATA, JOB_DUMP, JOB_DROP, JOB_CLOSE };

struct opening {
    struct wp_elf_file file;
    int root_fd;
    char path[256];
};

struct job {
    uint8_t kind;
    uint32_t ticket, object;
    uint64_t offset;
    union {
        struct opening *opening; /* owned */
        struct wp_jit_map *map;  /* owned by DROP, else borrowed */
    };
    struct wp_jit_map *before; /* of JIT: borrowed; NULL none */
};

struct jobs {
    struct job *items; /* owned */
    uint32_t count, room;
};

struct wp_naming_thread {
    const struct wp_logger *logger;
    struct wp_named_by by; /* of the thread alone */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows, down to the blank line */
    pthread_cond_t more, idle;
    struct jobs waiting[LEVELS];
    uint32_t waiting_count;   /* of all levels */
    struct wp_buffer answers; /* each: ticket, levels, then line, function and file of each level */
    struct wp_naming_counts counts;
    bool is_over, is_busy;
    uint64_t *sizes; /* owned; by object, of those that are not closed */
    uint32_t size_room;

    struct wp_buffer taken; /* of the caller alone: answers being given out */
    size_t taken_at;
    uint32_t next_object;
    uint8_t *levels; /* owned; by object */
    uint32_t level_room;
    struct closed {
        uint32_t *numbers, count, room; /* owned */
    } closed[LEVELS]; /* to give again, to one of the same level: its jobs come behind those of before */

    struct wp_named_object *objects; /* of the thread alone, as what follows; by number */
    uint32_t object_count;
    struct wp_buffer made;
    uint64_t made_count, unnamed_count, debug_bytes, read_count;
    bool has_news; /* something is kept that was not before */
};

static void log_object(
    const struct wp_naming_thread *t, const char *path, const struct wp_named_object *object, uint64_t ns)
{
    if (object->names && t->logger)
        wp_log(t->logger, WP_LOG_DEBUG, "functions are known file=%s functions=%u debug_bytes=%llu ms=%llu", path,
            wp_object_names_functions(object->names), (unsigned long long)object->debug_bytes,
            (unsigned long long)(ns / WP_NS_PER_MS));
}

/* For who decides what is held: what it takes more than before. */
static void add_size(struct wp_naming_thread *t, uint32_t number, uint64_t bytes, uint64_t debug_bytes)
{
    const struct wp_named_object *object = &t->objects[number];
    t->debug_bytes += object->debug_bytes - debug_bytes;
    if (object->bytes == bytes)
        return;
    pthread_mutex_lock(&t->lock);
    if (number < t->size_room)
        t->sizes[number] += object->bytes - bytes;
    t->counts.held_bytes += object->bytes - bytes;
    pthread_mutex_unlock(&t->lock);
}

static void open_object(struct wp_naming_thread *t, struct opening *o, uint32_t number)
{
    uint64_t start_ns = wp_clock_ns();
    if (!WP_ARRAY_FIT_ZERO(t->objects, t->object_count, number + 1)) {
        wp_named_object_open(&t->objects[number], &o->file, o->root_fd, o->path, &t->by);
        add_size(t, number, 0, 0);
        log_object(t, o->path, &t->objects[number], wp_clock_ns() - start_ns);
        t->read_count++;
    }
    wp_elf_file_close(&o->file);
    if (o->root_fd >= 0)
        close(o->root_fd);
    free(o);
}

static void forget_size(struct wp_naming_thread *t, uint32_t object)
{
    pthread_mutex_lock(&t->lock);
    if (object < t->size_room) {
        t->counts.held_bytes -= t->sizes[object];
        t->sizes[object] = 0;
    }
    pthread_mutex_unlock(&t->lock);
}

static void close_named(struct wp_naming_thread *t, struct wp_named_object *object)
{
    t->has_news |= object->has_news;
    t->debug_bytes -= object->debug_bytes;
    wp_named_object_close(object);
}

static void close_object(struct wp_naming_thread *t, uint32_t number)
{
    if (number >= t->object_count || !t->objects[number].names)
        return;
    close_named(t, &t->objects[number]);
    forget_size(t, number); /* it may have been closed before it was read */
}

static void find_code(struct wp_naming_thread *t, const struct job *job, struct wp_place_name *place)
{
    if (job->object >= t->object_count)
        return;
    struct wp_named_object *object = &t->objects[job->object];
    uint64_t bytes = object->bytes, debug_bytes = object->debug_bytes;
    wp_named_object_code(object, job->offset, place);
    add_size(t, job->object, bytes, debug_bytes);
}

static void answer(struct wp_naming_thread *t, uint32_t ticket, const struct wp_place_name *place)
{
    uint32_t head[2] = {ticket, place->count};
    wp_buffer_append(&t->made, head, sizeof(head));
    for (unsigned i = 0; i < place->count; i++) {
        const struct wp_debug_level *level = &place->levels[i];
        wp_buffer_append(&t->made, &level->line, sizeof(level->line));
        wp_buffer_append(&t->made, level->function, strlen(level->function) + 1);
        wp_buffer_append(&t->made, level->file, strlen(level->file) + 1);
    }
    t->made_count++;
    t->unnamed_count += !place->count;
}

static void do_job(struct wp_naming_thread *t, struct job *job)
{
    struct wp_place_name place = {.count = 0};
    switch ((enum job_kind)job->kind) {
    case JOB_OBJECT:
        open_object(t, job->opening, job->object);
        return;
    case JOB_CLOSE:
        close_object(t, job->object);
        return;
    case JOB_DROP:
        wp_jit_map_destroy(job->map);
        return;
    case JOB_DUMP:
        wp_jit_map_dump(job->map, (int)job->offset);
        return;
    case JOB_PLACE:
        find_code(t, job, &place);
        break;
    case JOB_DATA:
        if (job->object < t->object_count)
            wp_named_object_data(&t->objects[job->object], job->offset, &place);
        break;
    case JOB_JIT:
        place.count = wp_jit_map_find(job->map, job->offset, wp_clock_ns(), &place.levels[0]) ||
            (job->before && wp_jit_map_find(job->before, job->offset, wp_clock_ns(), &place.levels[0]));
        break;
    }
    answer(t, job->ticket, &place);
}

/* Under the lock. Answers that there was no memory for are lost, and counted as given. */
static void hand_over(struct wp_naming_thread *t)
{
    if (!t->made.failed)
        wp_buffer_append(&t->answers, t->made.data, t->made.size);
    t->made.failed = false;
    wp_buffer_clear(&t->made);
    t->counts.answered += t->made_count;
    t->counts.unnamed += t->unnamed_count;
    t->counts.objects = t->read_count;
    t->counts.debug_bytes = t->debug_bytes;
    t->made_count = t->unnamed_count = 0;
}

/* Not done: what it holds is let go. */
static void drop_job(struct job *job)
{
    if (job->kind == JOB_DUMP) {
        close((int)job->offset);
    } else if (job->kind == JOB_DROP) {
        wp_jit_map_destroy(job->map);
    } else if (job->kind == JOB_OBJECT) {
        wp_elf_file_close(&job->opening->file);
        if (job->opening->root_fd >= 0)
            close(job->opening->root_fd);
        free(job->opening);
    }
}

/* All that wait of the first level below that which has any; false: none do. Locked. */
static bool take_jobs(struct wp_naming_thread *t, uint32_t below, uint32_t *level, struct jobs *jobs)
{
    for (*level = 0; *level < below; ++*level) {
        struct jobs *w = &t->waiting[*level];
        if (!w->count)
            continue;
        *jobs = *w;
        *w = (struct jobs){0};
        t->waiting_count -= jobs->count;
        return true;
    }
    return false;
}

static void do_jobs(struct wp_naming_thread *t, uint32_t level, const struct jobs *jobs);

/* A small program is not left without names while large libraries are read. */
static void do_lighter(struct wp_naming_thread *t, uint32_t below)
{
    struct jobs jobs;
    uint32_t level;
    pthread_mutex_lock(&t->lock);
    while (take_jobs(t, below, &level, &jobs)) {
        pthread_mutex_unlock(&t->lock);
        do_jobs(t, level, &jobs);
        free(jobs.items);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

static void do_jobs(struct wp_naming_thread *t, uint32_t level, const struct jobs *jobs)
{
    bool has_closed = false;
    for (uint32_t i = 0; i < jobs->count; i++) {
        if (jobs->items[i].kind == JOB_OBJECT && level)
            do_lighter(t, level);
        if (__atomic_load_n(&t->is_over, __ATOMIC_RELAXED)) { /* the end does not wait for thousands of objects */
            drop_job(&jobs->items[i]);
            continue;
        }
        do_job(t, &jobs->items[i]);
        if (has_closed && jobs->items[i].kind != JOB_CLOSE)
            malloc_trim(0); /* an object's debug info is many small pieces, between which others live */
        has_closed = jobs->items[i].kind == JOB_CLOSE;
        if (t->made_count < HAND_OVER)
            continue;
        pthread_mutex_lock(&t->lock);
        hand_over(t);
        pthread_mutex_unlock(&t->lock);
    }
    if (has_closed)
        malloc_trim(0);
}

static void *run(void *context)
{
    struct wp_naming_thread *t = context;
    struct jobs jobs;
    uint32_t level;
    wp_sandbox_thread();
    setpriority(PRIO_PROCESS, 0, NICENESS); /* on Linux: of this thread */
    pthread_mutex_lock(&t->lock);
    while (!t->is_over) {
        if (!take_jobs(t, LEVELS, &level, &jobs)) {
            t->is_busy = false;
            pthread_cond_broadcast(&t->idle);
            pthread_cond_wait(&t->more, &t->lock);
            continue;
        }
        pthread_mutex_unlock(&t->lock);
        do_jobs(t, level, &jobs);
        free(jobs.items);
        pthread_mutex_lock(&t->lock);
        hand_over(t);
    }
    t->is_busy = false;
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* By how large its file is; 0 of what is no object. */
static uint32_t level_of(const struct wp_naming_thread *t, uint32_t object)
{
    return object < t->level_room ? t->levels[object] : 0;
}

static uint32_t level_of_file(const struct wp_elf_file *file)
{
    struct stat status;
    uint64_t bytes = file->fd >= 0 && !fstat(file->fd, &status) ? (uint64_t)status.st_size : file->image.size;
    uint32_t level = 0;
    for (uint64_t most = LEAST_BYTES; level < LEVELS - 1 && bytes > most; most *= 8)
        level++;
    return level;
}

static bool add_job_at(struct wp_naming_thread *t, uint32_t level, const struct job *job)
{
    pthread_mutex_lock(&t->lock);
    struct jobs *w = &t->waiting[level];
    bool has_room = t->waiting_count < JOBS || job->kind == JOB_DROP || job->kind == JOB_CLOSE;
    has_room = has_room && !WP_ARRAY_FIT(w->items, w->room, w->count + 1);
    if (has_room) {
        w->items[w->count++] = *job;
        t->waiting_count++;
        t->counts.asked += job->kind == JOB_PLACE || job->kind == JOB_JIT || job->kind == JOB_DATA;
        if (!t->is_busy)
            pthread_cond_signal(&t->more);
        t->is_busy = true;
    }
    pthread_mutex_unlock(&t->lock);
    return has_room;
}

/* Of what a process made itself. */
static bool add_job(struct wp_naming_thread *t, const struct job *job)
{
    return add_job_at(t, 0, job);
}

/* Room for the number's size, and for the number once it is closed. */
static bool make_place(struct wp_naming_thread *t, uint32_t object, uint32_t level)
{
    if (WP_ARRAY_FIT(t->closed[level].numbers, t->closed[level].room, object + 1) ||
        WP_ARRAY_FIT_ZERO(t->levels, t->level_room, object + 1))
        return false;
    t->levels[object] = (uint8_t)level;
    pthread_mutex_lock(&t->lock);
    bool has_room = !WP_ARRAY_FIT_ZERO(t->sizes, t->size_room, object + 1);
    pthread_mutex_unlock(&t->lock);
    return has_room;
}

uint32_t wp_naming_thread_object(struct wp_naming_thread *t, struct wp_elf_file *file, int root_fd, const char *path)
{
    uint32_t level = level_of_file(file);
    struct closed *closed = &t->closed[level];
    uint32_t object = closed->count ? closed->numbers[closed->count - 1] : t->next_object;
    struct opening *o = make_place(t, object, level) ? malloc(sizeof(*o)) : NULL;
    if (o) {
        *o = (struct opening){.file = *file, .root_fd = root_fd};
        strncpy(o->path, path, sizeof(o->path) - 1);
        if (add_job_at(t, level, &(struct job){.kind = JOB_OBJECT, .opening = o, .object = object})) {
            *file = (struct wp_elf_file){.fd = -1};
            if (closed->count)
                closed->count--;
            else
                t->next_object++;
            return object;
        }
        free(o);
    }
    wp_elf_file_close(file);
    if (root_fd >= 0)
        close(root_fd);
    return UINT32_MAX;
}

void wp_naming_thread_close(struct wp_naming_thread *t, uint32_t object)
{
    uint32_t level = level_of(t, object);
    if (object >= t->next_object || !add_job_at(t, level, &(struct job){.kind = JOB_CLOSE, .object = object}))
        return; /* without memory for it the object stays */
    t->closed[level].numbers[t->closed[level].count++] = object;
    forget_size(t, object);
}

uint64_t wp_naming_thread_bytes(struct wp_naming_thread *t, uint32_t object)
{
    pthread_mutex_lock(&t->lock);
    uint64_t bytes = object < t->size_room ? t->sizes[object] : 0;
    pthread_mutex_unlock(&t->lock);
    return bytes;
}

bool wp_naming_thread_place(struct wp_naming_thread *t, uint32_t object, uint64_t offset, uint32_t ticket)
{
    return add_job_at(
        t, level_of(t, object), &(struct job){.kind = JOB_PLACE, .object = object, .offset = offset, .ticket = ticket});
}

bool wp_naming_thread_data(struct wp_naming_thread *t, uint32_t object, uint64_t offset, uint32_t ticket)
{
    return add_job_at(
        t, level_of(t, object), &(struct job){.kind = JOB_DATA, .object = object, .offset = offset, .ticket = ticket});
}

bool wp_naming_thread_jit(
    struct wp_naming_thread *t, struct wp_jit_map *map, struct wp_jit_map *before, uint64_t address, uint32_t ticket)
{
    return add_job(
        t, &(struct job){.kind = JOB_JIT, .map = map, .before = before, .offset = address, .ticket = ticket});
}

void wp_naming_thread_dump(struct wp_naming_thread *t, struct wp_jit_map *map, int fd)
{
    if (!add_job(t, &(struct job){.kind = JOB_DUMP, .map = map, .offset = (uint64_t)fd}))
        close(fd);
}

void wp_naming_thread_drop(struct wp_naming_thread *t, struct wp_jit_map *map)
{
    add_job(t, &(struct job){.kind = JOB_DROP, .map = map}); /* without memory for it the map is lost, but never used */
}

bool wp_naming_thread_next(struct wp_naming_thread *t, uint32_t *ticket, struct wp_place_name *place)
{
    if (t->taken_at == t->taken.size) {
        t->taken_at = 0;
        if (t->taken.capacity > KEPT_BYTES)
            wp_buffer_fini(&t->taken);
        wp_buffer_clear(&t->taken);
        pthread_mutex_lock(&t->lock);
        struct wp_buffer swap = t->taken;
        t->taken = t->answers;
        t->answers = swap;
        pthread_mutex_unlock(&t->lock);
        if (!t->taken.size)
            return false;
    }
    const uint8_t *at = t->taken.data + t->taken_at;
    memcpy(ticket, at, sizeof(*ticket));
    memcpy(&place->count, at + sizeof(*ticket), sizeof(place->count));
    at += sizeof(*ticket) + sizeof(place->count);
    for (unsigned i = 0; i < place->count; i++) {
        struct wp_debug_level *level = &place->levels[i];
        memcpy(&level->line, at, sizeof(level->line));
        level->function = (const char *)at + sizeof(level->line);
        level->file = level->function + strlen(level->function) + 1;
        at = (const uint8_t *)level->file + strlen(level->file) + 1;
    }
    t->taken_at = (size_t)(at - t->taken.data);
    return true;
}

bool wp_naming_thread_settle(struct wp_naming_thread *t, unsigned timeout_ms)
{
    const struct timespec end = wp_clock_deadline(CLOCK_MONOTONIC, timeout_ms);
    pthread_mutex_lock(&t->lock);
    while (t->is_busy && !pthread_cond_timedwait(&t->idle, &t->lock, &end))
        continue;
    bool is_idle = !t->is_busy;
    pthread_mutex_unlock(&t->lock);
    return is_idle;
}

struct wp_naming_counts wp_naming_thread_counts(struct wp_naming_thread *t)
{
    pthread_mutex_lock(&t->lock);
    struct wp_naming_counts counts = t->counts;
    pthread_mutex_unlock(&t->lock);
    return counts;
}

static void release(struct wp_naming_thread *t)
{
    for (uint32_t level = 0; level < LEVELS; level++) {
        for (uint32_t i = 0; i < t->waiting[level].count; i++)
            drop_job(&t->waiting[level].items[i]);
        free(t->waiting[level].items);
        free(t->closed[level].numbers);
    }
    for (uint32_t i = 0; i < t->object_count; i++)
        close_named(t, &t->objects[i]);
    if (t->has_news)
        wp_kept_names_bound(t->by.kept_folder);
    free(t->objects);
    free(t->sizes);
    free(t->levels);
    wp_buffer_fini(&t->answers);
    wp_buffer_fini(&t->taken);
    wp_buffer_fini(&t->made);
    pthread_cond_destroy(&t->more);
    pthread_cond_destroy(&t->idle);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

struct wp_naming_thread *wp_naming_thread_create(
    struct wp_debug_fetch *fetch, const char *kept_folder, const struct wp_logger *logger)
{
    struct wp_naming_thread *t = calloc(1, sizeof(*t));
    pthread_condattr_t clock;
    sigset_t all, before;
    if (!t)
        return NULL;
    t->by = (struct wp_named_by){fetch, kept_folder};
    t->logger = logger;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->more, NULL);
    pthread_cond_init(&t->idle, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) {
        release(t);
        return NULL;
    }
    return t;
}

void wp_naming_thread_destroy(struct wp_naming_thread *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    __atomic_store_n(&t->is_over, true, __ATOMIC_RELAXED);
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    release(t);
}

uint64_t wp_naming_thread_cpu_ns(const struct wp_naming_thread *t)
{
    clockid_t clock;
    return pthread_getcpuclockid(t->thread, &clock) ? 0 : wp_clock_of_ns(clock);
}
