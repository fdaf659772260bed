/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_CAUSE_LOCK_H
#define WP_REPORTER_EVIDENCE_CAUSE_LOCK_H
/* What a sleep is for: its system call, and of a futex whether that is a lock, a condition or a semaphore. */
#include "common/lock_call.h"
#include "reporter/facts/code_location.h"

#include <stdbool.h>

/* Whether the function at that node is the program's own. */
bool wp_cause_is_own_function(const struct wp_facts *facts, uint32_t node);
/* Whether this node sleeps for a lock, or for a semaphore that threads take and give back; *name of it, "" when it has
 * none. A futex that functions wait on of which none is a known call is no lock: it may be anything that another
 * thread does. */
bool wp_cause_is_lock(const struct wp_facts *facts, uint32_t sleep, const char **name);
/* What a language calls the lock that this node sleeps for: "GIL", "monitor"; NULL: it is none of a language's. */
const char *wp_cause_language_lock(const struct wp_facts *facts, uint32_t sleep);
/* The system call of a sleep's frame, "recvfrom" of "sleep:recvfrom tcp 10.0.0.7:5432": its length; 0 it is no sleep.
 */
size_t wp_cause_call(const struct wp_facts *facts, uint32_t sleep, const char **call);
/* Whether it is a call on a read-write lock of the threads library. */
bool wp_cause_is_rwlock(const struct wp_facts *facts, uint32_t sleep);
/* Whether it waits for a semaphore of the program's. */
bool wp_cause_is_semaphore(const struct wp_facts *facts, uint32_t sleep);
/* Whether it waits by a futex with a name, or by a semaphore, for what another thread does: nobody has it. */
bool wp_cause_is_event(const struct wp_facts *facts, uint32_t sleep);
/* Whether the function of that node calls what sleeps there, too: its thread takes what it gives back. */
bool wp_cause_is_called_by(const struct wp_facts *facts, uint32_t sleep, uint32_t function);
/* Whether it may wait for what a thread of the same role gives back: by a condition, or a semaphore that is no event.
 */
bool wp_cause_may_be_pool(const struct wp_facts *facts, uint32_t sleep);
/* Whether it waits for the lock of a condition that it was woken on. */
bool wp_cause_is_after_condition(const struct wp_facts *facts, uint32_t sleep);
/* Whether it waits on a futex for nothing that somebody has or signals: a thread's end, a barrier, work. */
bool wp_cause_is_idle(const struct wp_facts *facts, uint32_t sleep);
/* Whether it waits at a barrier, for the last of the threads that meet there. */
bool wp_cause_is_barrier(const struct wp_facts *facts, uint32_t sleep);
/* Whether it waits on a condition. */
bool wp_cause_is_condition(const struct wp_facts *facts, uint32_t sleep);
/* Whether it sleeps on a futex, for whatever. */
bool wp_cause_is_futex(const struct wp_facts *facts, uint32_t sleep);
/* What the threads library's call around a futex makes the thread wait for. */
enum wp_lock_call wp_cause_lock_call(const struct wp_facts *facts, uint32_t sleep);

/* Whether what a sleep names is the port itself or a connection that others opened to it, "tcp :8101": they ask there,
 * not who waits on it. */
bool wp_cause_is_accepted(const char *peer);
/* A lock of a database's own that a statement waits there for, by the functions around it: "row lock", "table lock";
 * NULL: it is none that is known. */
const char *wp_cause_database_lock(const struct wp_facts *facts, uint32_t sleep);

#endif
