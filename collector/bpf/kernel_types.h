/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_KERNEL_TYPES_H
#define WP_COLLECTOR_BPF_KERNEL_TYPES_H
/*
 * The few kernel types that the programs read, with only the members they read; CO-RE finds the real offsets on the
 * kernel that loads them, so the build needs no BTF of any kernel. Names and types as in Linux 5.19 to 7.2.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
    unsigned int inum;
};

struct netns_ipv4 {
    unsigned int sysctl_tcp_notsent_lowat;
};

struct net {
    struct ns_common ns;
    struct netns_ipv4 ipv4;
};

typedef struct {
    struct net *net;
} possible_net_t;

struct nsproxy {
    struct net *net_ns;
};

struct kernfs_node {
    const char *name;
    __u64 id;
};

struct kernfs_node___linked { /* since Linux 6.15 */
    struct kernfs_node___linked *__parent;
};

struct kernfs_node___counted { /* before that */
    struct kernfs_node___counted *parent;
};

struct cgroup {
    struct kernfs_node *kn;
};

enum cgroup_subsys_id {
    memory_cgrp_id = 4,
};

struct cgroup_subsys_state {
    struct cgroup *cgroup;
};

struct css_set {
    struct cgroup_subsys_state *subsys[14];
    struct cgroup *dfl_cgrp;
};

typedef struct {
    long counter;
} kernel_long;

struct page_counter {
    kernel_long usage;
    unsigned long high, max;
    struct page_counter *parent;
};

struct mem_cgroup {
    struct cgroup_subsys_state css;
    struct page_counter memory;
};

typedef struct {
    void *vdso;
} mm_context_t;

struct load_weight { /* any type that begins with a word */
    unsigned long weight;
};

struct maple_tree {
    void *ma_root;
};

struct lock_owner {
    long counter;
};

struct mutex {
    struct lock_owner owner;
};

struct rw_semaphore {
    struct lock_owner owner;
};

struct mm_struct {
    struct maple_tree mm_mt;
    struct rw_semaphore mmap_lock;
    unsigned long arg_start, arg_end, start_code;
    unsigned long exec_vm;
    mm_context_t context;
    struct file *exe_file;
};

struct percpu_counter {
    __s64 count;
};

struct mm_struct___percpu { /* since Linux 6.2 */
    struct percpu_counter rss_stat[4];
};

struct mm_rss_stat {
    kernel_long count[4];
};

struct mm_struct___atomic { /* before that */
    struct mm_rss_stat rss_stat;
};

struct file;

struct rb_node {
    struct rb_node *rb_right, *rb_left;
};

struct rb_root {
    struct rb_node *rb_node;
};

struct rb_root_cached {
    struct rb_root rb_root;
};

struct vm_area_struct {
    unsigned long vm_start, vm_end;
    struct mm_struct *vm_mm;
    unsigned long vm_flags;
    struct {
        struct rb_node rb;
    } shared;
    unsigned long vm_pgoff;
    struct file *vm_file;
};

struct thread_info {
    unsigned int status;
};

struct sched_info {
    unsigned long long last_arrival, last_queued; /* of the scheduler's clock */
};

typedef struct {
    unsigned long sig[1];
} kernel_sigset;

struct sigpending {
    kernel_sigset signal;
};

struct signal_struct {
    int group_exit_code;
    struct task_struct *curr_target;
    struct sigpending shared_pending;
    unsigned int flags;
    struct mm_struct *oom_mm; /* of a victim of the OOM killer */
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
    unsigned long fsbase;
};
#endif

struct task_struct {
    struct thread_info thread_info;
    void *stack;
    unsigned int __state;
    int exit_state, exit_code;
    unsigned int flags;
    unsigned int on_cpu; /* a byte in Linux 7.2: libbpf reads it as that, since it has no sign here */
    int prio;
    int pid, tgid;
    char comm[16];
    unsigned long nvcsw; /* its sleeps, with the one that it is being switched for */
    __u64 start_time;
    __u32 self_exec_id;
    struct sched_info sched_info;
    struct mm_struct *mm;
    struct nsproxy *nsproxy;
    struct css_set *cgroups;
    struct files_struct *files;
    struct signal_struct *signal;
    kernel_sigset blocked;
    struct sigpending pending;
    struct task_struct *group_leader, *real_parent;
#if defined(__TARGET_ARCH_x86)
    struct thread_struct thread;
#endif
};

struct task_struct___throttled { /* since Linux 6.18 */
    bool throttled;
};

struct cfs_bandwidth {
    __s64 period;
};

struct task_group___quota {
    struct cgroup_subsys_state css;
    struct cfs_bandwidth cfs_bandwidth;
    struct cfs_rq___quota **cfs_rq; /* by CPU */
    struct task_group___quota *parent;
};

struct cfs_rq___quota {
    struct task_group___quota *tg;
    int throttled; /* since Linux 6.18 a bit */
    int throttle_count, runtime_enabled;
    __u64 throttled_clock_pelt_time;                       /* Linux 5.19 */
    __u64 throttled_clock_self, throttled_clock_self_time; /* Linux 6.6 */
};

struct sched_entity___group {
    struct cfs_rq___quota *cfs_rq;
};

struct task_struct___group {
    struct sched_entity___group se;
};

struct rq;

struct rq___steal { /* with CONFIG_PARAVIRT_TIME_ACCOUNTING */
    __u64 prev_steal_time_rq;
};

struct cfs_rq___queue {
    struct rq___steal *rq;
};

struct irqaction {
    const char *name;
};

struct sched_entity___queue { /* with CONFIG_FAIR_GROUP_SCHED */
    struct cfs_rq___queue *cfs_rq;
};

struct task_struct___queue {
    struct sched_entity___queue se;
};

struct task_struct___cpu {
    unsigned int recent_used_cpu;
    struct thread_info___cpu {
        unsigned int cpu;
    } thread_info;
};

struct super_block {
    unsigned int s_dev;
    unsigned long s_magic;
};

struct hlist_node {
    struct hlist_node *next;
};

struct hlist_head {
    struct hlist_node *first;
};

struct address_space;

struct inode {
    unsigned short i_mode;
    unsigned int i_nlink;
    struct address_space *i_mapping;
    struct rw_semaphore i_rwsem;
    unsigned int i_rdev;
    struct super_block *i_sb;
    unsigned long i_ino;
    unsigned int i_generation;
    struct hlist_head i_dentry;
};

struct qstr {
    const unsigned char *name;
};

struct dentry {
    struct dentry *d_parent;
    struct qstr d_name;
    union {
        struct hlist_node d_alias;
    } d_u;
};

struct dentry___unnamed { /* Linux 7.2 */
    struct hlist_node d_alias;
};

struct address_space {
    struct inode *host;
    struct rb_root_cached i_mmap;
};

struct page {
    unsigned long compound_head;
    struct address_space *mapping;
};

struct page___info { /* Linux 7.2, instead of compound_head */
    unsigned long compound_info;
};

struct bio_vec {
    struct page *bv_page;
    unsigned int bv_len, bv_offset;
};

struct bvec_iter {
    unsigned int bi_idx;
};

struct bio {
    struct bvec_iter bi_iter;
    struct bio_vec *bi_io_vec;
    void *bi_end_io, *bi_private;
};

struct kiocb {
    struct file *ki_filp;
};

struct iomap_dio {
    struct kiocb *iocb;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

struct path {
    struct dentry *dentry;
};

struct file {
    struct inode *f_inode;
    unsigned int f_flags;
    struct path f_path;
    void *f_op, *private_data;
};

struct list_head {
    struct list_head *next, *prev;
};

struct eventpoll {
    struct list_head rdllist;
};

struct epoll_filefd {
    struct file *file;
};

struct epitem {
    struct list_head rdllink;
    struct epoll_filefd ffd;
};

struct linux_binprm {
    struct file *file;
    const char *filename;
};

struct gendisk {
    int major, first_minor;
    char disk_name[32];
};

struct request_queue {
    struct gendisk *disk;
    void *elevator;
};

struct request {
    struct request_queue *q;
    unsigned int cmd_flags;
    unsigned int __data_len;
    __u64 __sector;
    struct bio *bio;
};

struct workqueue_struct {
    char name[24]; /* 32 since Linux 6.9 */
};

struct pool_workqueue {
    struct workqueue_struct *wq;
};

struct work_struct;

struct in6_addr {
    union {
        __u32 u6_addr32[4];
    } in6_u;
};

struct sock_common {
    __be32 skc_daddr;
    __be32 skc_rcv_saddr;
    __u32 skc_portpair; /* both that follow */
    __be16 skc_dport;
    __u16 skc_num;
    unsigned short skc_family;
    volatile unsigned char skc_state;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr;
    struct in6_addr skc_v6_rcv_saddr;
};

struct sk_buff_head {
    struct sk_buff *prev;
};

struct sock {
    struct sock_common __sk_common;
    __u16 sk_protocol, sk_type;
    int sk_wmem_queued, sk_sndbuf;
    struct sk_buff_head sk_receive_queue;
};

struct iov_iter {
    unsigned long count;
};

struct msghdr {
    struct iov_iter msg_iter;
};

struct inet_bind_bucket {
    signed char fastreuse;
};

struct inet_connection_sock {
    struct inet_bind_bucket *icsk_bind_hash;
};

struct socket___kernel {
    struct sock *sk;
};

struct sockaddr_un {
    char sun_path[108];
};

struct unix_address {
    int len;
    struct sockaddr_un name[1];
};

struct unix_sock {
    struct unix_address *addr;
    struct unix_sock *peer; /* a struct sock, its first member */
};

struct bpf_ringbuf {
    unsigned long producer_pos;
};

struct bpf_ringbuf_map {
    struct bpf_ringbuf *rb;
};

struct tcp_sock {
    __u32 write_seq;
    __u32 copied_seq;
    __u32 rcv_nxt;
    __u32 snd_una;
    __u32 snd_nxt;
    __u32 notsent_lowat;
    __u64 tcp_clock_cache;
};

struct iphdr {
    __u8 protocol;
};

struct ipv6hdr {
    __u8 nexthdr;
};

struct sk_buff {
    struct sock *sk;
    unsigned int len;
    char cb[48];
    __be16 protocol;
    __u16 transport_header;
    __u16 network_header;
    unsigned char *head, *data;
    struct net_device *dev;
};

struct net_device {
    unsigned int flags;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
    __u64 session_id, seq_num;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
    unsigned long r13, di, si, dx, ax, r8, r9, r10, r11, orig_ax, ip, sp, bp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
    unsigned long regs[31], sp, pc, orig_x0;
    int syscallno;
};
#endif

#pragma clang attribute pop

/* Of user mode: where it is, its frame pointer, the register that a caller may be in (WP_CFA_DI), and the number and
 * the first argument of its call. */
#if defined(__TARGET_ARCH_x86)
#define REGS_IP(regs) ((regs)->ip)
#define REGS_BP(regs) ((regs)->bp)
#define REGS_LINK(regs) ((regs)->di)
#define REGS_CALL(regs) ((regs)->orig_ax)
#define REGS_FIRST(regs) ((regs)->di)
#elif defined(__TARGET_ARCH_arm64)
#define REGS_IP(regs) ((regs)->pc)
#define REGS_BP(regs) ((regs)->regs[29])
#define REGS_LINK(regs) ((regs)->regs[30])
#define REGS_CALL(regs) ((regs)->syscallno)
#define REGS_FIRST(regs) ((regs)->orig_x0)
#endif

/* include/net/tcp.h: the start of struct tcp_skb_cb, kept in sk_buff.cb while TCP handles the packet. */
struct wp_tcp_cb {
    __u32 seq, end_seq;
};

#endif
