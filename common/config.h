/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CONFIG_H
#define WP_COMMON_CONFIG_H
/*
 * A program's settings from its command line, the environment and a file, in that order of strength, by its one table
 * of argp options: a long option `--ring-size` is also WAKEPATH_COLLECTOR_RING_SIZE and the key `ring-size` of a file.
 * What file and environment say is put before the command line as further options, so argp judges all values alike; an
 * error in one names the line or the variable. Adds --config, --no-config, --check-config and --print-config.
 */
#include "common/error.h"
#include "common/log.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

struct wp_config_spec {
    const struct argp *argp;
    const char *name;              /* "collector": variables are WAKEPATH_COLLECTOR_... */
    const char *file;              /* read when it is there and no other is named; NULL: only when named */
    const char *const *flags_only; /* options that are no keys, ends with NULL; NULL: none */
    const char *const *live;       /* keys that a reload changes at once, ends with NULL; NULL: none */
};

struct wp_config;

/* As argp_parse of the spec's argp, argv and input, with file and environment. Exits as argp does: on wrong use, a
 * wrong file (64), and after --check-config and --print-config (0). Strings that `argp` took live until
 * wp_config_destroy(*config). */
void wp_config_parse(struct wp_config **config, const struct wp_config_spec *spec, int argc, char **argv, void *input);
/* NULL-safe. */
void wp_config_destroy(struct wp_config *config);

/* What a parser says of a wrong value, instead of argp_error: ends the program at its start, and refuses a reload. */
void wp_config_refuse(const struct argp_state *state, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* Reads file and environment anew and has the parser take them, below the command line as before, into `input`, which
 * is as it was before wp_config_parse. True: all of it is sound, and the caller takes what its spec calls live; what
 * else differs waits for the next start, and the log names it. False: one mistake anywhere, nothing changes; the log
 * says where it is. Strings in `input` live until the next reload. */
bool wp_config_reload(struct wp_config *config, void *input, const struct wp_logger *logger);

#endif
