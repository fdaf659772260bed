/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/named_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEBUG_BYTES ((uint64_t)512 << 20) /* of debug info in one object */

/* Ten megabytes to decompress where its debug package is there, for lines that are never a program's place: its symbols
 * are read. */
static uint64_t debug_limit(const struct wp_named_object *o)
{
    return !strcmp(o->base, "libc.so.6") || !strncmp(o->base, "ld-linux-", 9) ? 0 : DEBUG_BYTES;
}

static void note_size(struct wp_named_object *o)
{
    o->bytes = o->names ? wp_object_names_bytes(o->names) : 0;
    o->debug_bytes = o->names ? wp_object_names_debug_bytes(o->names) : 0;
}

/* Of a file that is found here by its path, and with nobody to be asked for debug info. */
static struct wp_kept_names *open_kept(
    const struct wp_named_object *o, const struct wp_elf_file *file, const char *path, const struct wp_named_by *by)
{
    struct wp_kept_names *kept =
        by->kept_folder && !by->fetch ? wp_kept_names_open(by->kept_folder, file, o->base) : NULL;
    if (!kept || wp_kept_names_is_at(kept, path))
        return kept;
    wp_kept_names_close(kept);
    return NULL;
}

/* The names of before, without the lines. */
static bool restore(struct wp_named_object *o, const char *path)
{
    bool has_lines;
    if (!o->kept || wp_kept_names_restore(o->kept, &o->names, &has_lines))
        return false;
    o->unread = has_lines ? strdup(path) : NULL;
    return true;
}

void wp_named_object_open(
    struct wp_named_object *o, struct wp_elf_file *file, int root_fd, const char *path, const struct wp_named_by *by)
{
    const char *slash = strrchr(path, '/');
    *o = (struct wp_named_object){.names = NULL};
    snprintf(o->base, sizeof(o->base), "%.63s", slash ? slash + 1 : path);
    o->kept = open_kept(o, file, path, by);
    if (restore(o, path)) {
        wp_elf_file_close(file);
    } else {
        wp_object_names_create(&o->names, file, root_fd, by->fetch, debug_limit(o), NULL);
        o->has_news = o->kept && o->names;
        if (o->has_news)
            wp_kept_names_keep(o->kept, o->names);
    }
    note_size(o);
    if (o->unread || o->debug_bytes)
        return;
    wp_kept_names_close(o->kept); /* all of it is in memory */
    o->kept = NULL;
}

void wp_named_object_close(struct wp_named_object *o)
{
    wp_object_names_destroy(o->names);
    wp_kept_names_close(o->kept);
    free(o->unread);
    *o = (struct wp_named_object){.names = NULL};
}

/* If it is still the file that it was. */
static void read_lines(struct wp_named_object *o)
{
    struct wp_elf_file file;
    if (!wp_kept_names_reopen(o->kept, o->unread, &file))
        wp_object_names_add_lines(o->names, &file, debug_limit(o));
    free(o->unread);
    o->unread = NULL;
    note_size(o);
}

void wp_named_object_code(struct wp_named_object *o, uint64_t offset, struct wp_place_name *place)
{
    place->count = 0;
    if (!o->names || (o->kept && wp_kept_names_find(o->kept, offset, place)))
        return;
    if (o->unread)
        read_lines(o);
    wp_object_names_find(o->names, offset, place);
    if (!o->kept || !o->debug_bytes)
        return;
    wp_kept_names_add(o->kept, offset, place);
    o->has_news = true;
}

void wp_named_object_data(struct wp_named_object *o, uint64_t offset, struct wp_place_name *place)
{
    place->count = 0;
    if (o->names)
        wp_object_names_data(o->names, offset, o->base, place);
}
