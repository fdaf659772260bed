/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_ARGS_H
#define WP_CLI_BASE_ARGS_H
/* An argument vector under construction: init with {0}; a failed append is remembered, so check once at the end. */
#include <stdbool.h>
#include <stddef.h>

struct wp_args {
    char **items; /* owned, ends with NULL */
    size_t count;
    bool failed;
};

/* Frees vector and texts; zeroed arguments are allowed. */
void wp_args_fini(struct wp_args *args);
/* Appends a copy of `text`, not NULL. */
void wp_args_add(struct wp_args *args, const char *text);
/* Appends a formatted text. */
void wp_args_addf(struct wp_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
