/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_EXEMPLAR_FACTS_H
#define WP_REPORTER_FACTS_EXEMPLAR_FACTS_H
/*
 * The windows that can be shown event by event, and why these: of each service and of the waits the slowest ones, and typical
 * ones. The store keeps more (storage/report/exemplars.h), so that there is one near the median whatever the median turns out to be.
 */
#include "reporter/base/text_pool.h"
#include "storage/report/exemplars.h"
#include "storage/report/trace.h"

#include <stddef.h>

struct wp_facts;

struct wp_exemplar_fact {
    const char *service;     /* where the request came in; "" a wait */
    const char *host, *comm;
    uint32_t pid, tid;
    uint64_t start_ns;       /* realtime */
    uint64_t length_ns;
    unsigned rank;           /* 1 the slowest of its service; 0: it is not among the slowest */
    bool is_typical;
    bool is_beginning;       /* no single request or wait: the beginning of a recording (other_windows.h) */
    const char *title;       /* "The slowest request on tcp port 80" */
    const char *why;         /* a sentence: how it was chosen */
    const char *most;        /* the frame that stands on top longest, "" none ... */
    uint32_t most_category;
    uint64_t most_ns;        /* ... and how long */
    struct wp_trace *trace;  /* owned */
};

struct wp_exemplar_facts {
    struct wp_exemplar_fact *rows; /* in the pool; the slowest first, by service, then beginnings; their number on the site is index + 1 */
    size_t count;
};

/* Of facts that are built otherwise; texts go into their pool. -ENOMEM sets the pool's failed. */
void wp_exemplar_facts_build(struct wp_facts *facts, const struct wp_exemplars *set);
/* The beginning of a recording as a row; takes the trace. */
void wp_exemplar_facts_window(struct wp_pool *pool, struct wp_exemplar_fact *fact, struct wp_trace *trace);
void wp_exemplar_facts_fini(struct wp_exemplar_facts *exemplars);
/* The first of that service that is among the slowest, or typical: its number, 0 none. */
unsigned wp_exemplar_facts_find(const struct wp_facts *facts, const char *service, bool is_typical);

#endif
