/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store source add|ls: the text of source files, kept with the release that ran. */
#include "storage/tool/tool_source.h"

#include "common/intern.h"
#include "common/source_file.h"
#include "common/strings.h"
#include "proto/store.pb-c.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/release_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/source_texts.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES 20000u
#define ALL_BYTES (256u << 20)
#define MAPS (WP_TOOL_ARGUMENTS - 2)

struct job {
    struct wp_tool *tool;
    const char *words[MAPS]; /* PREFIX=DIR, or FILE */
    char shard[WP_ID_ROOM];
    struct wp_intern *paths;  /* to add; owned */
    struct wp_intern *there;  /* what is in the release already; owned */
    struct json_object *rows; /* of ls --json */
    uint64_t added, kept, missing, bytes;
    struct wp_error *err;
};

/* --- which files --- */

static int take_files(struct job *job, const Wakepath__Store__SourceMap *m)
{
    uint8_t *taken = calloc(m->n_strings + 1, 1);
    int rc = taken ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && i < m->n_file; i++) {
        uint32_t id = m->file[i];
        if (!id || id > m->n_strings || taken[id] || wp_intern_count(job->paths) > FILES)
            continue;
        taken[id] = 1;
        if (wp_intern_id(job->paths, (const char *)m->strings[id - 1].data, m->strings[id - 1].len) == UINT32_MAX)
            rc = -ENOMEM;
    }
    free(taken);
    return rc;
}

/* Those that the addresses of the release were in. */
static int list_mapped(struct wp_txn *txn, struct job *job)
{
    char **keys = NULL;
    size_t count = 0;
    int rc = wp_txn_keys(txn, "__state__/sourcemap.", &keys, &count, job->err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_buffer raw = {0};
        ProtobufCMessage *m = NULL;
        rc = wp_txn_get(txn, keys[i], WP_VALUE_SOURCEMAP, &raw, job->err);
        if (!rc &&
            !(m = wp_message_unpack(&wakepath__store__source_map__descriptor, raw.data, raw.size, keys[i], job->err)))
            rc = -errno;
        if (m) {
            rc = take_files(job, (const Wakepath__Store__SourceMap *)m);
            protobuf_c_message_free_unpacked(m, NULL);
        }
        wp_buffer_fini(&raw);
    }
    wp_strings_free(keys, count);
    return rc;
}

static int list_named(struct job *job, bool *has_named)
{
    for (size_t i = 0; i < MAPS && job->words[i]; i++) {
        char real[PATH_MAX];
        if (strchr(job->words[i], '='))
            continue;
        if (!realpath(job->words[i], real))
            return wp_error_errno(job->err, -errno, "cannot find '%s'", job->words[i]);
        *has_named = true;
        if (wp_intern_str(job->paths, real) == UINT32_MAX)
            return -ENOMEM;
    }
    return 0;
}

/* --- their text --- */

/* A folder that stands for the start of the path, else the path itself. Paths come from what was recorded: see
 * source_file.h. */
static int read_text(const struct job *job, const char *path, bool is_named, struct wp_buffer *text)
{
    uint64_t changed_ns;
    if (!wp_source_is_named_so(path) && !is_named)
        return -EPERM;
    for (size_t i = 0; i < MAPS && job->words[i]; i++) {
        const char *dir = strchr(job->words[i], '=');
        size_t size = dir ? (size_t)(dir - job->words[i]) : 0;
        if (!dir || strncmp(path, job->words[i], size))
            continue;
        wp_buffer_clear(text);
        if (!wp_source_read_beneath(
                &(struct wp_source_place){dir + 1, path + size + strspn(path + size, "/"), WP_SOURCE_TEXT_LIMIT}, text,
                &changed_ns, NULL))
            return 0;
    }
    wp_buffer_clear(text);
    return is_named
        ? wp_source_read_beneath(
              &(struct wp_source_place){"/", path + 1, WP_SOURCE_TEXT_LIMIT}, text, &changed_ns, NULL)
        : wp_source_read_public(&(struct wp_source_place){"/", path, WP_SOURCE_TEXT_LIMIT}, text, &changed_ns, NULL);
}

static int note_there(void *context, const char *path, const uint8_t digest[16])
{
    (void)digest;
    return wp_intern_str(((struct job *)context)->there, path) == UINT32_MAX ? -ENOMEM : 0;
}

static int put_one(struct wp_txn *txn, struct job *job, const char *path, const struct wp_buffer *text)
{
    struct wp_source_row row = {.host = "", .name = path};
    int rc = wp_txn_put_blob(txn, text->data, text->size, row.digest, job->err);
    if (!rc)
        rc = wp_txn_add_sources(txn, job->shard, &row, 1, job->err);
    job->added += !rc;
    job->bytes += rc ? 0 : text->size;
    return rc;
}

/* What is there already stays: it is more likely the text of what ran. */
static int add_in(struct wp_txn *txn, void *context)
{
    struct job *job = context;
    struct wp_buffer text = {0};
    bool has_named = false;
    job->added = job->kept = job->missing = job->bytes = 0;
    wp_intern_destroy(job->paths);
    wp_intern_destroy(job->there);
    job->paths = wp_intern_create();
    job->there = wp_intern_create();
    int rc = job->paths && job->there ? wp_txn_source_texts(txn, note_there, job, job->err) : -ENOMEM;
    if (!rc)
        rc = list_named(job, &has_named);
    if (!rc && !has_named)
        rc = list_mapped(txn, job);
    for (uint32_t i = 1; !rc && i < wp_intern_count(job->paths) && job->bytes < ALL_BYTES; i++) {
        const char *path = wp_intern_text(job->paths, i);
        if (wp_intern_find(job->there, path, strlen(path)) != UINT32_MAX)
            job->kept++;
        else if (read_text(job, path, has_named, &text) || !text.size || memchr(text.data, 0, text.size))
            job->missing++;
        else
            rc = put_one(txn, job, path, &text);
    }
    wp_buffer_fini(&text);
    return rc == -ENOMEM ? wp_error_set(job->err, rc, "out of memory for source") : rc;
}

static int choose_shard(struct job *job)
{
    struct wp_txn *txn = NULL;
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_begin(&txn, job->tool->store, job->tool->location.release, false, job->err);
    if (!rc)
        rc = wp_txn_shards(txn, &shards, &count, job->err);
    wp_txn_abort(txn);
    const char *given = job->tool->values[WP_TOOL_SHARD];
    bool is_there = false;
    for (size_t i = 0; i < count; i++)
        if (!given || !strcmp(given, shards[i])) {
            snprintf(job->shard, sizeof(job->shard), "%s", shards[i]);
            is_there = true;
            break;
        }
    wp_strings_free(shards, count);
    return !rc && !is_there
        ? wp_error_set(job->err, -ENOENT, "the release has no shard %s", given ? given : "to keep it")
        : rc;
}

static int add(struct job *job)
{
    struct wp_tool *tool = job->tool;
    int rc = wp_tool_release_is_there(tool, tool->location.release, job->err);
    if (!rc)
        rc = choose_shard(job);
    if (!rc)
        rc = wp_store_update(tool->store, tool->location.release, add_in, job, job->err);
    if (rc || !(tool->flags & WP_TOOL_JSON)) {
        char size[32];
        if (!rc)
            wp_buffer_printf(&tool->out, "%llu files added (%s), %llu were there, %llu cannot be had\n",
                (unsigned long long)job->added, wp_tool_size(job->bytes, size, sizeof(size)),
                (unsigned long long)job->kept, (unsigned long long)job->missing);
        return rc;
    }
    struct json_object *object = json_object_new_object();
    wp_json_put_number(object, "added", job->added);
    wp_json_put_number(object, "bytes", job->bytes);
    wp_json_put_number(object, "there", job->kept);
    wp_json_put_number(object, "missing", job->missing);
    return wp_tool_json(tool, object, job->err);
}

static int show_one(void *context, const char *path, const uint8_t digest[16])
{
    struct job *job = context;
    struct json_object *object = job->rows ? wp_json_add_row(job->rows) : json_object_new_object();
    wp_json_put_text(object, "path", path);
    wp_json_put_hex(object, "digest", (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)digest});
    if (job->rows)
        return 0;
    wp_json_print(&job->tool->out, object); /* hostile: printed as all text is */
    json_object_put(object);
    return 0;
}

static int list(struct job *job)
{
    struct wp_txn *txn = NULL;
    job->rows = job->tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    int rc = wp_txn_begin(&txn, job->tool->store, job->tool->location.release, false, job->err);
    if (!rc)
        rc = wp_txn_source_texts(txn, show_one, job, job->err);
    wp_txn_abort(txn);
    if (!rc && job->rows)
        return wp_tool_json(job->tool, job->rows, job->err);
    json_object_put(job->rows);
    return rc;
}

int wp_tool_source(struct wp_tool *tool, struct wp_error *err)
{
    const char *verb = tool->arguments[0], *location[WP_TOOL_ARGUMENTS] = {tool->arguments[1]};
    struct job job = {.tool = tool, .err = err};
    bool is_list = !strcmp(verb, "ls");
    for (size_t i = 0; i < MAPS; i++)
        job.words[i] = tool->arguments[2 + i];
    if ((!is_list && strcmp(verb, "add")) || (is_list && job.words[0]))
        return wp_error_set(
            err, -WP_TOOL_MISUSE, "source takes: add ROOT/RELEASE [PREFIX=DIR|FILE]..., ls ROOT/RELEASE");
    tool->is_changing = !is_list;
    int rc = wp_tool_open_at(tool, location, err);
    if (!rc && (!*tool->location.release || *tool->location.rest))
        rc = wp_error_set(err, -WP_TOOL_MISUSE, "'%s': give ROOT/RELEASE", tool->arguments[1]);
    if (!rc)
        rc = is_list ? list(&job) : add(&job);
    wp_intern_destroy(job.paths);
    wp_intern_destroy(job.there);
    return rc;
}
