/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_H
#define WP_STORAGE_REPORT_REPORT_H
/*
 * A report: what an aggregate's control paths did in a timebox, gathered by pseudo-stack. The engine adds to it, the
 * store keeps it, the reporter reads it. merge(report, report) is associative, commutative, has a zero (an empty
 * report) and is exact: integers and sets only. All ids below are the report's own; strings, frames and nodes are
 * made on first use and found by hash after that (no allocation for what was seen before).
 */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/value/category.h"
#include "storage/value/latency.h"

#include <stddef.h>
#include <stdint.h>

enum wp_frame_style {
    WP_STYLE_PROCESS = 1, /* "[comm]": a layer of the pseudo-stack starts */
    WP_STYLE_USER,        /* a function */
    WP_STYLE_KERNEL,      /* a kernel function */
    WP_STYLE_SLEEP,       /* "sleep:SYSCALL": the layer sleeps, what stands above is what it waits for */
    WP_STYLE_IO,          /* "io:..." a block operation */
    WP_STYLE_NET,         /* "tcp:..." or "udp:...": a message, or a peer nobody records */
    WP_STYLE_SCHED,       /* "sched:..." runnable or preempted */
    WP_STYLE_WAIT,        /* "timer:...", "irq:...", "kernel:...", "path:..." and other ends of an explanation */
    WP_STYLES
};

struct wp_frame_info {
    uint32_t style;   /* enum wp_frame_style */
    uint32_t name;    /* string id */
    uint32_t object;  /* string id: file of a function, 0 none */
};

struct wp_node {
    uint32_t parent;  /* node id; 0 is the root, and its own parent */
    uint32_t frame;   /* frame id */
};

/* Time on top of a node, by category; at most one row a (node, category). */
struct wp_cell {
    uint32_t node;
    uint32_t category;
    uint64_t ns;
    uint64_t count;   /* pieces */
};

struct wp_report_process {
    uint32_t host, comm; /* string ids */
    uint32_t pid;
    uint64_t start_ns;   /* realtime, tells reused pids apart; 0 unknown */
    uint64_t total_ns;   /* time in which it stood in a pseudo-stack of this report */
    uint64_t running_ns; /* of that, itself on a CPU on top */
};

/*
 * When the time of a cell was: realtime is cut into buckets of 2^shift ns, shift being the least (from
 * WP_REPORT_BUCKET_SHIFT on) for which WP_REPORT_BUCKETS of them hold all the time of the report. Widening a bucket only
 * adds neighbours up, and the width follows from the content alone, so that samples merge as exactly as everything else.
 */
#define WP_REPORT_BUCKETS 64u
#define WP_REPORT_BUCKET_SHIFT 27u /* 134 ms */
struct wp_cell_sample {
    uint64_t bucket;     /* realtime >> shift */
    uint64_t ns;
    uint32_t cell;
    uint32_t next;       /* the same cell's sample before it; UINT32_MAX none */
};

/* A wait with no explanation. All of them are kept (so that merging stays exact); the accessor shows the largest. */
#define WP_REPORT_UNEXPLAINED 256u
struct wp_unexplained {
    uint32_t node;       /* the sleep's node */
    uint32_t reason;     /* string id */
    uint64_t ns, count;
    uint64_t longest_ns; /* of them, the one that ... */
    uint32_t tid;        /* ... this thread waited; 0 not known. Of equal ones the larger number, so that merging stays exact */
};

struct wp_span {
    uint64_t start_ns, end_ns; /* realtime */
};

/* Events behind this report, by kind name. */
struct wp_event_count {
    uint32_t kind;       /* string id: "switch", "waking" ... */
    uint64_t total, dropped;
};

/* Times an engine limit (depth, width, history) bit, and the time it touched. */
struct wp_limit_count {
    uint32_t name;       /* string id */
    uint64_t count, ns;
};

/* Waits on one host that messages from another one ended. */
struct wp_report_edge {
    uint32_t from, to;   /* string ids of hosts */
    uint64_t messages;
    uint64_t waited_ns;
    uint64_t transit_ns, transit_max_ns;  /* of the last message, sum and most */
    uint64_t bound_max_ns;                /* how well the two clocks were known, at worst */
};

/*
 * Transactions: a request read from a connection until its reply begins to leave, of the process of interest. A row of
 * WP_PART_WHOLE counts those of one latency bucket; the rows of other parts are what such transactions consisted of, added
 * up: who was on top of the pseudo-stack (processes, through whom), in what function, in which category.
 */
#define WP_PART_WHOLE WP_CATEGORIES         /* latencies: from the request's arrival on */
#define WP_PART_UNREAD (WP_CATEGORIES + 1u) /* the request had arrived and nobody read it yet */
#define WP_PARTS (WP_CATEGORIES + 2u)
struct wp_transaction {
    uint32_t service;    /* string id: where requests come in, "tcp port 80" */
    uint32_t who, what;  /* string ids: "web › postgres on db-1", "fdatasync"; "" of WP_PART_WHOLE */
    uint32_t part;       /* enum wp_category or one of the above */
    uint32_t bucket;     /* of the latency of the whole transaction */
    uint64_t ns, count;
};

struct wp_transaction_part {
    const char *service, *who, *what;
    uint32_t part, bucket;
    uint64_t ns;
};

/* The slowest transaction of a service; of equal ones the first. */
struct wp_slowest {
    uint32_t service;    /* string id */
    uint64_t start_ns;   /* realtime */
    uint64_t ns;
};

/*
 * Lines of source. A site is a place in a function: the line that it was at (or called on from) while time passed. Its time is
 * that of all stacks with the site on them, each counted once however often the site stands on it. `run_ns` of it the process
 * itself was on a CPU, in the line or in what it called; `self_ns` in the line's own code.
 */
struct wp_report_site {
    uint32_t file;       /* string id; "": only the function is known */
    uint32_t line;       /* 0 unknown */
    uint32_t function;   /* string id */
};

struct wp_report_line {
    uint32_t site;       /* index of a site */
    uint32_t category;
    uint64_t total_ns, run_ns, self_ns;
};

/* What stands right above a site: a function called there, or inlined there, a system call's sleep. */
struct wp_report_call {
    uint32_t site, callee; /* index of a site; string id */
    uint32_t style;      /* enum wp_frame_style */
    uint32_t is_inlined; /* 0, 1 */
    uint64_t total_ns, run_ns;
};

struct wp_report; /* opaque; the arrays are read with the accessors */

struct wp_report *wp_report_create(void);
void wp_report_destroy(struct wp_report *report);
/* Empties it and keeps its memory. */
void wp_report_clear(struct wp_report *report);
/* What it takes of memory. */
size_t wp_report_bytes(const struct wp_report *report);

/* --- adding; ids are UINT32_MAX and adds are lost (wp_report_failed says so) when out of memory --- */
uint32_t wp_report_string(struct wp_report *report, const char *text);
uint32_t wp_report_frame(struct wp_report *report, enum wp_frame_style style, const char *name, const char *object);
/* The child of `parent` (0: root) with this frame. */
uint32_t wp_report_child(struct wp_report *report, uint32_t parent, uint32_t frame);
void wp_report_add(struct wp_report *report, uint32_t node, enum wp_category category, uint64_t ns, uint64_t count);
/* One piece of which it is known when it was (realtime): wp_report_add, and its share in each bucket. */
void wp_report_add_at(struct wp_report *report, uint32_t node, enum wp_category category, uint64_t start_ns, uint64_t end_ns);
/* `count` pieces, `ns` long together, that lie in the same bucket of the least width: that of `at_ns` (realtime). */
void wp_report_add_within(struct wp_report *report, uint32_t node, enum wp_category category, uint64_t at_ns, uint64_t ns,
    uint64_t count);
/* Index of the process row, made if new. */
uint32_t wp_report_process(struct wp_report *report, const char *host, const char *comm, uint32_t pid, uint64_t start_ns);
void wp_report_process_add(struct wp_report *report, uint32_t process, uint64_t total_ns, uint64_t running_ns);
void wp_report_unexplained(struct wp_report *report, uint32_t node, const char *reason, uint64_t ns, uint64_t count, uint32_t tid);
/* Activity of the process of interest; wall time is the length of the union of the spans. */
void wp_report_activity(struct wp_report *report, uint64_t start_ns, uint64_t end_ns);
void wp_report_host(struct wp_report *report, const char *host);
void wp_report_events(struct wp_report *report, const char *kind, uint64_t total, uint64_t dropped);
void wp_report_limit(struct wp_report *report, const char *name, uint64_t count, uint64_t ns);
/* `sums` without its hosts: the maxima are of these messages. */
void wp_report_edge(struct wp_report *report, const char *from, const char *to, const struct wp_report_edge *sums);
/* Index of the site, made if new; and times of it. `add`: by index of this report's sites and id of its strings. */
uint32_t wp_report_site(struct wp_report *report, const char *file, uint32_t line, const char *function);
void wp_report_line_add(struct wp_report *report, const struct wp_report_line *add);
void wp_report_call_add(struct wp_report *report, const struct wp_report_call *add);
/* Recorded time and the time it stands for (windows); coverage is their ratio. */
/* One transaction that began at `start_ns` (realtime); and a stretch of one. */
void wp_report_transaction(struct wp_report *report, const char *service, uint64_t start_ns, uint64_t ns);
void wp_report_transaction_part(struct wp_report *report, const struct wp_transaction_part *part);
/* `count` stretches, part->ns long together. */
void wp_report_transaction_parts(struct wp_report *report, const struct wp_transaction_part *part, uint64_t count);
void wp_report_window(struct wp_report *report, uint64_t recorded_ns, uint64_t window_ns);
void wp_report_uncertain(struct wp_report *report, uint64_t ns); /* of the total, touched by drops or healed gaps */
/* Work started by the paths and not waited for, counted apart from the total. */
void wp_report_detached(struct wp_report *report, uint64_t ns);
int wp_report_failed(const struct wp_report *report);

/* --- reading --- */
uint64_t wp_report_wall(const struct wp_report *report);
uint64_t wp_report_total(const struct wp_report *report);
uint64_t wp_report_category(const struct wp_report *report, enum wp_category category);
uint64_t wp_report_uncertain_ns(const struct wp_report *report);
uint64_t wp_report_detached_ns(const struct wp_report *report);
double wp_report_coverage(const struct wp_report *report); /* 0..1; 1 for an empty report */
const char *wp_report_text(const struct wp_report *report, uint32_t string);
const struct wp_frame_info *wp_report_frames(const struct wp_report *report, uint32_t *count); /* [0] is unused */
const struct wp_node *wp_report_nodes(const struct wp_report *report, uint32_t *count);        /* [0] is the root; parents first */
const struct wp_cell *wp_report_cells(const struct wp_report *report, uint32_t *count);
/* In no order. What was added without a time (by an old version) is in the cells only. */
const struct wp_cell_sample *wp_report_samples(const struct wp_report *report, uint32_t *count);
/* The numbers of the buckets that hold time, ascending; *shift is the logarithm of their width. */
const uint64_t *wp_report_buckets(const struct wp_report *report, uint32_t *count, unsigned *shift);
const struct wp_report_process *wp_report_processes(const struct wp_report *report, uint32_t *count);
/* The WP_REPORT_UNEXPLAINED largest, largest first. Sorts on first use: not for two threads at once. */
const struct wp_unexplained *wp_report_unexplained_rows(const struct wp_report *report, uint32_t *count);
const struct wp_span *wp_report_spans(const struct wp_report *report, uint32_t *count);
const uint32_t *wp_report_hosts(const struct wp_report *report, uint32_t *count); /* string ids */
const struct wp_event_count *wp_report_event_counts(const struct wp_report *report, uint32_t *count);
const struct wp_limit_count *wp_report_limits(const struct wp_report *report, uint32_t *count);
const struct wp_report_edge *wp_report_edges(const struct wp_report *report, uint32_t *count);
/* In no order. */
const struct wp_transaction *wp_report_transactions(const struct wp_report *report, uint32_t *count);
const struct wp_slowest *wp_report_slowest(const struct wp_report *report, uint32_t *count);
/* In no order. */
const struct wp_report_site *wp_report_sites(const struct wp_report *report, uint32_t *count);
const struct wp_report_line *wp_report_lines(const struct wp_report *report, uint32_t *count);
const struct wp_report_call *wp_report_calls(const struct wp_report *report, uint32_t *count);

/* --- the merge law and the stored form --- */
int wp_report_merge(struct wp_report *into, const struct wp_report *from, struct wp_error *err);
/* Protobuf bytes in a canonical order (strings, nodes and rows sorted): equal reports have equal bytes, however built. */
int wp_report_encode(const struct wp_report *report, struct wp_buffer *out, struct wp_error *err);
/* Hostile bytes: counts bounded, ids checked, parents before children. */
int wp_report_decode(struct wp_report **report, const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
