/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store verify: each release is read in a process of its own, which hands back what it has found as JSON. */
#include "storage/tool/tool_verify.h"

#include "common/strings.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/upkeep/verify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct work {
    struct wp_tool *tool;
    const char *release;
    FILE *found;              /* of the reading process: the way back */
    struct json_object *rows; /* faults */
    uint64_t releases, keys, stored_bytes, raw_bytes, faults;
};

static void take_fault(void *context, const char *release, const char *key, const char *reason)
{
    struct work *work = context;
    struct json_object *row = wp_json_add_row(work->rows);
    wp_json_put_text(row, "release", release);
    wp_json_put_text(row, "key", key);
    wp_json_put_text(row, "reason", reason);
}

/* In the reading process. */
static int read_release(void *context)
{
    struct work *work = context;
    struct wp_verify verify = {.fault = take_fault, .context = work};
    struct wp_error err = {0};
    struct json_object *result = json_object_new_object();
    work->rows = wp_json_put_rows(result, "faults");
    if (wp_verify_release(&verify, work->tool->store, work->release, &err))
        wp_json_put_text(result, "error", err.text);
    wp_json_put_number(result, "keys", verify.keys);
    wp_json_put_number(result, "stored_bytes", verify.stored_bytes);
    wp_json_put_number(result, "raw_bytes", verify.raw_bytes);
    struct wp_buffer text = {0};
    wp_json_tree(&(struct wp_json){.out = &text}, NULL, result);
    int rc = text.failed || fwrite(text.data, 1, text.size, work->found) != text.size || fflush(work->found);
    json_object_put(result);
    wp_buffer_fini(&text);
    return rc;
}

static uint64_t number(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, name, &value) ? json_object_get_uint64(value) : 0;
}

static const char *text(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, name, &value) ? json_object_get_string(value) : "";
}

static int take_result(struct work *work, struct json_object *result, struct wp_error *err)
{
    struct json_object *faults = NULL;
    if (*text(result, "error"))
        return wp_error_set(err, -EIO, "%s", text(result, "error"));
    json_object_object_get_ex(result, "faults", &faults);
    size_t count = faults ? json_object_array_length(faults) : 0;
    for (size_t i = 0; i < count; i++)
        json_object_array_add(work->rows, json_object_get(json_object_array_get_idx(faults, i)));
    work->faults += count;
    work->keys += number(result, "keys");
    work->stored_bytes += number(result, "stored_bytes");
    work->raw_bytes += number(result, "raw_bytes");
    work->releases += count || number(result, "keys"); /* one that holds nothing is none */
    return 0;
}

static int read_result(struct work *work, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    char piece[4096];
    rewind(work->found);
    for (size_t got; (got = fread(piece, 1, sizeof(piece), work->found)) > 0;)
        wp_buffer_append(&bytes, piece, got);
    struct json_object *result = bytes.failed || !bytes.size ? NULL : json_tokener_parse((const char *)bytes.data);
    int rc = result ? take_result(work, result, err)
                    : wp_error_set(err, -EIO, "release '%s': the reading process left no result", work->release);
    json_object_put(result);
    wp_buffer_fini(&bytes);
    return rc;
}

static int verify_release(struct work *work, struct wp_error *err)
{
    work->found = tmpfile(); /* a pipe would hold up a reader that finds much */
    if (!work->found)
        return wp_error_errno(err, -errno, "cannot make a temporary file");
    struct json_object *rows = work->rows;
    int rc = wp_tool_apart(read_release, work, err);
    work->rows = rows;
    if (rc < 0 && wp_tool_signal_text(-rc) && !*err->text) {
        take_fault(work, work->release, "", wp_tool_signal_text(-rc));
        work->faults++;
        work->releases++;
        rc = 0;
    } else if (rc) {
        rc = wp_error_set(err, -EIO, "release '%s': the reading process failed (%d)", work->release, rc);
    } else {
        rc = read_result(work, err);
    }
    fclose(work->found);
    return rc;
}

/* Names are hostile: printed as wp_json_print prints text. */
static void print_fault(struct wp_buffer *out, struct json_object *fault)
{
    struct json_object *line = json_object_new_object();
    struct wp_buffer words = {0};
    const char *key = text(fault, "key");
    wp_buffer_printf(&words, "%s%s%s: %s", text(fault, "release"), *key ? "/" : "", key, text(fault, "reason"));
    wp_json_put_text(line, "fault", words.data ? (const char *)words.data : key);
    wp_json_print(out, line);
    json_object_put(line);
    wp_buffer_fini(&words);
}

static int print_result(struct work *work, struct wp_error *err)
{
    char stored[32];
    struct wp_buffer *out = &work->tool->out;
    if (!(work->tool->flags & WP_TOOL_JSON)) {
        for (size_t i = 0; i < json_object_array_length(work->rows); i++)
            print_fault(out, json_object_array_get_idx(work->rows, i));
        wp_buffer_printf(out, "%llu release%s, %llu keys, %s: %llu fault%s\n", (unsigned long long)work->releases,
            work->releases == 1 ? "" : "s", (unsigned long long)work->keys,
            wp_tool_size(work->stored_bytes, stored, sizeof(stored)), (unsigned long long)work->faults,
            work->faults == 1 ? "" : "s");
        return 0;
    }
    struct json_object *result = json_object_new_object();
    wp_json_put(result, "ok", json_object_new_boolean(!work->faults));
    wp_json_put_number(result, "releases", work->releases);
    wp_json_put_number(result, "keys", work->keys);
    wp_json_put_number(result, "stored_bytes", work->stored_bytes);
    wp_json_put_number(result, "raw_bytes", work->raw_bytes);
    wp_json_put(result, "faults", json_object_get(work->rows));
    return wp_tool_json(work->tool, result, err);
}

int wp_tool_verify(struct wp_tool *tool, struct wp_error *err)
{
    struct work work = {.tool = tool, .rows = json_object_new_array()};
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_tool_open(tool, err);
    if (!rc && !*tool->location.release)
        rc = wp_store_folders(tool->store, &releases, &count, err); /* not even looked into by this process */
    else if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        work.release = releases[i];
        rc = verify_release(&work, err);
    }
    if (!rc)
        rc = print_result(&work, err);
    json_object_put(work.rows);
    wp_strings_free(releases, count);
    return rc ? rc : work.faults != 0;
}
