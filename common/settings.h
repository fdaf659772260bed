/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SETTINGS_H
#define WP_COMMON_SETTINGS_H
/* What is set and where it comes from: the values of a table of options, each with its origin. For common/config.c. */
#include "common/error.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum wp_setting_level { WP_SET_BY_FILE, WP_SET_BY_ENVIRONMENT, WP_SET_BY_FLAG }; /* the stronger the later */

/* One value of one option, and where it comes from. */
struct wp_setting {
    const struct argp_option *option;
    enum wp_setting_level level;
    char *text;   /* owned: "--key=value", what argp gets */
    char *value;  /* inside text; NULL: an option without argument */
    char *origin; /* owned: "FILE:LINE", "$VARIABLE", "command line" */
    bool is_off;  /* a switch that is said not to be on */
};

/* All values, in the order in which they were added; wp_settings_values picks those in force. */
struct wp_settings {
    const struct argp_option *keys; /* borrowed, ends with {0} */
    struct wp_setting *items;       /* owned */
    size_t count;
};

/* Frees all values, and with them the strings that wp_settings_values gave. `keys` stay; zeroed is allowed. */
void wp_settings_fini(struct wp_settings *settings);
/* What is said of a key, and where. */
struct wp_setting_value {
    enum wp_setting_level level;
    const char *value, *origin; /* as in struct wp_setting; copied */
};
/* Adds a value unless the same key is set on a stronger level. -EINVAL for a switch that is neither on nor off. */
int wp_settings_add(struct wp_settings *settings, const struct argp_option *option, const struct wp_setting_value *said,
    struct wp_error *err);
/* All variables that begin with `prefix`. One that no key has is refused, unless Kubernetes may have made it. A key
 * that may be repeated has one value a line. An empty variable is none. */
int wp_settings_environment(
    struct wp_settings *settings, const char *prefix, char *const *environment, struct wp_error *err);
/* A whole file. */
int wp_settings_file(struct wp_settings *settings, const char *path, struct wp_error *err);
/* Copies pointers to the values of `option` that are in force, "" for a switch that is on; at most `room`. The count.
 */
size_t wp_settings_values(
    const struct wp_settings *settings, const struct argp_option *option, const char **values, size_t room);
/* Writes a file that says what is in force, with the origins; what is not set is a comment. Keys of `live` (ends with
 * NULL; NULL: none) are marked: a reload changes them. */
void wp_settings_print(const struct wp_settings *settings, const char *const *live, FILE *out);

#endif
