/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_summary.h"

#include "cli/base/release.h"
#include "common/clock.h"
#include "common/path.h"
#include "common/utf8.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SUMMARY_LIMIT (64u << 20)
#define EXPLANATIONS 5u

static uint64_t number_of(struct json_object *object, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(object, key, &value) ? json_object_get_uint64(value) : 0;
}

static double double_of(struct json_object *object, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(object, key, &value) ? json_object_get_double(value) : 0;
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value;
    const char *text = json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : NULL;
    return text ? text : "";
}

static void put_duration(struct wp_buffer *out, uint64_t ns)
{
    static const struct {
        uint64_t unit;
        const char *name;
    } units[] = {{WP_NS_PER_S, "s"}, {WP_NS_PER_MS, "ms"}, {1000u, "µs"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ns >= units[i].unit) {
            double value = (double)ns / (double)units[i].unit;
            wp_buffer_printf(out, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[i].name);
            return;
        }
    wp_buffer_printf(out, "%llu ns", (unsigned long long)ns);
}

static void put_clean(struct wp_buffer *out, const char *text)
{
    for (size_t step; *text; text += step) {
        uint32_t c;
        step = wp_utf8_decode(text, WP_UTF8_MOST, &c);
        step += !step;
        if (wp_utf8_is_control(c))
            wp_buffer_putc(out, '?');
        else
            wp_buffer_append(out, text, step);
    }
}

/* Returns how many lines it wrote. */
static size_t put_explanations(struct wp_buffer *out, struct json_object *root)
{
    struct json_object *array;
    size_t count = 0;
    if (!json_object_object_get_ex(root, "explanations", &array) || !json_object_is_type(array, json_type_array))
        return 0;
    for (; count < json_object_array_length(array) && count < EXPLANATIONS; count++) {
        wp_buffer_puts(out, "  - ");
        put_clean(out, text_of(json_object_array_get_idx(array, count), "sentence"));
        wp_buffer_putc(out, '\n');
    }
    return count;
}

/* The largest category that is smaller than `below`, or an equal one that stands after `*key`. NULL: none. */
static const char *next_category(struct json_object *categories, const char *key, uint64_t below, uint64_t *ns)
{
    const char *best = NULL;
    bool is_past = false;
    *ns = 0;
    json_object_object_foreach(categories, name, value)
    {
        uint64_t amount = json_object_get_uint64(value);
        if ((amount < below || (amount == below && is_past)) && amount > *ns) {
            best = name;
            *ns = amount;
        }
        is_past |= key && !strcmp(name, key);
    }
    return best;
}

/* Without sentences the categories speak, the largest first. */
static void put_categories(struct wp_buffer *out, struct json_object *root, uint64_t total)
{
    struct json_object *categories;
    const char *key = NULL;
    uint64_t ns = UINT64_MAX;
    if (!json_object_object_get_ex(root, "categories", &categories) ||
        !json_object_is_type(categories, json_type_object))
        return;
    for (unsigned line = 0; line < EXPLANATIONS; line++) {
        key = next_category(categories, key, ns, &ns);
        if (!key)
            return;
        wp_buffer_puts(out, "  - ");
        for (const char *at = key; *at; at++)
            wp_buffer_putc(out, *at == '_' ? ' ' : *at < ' ' ? '?' : *at);
        wp_buffer_puts(out, ": ");
        put_duration(out, ns);
        wp_buffer_printf(out, ", %.1f %%\n", total ? 100.0 * (double)ns / (double)total : 0);
    }
}

/* Before the figures: without samples they say nothing of functions. */
static void put_unsampled(struct wp_buffer *out, struct json_object *root)
{
    struct json_object *array;
    if (!json_object_object_get_ex(root, "unsampled", &array) || !json_object_is_type(array, json_type_array) ||
        !json_object_array_length(array))
        return;
    struct json_object *first = json_object_array_get_idx(array, 0);
    size_t others = json_object_array_length(array) - 1;
    wp_buffer_puts(out, "wakepath: warning: no CPU samples were taken on ");
    put_clean(out, text_of(first, "host"));
    if (others)
        wp_buffer_printf(out, " and %zu other host%s", others, others == 1 ? "" : "s");
    wp_buffer_puts(out, ": ");
    put_clean(out, text_of(first, "why"));
    wp_buffer_puts(
        out, "\n  time is accounted for, but which functions ran is not known; `wakepath doctor` says what to do\n");
}

/* What other threads did on paths of their own while somebody waited: it is told there, and as the wait for it. */
static uint64_t others_ns(struct json_object *root)
{
    struct json_object *categories;
    return json_object_object_get_ex(root, "categories", &categories) ? number_of(categories, "other_path") : 0;
}

/* What the total is of, which percentages are of. */
static void put_base(struct wp_buffer *out, struct json_object *root, const char *base)
{
    uint64_t others = strcmp(base, "progress") ? 0 : others_ns(root); /* else those may be of the base, too */
    static const char *const words[][2] = {{"progress", "progress of the main thread"},
        {"busy", "summed over all threads but idle workers"}, {"threads", "summed over all threads"}};
    wp_buffer_puts(out, " total");
    const char *what = NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        what = strcmp(base, words[i][0]) != 0 ? what : words[i][1];
    if (!what)
        return;
    wp_buffer_printf(out, " (%s", what);
    if (others > number_of(root, "total_ns") / 100) {
        wp_buffer_puts(out, ", and ");
        put_duration(out, others);
        wp_buffer_puts(out, " of other threads while it waited");
    }
    wp_buffer_putc(out, ')');
}

static void put_beside(struct wp_buffer *out, struct json_object *root)
{
    uint64_t idle = number_of(root, "idle_ns"), work = number_of(root, "unwaited_ns");
    if (!idle && !work)
        return;
    wp_buffer_puts(out, "  beside the total, all threads together: ");
    if (work) {
        put_duration(out, work);
        wp_buffer_puts(out, " of work that was not waited for");
    }
    if (idle) {
        wp_buffer_puts(out, work ? ", " : "");
        put_duration(out, idle);
        wp_buffer_puts(out, " idle");
    }
    wp_buffer_putc(out, '\n');
}

/* The line's rest. What was lost comes before what is known of the rest, for a share of that alone says nothing. */
static void put_figures(struct wp_buffer *out, struct json_object *root, const struct wp_record_summary_look *look,
    uint64_t dropped, uint64_t seen)
{
    uint64_t total = number_of(root, "total_ns"), wall = number_of(root, "wall_ns");
    const char *base = text_of(root, "base");
    if (!total) {
        wp_buffer_puts(out, ": nothing was recorded\n");
    } else {
        wp_buffer_puts(out, ": ");
        put_duration(out, wall);
        wp_buffer_puts(out, " wall");
        if (wall < look->watched_ns / 10 * 9) { /* from the first to the last that it did */
            wp_buffer_puts(out, " of ");
            put_duration(out, look->watched_ns);
            wp_buffer_puts(out, " recorded");
        }
        wp_buffer_puts(out, ", ");
        put_duration(out, total);
        if (wall != total || strcmp(base, "threads") != 0)
            put_base(out, root, base);
        else /* there is one thread, and nothing to sum */
            wp_buffer_puts(out, " total");
        wp_buffer_printf(out, ", %.1f %% %s\n", double_of(root, "accounted_percent"),
            dropped ? "of what was told is accounted for" : "accounted for");
    }
    if (!dropped)
        return;
    wp_buffer_printf(out, "  lost %.1f %% of the events (%llu of %llu)",
        100.0 * (double)dropped / (double)(seen + dropped), (unsigned long long)dropped,
        (unsigned long long)(seen + dropped));
    wp_buffer_puts(out, ": ");
    put_duration(out, number_of(root, "uncertain_ns"));
    wp_buffer_puts(out, " of the time is uncertain, and what is said below may be incomplete\n");
}

/* A release that nobody has named is none of interest. */
static void put_title(struct wp_buffer *out, struct json_object *root)
{
    const char *title = text_of(root, "title"), *release = text_of(root, "release");
    wp_buffer_puts(out, "wakepath: ");
    put_clean(out, *title ? title : text_of(root, "aggregate"));
    if (!strcmp(release, WP_RELEASE_UNVERSIONED))
        return;
    wp_buffer_puts(out, " of release ");
    put_clean(out, release);
}

static void put_all(struct wp_buffer *out, struct json_object *root, const struct wp_record_summary_look *look)
{
    struct json_object *events, *recording;
    uint64_t total = number_of(root, "total_ns"), dropped = 0, seen = 0;
    put_unsampled(out, root);
    put_title(out, root);
    if (json_object_object_get_ex(root, "events", &events)) {
        dropped = number_of(events, "dropped");
        seen = number_of(events, "total");
    }
    put_figures(out, root, look, dropped, seen);
    if (!put_explanations(out, root) && total)
        put_categories(out, root, total);
    put_beside(out, root);
    if (json_object_object_get_ex(root, "recording", &recording)) {
        wp_buffer_puts(out, "  cost of recording: ");
        put_duration(out, number_of(recording, "cpu_ns"));
        wp_buffer_printf(out, " CPU, %.2f %% of the machine\n", double_of(recording, "machine_percent"));
    }
    if (!total)
        return;
    wp_buffer_puts(out, "  page: ");
    put_clean(out, look->page);
    wp_buffer_putc(out, '\n');
}

int wp_record_summary_check(const char *summary_path, uint32_t ended_pid, struct wp_error *err)
{
    struct wp_buffer text = {0};
    int rc = wp_file_read(summary_path, SUMMARY_LIMIT, &text, err);
    struct json_object *root = rc ? NULL : json_tokener_parse(text.data ? (const char *)text.data : "");
    bool is_nothing = !rc && json_object_is_type(root, json_type_object) && !number_of(root, "total_ns");
    if (is_nothing && ended_pid)
        rc = wp_error_set(err, -ENOENT, "process %u ended before anything of it was recorded", ended_pid);
    else if (is_nothing)
        rc = wp_error_set(err, -ENOENT,
            "nothing of '%s' was recorded: no thread that was seen fits its selector, or none of its time was told",
            text_of(root, "aggregate"));
    json_object_put(root);
    wp_buffer_fini(&text);
    return rc;
}

int wp_record_summary_make(
    struct wp_buffer *out, const char *summary_path, const struct wp_record_summary_look *look, struct wp_error *err)
{
    struct wp_buffer text = {0};
    struct json_object *root = NULL;
    int rc = wp_file_read(summary_path, SUMMARY_LIMIT, &text, err);
    if (!rc) {
        root = json_tokener_parse(text.data ? (const char *)text.data : "");
        if (!json_object_is_type(root, json_type_object))
            rc = wp_error_set(err, -EBADMSG, "'%s' is not a summary", summary_path);
    }
    if (!rc) {
        put_all(out, root, look);
        rc = out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the summary") : 0;
    }
    json_object_put(root);
    wp_buffer_fini(&text);
    return rc;
}
