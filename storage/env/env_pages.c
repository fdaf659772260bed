/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/env_pages.h"

#include "storage/value/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct wp_env_tree) == 48 && sizeof(struct wp_env_meta) == 152, "LMDB's meta page has no holes");

#define META_MAGIC 0xBEEFC0DEu
#define META_VERSION 1u
#define METAS 2u
#define DEPTH 32u /* of LMDB's cursors */
#define TRIES 100
#define LARGEST 65536u

enum { BRANCH = 1, LEAF = 2, OVERFLOW = 4, DIRTY = 0x10, KINDS = 0x6f }; /* flags of a page */
enum { BIG = 1, NODE_FLAGS = 7 };                                        /* flags of a node of a leaf */

struct page_head {
    uint64_t number;
    uint16_t pad, flags;
    union {
        struct {
            uint16_t lower, upper;
        };
        uint32_t pages; /* of the first page of a large value */
    };
};
_Static_assert(sizeof(struct page_head) == 16, "LMDB's page head has no holes");

struct node {
    uint16_t low, high, flags, key_size;
};

/* A large value whose head says more pages than it needs: well, if nobody has them (LMDB makes it so when a value is
 * put twice in a transaction). */
struct longer {
    char key[512];
    struct wp_env_head head;
};

struct walk {
    const struct wp_env_look *look;
    struct wp_error *err;
    int fd;
    uint64_t page_size, pages; /* what the snapshot and the file both have */
    uint64_t last_page;
    const struct wp_env_tree *tree;
    bool is_free;          /* the tree of free pages */
    uint8_t *seen;         /* a bit a page */
    uint8_t *stack[DEPTH]; /* a page's bytes, of each level */
    struct longer *longer;
    uint32_t longer_count, longer_room;
};

bool wp_env_read_meta(int fd, uint64_t at, struct wp_env_meta *meta)
{
    return pread(fd, meta, sizeof(*meta), (off_t)at) == (ssize_t)sizeof(*meta) && meta->magic == META_MAGIC &&
        meta->version == META_VERSION;
}

bool wp_env_page_size_is_well(uint64_t size)
{
    return size >= 512 && size <= LARGEST && !(size & (size - 1));
}

static int damaged(struct walk *walk, uint64_t page, const char *what)
{
    return wp_error_set(walk->err, -EBADMSG, "page %llu %s", (unsigned long long)page, what);
}

/* Each page is somebody's once. */
static int take_pages(struct walk *walk, uint64_t first, uint64_t count, uint64_t bound)
{
    if (first < METAS || first >= bound || count > bound - first)
        return damaged(walk, first, "is not in the file");
    for (uint64_t page = first; page < first + count && page < walk->pages; page++) {
        if (walk->seen[page / 8] & 1u << page % 8)
            return damaged(walk, page, "is used twice");
        walk->seen[page / 8] |= (uint8_t)(1u << page % 8);
    }
    return 0;
}

static int read_at(struct walk *walk, void *bytes, size_t size, uint64_t page, uint64_t offset)
{
    ssize_t got = pread(walk->fd, bytes, size, (off_t)(page * walk->page_size + offset));
    if (got < 0)
        return wp_error_errno(walk->err, -errno, "cannot read page %llu", (unsigned long long)page);
    return (size_t)got == size ? 0 : damaged(walk, page, "is not whole");
}

/* --- large values, and the lists of free pages --- */

static uint64_t pages_of(uint64_t size, uint64_t page_size)
{
    return (sizeof(struct page_head) - 1 + size) / page_size + 1;
}

static bool is_head_of(const struct page_head *head, uint64_t number)
{
    return head->number == number && (head->flags & (KINDS | DIRTY)) == OVERFLOW;
}

static int note_longer(struct walk *walk, const struct wp_env_head *head)
{
    if (wp_rows_grow(&walk->longer, &walk->longer_room, walk->longer_count, sizeof(*walk->longer)))
        return wp_error_set(walk->err, -ENOMEM, "out of memory for large values");
    struct longer *longer = &walk->longer[walk->longer_count++];
    longer->head = *head;
    longer->head.key_size = head->key_size < sizeof(longer->key) ? head->key_size : sizeof(longer->key);
    memcpy(longer->key, head->key, longer->head.key_size);
    return 0;
}

static int tell_ruined(struct walk *walk, const struct wp_env_head *head)
{
    return walk->look->ruined ? walk->look->ruined(walk->look->context, head) : 0;
}

/* When all that are in use are known. */
static int look_at_longer(struct walk *walk)
{
    int rc = 0;
    for (uint32_t i = 0; i < walk->longer_count && !rc; i++) {
        struct longer *longer = &walk->longer[i];
        struct wp_error ignored = {0}, *err = walk->err;
        longer->head.key = longer->key;
        walk->err = &ignored;
        int taken = take_pages(
            walk, longer->head.page + longer->head.pages, longer->head.said - longer->head.pages, walk->pages);
        walk->err = err;
        if (taken)
            rc = tell_ruined(walk, &longer->head);
    }
    return rc;
}

static int look_at_large(struct walk *walk, const char *key, size_t key_size, uint64_t first, uint64_t size)
{
    struct page_head head;
    uint64_t count = pages_of(size, walk->page_size);
    int rc = take_pages(walk, first, count, walk->pages);
    if (rc || (!walk->look->ruined && !walk->is_free))
        return rc;
    rc = read_at(walk, &head, sizeof(head), first, 0);
    struct wp_env_head row = {key, key_size, first, head.pages, (uint32_t)count};
    if (rc || (is_head_of(&head, first) && head.pages == count))
        return rc;
    if (walk->is_free) /* rebuilt by nobody: a writer would have to free it first */
        return is_head_of(&head, first) && head.pages > count
            ? note_longer(walk, &row)
            : damaged(walk, first, "of the list of free pages is ruined");
    return is_head_of(&head, first) && head.pages > count ? note_longer(walk, &row) : tell_ruined(walk, &row);
}

static uint64_t number_at(const uint8_t *bytes)
{
    uint64_t number;
    memcpy(&number, bytes, sizeof(number));
    return number;
}

/* LMDB takes the list as it is: its length, its order, and that nobody has those pages. */
static int look_at_free(struct walk *walk, uint64_t page, const uint8_t *list, uint64_t size)
{
    uint64_t count = size >= sizeof(count) ? number_at(list) : UINT64_MAX, last = UINT64_MAX;
    if (count > size / sizeof(count) - 1)
        return damaged(walk, page, "has a list of free pages that is longer than its value");
    int rc = 0;
    for (uint64_t i = 1; i <= count && !rc; i++) {
        uint64_t number = number_at(list + i * sizeof(number));
        rc = number < last ? take_pages(walk, number, 1, walk->last_page + 1)
                           : damaged(walk, page, "has free pages out of order");
        last = number;
    }
    return rc;
}

static int read_free(struct walk *walk, uint64_t page, uint64_t size)
{
    uint8_t *list = malloc(size);
    if (!list)
        return wp_error_set(walk->err, -ENOMEM, "out of memory for a list of free pages");
    int rc = read_at(walk, list, size, page, sizeof(struct page_head));
    if (!rc)
        rc = look_at_free(walk, page, list, size);
    free(list);
    return rc;
}

/* --- the tree --- */

static int look_at_value(struct walk *walk, uint64_t page, const uint8_t *at, const struct node *node, size_t room)
{
    uint64_t size = node->low | (uint64_t)node->high << 16;
    const uint8_t *key = at + sizeof(*node), *data = key + node->key_size;
    bool is_big = node->flags & BIG;
    if (node->flags & NODE_FLAGS & ~BIG || !node->key_size || (walk->is_free && node->key_size != sizeof(size_t)) ||
        sizeof(*node) + node->key_size + (is_big ? sizeof(uint64_t) : size) > room)
        return damaged(walk, page, "has a value that is not in it");
    if (!is_big)
        return walk->is_free ? look_at_free(walk, page, data, size) : 0;
    int rc = look_at_large(walk, (const char *)key, node->key_size, number_at(data), size);
    return rc || !walk->is_free ? rc : read_free(walk, number_at(data), size);
}

static int look_at_page(struct walk *walk, uint64_t page, unsigned depth);

static int look_at_node(struct walk *walk, uint64_t page, unsigned depth, uint16_t offset)
{
    struct node node;
    size_t room = walk->page_size - offset;
    const uint8_t *at = walk->stack[depth] + offset;
    if (room < sizeof(node))
        return damaged(walk, page, "has a node that is not in it");
    memcpy(&node, at, sizeof(node));
    if (sizeof(node) + node.key_size > room)
        return damaged(walk, page, "has a key that is not in it");
    if (depth + 1u == walk->tree->depth)
        return look_at_value(walk, page, at, &node, room);
    return look_at_page(walk, node.low | (uint64_t)node.high << 16 | (uint64_t)node.flags << 32, depth + 1);
}

static int look_at_page(struct walk *walk, uint64_t page, unsigned depth)
{
    struct page_head head;
    bool is_leaf = depth + 1u == walk->tree->depth;
    int rc = take_pages(walk, page, 1, walk->pages);
    if (!rc && !walk->stack[depth] && !(walk->stack[depth] = malloc(walk->page_size)))
        rc = wp_error_set(walk->err, -ENOMEM, "out of memory for a page");
    if (!rc)
        rc = read_at(walk, walk->stack[depth], walk->page_size, page, 0);
    if (rc)
        return rc;
    memcpy(&head, walk->stack[depth], sizeof(head));
    unsigned nodes = head.lower < sizeof(head) ? 0 : (head.lower - (unsigned)sizeof(head)) / 2;
    if (head.number != page || (head.flags & KINDS) != (is_leaf ? LEAF : BRANCH) || head.lower > head.upper ||
        head.upper > walk->page_size || nodes < (is_leaf || walk->is_free ? 1u : 2u))
        return damaged(walk, page, is_leaf ? "is not the leaf that it must be" : "is not the branch that it must be");
    for (unsigned i = 0; i < nodes && !rc; i++) {
        uint16_t offset;
        memcpy(&offset, walk->stack[depth] + sizeof(head) + 2u * i, sizeof(offset));
        rc = offset < head.upper || offset >= walk->page_size ? damaged(walk, page, "has a node outside of it")
                                                              : look_at_node(walk, page, depth, offset);
    }
    return rc;
}

static int look_at_tree(struct walk *walk, const struct wp_env_tree *tree, bool is_free)
{
    walk->tree = tree;
    walk->is_free = is_free;
    if (tree->root == WP_ENV_NO_PAGE)
        return 0;
    if (!tree->depth || tree->depth > DEPTH)
        return wp_error_set(walk->err, -EBADMSG, "a tree of %u levels", tree->depth);
    return look_at_page(walk, tree->root, 0);
}

static int look_at_snapshot(struct walk *walk, const struct wp_env_meta *meta)
{
    struct stat st;
    if (fstat(walk->fd, &st))
        return wp_error_errno(walk->err, -errno, "cannot look at data.mdb");
    uint64_t in_file = (uint64_t)st.st_size / walk->page_size;
    walk->last_page = meta->last_page;
    walk->pages = meta->last_page < in_file ? meta->last_page + 1 : in_file;
    walk->seen = calloc(walk->pages / 8 + 1, 1);
    int rc = walk->seen
        ? 0
        : wp_error_set(walk->err, -ENOMEM, "out of memory for %llu pages", (unsigned long long)walk->pages);
    if (!rc && !walk->look->is_free_only)
        rc = look_at_tree(walk, &meta->trees[1], false);
    if (!rc)
        rc = look_at_tree(walk, &meta->trees[0], true);
    if (!rc && !walk->look->is_free_only)
        rc = look_at_longer(walk);
    free(walk->longer);
    for (unsigned i = 0; i < DEPTH; i++)
        free(walk->stack[i]);
    free(walk->seen);
    return rc;
}

/* The meta page of the transaction's snapshot; others may have committed twice since it began, and written over it. */
static int find_meta(const struct walk *walk, MDB_txn **txn, MDB_env *env, struct wp_env_meta *meta)
{
    bool is_own = *txn;
    for (int tries = 0; tries < TRIES; tries++) {
        if (!is_own && mdb_txn_begin(env, NULL, MDB_RDONLY, txn))
            return wp_error_set(walk->err, -EBUSY, "cannot begin a transaction");
        uint64_t id = mdb_txn_id(*txn);
        for (uint64_t less = 0; less < 2 && less <= id; less++) /* one that writes has the number of what it will be */
            if (wp_env_read_meta(walk->fd, ((id - less) & 1) * walk->page_size, meta) && meta->txn == id - less)
                return 0;
        if (is_own)
            break;
        mdb_txn_abort(*txn);
        *txn = NULL;
    }
    return wp_error_set(walk->err, is_own ? -ESTALE : -EBADMSG, "no meta page is of the snapshot");
}

int wp_env_look(MDB_env *env, MDB_txn *txn, const struct wp_env_look *look, struct wp_error *err)
{
    struct walk walk = {.look = look, .err = err};
    struct wp_env_meta meta;
    MDB_txn *own = NULL;
    MDB_stat stat;
    mdb_filehandle_t fd;
    if (mdb_env_get_fd(env, &fd) || mdb_env_stat(env, &stat) || !wp_env_page_size_is_well(stat.ms_psize))
        return wp_error_set(err, -EBADMSG, "its pages have no size");
    walk.fd = fd;
    walk.page_size = stat.ms_psize;
    int rc = txn ? find_meta(&walk, &txn, env, &meta) : -ESTALE;
    if (rc == -ESTALE) /* a younger snapshot does as well */
        rc = find_meta(&walk, &own, env, &meta);
    if (!rc)
        rc = look_at_snapshot(&walk, &meta);
    mdb_txn_abort(own);
    return rc;
}

/* --- heads --- */

int wp_env_mend_head(MDB_env *env, const struct wp_env_head *head, struct wp_error *err)
{
    struct page_head bytes = {.number = head->page, .flags = OVERFLOW, .pages = head->pages};
    MDB_stat stat;
    mdb_filehandle_t fd;
    if (mdb_env_get_fd(env, &fd) || mdb_env_stat(env, &stat))
        return wp_error_set(err, -EBADMSG, "cannot find data.mdb");
    ssize_t put = pwrite(fd, &bytes, sizeof(bytes), (off_t)(head->page * stat.ms_psize));
    return put == (ssize_t)sizeof(bytes) && !fdatasync(fd)
        ? 0
        : wp_error_errno(err, put < 0 ? -errno : -EIO, "cannot write page %llu", (unsigned long long)head->page);
}

/* One that this transaction has written is its own, and not yet in the file. */
bool wp_env_head_is_well(MDB_env *env, const MDB_val *key, const MDB_val *value)
{
    struct page_head head, in_file;
    MDB_stat stat;
    MDB_envinfo info;
    mdb_filehandle_t fd;
    if (mdb_env_stat(env, &stat) || mdb_env_info(env, &info) || mdb_env_get_fd(env, &fd))
        return true;
    size_t most = (((stat.ms_psize - sizeof(head)) / 2) & ~(size_t)1) - sizeof(uint16_t); /* mdb.c: me_nodemax */
    if (sizeof(struct node) + key->mv_size + value->mv_size <= most)
        return true;
    memcpy(&head, (const uint8_t *)value->mv_data - sizeof(head), sizeof(head));
    if ((head.flags & KINDS) != OVERFLOW || head.pages < pages_of(value->mv_size, stat.ms_psize))
        return false;
    if (head.flags & DIRTY)
        return true;
    return head.number <= info.me_last_pgno && head.pages <= info.me_last_pgno + 1 - head.number &&
        pread(fd, &in_file, sizeof(in_file), (off_t)(head.number * stat.ms_psize)) == (ssize_t)sizeof(in_file) &&
        !memcmp(&head, &in_file, sizeof(head));
}
