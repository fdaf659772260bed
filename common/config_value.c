/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_value.h"

#include "common/config.h"
#include "common/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t wp_config_number(
    const struct argp_state *state, const char *option, const char *text, uint32_t low, uint32_t high)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < low || value > high)
        wp_config_refuse(state, "%s takes a number from %u to %u, not '%s'", option, low, high, text);
    return (uint32_t)value;
}

static void put_number(void *at, const struct wp_config_field *field, const struct argp_state *state, const char *text)
{
    uint64_t number = wp_config_number(state, field->name, text, field->low, field->high) * field->value;
    if (field->size == sizeof(uint64_t))
        *(uint64_t *)at = number;
    else
        *(uint32_t *)at = (uint32_t)number;
}

bool wp_config_put(
    const struct wp_config_field *fields, void *options, const struct argp_state *state, int key, const char *text)
{
    while (fields->key && fields->key != key)
        fields++;
    if (!fields->key)
        return false;
    void *at = (char *)options + fields->offset;
    switch (fields->kind) {
    case WP_CONFIG_TEXT:
        *(const char **)at = text;
        break;
    case WP_CONFIG_TEXT_OR_NONE:
        *(const char **)at = strcmp(text, "none") ? text : NULL;
        break;
    case WP_CONFIG_FLAG:
        *(bool *)at = fields->value;
        break;
    case WP_CONFIG_NUMBER:
        put_number(at, fields, state, text);
        break;
    }
    return true;
}

const char *wp_config_id(const struct argp_state *state, const char *what, const char *text)
{
    if (!wp_id_valid(text))
        wp_config_refuse(state, "'%s' is not %s id: use [A-Za-z0-9._+-], at most 128", text, what);
    return text;
}

enum wp_log_level wp_config_log_level(const struct argp_state *state, const char *text)
{
    enum wp_log_level level;
    if (wp_log_level_parse(text, &level))
        wp_config_refuse(state, "'%s' is not a log level: error, warn, info, debug", text);
    return level;
}

struct wp_window wp_config_window(const struct argp_state *state, const char *text)
{
    struct wp_error err = {0};
    struct wp_window window;
    if (wp_window_parse(&window, text, &err))
        wp_config_refuse(state, "--window: %s", err.text);
    return window;
}

void wp_config_named_selector(const struct argp_state *state, const char *takes, const char *text,
    char name[WP_ID_ROOM], struct wp_selector *selector)
{
    struct wp_error err = {0};
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text > 128)
        wp_config_refuse(state, "%s, not '%s'", takes, text);
    snprintf(name, 129, "%.*s", (int)(equals - text), text);
    if (wp_selector_parse(selector, equals + 1, &err))
        wp_config_refuse(state, "%s", err.text);
}
