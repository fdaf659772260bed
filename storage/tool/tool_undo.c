/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/tool/tool_undo.h"

#include "common/strings.h"
#include "storage/env/shrink.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void wp_tool_undo_note(struct wp_tool_undo *undo, const char *root)
{
    *undo = (struct wp_tool_undo){0};
    DIR *folder = opendir(root);
    undo->is_new = !folder && errno == ENOENT;
    bool is_known = undo->is_new || folder;
    if (!is_known || (size_t)snprintf(undo->root, sizeof(undo->root), "%s", root) >= sizeof(undo->root))
        *undo->root = 0;
    for (struct dirent *entry; folder && *undo->root && (entry = readdir(folder));)
        if (wp_strings_add(&undo->names, &undo->count, entry->d_name))
            *undo->root = 0;
    if (folder)
        closedir(folder);
}

static bool was_there(const struct wp_tool_undo *undo, const char *name)
{
    for (size_t i = 0; i < undo->count; i++)
        if (!strcmp(undo->names[i], name))
            return true;
    return false;
}

static int stop_at_first(void *context, const char *key, size_t size)
{
    (void)context, (void)key, (void)size;
    return 1;
}

static int expect_nothing(struct wp_txn *txn, void *context)
{
    (void)context;
    return wp_txn_visit(txn, "", stop_at_first, NULL, NULL) ? -ENOTEMPTY : 0;
}

static void drop_releases(const struct wp_tool_undo *undo)
{
    struct wp_store *store = NULL;
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_store_open(&store, undo->root, false, NULL);
    if (!rc)
        rc = wp_store_folders(store, &releases, &count, NULL);
    for (size_t i = 0; !rc && i < count; i++)
        if (!was_there(undo, releases[i]) && !wp_store_upkeep(store, NULL))
            wp_store_drop_checked(store, releases[i], expect_nothing, NULL, NULL);
    wp_strings_free(releases, count);
    wp_store_close(store);
}

static bool is_lock(const char *name)
{
    size_t size = strlen(name);
    return *name == '~' && size > 5 && !strcmp(name + size - 5, ".lock");
}

/* Locks first: rmdir fails, as it should, when there is anything else. */
static void remove_root(const struct wp_tool_undo *undo)
{
    DIR *folder = opendir(undo->root);
    bool has_others = !folder;
    for (struct dirent *entry; !has_others && (entry = readdir(folder));)
        has_others = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !is_lock(entry->d_name);
    if (!has_others)
        rewinddir(folder);
    for (struct dirent *entry; !has_others && (entry = readdir(folder));)
        if (is_lock(entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    if (!has_others)
        rmdir(undo->root);
}

void wp_tool_undo_end(struct wp_tool_undo *undo, bool failed)
{
    if (failed && *undo->root) {
        drop_releases(undo);
        if (undo->is_new)
            remove_root(undo);
    }
    wp_strings_free(undo->names, undo->count);
    *undo = (struct wp_tool_undo){0};
}
