/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config.h"

#include "common/buffer.h"
#include "common/config_file.h"
#include "common/nearest.h"
#include "common/settings.h"
#include "common/version.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEYS 256u
#define VALUES 1024u /* of one key; a file has no more */

struct wp_config {
    const struct wp_config_spec *spec;
    argp_parser_t parser;             /* of all values */
    struct argp_option all[KEYS + 1]; /* every row of the table and its children's */
    struct argp_option keys[KEYS + 1];
    char prefix[64];
    char *path;                  /* the file, NULL: none; owned */
    bool is_off, checks, prints; /* --no-config, --check-config, --print-config */
    struct wp_settings settings; /* what the program began with */
    struct wp_settings reread;   /* what the last sound reload found */
    bool is_reread;              /* there was one */
    char **argv;                 /* owned; its strings are the settings' and the caller's */
};

enum { KEY_CONFIG = 0x7c00, KEY_NO_CONFIG, KEY_CHECK, KEY_PRINT };

static const struct argp_option own_options[] = {
    {0, 0, 0, 0, "Configuration:", 10},
    {"config", KEY_CONFIG, "FILE", 0, "read this file of settings; its keys are the long options", 10},
    {"no-config", KEY_NO_CONFIG, 0, 0, "read neither a file nor the environment", 10},
    {"check-config", KEY_CHECK, 0, 0, "check all settings, say so, and end", 10},
    {"print-config", KEY_PRINT, 0, 0, "print the settings in force and where they come from, and end", 10},
    {0},
};

/* --- the table of keys --- */

static bool is_listed(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (!strcmp(*list, name))
            return true;
    return false;
}

static size_t gather(struct wp_config *config, const struct argp *argp, size_t count)
{
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc || o->group); o++)
        if (count < KEYS)
            config->all[count++] = *o;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        count = gather(config, child->argp, count);
    return count;
}

static void choose_keys(struct wp_config *config, size_t all)
{
    size_t count = 0;
    for (const struct argp_option *o = config->all; o < config->all + all; o++)
        if (o->name && o->key && !(o->flags & (OPTION_ALIAS | OPTION_DOC)) &&
            !is_listed(config->spec->flags_only, o->name))
            config->keys[count++] = *o;
}

/* --- the first look at the command line: what it sets itself, and which file it wants --- */

static error_t scan_option(int key, char *argument, struct argp_state *state)
{
    struct wp_config *config = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = config;
        return 0;
    case KEY_CONFIG:
        free(config->path);
        config->path = strdup(argument);
        return config->path ? 0 : ENOMEM;
    case KEY_NO_CONFIG:
        config->is_off = true;
        return 0;
    case KEY_CHECK:
        config->checks = true;
        return 0;
    case KEY_PRINT:
        config->prints = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t scan_inner(int key, char *argument, struct argp_state *state)
{
    struct wp_config *config = state->input;
    if (key == ARGP_KEY_ARG)
        return 0;
    for (const struct argp_option *o = config->keys; o->name; o++)
        if (o->key == key)
            return wp_settings_add(
                       &config->settings, o, &(struct wp_setting_value){WP_SET_BY_FLAG, argument, "command line"}, NULL)
                ? ENOMEM
                : 0;
    return key & 0x1000000 ? ARGP_ERR_UNKNOWN : 0; /* argp's own events are beyond any option's key */
}

/* False when argp has something to say about the command line itself: --help, --version, a wrong option. */
static bool scan(struct wp_config *config, int argc, char **argv)
{
    const struct argp inner = {config->all, scan_inner, NULL, NULL, NULL, NULL, NULL};
    const struct argp_child children[] = {{&inner, 0, NULL, 0}, {0}};
    const struct argp outer = {own_options, scan_option, NULL, NULL, children, NULL, NULL};
    char **copy = calloc((size_t)argc + 1, sizeof(*copy)); /* getopt reorders what it reads */
    if (!copy)
        return false;
    memcpy(copy, argv, (size_t)argc * sizeof(*copy));
    error_t rc = argp_parse(&outer, argc, copy, ARGP_SILENT, NULL, config);
    free(copy);
    return !rc;
}

/* --- the parse that counts --- */

struct parse {
    struct wp_config *config;
    const struct argp *inner;
    void *input;
    FILE *errors;    /* stderr without argp's line about --help, which is of no help with a file */
    size_t *origins; /* of argv[1 + i]: which setting; owned */
    size_t count;    /* of settings put before the command line */
};

static ssize_t write_error(void *cookie, const char *text, size_t size)
{
    const char *hint = memmem(text, size, "\nTry `", 6);
    size_t wanted = hint ? (size_t)(hint - text) + 1 : size;
    (void)cookie;
    ssize_t done = write(STDERR_FILENO, text, wanted);
    return done < 0 ? 0 : (ssize_t)size;
}

static error_t call_inner(struct parse *parse, int key, char *argument, struct argp_state *state)
{
    state->input = parse->input;
    error_t rc = parse->inner->parser ? parse->inner->parser(key, argument, state) : ARGP_ERR_UNKNOWN;
    state->input = parse;
    return rc;
}

static error_t parse_inner(int key, char *argument, struct argp_state *state)
{
    struct parse *parse = state->input;
    size_t index = (size_t)state->next - 2; /* of the word that is being parsed, the program's name not counted */
    if (key & 0x1000000 || state->next < 2 || index >= parse->count)
        return call_inner(parse, key, argument, state);
    char where[512], *name = state->name;
    FILE *errors = state->err_stream;
    snprintf(where, sizeof(where), "%s: %s", name, parse->config->settings.items[parse->origins[index]].origin);
    state->name = where;
    if (parse->errors)
        state->err_stream = parse->errors;
    error_t rc = call_inner(parse, key, argument, state);
    state->name = name;
    state->err_stream = errors;
    return rc;
}

static error_t parse_outer(int key, char *argument, struct argp_state *state)
{
    struct parse *parse = state->input;
    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = parse;
        return 0;
    case KEY_CONFIG:
    case KEY_NO_CONFIG:
    case KEY_CHECK:
    case KEY_PRINT:
        return 0; /* the scan took them */
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void add_words(struct parse *parse, int *argc, enum wp_setting_level level)
{
    struct wp_config *config = parse->config;
    for (size_t i = 0; i < config->settings.count; i++) {
        struct wp_setting *setting = &config->settings.items[i];
        if (setting->level != level || setting->is_off)
            continue;
        parse->origins[parse->count++] = i;
        config->argv[(*argc)++] = setting->text;
    }
}

static void parse_all(struct parse *parse, int argc, char **argv)
{
    const struct argp *given = parse->inner;
    const struct argp inner = {given->options, parse_inner, NULL, NULL, given->children, NULL, given->argp_domain};
    const struct argp_child children[] = {{&inner, 0, NULL, 0}, {0}};
    const struct argp outer = {
        own_options, parse_outer, given->args_doc, given->doc, children, given->help_filter, given->argp_domain};
    size_t most = parse->config->settings.count;
    int total = 1;
    parse->config->argv = calloc((size_t)argc + most + 1, sizeof(*argv));
    parse->origins = calloc(most + 1, sizeof(*parse->origins));
    parse->errors = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_error});
    if (!parse->config->argv || !parse->origins)
        exit(WP_EXIT_FAILURE);
    parse->config->argv[0] = argv[0];
    add_words(parse, &total, WP_SET_BY_FILE);
    add_words(parse, &total, WP_SET_BY_ENVIRONMENT);
    memcpy(parse->config->argv + total, argv + 1, ((size_t)argc - 1) * sizeof(*argv));
    argp_parse(&outer, total + argc - 1, parse->config->argv, 0, NULL, parse);
    if (parse->errors)
        fclose(parse->errors);
    free(parse->origins);
}

/* --- file and environment --- */

static int find_file(struct wp_config *config, struct wp_error *err)
{
    char variable[80];
    snprintf(variable, sizeof(variable), "%sCONFIG", config->prefix);
    const char *named = config->path ? config->path : getenv(variable);
    if (!named || !*named)
        named = config->spec->file && !access(config->spec->file, F_OK) ? config->spec->file : NULL;
    if (config->path || !named)
        return 0;
    config->path = strdup(named);
    return config->path ? 0 : wp_error_set(err, -ENOMEM, "out of memory for settings");
}

/* The environment first: a weaker level asks which keys the stronger ones have. */
static int read_sources(const struct wp_config *config, struct wp_settings *settings, struct wp_error *err)
{
    int rc = wp_settings_environment(settings, config->prefix, environ, err);
    return rc || !config->path ? rc : wp_settings_file(settings, config->path, err);
}

static void refuse(const char *program, const struct wp_error *err)
{
    fprintf(stderr, "%s: %s\n", program, err->text);
    exit(WP_EXIT_USAGE);
}

static struct wp_config *create(const struct wp_config_spec *spec, const struct argp *argp)
{
    struct wp_config *config = calloc(1, sizeof(*config));
    if (!config)
        exit(WP_EXIT_FAILURE);
    config->spec = spec;
    config->parser = argp->parser;
    config->settings.keys = config->reread.keys = config->keys;
    choose_keys(config, gather(config, argp, 0));
    snprintf(config->prefix, sizeof(config->prefix), "WAKEPATH_%s_", spec->name);
    for (char *c = config->prefix; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return config;
}

void wp_config_parse(
    struct wp_config **config_out, const struct wp_config_spec *spec, int argc, char **argv, void *input)
{
    const struct argp *argp = spec->argp;
    struct wp_config *config = *config_out = create(spec, argp);
    struct parse parse = {.config = config, .inner = argp, .input = input};
    struct wp_error err = {0};
    const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
    const struct argp all = {own_options, NULL, NULL, NULL, children, NULL, NULL};
    wp_options_check(&all, argc, argv, false);
    bool is_sound = scan(config, argc, argv);
    if (is_sound && config->is_off && config->path) {
        wp_error_set(&err, -EINVAL, "--no-config and --config: give one of them");
        refuse(program_invocation_short_name, &err);
    }
    if (is_sound && !config->is_off && (find_file(config, &err) || read_sources(config, &config->settings, &err)))
        refuse(program_invocation_short_name, &err);
    parse_all(&parse, argc, argv);
    if (config->prints)
        wp_settings_print(&config->settings, spec->live, stdout);
    else if (config->checks)
        printf("%s: the configuration is sound%s%s\n", program_invocation_short_name, config->path ? ": " : "",
            config->path ? config->path : "");
    if (config->prints || config->checks)
        exit(WP_EXIT_OK);
}

void wp_config_destroy(struct wp_config *config)
{
    if (!config)
        return;
    wp_settings_fini(&config->settings);
    wp_settings_fini(&config->reread);
    free(config->path);
    free(config->argv);
    free(config);
}

/* --- reload --- */

struct refusal { /* where a parser goes that finds a wrong value */
    jmp_buf back;
    struct wp_error *err;
    const char *origin; /* of the value; NULL: it is about several */
};

void wp_config_refuse(const struct argp_state *state, const char *format, ...)
{
    char text[sizeof(((struct wp_error *)0)->text)];
    struct refusal *refusal = state->hook;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (refusal) {
        wp_error_set(
            refusal->err, -EINVAL, "%s%s%s", refusal->origin ? refusal->origin : "", refusal->origin ? ": " : "", text);
        longjmp(refusal->back, 1);
    }
    argp_error(state, "%s", text);
    exit(WP_EXIT_USAGE);
}

/* What argp does with a command line, of words that it has judged before or that come from elsewhere: from the weakest
 * on. */
static int parse_again(
    const struct wp_config *config, const struct wp_settings *settings, void *input, struct wp_error *err)
{
    struct refusal refusal = {.err = err};
    struct argp_state state = {.input = input,
        .hook = &refusal,
        .name = program_invocation_short_name,
        .err_stream = stderr,
        .out_stream = stdout};
    if (setjmp(refusal.back))
        return -EINVAL;
    for (enum wp_setting_level level = WP_SET_BY_FILE; level <= WP_SET_BY_FLAG; level++)
        for (size_t i = 0; i < settings->count; i++) {
            const struct wp_setting *setting = &settings->items[i];
            if (setting->level != level || setting->is_off)
                continue;
            refusal.origin = setting->origin;
            config->parser(setting->option->key, setting->value, &state);
        }
    refusal.origin = NULL;
    config->parser(ARGP_KEY_END, NULL, &state);
    return 0;
}

static bool differs(const struct wp_settings *old, const struct wp_settings *new, const struct argp_option *key,
    const char **values, size_t *count)
{
    const char *before[VALUES];
    size_t had = wp_settings_values(old, key, before, VALUES);
    *count = wp_settings_values(new, key, values, VALUES);
    bool is_other = had != *count;
    for (size_t i = 0; !is_other && i < had; i++)
        is_other = strcmp(before[i], values[i]) != 0;
    return is_other;
}

static int copy_flags(struct wp_settings *to, const struct wp_settings *from, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->count; i++)
        if (from->items[i].level == WP_SET_BY_FLAG)
            rc = wp_settings_add(to, from->items[i].option,
                &(struct wp_setting_value){WP_SET_BY_FLAG, from->items[i].value, from->items[i].origin}, err);
    return rc;
}

static void tell_change(const char *key, const char *const *values, size_t count, const struct wp_logger *logger)
{
    struct wp_buffer text = {0};
    int rc = count ? 0 : wp_buffer_puts(&text, "default");
    for (size_t i = 0; !rc && i < count && text.size < 512; i++)
        rc = wp_buffer_printf(&text, "%s%s", i ? ", " : "", values[i]);
    if (!rc)
        wp_log(logger, WP_LOG_INFO, "a setting has changed key=%s value=\"%.*s\"", key, (int)text.size,
            (const char *)text.data);
    wp_buffer_fini(&text);
}

static void tell_changes(const struct wp_config *config, const struct wp_settings *new, const struct wp_logger *logger)
{
    const struct wp_settings *last = config->is_reread ? &config->reread : &config->settings;
    for (const struct argp_option *key = config->keys; key->name; key++) {
        const char *values[VALUES];
        size_t count;
        bool is_live = is_listed(config->spec->live, key->name);
        if (!differs(is_live ? last : &config->settings, new, key, values, &count))
            continue;
        if (is_live)
            tell_change(key->name, values, count, logger);
        else
            wp_log(logger, WP_LOG_WARN, "a setting takes effect only at the next start key=%s", key->name);
    }
}

bool wp_config_reload(struct wp_config *config, void *input, const struct wp_logger *logger)
{
    struct wp_settings new = {.keys = config->keys};
    struct wp_error err = {0};
    int rc = copy_flags(&new, &config->settings, &err);
    if (!rc && !config->is_off)
        rc = read_sources(config, &new, &err);
    if (!rc)
        rc = parse_again(config, &new, input, &err);
    if (rc) {
        wp_log(logger, WP_LOG_ERROR, "cannot reload the configuration, the previous one stays in force reason=\"%s\"",
            err.text);
        wp_settings_fini(&new);
        return false;
    }
    wp_log(logger, WP_LOG_INFO, "the configuration was reloaded file=%s", config->path ? config->path : "none");
    tell_changes(config, &new, logger);
    wp_settings_fini(&config->reread);
    config->reread = new;
    config->is_reread = true;
    return true;
}
