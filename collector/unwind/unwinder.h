/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_UNWINDER_H
#define WP_COLLECTOR_UNWIND_UNWINDER_H
/*
 * Gives the kernel side the rows of the files whose code it met. Files are read by threads of its own, so that events
 * do not wait; each is read once, first those that somebody was met in, of them small ones first: a thread of three
 * reads no others, so that none waits for a compiler. Another one lists first what the cache has.
 */
#include "common/log.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_unwinder;
struct wp_unwind_file;

struct wp_unwinder_options {
    int files_fd, pages_fd; /* the maps unwind_files and unwind_pages ... */
    uint32_t pages_room;    /* ... and how many elements the latter takes */
    uint32_t *generation;   /* of the kernel side, raised when a file has become known */
    const char *cache;      /* folder of rows by build id; NULL: none is kept. Borrowed */
    uint64_t kept_bytes;    /* of its rows, the last ones met, are given to the kernel at the start */
    const struct wp_logger *logger;
    /* Gets each open file before the kernel side knows it, by several threads; true: it is nothing to the callee, and
     * need not be shown to this program again, as long as its rows are cached. NULL: nobody. */
    bool (*opened)(void *context, const struct wp_unwind_file *file, int fd, const char *path);
    /* The kernel side knows it no more, until it is opened again; NULL: nobody is told. */
    void (*forgotten)(void *context, const struct wp_unwind_file *file);
    void *context;
};

/* NULL when there is no memory or no thread. */
struct wp_unwinder *wp_unwinder_create(const struct wp_unwinder_options *options);
/* Waits for the file that is being read; rows that are on their way into the kernel stay behind. */
void wp_unwinder_destroy(struct wp_unwinder *unwinder);
/* Reads a program and the libraries that it is linked with, which nobody has met yet. */
void wp_unwinder_learn(struct wp_unwinder *unwinder, const char *program);
/* Reads the files of the processes that are busiest so far; is_waited_for: wp_unwinder_settle is to wait for them. */
void wp_unwinder_learn_running(struct wp_unwinder *unwinder, bool is_waited_for);
/* Waits until the files that were asked for are known, at most so long. What the cache has of others goes on beside it.
 */
void wp_unwinder_settle(struct wp_unwinder *unwinder, unsigned timeout_ms);
/* Nobody's stack is walked any more: what the cache has is left alone, what was met is read for the cache. */
void wp_unwinder_wind_down(struct wp_unwinder *unwinder);
/* CPU time of its threads so far. */
uint64_t wp_unwinder_cpu_ns(const struct wp_unwinder *unwinder);
/* Code of an unknown file was met in process pid, mapped at `address` (0: it is its program). */
void wp_unwinder_ask(struct wp_unwinder *unwinder, uint64_t inode, uint32_t device, uint32_t pid, uint64_t address);

#endif
