/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/unwinder.h"

#include "collector/host/sandbox.h"
#include "collector/unwind/linked_files.h"
#include "collector/unwind/met_file.h"
#include "collector/unwind/running_files.h"
#include "collector/unwind/unwind_cache.h"
#include "collector/unwind/unwind_objects.h"
#include "collector/unwind/unwind_reader.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/intmap.h"
#include "common/path.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define PAGES_AT_ONCE 32u
#define QUEUE 4096u
#define FILES 16384u /* as many as the kernel side has room for */
#define WORKERS 3u
#define SMALL ((uint64_t)2 << 20) /* bytes of a file */
#define ROOM_PAUSE_S 60u
#define UNFIT_PAUSE_NS ((uint64_t)60 * WP_NS_PER_S)
#define VDSO_BYTES ((size_t)8 << 10)

struct job {
    struct wp_unwind_file file;
    int fd;
    uint64_t size;
    bool is_kept;            /* taken from the cache, before anybody was met in it */
    bool is_wanted;          /* somebody settles for it */
    bool is_met;             /* somebody's stack ends in it: it goes first */
    char path[256];          /* for the log */
    char name[WP_KEPT_NAME]; /* of what the cache keeps of it; "": not known yet */
};

struct worker {
    struct wp_unwinder *unwinder;
    pthread_t thread;
    struct job *job; /* that it works on; NULL: none. Under the unwinder's lock */
    bool is_for_small, is_started;
    bool has_freed; /* rows, since memory was last given back */
};

struct wp_unwinder {
    struct wp_unwinder_options options;
    struct wp_unwind_cache cache;
    struct wp_unwind_objects *objects; /* owned */
    struct worker workers[WORKERS];
    pthread_mutex_t lock; /* of what follows, down to the blank line */
    pthread_cond_t more, idle;
    struct job queue[QUEUE]; /* in no order */
    uint32_t count;          /* jobs that wait */
    uint32_t wanted;         /* that wait or are worked on, and somebody settles for */
    struct wp_intmap asked;  /* (inode, device) -> 1 */
    uint64_t unfit,
        unfit_told_ns; /* objects whose rows did not all fit since that was last logged, and when it was; 0: never */
    bool is_over, winds_down;
};

/* Pages on their way into the kernel: a call for each costs as much as the page. */
struct sink {
    struct wp_unwinder *unwinder;
    uint32_t object, put, count; /* count: that wait here */
    struct wp_unwind_place places[PAGES_AT_ONCE];
    struct wp_unwind_page pages[PAGES_AT_ONCE];
};

enum asker { ASKER_CACHE, ASKER_AHEAD, ASKER_LEARNER, ASKER_STACK };

/* A job that waits or is worked on is as urgent as its most urgent asker. Locked. */
static void hurry(struct wp_unwinder *u, struct job *job, enum asker asker)
{
    job->is_met |= asker == ASKER_STACK;
    if (asker == ASKER_LEARNER && !job->is_wanted) {
        job->is_wanted = true;
        u->wanted++;
    }
}

static bool is_of(const struct job *job, uint64_t inode, uint32_t device)
{
    return job->file.inode == inode && job->file.device == device;
}

/* Locked. */
static bool hurry_asked(struct wp_unwinder *u, uint64_t inode, uint32_t device, enum asker asker)
{
    uint32_t one;
    bool is = wp_intmap_get(&u->asked, (struct wp_intkey){inode, device}, &one);
    for (uint32_t i = 0; is && i < u->count; i++)
        if (is_of(&u->queue[i], inode, device))
            hurry(u, &u->queue[i], asker);
    for (uint32_t i = 0; is && i < WORKERS; i++)
        if (u->workers[i].job && is_of(u->workers[i].job, inode, device))
            hurry(u, u->workers[i].job, asker);
    return is;
}

static bool is_asked(struct wp_unwinder *u, uint64_t inode, uint32_t device, enum asker asker)
{
    pthread_mutex_lock(&u->lock);
    bool is = hurry_asked(u, inode, device, asker);
    pthread_mutex_unlock(&u->lock);
    return is;
}

static void forget(void *context, const struct wp_unwind_file *file)
{
    struct wp_unwinder *u = context;
    if (u->options.forgotten)
        u->options.forgotten(u->options.context, file);
    pthread_mutex_lock(&u->lock);
    wp_intmap_remove(&u->asked, (struct wp_intkey){file->inode, file->device});
    pthread_mutex_unlock(&u->lock);
}

static int flush_pages(struct sink *sink)
{
    LIBBPF_OPTS(bpf_map_batch_opts, options, .elem_flags = BPF_ANY);
    uint32_t count = sink->count;
    sink->count = 0;
    if (!wp_unwind_objects_take(sink->unwinder->objects, sink->put, count))
        return -E2BIG;
    sink->put += count;
    return count ? bpf_map_update_batch(sink->unwinder->options.pages_fd, sink->places, sink->pages, &count, &options)
                 : 0;
}

static int put_page(void *context, uint32_t number, const struct wp_unwind_page *page)
{
    struct sink *sink = context;
    if (__atomic_load_n(&sink->unwinder->is_over, __ATOMIC_RELAXED) ||
        __atomic_load_n(&sink->unwinder->winds_down, __ATOMIC_RELAXED))
        return -ECANCELED; /* the end does not wait for thousands of pages, which nobody reads */
    sink->places[sink->count] = (struct wp_unwind_place){sink->object, number};
    sink->pages[sink->count++] = *page;
    return sink->count == PAGES_AT_ONCE ? flush_pages(sink) : 0;
}

/* A host that compiles meets one such object after the other. `path` NULL: at the end. */
static void tell_unfit(struct wp_unwinder *u, const char *path)
{
    uint64_t now_ns = wp_clock_ns();
    pthread_mutex_lock(&u->lock);
    u->unfit += path != NULL;
    uint64_t count = !path || !u->unfit_told_ns || now_ns - u->unfit_told_ns >= UNFIT_PAUSE_NS ? u->unfit : 0;
    if (count) {
        u->unfit = 0;
        u->unfit_told_ns = now_ns;
    }
    pthread_mutex_unlock(&u->lock);
    if (count)
        wp_log(u->options.logger, WP_LOG_WARN,
            "no room for all unwind rows, some user stacks end early objects=%llu last=%s", (unsigned long long)count,
            path ? path : "-");
}

static int put_rows(struct sink *sink, const struct wp_unwind_rows *rows, struct wp_unwind_stats *stats)
{
    sink->count = sink->put = 0;
    int rc = wp_unwind_rows_pages(rows, put_page, sink, stats);
    return rc ? rc : flush_pages(sink);
}

/* The number of pages that were put. */
static uint32_t put_pages(
    struct wp_unwinder *u, uint32_t object, const struct wp_unwind_rows *rows, const char *path, const char *from)
{
    struct sink sink;
    struct wp_unwind_stats stats;
    uint64_t start = wp_clock_ns();
    sink.unwinder = u;
    sink.object = object;
    int rc = put_rows(&sink, rows, &stats);
    if (rc == -E2BIG) {
        if (wp_unwind_objects_make_room(u->objects))
            wp_log(u->options.logger, WP_LOG_INFO, "removed the oldest unwind rows to make room file=%s", path);
        wp_unwind_objects_give(u->objects, sink.put);
        rc = put_rows(&sink, rows, &stats); /* the other worker may just have made room */
    }
    if (rc && rc != -ECANCELED)
        tell_unfit(u, path);
    wp_log(u->options.logger, WP_LOG_DEBUG,
        "unwind rows %s file=%s from=%s rows=%llu pages=%llu crowded=%llu odd=%llu us=%llu",
        rc ? "do not all fit" : "are known", path, from, (unsigned long long)stats.rows,
        (unsigned long long)stats.pages, (unsigned long long)stats.crowded_pages, (unsigned long long)stats.odd_rules,
        (unsigned long long)((wp_clock_ns() - start) / 1000));
    return sink.put;
}

static bool show(struct wp_unwinder *u, const struct job *job)
{
    return u->options.opened && u->options.opened(u->options.context, &job->file, job->fd, job->path);
}

/* What the cache keeps may say already that it is nothing to anybody. */
static void show_object(struct wp_unwinder *u, const struct job *job, struct wp_unwind_object *object, bool is_cached)
{
    if (object->is_plain)
        return;
    object->is_plain = show(u, job);
    if (object->is_plain && is_cached)
        wp_unwind_cache_tell_plain(&u->cache, object);
}

/* 0: without rows, by frame pointer. What is kept on disk for the next time is written when the kernel has it. */
static uint32_t read_object(struct wp_unwinder *u, struct job *job, const char *name)
{
    struct wp_unwind_object object = {.fd = job->fd, .name = name, .met = job->is_kept ? NULL : &job->file};
    struct wp_unwind_rows *rows = NULL;
    struct wp_error err = {0};
    uint32_t number = 0;
    bool is_cached;
    uint64_t start = wp_clock_ns();
    int rc = wp_unwind_cache_rows(&u->cache, &object, &rows, &is_cached, &err);
    show_object(u, job, &object, is_cached);
    if (rc) {
        wp_log(u->options.logger, WP_LOG_DEBUG, "no unwind rows file=%s reason=\"%s\"", job->path, err.text);
    } else {
        wp_log(u->options.logger, WP_LOG_DEBUG, "unwind rows are read file=%s us=%llu", job->path,
            (unsigned long long)((wp_clock_ns() - start) / 1000));
        number = wp_unwind_objects_number(u->objects);
        uint32_t pages = put_pages(u, number, rows, job->path, is_cached ? "cache" : "file");
        if (name)
            wp_unwind_objects_add(u->objects, wp_unwind_cache_id(name), number, pages);
    }
    wp_unwind_objects_file(u->objects, &job->file, number);
    if (rows && !is_cached && !job->is_kept)
        wp_unwind_cache_keep(&u->cache, &object, rows);
    wp_unwind_rows_destroy(rows);
    return number;
}

static void do_job(struct wp_unwinder *u, struct job *job)
{
    uint32_t number;
    bool has_name = *job->name || wp_unwind_cache_name(job->fd, job->name);
    if (!has_name || !wp_unwind_objects_find(u->objects, wp_unwind_cache_id(job->name), &number)) {
        read_object(u, job, has_name ? job->name : NULL);
        return;
    }
    show(u, job);
    wp_log(u->options.logger, WP_LOG_DEBUG, "unwind rows are known under another name file=%s", job->path);
    wp_unwind_objects_file(u->objects, &job->file, number);
}

static void tell_vdso(struct wp_unwinder *u)
{
    struct wp_unwind_rows *rows;
    unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
    if (!vdso || wp_unwind_rows_parse(&rows, (const void *)vdso, VDSO_BYTES, NULL))
        return;
    put_pages(u, WP_UNWIND_VDSO, rows, "[vdso]", "memory");
    wp_unwind_rows_destroy(rows);
}

static bool is_before(const struct job *a, const struct job *b)
{
    return a->is_met != b->is_met ? a->is_met : a->is_wanted != b->is_wanted ? a->is_wanted : a->size < b->size;
}

/* Takes the smallest job that this worker does, of files that somebody was met in if there are any. Locked. */
static bool next_job(const struct worker *w, struct job *job)
{
    struct wp_unwinder *u = w->unwinder;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < u->count; i++)
        if ((!w->is_for_small || u->queue[i].size <= SMALL) &&
            (best == UINT32_MAX || is_before(&u->queue[i], &u->queue[best])))
            best = i;
    if (best == UINT32_MAX)
        return false;
    *job = u->queue[best];
    u->queue[best] = u->queue[--u->count];
    return true;
}

static void end_wanted(struct wp_unwinder *u)
{
    if (!--u->wanted)
        pthread_cond_broadcast(&u->idle);
}

/* Rows are megabytes in this thread's own arena, which the allocator keeps. Locked. */
static void wait_for_job(struct worker *w)
{
    struct wp_unwinder *u = w->unwinder;
    if (w->has_freed) {
        w->has_freed = false;
        pthread_mutex_unlock(&u->lock);
        malloc_trim(0);
        pthread_mutex_lock(&u->lock);
    } else {
        pthread_cond_wait(&u->more, &u->lock);
    }
}

/* Takes the descriptor over. Another thread may have asked for the file meanwhile. */
static void add_job(struct wp_unwinder *u, const struct wp_unwind_kept *found, enum asker asker)
{
    struct wp_intkey key = {found->file.inode, found->file.device};
    struct stat status = {0};
    fstat(found->fd, &status);
    pthread_mutex_lock(&u->lock);
    bool is_taken = !hurry_asked(u, key.a, found->file.device, asker) && u->count < QUEUE;
    if (is_taken) {
        struct job *job = &u->queue[u->count++];
        *job = (struct job){.file = found->file,
            .fd = found->fd,
            .size = (uint64_t)status.st_size,
            .is_kept = asker == ASKER_CACHE,
            .is_wanted = asker >= ASKER_LEARNER,
            .is_met = asker == ASKER_STACK};
        u->wanted += job->is_wanted;
        snprintf(job->path, sizeof(job->path), "%.255s", found->path);
        if (found->name)
            strcpy(job->name, found->name);
        pthread_cond_broadcast(&u->more);
        if (u->asked.count >= 4 * FILES) /* those that the kernel knows are not asked for */
            wp_intmap_clear(&u->asked);
        wp_intmap_put(&u->asked, key, 1);
    }
    pthread_mutex_unlock(&u->lock);
    if (!is_taken)
        close(found->fd);
}

/* What was met lately will be met again: its rows are there when a process of it runs for a moment only. */
static bool add_kept(void *context, const struct wp_unwind_kept *kept)
{
    struct wp_unwinder *u = context;
    bool is_late = __atomic_load_n(&u->is_over, __ATOMIC_RELAXED) || __atomic_load_n(&u->winds_down, __ATOMIC_RELAXED);
    if (is_late || is_asked(u, kept->file.inode, kept->file.device, ASKER_CACHE))
        close(kept->fd); /* one of our own */
    else
        add_job(u, kept, ASKER_CACHE);
    return !is_late;
}

static void *run(void *context)
{
    struct worker *w = context;
    struct wp_unwinder *u = w->unwinder;
    struct job job;
    wp_sandbox_thread();
    if (w == &u->workers[0])
        tell_vdso(u);
    pthread_mutex_lock(&u->lock);
    end_wanted(u);
    if (w == &u->workers[0]) { /* the others read meanwhile what is waited for */
        pthread_mutex_unlock(&u->lock);
        wp_unwind_cache_each(&u->cache, u->options.kept_bytes, add_kept, u);
        pthread_mutex_lock(&u->lock);
    }
    while (!u->is_over) {
        if (!next_job(w, &job)) {
            wait_for_job(w);
            continue;
        }
        w->job = &job;
        pthread_mutex_unlock(&u->lock);
        do_job(u, &job);
        close(job.fd);
        pthread_mutex_lock(&u->lock);
        w->job = NULL;
        w->has_freed = true;
        if (job.is_wanted)
            end_wanted(u);
    }
    pthread_mutex_unlock(&u->lock);
    return NULL;
}

void wp_unwinder_ask(struct wp_unwinder *u, uint64_t inode, uint32_t device, uint32_t pid, uint64_t address)
{
    char path[4096];
    if (is_asked(u, inode, device, ASKER_STACK))
        return;
    int fd = wp_met_file_open(&(struct wp_met_file){inode, device, pid, address}, path, sizeof(path));
    if (fd >= 0)
        add_job(u, &(struct wp_unwind_kept){.file = {inode, device, 0}, .fd = fd, .path = path}, ASKER_STACK);
}

struct running {
    struct wp_unwinder *unwinder;
    enum asker asker;
};

static void learn_running(void *context, const struct wp_met_file *met)
{
    const struct running *running = context;
    char path[4096];
    if (is_asked(running->unwinder, met->inode, met->device, running->asker))
        return;
    int fd = wp_met_file_open(met, path, sizeof(path));
    if (fd >= 0)
        add_job(running->unwinder,
            &(struct wp_unwind_kept){.file = {met->inode, met->device, 0}, .fd = fd, .path = path}, running->asker);
}

void wp_unwinder_learn_running(struct wp_unwinder *u, bool is_waited_for)
{
    struct running running = {u, is_waited_for ? ASKER_LEARNER : ASKER_AHEAD};
    wp_running_files(learn_running, &running);
}

static void learn_file(void *context, const char *path)
{
    struct wp_unwinder *u = context;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status)) {
        if (fd >= 0)
            close(fd);
        return;
    }
    uint32_t device = (uint32_t)(major(status.st_dev) << 20 | minor(status.st_dev));
    if (is_asked(u, status.st_ino, device, ASKER_LEARNER))
        close(fd);
    else
        add_job(u, &(struct wp_unwind_kept){.file = {status.st_ino, device, 0}, .fd = fd, .path = path}, ASKER_LEARNER);
}

void wp_unwinder_learn(struct wp_unwinder *u, const char *program)
{
    wp_linked_files(program, learn_file, u);
}

static bool is_everywhere(const char *path)
{
    static const char *const names[] = {"libc.", "libc-", "ld-", "libm.", "libpthread", "libgcc_s.", "libstdc++."};
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

/* Libraries that this program runs on itself and nearly every other one too. */
static void add_own_files(struct wp_unwinder *u)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4200], perms[8];
    while (maps && fgets(line, sizeof(line), maps)) {
        struct stat status;
        const char *path = strchr(line, '/');
        line[strcspn(line, "\n")] = 0;
        if (!path || !is_everywhere(path) || sscanf(line, "%*s %7s", perms) != 1 || !strchr(perms, 'x'))
            continue;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 && !fstat(fd, &status))
            add_job(u,
                &(struct wp_unwind_kept){
                    .file = {status.st_ino, (uint32_t)(major(status.st_dev) << 20 | minor(status.st_dev)), 0},
                    .fd = fd,
                    .path = path},
                ASKER_LEARNER);
        else if (fd >= 0)
            close(fd);
    }
    if (maps)
        fclose(maps);
}

static void release(struct wp_unwinder *u)
{
    for (uint32_t i = 0; i < u->count; i++)
        close(u->queue[i].fd);
    pthread_cond_destroy(&u->more);
    pthread_cond_destroy(&u->idle);
    pthread_mutex_destroy(&u->lock);
    wp_intmap_fini(&u->asked);
    wp_unwind_objects_destroy(u->objects);
    free(u);
}

struct wp_unwinder *wp_unwinder_create(const struct wp_unwinder_options *options)
{
    struct wp_unwinder *u = calloc(1, sizeof(*u));
    if (!u)
        return NULL;
    u->options = *options;
    pthread_mutex_init(&u->lock, NULL);
    pthread_cond_init(&u->more, NULL);
    pthread_cond_init(&u->idle, NULL);
    u->cache.folder = options->cache;
    u->objects = wp_unwind_objects_create(&(struct wp_unwind_objects_options){.files_fd = options->files_fd,
        .pages_fd = options->pages_fd,
        .generation = options->generation,
        .forgotten = forget,
        .context = u,
        .most = FILES,
        .room = options->pages_room,
        .pause_s = ROOM_PAUSE_S});
    if (!u->objects) {
        release(u);
        return NULL;
    }
    u->wanted = WORKERS; /* until they have begun */
    add_own_files(u);
    for (unsigned i = 0; i < WORKERS; i++) /* all, before one looks at what the others do */
        u->workers[i] = (struct worker){.unwinder = u, .is_for_small = i + 1 == WORKERS};
    for (unsigned i = 0; i < WORKERS; i++) {
        u->workers[i].is_started = !pthread_create(&u->workers[i].thread, NULL, run, &u->workers[i]);
        if (!u->workers[i].is_started) {
            wp_unwinder_destroy(u);
            return NULL;
        }
    }
    return u;
}

void wp_unwinder_settle(struct wp_unwinder *u, unsigned timeout_ms)
{
    const struct timespec end = wp_clock_deadline(CLOCK_REALTIME, timeout_ms);
    pthread_mutex_lock(&u->lock);
    while (u->wanted && !pthread_cond_timedwait(&u->idle, &u->lock, &end))
        continue;
    pthread_mutex_unlock(&u->lock);
}

void wp_unwinder_wind_down(struct wp_unwinder *u)
{
    uint32_t left = 0;
    pthread_mutex_lock(&u->lock);
    __atomic_store_n(&u->winds_down, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < u->count; i++) {
        if (!u->queue[i].is_met && !u->queue[i].is_wanted)
            close(u->queue[i].fd);
        else
            u->queue[left++] = u->queue[i];
    }
    u->count = left;
    pthread_mutex_unlock(&u->lock);
}

void wp_unwinder_destroy(struct wp_unwinder *u)
{
    if (!u)
        return;
    pthread_mutex_lock(&u->lock);
    __atomic_store_n(&u->is_over, true, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&u->more);
    pthread_mutex_unlock(&u->lock);
    for (unsigned i = 0; i < WORKERS; i++)
        if (u->workers[i].is_started)
            pthread_join(u->workers[i].thread, NULL);
    tell_unfit(u, NULL);
    release(u);
}

uint64_t wp_unwinder_cpu_ns(const struct wp_unwinder *u)
{
    uint64_t ns = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        clockid_t clock;
        ns += pthread_getcpuclockid(u->workers[i].thread, &clock) ? 0 : wp_clock_of_ns(clock);
    }
    return ns;
}
