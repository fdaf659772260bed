/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_OPTION_VALUES_H
#define WP_REPORTER_CMD_OPTION_VALUES_H
/* Values that several commands' options take. What is not one ends the parsing with argp_error. Texts are borrowed. */
#include "reporter/base/row_limit_types.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_contour;

/* Seconds since the epoch, as --since takes them. */
uint64_t wp_option_time(const struct argp_state *state, const char *text);
/* At the end of the options: --since before --until, 0: not given. */
void wp_option_times_end(const struct argp_state *state, uint64_t since_s, uint64_t until_s);
/* The name of an aggregate. */
const char *wp_option_aggregate(const struct argp_state *state, const char *text);
/* 0 to `limit`; `what`: "number of rows". */
unsigned wp_option_count(const struct argp_state *state, const char *what, const char *text, unsigned limit);
/* Hosts as --hosts takes them. */
const char *wp_option_hosts(const struct argp_state *state, const char *text);
/* Hosts as --canary takes them: some, not all but some. */
const char *wp_option_canary(const struct argp_state *state, const char *text);
/* Appends one root of --store to `stores`, which has room for WP_STORES_LIMIT. */
void wp_option_store(const struct argp_state *state, const char **stores, size_t *count, const char *root);
/* At the end of the options: where no root was given, that of the recording in the current folder. Whether it is that.
 */
bool wp_option_stores_end(const struct argp_state *state, const char **stores, size_t *count);
/* Adds to what is left out of stacks: "process=cron". */
void wp_option_contour(const struct argp_state *state, struct wp_contour *contour, const char *text);
/* A limit of rows as --at-least takes it: "1%", "10ms", "5". */
struct wp_row_limit wp_option_limit(const struct argp_state *state, const char *text);
/* The bit of a category (1 << enum wp_category), by its key. */
unsigned wp_option_category(const struct argp_state *state, const char *text);

#endif
