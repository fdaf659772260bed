/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CONFIG_VALUE_H
#define WP_COMMON_CONFIG_VALUE_H
/*
 * Values that options of several programs take, judged alike: each returns what is right and refuses what is not by
 * wp_config_refuse, which says what the option takes. Texts are borrowed.
 */
#include "common/log.h"
#include "common/path.h"
#include "common/selector.h"
#include "common/window.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Options that go into a field as they are: rows of a table, which ends with {0}. */
enum wp_config_kind {
    WP_CONFIG_TEXT,
    WP_CONFIG_TEXT_OR_NONE, /* NULL for "none" */
    WP_CONFIG_FLAG,         /* a bool, which becomes `value` */
    WP_CONFIG_NUMBER        /* from low to high, times `value`; of 4 or 8 bytes */
};

/* One option and the field of the program's options that its argument goes into. */
struct wp_config_field {
    int key;
    enum wp_config_kind kind;
    size_t offset, size;
    const char *name; /* of a number's option: "--epoch" */
    uint32_t low, high;
    uint64_t value;
};

#define WP_CONFIG_FIELD(key, kind, type, field)                                                                        \
    {                                                                                                                  \
        key, kind, offsetof(type, field), sizeof(((type *)0)->field), 0, 0, 0, 1                                       \
    }
#define WP_CONFIG_CLEARED(key, type, field)                                                                            \
    {                                                                                                                  \
        key, WP_CONFIG_FLAG, offsetof(type, field), sizeof(bool), 0, 0, 0, 0                                           \
    }
#define WP_CONFIG_NUMBER_FIELD(key, name, type, field, low, high, factor)                                              \
    {                                                                                                                  \
        key, WP_CONFIG_NUMBER, offsetof(type, field), sizeof(((type *)0)->field), name, low, high, factor              \
    }

/* Puts the argument into its field of `options`; false: the key is in no row. */
bool wp_config_put(
    const struct wp_config_field *fields, void *options, const struct argp_state *state, int key, const char *text);
/* A decimal number from low to high of the option `option` ("--epoch"). */
uint32_t wp_config_number(
    const struct argp_state *state, const char *option, const char *text, uint32_t low, uint32_t high);
/* `text`, as wp_id_valid has it; `what` is said of a wrong one: "a release", "a shard". */
const char *wp_config_id(const struct argp_state *state, const char *what, const char *text);
/* The level of that name, as wp_log_level_parse has it. */
enum wp_log_level wp_config_log_level(const struct argp_state *state, const char *text);
/* A recording window, as wp_window_parse has it; a refusal names --window. */
struct wp_window wp_config_window(const struct argp_state *state, const char *text);
/* NAME=SELECTOR: the name (1 to 128 bytes, not judged otherwise) goes to name, the selector to *selector, for
 * wp_selector_fini; `takes` is said of what has no such form: "--aggregate takes NAME=SELECTOR". */
void wp_config_named_selector(const struct argp_state *state, const char *takes, const char *text,
    char name[WP_ID_ROOM], struct wp_selector *selector);

#endif
