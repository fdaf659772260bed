/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_FACTS_H
#define WP_REPORTER_FACTS_FACTS_H
/*
 * All the facts that the pages of one aggregate may show, as plain structs: read from the store in one snapshot
 * (facts_read.h, other_windows.h), then only looked at. What pages show beside them is in page_context.h. Texts belong
 * to `pool` or to the report and live as long as the facts.
 */
#include "reporter/base/text_pool.h"
#include "reporter/display/page_id.h"
#include "reporter/facts/flame_tree.h"
#include "reporter/facts/metadata_facts.h"
#include "reporter/facts/source_lines.h"
#include "reporter/facts/stack_ends.h"
#include "reporter/read/stores.h"
#include "storage/kind/late.h"

struct wp_contour;

/* A process on control paths. */
struct wp_process_fact {
    const char *host, *comm;
    uint32_t pid;
    uint64_t start_ns, total_ns, running_ns;
};

/* A function of an object, over all stacks of the report. */
struct wp_function_fact {
    const char *name, *object;
    uint32_t style;
    uint32_t frame;        /* id in the report */
    uint64_t inclusive_ns; /* on any stack, counted once a stack */
    uint64_t running_ns;   /* innermost function of a run */
    uint64_t waiting_ns;   /* innermost function of a wait */
    uint64_t count;        /* pieces in which it was innermost */
    uint64_t blocked_ns;   /* innermost function of a wait, but for the scheduler's own, which every wait ends in */
    uint64_t own_count;    /* pieces of running_ns and blocked_ns */
    /* The same of a program's own function, which stands for libraries of its language and the kernel above it. */
    uint64_t app_running_ns, app_waiting_ns, app_count;
};

/* Waits on one stack that nothing explains. */
struct wp_unexplained_fact {
    const char *stack; /* "[comm] › f › g › sleep:read", shortened in the middle when deep */
    const char *top;   /* the name of the innermost frame */
    const char *reason;
    uint32_t permalink; /* of the flame's node, 0 none */
    uint32_t tid;       /* of the thread that waited longest at once, 0 not known */
    uint64_t ns, count, longest_ns;
};

/* How many events of a kind were recorded and lost. */
struct wp_event_fact {
    const char *kind;
    uint64_t total, dropped;
};

/* A limit that took effect: how often, and the time of it. */
struct wp_limit_fact {
    const char *name;
    uint64_t count, ns;
};

/* Waits on one host that messages from another one ended. */
struct wp_edge_fact {
    const char *from, *to;
    uint64_t messages, waited_ns;
    uint64_t transit_ns, transit_max_ns; /* the mean and the longest way of such a message */
    uint64_t bound_ns;                   /* how well the two clocks were known, at worst */
};

/* Of threads of one name, all together: what stands beside the total. */
struct wp_beside_fact {
    const char *who; /* "java > pool-*-thread-*" */
    uint64_t idle_ns, unwaited_ns;
};

/* Of threads of one process, and of one peer. */
struct wp_ask_fact {
    const char *who, *peer; /* "web", "tcp 10.0.0.7:5432" */
    uint64_t asks, opens;   /* messages that begin a request; connections */
};

enum wp_surety { WP_SURETY_POSSIBLE, WP_SURETY_LIKELY, WP_SURETY_CERTAIN };

/* What experts call such a cause. */
struct wp_pattern {
    const char *key;      /* "lock_convoy": stable, for scripts; NULL none */
    const char *title;    /* "Lock convoy" */
    const char *evidence; /* what was measured that speaks for it */
    enum wp_surety sure;
};

/* A finding: a plain sentence, the time it speaks of and the view that shows it. */
struct wp_finding {
    const char *kind;     /* "waiting", "running", "disk" ...: stable, for scripts */
    const char *sentence; /* with its pattern, when it has one */
    const char *key;      /* the same of the same cause in another release */
    struct wp_pattern pattern;
    const char *since; /* the oldest release, back without a gap, that has it; NULL: not looked for (finding_since.h) */
    bool begins;       /* there: the one before lacks it */
    const char *function, *file; /* where in the program; NULL not known */
    uint32_t line;
    uint32_t threads; /* that waited; 0 not known */
    uint64_t count;   /* how often; 0 not known */
    uint64_t ns;
    uint64_t rank_ns;    /* of it, without waiting on another control path: that is told where it is counted itself */
    bool is_told_beside; /* a wait for what is counted itself (finding_beside.h) */
    enum wp_page_kind page;
    const char *fragment; /* of that page, already safe in a URL; NULL none */
};

#define WP_FINDINGS 25

/* A window that can be shown event by event. */
struct wp_exemplar_fact {
    const char *service; /* where the request came in; "" a wait */
    const char *host, *comm;
    uint32_t pid, tid;
    uint64_t start_ns; /* realtime */
    uint64_t length_ns;
    unsigned rank; /* 1 the slowest of its service; 0: it is not among the slowest */
    bool is_typical;
    bool is_beginning; /* no single request or wait: the beginning of a recording (other_windows.h) */
    const char *title; /* "The slowest request on tcp port 80" */
    const char *why;   /* a sentence: how it was chosen */
    const char *most;  /* the frame that stands on top longest, "" none ... */
    uint32_t most_category;
    uint64_t most_ns;       /* ... and how long */
    struct wp_trace *trace; /* owned */
};

/* The windows that are shown. */
struct wp_exemplar_facts {
    struct wp_exemplar_fact
        *rows; /* in the pool; the slowest first, by service, then beginnings; their number on the site is index + 1 */
    size_t count;
};

/* All facts of one aggregate; arrays live in `pool` unless marked as owned. End with wp_facts_fini. */
struct wp_facts {
    struct wp_pool pool;
    const char *release, *aggregate;
    struct wp_report *report;          /* owned */
    struct wp_trace *trace;            /* owned; NULL: none kept */
    const struct wp_trace *by_threads; /* while findings are made: the window of the view by threads; NULL none */
    struct wp_exemplar_facts exemplars;
    struct wp_flame flame;
    const bool *is_pool; /* by frame of a sleep: who waits there gives back what it takes (cause_pool.h); in the pool,
                            once findings are made; NULL none */
    const char **hosts;  /* sorted */
    struct wp_process_fact *processes;
    struct wp_function_fact *functions;
    struct wp_unexplained_fact *unexplained;
    struct wp_event_fact *events;
    struct wp_limit_fact *limits;
    struct wp_beside_fact *beside; /* most work first */
    size_t beside_count;
    struct wp_ask_fact *asks;
    size_t ask_count;
    uint64_t idle_ns, unwaited_ns; /* of them all */
    bool is_progress;              /* the total is that of main threads */
    struct wp_edge_fact *edges;    /* longest waits first */
    struct wp_source_lines source;
    struct wp_metadata metadata, release_metadata; /* of the aggregate and of its release; empty when only built */
    struct wp_damage *damage;                      /* owned */
    struct wp_finding findings[WP_FINDINGS];
    size_t host_count, process_count, function_count, unexplained_count, event_count, limit_count, edge_count,
        damage_count;
    size_t finding_count;
    struct wp_unsampled_host *unsampled; /* no CPU samples were to be had there (unsampled.h) */
    size_t unsampled_count;
    bool is_command;     /* each recording is of a command, from its start to its end */
    const char *group;   /* the hosts that were asked for, NULL all */
    const char *contour; /* what is left out of the stacks (contour.h), NULL nothing */
    uint64_t recordings; /* one after the other behind the release, at least; 0 not known */
    uint64_t wall_ns, total_ns, uncertain_ns, detached_ns, categories[WP_CATEGORIES];
    struct wp_late late; /* of that, what came when its hour had long been over */
    uint64_t events_total, events_dropped;
    uint64_t first_ns, last_ns; /* real time of the first and last activity, 0 none */
    uint64_t estimated_ns;      /* the total if what was not recorded was like what was */
    struct wp_stack_ends stack_ends;
    double coverage, accounted_percent;
    struct wp_process_tree *tree;         /* in the pool; NULL: not known, or not asked for (process_tree.h) */
    const struct wp_process_units *units; /* in the pool; NULL: not known (process_units.h) */
    struct wp_facts *detached; /* owned; work that was started and not waited for, without findings; NULL: none */
};

/* Says what was left out of the report before the facts were built; NULL, or nothing: leaves them as they are. */
void wp_facts_set_contour(struct wp_facts *facts, const struct wp_contour *contour);
/* Of a value that cannot be read, which is said and not fatal; copies the texts. -ENOMEM. */
int wp_facts_add_damage(struct wp_facts *facts, const char *key, const char *reason);
/* Name of a frame; "" when out of range. */
const char *wp_facts_frame_name(const struct wp_facts *facts, uint32_t frame);
/* Style of a frame (WP_STYLE_*, storage/report/tree.h); 0 when out of range. */
uint32_t wp_facts_frame_style(const struct wp_facts *facts, uint32_t frame);
/* Of a node of the flame that ends in the scheduler's frames: the node that they stand on, "sleep:read" of
 * "sleep:read;sched:runnable;sched:behind [gzip];sched:for [cron]"; another node is its own. */
uint32_t wp_facts_below_scheduler(const struct wp_facts *facts, uint32_t node);
/* Of the same the node of who had the CPU, "sched:behind [gzip]"; a node that names nobody is its own. */
uint32_t wp_facts_rival(const struct wp_facts *facts, uint32_t node);

#endif
