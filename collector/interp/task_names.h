/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_TASK_NAMES_H
#define WP_COLLECTOR_INTERP_TASK_NAMES_H
/* Names that a program has given to tasks, of which the kernel side has left no digit. */
#include "collector/host/source.h"
#include "common/buffer.h"

/* Appends the name, as far as it goes (WP_INTERP_TASK_NAME bytes at most), with its end (0); each number is "N". */
void wp_task_name_put(struct wp_buffer *out, const struct wp_fact_text *name);

#endif
