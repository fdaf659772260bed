/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/output_dir.h"

#include "cli/base/own_store.h"
#include "common/path.h"
#include "reporter/site/site_publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_IN_OUT "store"
#define STORE_UNFINISHED "store.new"
#define INSIDE 512 /* bytes of a path for what lies in the folder: a release, an aggregate and a page */
#define BESIDE 6   /* the reporter's ".NAME.lock" */

/* Not inherited: what is recorded may outlive the recording. */
static const char *const scratch_names[] = {"events", "wakepath-aggregator.log", "wakepath-collector.log",
    "wakepath-reporter.log", "own.log", "own.system", NULL};
static void remove_store(const char *path)
{
    char store[WP_SCRATCH_ROOM + 16];
    snprintf(store, sizeof(store), "%s/" STORE_IN_OUT, path);
    wp_own_store_remove(store, NULL);
    snprintf(store, sizeof(store), "%s/own.store", path);
    wp_path_remove(store, NULL);
}

const struct wp_scratch_kind wp_record_scratch = {"wakepath-record-", scratch_names, remove_store, false};

static bool exists(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

/* A report of ours has the reporter's list of files; stores of recordings are what a failed report leaves, beside what
 * the user keeps there. */
static int check_out(const char *out, bool has_own_store, struct wp_error *err)
{
    static const char *const stores[] = {STORE_IN_OUT, STORE_UNFINISHED};
    char path[PATH_MAX];
    DIR *dir = opendir(out);
    if (!dir)
        return errno == ENOENT ? 0 : wp_error_errno(err, -errno, "cannot use '%s' for the report", out);
    bool is_ours = false, is_foreign = false;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        is_ours |= !strcmp(entry->d_name, WP_SITE_MANIFEST);
        is_foreign |= strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
            strcmp(entry->d_name, STORE_IN_OUT) && strcmp(entry->d_name, STORE_UNFINISHED);
    }
    closedir(dir);
    snprintf(path, sizeof(path), "%.*s/" STORE_IN_OUT, PATH_MAX - INSIDE, out);
    int rc = is_foreign && !is_ours && !wp_own_store_is_whole(path)
        ? wp_error_set(err, -EEXIST,
              "'%s' holds files that are not a report of Wakepath: give another folder with --out DIR", out)
        : 0;
    for (size_t i = 0; !rc && has_own_store && i < sizeof(stores) / sizeof(stores[0]); i++) {
        snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - INSIDE, out, stores[i]);
        rc = wp_own_store_check(path, err);
    }
    return rc;
}

/* root passes every access(2), so a file is made and removed: read-only and full file systems show here. */
static int check_writable(const char *folder, const char *what, const char *flag, struct wp_error *err)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/.wakepath-XXXXXX", folder) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "the name of the %s is too long", what);
    int fd = mkstemp(path);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write the %s in '%s' (choose another with %s)", what, folder, flag);
    close(fd);
    unlink(path);
    return 0;
}

static int make_folder(const char *path, const char *what, const char *flag, bool *made, struct wp_error *err)
{
    *made = !exists(path);
    int rc = wp_path_make(path, err);
    if (rc) {
        *made = false;
        return wp_error_wrap(err, rc, "cannot write the %s (choose another with %s)", what, flag);
    }
    return check_writable(path, what, flag, err);
}

/* Two recordings into one folder would take each other's store for one that was left. */
static int lock_out(struct wp_output_dir *output, struct wp_error *err)
{
    output->lock_fd = open(output->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->lock_fd < 0)
        return wp_error_errno(err, -errno, "cannot open '%s'", output->out);
    if (!flock(output->lock_fd, LOCK_EX | LOCK_NB))
        return 0;
    return errno == EWOULDBLOCK
        ? wp_error_set(err, -EBUSY, "another recording into '%s' runs: give another folder with --out DIR", output->out)
        : wp_error_errno(err, -errno, "cannot lock '%s'", output->out);
}

static int make_store(struct wp_output_dir *output, struct wp_error *err)
{
    if (!output->is_own_store)
        return make_folder(output->store, "store", "--store", &output->made_store, err);
    int rc = wp_own_store_remove(output->store, err); /* what a killed recording left */
    if (!rc)
        rc = wp_own_store_begin(output->store, output->release, err);
    output->made_store = !rc;
    return rc ? rc : check_writable(output->store, "store", "--store", err);
}

/* Bytes of the last name of a path. */
static size_t last_name(const char *path)
{
    size_t end = strlen(path), size = 0;
    while (end && path[end - 1] == '/')
        end--;
    while (size < end && path[end - 1 - size] != '/')
        size++;
    return size;
}

static int take_names(struct wp_output_dir *output, const struct wp_output_dir_options *options, struct wp_error *err)
{
    const char *out = options->out, *store = options->store;
    int written = snprintf(output->out, sizeof(output->out), "%s", out);
    int more = store ? snprintf(output->store, sizeof(output->store), "%s", store)
                     : snprintf(output->store, sizeof(output->store), "%.*s/" STORE_UNFINISHED, PATH_MAX - INSIDE, out);
    snprintf(output->release, sizeof(output->release), "%s", options->release);
    output->is_own_store = !store;
    if (!*out || (store && !*store))
        return wp_error_set(err, -EINVAL, "--out and --store take the name of a folder");
    if (written >= PATH_MAX - INSIDE || more >= PATH_MAX - INSIDE)
        return wp_error_set(err, -ENAMETOOLONG, "--out and --store take the path of a folder, of at most %d bytes",
            PATH_MAX - INSIDE - 1);
    if (last_name(out) > NAME_MAX - BESIDE)
        return wp_error_set(err, -ENAMETOOLONG, "--out takes a folder's name of at most %d bytes", NAME_MAX - BESIDE);
    return 0;
}

/* A store that nobody keeps. */
static int prepare_private(
    struct wp_output_dir *output, const struct wp_output_dir_options *options, struct wp_error *err)
{
    int rc = wp_scratch_make(&output->scratch, &wp_record_scratch, err);
    if (rc)
        return rc;
    snprintf(output->release, sizeof(output->release), "%s", options->release);
    snprintf(output->store, sizeof(output->store), "%s/" STORE_IN_OUT, output->scratch.path);
    output->is_own_store = true;
    return make_store(output, err);
}

int wp_output_dir_prepare(
    struct wp_output_dir *output, const struct wp_output_dir_options *options, struct wp_error *err)
{
    *output = (struct wp_output_dir){0};
    if (!options->out)
        return prepare_private(output, options, err);
    int rc = take_names(output, options, err);
    if (!rc)
        rc = check_out(output->out, output->is_own_store, err);
    if (!rc)
        rc = make_folder(output->out, "report", "--out", &output->made_out, err);
    if (!rc)
        rc = lock_out(output, err);
    if (!rc)
        rc = make_store(output, err);
    return rc ? rc : wp_scratch_make(&output->scratch, &wp_record_scratch, err);
}

/* The last one is there until the new one has its name, where the file system can exchange the two. */
static int replace(const char *fresh, const char *kept, struct wp_error *err)
{
    int rc = wp_own_store_check(kept, err);
    if (rc)
        return rc;
    if (!renameat2(AT_FDCWD, fresh, AT_FDCWD, kept, RENAME_EXCHANGE)) {
        wp_own_store_remove(fresh, NULL); /* else the next recording does */
        return 0;
    }
    rc = wp_own_store_remove(kept, err);
    return !rc && rename(fresh, kept) ? wp_error_errno(err, -errno, "cannot keep the store as '%s'", kept) : rc;
}

int wp_output_dir_keep_store(struct wp_output_dir *output, struct wp_error *err)
{
    char kept[PATH_MAX];
    wp_earlier_report_claim(output->out);
    if (!output->is_own_store)
        return 0;
    snprintf(kept, sizeof(kept), "%.*s/" STORE_IN_OUT, PATH_MAX - INSIDE, output->out);
    int rc = wp_own_store_seal(output->store, output->release, err);
    if (rc)
        return rc;
    rc = wp_earlier_report_keep(output->out, STORE_IN_OUT, &output->earlier, err);
    if (!rc)
        rc = replace(output->store, kept, err);
    if (rc) {
        output->made_store = false; /* it is whole: nothing to take back */
        return wp_error_wrap(err, rc, "what was recorded is in '%s'", output->store);
    }
    memcpy(output->store, kept, sizeof(kept));
    return 0;
}

bool wp_output_dir_has_capture(const struct wp_output_dir *output)
{
    return output->is_own_store && *output->out;
}

void wp_output_dir_fini(struct wp_output_dir *output, bool undo)
{
    if (undo && output->made_store && output->is_own_store)
        wp_own_store_remove(output->store, NULL);
    else if (undo && output->made_store && rmdir(output->store))
        wp_own_store_take_back(output->store, output->release);
    wp_scratch_remove(&output->scratch);
    if (undo && output->made_out)
        rmdir(output->out); /* fails, as it should, when the command has written there */
    if (output->lock_fd > 0)
        close(output->lock_fd);
    output->lock_fd = 0;
}
