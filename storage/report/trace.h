/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_TRACE_H
#define WP_STORAGE_REPORT_TRACE_H
/*
 * A trace (exemplar): a window of an aggregate kept whole, piece by piece, for the chronological flame and the process
 * running view. Times are ns since start_ns. Bounded: what did not fit is counted in `omitted`. The arrays are plain;
 * the struct owns them (grown with wp_trace_*, freed with wp_trace_destroy).
 */
#include "common/buffer.h"
#include "common/error.h"
#include "common/intern.h"
#include "storage/report/tree.h"
#include "storage/value/category.h"

struct wp_trace_piece { /* one rectangle of the chronological flame: a node of the trace's own tree, an interval
                         */
    uint32_t path;      /* control path: 0 the first base path ... */
    uint32_t node;
    uint64_t start_ns, length_ns;
    uint32_t category;
};

/* A thread that stands in the window. */
struct wp_trace_thread {
    uint32_t host, comm; /* string ids */
    uint32_t pid, tid;
    uint32_t is_base;    /* of the process of interest */
    uint32_t group;      /* string id: container or control group, 0 not known */
    uint32_t is_on_path; /* a control path held it at some time; where that is noted (a window of the whole system) */
};

/* An interval in which a thread was on a CPU. */
struct wp_trace_run {
    uint32_t thread; /* index */
    uint32_t comm;   /* string id: its name in that run */
    uint64_t start_ns, length_ns;
    uint32_t cpu; /* its number + 1; 0: not noted */
};

/* An interval in which a thread slept, and what for. */
struct wp_trace_sleep {
    uint32_t thread;
    uint32_t label;    /* string id: innermost user function, else the system call */
    uint32_t category; /* what ended or explains it, enum wp_category */
    uint64_t start_ns, length_ns;
};

enum wp_link_kind {
    WP_LINK_WAKING = 1,
    WP_LINK_FORK,
    WP_LINK_EXEC,
    WP_LINK_MESSAGE,
    WP_LINK_IO,
    WP_LINK_HORIZONTAL, /* preemption: from a thread to itself */
    WP_LINK_KINDS
};

/* What one thread caused in another, from a time on the one to a time on the other. */
struct wp_trace_link {
    uint32_t kind;
    uint32_t from_thread, to_thread;
    uint64_t from_ns, to_ns;
};

enum wp_op_kind { WP_OP_BLOCK = 1, WP_OP_NETWORK, WP_OP_INTERRUPT, WP_OP_KINDS };

/* What happened beside the threads: a block request, a message, an interrupt that woke somebody. */
struct wp_trace_op {
    uint32_t kind;   /* enum wp_op_kind */
    uint32_t place;  /* string id: the device, the connection, the interrupt */
    uint32_t label;  /* string id: what it did: "read /var/lib/db/wal" */
    uint32_t thread; /* who asked for it, sent it, was woken by it: index + 1, 0 not in the window */
    uint64_t start_ns, length_ns;
};

/* A control path of the window. */
struct wp_trace_path {
    uint32_t thread;  /* the thread at its base */
    uint32_t is_base; /* 0: another path that was waited for */
};

/* The window; rows name threads by index and texts by id. */
struct wp_trace {
    uint64_t start_ns; /* realtime of time 0 */
    uint64_t length_ns;
    uint64_t omitted;  /* rows that did not fit */
    uint64_t grain_ns; /* shorter runs and sleeps are not in it, and counted as omitted; 0: all that fit are */
    uint64_t run_grain_ns, sleep_grain_ns; /* while it is made, that of each kind; grain_ns is the longer one */
    struct wp_intern *strings;
    struct wp_frame_info *frames; /* [0] unused */
    struct wp_node *nodes;        /* [0] the root */
    struct wp_trace_piece *pieces;
    struct wp_trace_thread *threads;
    struct wp_trace_run *runs;
    struct wp_trace_sleep *sleeps;
    struct wp_trace_link *links;
    struct wp_trace_path *paths;
    struct wp_trace_op *ops;
    uint32_t frame_count, node_count, piece_count, thread_count, run_count, sleep_count, link_count, path_count,
        op_count;
    uint32_t frame_room, node_room, piece_room, thread_room, run_room, sleep_room, link_room, path_room, op_room;
    struct wp_tree_index *index; /* owned: frames and nodes by content (storage/report/tree.h) */
};

/* An empty trace that has frame 0 and the root, for wp_trace_destroy. NULL when out of memory. */
struct wp_trace *wp_trace_create(void);
/* With all its rows, texts and tree; NULL is allowed. */
void wp_trace_destroy(struct wp_trace *trace);
/* Empties it and keeps the memory of the rows. Ids and texts from before are not valid after it. */
void wp_trace_clear(struct wp_trace *trace);
/* What it takes of memory. */
size_t wp_trace_bytes(const struct wp_trace *trace);
/* The id of `text` (NULL: ""), cut to WP_TEXT_LIMIT bytes; made if new. UINT32_MAX when out of memory. */
uint32_t wp_trace_string(struct wp_trace *trace, const char *text);
/* The same of a frame. */
uint32_t wp_trace_frame(struct wp_trace *trace, enum wp_frame_style style, const char *name, const char *object);
/* The same of the node that puts `frame` on `parent` (0: the root); UINT32_MAX also for one that is not there. */
uint32_t wp_trace_child(struct wp_trace *trace, uint32_t parent, uint32_t frame);
/* Append a row. 0 or -ENOMEM. */
int wp_trace_add_piece(struct wp_trace *trace, const struct wp_trace_piece *piece);
int wp_trace_add_thread(struct wp_trace *trace, const struct wp_trace_thread *thread); /* index = thread_count before */
/* The rows are copied as they are: their ids are not checked here, but by wp_trace_decode. */
int wp_trace_add_run(struct wp_trace *trace, const struct wp_trace_run *run);
/* As above. */
int wp_trace_add_sleep(struct wp_trace *trace, const struct wp_trace_sleep *sleep);
/* As above. */
int wp_trace_add_link(struct wp_trace *trace, const struct wp_trace_link *link);
/* As above; pieces name it by its index. */
int wp_trace_add_path(struct wp_trace *trace, const struct wp_trace_path *path);
/* As wp_trace_add_run. */
int wp_trace_add_op(struct wp_trace *trace, const struct wp_trace_op *op);

#endif
