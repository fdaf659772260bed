/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_INSTALLED_H
#define WP_CLI_BASE_INSTALLED_H
/* How a daemon is set up on this host: its own word (--print-config), so that nobody else judges its files. */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>

#define WP_INSTALLED_VALUES 64u

struct wp_installed {
    bool is_set_up;  /* there is a file of settings, or a variable that names one */
    bool is_missing; /* the program is not there */
    bool is_sound;   /* and the daemon takes it */
    char file[256];
    struct wp_buffer text; /* what it printed; of a refusal, its complaint */
};

/* `name`: "collector" or "aggregator". -ENOENT: it is set up and the program is not there. */
int wp_installed_read(struct wp_installed *installed, const char *name, struct wp_error *err);
/* Frees the text, also after a failed read. */
void wp_installed_fini(struct wp_installed *installed);
/* The index-th value of a key, "true" of a switch that is on; false: it has no more. */
bool wp_installed_value(
    const struct wp_installed *installed, const char *key, unsigned index, char *value, size_t room);
/* Where it tells its metrics: as set, `usual` when it is not set up here, "" when it tells none. */
void wp_installed_metrics(const struct wp_installed *installed, const char *usual, char *address, size_t room);

#endif
