/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/env_check.h"

#include "storage/env/env_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the size --- */

#define MOST_BYTES ((uint64_t)1 << 47) /* of address space */

static bool is_beyond(uint64_t page, uint64_t pages)
{
    return page != WP_ENV_NO_PAGE && page >= pages;
}

int wp_env_measure(const char *folder, struct wp_error *err)
{
    char path[PATH_MAX + 16];
    struct wp_env_meta meta, other;
    struct stat st;
    snprintf(path, sizeof(path), "%s/data.mdb", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    if (fd < 0)
        return 0;
    bool is_known = wp_env_read_meta(fd, 0, &meta);
    if (is_known && !wp_env_page_size_is_well(meta.trees[0].pad)) {
        rc = wp_error_set(
            err, -EBADMSG, "'%s' is damaged: it says that its pages have %u bytes", path, meta.trees[0].pad);
        is_known = false;
    }
    uint64_t page_size = is_known ? meta.trees[0].pad : 1;
    if (is_known && wp_env_read_meta(fd, page_size, &other) && other.txn > meta.txn)
        meta = other;
    if (is_known &&
        !fstat(fd, &st)) { /* the size after the meta page: a writer makes the file longer, then points there */
        uint64_t pages = (uint64_t)st.st_size / page_size;
        if (is_beyond(meta.trees[0].root, pages) || is_beyond(meta.trees[1].root, pages))
            rc = wp_error_set(err, -EBADMSG, "'%s' is damaged: it is cut short, at %llu bytes of %llu", path,
                (unsigned long long)st.st_size, (unsigned long long)((meta.last_page + 1) * page_size));
        else if (meta.last_page >= MOST_BYTES / page_size || meta.map_size > MOST_BYTES)
            rc = wp_error_set(err, -EBADMSG, "'%s' is damaged: it says that it has %llu pages", path,
                (unsigned long long)meta.last_page);
        else
            rc = meta.last_page >= pages;
    }
    close(fd);
    return rc;
}

/* --- the walk --- */

static int compare_keys(MDB_val a, MDB_val b)
{
    int rc = memcmp(a.mv_data, b.mv_data, a.mv_size < b.mv_size ? a.mv_size : b.mv_size);
    return rc ? rc : a.mv_size < b.mv_size ? -1 : a.mv_size > b.mv_size;
}

/* Text is compared as bytes; the tree of free pages has numbers of this machine's as keys. */
static int compare(MDB_val a, MDB_val b, MDB_dbi dbi)
{
    if (dbi || a.mv_size != sizeof(size_t) || b.mv_size != sizeof(size_t))
        return compare_keys(a, b);
    size_t x, y;
    memcpy(&x, a.mv_data, sizeof(x));
    memcpy(&y, b.mv_data, sizeof(y));
    return x < y ? -1 : x > y;
}

/* A ruined tree may lead in circles: keys must ascend. */
static int walk(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_cursor *cursor;
    MDB_val k, v;
    char before[512];
    MDB_val last = {0, before};
    int rc = mdb_cursor_open(txn, dbi, &cursor);
    while (!rc && !(rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT))) {
        if (k.mv_size > sizeof(before) || (last.mv_size && compare(last, k, dbi) >= 0))
            return MDB_CORRUPTED;
        memcpy(before, k.mv_data, k.mv_size);
        last.mv_size = k.mv_size;
        if (v.mv_size) { /* both ends: a value may go on over pages that are not there */
            (void)*(const volatile uint8_t *)v.mv_data;
            (void)((const volatile uint8_t *)v.mv_data)[v.mv_size - 1];
        }
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* In the child. Other errors than damage are for who opens it really. */
static bool is_whole(const char *folder)
{
    MDB_env *env;
    MDB_txn *txn;
    bool is_ruined = false;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* its death is expected */
    if (null >= 0)
        dup2(null, 2); /* LMDB's assertions print */
    if (mdb_env_create(&env))
        return true;
    mdb_env_set_mapsize(env, (size_t)1 << 30);
    int rc = mdb_env_open(env, folder, MDB_NOTLS | MDB_RDONLY, 0664);
    if (!rc)
        rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (!rc)
        is_ruined = wp_env_look(env, txn, &(struct wp_env_look){0}, NULL) == -EBADMSG;
    if (!rc && !is_ruined) {
        MDB_dbi dbi;
        rc = mdb_dbi_open(txn, NULL, 0, &dbi);
        if (!rc)
            rc = walk(txn, dbi);
        if (!rc)
            rc = walk(txn, 0); /* the tree of free pages is database 0: what a writer needs */
        mdb_txn_abort(txn);
    }
    if (!is_ruined)
        mdb_env_close(env);
    return !is_ruined && rc != MDB_CORRUPTED && rc != MDB_PAGE_NOTFOUND && rc != MDB_CURSOR_FULL && rc != MDB_PANIC;
}

int wp_env_walk(const char *folder, struct wp_error *err)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        return wp_error_errno(err, -errno, "cannot start a process that looks at '%s'", folder);
    if (!child)
        _exit(is_whole(folder) ? 0 : 1);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return wp_error_errno(err, -errno, "cannot wait for the process that looks at '%s'", folder);
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return 0;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM))
        return wp_error_set(err, -EINTR, "the process that looked at '%s' was killed", folder);
    return wp_error_set(err, -EBADMSG, "'%s/data.mdb' is damaged: its pages do not lead through all of it", folder);
}
