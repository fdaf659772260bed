/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_SYMBOLIZER_H
#define WP_COLLECTOR_SYMBOLS_SYMBOLIZER_H
/*
 * Names for addresses. Users' code is named by a thread of its own, so that events never wait for a file: places are
 * asked for, answers are fetched later, in no order: those of small files first. The files are opened by the caller's
 * thread, while their processes are still there; what has one build id is read once. The kernel's names are all in
 * memory and answered at once. All calls from one thread.
 */
#include "collector/host/process_file.h"
#include "collector/symbols/address_space.h"
#include "collector/symbols/object_names.h"
#include "common/log.h"

struct wp_symbolizer;
struct wp_fleet_names;
struct wp_debug_fetch;

/* Where names may come from but for files of this host. NULL: not from there. */
struct wp_names_from {
    struct wp_fleet_names *fleet;
    struct wp_debug_fetch *fetch;
    const char *kept_folder; /* kept_names.h */
};

/* Counts since it was created; debug_bytes is the present one. */
struct wp_symbolizer_stats {
    uint64_t asked, answered, unnamed; /* places; unnamed: answered with nothing */
    uint64_t objects, refused_files;   /* read; could not be opened or were other builds */
    uint64_t debug_bytes;              /* of debug info held */
};

/* The name of an address in the kernel. */
struct wp_frame_name {
    const char *function; /* "" unknown */
    const char *object;   /* "[kernel]", "[module]" */
    uint64_t offset;      /* of the address: from _text, or (modules) from the function */
};

/* from, logger: NULL for none; both and what they name are borrowed. NULL when there is no memory or no thread. */
struct wp_symbolizer *wp_symbolizer_create(const struct wp_names_from *from, const struct wp_logger *logger);
/* Frees it with its maps and files; waits as wp_naming_thread_destroy does. NULL is allowed. */
void wp_symbolizer_destroy(struct wp_symbolizer *symbolizer);
/* Begins to read the kernel's names, in a thread of its own that ends when it has them; when the programs are loaded,
 * for their names are the kernel's too. */
void wp_symbolizer_prepare_begin(struct wp_symbolizer *symbolizer);
/* The address of a function of the kernel; 0: it is not known. The kernel's names are read when it returns. */
uint64_t wp_symbolizer_kernel_address(struct wp_symbolizer *symbolizer, const char *function);

/* Asks what is at `offset` (of the file; of memory that is no file's: the address) in a mapping of process pid;
 * `ticket` comes back with the answer. False: nobody can tell, and no answer will come. */
bool wp_symbolizer_ask(struct wp_symbolizer *symbolizer, const struct wp_address_spaces *spaces, uint32_t pid,
    const struct wp_mapping *mapping, uint64_t offset, uint32_t ticket);
/* `ticket` here has its highest bit set, those of places have neither of the two highest. Asks what is called so that a
 * lock is in it; the answer's function is "queue_lock (server)", or "server+0x4040" where no symbol is. */
bool wp_symbolizer_ask_lock(struct wp_symbolizer *symbolizer, const struct wp_lock_place *lock, uint32_t ticket);
/* The next answer that is there; its texts are valid until the next call. */
bool wp_symbolizer_next(struct wp_symbolizer *symbolizer, uint32_t *ticket, struct wp_place_name *place);
/* Waits until everything that was asked is answered (true), at most so long. */
bool wp_symbolizer_settle(struct wp_symbolizer *symbolizer, unsigned timeout_ms);
/* The address spaces' objects have other numbers now. */
void wp_symbolizer_renumber(struct wp_symbolizer *symbolizer);
/* The process runs another program now, or is gone. */
void wp_symbolizer_forget(struct wp_symbolizer *symbolizer, uint32_t pid);

/* Never fails: a frame without a name is one too. Texts are valid until the next call. */
void wp_symbolizer_kernel(
    struct wp_symbolizer *symbolizer, uint64_t address, bool is_return, struct wp_frame_name *name);
/* A copy of the counts. Names of the kernel and those that the aggregator gave are not in them. */
struct wp_symbolizer_stats wp_symbolizer_stats(struct wp_symbolizer *symbolizer);
/* CPU time of its thread so far. */
uint64_t wp_symbolizer_cpu_ns(const struct wp_symbolizer *symbolizer);

#endif
