/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share. */
#include "storage/tool/tool_shared.h"

#include "common/clock.h"
#include "common/strings.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_location.h"
#include "storage/tool/tool_reference.h"
#include "storage/upkeep/reference.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int wp_tool_open(struct wp_tool *tool, struct wp_error *err)
{
    return wp_tool_open_at(tool, tool->arguments, err);
}

int wp_tool_open_at(struct wp_tool *tool, const char *const arguments[WP_TOOL_ARGUMENTS], struct wp_error *err)
{
    int rc = wp_tool_location_of(&tool->location, arguments, err);
    if (!rc)
        rc = wp_store_open(&tool->store, tool->location.root, false, err);
    const char *release = tool->location.release;
    bool is_named = !rc && *release &&
        (wp_is_reference(release) || (wp_id_valid(release) && !wp_release_is_there(&tool->store, 1, release)));
    return is_named ? wp_tool_resolve(tool, err) : rc;
}

int wp_tool_releases(struct wp_tool *tool, char ***releases, size_t *count, struct wp_error *err)
{
    *releases = NULL;
    *count = 0;
    if (*tool->location.rest)
        return wp_error_set(err, -WP_TOOL_MISUSE, "'%s': give a release, not a key", tool->location.rest);
    if (!*tool->location.release)
        return wp_store_releases(tool->store, releases, count, err);
    if (!wp_strings_add(releases, count, tool->location.release))
        return 0;
    wp_strings_free(*releases, *count);
    return wp_error_set(err, -ENOMEM, "out of memory");
}

int wp_tool_pass_over(struct wp_tool *tool, int rc, const struct wp_error *err)
{
    if (rc != -EBADMSG || *tool->location.release)
        return rc;
    wp_buffer_printf(&tool->complaints, "%s\n", err->text);
    return 0;
}

const char *wp_tool_signal_text(int signal)
{
    switch (signal) {
    case SIGBUS:
    case SIGSEGV:
    case SIGABRT:
        return "the structure of a data.mdb is damaged: reading it ended the reading process";
    default:
        return NULL;
    }
}

int wp_tool_apart(int (*work)(void *context), void *context, struct wp_error *err)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return wp_error_errno(err, -errno, "cannot start the reading process");
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(work(context));
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return wp_error_errno(err, -errno, "cannot wait for the reading process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int wp_tool_json(struct wp_tool *tool, struct json_object *object, struct wp_error *err)
{
    struct wp_json json = {.out = &tool->out, .style = WP_JSON_PRETTY};
    if (!object)
        return wp_error_set(err, -ENOMEM, "out of memory for JSON");
    wp_json_tree(&json, NULL, object);
    json_object_put(object);
    return wp_json_finish(&json, "JSON", err);
}

const char *wp_tool_size(uint64_t bytes, char *text, size_t room)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes;
    size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        amount /= 1024;
    snprintf(text, room, unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
    return text;
}

const char *wp_tool_time(uint64_t ns, char *text, size_t room)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{WP_NS_PER_S, "s"}, {WP_NS_PER_MS, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t unit = 0;
    while (unit < 3 && ns < units[unit].ns)
        unit++;
    snprintf(text, room, unit < 3 ? "%.2f %s" : "%.0f %s", (double)ns / (double)units[unit].ns, units[unit].name);
    return text;
}

int wp_tool_release_is_there(struct wp_tool *tool, const char *release, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    int rc = wp_txn_begin(&txn, tool->store, release, false, err);
    wp_txn_abort(txn);
    return rc;
}

/* --- values of options --- */

struct unit {
    const char *name;
    uint64_t factor;
};

/* A number and a unit of the list, whose first one may be left out. */
static bool measure(const char *text, const struct unit *units, size_t count, uint64_t *amount)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(end, units[i].name) || (!i && !*end)) {
            *amount = number > UINT64_MAX / units[i].factor ? UINT64_MAX : number * units[i].factor;
            return true;
        }
    return false;
}

int wp_tool_age(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *seconds, struct wp_error *err)
{
    static const struct unit units[] = {
        {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}, {"y", 365 * 86400}};
    const char *text = tool->values[option];
    if (!text)
        return 0;
    if (!strcmp(text, "never"))
        *seconds = UINT64_MAX;
    else if (!measure(text, units, sizeof(units) / sizeof(*units), seconds))
        return wp_error_set(
            err, -WP_TOOL_MISUSE, "'%s' is not an age: a number and s, m, h, d, w or y, or never", text);
    return 0;
}

int wp_tool_bytes(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *bytes, struct wp_error *err)
{
    static const struct unit units[] = {{"B", 1}, {"K", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}, {"T", 1ull << 40},
        {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}, {"TiB", 1ull << 40}};
    const char *text = tool->values[option];
    if (text && !measure(text, units, sizeof(units) / sizeof(*units), bytes))
        return wp_error_set(err, -WP_TOOL_MISUSE, "'%s' is not a size: a number of bytes, or with K, M, G or T", text);
    return 0;
}

int wp_tool_number(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *number, struct wp_error *err)
{
    static const struct unit units[] = {{"", 1}};
    const char *text = tool->values[option];
    if (text && !measure(text, units, 1, number))
        return wp_error_set(err, -WP_TOOL_MISUSE, "'%s' is not a number", text);
    return 0;
}
