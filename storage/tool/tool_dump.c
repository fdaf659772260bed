/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store dump, load, backup */
#include "storage/tool/tool_dump.h"

#include "common/path.h"
#include "common/strings.h"
#include "storage/env/shrink.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/text/dump_store.h"
#include "storage/text/json_parts.h"
#include "storage/text/value_json.h"
#include "storage/tool/tool_shared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- dump --- */

static int flush(void *context, struct wp_buffer *out)
{
    (void)context;
    if (out->size && fwrite(out->data, 1, out->size, stdout) != out->size)
        return -errno;
    wp_buffer_clear(out);
    return 0;
}

struct listing { /* --json: what cat says of every value */
    struct wp_tool *tool;
    struct wp_txn *txn;
    bool is_first;
    struct wp_error *err;
};

static void put_damage(struct wp_json *json, const char *key, size_t size, const char *reason)
{
    wp_json_object(json, NULL);
    wp_json_text(json, "key", key);
    wp_json_number(json, "stored_bytes", size);
    wp_json_text(json, "damage", reason);
    wp_json_end(json);
}

static int list_value(void *context, const char *text, size_t size)
{
    struct listing *listing = context;
    struct wp_buffer raw = {0}, body = {0}, *out = &listing->tool->out;
    struct wp_json json = {.out = &body};
    struct wp_key key;
    struct wp_value value;
    struct wp_error reason = {0};
    int rc = wp_key_parse(&key, text, &reason);
    if (!rc)
        rc = wp_txn_value(listing->txn, text, key.kind, &value, &reason);
    if (!rc)
        rc = wp_value_unwrap(&listing->txn->zstd, &value, &raw, &reason);
    if (!rc)
        rc = wp_value_json(&json, &key, &value, &raw, &reason);
    if (rc) {
        json = (struct wp_json){.out = &body};
        body.size = 0;
        put_damage(&json, text, size, reason.text);
    }
    wp_buffer_puts(out, listing->is_first ? "\n" : ",\n");
    wp_buffer_append(out, body.data, body.size);
    out->failed |= body.failed;
    listing->is_first = false;
    wp_buffer_fini(&body);
    wp_buffer_fini(&raw);
    rc = out->failed ? -ENOMEM : flush(NULL, out);
    return rc ? wp_error_errno(listing->err, rc, "cannot write the dump") : 0;
}

static int dump_json(struct wp_tool *tool, struct wp_txn *txn, const char *release, bool is_first, struct wp_error *err)
{
    struct listing listing = {tool, txn, true, err};
    wp_buffer_printf(&tool->out, "%s\n{\"release\": \"%s\", \"values\": [", is_first ? "" : ",", release);
    int rc = wp_txn_visit(txn, "", list_value, &listing, err);
    wp_buffer_puts(&tool->out, "\n]}");
    return rc;
}

/* A dump's first words, behind the first release that is found. Always true. */
static bool put_head(struct wp_tool *tool)
{
    wp_buffer_puts(&tool->out, tool->flags & WP_TOOL_JSON ? "[" : WP_DUMP_FIRST_LINE "\n");
    return true;
}

int wp_tool_dump(struct wp_tool *tool, struct wp_error *err)
{
    bool is_json = tool->flags & WP_TOOL_JSON;
    char **releases = NULL;
    size_t count = 0;
    bool is_first = true, has_head = false;
    int rc = wp_tool_open(tool, err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_txn *txn = NULL;
        rc = wp_txn_begin(&txn, tool->store, releases[i], false, err);
        if (!rc && !has_head)
            has_head = put_head(tool);
        if (!rc && is_json) {
            rc = dump_json(tool, txn, releases[i], is_first, err);
            is_first = false;
        } else if (!rc)
            rc = wp_dump_release(txn, &tool->out, flush, NULL, err);
        wp_txn_abort(txn);
        rc = wp_tool_pass_over(tool, rc, err);
    }
    if (!rc && !has_head)
        put_head(tool);
    if (!rc && is_json)
        wp_buffer_puts(&tool->out, "\n]\n");
    wp_strings_free(releases, count);
    return rc;
}

/* --- load --- */

struct load {
    FILE *file;
    char *line; /* owned; getline's */
    size_t room;
    long begins;     /* of the release that is loaded: a map that is too small begins it again */
    uint64_t number; /* of the line there */
    struct wp_dump_lines lines;
    uint64_t values;
    struct wp_error *err;
};

static int next_line(void *context, const char **line)
{
    struct load *load = context;
    errno = 0;
    ssize_t size = getline(&load->line, &load->room, load->file);
    if (size < 0)
        return errno ? -errno : 0;
    if (size && load->line[size - 1] == '\n')
        load->line[--size] = 0;
    if (strlen(load->line) != (size_t)size)
        return wp_error_set(load->err, -EBADMSG, "line %llu holds a NUL", (unsigned long long)load->lines.number + 1);
    *line = load->line;
    return 1;
}

/* What cannot be read twice is put where it can. */
static int make_seekable(struct load *load)
{
    char piece[65536];
    size_t got;
    if (!fseek(load->file, 0, SEEK_CUR))
        return 0;
    FILE *copy = tmpfile();
    if (!copy)
        return wp_error_errno(load->err, -errno, "cannot make a temporary file");
    while ((got = fread(piece, 1, sizeof(piece), load->file)) > 0)
        if (fwrite(piece, 1, got, copy) != got)
            break;
    int rc = got || ferror(load->file) || fflush(copy) ? wp_error_errno(load->err, -errno, "cannot store the dump") : 0;
    rewind(copy);
    if (load->file != stdin)
        fclose(load->file);
    load->file = copy;
    return rc;
}

static int load_again(struct wp_txn *txn, void *context)
{
    struct load *load = context;
    if (fseek(load->file, load->begins, SEEK_SET))
        return wp_error_errno(load->err, -errno, "cannot go back in the dump");
    load->lines.number = load->number;
    int rc = wp_dump_next(&load->lines);
    return rc < 0 ? rc : wp_load_release(txn, &load->lines, &load->values, load->err);
}

static int load_release(struct wp_tool *tool, struct load *load, struct json_object *rows)
{
    char release[NAME_MAX + 1];
    const char *name = load->lines.line + strlen("release ");
    if (!wp_id_valid(name))
        return wp_error_set(
            load->err, -EBADMSG, "line %llu: not a release's id", (unsigned long long)load->lines.number);
    snprintf(release, sizeof(release), "%s", name);
    load->begins = ftell(load->file);
    load->number = load->lines.number;
    int rc = wp_store_update(tool->store, release, load_again, load, load->err);
    if (!rc && rows) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "release", release);
        wp_json_put_number(row, "values", load->values);
    } else if (!rc) {
        wp_buffer_printf(&tool->out, "%s: %llu values\n", release, (unsigned long long)load->values);
    }
    return rc;
}

static int load_all(struct wp_tool *tool, struct load *load, struct json_object *rows)
{
    int rc = make_seekable(load);
    if (!rc && wp_dump_next(&load->lines) >= 0 && (!load->lines.line || strcmp(load->lines.line, WP_DUMP_FIRST_LINE)))
        rc = wp_error_set(load->err, -EBADMSG, "this is not a dump: its first line is not '%s'", WP_DUMP_FIRST_LINE);
    if (!rc)
        rc = wp_dump_next(&load->lines);
    while (rc >= 0 && load->lines.line) {
        rc = strncmp(load->lines.line, "release ", 8)
            ? wp_error_set(
                  load->err, -EBADMSG, "line %llu: a release should begin here", (unsigned long long)load->lines.number)
            : load_release(tool, load, rows);
        if (rc)
            break;
    }
    return rc < 0 ? rc : 0;
}

int wp_tool_load(struct wp_tool *tool, struct wp_error *err)
{
    struct json_object *rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    struct load load = {.file = tool->arguments[1] ? fopen(tool->arguments[1], "re") : stdin, .err = err};
    load.lines = (struct wp_dump_lines){.next = next_line, .context = &load};
    int rc = load.file ? wp_store_open(&tool->store, tool->arguments[0], true, err)
                       : wp_error_errno(err, -errno, "cannot open '%s'", tool->arguments[1]);
    if (!rc)
        rc = wp_store_upkeep(tool->store, err);
    if (!rc)
        rc = load_all(tool, &load, rows);
    if (load.file && load.file != stdin)
        fclose(load.file);
    free(load.line);
    if (rc || !rows) {
        json_object_put(rows);
        return rc;
    }
    return wp_tool_json(tool, rows, err);
}

/* --- backup --- */

static int make_place(const char *to, struct wp_error *err)
{
    int rc = wp_store_refuse_nested(to, err);
    if (!rc)
        rc = wp_path_make(to, err);
    if (!rc)
        wp_name_sync(to, NULL);                /* the folder above need not be this user's to read */
    return rc ? rc : wp_shrink_clean(to, err); /* what a killed one has left there */
}

int wp_tool_backup(struct wp_tool *tool, struct wp_error *err)
{
    struct json_object *rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    const char *to = tool->values[WP_TOOL_INTO];
    char **releases = NULL;
    size_t count = 0;
    bool is_new = to && access(to, F_OK) && errno == ENOENT;
    int rc = to ? wp_tool_open(tool, err)
                : wp_error_set(err, -WP_TOOL_MISUSE, "backup needs --into DIR: where the copy goes");
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    if (!rc)
        rc = make_place(to, err);
    for (size_t i = 0; !rc && i < count; i++) {
        int copied = wp_store_copy(tool->store, releases[i], to, err);
        rc = wp_tool_pass_over(tool, copied, err);
        if (copied)
            continue;
        if (rows)
            wp_json_put_text(wp_json_add_row(rows), "release", releases[i]);
        else
            wp_buffer_printf(&tool->out, "%s\n", releases[i]);
    }
    wp_strings_free(releases, count);
    if (rc && is_new)
        rmdir(to); /* fails where one is copied */
    if (rc || !rows) {
        json_object_put(rows);
        return rc;
    }
    return wp_tool_json(tool, rows, err);
}
