/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CONFIG_H
#define WP_COMMON_CONFIG_H
/*
 * A program's settings from its command line, the environment and a file, in that order of strength, by its one table of
 * argp options: a long option `--ring-size` is also WAKEPATH_COLLECTOR_RING_SIZE and the key `ring-size` of a file. What
 * file and environment say is put before the command line as further options, so argp judges all values alike; an error
 * in one names the line or the variable. Adds --config, --no-config, --check-config and --print-config.
 */
#include "common/error.h"
#include "common/log.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

struct wp_config_spec {
    const char *name;              /* "collector": variables are WAKEPATH_COLLECTOR_... */
    const char *file;              /* read when it is there and no other is named; NULL: only when named */
    const char *const *flags_only; /* options that are no keys, ends with NULL; NULL: none */
};

struct wp_config;

/* As argp_parse of argp, argv and input, with file and environment. Exits as argp does: on wrong use, a wrong file (64),
 * and after --check-config and --print-config (0). Strings that `argp` took live until wp_config_destroy(*config). */
void wp_config_parse(struct wp_config **config, const struct wp_config_spec *spec, const struct argp *argp, int argc,
    char **argv, void *input);
/* NULL-safe. */
void wp_config_destroy(struct wp_config *config);

/* A key that can change while the program runs. `values` are all that is set now, none: the default holds again. */
struct wp_config_live {
    const char *key;
    int (*apply)(void *context, const char *const *values, size_t count, struct wp_error *err);
};

/* Reads file and environment anew and applies what differs, by the rows of `live` (ends with {0}). What differs and is
 * not among them is named as waiting for a restart. A wrong file changes nothing. Everything is told to `logger`. */
void wp_config_reload(struct wp_config *config, const struct wp_config_live *live, void *context,
    const struct wp_logger *logger);
/* An apply function for a log level; `context` is a struct wp_logger, the default is info. */
int wp_config_apply_log_level(void *context, const char *const *values, size_t count, struct wp_error *err);

#endif
