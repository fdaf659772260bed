/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_tree.h"

#include "common/clock.h"
#include "common/path.h"
#include "reporter/site/site_folders.h"
#include "reporter/site/site_publish.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_LIMIT (1ull << 31) /* an old file larger than this is not compared, only replaced */

#define STEP_MS 50 /* between two looks at a lock that is waited for until some time */

/* As flock, until `until_ms`; UINT64_MAX: as long as it takes. */
static int lock_until(int fd, uint64_t until_ms)
{
    for (;;) {
        if (!flock(fd, until_ms == UINT64_MAX ? LOCK_EX : LOCK_EX | LOCK_NB))
            return 0;
        if (errno != EINTR && errno != EWOULDBLOCK)
            return -errno;
        if (errno == EWOULDBLOCK && wp_clock_ms() >= until_ms)
            return -EBUSY;
        if (errno == EWOULDBLOCK)
            nanosleep(&(struct timespec){0, STEP_MS * WP_NS_PER_MS}, NULL);
    }
}

/* The lock file goes away with its holder, so after getting the lock it must still be the one that has the name. */
static int take_lock(struct wp_site_tree *tree, int wait_s, struct wp_error *err)
{
    uint64_t until_ms = wait_s < 0 ? UINT64_MAX : wp_clock_ms() + (uint64_t)wait_s * 1000;
    for (;;) {
        struct stat ours, named;
        int rc = wp_site_lock_open(tree->lock, &tree->lock_fd, err);
        if (rc)
            return rc;
        rc = lock_until(tree->lock_fd, until_ms);
        if (rc) {
            rc = rc == -EBUSY ? wp_error_set(err, -EBUSY, "another reporter is writing '%s'", tree->out)
                              : wp_error_errno(err, rc, "cannot lock '%s'", tree->lock);
            close(tree->lock_fd);
            tree->lock_fd = -1;
            return rc;
        }
        if (!fstat(tree->lock_fd, &ours) && !stat(tree->lock, &named) && ours.st_ino == named.st_ino &&
            ours.st_dev == named.st_dev)
            return wp_site_lock_check(tree->lock_fd, tree->lock, &tree->is_own_lock, err);
        close(tree->lock_fd);
        tree->lock_fd = -1;
    }
}

/* out = the real folder (through a symbolic link, if it is one); its parent is made. */
static int resolve(struct wp_site_tree *tree, const char *out, struct wp_error *err)
{
    char path[PATH_MAX], parent[PATH_MAX];
    size_t size = strlen(out);
    while (size > 1 && out[size - 1] == '/')
        size--;
    if (!size || size >= sizeof(path) - 16)
        return wp_error_set(err, -EINVAL, "'%.100s' is not a name for a folder", out);
    if (realpath(out, path))
        return (tree->out = strdup(path)) ? 0 : wp_error_set(err, -ENOMEM, "out of memory");
    snprintf(path, sizeof(path), "%.*s", (int)size, out);
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (slash == path)
        snprintf(parent, sizeof(parent), "/");
    else
        snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    int rc = wp_path_make(parent, err);
    if (rc)
        return rc;
    char real[PATH_MAX];
    if (!realpath(parent, real))
        return wp_error_errno(err, -errno, "cannot find '%s'", parent);
    if (!strcmp(name, ".."))
        return wp_error_set(err, -EINVAL, "'%s' is not a name for a folder", out);
    if (asprintf(&tree->out, "%s/%s", strcmp(real, "/") ? real : "", name) < 0) {
        tree->out = NULL;
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    return 0;
}

/* A folder that is a mount point, or whose parent may not be written: the new tree is then made in the folder itself
 * and its entries are exchanged one by one (the lock and the new tree count as strangers there). */
static bool must_stay_inside(const char *out, int parent_size)
{
    char parent[PATH_MAX];
    struct stat own, above;
    snprintf(parent, sizeof(parent), "%.*s/", parent_size, out);
    return !stat(out, &own) && S_ISDIR(own.st_mode) &&
        (access(parent, W_OK) || (!stat(parent, &above) && above.st_dev != own.st_dev));
}

static int name_siblings(struct wp_site_tree *tree, struct wp_error *err)
{
    char *slash = strrchr(tree->out, '/');
    if (!slash || !slash[1])
        return wp_error_set(err, -EINVAL, "'%s' cannot be a site", tree->out);
    int parent = (int)(slash - tree->out);
    bool inside = must_stay_inside(tree->out, parent);
    int rc = inside ? asprintf(&tree->lock, "%s/.wakepath-lock", tree->out)
                    : asprintf(&tree->lock, "%.*s/.%s.lock", parent, tree->out, slash + 1);
    if (rc < 0)
        tree->lock = NULL;
    rc = inside ? asprintf(&tree->fresh, "%s/.wakepath-new", tree->out)
                : asprintf(&tree->fresh, "%.*s/.%s.new", parent, tree->out, slash + 1);
    if (rc < 0)
        tree->fresh = NULL;
    return tree->lock && tree->fresh ? 0 : wp_error_set(err, -ENOMEM, "out of memory");
}

static int load_manifest(struct wp_site_tree *tree, struct wp_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    if (!stat(tree->out, &st) && !S_ISDIR(st.st_mode))
        return wp_error_set(err, -EEXIST, "'%s' exists and is not a folder", tree->out);
    if ((size_t)snprintf(path, sizeof(path), "%s/" WP_SITE_MANIFEST, tree->out) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "'%s' is too long a name", tree->out);
    int rc = wp_file_read(path, FILE_LIMIT, &tree->before, err);
    return rc == -ENOENT ? 0 : rc;
}

int wp_tree_begin(struct wp_site_tree *tree, const char *out, int wait_s, struct wp_error *err)
{
    memset(tree, 0, sizeof(*tree));
    tree->lock_fd = -1;
    int rc = resolve(tree, out, err);
    if (!rc)
        rc = name_siblings(tree, err);
    if (!rc)
        rc = take_lock(tree, wait_s, err);
    if (!rc)
        rc = load_manifest(tree, err);
    if (!rc)
        rc = wp_site_scratch_remove(tree->fresh, err); /* what a crash left */
    if (!rc)
        rc = wp_site_scratch_make(tree->fresh, err);
    if (rc)
        wp_tree_abort(tree);
    return rc;
}

/* True when the published file has these very bytes; it is then linked into the new tree. */
static bool keep_old(struct wp_site_tree *tree, const char *path, const char *fresh, const void *bytes, size_t size)
{
    char old[PATH_MAX];
    struct wp_buffer content = {0};
    struct stat st;
    if ((size_t)snprintf(old, sizeof(old), "%s/%s", tree->out, path) >= sizeof(old) || lstat(old, &st) ||
        !S_ISREG(st.st_mode) || (size_t)st.st_size != size)
        return false;
    bool same = !wp_file_read(old, size, &content, NULL) && content.size == size &&
        (!size || !memcmp(content.data, bytes, size)) && !link(old, fresh);
    wp_buffer_fini(&content);
    return same;
}

/* The first line of the old manifest that begins with `folder`/: files of one folder stand together, and folders are
 * asked for about as they stand there, so the search goes on from the last one. */
static const char *find_folder(struct wp_site_tree *tree, const char *folder)
{
    const char *all = tree->before.data ? (const char *)tree->before.data : "", *at;
    size_t size = strlen(folder);
    for (int turn = 0; turn < 2; turn++) {
        for (at = all + (turn ? 0 : tree->kept_until); *at; at = strchr(at, '\n') + 1)
            if (!strncmp(at, folder, size) && at[size] == '/')
                return at;
            else if (!strchr(at, '\n'))
                break;
    }
    return "";
}

/* How many lines of the list from `at` on name regular files below `folder`, which is open as `fd`; 0 when one does
 * not. *end: behind the last. */
static size_t count_there(int fd, const char *at, size_t folder, const char **end)
{
    char name[PATH_MAX];
    struct stat st;
    size_t count = 0;
    for (const char *line = at, *stop; (stop = strchr(line, '\n')) && !strncmp(line, at, folder + 1); line = stop + 1) {
        size_t size = (size_t)(stop - line) - folder - 1;
        if (size >= sizeof(name))
            return 0;
        memcpy(name, line + folder + 1, size);
        name[size] = 0;
        if (!strncmp(name, "../", 3) || strstr(name, "/../") || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode))
            return 0;
        *end = stop + 1;
        count++;
    }
    return count;
}

/* Are the block's files all there? */
static bool is_there(const struct wp_site_tree *tree, const struct wp_site_block *block)
{
    char path[PATH_MAX];
    const char *end;
    if ((size_t)snprintf(path, sizeof(path), "%s/%.*s", tree->out, (int)block->folder, block->at) >= sizeof(path))
        return false;
    if (wp_site_block_changed_ns(block, tree->out) < tree->settled_ns)
        return true;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t count = count_there(fd, block->at, block->folder, &end);
    close(fd);
    return count == block->files;
}

int wp_tree_hold(struct wp_site_tree *tree, const char *folder, struct wp_error *err)
{
    struct wp_site_block block;
    const char *at = find_folder(tree, folder);
    if (!*at || strchr(folder, '/'))
        return -ENOENT;
    if (strlen(tree->out) + strlen(folder) + 2 > PATH_MAX)
        return wp_error_set(err, -ENAMETOOLONG, "'%s' is too long a name", tree->out);
    if (!wp_site_block_read(&block, at) || !is_there(tree, &block))
        return -ENOENT;
    wp_buffer_append(&tree->manifest, at, (size_t)(block.end - at));
    wp_buffer_printf(&tree->held, "%s\n", folder);
    tree->kept_until = (size_t)(block.end - (const char *)tree->before.data);
    tree->kept += block.files;
    return 0;
}

/* One file of another site: -ENOENT when it is gone. */
static int take_file(struct wp_site_tree *tree, const char *from, const char *name, int length, struct wp_error *err)
{
    char path[PATH_MAX], own[PATH_MAX];
    struct wp_buffer content = {0};
    if ((size_t)snprintf(path, sizeof(path), "%s/%.*s", from, length, name) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "'%s' is too long a name", from);
    snprintf(own, sizeof(own), "%.*s", length, name);
    int rc = strstr(own, "/../") ? -ENOENT : wp_file_read(path, FILE_LIMIT, &content, err);
    if (!rc)
        rc = wp_tree_write(tree, own, content.data, content.size, err);
    wp_buffer_fini(&content);
    return rc;
}

int wp_tree_take(struct wp_site_tree *tree, const char *from, const char *folder, struct wp_error *err)
{
    char path[PATH_MAX];
    struct wp_buffer list = {0};
    size_t size = strlen(folder), taken = 0, mark = tree->manifest.size;
    if ((size_t)snprintf(path, sizeof(path), "%s/" WP_SITE_MANIFEST, from) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "'%s' is too long a name", from);
    int rc = wp_file_read(path, FILE_LIMIT, &list, err);
    for (const char *at = rc || !list.data ? "" : (const char *)list.data, *end; !rc && (end = strchr(at, '\n'));
         at = end + 1)
        if (!strncmp(at, folder, size) && at[size] == '/') {
            rc = take_file(tree, from, at, (int)(end - at), err);
            taken++;
        }
    wp_buffer_fini(&list);
    if (rc == -ENOENT && tree->manifest.size > mark) {
        tree->manifest.size = mark; /* it is written anew */
        tree->manifest.data[mark] = 0;
    }
    return rc ? rc : taken ? 0 : -ENOENT;
}

/* A file at the top: its folder changes with every entry of the site. */
static bool is_file(const struct wp_site_tree *tree, const struct wp_site_block *block)
{
    char path[PATH_MAX];
    struct stat st;
    int size = (int)(block->end - block->at) - 1;
    return (size_t)snprintf(path, sizeof(path), "%s/%.*s", tree->out, size, block->at) < sizeof(path) &&
        !lstat(path, &st) && S_ISREG(st.st_mode);
}

bool wp_tree_is_whole(const struct wp_site_tree *tree, size_t *count)
{
    struct wp_site_block block;
    *count = 0;
    for (const char *at = tree->before.data ? (const char *)tree->before.data : ""; wp_site_block_read(&block, at);
         at = block.end) {
        if (!(block.folder ? is_there(tree, &block) : is_file(tree, &block)))
            return false;
        *count += block.files;
    }
    return *count > 0;
}

static int write_file(const char *path, const void *bytes, size_t size, struct wp_error *err)
{
    FILE *file = fopen(path, "wxe");
    if (!file && errno == EEXIST && !unlink(path)) /* a kept one that is not to be kept after all */
        file = fopen(path, "wxe");
    if (!file)
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    bool bad = size && fwrite(bytes, 1, size, file) != size;
    int code = errno;
    if (fclose(file) && !bad) {
        bad = true;
        code = errno;
    }
    return bad ? wp_error_errno(err, -code, "cannot write '%s'", path) : 0;
}

int wp_tree_write(struct wp_site_tree *tree, const char *path, const void *bytes, size_t size, struct wp_error *err)
{
    char fresh[PATH_MAX], folder[PATH_MAX];
    if ((size_t)snprintf(fresh, sizeof(fresh), "%s/%s", tree->fresh, path) >= sizeof(fresh))
        return wp_error_set(err, -ENAMETOOLONG, "cannot write '%s/%.100s...': name too long", tree->out, path);
    snprintf(folder, sizeof(folder), "%s", fresh);
    *strrchr(folder, '/') = 0;
    int rc = wp_path_make(folder, err);
    if (rc)
        return rc;
    wp_buffer_printf(&tree->manifest, "%s\n", path);
    if (keep_old(tree, path, fresh, bytes, size)) {
        tree->kept++;
        return 0;
    }
    tree->written++;
    wp_buffer_printf(&tree->changed, "%s\n", path);
    return write_file(fresh, bytes, size, err);
}

int wp_tree_commit(struct wp_site_tree *tree, struct wp_error *err)
{
    int rc = tree->manifest.failed || tree->held.failed
        ? wp_error_set(err, -ENOMEM, "out of memory for the list of files")
        : 0;
    bool same = !tree->written && tree->manifest.size == tree->before.size && tree->manifest.size &&
        !memcmp(tree->manifest.data, tree->before.data, tree->manifest.size);
    if (!rc && !same)
        rc = wp_site_publish(tree, err);
    wp_tree_abort(tree);
    return rc;
}

void wp_tree_abort(struct wp_site_tree *tree)
{
    if (tree->fresh && tree->lock_fd >= 0)
        wp_site_scratch_remove(tree->fresh, NULL);
    if (tree->lock_fd >= 0) {
        if (tree->is_own_lock)
            unlink(tree->lock);
        flock(tree->lock_fd, LOCK_UN); /* a forked child may hold the descriptor too */
        close(tree->lock_fd);
    }
    tree->lock_fd = -1;
    free(tree->out);
    free(tree->fresh);
    free(tree->lock);
    tree->out = tree->fresh = tree->lock = NULL;
    wp_buffer_fini(&tree->manifest);
    wp_buffer_fini(&tree->before);
    wp_buffer_fini(&tree->changed);
    wp_buffer_fini(&tree->held);
}
