/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_RUNNING_FILES_H
#define WP_COLLECTOR_UNWIND_RUNNING_FILES_H
/*
 * The files whose code the processes have mapped that took most CPU time of those that run: who has answered before is
 * asked again. They are known before their first event, so that its stack is whole.
 */
struct wp_met_file;

/* Of at most 64 processes, the busiest first, at most 256 files each; those of many processes come many times. */
void wp_running_files(void (*take)(void *context, const struct wp_met_file *file), void *context);

#endif
