/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_CODE_LOCATION_H
#define WP_REPORTER_FACTS_CODE_LOCATION_H
/*
 * Where in the application a piece of time stands: the innermost function of its layer that is the program's own. The C
 * library, the runtimes of languages, the interpreters and the kernel are how the program waits, not where.
 */
#include "reporter/facts/facts.h"

struct wp_code_location {
    const char *function; /* NULL: no function of the program is known there */
    const char *file;     /* NULL: its line is not known */
    const char *call;     /* what that line calls, in the C library or a runtime; NULL: it is the program's own work */
    uint32_t line;
};

/* How near to the program a function is: 0 kernel and no function, 1 libc, runtime or interpreter, 2 another library, 3
 * its own. */
unsigned wp_code_location_rank(uint32_t style, const char *name, const char *object);
/* Whether each program of a language begins in a function of that name, whatever it does. For any thread. */
bool wp_code_location_is_entry(const char *function);
/* Whether the name stands for one function: neither where all begins, nor what several are called ("<anonymous>",
 * "{closure}", "block in <main>"). */
bool wp_code_location_is_one(const char *function);
/* The frame that runs at a node: its own, or what an interpreter's own function stands on, the function that it runs.
 */
uint32_t wp_code_location_running(const struct wp_facts *facts, uint32_t node);
/* By node of the flame: the node of its layer's place, 0 none; in the pool, NULL when out of memory. */
uint32_t *wp_code_locations_build(struct wp_pool *pool, const struct wp_facts *facts);
/* The place of what stands on `node`; `locations` as built. */
struct wp_code_location wp_code_location_at(const struct wp_facts *facts, const uint32_t *locations, uint32_t node);
/* The program's own function that calls the one at that place, by the node of its place: of the same layer, and no call
 * of itself; 0 none. */
uint32_t wp_code_location_caller(const struct wp_facts *facts, const uint32_t *locations, uint32_t node);
/* The place of the call there, on the way to `node`: `caller` as found for it. */
struct wp_code_location wp_code_location_call(const struct wp_facts *facts, uint32_t caller, uint32_t node);
/* "`update_cache` (orders.c:34)"; "" when nothing is known. */
const char *wp_code_location_text(struct wp_pool *pool, const struct wp_code_location *location);

#endif
