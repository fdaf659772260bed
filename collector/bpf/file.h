/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_FILE_H
#define WP_COLLECTOR_BPF_FILE_H
/*
 * Which file a block request is for: in a call of direct I/O by its descriptor, else by the page cache that the request's first
 * page belongs to. Its path is told once. All of it is read without locks: a
 * name that is just being changed may be told wrongly, and nothing else.
 */
#include "sched.h"

#define BDEVFS_MAGIC 0x62646576 /* include/uapi/linux/magic.h */
#define TMPFS_MAGIC 0x01021994
#define O_DIRECT 040000 /* x86 */

struct path_record {
    struct wp_record head;
    struct wp_record_path path;
};

/* Files whose path the reader has, by key. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, __u64);
    __type(value, __u8);
} named_files SEC(".maps");

static __always_inline struct dentry *dentry_of(struct inode *inode)
{
    struct hlist_node *node = BPF_CORE_READ(inode, i_dentry.first);
    struct dentry *none = 0;
    if (!node || !bpf_core_field_exists(none->d_u.d_alias))
        return 0;
    return (struct dentry *)((__u64)(unsigned long)node - __builtin_preserve_field_info(none->d_u.d_alias, BPF_FIELD_BYTE_OFFSET));
}

static __always_inline void tell_path(struct inode *inode, __u64 key)
{
    struct path_record *r = RESERVE(struct path_record, WP_RECORD_PATH);
    if (!r)
        return;
    fill_head(&r->head, WP_RECORD_PATH, current_task());
    r->head.a = key;
    r->head.d = BPF_CORE_READ(inode, i_sb, s_dev);
    r->head.tail = sizeof(r->path);
    __u32 count = 0;
    struct dentry *dentry = BPF_CORE_READ(inode, i_sb, s_magic) == BDEVFS_MAGIC ? 0 : dentry_of(inode);
#pragma unroll
    for (int i = 0; i < WP_RECORD_NAMES; i++) {
        r->path.names[i][0] = 0;
        struct dentry *parent = dentry ? BPF_CORE_READ(dentry, d_parent) : 0;
        if (!parent || parent == dentry) /* the filesystem's root */
            continue;
        bpf_probe_read_kernel_str(r->path.names[i], WP_RECORD_NAME, BPF_CORE_READ(dentry, d_name.name));
        count = i + 1;
        dentry = parent;
    }
    r->path.count = count;
    r->path.reserved = 0;
    submit(r);
}

/* Of the descriptor of the system call that the thread is in, when that is direct I/O; else NULL. */
static __always_inline struct inode *inode_of_call(void)
{
#if defined(__TARGET_ARCH_x86)
    struct task_struct *task = current_task();
    struct pt_regs *regs = user_regs(task);
    if (!regs)
        return 0;
    __u64 number = BPF_CORE_READ(regs, orig_ax), fd = BPF_CORE_READ(regs, di);
    if (number > 1 && (number < 17 || number > 20) && number != 295 && number != 296 && number != 327 && number != 328)
        return 0; /* read, write, pread64 to writev, preadv, pwritev, preadv2, pwritev2 */
    struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    struct file **files = BPF_CORE_READ(table, fd), *file = 0;
    if (!files || fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
        return 0;
    return BPF_CORE_READ(file, f_flags) & O_DIRECT ? BPF_CORE_READ(file, f_inode) : 0;
#else
    return 0;
#endif
}

/* Of the page cache that the request's first page is in; of none, and of anonymous memory (include/linux/page-flags.h): NULL. */
static __always_inline struct inode *inode_of_page(struct request *rq)
{
    struct bio *bio = BPF_CORE_READ(rq, bio);
    if (!bio)
        return 0;
    struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec) + BPF_CORE_READ(bio, bi_iter.bi_idx);
    struct page *page = BPF_CORE_READ(vec, bv_page);
    __u64 head = page ? BPF_CORE_READ(page, compound_head) : 0;
    if (head & 1)
        page = (struct page *)(head - 1);
    struct address_space *mapping = page ? BPF_CORE_READ(page, mapping) : 0;
    if (!mapping || (__u64)(unsigned long)mapping & 3)
        return 0;
    struct inode *inode = BPF_CORE_READ(mapping, host);
    return BPF_CORE_READ(inode, i_sb, s_magic) == TMPFS_MAGIC ? 0 : inode; /* a buffer of direct I/O, or swap */
}

/* The key of the request's file, 0: not known. */
static __always_inline __u64 file_of(struct request *rq)
{
    if (!rq->__data_len)
        return 0;
    struct inode *inode = inode_of_call();
    if (!inode)
        inode = inode_of_page(rq);
    if (!inode)
        return 0;
    __u64 key = mix(mix(BPF_CORE_READ(inode, i_sb, s_dev), BPF_CORE_READ(inode, i_ino)), BPF_CORE_READ(inode, i_generation)) | 1;
    __u8 one = 1;
    if (!bpf_map_lookup_elem(&named_files, &key) && !bpf_map_update_elem(&named_files, &key, &one, BPF_ANY))
        tell_path(inode, key);
    return key;
}

#endif
