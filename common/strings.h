/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_STRINGS_H
#define WP_COMMON_STRINGS_H
/* Growing arrays of owned strings: char **strings, size_t count; both start as zero. */
#include <stddef.h>

/* Frees each and the array. */
void wp_strings_free(char **strings, size_t count);
/* Appends a copy. -ENOMEM. */
int wp_strings_add(char ***strings, size_t *count, const char *text);

#endif
