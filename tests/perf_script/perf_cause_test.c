/* SPDX-License-Identifier: Apache-2.0 */
/* Causes of wakings, system calls and forks, judged from stacks as they were recorded on kernels old and new. */
#include "collector/perf_script/perf_script_cause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define DEPTH 32u

/* "inner<next<outer"; a function with a leading '~' is the user's. Outermost first, as a source says them. */
static uint32_t frames_of(const char *stack, char *room, size_t size, struct wp_named_frame *frames)
{
    uint32_t count = 0;
    snprintf(room, size, "%s", stack);
    for (char *at = strrchr(room, '<'), *start;; at = strrchr(room, '<')) {
        start = at ? at + 1 : room;
        assert_true(count < DEPTH);
        frames[count++] = (struct wp_named_frame){start + (*start == '~'), "", 0, *start != '~'};
        if (!at)
            break;
        *at = 0;
    }
    return *stack ? count : 0;
}

struct cause_case {
    const char *stack;
    uint32_t tid;
    struct wp_perf_marks marks;
    enum wp_cause cause;
    uint8_t context;
    uint32_t number;
};

#define HARD WP_CONTEXT_HARDIRQ
#define SOFT WP_CONTEXT_SOFTIRQ

static const struct cause_case cases[] = {
    /* the task itself */
    {"try_to_wake_up<pipe_write<vfs_write<ksys_write<do_syscall_64<~write", 7, {0}, WP_CAUSE_TASK, 0, 0},
    {"try_to_wake_up<complete_all<migration_cpu_stop<kthread<ret_from_fork", 7, {0}, WP_CAUSE_TASK, 0, 0},
    {"try_to_wake_up<~hrtimer_wakeup<~blk_update_request", 7, {0}, WP_CAUSE_TASK, 0, 0},
    {"", 7, {0}, WP_CAUSE_TASK, 0, 0},
    {"", 0, {0}, WP_CAUSE_UNKNOWN, HARD, 0},
    {"try_to_wake_up<do_idle<cpu_startup_entry", 0, {0}, WP_CAUSE_UNKNOWN, HARD, 0},
    /* timers */
    {"try_to_wake_up<hrtimer_wakeup<__hrtimer_run_queues<hrtimer_interrupt<__sysvec_apic_timer_interrupt<"
     "sysvec_apic_timer_interrupt<asm_sysvec_apic_timer_interrupt<pv_native_safe_halt<do_idle",
        0, {0}, WP_CAUSE_TIMER, HARD, 0},
    {"try_to_wake_up<process_timeout<call_timer_fn<__run_timers.part.0<run_timer_softirq<handle_softirqs<__irq_exit_"
     "rcu<"
     "sysvec_apic_timer_interrupt<asm_sysvec_apic_timer_interrupt<~main",
        7, {0}, WP_CAUSE_TIMER, SOFT, 0},
    {"try_to_wake_up<hrtimer_wakeup<__hrtimer_run_queues<local_apic_timer_interrupt<smp_apic_timer_interrupt<"
     "apic_timer_interrupt<~f",
        7, {0}, WP_CAUSE_TIMER, HARD, 0},
    {"ttwu_do_wakeup<it_real_fn<hrtimer_interrupt<arch_timer_handler_virt<gic_handle_irq<el1h_64_irq<x", 7, {0},
        WP_CAUSE_TIMER, HARD, 0},
    /* block requests */
    {"try_to_wake_up<end_bio_bh_io_sync<blk_update_request<blk_mq_end_request<blk_done_softirq<handle_softirqs<"
     "__irq_exit_rcu<common_interrupt<asm_common_interrupt<~main",
        7, {0}, WP_CAUSE_BLOCK, SOFT, 0},
    {"wake_up_page_bit<bio_endio<blk_update_request<scsi_end_request<nvme_irq<handle_irq_event<handle_edge_irq<do_IRQ<"
     "ret_from_intr<~main",
        7, {.in_irq = true, .irq = 36}, WP_CAUSE_BLOCK, HARD, 0},
    {"try_to_wake_up<blk_update_request<blk_mq_end_request<loop_process_work<process_one_work<kthread", 7, {0},
        WP_CAUSE_BLOCK, 0, 0},
    {"try_to_wake_up<blk_update_request<blk_done_softirq<handle_softirqs<run_ksoftirqd<kthread", 22, {0},
        WP_CAUSE_BLOCK, SOFT, 0},
    /* network: at the end of the task's own transmission, and from elsewhere */
    {"try_to_wake_up<sock_def_readable<tcp_rcv_established<tcp_v4_do_rcv<tcp_v4_rcv<ip_local_deliver<process_backlog<"
     "__napi_poll<net_rx_action<handle_softirqs<do_softirq<__local_bh_enable_ip<__dev_queue_xmit<ip_finish_output2<"
     "__tcp_transmit_skb<tcp_sendmsg<__x64_sys_sendto<~send",
        7, {0}, WP_CAUSE_TASK, 0, 0},
    {"try_to_wake_up<sock_def_readable<tcp_v4_rcv<net_rx_action<handle_softirqs<__irq_exit_rcu<common_interrupt<"
     "asm_common_interrupt<__dev_queue_xmit<ip_finish_output2<~send",
        7, {0}, WP_CAUSE_SOFTIRQ, SOFT, 3},
    {"try_to_wake_up<tcp_v4_rcv<net_rx_action<__do_softirq<run_ksoftirqd<smpboot_thread_fn<kthread", 22, {0},
        WP_CAUSE_SOFTIRQ, SOFT, 3},
    {"try_to_wake_up<tcp_v4_rcv<net_rx_action<__do_softirq<__local_bh_enable_ip<some_driver<~main", 7, {0},
        WP_CAUSE_SOFTIRQ, SOFT, 3},
    {"try_to_wake_up<sock_def_readable<tcp_v4_do_rcv<release_sock<tcp_recvmsg<~recv", 7, {0}, WP_CAUSE_SOFTIRQ, 0, 3},
    /* other soft interrupts */
    {"try_to_wake_up<swake_up_one<rcu_gp_kthread_wake<rcu_core<handle_softirqs<irq_exit<x<~main", 7, {0},
        WP_CAUSE_SOFTIRQ, SOFT, 9},
    {"try_to_wake_up<tasklet_action_common.isra.0<handle_softirqs<~main", 7, {0}, WP_CAUSE_SOFTIRQ, SOFT, 6},
    {"try_to_wake_up<new_function<handle_softirqs<~main", 7, {.in_softirq = true, .vector = 5}, WP_CAUSE_SOFTIRQ, SOFT,
        5},
    {"try_to_wake_up<new_function<handle_softirqs<~main", 7, {0}, WP_CAUSE_UNKNOWN, SOFT, 0},
    /* devices, and calls between processors */
    {"try_to_wake_up<uart_handle<__handle_irq_event_percpu<handle_irq_event<handle_edge_irq<__common_interrupt<"
     "common_interrupt<asm_common_interrupt<blk_update_request<~main",
        7, {.in_irq = true, .irq = 4}, WP_CAUSE_IRQ, HARD, 4},
    {"try_to_wake_up<uart_handle<handle_irq_event<do_IRQ<~main", 7, {0}, WP_CAUSE_IRQ, HARD, 0},
    {"try_to_wake_up<sched_ttwu_pending<sysvec_reschedule_ipi<asm_sysvec_reschedule_ipi<~main", 7, {0},
        WP_CAUSE_UNKNOWN, HARD, 0},
    {"try_to_wake_up<some_call<sysvec_call_function_single<asm_sysvec_call_function_single<~main", 7, {0},
        WP_CAUSE_UNKNOWN, HARD, 0},
    {"try_to_wake_up<irq_work<nmi_handle<asm_exc_nmi<~main", 7, {0}, WP_CAUSE_UNKNOWN, WP_CONTEXT_NMI, 0},
    /* no stack, or one without names: the marks speak */
    {"", 7, {.in_irq = true, .irq = 12}, WP_CAUSE_IRQ, HARD, 12},
    {"", 7, {.in_softirq = true, .vector = 1}, WP_CAUSE_TIMER, SOFT, 0},
    {"", 7, {.in_softirq = true, .vector = 4}, WP_CAUSE_BLOCK, SOFT, 0},
    {"", 7, {.in_softirq = true, .vector = 9}, WP_CAUSE_SOFTIRQ, SOFT, 9},
    {"~main", 7, {.in_softirq = true, .vector = 9}, WP_CAUSE_SOFTIRQ, SOFT, 9},
};

static void each_stack_has_its_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct cause_case *c = &cases[i];
        struct wp_named_frame frames[DEPTH];
        char room[1024];
        uint32_t count = frames_of(c->stack, room, sizeof(room), frames);
        struct wp_perf_cause cause = wp_perf_cause_of(frames, count, &c->marks, c->tid);
        print_message("%s\n", c->stack);
        assert_int_equal(cause.cause, c->cause);
        assert_int_equal(cause.context, c->context);
        assert_int_equal(cause.number, c->number);
    }
}

/* A table out of order would lose some of its names: one of each letter, first and last included. */
static void the_table_is_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {"___do_softirq", "__blk_end_request", "__udp6_lib_rcv", "alarmtimer_fired",
        "apic_timer_interrupt", "bio_endio", "call_softirq", "do_IRQ", "el0t_64_irq", "expire_timers",
        "flush_smp_call_function_queue", "generic_handle_irq", "handle_softirqs", "hrtimer_wakeup", "ip_rcv",
        "irq_work_run", "local_apic_timer_interrupt", "napi_poll", "net_rx_action", "nmi_handle", "nvme_end_req",
        "posix_timer_fn", "process_timeout", "rcu_core", "run_timer_softirq", "scsi_complete",
        "smp_apic_timer_interrupt", "sysvec_apic_timer_interrupt", "tasklet_action", "tick_sched_timer",
        "timerfd_tmrproc", "udp_rcv", "virtblk_done", "xen_hvm_callback_vector"};
    struct wp_perf_marks marks = {0};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct wp_named_frame frame = {names[i], "", 0, true};
        print_message("%s\n", names[i]);
        assert_int_not_equal(wp_perf_cause_of(&frame, 1, &marks, 7).cause, WP_CAUSE_TASK);
    }
}

static uint32_t syscall_of(const char *stack)
{
    struct wp_named_frame frames[DEPTH];
    char room[1024];
    uint32_t count = frames_of(stack, room, sizeof(room), frames);
    return wp_perf_stack_syscall(frames, count);
}

static uint8_t fork_of(const char *stack)
{
    struct wp_named_frame frames[DEPTH];
    char room[1024];
    uint32_t count = frames_of(stack, room, sizeof(room), frames);
    return wp_perf_stack_fork(frames, count);
}

static void calls_and_forks(void **state)
{
    (void)state;
    assert_int_equal(
        syscall_of("__schedule<schedule<do_nanosleep<hrtimer_nanosleep<__x64_sys_clock_nanosleep<do_syscall_64"), 231);
    assert_int_equal(syscall_of("__schedule<ksys_read<do_iter<__x64_sys_splice<do_syscall_64<~splice"), 276);
    assert_int_equal(syscall_of("__schedule<pipe_read<vfs_read<ksys_read<do_syscall_64<~sys_write"), 1);
    assert_int_equal(syscall_of("__schedule<smpboot_thread_fn<kthread"), 0);
    assert_int_equal(syscall_of(""), 0);
    assert_int_equal(
        fork_of("kernel_clone<__do_sys_clone<do_syscall_64<~__clone3<~create_thread<~pthread_create@GLIBC_2.34"),
        WP_FORK_THREAD);
    assert_int_equal(fork_of("kernel_clone<__x64_sys_vfork<do_syscall_64<~__vfork"), WP_FORK_VFORK);
    assert_int_equal(fork_of("kernel_clone<__x64_sys_clone<do_syscall_64<~__clone<~__spawnix<~main"), WP_FORK_VFORK);
    assert_int_equal(fork_of("kernel_clone<__x64_sys_clone<do_syscall_64<~_Fork<~main"), 0);
    assert_int_equal(
        fork_of("kernel_clone<__do_sys_clone3<do_syscall_64<~clone3<~"), WP_FORK_THREAD); /* no frame pointers */
    assert_int_equal(fork_of("kernel_clone<__do_sys_clone3<do_syscall_64<~clone3<~__spawnix<~main"), WP_FORK_VFORK);
    assert_int_equal(fork_of("kernel_clone<__do_sys_clone<do_syscall_64"), 0);
    assert_int_equal(fork_of(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_stack_has_its_cause),
        cmocka_unit_test(the_table_is_in_order), cmocka_unit_test(calls_and_forks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
