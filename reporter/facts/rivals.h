/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_RIVALS_H
#define WP_REPORTER_FACTS_RIVALS_H
/*
 * Who had the processor while a process was runnable, from the flame: the scheduler's frames on a stack say who it was,
 * or which cgroup's quota was used up, and what stands on them for whom that one ran, or who spent the quota.
 */
#include "reporter/facts/facts.h"

enum wp_rival_kind {
    WP_RIVAL_PROCESS,  /* "sched:behind [gzip]" */
    WP_RIVAL_PROFILER, /* one of Wakepath's programs: of another recording, or a host's aggregator */
    WP_RIVAL_QUOTA,    /* "sched:quota of nginx.service"; "sched:quota": not known of which cgroup */
    WP_RIVAL_OTHER     /* own threads, the recording, an idle CPU; or it is not known */
};

/* What one had, or kept, of another one. */
struct wp_rival {
    enum wp_rival_kind kind;
    const char *waiter;    /* "web", "api on web-2"; "?" */
    const char *host;      /* "web-2" of that; NULL: it is not said */
    const char *name;      /* "gzip"; "quota of nginx.service"; "quota"; "own threads" */
    const char *name_host; /* as host, of the process that is called so */
    const char *search;    /* the frame that finds it in the flame, */
    uint32_t frame;        /* ... and its id */
    const char *party;     /* for whom it ran, or who spent it, the largest part of it; "" none */
    uint64_t ns, count, party_ns;
    uint64_t preempted_ns; /* of ns: it had been pushed off its processor; else it had been woken */
    uint64_t largest_ns;   /* of one pseudo-stack, whose node is: */
    uint32_t permalink;
};

/* The longest first. */
struct wp_rivals {
    struct wp_rival *rows; /* in the pool, with its texts */
    size_t count;
    uint64_t ns; /* of all */
};

/* An interval of realtime: how long others had the processor, and who had it longest. */
struct wp_rival_bucket {
    uint64_t start_ns, ns, most_ns;
    const char *most; /* "gzip", "quota of nginx.service"; "" nobody is named */
};

/* In the order of time, as wide each as those of wp_over_time_build. */
struct wp_rival_buckets {
    struct wp_rival_bucket *rows; /* in the pool, with its texts */
    uint32_t count;
};

/* Of a node of the flame the frame of who had the processor, "sched:behind [gzip]"; 0: it is none of the scheduler's,
 * or nobody is told there. */
uint32_t wp_rival_frame(const struct wp_facts *facts, uint32_t node);
/* "gzip" of that frame, "own threads", "wake-up latency"; in the pool. */
const char *wp_rival_name(struct wp_pool *pool, const char *frame);
/* Whether that frame says that Wakepath had it, as "sched:behind recording" and "sched:behind [wakepath-store]" do. */
bool wp_rival_is_profiler(const char *frame);
/* The same over time; out of memory sets pool->failed. */
struct wp_rival_buckets wp_rivals_over_time(struct wp_pool *pool, const struct wp_facts *facts);
/* Out of memory sets pool->failed. */
struct wp_rivals wp_rivals_build(struct wp_pool *pool, const struct wp_facts *facts);

#endif
