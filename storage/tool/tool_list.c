/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store ls */
#include "storage/tool/tool_list.h"

#include "common/strings.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/report/head.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct list {
    struct wp_tool *tool;
    struct wp_txn *txn;
    const char *release;
    size_t base;                      /* length of the prefix up to its last slash */
    char last[WP_KEY_ROOM * 4 + 256]; /* the folder printed last, when not recursive */
    struct wp_json *json;             /* --json */
    size_t count;
};

static void print_long(
    struct wp_buffer *out, const struct wp_value *value, const char *text, size_t size, const char *damage)
{
    char stored[32], total[32], wall[32];
    struct wp_head head;
    wp_buffer_printf(out, "%-12s %10s  ", damage ? "damaged" : wp_value_kind_name(value->kind),
        wp_tool_size(size, stored, sizeof(stored)));
    wp_buffer_puts(out, text);
    if (damage)
        wp_buffer_printf(out, "  (%s)", damage);
    else if ((value->kind == WP_VALUE_REPORT || value->kind == WP_VALUE_TRACE) &&
        !wp_head_decode(&head, value->head, value->head_size, NULL))
        wp_buffer_printf(out, "  wall %s, total %s, %u stacks", wp_tool_time(head.wall_ns, wall, sizeof(wall)),
            wp_tool_time(head.total_ns, total, sizeof(total)), head.nodes);
    wp_buffer_putc(out, '\n');
}

static void add_json(struct list *list, const struct wp_value *value, const char *text, size_t size, const char *damage)
{
    struct wp_json *json = list->json;
    wp_json_object(json, NULL);
    wp_json_text(json, "path", text);
    wp_json_number(json, "stored_bytes", size);
    if (damage) {
        wp_json_text(json, "damage", damage);
    } else {
        wp_json_text(json, "kind", wp_value_kind_name(value->kind));
        wp_json_number(json, "raw_bytes", value->raw_size);
        if (value->head_size)
            wp_value_head_json(json, "head", value);
    }
    wp_json_end(json);
}

static void add_path(struct wp_json *json, const char *path)
{
    wp_json_object(json, NULL);
    wp_json_text(json, "path", path);
    wp_json_end(json);
}

static void list_value(struct list *list, const char *key, const char *path, size_t size)
{
    struct wp_error damage = {0};
    struct wp_value value = {0};
    const uint8_t *bytes;
    if (!(list->tool->flags & (WP_TOOL_LONG | WP_TOOL_JSON))) {
        wp_buffer_printf(&list->tool->out, "%s\n", path);
        return;
    }
    int rc = wp_txn_stored(list->txn, key, &bytes, &size, &damage);
    if (!rc)
        rc = wp_value_parse(&value, bytes, size, &damage);
    if (list->json)
        add_json(list, &value, path, size, rc ? damage.text : NULL);
    else
        print_long(&list->tool->out, &value, path, size, rc ? damage.text : NULL);
}

static void list_folder(struct list *list, const char *path)
{
    if (!strcmp(path, list->last))
        return;
    snprintf(list->last, sizeof(list->last), "%s", path);
    if (list->json)
        add_path(list->json, path);
    else if (list->tool->flags & WP_TOOL_LONG)
        wp_buffer_printf(&list->tool->out, "%-12s %10s  %s\n", "", "", path);
    else
        wp_buffer_printf(&list->tool->out, "%s\n", path);
}

/* Names from a damaged file may hold anything: what is not printable is not printed as it is. */
static void clean_key(char *out, size_t room, const char *release, const char *key)
{
    size_t used = (size_t)snprintf(out, room, "%s/", release);
    for (; *key && used + 5 < room; key++)
        used += (size_t)snprintf(
            out + used, room - used, *key < 0x20 || *key > 0x7e ? "\\x%02x" : "%c", (unsigned char)*key);
}

static int list_key(void *context, const char *key, size_t size)
{
    struct list *list = context;
    char path[WP_KEY_ROOM * 4 + 256];
    const char *slash = strchr(key + list->base, '/');
    list->count++;
    clean_key(path, sizeof(path), list->release, key);
    if (slash && !(list->tool->flags & WP_TOOL_RECURSIVE)) {
        char *cut = strchr(path + strlen(list->release) + 1 + list->base, '/');
        if (cut)
            cut[1] = 0;
        list_folder(list, path);
    } else {
        list_value(list, key, path, size);
    }
    return 0;
}

static int list_release(
    struct wp_tool *tool, const char *release, const char *prefix, struct wp_json *json, struct wp_error *err)
{
    char folder[WP_KEY_ROOM + 1];
    struct list list = {.tool = tool, .release = release, .json = json};
    int rc = wp_txn_begin(&list.txn, tool->store, release, false, err);
    if (rc)
        return rc;
    /* "main" is the folder main/, "main/rep" the start of names in it */
    snprintf(folder, sizeof(folder), "%s/", prefix);
    list.base = strlen(folder);
    if (*prefix && prefix[strlen(prefix) - 1] != '/')
        rc = wp_txn_visit(list.txn, folder, list_key, &list, err);
    if (!rc && !list.count) {
        const char *slash = strrchr(prefix, '/');
        list.base = slash ? (size_t)(slash - prefix) + 1 : 0;
        rc = wp_txn_visit(list.txn, prefix, list_key, &list, err);
    }
    if (!rc && !list.count && *prefix)
        rc = wp_error_set(err, -ENOENT, "release '%s' of '%s' has no key that begins with '%s'", release,
            wp_store_root(tool->store), prefix);
    wp_txn_abort(list.txn);
    return rc;
}

static int list_root(struct wp_tool *tool, struct wp_json *json, struct wp_error *err)
{
    char **releases;
    size_t count;
    int rc = wp_store_releases(tool->store, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (json)
            add_path(json, releases[i]);
        else
            wp_buffer_printf(&tool->out, "%s/\n", releases[i]);
        if (tool->flags & WP_TOOL_RECURSIVE)
            rc = wp_tool_pass_over(tool, list_release(tool, releases[i], "", json, err), err);
    }
    wp_strings_free(releases, count);
    return rc;
}

int wp_tool_ls(struct wp_tool *tool, struct wp_error *err)
{
    struct wp_buffer text = {0};
    struct wp_json json = {.out = &text, .style = WP_JSON_PRETTY};
    struct wp_json *rows = tool->flags & WP_TOOL_JSON ? &json : NULL; /* NULL: lines */
    int rc = wp_tool_open(tool, err);
    if (rc)
        return rc;
    wp_json_array(&json, NULL);
    rc = *tool->location.release ? list_release(tool, tool->location.release, tool->location.rest, rows, err)
                                 : list_root(tool, rows, err);
    wp_json_end(&json);
    if (!rc)
        rc = wp_json_finish(&json, "JSON", err);
    if (!rc && rows)
        wp_buffer_append(&tool->out, text.data, text.size);
    wp_buffer_fini(&text);
    return rc;
}
