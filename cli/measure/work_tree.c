/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/work_tree.h"

#include "common/path.h"
#include "common/git.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_LIMIT (1u << 20)

/* The first line of git's answer. */
static int ask_line(const char *dir, const char *const *words, char *line, size_t room, struct wp_error *err)
{
    struct wp_buffer text = {0};
    int rc = wp_git_run(dir, words, ANSWER_LIMIT, &text, err);
    int size = (int)strcspn(text.data ? (char *)text.data : "", "\r\n");
    if (!rc && text.size >= room)
        rc = wp_error_set(err, -ENAMETOOLONG, "git answers with a line of %zu bytes", text.size);
    if (!rc)
        snprintf(line, room, "%.*s", size, text.data ? (char *)text.data : "");
    wp_buffer_fini(&text);
    return rc;
}

static bool has_commit(const char *path, const char *commit)
{
    const char *words[] = {"rev-parse", "--verify", "--quiet", "HEAD", NULL};
    char head[WP_COMMIT_ROOM + 2], git[PATH_MAX];
    struct wp_error ignored;
    struct stat st;
    snprintf(git, sizeof(git), "%.*s/.git", PATH_MAX - 8, path);
    return !lstat(git, &st) && !ask_line(path, words, head, sizeof(head), &ignored) && !strcmp(head, commit);
}

static int make_folder(const char *path, const char *dir, struct wp_error *err)
{
    struct stat st;
    int rc = wp_path_remove(path, err);
    if (!rc)
        rc = wp_path_make(path, err);
    if (!rc && stat(dir, &st))
        rc = wp_error_errno(err, -errno, "cannot read '%s'", dir);
    if (!rc && !geteuid() && chown(path, st.st_uid, st.st_gid))
        rc = wp_error_errno(err, -errno, "cannot give '%s' to the owner of '%s'", path, dir);
    return rc;
}

/* Runs git in `path` for what it does. */
static int do_git(const char *path, const char *const *words, struct wp_error *err)
{
    struct wp_buffer text = {0};
    int rc = wp_git_run(path, words, ANSWER_LIMIT, &text, err);
    wp_buffer_fini(&text);
    return rc;
}

static int borrow_objects(const char *path, const char *dir, struct wp_error *err)
{
    const char *where[] = {"rev-parse", "--path-format=absolute", "--git-path", "objects", NULL};
    char objects[PATH_MAX], file[PATH_MAX];
    int rc = ask_line(dir, where, objects, sizeof(objects) - 1, err);
    if (rc)
        return rc;
    snprintf(file, sizeof(file), "%.*s/.git/objects/info/alternates", PATH_MAX - 40, path);
    strcat(objects, "\n");
    return wp_file_write_cached(file, objects, strlen(objects), err);
}

/* A tag for what names the commit by git describe: the builds, and the facts of a recording. A commit that is named by
 * its hash needs none; a release that cannot be a tag has none. */
static int name_commit(const char *path, const struct wp_revision *revision, struct wp_error *err)
{
    char tag[WP_ID_ROOM + 16];
    const char *words[] = {"update-ref", tag, revision->commit, NULL};
    struct wp_error refused = {0};
    if (!strncmp(revision->commit, revision->release, strlen(revision->release)))
        return 0;
    snprintf(tag, sizeof(tag), "refs/tags/%s", revision->release);
    int rc = do_git(path, words, &refused);
    if (rc && rc != -EINVAL) {
        *err = refused;
        return rc;
    }
    return 0;
}

int wp_work_tree_make(const char *path, const char *dir, const struct wp_revision *revision, struct wp_error *err)
{
    if (has_commit(path, revision->commit))
        return 0;
    const char *checkout[] = {"-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "checkout",
        "--quiet", "--force", "--detach", revision->commit, NULL};
    const char *format[] = {"rev-parse", "--show-object-format", NULL};
    char objects[32];
    int rc = ask_line(dir, format, objects, sizeof(objects), err);
    if (!rc)
        rc = make_folder(path, dir, err);
    char option[64];
    snprintf(option, sizeof(option), "--object-format=%s", objects);
    const char *init[] = {"init", "--quiet", "--template=", option, NULL};
    if (!rc)
        rc = do_git(path, init, err);
    if (!rc)
        rc = borrow_objects(path, dir, err);
    if (!rc)
        rc = do_git(path, checkout, err);
    if (!rc)
        rc = name_commit(path, revision, err);
    return rc ? wp_error_wrap(err, rc, "cannot check out %s", revision->release) : 0;
}
