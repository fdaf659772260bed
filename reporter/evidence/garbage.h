/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_GARBAGE_H
#define WP_REPORTER_EVIDENCE_GARBAGE_H
/* Which frames are a runtime's that collects garbage. */
#include "reporter/facts/facts.h"

#include <stdbool.h>

/* A function that does so, or what a program calls itself to have it done. */
bool wp_garbage_is_function(const struct wp_facts *facts, uint32_t node);
/* The process node of a thread that does nothing else; a process may be named anything. */
bool wp_garbage_is_thread(const struct wp_facts *facts, uint32_t node);

#endif
