/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_TOLD_PATH_H
#define WP_COLLECTOR_BPF_TOLD_PATH_H
/*
 * What files are called, told once each. All of it is read without locks: a name that is just being changed may be told
 * wrongly, and nothing else.
 */
#include "emit.h"

#define BDEVFS_MAGIC 0x62646576 /* include/uapi/linux/magic.h */

struct path_record {
    struct wp_record head;
    struct wp_record_path path;
};

/* What the reader has a name for, by key: files, and what threads wait for (wait.h). */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, __u64);
    __type(value, __u8);
} named SEC(".maps");

static __always_inline bool is_new_name(__u64 key)
{
    __u8 one = 1;
    return !bpf_map_lookup_elem(&named, &key) && !bpf_map_update_elem(&named, &key, &one, BPF_ANY);
}

/* A key has 48 bits: it stands beside a number of two bytes. */
static __always_inline __u64 name_key(__u64 hash)
{
    return hash >> 16 | 1;
}

static __always_inline __u64 inode_key(struct inode *inode)
{
    return name_key(mix(mix((__u64)BPF_CORE_READ(inode, i_sb, s_dev) << 32, BPF_CORE_READ(inode, i_ino)),
        BPF_CORE_READ(inode, i_generation)));
}

/* Of a file with several names, which it is known by where. */
static __always_inline __u64 link_key(struct inode *inode, __u64 dentry)
{
    __u64 key = inode_key(inode);
    return dentry && BPF_CORE_READ(inode, i_nlink) > 1 ? name_key(mix(key, dentry) << 16) : key;
}

/* Any of its names. */
static __always_inline struct dentry *dentry_of(struct inode *inode)
{
    struct hlist_node *node = BPF_CORE_READ(inode, i_dentry.first);
    struct dentry *none = 0;
    struct dentry___unnamed *unnamed = 0;
    __u64 at = (__u64)(unsigned long)node;
    if (node && bpf_core_field_exists(none->d_u.d_alias))
        return (struct dentry *)(at - __builtin_preserve_field_info(none->d_u.d_alias, BPF_FIELD_BYTE_OFFSET));
    if (node && bpf_core_field_exists(unnamed->d_alias))
        return (struct dentry *)(at - __builtin_preserve_field_info(unnamed->d_alias, BPF_FIELD_BYTE_OFFSET));
    return 0;
}

/* Of a dentry, 0: it has no path, and an inode. What is in no folder (a pipe, "[eventfd]") has the name of its kind.
 * Not static: the verifier walks it once, not once for each state of each caller. */
__noinline int tell_path(__u64 dentry_at, __u64 inode_at, __u64 key)
{
    struct dentry *dentry = (struct dentry *)dentry_at;
    struct inode *inode = (struct inode *)inode_at;
    struct path_record *r = RESERVE(struct path_record, WP_RECORD_PATH);
    if (!r)
        return 0;
    fill_head(&r->head, WP_RECORD_PATH, current_task());
    r->head.a = key;
    r->head.b = BPF_CORE_READ(inode, i_sb, s_magic);
    r->head.c = BPF_CORE_READ(inode, i_mode);
    r->head.d = BPF_CORE_READ(inode, i_sb, s_dev);
    r->head.tail = sizeof(r->path);
    __u32 count = 0;
#pragma unroll
    for (int i = 0; i < WP_RECORD_NAMES; i++) {
        r->path.names[i][0] = 0;
        struct dentry *parent = dentry ? BPF_CORE_READ(dentry, d_parent) : 0;
        if (!parent || (parent == dentry && i)) /* the filesystem's root */
            continue;
        bpf_probe_read_kernel_str(r->path.names[i], WP_RECORD_NAME, BPF_CORE_READ(dentry, d_name.name));
        count = i + 1;
        dentry = parent == dentry ? 0 : parent;
    }
    r->path.count = count;
    r->path.special = BPF_CORE_READ(inode, i_rdev);
    submit(r);
    return 0;
}

#endif
