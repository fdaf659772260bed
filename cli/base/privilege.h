/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_PRIVILEGE_H
#define WP_CLI_BASE_PRIVILEGE_H
/* Whether this process may record the kernel's events, asked before anything is started. */
#include "common/error.h"

#include <stddef.h>

/* 0, or -EPERM with what is missing and what to do. */
int wp_privilege_check(struct wp_error *err);
/* The capabilities that give names to what is recorded, as far as this process lacks them; "" when it has all. */
void wp_privilege_missing(char *text, size_t room);

#endif
