/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/samples.h"

#include "common/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t word(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");
}

/* A quoted value, its escapes undone in place; NULL: it does not end. */
static char *take_quoted(char *at, const char **value)
{
    if (*at != '"')
        return NULL;
    char *out = ++at;
    *value = out;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        *out++ = *at;
    }
    if (!*at)
        return NULL;
    *out = 0;
    return at + 1;
}

/* `at` is behind the brace. Returns what is behind the closing one. */
static char *take_labels(char *at, struct wp_metric_sample *sample)
{
    while (*at && *at != '}') {
        size_t size = word(at);
        const char *key = at;
        if (!size || at[size] != '=' || sample->label_count == WP_SAMPLE_LABELS)
            return NULL;
        at[size] = 0;
        sample->keys[sample->label_count] = key;
        at = take_quoted(at + size + 1, &sample->values[sample->label_count]);
        if (!at)
            return NULL;
        sample->label_count++;
        at += *at == ',';
    }
    return *at ? at + 1 : NULL;
}

static bool take_line(char *line, struct wp_metric_sample *sample)
{
    size_t size = word(line);
    char *at = line + size, *end;
    *sample = (struct wp_metric_sample){.name = line};
    if (!size)
        return false;
    if (*at == '{') {
        *at = 0;
        at = take_labels(at + 1, sample);
    }
    if (!at || *at != ' ')
        return false;
    *at = 0;
    sample->value = strtod(at + 1, &end);
    return end != at + 1 && isfinite(sample->value);
}

int wp_samples_parse(struct wp_samples *samples, char *text)
{
    char *state = NULL;
    size_t room = 0;
    *samples = (struct wp_samples){NULL, 0};
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        if (WP_ARRAY_FIT(samples->items, room, samples->count + 1)) {
            wp_samples_fini(samples);
            return -ENOMEM;
        }
        samples->count += *line != '#' && take_line(line, &samples->items[samples->count]);
    }
    return 0;
}

void wp_samples_fini(struct wp_samples *samples)
{
    free(samples->items);
    *samples = (struct wp_samples){NULL, 0};
}

const char *wp_sample_label(const struct wp_metric_sample *sample, const char *key)
{
    for (unsigned i = 0; i < sample->label_count; i++)
        if (!strcmp(sample->keys[i], key))
            return sample->values[i];
    return NULL;
}

const struct wp_metric_sample *wp_samples_find(
    const struct wp_samples *samples, const char *name, const char *key, const char *value)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct wp_metric_sample *sample = &samples->items[i];
        const char *has = key ? wp_sample_label(sample, key) : NULL;
        if (!strcmp(sample->name, name) && (!key || (has && !strcmp(has, value))))
            return sample;
    }
    return NULL;
}

double wp_samples_value(const struct wp_samples *samples, const char *name, double none)
{
    const struct wp_metric_sample *sample = wp_samples_find(samples, name, NULL, NULL);
    return sample ? sample->value : none;
}

double wp_samples_sum(const struct wp_samples *samples, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (!strcmp(samples->items[i].name, name))
            sum += samples->items[i].value;
    return sum;
}
