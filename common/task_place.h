/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_TASK_PLACE_H
#define WP_COMMON_TASK_PLACE_H
/*
 * Tasks of tokio on native stacks, by names of functions: its harness polls what was spawned, and the first function of
 * the program inside of that says which task it is. A call of block_on has no harness, so it is no task.
 */
#include <stdbool.h>
#include <stddef.h>

#define WP_TASK_PLACE_OBJECT "tokio/src/runtime/task/mod.rs" /* object of the frames of such tasks */

/* What the functions of a stack say so far; zeroed before the outermost one. */
struct wp_task_place {
    bool is_polled;   /* a task, of which no function was seen yet */
    bool is_nameless; /* and its first one may have been one whose name says nothing */
};

/* One more function with its object file, the outermost comes first. True: it is the first one of a task's own. For any
 * thread. */
bool wp_task_place_add(struct wp_task_place *place, const char *function, const char *object);
/* "task shop::serve" of its first function shop::serve::{{closure}}: without what the compiler numbers, and of a future
 * with a type of its own that type. Cut to room, which is not 0. For any thread. */
void wp_task_place_name(const char *function, char *name, size_t room);

#endif
