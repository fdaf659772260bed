/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_ROLE_NAME_H
#define WP_REPORTER_FACTS_ROLE_NAME_H
/* Names of processes and threads without the numbers that a pool, a CPU or the kernel gave them: their role. */
#include <stdbool.h>
#include <stddef.h>

#define WP_ROLE_BYTES 512u

/* A worker of the kernel, whose numbers say nothing from one recording to the next: "[kworker/u8:2]". */
bool wp_role_is_kernel(const char *name);
/*
 * "[kworker/u*:*]" of "[kworker/u8:6-events]" (what it worked on when its name was read is chance),
 * "[pool-*-thread-*]" of "[pool-3-thread-7]". Only numbers that something parts from the word before them: "[cc1]",
 * "[node16]" and "[x86_64]" stay. What stands before and behind the brackets stays, too. In `room`, or the name itself
 * where it does not fit or has no brackets.
 */
const char *wp_role_name(char room[WP_ROLE_BYTES], const char *name);

#endif
