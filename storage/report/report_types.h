/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_TYPES_H
#define WP_STORAGE_REPORT_REPORT_TYPES_H
/* The rows of a report: what its arrays consist of. Ids are the report's own. */
#include "storage/report/tree.h"
#include "storage/value/category.h"
#include "storage/value/latency.h"

#include <stdint.h>

/* Time on top of a node, by category; at most one row a (node, category). */
struct wp_cell {
    uint32_t node;
    uint32_t category;
    uint64_t ns;
    uint64_t count; /* pieces */
};

#define WP_REPORT_OTHERS "other processes" /* of a host, in one row without pid: the bound of an hour was reached */
struct wp_report_process {
    uint32_t host, comm; /* string ids */
    uint32_t pid;
    uint64_t start_ns;   /* realtime, tells reused pids apart; 0 unknown */
    uint64_t total_ns;   /* time in which it stood in a pseudo-stack of this report */
    uint64_t running_ns; /* of that, itself on a CPU on top */
};

/*
 * When the time of a cell was: realtime is cut into buckets of 2^shift ns, shift being the least (from
 * WP_REPORT_BUCKET_SHIFT on) for which WP_REPORT_BUCKETS of them hold all the time of the report. Widening a bucket
 * only adds neighbours up, and the width follows from the content alone, so that samples merge as exactly as everything
 * else.
 */
#define WP_REPORT_BUCKETS 64u
#define WP_REPORT_BUCKET_SHIFT 27u /* 134 ms */
struct wp_cell_sample {
    uint64_t bucket; /* realtime >> shift */
    uint64_t ns;
    uint32_t cell;
    uint32_t next; /* the same cell's sample before it; UINT32_MAX none */
};

/* A wait with no explanation. All of them are kept (so that merging stays exact); the accessor shows the largest. */
#define WP_REPORT_UNEXPLAINED 256u
struct wp_unexplained {
    uint32_t node;   /* the sleep's node */
    uint32_t reason; /* string id */
    uint64_t ns, count;
    uint64_t longest_ns; /* of them, the one that ... */
    uint32_t
        tid; /* ... this thread waited; 0 not known. Of equal ones the larger number, so that merging stays exact */
};

struct wp_span {
    uint64_t start_ns, end_ns; /* realtime */
};

/* Events behind this report, by kind name. */
struct wp_event_count {
    uint32_t kind; /* string id: "switch", "waking" ... */
    uint64_t total, dropped;
};

/* Times an engine limit (depth, width, history) bit, and the time it touched. Rows with these names are figures beside
 * the total. */
#define WP_REPORT_IDLE                                                                                                 \
    "idle workers: " /* and of whom: sleeps of threads that nobody waited for, or that waited for work */
#define WP_REPORT_UNWAITED                                                                                             \
    "not waited for: "            /* and of whom: work of threads of the process of interest that nobody waited for */
#define WP_REPORT_ASKS "asks: "   /* and who of whom: messages of threads of interest that begin a request, by count */
#define WP_REPORT_OPENS "opens: " /* the same: connections */
#define WP_REPORT_ASKED " > "     /* between them: "web > tcp 10.0.0.7:5432" */
#define WP_REPORT_PROGRESS "base: progress" /* the total is that of main threads */
struct wp_limit_count {
    uint32_t name; /* string id */
    uint64_t count, ns;
};

/* Waits on one host that messages from another one ended. */
struct wp_report_edge {
    uint32_t from, to; /* string ids of hosts */
    uint64_t messages;
    uint64_t waited_ns;
    uint64_t transit_ns, transit_max_ns; /* of the last message, sum and most */
    uint64_t bound_max_ns;               /* how well the two clocks were known, at worst */
};

/*
 * Transactions: a request read from a connection until its reply begins to leave, of the process of interest. A row of
 * WP_PART_WHOLE counts those of one latency bucket; the rows of other parts are what such transactions consisted of,
 * added up: who was on top of the pseudo-stack (processes, through whom), in what function, in which category.
 */
#define WP_PART_WHOLE WP_CATEGORIES         /* latencies: from the request's arrival on */
#define WP_PART_UNREAD (WP_CATEGORIES + 1u) /* the request had arrived and nobody read it yet */
#define WP_PARTS (WP_CATEGORIES + 2u)
struct wp_transaction {
    uint32_t service;   /* string id: where requests come in, "tcp port 80" */
    uint32_t who, what; /* string ids: "web › postgres on db-1", "fdatasync"; "" of WP_PART_WHOLE */
    uint32_t part;      /* enum wp_category or one of the above */
    uint32_t bucket;    /* of the latency of the whole transaction */
    uint64_t ns, count;
};

struct wp_transaction_part {
    const char *service, *who, *what;
    uint32_t part, bucket;
    uint64_t ns;
};

/* The slowest transaction of a service; of equal ones the first. */
struct wp_slowest {
    uint32_t service;  /* string id */
    uint64_t start_ns; /* realtime */
    uint64_t ns;
};

/*
 * Lines of source. A site is a place in a function: the line that it was at (or called on from) while time passed. Its
 * time is that of all stacks with the site on them, each counted once however often the site stands on it. `run_ns` of
 * it the process itself was on a CPU, in the line or in what it called; `self_ns` in the line's own code.
 */
struct wp_report_site {
    uint32_t file;     /* string id; "": only the function is known */
    uint32_t line;     /* 0 unknown */
    uint32_t function; /* string id */
};

struct wp_report_line {
    uint32_t site; /* index of a site */
    uint32_t category;
    uint64_t total_ns, run_ns, self_ns;
};

/* What stands right above a site: a function called there, or inlined there, a system call's sleep. */
struct wp_report_call {
    uint32_t site, callee; /* index of a site; string id */
    uint32_t style;        /* enum wp_frame_style */
    uint32_t is_inlined;   /* 0, 1 */
    uint64_t total_ns, run_ns;
};

#endif
