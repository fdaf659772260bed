/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_NEAREST_H
#define WP_COMMON_NEAREST_H
/* Which known word somebody meant who wrote another one: "did you mean". */
#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* The nearest of `words` by letters left out, added, changed or swapped (Damerau, CACM 7, 1964), or that begins so;
 * NULL: none is near. Of equal ones the first. */
const char *wp_nearest(const char *word, const char *const *words, size_t count);

/* Before argp_parse: a long option that argp and its children do not know, and that is near to one they do, ends the
 * program as argp does, with a line that names that one. `in_order`: the first argument ends the options. */
void wp_options_check(const struct argp *argp, int argc, char **argv, bool in_order);

#endif
