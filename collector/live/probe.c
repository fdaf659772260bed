/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/probe.h"

#include "collector/host/sample_event.h"
#include "collector/live/kernel_btf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define NO_BPF "a recording of perf can be read instead: --source perf-script:FILE"

/* Whom an acknowledgement wakes is found by the number of its system call (collector/bpf/acknowledge.h). */
#if defined(__x86_64__)
#define ARRIVED_AS_READY "tp_btf/sk_data_ready tp_btf/tcp_sendmsg_locked",
#else
#define ARRIVED_AS_READY
#endif

struct fact {
    const char *name, *choices[WP_PROBE_CHOICES], *without;
};

static const struct fact facts[] = {
    {"loops in programs", {"helper/bpf_loop"}, NULL},
    {"runs end, sleeps begin", {"tp_btf/sched_switch"}, NULL},
    {"who woke whom", {"tp_btf/sched_waking"}, NULL},
    {"threads that exist already", {"iter/task"}, NULL},
    {"new threads", {"tp_btf/sched_process_fork"}, "they are known from their first switch on, by number"},
    {"execs", {"tp_btf/sched_process_exec"}, "a process keeps the name that it had"},
    {"exits", {"tp_btf/sched_process_exit"}, "a number that is used again may be taken for the old thread"},
    {"renamed threads", {"tp_btf/task_rename"}, "a thread keeps the name that it had"},
    {"hard interrupts", {"tp_btf/irq_handler_entry tp_btf/irq_handler_exit"},
        "what they wake is the running thread's doing"},
    {"soft interrupts",
        {"tp_btf/softirq_exit offset/kstat", "tp_btf/softirq_entry variable/__preempt_count",
            "raw_tp/softirq_entry offset/__preempt_count", "raw_tp/softirq_entry tp_btf/softirq_exit"},
        "what they wake is the running thread's doing"},
    {"time of soft interrupts", {"tp_btf/softirq_exit"}, "it is the thread's that they interrupt"},
    {"timers", {"tp_btf/timer_expire_entry tp_btf/timer_expire_exit"},
        "the cause of such a waking is a soft interrupt"},
    {"precise timers", {"tp_btf/hrtimer_expire_entry tp_btf/hrtimer_expire_exit"},
        "the cause of such a waking is unknown"},
    {"short of memory", {"tp_btf/mm_vmscan_memcg_reclaim_end tp_btf/mm_vmscan_memcg_reclaim_begin"},
        "a sleep for memory does not name the cgroup, nor who has it"},
    {"machine short of memory", {"tp_btf/mm_vmscan_direct_reclaim_end tp_btf/mm_vmscan_direct_reclaim_begin"},
        "a sleep for memory of the machine does not say who has it"},
    {"whose memory ran out", {"raw_tp/mark_victim"}, "of a process that is killed for want of memory it is not told"},
    {"locks of the kernel", {"tp_btf/contention_end tp_btf/contention_begin"}, "a sleep for one does not name it"},
    {"block requests",
        {"tp_btf/block_rq_insert tp_btf/block_rq_issue tp_btf/block_rq_complete",
            "tp_btf/block_rq_issue tp_btf/block_rq_complete"},
        "waits for disks have no request"},
    {"who serves them",
        {"fentry/blk_mq_complete_request", "tp_btf/workqueue_queue_work tp_btf/workqueue_execute_start",
            "tp_btf/block_rq_issue"}, /* else: the device */
        "a wait for a loop device is not followed to the device below"},
    {"TCP bytes sent",
        {"tp_btf/tcp_sendmsg_locked", "tp_btf/sock_send_length", "fexit/tcp_sendmsg fexit/tcp_sendpage",
            "fexit/tcp_sendmsg"},
        "messages are not followed to other hosts"},
    {"TCP bytes arrived", {ARRIVED_AS_READY "tp_btf/tcp_probe", "fentry/tcp_rcv_established"},
        "messages are not followed to other hosts"},
    {"TCP bytes read",
        {"tp_btf/tcp_rcv_space_adjust fexit/unix_stream_recvmsg", "tp_btf/sock_recv_length",
            "tp_btf/tcp_rcv_space_adjust"},
        "arrived is taken for read"},
    {"wakings by a message", {"tp_btf/sk_data_ready", "fentry/sock_def_readable"},
        "the last arrival on the processor in this interrupt; datagrams do not arrive"},
    {"turns of unix streams", {"fexit/unix_stream_recvmsg", "tp_btf/sock_recv_length"},
        "when a server turned to another client is told by whom it woke"},
    {"connections", {"tp_btf/inet_sock_set_state"}, "known by their first message; no time of connecting"},
    {"TCP retransmissions", {"tp_btf/tcp_retransmit_skb"}, "not counted"},
    {"packets that leave", {"tp_btf/net_dev_queue"}, "no datagrams, wider bounds of clocks"},
    {"packets that come", {"offset/softnet_data", "tp_btf/netif_receive_skb"}, "no datagrams"},
    {"samples", {"perf_event"}, "what runs is known by its switches, not by its functions"},
    {"user stacks", {"unwind/maple_tree"}, "by frame pointer"},
    {"words of the kernel's stack", {"kfunc/bpf_rdonly_cast", "helper/bpf_probe_read_kernel"},
        "a stack is walked each time"},
};
#define FACTS (sizeof(facts) / sizeof(facts[0]))

/* Where arguments are distinguished by their place, their number says whether they are the ones that the programs know.
 */
static const struct {
    const char *name;
    unsigned args;
} shapes[] = {
    {"sched_switch", 4}, /* prev_state since Linux 5.18 */
    {"sched_waking", 1},
    {"contention_begin", 2},
    {"contention_end", 2},
    {"sk_data_ready", 1},
    {"sock_send_length", 3},
    {"sock_recv_length", 3},
    {"unix_stream_recvmsg", 4},
    {"tcp_sendmsg_locked", 4},
    {"tcp_rcv_space_adjust", 1},
    {"tcp_probe", 2},
    {"tcp_sendmsg", 3},
    {"tcp_sendpage", 5}, /* until Linux 6.4 */
    {"tcp_rcv_established", 2},
    {"sock_def_readable", 1},
    {"blk_mq_complete_request", 1},
    {"workqueue_queue_work", 3},
    {"workqueue_execute_start", 1},
};

struct wp_probe {
    struct wp_kernel_btf *types;
    struct wp_probe_fact facts[FACTS];
    const char *left_out; /* borrowed; NULL: none */
    bool is_tried;        /* a program at a function */
    int function_rc;      /* what the kernel said of it */
};

static bool lacks(struct wp_probe_choice *choice, const char *format, const char *name)
{
    snprintf(choice->why, sizeof(choice->why), format, name);
    return false;
}

static bool has_arguments(const struct wp_probe *p, const char *name, uint32_t prototype, unsigned implied)
{
    const struct btf_type *type = wp_kernel_btf_type(p->types, prototype);
    if (!btf_is_func_proto(type))
        return false;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (!strcmp(shapes[i].name, name))
            return btf_vlen(type) == shapes[i].args + implied;
    return true;
}

static bool has_tracepoint(const struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    char type[128];
    snprintf(type, sizeof(type), "btf_trace_%s", name);
    uint32_t id = wp_kernel_btf_find(p->types, type, BTF_KIND_TYPEDEF);
    if (!id)
        return lacks(choice, "no tracepoint %s", name);
    const struct btf_type *pointer = wp_kernel_btf_type(p->types, wp_kernel_btf_type(p->types, id)->type);
    if (!has_arguments(p, name, pointer->type, 1)) /* the first one is the tracepoint's own */
        return lacks(choice, "the tracepoint %s has other arguments", name);
    return true;
}

/* Does the kernel take programs at functions? One that does nothing, at a function that is there for tests. */
static int try_function(struct wp_probe *p)
{
    static const struct bpf_insn nothing[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0}, {.code = BPF_JMP | BPF_EXIT}};
    uint32_t id = wp_kernel_btf_find(p->types, "bpf_fentry_test1", BTF_KIND_FUNC);
    if (!id)
        return 0; /* attaching will tell */
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY, .attach_btf_id = id);
    int fd =
        bpf_prog_load(BPF_PROG_TYPE_TRACING, "wp_try", "GPL", nothing, sizeof(nothing) / sizeof(nothing[0]), &options);
    if (fd < 0)
        return fd;
    int link = bpf_raw_tracepoint_open(NULL, fd);
    int rc = link < 0 ? link : 0;
    if (link >= 0)
        close(link);
    close(fd);
    return rc;
}

static bool has_function(struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    uint32_t id = wp_kernel_btf_find(p->types, name, BTF_KIND_FUNC);
    if (!id)
        return lacks(choice, "no function %s", name);
    if (!has_arguments(p, name, wp_kernel_btf_type(p->types, id)->type, 0))
        return lacks(choice, "the function %s has other arguments", name);
    if (!p->is_tried)
        p->function_rc = try_function(p);
    p->is_tried = true;
    return !p->function_rc || lacks(choice, "no program at a function: %s", strerror(-p->function_rc));
}

static bool has_helper(const struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    const struct btf_type *type =
        wp_kernel_btf_type(p->types, wp_kernel_btf_find(p->types, "bpf_func_id", BTF_KIND_ENUM));
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "BPF_FUNC_%s", name + strlen("bpf_"));
    for (unsigned i = 0; i < btf_vlen(type); i++)
        if (!strcmp(wp_kernel_btf_text(p->types, btf_enum(type)[i].name_off), wanted))
            return true;
    return lacks(choice, "no helper %s", name);
}

/* A function that the kernel lets programs call. */
static bool has_kfunc(const struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    return wp_kernel_btf_find(p->types, name, BTF_KIND_FUNC) || lacks(choice, "no function %s for programs", name);
}

/* Does the kernel find the variable? It may have a type and no address. */
static int try_variable(uint32_t id)
{
    const struct bpf_insn look[] = {
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_BTF_ID, .imm = (int32_t)id}, {0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0}, {.code = BPF_JMP | BPF_EXIT}};
    int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "wp_try", "GPL", look, sizeof(look) / sizeof(look[0]), NULL);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

/* In bytes, of a member of the type or, `depth` unnamed ones deep, of one of those; -1: there is none. */
static int64_t offset_in(const struct wp_probe *p, uint32_t id, const char *name, unsigned depth)
{
    const struct btf_type *type = wp_kernel_btf_type(p->types, id);
    for (uint32_t i = 0; btf_is_composite(type) && i < btf_vlen(type); i++) {
        const char *member = wp_kernel_btf_text(p->types, btf_members(type)[i].name_off);
        int64_t inner = *member ? (strcmp(member, name) ? -1 : 0)
            : depth             ? offset_in(p, btf_members(type)[i].type, name, depth - 1)
                                : -1;
        if (inner >= 0)
            return inner + btf_member_bit_offset(type, i) / 8;
    }
    return -1;
}

static int64_t member_offset(const struct wp_probe *p, const char *structure, const char *name)
{
    uint32_t id = wp_kernel_btf_find(p->types, structure, BTF_KIND_STRUCT);
    return id ? offset_in(p, id, name, 2) : -1;
}

/* The count of contexts that a processor is in. A kernel that is preempted in soft interrupts has theirs elsewhere. */
static bool is_count_of_all(const struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    return member_offset(p, "task_struct", "softirq_disable_cnt") < 0 ||
        lacks(choice, "%s is not of soft interrupts with PREEMPT_RT", name);
}

static bool has_variable(const struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    if (!is_count_of_all(p, name, choice))
        return false;
    uint32_t id = wp_kernel_btf_find(p->types, name, BTF_KIND_VAR);
    if (!id)
        return lacks(choice, "no variable %s of each processor", name);
    int rc = try_variable(id);
    return !rc ||
        lacks(choice,
            rc == -ENOENT ? "the kernel does not know where %s is: no CONFIG_KALLSYMS_ALL" : "no program with %s loads",
            name);
}

/* The offset of a variable among those of each processor; -1: there is none. */
static int64_t percpu_offset(const struct wp_probe *p, const char *name)
{
    const struct btf_type *section =
        wp_kernel_btf_type(p->types, wp_kernel_btf_find(p->types, ".data..percpu", BTF_KIND_DATASEC));
    for (unsigned i = 0; i < btf_vlen(section); i++) {
        const struct btf_var_secinfo *info = &btf_var_secinfos(section)[i];
        if (!strcmp(wp_kernel_btf_text(p->types, wp_kernel_btf_type(p->types, info->type)->name_off), name))
            return info->offset;
    }
    return -1;
}

/* Programs that cannot ask for the variable's address reach it from the processor's run queue, which tasks lead to. */
static bool has_offset(const struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    if (!is_count_of_all(p, name, choice))
        return false;
    if (member_offset(p, "sched_entity", "cfs_rq") < 0 || member_offset(p, "cfs_rq", "rq") < 0)
        return lacks(choice, "no run queue to find %s by: no CONFIG_FAIR_GROUP_SCHED", name);
    return wp_probe_count_offset(p) || lacks(choice, "no variable %s of each processor", name);
}

/* Where __preempt_count is among the variables of each processor; -1: it is none of them. */
static int64_t count_place(const struct wp_probe *p)
{
    int64_t count = percpu_offset(p, "__preempt_count");
    int64_t hot = percpu_offset(p, "pcpu_hot"), member = member_offset(p, "pcpu_hot", "preempt_count");
    return count < 0 && hot >= 0 && member >= 0 ? hot + member : count; /* x86: Linux 6.2 to 6.14 */
}

/* Which soft interrupts are to come: a variable of its own since Linux 6.15; -1: it is not known. */
static int64_t pending_place(const struct wp_probe *p)
{
    int64_t alone = percpu_offset(p, "__softirq_pending");
    int64_t hot = percpu_offset(p, "pcpu_hot"), in_hot = member_offset(p, "pcpu_hot", "softirq_pending");
    int64_t stat = percpu_offset(p, "irq_stat"), in_stat = -1; /* x86: until Linux 6.1 */
    uint32_t type = wp_kernel_btf_find(p->types, "irq_cpustat_t", BTF_KIND_TYPEDEF);
    if (type)
        in_stat = offset_in(p, wp_kernel_btf_type(p->types, type)->type, "__softirq_pending", 0);
    if (alone >= 0)
        return alone;
    if (hot >= 0 && in_hot >= 0)
        return hot + in_hot;
    return stat >= 0 && in_stat >= 0 ? stat + in_stat : -1;
}

/* A member of a variable of each processor, from __preempt_count on; 0: the kernel does not say. */
static int64_t from_count(const struct wp_probe *p, const char *variable, const char *type, const char *member)
{
    int64_t count = count_place(p), place = percpu_offset(p, variable), at = member_offset(p, type, member);
    return count < 0 || place < 0 || at < 0 ? 0 : place + at - count;
}

/* Soft interrupts without a program at their beginning. */
static bool has_vectors(const struct wp_probe *p, struct wp_probe_choice *choice)
{
    struct wp_probe_offsets offsets;
    wp_probe_offsets(p, &offsets);
    return has_offset(p, "__preempt_count", choice) &&
        ((offsets.vectors && offsets.pending) || lacks(choice, "no variable %s of each processor", "kstat"));
}

/* Does the kernel follow connections? Then it may give datagrams other addresses before their sockets have them. */
static bool is_translating(void)
{
    unsigned long connections = 0;
    FILE *file = fopen("/proc/sys/net/netfilter/nf_conntrack_count", "re");
    bool is_known = file && fscanf(file, "%lu", &connections) == 1;
    if (file)
        fclose(file);
    return is_known && connections;
}

/* The number of packets is found from the count of contexts. */
static bool has_packets(const struct wp_probe *p, struct wp_probe_choice *choice)
{
    struct wp_probe_offsets offsets;
    wp_probe_offsets(p, &offsets);
    if (!wp_probe_wants(p, "offset/kstat") && !wp_probe_wants(p, "variable/__preempt_count") &&
        !wp_probe_wants(p, "offset/__preempt_count"))
        return lacks(choice, "no %s to find the number of packets by", "__preempt_count");
    if (is_translating())
        return lacks(choice, "addresses may be translated (%s)", "nf_conntrack_count");
    return offsets.packets || lacks(choice, "no variable %s of each processor", "softnet_data");
}

static bool has_iterator(const struct wp_probe *p, const char *name, struct wp_probe_choice *choice)
{
    char type[64];
    snprintf(type, sizeof(type), "bpf_iter__%s", name);
    return wp_kernel_btf_find(p->types, type, BTF_KIND_STRUCT) || lacks(choice, "no iterator over every %s", name);
}

static bool has_samples(struct wp_probe_choice *choice)
{
    int rc = wp_sample_event_try();
    if (rc)
        wp_sample_event_why(rc, choice->why, sizeof(choice->why));
    return !rc;
}

/* The unwinder finds code in the tree that a process's memory is kept in since Linux 6.1; its rows are of x86-64. */
static bool has_tree(const struct wp_probe *p, struct wp_probe_choice *choice)
{
#if defined(__x86_64__)
    return wp_kernel_btf_find(p->types, "maple_range_64", BTF_KIND_STRUCT) ||
        lacks(choice, "no %s of memory areas (Linux 6.1)", "maple tree");
#else
    (void)p;
    return lacks(choice, "there are rows of %s alone", "x86-64");
#endif
}

/* Is the section one of a list with one blank between? */
static bool is_listed(const char *list, const char *section)
{
    size_t size = strlen(section);
    for (const char *at = list ? strstr(list, section) : NULL; at; at = strstr(at + 1, section))
        if ((at == list || at[-1] == ' ') && (!at[size] || at[size] == ' '))
            return true;
    return false;
}

static bool has_program(struct wp_probe *p, const char *section, struct wp_probe_choice *choice)
{
    const char *name = strchr(section, '/');
    name = name ? name + 1 : section;
    if (is_listed(p->left_out, section))
        return lacks(choice, "%s is left out as asked", section);
    if (!strncmp(section, "tp_btf/", 7) || !strncmp(section, "raw_tp/", 7))
        return has_tracepoint(p, name, choice);
    if (!strncmp(section, "fentry/", 7) || !strncmp(section, "fexit/", 6))
        return has_function(p, name, choice);
    if (!strncmp(section, "iter/", 5))
        return has_iterator(p, name, choice);
    if (!strncmp(section, "helper/", 7))
        return has_helper(p, name, choice);
    if (!strncmp(section, "kfunc/", 6))
        return has_kfunc(p, name, choice);
    if (!strncmp(section, "variable/", 9))
        return has_variable(p, name, choice);
    if (!strcmp(section, "offset/softnet_data"))
        return has_packets(p, choice);
    if (!strcmp(section, "offset/kstat"))
        return has_vectors(p, choice);
    if (!strncmp(section, "offset/", 7))
        return has_offset(p, name, choice);
    return strcmp(section, "perf_event") ? has_tree(p, choice) : has_samples(choice);
}

static bool has_all(struct wp_probe *p, struct wp_probe_choice *choice)
{
    char programs[160], *rest = NULL;
    snprintf(programs, sizeof(programs), "%s", choice->programs);
    for (char *section = strtok_r(programs, " ", &rest); section; section = strtok_r(NULL, " ", &rest))
        if (!has_program(p, section, choice))
            return false;
    return true;
}

static void look_at_kernel(struct wp_probe *p)
{
    for (size_t i = 0; i < FACTS; i++) {
        struct wp_probe_fact *fact = &p->facts[i];
        bool is_told = false;
        fact->name = facts[i].name;
        fact->without = facts[i].without;
        for (; fact->count < WP_PROBE_CHOICES && facts[i].choices[fact->count]; fact->count++) {
            struct wp_probe_choice *choice = &fact->choices[fact->count];
            choice->programs = facts[i].choices[fact->count];
            bool can = has_all(p, choice);
            choice->state = !can ? WP_PROBE_LACKING : is_told ? WP_PROBE_SPARE : WP_PROBE_USED;
            is_told = is_told || can;
        }
    }
}

bool wp_probe_samples(const char *left_out, char *why, size_t room)
{
    struct wp_probe p = {.left_out = left_out};
    struct wp_probe_choice choice = {.why = ""};
    bool has_them = has_program(&p, "perf_event", &choice);
    snprintf(why, room, "%s", choice.why);
    return has_them;
}

int wp_probe_create(struct wp_probe **probe, const char *left_out, struct wp_error *err)
{
    struct wp_probe *p = calloc(1, sizeof(*p));
    if (!p)
        return wp_error_set(err, -ENOMEM, "out of memory");
    libbpf_set_print(NULL); /* it would write to stderr */
    int rc = wp_kernel_btf_create(&p->types, KERNEL_TYPES);
    if (rc) {
        free(p);
        return rc == -ENOMEM
            ? wp_error_set(err, rc, "out of memory for the kernel's types")
            : wp_error_set(
                  err, rc, "this kernel has no BTF (" KERNEL_TYPES "): it needs CONFIG_DEBUG_INFO_BTF=y; " NO_BPF);
    }
    p->left_out = left_out;
    look_at_kernel(p);
    p->left_out = NULL;
    *probe = p;
    return 0;
}

void wp_probe_destroy(struct wp_probe *p)
{
    if (!p)
        return;
    wp_kernel_btf_destroy(p->types);
    free(p);
}

void wp_probe_drop_types(struct wp_probe *p)
{
    wp_kernel_btf_destroy(p->types);
    p->types = NULL;
}

unsigned wp_probe_count(const struct wp_probe *p)
{
    (void)p;
    return FACTS;
}

const struct wp_probe_fact *wp_probe_fact(const struct wp_probe *p, unsigned index)
{
    return &p->facts[index];
}

const struct wp_probe_choice *wp_probe_used(const struct wp_probe_fact *fact)
{
    for (unsigned i = 0; i < fact->count; i++)
        if (fact->choices[i].state == WP_PROBE_USED)
            return &fact->choices[i];
    return NULL;
}

bool wp_probe_wants(const struct wp_probe *p, const char *section)
{
    for (size_t i = 0; i < FACTS; i++) {
        const struct wp_probe_choice *used = wp_probe_used(&p->facts[i]);
        if (used && is_listed(used->programs, section))
            return true;
    }
    return false;
}

const struct wp_kernel_btf *wp_probe_types(const struct wp_probe *p)
{
    return p->types;
}

int64_t wp_probe_count_offset(const struct wp_probe *p)
{
    int64_t queue = percpu_offset(p, "runqueues"), count = count_place(p);
    return count < 0 || queue < 0 ? 0 : count - queue;
}

void wp_probe_offsets(const struct wp_probe *p, struct wp_probe_offsets *out)
{
    int64_t count = count_place(p), pending = pending_place(p);
    out->packets = from_count(p, "softnet_data", "softnet_data", "processed");
    out->vectors = from_count(p, "kstat", "kernel_stat", "softirqs");
    out->pending = count < 0 || pending < 0 ? 0 : pending - count;
}

int wp_probe_suffices(const struct wp_probe *p, struct wp_error *err)
{
    for (size_t i = 0; i < FACTS; i++)
        if (!p->facts[i].without && !wp_probe_used(&p->facts[i]))
            return wp_error_set(err, -EOPNOTSUPP,
                "this kernel is too old (%s: %s), Linux 5.18 is the first that will do; " NO_BPF, p->facts[i].name,
                p->facts[i].choices[p->facts[i].count - 1].why);
    return 0;
}
