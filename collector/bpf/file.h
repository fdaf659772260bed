/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_FILE_H
#define WP_COLLECTOR_BPF_FILE_H
/*
 * Which file a block request is for: in a call of direct I/O by its descriptor, else by the direct I/O that the kernel
 * keeps with the request (what io_uring and AIO have asked for), else by the page cache that the request's first page
 * belongs to. Its path is told once (told_path.h).
 */
#include "link.h"
#include "sched.h"

#define TMPFS_MAGIC 0x01021994      /* include/uapi/linux/magic.h */
#define O_DIRECT 040000             /* x86 */
#define FOLIO_MASKS (-(1ull << 30)) /* masks of addresses are from here on; no page's description is */

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
    if (!files || fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + fd) ||
        !file)
        return 0;
    return BPF_CORE_READ(file, f_flags) & O_DIRECT ? BPF_CORE_READ(file, f_inode) : 0;
#else
    return 0;
#endif
}

/* Address of iomap_dio_bio_end_io (fs/iomap/direct-io.c; of file systems that do their direct I/O by it), which the
 * reader fills in: libbpf would read all of /proc/kallsyms for it before it loads anything. 0: not known. */
__u64 wp_direct_io_end = 0;

/* Of the direct I/O whose part the request is, whoever has asked for it and by which call; else NULL. */
static __always_inline struct inode *inode_of_direct(struct request *rq)
{
    struct bio *bio = BPF_CORE_READ(rq, bio);
    if (!bio || !wp_direct_io_end || (__u64)(unsigned long)BPF_CORE_READ(bio, bi_end_io) != wp_direct_io_end ||
        !bpf_core_field_exists(((struct iomap_dio *)0)->iocb))
        return 0;
    struct iomap_dio *dio = BPF_CORE_READ(bio, bi_private);
    return dio ? BPF_CORE_READ(dio, iocb, ki_filp, f_inode) : 0;
}

/* Of a page that is not the first of its folio the one that is: by that one's address, or, where the size of a page's
 * description is a power of two, in Linux 7.2 by the bits of the page's own address that both have
 * (include/linux/page-flags.h). */
static __always_inline struct page *first_page(struct page *page)
{
    if (!bpf_core_field_exists(((struct page___info *)0)->compound_info)) {
        __u64 head = BPF_CORE_READ(page, compound_head);
        return head & 1 ? (struct page *)(head - 1) : page;
    }
    __u64 info = BPF_CORE_READ((struct page___info *)page, compound_info);
    if (!(info & 1))
        return page;
    return (struct page *)(info >= FOLIO_MASKS ? (__u64)(unsigned long)page & info : info - 1);
}

/* Of the page cache that the request's first page is in; of none, and of anonymous memory (include/linux/page-flags.h):
 * NULL. */
static __always_inline struct inode *inode_of_page(struct request *rq)
{
    struct bio *bio = BPF_CORE_READ(rq, bio);
    if (!bio)
        return 0;
    struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec) + BPF_CORE_READ(bio, bi_iter.bi_idx);
    struct page *page = BPF_CORE_READ(vec, bv_page);
    struct address_space *mapping = page ? BPF_CORE_READ(first_page(page), mapping) : 0;
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
        inode = inode_of_direct(rq);
    if (!inode)
        inode = inode_of_page(rq);
    if (!inode)
        return 0;
    struct file_name name = name_of_inode(inode);
    if (is_new_name(name.key))
        tell_path(BPF_CORE_READ(inode, i_sb, s_magic) == BDEVFS_MAGIC ? 0 : name.dentry, (__u64)(unsigned long)inode,
            name.key);
    return name.key;
}

#endif
