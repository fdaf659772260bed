/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_cause.h"

#include "collector/perf_script/perf_script_syscall.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM 64u
#define HARD WP_CONTEXT_HARDIRQ
#define SOFT WP_CONTEXT_SOFTIRQ
#define NMI WP_CONTEXT_NMI
#define TIMER WP_CAUSE_TIMER
#define BLOCK WP_CAUSE_BLOCK
#define IRQ WP_CAUSE_IRQ
#define SOFTIRQ WP_CAUSE_SOFTIRQ
#define UNKNOWN WP_CAUSE_UNKNOWN

/* include/linux/interrupt.h; NONE: this function does not say which */
enum vector {
    HI,
    TIMER_VECTOR,
    NET_TX,
    NET_RX,
    BLOCK_VECTOR,
    IRQ_POLL,
    TASKLET,
    SCHED,
    HRTIMER_VECTOR,
    RCU,
    NONE = 255
};

struct mark {
    const char *function;
    uint8_t cause;   /* of a waking under it */
    uint8_t context; /* that it opens; 0: it runs in several */
    uint8_t vector;
};

/* Sorted by name. */
static const struct mark table[] = {
    {"___do_softirq", SOFTIRQ, SOFT, NONE},
    {"__blk_end_request", BLOCK, 0, NONE},
    {"__blk_mq_complete_request", BLOCK, 0, NONE},
    {"__blk_mq_end_request", BLOCK, 0, NONE},
    {"__common_interrupt", IRQ, HARD, NONE},
    {"__do_softirq", SOFTIRQ, SOFT, NONE},
    {"__el0_irq_handler_common", IRQ, HARD, NONE},
    {"__flush_smp_call_function_queue", UNKNOWN, HARD, NONE},
    {"__gic_handle_irq", IRQ, HARD, NONE},
    {"__handle_domain_irq", IRQ, HARD, NONE},
    {"__handle_irq", IRQ, HARD, NONE},
    {"__handle_irq_event_percpu", IRQ, HARD, NONE},
    {"__hrtimer_run_queues", TIMER, 0, NONE},
    {"__irq_exit_rcu", SOFTIRQ, SOFT, NONE},
    {"__napi_poll", SOFTIRQ, 0, NET_RX},
    {"__netif_receive_skb", SOFTIRQ, 0, NET_RX},
    {"__netif_receive_skb_core", SOFTIRQ, 0, NET_RX},
    {"__netif_receive_skb_one_core", SOFTIRQ, 0, NET_RX},
    {"__rcu_process_callbacks", SOFTIRQ, 0, RCU},
    {"__run_timer_base", TIMER, 0, NONE},
    {"__run_timers", TIMER, 0, NONE},
    {"__softirqentry_text_start", SOFTIRQ, SOFT, NONE},
    {"__sysvec_apic_timer_interrupt", TIMER, HARD, NONE},
    {"__sysvec_xen_hvm_callback", IRQ, HARD, NONE},
    {"__udp4_lib_rcv", SOFTIRQ, 0, NET_RX},
    {"__udp6_lib_rcv", SOFTIRQ, 0, NET_RX},
    {"alarmtimer_fired", TIMER, 0, NONE},
    {"apic_timer_interrupt", TIMER, HARD, NONE},
    {"arch_timer_handler_phys", TIMER, HARD, NONE},
    {"arch_timer_handler_virt", TIMER, HARD, NONE},
    {"asm_common_interrupt", IRQ, HARD, NONE},
    {"asm_exc_nmi", UNKNOWN, NMI, NONE},
    {"asm_sysvec_apic_timer_interrupt", TIMER, HARD, NONE},
    {"asm_sysvec_xen_hvm_callback", IRQ, HARD, NONE},
    {"bio_endio", BLOCK, 0, NONE},
    {"blk_complete_reqs", BLOCK, 0, NONE},
    {"blk_complete_request", BLOCK, 0, NONE},
    {"blk_done_softirq", BLOCK, 0, NONE},
    {"blk_end_bidi_request", BLOCK, 0, NONE},
    {"blk_end_request", BLOCK, 0, NONE},
    {"blk_mq_complete_request", BLOCK, 0, NONE},
    {"blk_mq_end_request", BLOCK, 0, NONE},
    {"blk_mq_end_request_batch", BLOCK, 0, NONE},
    {"blk_update_request", BLOCK, 0, NONE},
    {"call_function_interrupt", UNKNOWN, HARD, NONE},
    {"call_function_single_interrupt", UNKNOWN, HARD, NONE},
    {"call_softirq", SOFTIRQ, SOFT, NONE},
    {"call_timer_fn", TIMER, 0, NONE},
    {"common_interrupt", IRQ, HARD, NONE},
    {"default_do_nmi", UNKNOWN, NMI, NONE},
    {"do_IRQ", IRQ, HARD, NONE},
    {"do_handle_IPI", UNKNOWN, HARD, NONE},
    {"do_nmi", UNKNOWN, NMI, NONE},
    {"do_softirq", SOFTIRQ, SOFT, NONE},
    {"do_softirq_own_stack", SOFTIRQ, SOFT, NONE},
    {"el0_interrupt", IRQ, HARD, NONE},
    {"el0_irq", IRQ, HARD, NONE},
    {"el0t_64_irq", IRQ, HARD, NONE},
    {"el0t_64_irq_handler", IRQ, HARD, NONE},
    {"el1_interrupt", IRQ, HARD, NONE},
    {"el1_irq", IRQ, HARD, NONE},
    {"el1h_64_irq", IRQ, HARD, NONE},
    {"el1h_64_irq_handler", IRQ, HARD, NONE},
    {"end_repeat_nmi", UNKNOWN, NMI, NONE},
    {"exc_nmi", UNKNOWN, NMI, NONE},
    {"expire_timers", TIMER, 0, NONE},
    {"flush_smp_call_function_queue", UNKNOWN, HARD, NONE},
    {"generic_handle_domain_irq", IRQ, HARD, NONE},
    {"generic_handle_irq", IRQ, HARD, NONE},
    {"generic_smp_call_function_interrupt", UNKNOWN, HARD, NONE},
    {"generic_smp_call_function_single_interrupt", UNKNOWN, HARD, NONE},
    {"gic_handle_irq", IRQ, HARD, NONE},
    {"handle_IPI", UNKNOWN, HARD, NONE},
    {"handle_domain_irq", IRQ, HARD, NONE},
    {"handle_edge_irq", IRQ, HARD, NONE},
    {"handle_fasteoi_irq", IRQ, HARD, NONE},
    {"handle_irq", IRQ, HARD, NONE},
    {"handle_irq_desc", IRQ, HARD, NONE},
    {"handle_irq_event", IRQ, HARD, NONE},
    {"handle_irq_event_percpu", IRQ, HARD, NONE},
    {"handle_level_irq", IRQ, HARD, NONE},
    {"handle_percpu_devid_irq", IRQ, HARD, NONE},
    {"handle_simple_irq", IRQ, HARD, NONE},
    {"handle_softirqs", SOFTIRQ, SOFT, NONE},
    {"hrtimer_interrupt", TIMER, HARD, NONE},
    {"hrtimer_run_queues", TIMER, 0, NONE},
    {"hrtimer_run_softirq", TIMER, 0, NONE},
    {"hrtimer_wakeup", TIMER, 0, NONE},
    {"instr_sysvec_apic_timer_interrupt", TIMER, HARD, NONE},
    {"ip_local_deliver", SOFTIRQ, 0, NET_RX},
    {"ip_rcv", SOFTIRQ, 0, NET_RX},
    {"ipi_handler", UNKNOWN, HARD, NONE},
    {"ipv6_rcv", SOFTIRQ, 0, NET_RX},
    {"irq_exit", SOFTIRQ, SOFT, NONE},
    {"irq_exit_rcu", SOFTIRQ, SOFT, NONE},
    {"irq_poll_softirq", SOFTIRQ, 0, IRQ_POLL},
    {"irq_work_interrupt", UNKNOWN, HARD, NONE},
    {"irq_work_run", UNKNOWN, HARD, NONE},
    {"irq_work_run_list", UNKNOWN, HARD, NONE},
    {"it_real_fn", TIMER, 0, NONE},
    {"local_apic_timer_interrupt", TIMER, HARD, NONE},
    {"napi_complete_done", SOFTIRQ, 0, NET_RX},
    {"napi_gro_receive", SOFTIRQ, 0, NET_RX},
    {"napi_poll", SOFTIRQ, 0, NET_RX},
    {"net_rx_action", SOFTIRQ, 0, NET_RX},
    {"net_tx_action", SOFTIRQ, 0, NET_TX},
    {"netif_receive_skb", SOFTIRQ, 0, NET_RX},
    {"nmi_handle", UNKNOWN, NMI, NONE},
    {"nvme_complete_rq", BLOCK, 0, NONE},
    {"nvme_end_req", BLOCK, 0, NONE},
    {"posix_timer_fn", TIMER, 0, NONE},
    {"process_backlog", SOFTIRQ, 0, NET_RX},
    {"process_timeout", TIMER, 0, NONE},
    {"rcu_core", SOFTIRQ, 0, RCU},
    {"rcu_core_si", SOFTIRQ, 0, RCU},
    {"rcu_do_batch", SOFTIRQ, 0, RCU},
    {"rcu_process_callbacks", SOFTIRQ, 0, RCU},
    {"rebalance_domains", SOFTIRQ, 0, SCHED},
    {"reschedule_interrupt", UNKNOWN, HARD, NONE},
    {"ret_from_intr", IRQ, HARD, NONE},
    {"run_ksoftirqd", SOFTIRQ, SOFT, NONE},
    {"run_rebalance_domains", SOFTIRQ, 0, SCHED},
    {"run_timer_base", TIMER, 0, NONE},
    {"run_timer_softirq", TIMER, 0, NONE},
    {"sched_balance_domains", SOFTIRQ, 0, SCHED},
    {"sched_balance_softirq", SOFTIRQ, 0, SCHED},
    {"sched_ttwu_pending", UNKNOWN, HARD, NONE},
    {"scheduler_ipi", UNKNOWN, HARD, NONE},
    {"scsi_complete", BLOCK, 0, NONE},
    {"scsi_end_request", BLOCK, 0, NONE},
    {"scsi_finish_command", BLOCK, 0, NONE},
    {"scsi_io_completion", BLOCK, 0, NONE},
    {"smp_apic_timer_interrupt", TIMER, HARD, NONE},
    {"smp_call_function_interrupt", UNKNOWN, HARD, NONE},
    {"smp_call_function_single_interrupt", UNKNOWN, HARD, NONE},
    {"smp_irq_work_interrupt", UNKNOWN, HARD, NONE},
    {"smp_reschedule_interrupt", UNKNOWN, HARD, NONE},
    {"sysvec_apic_timer_interrupt", TIMER, HARD, NONE},
    {"sysvec_xen_hvm_callback", IRQ, HARD, NONE},
    {"tasklet_action", SOFTIRQ, 0, TASKLET},
    {"tasklet_action_common", SOFTIRQ, 0, TASKLET},
    {"tasklet_hi_action", SOFTIRQ, 0, HI},
    {"tcp_rcv_established", SOFTIRQ, 0, NET_RX},
    {"tcp_rcv_state_process", SOFTIRQ, 0, NET_RX},
    {"tcp_v4_do_rcv", SOFTIRQ, 0, NET_RX},
    {"tcp_v4_rcv", SOFTIRQ, 0, NET_RX},
    {"tcp_v6_do_rcv", SOFTIRQ, 0, NET_RX},
    {"tcp_v6_rcv", SOFTIRQ, 0, NET_RX},
    {"tick_nohz_handler", TIMER, 0, NONE},
    {"tick_sched_timer", TIMER, 0, NONE},
    {"timer_expire_remote", TIMER, 0, NONE},
    {"timerfd_tmrproc", TIMER, 0, NONE},
    {"udp_queue_rcv_one_skb", SOFTIRQ, 0, NET_RX},
    {"udp_queue_rcv_skb", SOFTIRQ, 0, NET_RX},
    {"udp_rcv", SOFTIRQ, 0, NET_RX},
    {"virtblk_done", BLOCK, 0, NONE},
    {"virtblk_request_done", BLOCK, 0, NONE},
    {"xen_evtchn_do_upcall", IRQ, HARD, NONE},
    {"xen_hvm_callback_vector", IRQ, HARD, NONE},
};

static int compare(const void *key, const void *item)
{
    return strcmp(key, ((const struct mark *)item)->function);
}

/* Entries of interrupts between processors; those of timers and devices stand in the table. */
static bool is_vector_entry(const char *name)
{
    return !strncmp(name, "asm_sysvec_", 11) || !strncmp(name, "sysvec_", 7) || !strncmp(name, "__sysvec_", 9) ||
        !strncmp(name, "instr_sysvec_", 13);
}

static const struct mark *mark_of(const char *function)
{
    static const struct mark between = {"", UNKNOWN, HARD, NONE};
    char name[NAME_ROOM];
    size_t size = strcspn(function, "."); /* .isra.0, .part.0 */
    if (!size || size >= sizeof(name))
        return NULL;
    memcpy(name, function, size);
    name[size] = 0;
    const struct mark *found = bsearch(name, table, sizeof(table) / sizeof(table[0]), sizeof(table[0]), compare);
    return found ? found : is_vector_entry(name) ? &between : NULL;
}

/* Does the soft interrupt run at the end of a transmission that the thread itself makes? `count` frames stand outside
 * it. */
static bool is_own_transmission(const struct wp_named_frame *frames, uint32_t count)
{
    static const char *const sends[] = {
        "__dev_queue_xmit", "dev_queue_xmit", "ip_finish_output2", "ip6_finish_output2", "neigh_hh_output"};
    bool is_sending = false;
    while (count--) {
        const char *function = frames[count].function;
        if (!frames[count].is_kernel)
            continue;
        for (size_t i = 0; i < sizeof(sends) / sizeof(sends[0]); i++)
            is_sending |= !strcmp(function, sends[i]);
        const struct mark *mark = mark_of(function);
        if ((mark && mark->context & (HARD | NMI)) || !strcmp(function, "run_ksoftirqd"))
            return false;
    }
    return is_sending;
}

static struct wp_perf_cause by_marks(const struct wp_perf_marks *marks)
{
    struct wp_perf_cause out = {.cause = WP_CAUSE_TASK};
    if (marks->in_irq)
        return (struct wp_perf_cause){IRQ, HARD, marks->irq};
    if (!marks->in_softirq)
        return out;
    out = (struct wp_perf_cause){SOFTIRQ, SOFT, marks->vector};
    if (marks->vector == TIMER_VECTOR || marks->vector == HRTIMER_VECTOR)
        out.cause = TIMER;
    else if (marks->vector == BLOCK_VECTOR)
        out.cause = BLOCK;
    return out;
}

/* The innermost frame that says a cause, and the innermost that says a context, up to the interrupt's entry. */
static bool by_stack(const struct wp_named_frame *frames, uint32_t count, struct wp_perf_cause *out, uint32_t *outside)
{
    bool has_names = false, has_cause = false;
    uint32_t vector = NONE;
    for (uint32_t i = count; i-- > 0 && !out->context;) {
        if (!frames[i].is_kernel)
            break;
        has_names |= frames[i].function[0] != 0;
        const struct mark *mark = mark_of(frames[i].function);
        if (!mark)
            continue;
        if (!has_cause)
            out->cause = mark->cause;
        if (vector == NONE)
            vector = mark->vector;
        has_cause = true;
        out->context = mark->context;
        *outside = i;
    }
    out->number = vector;
    return has_names;
}

struct wp_perf_cause wp_perf_cause_of(
    const struct wp_named_frame *frames, uint32_t count, const struct wp_perf_marks *marks, uint32_t tid)
{
    struct wp_perf_cause out = {.cause = WP_CAUSE_TASK};
    uint32_t outside = 0;
    if (!by_stack(frames, count, &out, &outside))
        out = by_marks(marks);
    else if (out.cause == IRQ)
        out.number = marks->in_irq ? marks->irq : 0;
    else if (out.cause == SOFTIRQ && out.number == NET_RX && out.context == SOFT &&
        is_own_transmission(frames, outside))
        return (struct wp_perf_cause){.cause = WP_CAUSE_TASK};
    else if (out.cause == SOFTIRQ && out.number == NONE) {
        out.number = marks->in_softirq ? marks->vector : 0;
        out.cause = marks->in_softirq ? SOFTIRQ : UNKNOWN;
    }
    if (out.cause != IRQ && out.cause != SOFTIRQ)
        out.number = 0;
    if (out.cause == WP_CAUSE_TASK && !tid)
        out = (struct wp_perf_cause){.cause = UNKNOWN, .context = HARD};
    return out;
}

static uint8_t protocol_of(const char *function)
{
    if (!strncmp(function, "tcp_", 4))
        return IPPROTO_TCP;
    return !strncmp(function, "udp", 3) || !strncmp(function, "__udp", 5) ? IPPROTO_UDP : 0;
}

bool wp_perf_cause_received(const struct wp_named_frame *frames, uint32_t count, const struct wp_perf_marks *marks,
    struct wp_perf_received *received)
{
    struct wp_perf_cause out = {.cause = WP_CAUSE_TASK};
    uint32_t outside = 0;
    *received = (struct wp_perf_received){0};
    if (!by_stack(frames, count, &out, &outside))
        return marks->in_softirq && !marks->in_irq && marks->vector == NET_RX;
    if (out.cause != SOFTIRQ || out.number != NET_RX)
        return false;
    received->is_own = out.context == SOFT && is_own_transmission(frames, outside);
    for (uint32_t i = count; i-- > outside;) {
        const char *function = frames[i].function;
        if (!received->protocol)
            received->protocol = protocol_of(function);
        received->is_backlog |= !strcmp(function, "process_backlog");
        received->is_room |= !strcmp(function, "sk_stream_write_space") || !strcmp(function, "sock_def_write_space");
    }
    return true;
}

uint32_t wp_perf_stack_syscall(const struct wp_named_frame *frames, uint32_t count)
{
    /* from the outermost kernel frame on: what stands deeper may be another call's helper */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = frames[i].is_kernel ? wp_perf_syscall(frames[i].function) : 0;
        if (number)
            return number;
    }
    return 0;
}

static bool is_among(const char *function, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(function, names[i]))
            return true;
    return false;
}

/* The system call's own wrapper, innermost of the user's frames: forks have another (_Fork, __libc_fork). */
static bool is_clone_wrapper(const char *function)
{
    static const char *const names[] = {"clone", "__clone", "clone3", "__clone3"};
    return is_among(function, names, sizeof(names) / sizeof(names[0]));
}

uint8_t wp_perf_stack_fork(const struct wp_named_frame *frames, uint32_t count)
{
    static const char *const threads[] = {"pthread_create", "__pthread_create", "create_thread", "runtime.newosproc"};
    static const char *const waits[] = {"vfork", "__vfork", "posix_spawn", "__posix_spawn", "__spawni", "__spawnix"};
    uint32_t users = 0;
    while (users < count && !frames[users].is_kernel)
        users++;
    if (wp_perf_stack_syscall(frames, count) == WP_PERF_VFORK + 1)
        return WP_FORK_VFORK;
    for (uint32_t i = 0; i < users; i++)
        if (is_among(frames[i].function, waits, sizeof(waits) / sizeof(waits[0])))
            return WP_FORK_VFORK;
    for (uint32_t i = 0; i < users; i++)
        for (size_t n = 0; n < sizeof(threads) / sizeof(threads[0]); n++)
            if (!strncmp(frames[i].function, threads[n], strlen(threads[n])))
                return WP_FORK_THREAD;
    /* Without frame pointers nothing else can be seen of pthread_create. */
    return users && is_clone_wrapper(frames[users - 1].function) ? WP_FORK_THREAD : 0;
}
