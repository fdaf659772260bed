/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/source/source_text.h"

#include "common/array.h"
#include "common/history.h"
#include "common/source_file.h"
#include "reporter/source/source_disk.h"
#include "reporter/source/source_git.h"
#include "storage/kind/source_texts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stored {
    char *path; /* owned */
    uint8_t digest[16];
    struct wp_txn *txn;
};

struct wp_source_fetcher {
    const struct wp_source_options *options;
    const struct wp_snapshot *snapshot;
    uint64_t first_ns;
    struct wp_source_git git;
    struct wp_error git_says, disk_says; /* why they are not asked */
    bool asks_disk;
    struct stored *stored; /* owned */
    size_t stored_count, stored_room;
};

/* --- the store's --- */

struct listing {
    struct wp_source_fetcher *fetcher;
    struct wp_txn *txn;
};

static int add_stored(void *context, const char *path, const uint8_t digest[16])
{
    struct listing *listing = context;
    struct wp_source_fetcher *f = listing->fetcher;
    if (WP_ARRAY_FIT(f->stored, f->stored_room, f->stored_count + 1))
        return -ENOMEM;
    struct stored *row = &f->stored[f->stored_count];
    *row = (struct stored){.path = strdup(path), .txn = listing->txn};
    memcpy(row->digest, digest, sizeof(row->digest));
    f->stored_count += row->path != NULL;
    return row->path ? 0 : -ENOMEM;
}

static int list_stored(struct wp_source_fetcher *f)
{
    int rc = 0;
    for (size_t i = 0; f->snapshot && i < f->snapshot->stores->count && !rc; i++)
        if (f->snapshot->txns[i])
            rc =
                wp_txn_source_texts(f->snapshot->txns[i], add_stored, &(struct listing){f, f->snapshot->txns[i]}, NULL);
    return rc == -ENOMEM ? rc : 0;
}

struct wp_source_fetcher *wp_source_fetcher_create(
    const struct wp_source_options *options, const struct wp_snapshot *snapshot, uint64_t first_ns)
{
    struct wp_source_fetcher *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    *f = (struct wp_source_fetcher){.options = options, .snapshot = snapshot, .first_ns = first_ns};
    if (list_stored(f)) {
        wp_source_fetcher_destroy(f);
        return NULL;
    }
    f->asks_disk =
        snapshot && options->disk_count && !options->no_disk && wp_source_disk_is_ours(snapshot, &f->disk_says);
    if (options->git && snapshot)
        wp_source_git_open(&f->git, options->git, snapshot->release, &f->git_says);
    return f;
}

void wp_source_fetcher_destroy(struct wp_source_fetcher *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->stored_count; i++)
        free(f->stored[i].path);
    free(f->stored);
    wp_source_git_close(&f->git);
    free(f);
}

/* --- one file --- */

/* Without "." and "..": "/a/./b/../c" is "/a/c", "../csu/x.c" is "csu/x.c". */
static void make_plain(const char *path, char out[PATH_MAX])
{
    size_t size = 0, root = *path == '/';
    out[size] = '/';
    size = root;
    while (*path) {
        path += strspn(path, "/");
        size_t step = strcspn(path, "/");
        if (step == 2 && !strncmp(path, "..", 2)) {
            while (size > root && out[size - 1] != '/')
                size--;
            size -= size > root;
        } else if (step && !(step == 1 && *path == '.')) {
            if (size + step + 2 >= PATH_MAX)
                break;
            if (size > root)
                out[size++] = '/';
            memcpy(out + size, path, step);
            size += step;
        }
        path += step;
    }
    out[size] = 0;
}

static uint32_t count_lines(const struct wp_buffer *text)
{
    uint32_t lines = text->size && text->data[text->size - 1] != '\n';
    for (size_t i = 0; i < text->size; i++)
        lines += text->data[i] == '\n';
    return lines;
}

/* Notes what one of them said, or that what it gave cannot be it. True: it is taken. */
static bool take_text(struct wp_buffer *reasons, struct wp_source_text *text, const char *who, int rc,
    const struct wp_error *said, uint32_t last_line)
{
    uint32_t lines = rc ? 0 : count_lines(&text->text);
    const char *reason = rc                           ? said->text
        : !text->text.size                            ? "the file is empty"
        : memchr(text->text.data, 0, text->text.size) ? "the file is not text"
                                                      : NULL;
    const char *data = (const char *)text->text.data;
    bool is_renumbered =
        text->text.size > 1 && (memmem(data, text->text.size, "#line", 5) || (data[0] == '#' && data[1] != '!'));
    if (!reason && (lines >= last_line || is_renumbered))
        return true;
    wp_buffer_printf(reasons, "%s%s: ", reasons->size ? "; " : "", who);
    if (reason)
        wp_buffer_puts(reasons, reason);
    else
        wp_buffer_printf(reasons, "it has %u lines, and there is time in line %u", lines, last_line);
    wp_buffer_clear(&text->text);
    return false;
}

static bool from_maps(const struct wp_source_fetcher *f, const char *path, uint32_t last_line, struct wp_pool *pool,
    struct wp_buffer *reasons, struct wp_source_text *text)
{
    for (size_t i = 0; i < f->options->map_count; i++) {
        const char *map = f->options->maps[i], *dir = strchr(map, '=');
        size_t size = dir ? (size_t)(dir - map) : 0;
        struct wp_error said = {0};
        uint64_t changed_ns = 0;
        if (!dir || strncmp(path, map, size) || (size && map[size - 1] != '/' && path[size] != '/' && path[size]))
            continue;
        const char *rest = path + size + strspn(path + size, "/");
        int rc = wp_source_read_beneath(
            &(struct wp_source_place){dir + 1, rest, WP_SOURCE_BYTES}, &text->text, &changed_ns, &said);
        if (!take_text(reasons, text, "--source-map", rc, &said, last_line))
            continue;
        text->from = wp_pool_printf(pool, "folder: %s in %s", rest, dir + 1);
        if (f->first_ns && changed_ns > f->first_ns)
            text->doubt = "The file was changed after this was recorded: lines may have moved.";
        return true;
    }
    return false;
}

static bool from_git(struct wp_source_fetcher *f, const char *path, uint32_t last_line, struct wp_pool *pool,
    struct wp_buffer *reasons, struct wp_source_text *text)
{
    struct wp_error said = {0};
    const char *file = NULL;
    if (!f->options->git)
        return false;
    int rc = f->git.files ? 0 : -ENOENT;
    if (rc)
        said = f->git_says;
    else if (!(file = wp_source_git_find(&f->git, path)))
        rc = wp_error_set(&said, -ENOENT, "commit %.10s has no such file", f->git.commit);
    else
        rc = wp_source_git_read(&f->git, file, WP_SOURCE_BYTES, &text->text, &said);
    if (!take_text(reasons, text, "git", rc, &said, last_line))
        return false;
    text->from = wp_pool_printf(pool, "git: %s at %.10s", file, f->git.commit);
    if (wp_release_is_dirty(f->snapshot->release))
        text->doubt = "What ran was built from a tree with changes that were not committed: lines may have moved.";
    return true;
}

static bool from_store(const struct wp_source_fetcher *f, const char *path, uint32_t last_line, struct wp_pool *pool,
    struct wp_buffer *reasons, struct wp_source_text *text)
{
    for (size_t i = 0; i < f->stored_count; i++) {
        struct wp_error said = {0};
        if (strcmp(f->stored[i].path, path))
            continue;
        int rc = wp_txn_get_blob(f->stored[i].txn, f->stored[i].digest, &text->text, &said);
        if (!rc && text->text.size > WP_SOURCE_BYTES)
            rc = wp_error_set(&said, -EFBIG, "more than %u bytes", WP_SOURCE_BYTES);
        if (!take_text(reasons, text, "store", rc, &said, last_line))
            continue;
        text->from = wp_pool_printf(pool, "store: __source__/%02x/%02x/%02x%02x%02x%02x…", f->stored[i].digest[0],
            f->stored[i].digest[1], f->stored[i].digest[0], f->stored[i].digest[1], f->stored[i].digest[2],
            f->stored[i].digest[3]);
        return true;
    }
    return false;
}

static int read_disk(const struct wp_source_fetcher *f, const char *path, struct wp_source_text *text,
    uint64_t *changed_ns, struct wp_error *said)
{
    int rc = -EPERM;
    *said = f->disk_says;
    for (size_t i = 0; f->asks_disk && i < f->options->disk_count && rc; i++)
        rc = wp_source_read_public(
            &(struct wp_source_place){f->options->disks[i], path, WP_SOURCE_BYTES}, &text->text, changed_ns, said);
    return rc;
}

static bool from_disk(const struct wp_source_fetcher *f, const char *path, uint32_t last_line, struct wp_pool *pool,
    struct wp_buffer *reasons, struct wp_source_text *text)
{
    struct wp_error said = {0};
    uint64_t changed_ns = 0;
    if (f->options->no_disk || !f->options->disk_count)
        return false;
    int rc = read_disk(f, path, text, &changed_ns, &said);
    if (!take_text(reasons, text, "disk", rc, &said, last_line))
        return false;
    text->from = wp_pool_printf(pool, "disk: %s", path);
    if (f->first_ns && changed_ns > f->first_ns)
        text->doubt = "The file was changed after this was recorded: lines may have moved.";
    return true;
}

/* Why there is no file of that name: interpreters name so what was made while the program ran. NULL: there may be one.
 */
static const char *never_a_file(const char *path)
{
    size_t size = strlen(path);
    if (!strncmp(path, "<frozen ", 8) || !strncmp(path, "<internal:", 10)) /* Python's, Ruby's */
        return "text not recorded: it is built into the interpreter";
    if (!strcmp(path, "-e") || !strcmp(path, "-") || !strcmp(path, "<stdin>") || !strcmp(path, "Command line code"))
        return "text not recorded: it was given on the command line or the standard input";
    if ((size > 2 && path[0] == '<' && path[size - 1] == '>') || !strncmp(path, "(eval", 5) ||
        strstr(path, ") : eval()'d code"))
        return "text not recorded: a string was evaluated, of which the interpreter keeps a name and the lines";
    return NULL;
}

int wp_source_fetch(struct wp_source_fetcher *f, const char *path, uint32_t last_line, struct wp_pool *pool,
    struct wp_source_text *text, struct wp_error *err)
{
    char plain[PATH_MAX];
    struct wp_buffer reasons = {0};
    *text = (struct wp_source_text){0};
    make_plain(path, plain);
    const char *made = never_a_file(path);
    if (made && !from_store(f, path, last_line, pool, &reasons, text))
        wp_buffer_printf(&reasons, "%s%s", reasons.size ? "; " : "", made);
    else if (!made && !from_maps(f, plain, last_line, pool, &reasons, text) &&
        !from_git(f, plain, last_line, pool, &reasons, text) && !from_store(f, path, last_line, pool, &reasons, text))
        from_disk(f, path, last_line, pool, &reasons, text);
    text->why_not = wp_pool_text(pool, reasons.data ? (const char *)reasons.data : "");
    bool has_failed = pool->failed || reasons.failed || text->text.failed;
    wp_buffer_fini(&reasons);
    return has_failed ? wp_error_set(err, -ENOMEM, "out of memory for a source file") : 0;
}

void wp_source_text_fini(struct wp_source_text *text)
{
    wp_buffer_fini(&text->text);
}
