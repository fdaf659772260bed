/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_HOST_PIDS_H
#define WP_COMMON_HOST_PIDS_H
#include <stdbool.h>
#include <stdint.h>

/* Whether /proc here has processes by the ids that the kernel's events tell: false in a pid namespace other than the
 * host's, where files and functions of processes cannot be found. True as well where it cannot be known. */
bool wp_host_pids_are_seen(void);
/* Whether a process has threads behind its first one, which may have ended. */
bool wp_host_has_threads(uint32_t pid);

#endif
