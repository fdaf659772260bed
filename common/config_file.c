/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_file.h"

#include <confuse.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* libconfuse hands no context to its callbacks: it rides in an option that no file can set, since it has no reader. */
#define CONTEXT_KEY "\001"

struct reading {
    const char *path;
    const struct argp_option *keys;
    wp_config_take take;
    void *context;
    unsigned count;
    unsigned *first_lines; /* a key each, 0: not yet; owned */
    struct wp_error *err;
    bool has_failed;
};

bool wp_config_repeats(const struct argp_option *option)
{
    return option->doc && strstr(option->doc, "may be repeated");
}

int wp_config_switch(const char *value, bool *is_on, struct wp_error *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (!strcasecmp(value, words[i])) {
            *is_on = i % 2;
            return 0;
        }
    }
    return wp_error_set(err, -EINVAL, "is true or false, not '%.100s'", value);
}

static struct reading *reading_of(cfg_t *cfg)
{
    return *cfg_getopt(cfg, CONTEXT_KEY)->simple_value.ptr;
}

/* The first error is the one that is told: what follows from it would only confuse. */
static void on_error(cfg_t *cfg, const char *format, va_list list)
{
    struct reading *reading = reading_of(cfg);
    char text[512];
    if (reading->has_failed)
        return;
    vsnprintf(text, sizeof(text), format, list);
    reading->has_failed = true;
    wp_error_set(reading->err, -EINVAL, "%s:%d: %s", reading->path, cfg->line, text);
}

static size_t key_index(const struct reading *reading, const char *name)
{
    size_t i = 0;
    while (strcmp(reading->keys[i].name, name))
        i++;
    return i;
}

static int take_value(struct reading *reading, cfg_t *cfg, cfg_opt_t *opt, const char *value, struct wp_error *err)
{
    size_t at = key_index(reading, opt->name);
    const struct argp_option *option = &reading->keys[at];
    unsigned *first = &reading->first_lines[at];
    bool is_on;
    if (strlen(value) > WP_CONFIG_VALUE_LIMIT || ++reading->count > WP_CONFIG_VALUES)
        return wp_error_set(
            err, -E2BIG, "more than %u values, or one of more than %u bytes", WP_CONFIG_VALUES, WP_CONFIG_VALUE_LIMIT);
    if (*first && !wp_config_repeats(option))
        return wp_error_set(err, -EINVAL, "'%s' takes one value, and has one from line %u", option->name, *first);
    if (*first && opt->nvalues == 1) /* the place for this one is counted already: "=" began anew */
        return wp_error_set(err, -EINVAL, "'%s' is set in line %u already: add with +=, or write a list {\"a\", \"b\"}",
            option->name, *first);
    if (!option->arg && wp_config_switch(value, &is_on, err))
        return wp_error_wrap(err, -EINVAL, "'%s'", option->name);
    if (!*first)
        *first = (unsigned)cfg->line;
    return reading->take(reading->context, option, value, (unsigned)cfg->line, err);
}

static int on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
    struct wp_error err = {0};
    if (take_value(reading_of(cfg), cfg, opt, value, &err)) {
        cfg_error(cfg, "%s", err.text);
        return -1;
    }
    *(const char **)result = value; /* libconfuse copies it */
    return 0;
}

static cfg_opt_t *options_of(const struct reading *reading, void **context, size_t count)
{
    cfg_opt_t *opts = calloc(count + 2, sizeof(*opts));
    if (!opts)
        return NULL;
    for (size_t i = 0; i < count; i++)
        opts[i] = (cfg_opt_t)CFG_STR_LIST_CB(reading->keys[i].name, NULL, CFGF_NODEFAULT, on_value);
    opts[count] = (cfg_opt_t)CFG_PTR_CB(CONTEXT_KEY, NULL, CFGF_NODEFAULT, NULL, NULL);
    opts[count].simple_value.ptr = context;
    opts[count + 1] = (cfg_opt_t)CFG_END();
    return opts;
}

/* Comments become blanks, for libconfuse 3.3 counts the line of a comment three times. A `//` inside a word is none, so
 * that an endpoint needs no quotes. */
static void blank_comments(char *text)
{
    char quote = 0, before = '\n';
    for (char *c = text; *c; before = *c++) {
        if (quote && *c == '\\' && c[1]) {
            c++;
        } else if (quote) {
            quote = *c == quote ? 0 : quote;
        } else if (*c == '"' || *c == '\'') {
            quote = *c;
        } else if (*c == '#' || (*c == '/' && c[1] == '/' && strchr(" \t\r\n={},+", before))) {
            while (c[1] && c[1] != '\n')
                *c++ = ' ';
            *c = ' ';
        } else if (*c == '/' && c[1] == '*' && strchr(" \t\r\n={},+", before)) {
            const char *end = strstr(c + 2, "*/");
            for (; end && c < end + 1; c++)
                *c = *c == '\n' ? '\n' : ' ';
            *c = ' ';
        }
    }
}

int wp_config_file_parse(const char *path, const char *text, const struct argp_option *keys,
    const struct wp_config_taker *taker, struct wp_error *err)
{
    struct wp_error mine = {0};
    struct reading reading = {.path = path, .keys = keys, .take = taker->take, .context = taker->context, .err = &mine};
    void *pointer = &reading;
    size_t count = 0;
    while (keys[count].name)
        count++;
    char *copy = strdup(text);
    reading.first_lines = calloc(count + 1, sizeof(*reading.first_lines));
    cfg_opt_t *opts = copy && reading.first_lines ? options_of(&reading, &pointer, count) : NULL;
    cfg_t *cfg = opts ? cfg_init(opts, CFGF_NONE) : NULL;
    int rc = cfg ? 0 : wp_error_set(err, -ENOMEM, "%s: out of memory", path);
    if (cfg) {
        cfg_set_error_function(cfg, on_error);
        blank_comments(copy);
        if (cfg_parse_buf(cfg, copy) != CFG_SUCCESS || reading.has_failed)
            rc = reading.has_failed ? wp_error_set(err, -EINVAL, "%s", mine.text)
                                    : wp_error_set(err, -EINVAL, "%s: it cannot be read", path);
        cfg_free(cfg);
    }
    free(opts);
    free(copy);
    free(reading.first_lines);
    return rc;
}
