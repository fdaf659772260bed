/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_SOURCE_H
#define WP_COLLECTOR_HOST_SOURCE_H
/*
 * A source turns something into ordered facts; the batcher (collector/batch/batcher.h) turns facts into batches: it
 * gives threads, stacks and sockets their dictionary ids, sorts by time, and cuts. A fact is an event with the raw
 * names of the host instead of ids. Times are CLOCK_MONOTONIC nanoseconds.
 */
#include "collector/bpf/interp_row.h"
#include "collector/host/mapped_file.h"
#include "collector/host/process_file.h"
#include "common/error.h"
#include "proto/batch.h"

#include <stdbool.h>
#include <stdint.h>

/* A frame of a stack that a source already has names for (perf script), outermost first. */
struct wp_named_frame {
    const char *function, *object; /* "" unknown */
    uint64_t offset;
    bool is_kernel;
};

/* A fact of kind 0 says what a key stands for; later facts name the key alone. */
struct wp_fact_socket {
    uint64_t key; /* what the source tells sockets apart by; 0: none */
    struct wp_socket_entry entry;
};

/* What a system call waits for. As for sockets: a fact of kind 0 says what a key stands for. */
struct wp_fact_wait {
    uint64_t key;     /* 0: none */
    const char *name; /* kind 0: "pipe", "/var/lib/db/wal"; NULL: it is the lock */
    struct wp_lock_place lock;
};

/* A process runs an interpreter: where its loop is. A fact of kind 0. */
struct wp_fact_interp {
    uint32_t pid, version;                   /* WP_INTERP_VERSION */
    uint64_t loop, loop_end, cold, cold_end; /* from, and to before; cold: of the part that lies apart, 0: none */
    uint64_t inner, inner_end;               /* of the function that the loop calls for its work, 0: none */
};

/* Characters as an interpreter has them: Latin-1, UCS-2, UCS-4, or UTF-8 (WP_INTERP_UTF8). */
struct wp_fact_text {
    const uint8_t *bytes;
    uint32_t size, unit; /* of one character; 0: unknown */
    bool is_cut;
};

/* What an interpreter's code object is, from now on. A fact of kind 0. */
struct wp_fact_code {
    uint32_t pid, version;
    uint32_t parent; /* its process; 0: it is not said */
    uint64_t time_ns, address;
    uint32_t part; /* of the object: 0, or a piece of V8's script, or WP_INTERP_TASK_PART */
    uint32_t first_line;
    struct wp_fact_text name, file;
    const uint8_t *lines; /* its table, or the beginning of it */
    uint32_t lines_size;
    bool lines_are_cut;
};

struct wp_fact {
    struct wp_event event;   /* thread, other, stack and, for sockets, d are filled in by the batcher */
    uint32_t tid, other_tid; /* raw; 0 is the idle task. EXEC: tid after it, other_tid the thread that called it */
    uint32_t pid, other_pid; /* thread group, 0: unknown */
    const char *comm, *other_comm; /* "" or NULL when unknown; valid during the call */
    const char *file;              /* BLOCK_INSERT, BLOCK_ISSUE: what it is for; NULL not known */
    const char *exe, *cmdline;     /* EXEC only; cmdline never leaves the host */
    uint64_t start_ns;             /* of other (FORK, EXEC) or of tid (STATE, kind 0); 0 unknown */
    uint64_t cgroup_id;            /* of other (FORK) or tid (STATE, EXEC, kind 0); 0 unknown */
    uint32_t thread_flags;         /* WP_THREAD_* of other (FORK) or tid (STATE, EXEC) */
    /* The stack, in one of two forms: addresses, innermost first ... */
    const uint64_t *kernel_ips, *user_ips;
    uint32_t kernel_ip_count, user_ip_count;
    /* ... with the frames of a language that are among the user's, innermost first (collector/bpf/interp_row.h) ... */
    const uint64_t *interp_words;
    uint32_t interp_word_count;
    /* ... or names, outermost first. */
    const struct wp_named_frame *frames;
    uint32_t frame_count;
    /* A source that dedupes stacks says the same non-zero number for the same addresses of the same address space. */
    uint64_t stack_key;
    struct wp_fact_socket socket;
    struct wp_fact_wait wait;            /* SWITCH: of the call; WAKING: what was ready of an epoll's files */
    const struct wp_fact_interp *interp; /* kind 0; NULL: none */
    const struct wp_fact_code *code;     /* the same */
};

/* Where facts go. Each returns 0 or -errno; a source stops at the first error. */
struct wp_fact_sink {
    int (*fact)(void *context, const struct wp_fact *fact, struct wp_error *err);
    int (*drops)(void *context, const struct wp_drop *drop, struct wp_error *err);
    /* No later fact is before this time. */
    int (*watermark)(void *context, uint64_t time_ns, struct wp_error *err);
    /* At the process' exec with is_exec first. Times order these with facts. */
    int (*mapped)(void *context, const struct wp_mapped_file *file, struct wp_error *err);
    void *context;
};

struct wp_source;
struct wp_probe;

/* What a source knows of its own work. */
struct wp_source_counts {
    /* How walks of user stacks ended: at the thread's first function, or before that. */
    uint64_t walks_complete, walks_not_yet, walks_no_rows, walks_not_code, walks_unreadable, walks_too_deep;
    struct wp_interp_counts interps; /* how walks of interpreters' frames ended */
    uint64_t interps_refused;        /* files of interpreters of a version or build that is not known */
    uint64_t lost_mappings;
    uint64_t program_runs, program_ns; /* of the BPF programs: counted; by the time of one run in sixty-one */
    uint64_t reading_ns;               /* CPU time of what is read once for each object */
    uint64_t list_ns;                  /* CPU time of the last list of all threads, in the kernel and here */
    uint64_t unwalked;                 /* stacks left out because of wp_source_ops.thin */
    uint64_t unread_lines;             /* of a text: of other events, or in no form that perf writes */
    uint64_t late_lines;               /* whose time was before that of one above them */
};

struct wp_source_ops {
    const char *name;
    /* Takes up to timeout_ms to deliver what there is. 1: go on, 0: the source has ended, -errno. */
    int (*poll)(struct wp_source *source, int timeout_ms, const struct wp_fact_sink *sink, struct wp_error *err);
    /* Asks for the end: everything that happened before the call is still delivered by poll, then it returns 0. */
    void (*stop)(struct wp_source *source);
    /* From now on only births, programs, names and deaths of threads are told (true), or all again, beginning with what
     * exists (false); told by a WINDOW fact. NULL: this source cannot. */
    int (*pause)(struct wp_source *source, bool is_paused, const struct wp_fact_sink *sink, struct wp_error *err);
    void (*destroy)(struct wp_source *source);
    void (*count)(const struct wp_source *source, struct wp_source_counts *counts); /* NULL: nothing to tell */
    /* Leaves out of the stacks of sleeps all but one in so many (0: all). NULL: cannot. */
    void (*thin)(struct wp_source *source, uint32_t stack_one_in);
    /* poll returns early when `fd` can be read; called again now and then, for it may be another one by the same
     * number. NULL: cannot. */
    void (*watch)(struct wp_source *source, int fd);
    /* Tells, with what it delivers next, which threads exist, as at the beginning (`threads`), and of stacks what they
     * are when they come up again. NULL: cannot; then it always says what stacks are. */
    int (*retell)(struct wp_source *source, bool threads, struct wp_error *err);
    const struct wp_probe *(*probe)(
        const struct wp_source *source); /* what it chose of what the kernel offers; NULL: nothing to choose */
    unsigned (*unsampled_cpus)(
        struct wp_source *source); /* that came online after samples began, and have none; NULL: not known */
};

/* First member of each source. */
struct wp_source {
    const struct wp_source_ops *ops;
};

#endif
