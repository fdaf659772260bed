/* SPDX-License-Identifier: Apache-2.0 */
#include "common/settings.h"

#include "common/array.h"
#include "common/config_file.h"
#include "common/path.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void setting_fini(struct wp_setting *setting)
{
    free(setting->text);
    free(setting->origin);
}

void wp_settings_fini(struct wp_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        setting_fini(&settings->items[i]);
    free(settings->items);
    settings->items = NULL;
    settings->count = 0;
}

static bool is_set_above(
    const struct wp_settings *settings, const struct argp_option *option, enum wp_setting_level level)
{
    for (size_t i = 0; i < settings->count; i++)
        if (settings->items[i].option == option && settings->items[i].level > level)
            return true;
    return false;
}

static int setting_init(struct wp_setting *setting, const char *value, const char *origin, struct wp_error *err)
{
    bool is_on = true;
    int size;
    if (!setting->option->arg && value && wp_config_switch(value, &is_on, err))
        return wp_error_wrap(err, -EINVAL, "%s: '%s'", origin, setting->option->name);
    setting->is_off = !is_on;
    if (setting->option->arg && value)
        size = asprintf(&setting->text, "--%s=%s", setting->option->name, value);
    else
        size = asprintf(&setting->text, "--%s", setting->option->name);
    if (size < 0)
        setting->text = NULL;
    setting->origin = strdup(origin);
    if (!setting->text || !setting->origin) {
        setting_fini(setting);
        return wp_error_set(err, -ENOMEM, "out of memory for settings");
    }
    setting->value = setting->option->arg && value ? setting->text + strlen(setting->option->name) + 3 : NULL;
    return 0;
}

int wp_settings_add(struct wp_settings *settings, const struct argp_option *option, const struct wp_setting_value *said,
    struct wp_error *err)
{
    struct wp_setting setting = {.option = option, .level = said->level};
    if (is_set_above(settings, option, said->level))
        return 0;
    int rc = setting_init(&setting, said->value, said->origin, err);
    if (rc)
        return rc;
    if (WP_ARRAY_NEXT(settings->items, settings->count)) {
        setting_fini(&setting);
        return wp_error_set(err, -ENOMEM, "out of memory for settings");
    }
    settings->items[settings->count++] = setting;
    return 0;
}

/* --- environment --- */

/* A Service called wakepath-collector puts WAKEPATH_COLLECTOR_SERVICE_HOST and others into every pod beside it. */
static bool is_of_kubernetes(const char *rest)
{
    return !strncmp(rest, "SERVICE_", 8) || !strncmp(rest, "PORT=", 5) || !strncmp(rest, "PORT_", 5);
}

/* KEY_NAME=... against "key-name". */
static bool names_key(const char *rest, const char *key)
{
    for (; *key; key++, rest++)
        if (*rest != (*key == '-' ? '_' : toupper((unsigned char)*key)))
            return false;
    return *rest == '=';
}

static int add_lines(struct wp_settings *settings, const struct argp_option *option, const char *value,
    const char *origin, struct wp_error *err)
{
    char *copy = strdup(value), *rest = copy;
    int rc = copy ? 0 : wp_error_set(err, -ENOMEM, "out of memory for settings");
    for (char *line; !rc && (line = strsep(&rest, "\n"));)
        rc = *line
            ? wp_settings_add(settings, option, &(struct wp_setting_value){WP_SET_BY_ENVIRONMENT, line, origin}, err)
            : 0;
    free(copy);
    return rc;
}

static int take_variable(struct wp_settings *settings, const char *variable, size_t prefix_size, struct wp_error *err)
{
    char origin[128];
    const char *rest = variable + prefix_size, *equals = strchr(rest, '=');
    const struct argp_option *key = settings->keys;
    if (!equals || !equals[1] || !strncmp(rest, "CONFIG=", 7))
        return 0;
    while (key->name && !names_key(rest, key->name))
        key++;
    snprintf(origin, sizeof(origin), "$%.*s", (int)(equals - variable), variable);
    if (!key->name)
        return is_of_kubernetes(rest) ? 0 : wp_error_set(err, -EINVAL, "%s: no option has this name", origin);
    if (wp_config_repeats(key))
        return add_lines(settings, key, equals + 1, origin, err);
    return wp_settings_add(settings, key, &(struct wp_setting_value){WP_SET_BY_ENVIRONMENT, equals + 1, origin}, err);
}

int wp_settings_environment(
    struct wp_settings *settings, const char *prefix, char *const *environment, struct wp_error *err)
{
    size_t size = strlen(prefix);
    for (; environment && *environment; environment++) {
        int rc = strncmp(*environment, prefix, size) ? 0 : take_variable(settings, *environment, size, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* --- file --- */

struct file_reading {
    struct wp_settings *settings;
    const char *path;
};

static int take_from_file(
    void *context, const struct argp_option *option, const char *value, unsigned line, struct wp_error *err)
{
    struct file_reading *reading = context;
    char *origin = NULL;
    if (asprintf(&origin, "%s:%u", reading->path, line) < 0)
        return wp_error_set(err, -ENOMEM, "out of memory for settings");
    int rc = wp_settings_add(reading->settings, option, &(struct wp_setting_value){WP_SET_BY_FILE, value, origin}, err);
    free(origin);
    return rc;
}

int wp_settings_file(struct wp_settings *settings, const char *path, struct wp_error *err)
{
    struct wp_buffer text = {0};
    struct file_reading reading = {settings, path};
    int rc = wp_file_read(path, WP_CONFIG_FILE_LIMIT, &text, err);
    if (!rc && (wp_buffer_puts(&text, "\n") || memchr(text.data, 0, text.size)))
        rc = wp_error_set(err, -EINVAL, "%s: is not text", path);
    if (!rc)
        rc = wp_config_file_parse(
            path, (const char *)text.data, settings->keys, &(struct wp_config_taker){take_from_file, &reading}, err);
    wp_buffer_fini(&text);
    return rc;
}

/* --- what is in force --- */

size_t wp_settings_values(
    const struct wp_settings *settings, const struct argp_option *option, const char **values, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < settings->count && count < room; i++) {
        const struct wp_setting *setting = &settings->items[i];
        if (setting->option == option && !setting->is_off)
            values[count++] = setting->value ? setting->value : "";
    }
    return count;
}

/* In double quotes libconfuse knows escapes and replaces ${NAME}. */
static void print_quoted(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || *text == '$')
            putc('\\', out);
        if (*text == '\n')
            fputs("\\n", out);
        else
            putc(*text, out);
    }
    putc('"', out);
}

static bool is_among(const char *const *list, const char *name)
{
    while (list && *list && strcmp(*list, name))
        list++;
    return list && *list;
}

void wp_settings_print(const struct wp_settings *settings, const char *const *live, FILE *out)
{
    for (const struct argp_option *key = settings->keys; key->name; key++) {
        unsigned count = 0;
        const char *reload = is_among(live, key->name) ? "; a reload changes it" : "";
        for (size_t i = 0; i < settings->count; i++) {
            const struct wp_setting *setting = &settings->items[i];
            if (setting->option != key)
                continue;
            fprintf(out, "%s %s ", key->name, count++ && wp_config_repeats(key) ? "+=" : "=");
            if (setting->value)
                print_quoted(setting->value, out);
            else
                fputs(setting->is_off ? "false" : "true", out);
            fprintf(out, "  # %s%s\n", setting->origin, reload);
        }
        if (!count)
            fprintf(out, "# %s: not set; %s%s\n", key->name, key->doc ? key->doc : "", reload);
    }
}
