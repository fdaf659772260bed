/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_REREAD_H
#define WP_COLLECTOR_BPF_REREAD_H
/*
 * Pages of files that were read lately, by their place on the disk. Whoever reads such a page again had no room to keep
 * it. A set has four of 16 bits, the newest first: it forgets what is old, and takes one page in 16,000 for another.
 */
#include "file.h"

#define PAGE_SETS (1u << 17)   /* 1 MB, for 2 GB of files */
#define PAGES_OF_REQUEST 1024u /* at most */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, PAGE_SETS);
    __type(key, __u32);
    __type(value, __u64);
} pages_read SEC(".maps");

struct reread {
    __u64 device, page;
    __u64 lacking; /* pages that are not known: counted down, as the verifier follows a sum from 0 for each step */
};

static long note_page(__u32 i, struct reread *read)
{
    __u64 hash = mix(read->device, read->page + i);
    __u32 set = (__u32)hash & (PAGE_SETS - 1);
    __u64 tag = hash >> 48 | 1;
    __u64 *tags = bpf_map_lookup_elem(&pages_read, &set);
    if (!tags)
        return 1;
    __u64 known = *tags;
    if ((known & 0xffff) == tag || (known >> 16 & 0xffff) == tag || (known >> 32 & 0xffff) == tag || known >> 48 == tag)
        read->lacking--;
    else
        *tags = known << 16 | tag;
    return 0;
}

/* The current task asks for pages of a file: whether they were mostly read before. Once a request. */
static __noinline int note_if_again(struct request *rq, __u32 device)
{
    struct task_struct *task = current_task();
    struct reread read = {.device = device};
    if (!rq || BPF_CORE_READ(rq, cmd_flags) & 0xff || !wp_walk_one_in || task->flags & PF_KTHREAD || !is_here(task) ||
        !is_chosen(task->tgid) || !inode_of_page(rq))
        return 0;
    __u32 pages = BPF_CORE_READ(rq, __data_len) >> 12;
    read.page = BPF_CORE_READ(rq, __sector) >> 3;
    read.lacking = pages;
    bpf_loop(pages < PAGES_OF_REQUEST ? pages : PAGES_OF_REQUEST, note_page, &read, 0);
    return pages && read.lacking <= pages / 2 ? note_again() : 0;
}

#endif
