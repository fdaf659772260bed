/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CONFIG_FILE_H
#define WP_COMMON_CONFIG_FILE_H
/*
 * The text of a configuration file in libconfuse's grammar: `key = value`, `key = {value, value}`, `key += value`,
 * comments after # or //. The keys are the long options of a table, so there is no second list of them.
 */
#include "common/error.h"

#include <argp.h>
#include <stdbool.h>

#define WP_CONFIG_FILE_LIMIT (1u << 20) /* bytes of a file */
#define WP_CONFIG_VALUES 1024u          /* values in one */
#define WP_CONFIG_VALUE_LIMIT 4096u     /* bytes of a value */

/* One value, as it stands in the file, in the file's order. A refusal is given at its line. */
typedef int (*wp_config_take)(
    void *context, const struct argp_option *option, const char *value, unsigned line, struct wp_error *err);

struct wp_config_taker {
    wp_config_take take;
    void *context;
};

/* `keys` ends with {0} and has only rows that may be set by a file. An error begins with "PATH:LINE: ". */
int wp_config_file_parse(const char *path, const char *text, const struct argp_option *keys,
    const struct wp_config_taker *taker, struct wp_error *err);
/* True for an option of which there may be several: its help says "may be repeated". */
bool wp_config_repeats(const struct argp_option *option);
/* "true", "yes", "on", "1" and their opposites, for options without an argument. -EINVAL. */
int wp_config_switch(const char *value, bool *is_on, struct wp_error *err);

#endif
