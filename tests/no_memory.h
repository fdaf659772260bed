/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_NO_MEMORY_H
#define WP_TESTS_NO_MEMORY_H
/* Allocations that fail from a chosen one on, in a test that is linked with no_memory.c and NO_MEMORY_WRAP. */

/* `given` allocations succeed from now on, those after them fail; -1: none fails. */
void no_memory_after(long given);

#endif
