/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_PAUSES_H
#define WP_REPORTER_EVIDENCE_PAUSES_H
/* Where a language's runtime stops the program's threads, and what for. */
#include "reporter/facts/facts.h"

#include <stdbool.h>

/* What the function at that node stops its thread for: "at a safepoint"; NULL: it does not. */
const char *wp_pause_words(const struct wp_facts *facts, uint32_t node);
/* Whether a thread of Go's sleeps at that node since a system call, as its scheduler has given its processor away. */
bool wp_pause_is_after_call(const struct wp_facts *facts, uint32_t sleep);
/* The process node of the thread that stops all others of its process; a process may be named anything. */
bool wp_pause_is_thread(const struct wp_facts *facts, uint32_t node);
/* Whether that is the process node of the thread that keeps the timers of Java's virtual threads, and its sleep at the
 * other node has no frames of the one that waits. */
bool wp_pause_is_timer_thread(const struct wp_facts *facts, uint32_t node, uint32_t sleep);
/* The size of "VM_ThreadDump" in "VM_ThreadDump::doit"; 0: the function is no operation's of HotSpot
 * (vmOperations.hpp). For any thread. */
size_t wp_pause_operation_size(const char *function);

#endif
