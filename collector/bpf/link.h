/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_LINK_H
#define WP_COLLECTOR_BPF_LINK_H
/*
 * By which of its names the current task has a file that has several (hard links): as it has opened it, runs it or has
 * it mapped. Of what only the kernel has at hand any name is taken.
 */
#include "call.h"
#include "told_path.h"

#define LINK_AREAS 4 /* of those that map the file, from the tree's root down */

struct file_name {
    __u64 dentry, key;
};

static __always_inline __u64 dentry_if(struct file *file, struct inode *inode)
{
    return file && BPF_CORE_READ(file, f_inode) == inode ? (__u64)(unsigned long)BPF_CORE_READ(file, f_path.dentry) : 0;
}

/* Of the descriptor that is the first argument of its system call, if it is in one. */
static __always_inline __u64 dentry_of_call(struct task_struct *task, struct inode *inode)
{
#if defined(__TARGET_ARCH_x86)
    struct pt_regs *regs = user_regs(task);
    if (!regs || (long)BPF_CORE_READ(regs, orig_ax) < 0)
        return 0;
    __u32 fd = (__u32)BPF_CORE_READ(regs, di);
    struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    struct file **files = BPF_CORE_READ(table, fd), *file = 0;
    if (!files || fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + fd))
        return 0;
    return dentry_if(file, inode);
#else
    return 0;
#endif
}

/* Of an area of the task's memory; of another task's, if none is found. */
static __always_inline __u64 dentry_of_area(struct mm_struct *mm, struct inode *inode)
{
    struct vm_area_struct *none = 0;
    __u64 place = __builtin_preserve_field_info(none->shared.rb, BPF_FIELD_BYTE_OFFSET);
    struct rb_node *node = BPF_CORE_READ(inode, i_mapping, i_mmap.rb_root.rb_node);
    __u64 found = 0;
    bool is_own = false;
#pragma unroll
    for (int i = 0; i < LINK_AREAS; i++) {
        if (!node || is_own)
            continue;
        struct vm_area_struct *area = (struct vm_area_struct *)((__u64)(unsigned long)node - place);
        is_own = BPF_CORE_READ(area, vm_mm) == mm;
        if (is_own || !found)
            found = dentry_if(BPF_CORE_READ(area, vm_file), inode);
        struct rb_node *left = BPF_CORE_READ(node, rb_left);
        node = left ? left : BPF_CORE_READ(node, rb_right);
    }
    return found;
}

/* 0: not known. Not static, as tell_path(). */
__noinline __u64 dentry_in_use(__u64 inode_at)
{
    struct task_struct *task = current_task();
    struct inode *inode = (struct inode *)inode_at;
    struct mm_struct *mm = BPF_CORE_READ(task, mm);
    __u64 found = mm ? dentry_of_call(task, inode) : 0;
    if (!found && mm)
        found = dentry_if(BPF_CORE_READ(mm, exe_file), inode);
    return found ? found : dentry_of_area(mm, inode);
}

static __always_inline struct file_name name_of_inode(struct inode *inode)
{
    struct file_name name = {.key = inode_key(inode)};
    if (BPF_CORE_READ(inode, i_nlink) > 1) {
        name.dentry = dentry_in_use((__u64)(unsigned long)inode);
        name.key = link_key(inode, name.dentry);
    }
    if (!name.dentry)
        name.dentry = (__u64)(unsigned long)dentry_of(inode);
    return name;
}

#endif
