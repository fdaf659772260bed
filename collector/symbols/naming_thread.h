/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_NAMING_THREAD_H
#define WP_COLLECTOR_SYMBOLS_NAMING_THREAD_H
/*
 * The thread that reads objects and names places in them: what is asked of small files first, of one object in the
 * order in which it is told to. Calls come from one other thread and never wait for it, but for settle and destroy.
 */
#include "collector/symbols/jit_map.h"
#include "collector/symbols/object_names.h"
#include "common/log.h"

struct wp_naming_thread;

/* Counts since the thread began; debug_bytes and held_bytes are the present ones. */
struct wp_naming_counts {
    uint64_t asked, answered, unnamed, objects; /* objects: that were read, ever */
    uint64_t debug_bytes, held_bytes;           /* held_bytes: with functions; of what is not closed */
};

struct wp_debug_fetch;
/* Starts the thread, with all signals blocked. fetch: of debug files, NULL for none; kept_folder: where names are kept
 * (kept_names.h), NULL for nowhere; all are borrowed. NULL: out of memory, or it cannot be started. */
struct wp_naming_thread *wp_naming_thread_create(
    struct wp_debug_fetch *fetch, const char *kept_folder, const struct wp_logger *logger);
/* Waits for the job that the thread is at; the others are dropped, with the files that they hold. NULL is allowed. */
void wp_naming_thread_destroy(struct wp_naming_thread *thread);

/* A new object; its number, counted from 0, or that of one that was closed. Takes the file and the directory (-1:
 * none). `path` is for the log. UINT32_MAX: no memory. */
uint32_t wp_naming_thread_object(
    struct wp_naming_thread *thread, struct wp_elf_file *file, int root_fd, const char *path);
/* Behind what was asked of it the object is let go, and its number may mean another one. */
void wp_naming_thread_close(struct wp_naming_thread *thread, uint32_t object);
/* What an object takes of memory; 0: it is not read yet, or closed. */
uint64_t wp_naming_thread_bytes(struct wp_naming_thread *thread, uint32_t object);
/* A place in an object, or an address in what a process made itself. False: too many are waiting. */
bool wp_naming_thread_place(struct wp_naming_thread *thread, uint32_t object, uint64_t offset, uint32_t ticket);
/* As wp_naming_thread_place. `before`: the map of the process that had the memory before a fork, asked for what `map`
 * has no name for; NULL: none. The thread uses both until wp_naming_thread_drop frees them or wp_naming_thread_destroy
 * returns, which leaves them to the caller. */
bool wp_naming_thread_jit(struct wp_naming_thread *thread, struct wp_jit_map *map, struct wp_jit_map *before,
    uint64_t address, uint32_t ticket);
/* What data is at a place (or just behind the last one that is in the file), for wp_symbolizer_ask_lock. */
bool wp_naming_thread_data(struct wp_naming_thread *thread, uint32_t object, uint64_t offset, uint32_t ticket);
/* The map takes the open file (jit_map.h). */
void wp_naming_thread_dump(struct wp_naming_thread *thread, struct wp_jit_map *map, int fd);
/* Destroys the map behind what was asked of it. */
void wp_naming_thread_drop(struct wp_naming_thread *thread, struct wp_jit_map *map);

/* As the calls of the symbolizer. */
bool wp_naming_thread_next(struct wp_naming_thread *thread, uint32_t *ticket, struct wp_place_name *place);
/* Waits up to timeout_ms until every job is done; false: some are not. */
bool wp_naming_thread_settle(struct wp_naming_thread *thread, unsigned timeout_ms);
/* A copy of the counts, taken under the thread's lock. */
struct wp_naming_counts wp_naming_thread_counts(struct wp_naming_thread *thread);
/* CPU time so far. */
uint64_t wp_naming_thread_cpu_ns(const struct wp_naming_thread *thread);

#endif
