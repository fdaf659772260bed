/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_STORAGE_MADE_REPORT_H
#define WP_TESTS_STORAGE_MADE_REPORT_H
/* Random reports and traces from a seed: a list of facts, to be added in any order and to any number of reports. */
#include "storage/report/report.h"
#include "storage/report/trace.h"

#include <stddef.h>
#include <stdint.h>

enum made_kind {
    MADE_TIME,
    MADE_PROCESS,
    MADE_UNEXPLAINED,
    MADE_ACTIVITY,
    MADE_HOST,
    MADE_EVENTS,
    MADE_LIMIT,
    MADE_WINDOW,
    MADE_UNCERTAIN,
    MADE_DETACHED,
    MADE_EDGE,
    MADE_TRANSACTION,
    MADE_TIMED,
    MADE_LINE,
    MADE_KINDS
};

struct made_fact {
    enum made_kind kind;
    unsigned depth;      /* of the stack */
    unsigned frames[12]; /* which frame at each depth */
    uint64_t a, b, c, d;
};

uint64_t made_random(uint64_t *seed);
void made_facts(struct made_fact *facts, size_t count, uint64_t seed);
void made_shuffle(struct made_fact *facts, size_t count, uint64_t *seed);
void made_add(struct wp_report *report, const struct made_fact *fact);
struct wp_report *made_report(const struct made_fact *facts, size_t count);
/* When a MADE_TIMED fact was: seconds of stretches in an hour, now and then one of days. */
void made_interval(const struct made_fact *fact, uint64_t *start_ns, uint64_t *end_ns);
/* A frame's name, by its number, with hostile ones among them. */
const char *made_name(unsigned frame);
struct wp_trace *made_trace(uint64_t seed, unsigned rows);

#endif
