/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/bpf_programs.h"

#include "collector/host/sample_event.h"
#include "collector/live/core_types.h"
#include "collector/live/parallel_load.h"
#include "collector/live/probe.h"
#include "collector/live/program_links.h"
#include "collector/live/records.h"
#include "collector/unwind/unwinder.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include "wakepath.skel.h"
#include "wakepath_plain.skel.h"
#pragma GCC diagnostic pop

#define KERNEL_LOG                                                                                                     \
    (UINT32_MAX >> 8) /* the most that old kernels allow; one that does not suffice is an error to them */
#define KERNEL_LOG_END 1500u
#define LICENSE "Dual BSD/GPL" /* of the programs */
#define BUFFER_SLOTS_LEAST 512u
#define BUFFER_SLOTS_MOST 16384u /* 1 MiB a CPU, which its cache holds; what does not fit goes through the ring */
#define PHASE_SWITCHES 2         /* of attaching: the last */
#define WHOLE_CPUS 8u            /* processors from which on tables are as large as the objects say */

struct wp_programs {
    struct wakepath_bpf *object;
    const struct wp_logger *logger;
    struct wp_parallel_load largest; /* programs that are most of what is to be verified */
    struct wp_core_types types;      /* that libbpf relocates by */
    struct wp_program_links links;
    struct bpf_link **sample_links; /* one a CPU */
    bool *are_sampled;              /* by CPU, as of the last look */
    struct bpf_link *tasks;         /* of the snapshot: kept, for once capabilities are gone it could not be made */
    struct bpf_link *memory;        /* of wp_programs_list_memory, the same; NULL: the kernel lacks something */
    unsigned cpus;                  /* possible ones */
    char *kernel_log;
    struct wp_probe *probe; /* what was chosen */
};

static void log_choice(const struct wp_programs *p, const struct wp_probe_fact *fact)
{
    const struct wp_probe_choice *used = wp_probe_used(fact), *best = &fact->choices[0];
    if (!used)
        wp_log(p->logger, WP_LOG_WARN, "this kernel does not report %s reason=\"%s\" instead=\"%s\"", fact->name,
            best->why, fact->without);
    else if (used != best)
        wp_log(p->logger, WP_LOG_INFO, "using the second choice for %s reason=\"%s\" programs=\"%s\"", fact->name,
            best->why, used->programs);
}

/* Both objects have the same maps, programs and variables. */
static int open_object(struct wp_programs *p, struct wp_error *err)
{
    bool casts = wp_probe_wants(p->probe, "kfunc/bpf_rdonly_cast");
    LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = p->kernel_log,
        .kernel_log_size = p->kernel_log ? KERNEL_LOG : 0, .btf_custom_path = p->types.path);
    p->object = calloc(1, sizeof(*p->object));
    int rc = p->object ? wakepath_bpf__create_skeleton(p->object) : -ENOMEM;
    if (!rc)
        rc = wp_core_types_create(&p->types);
    if (!rc) {
        size_t *size = &p->object->skeleton->data_sz;
        p->object->skeleton->data =
            (void *)(uintptr_t)(casts ? wakepath_bpf__elf_bytes(size) : wakepath_plain_bpf__elf_bytes(size));
        rc = bpf_object__open_skeleton(p->object->skeleton, &opts);
    }
    if (!rc)
        rc = wp_core_types_fill(&p->types, wp_probe_types(p->probe), bpf_object__btf(p->object->obj));
    return rc ? wp_error_errno(err, rc, "cannot open the BPF programs") : 0;
}

/* Where the kernel says which soft interrupt is being handled, and which packet. */
static void set_offsets(struct wp_programs *p)
{
    struct wp_probe_offsets offsets;
    bool is_vector_told = wp_probe_wants(p->probe, "offset/kstat");
    wp_probe_offsets(p->probe, &offsets);
    if (is_vector_told || wp_probe_wants(p->probe, "offset/__preempt_count"))
        p->object->rodata->wp_count_offset = wp_probe_count_offset(p->probe);
    p->object->rodata->wp_counts_contexts =
        wp_probe_wants(p->probe, "variable/__preempt_count") || p->object->rodata->wp_count_offset;
    p->object->rodata->wp_vectors_offset = is_vector_told ? offsets.vectors : 0;
    p->object->rodata->wp_pending_offset = is_vector_told ? offsets.pending : 0;
    p->object->rodata->wp_packets_offset = wp_probe_wants(p->probe, "offset/softnet_data") ? offsets.packets : 0;
}

/* Only what this kernel can have, and of that the best, is loaded. */
static int choose(struct wp_programs *p, const char *left_out, bool says_choices, struct wp_error *err)
{
    struct bpf_program *program;
    int rc = wp_probe_create(&p->probe, left_out, err);
    if (!rc)
        rc = open_object(p, err);
    if (rc)
        return rc;
    const struct wp_probe *probe = p->probe;
    rc = wp_probe_suffices(probe, err);
    bpf_object__for_each_program(program, p->object->obj)
        bpf_program__set_autoload(program, wp_probe_wants(probe, bpf_program__section_name(program)));
    for (unsigned i = 0; !rc && says_choices && i < wp_probe_count(probe); i++)
        log_choice(p, wp_probe_fact(probe, i));
    p->object->rodata->wp_unwinds = wp_probe_wants(probe, "unwind/maple_tree");
    p->object->rodata->wp_reads_local =
        wp_probe_wants(probe, "fexit/unix_stream_recvmsg") || wp_probe_wants(probe, "tp_btf/sock_recv_length");
    p->object->rodata->wp_reads_any = !wp_probe_wants(probe, "tp_btf/tcp_rcv_space_adjust");
    p->object->rodata->wp_ready_arrives = wp_probe_wants(probe, "tp_btf/tcp_sendmsg_locked") &&
        !wp_probe_wants(probe, "tp_btf/tcp_probe") && !wp_probe_wants(probe, "fentry/tcp_rcv_established");
    p->object->rodata->wp_follows_work = wp_probe_wants(probe, "tp_btf/workqueue_queue_work");
    set_offsets(p);
    p->object->rodata->wp_times_softirqs = wp_probe_wants(probe, "tp_btf/softirq_exit");
    return rc;
}

static int explain_load(struct wp_programs *p, int rc, struct wp_error *err)
{
    size_t said = p->kernel_log ? strlen(p->kernel_log) : 0; /* what it stumbled over is at the end */
    if (said)
        wp_log(p->logger, WP_LOG_DEBUG, "the kernel said: %s",
            p->kernel_log + (said > KERNEL_LOG_END ? said - KERNEL_LOG_END : 0));
    if (rc == -EPERM || rc == -EACCES)
        return wp_error_set(err, rc,
            "not allowed to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON "
            "(and kernel.perf_event_paranoid, lockdown permitting)");
    return wp_error_errno(err, rc, "the kernel refused the BPF programs");
}

/* Together as large as the ring, but for machines with very many processors: a processor that has no buffer uses the
 * ring. */
static void size_buffers(struct wp_programs *p)
{
    long present = sysconf(_SC_NPROCESSORS_CONF);
    uint32_t all = bpf_map__max_entries(p->object->maps.ring) / (uint32_t)sizeof(struct wp_cpu_slot),
             slots = BUFFER_SLOTS_LEAST;
    uint32_t cpus = present > 0 && (unsigned long)present < p->cpus ? (uint32_t)present : p->cpus;
    while (slots < BUFFER_SLOTS_MOST && 2 * slots * cpus <= all)
        slots *= 2;
    p->object->rodata->wp_buffer_cpus = cpus;
    p->object->rodata->wp_buffer_slots = slots;
    bpf_map__set_max_entries(p->object->maps.cpu_cursors, cpus);
    bpf_map__set_max_entries(p->object->maps.cpu_slots, cpus * slots);
}

/* Of what the programs remember. The kernel makes all elements of such a map with it, which a small host would wait
 * for.
 */
static void size_memory(struct wp_programs *p)
{
    struct bpf_map *const maps[] = {p->object->maps.spaces, p->object->maps.seen, p->object->maps.named,
        p->object->maps.served_requests, p->object->maps.interp_codes, p->object->maps.interp_threads,
        p->object->maps.interp_processes};
    for (unsigned i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        uint32_t whole = bpf_map__max_entries(maps[i]), rows = whole / WHOLE_CPUS;
        while (rows < whole && rows / p->cpus < whole / WHOLE_CPUS)
            rows *= 2;
        bpf_map__set_max_entries(maps[i], rows);
    }
}

static void set_options(struct wp_programs *p, const struct wp_source_bpf_options *options)
{
    p->object->rodata->wp_netns_inum = options->netns_inum;
    p->object->rodata->wp_self_pid = (uint32_t)getpid();
    p->object->rodata->wp_recorder_pid = options->recorder_pid;
    p->object->rodata->wp_aggregator_pid = options->aggregator_pid;
    p->object->rodata->wp_is_chosen_only = options->filter_pid != 0;
    if (!options->filter_pid) /* nobody is looked up in it, and its elements are made with it */
        bpf_map__set_max_entries(p->object->maps.chosen, 1);
    p->object->rodata->wp_interps = p->object->rodata->wp_unwinds && !options->is_native_only;
    p->object->data->wp_wants_cmdline = options->wants_cmdline;
    uint32_t ring_bytes = options->ring_bytes;
    if (!ring_bytes)
        ring_bytes = bpf_map__max_entries(p->object->maps.ring) / (p->cpus < WHOLE_CPUS ? 2 : 1);
    bpf_map__set_max_entries(p->object->maps.ring, ring_bytes);
    p->object->rodata->wp_wake_bytes = ring_bytes / 16;
    size_buffers(p);
    size_memory(p);
}

/*
 * Whether a program between windows does nothing but to find out that it is between windows (cause.h,
 * begin_window). Where programs are called as soft interrupts begin, one has to be called as they end.
 */
static bool is_idle(const struct wp_programs *p, const struct bpf_program *program)
{
    static const char *const idle[] = {"sched_switch", "sched_waking", "sk_data_ready", "tcp_sendmsg_locked",
        "sock_send_length", "sock_recv_length", "tcp_rcv_space_adjust", "tcp_probe", "net_dev_queue",
        "netif_receive_skb"};
    const char *section = bpf_program__section_name(program);
    if (strncmp(section, "tp_btf/", 7))
        return false;
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
        if (!strcmp(section + 7, idle[i]))
            return true;
    return !strcmp(section + 7, "softirq_exit") && p->object->rodata->wp_vectors_offset;
}

/* Ends of contexts are attached before their beginnings, switches last: nothing is left open that began unseen. */
static int phase_of(const char *hook)
{
    size_t size = strlen(hook);
    if (size > 5 && !strcmp(hook + size - 5, "_exit") && strcmp(hook, "sched_process_exit"))
        return 0;
    return strcmp(hook, "sched_switch") ? 1 : PHASE_SWITCHES;
}

static int attach_hooks(struct wp_programs *p, int first, int last, struct wp_error *err)
{
    struct bpf_program *program;
    for (int phase = first; phase <= last; phase++)
        bpf_object__for_each_program(program, p->object->obj)
        {
            const char *hook = wp_program_hook(program);
            if (!hook || !bpf_program__autoload(program) || phase_of(hook) != phase)
                continue;
            int rc = wp_program_links_attach(&p->links, program, is_idle(p, program), err);
            if (rc)
                return rc;
        }
    return 0;
}

/* The kernel's answer; -EAGAIN: another try without a thread says more, or does without one. */
static int load_object(struct wp_programs *p, struct wp_error *err)
{
    wp_parallel_load_set_types(&p->largest, wp_probe_types(p->probe));
    int rc = wakepath_bpf__load(p->object);
    int attached = rc ? 0 : attach_hooks(p, 0, PHASE_SWITCHES - 1, err); /* while the largest are verified */
    int refused = wp_parallel_load_finish(&p->largest);
    wp_core_types_fini(&p->types);
    if ((rc || refused) && p->largest.is_started)
        return -EAGAIN;
    return rc ? explain_load(p, rc, err) : attached;
}

static void set_window(struct wp_programs *p, uint32_t number)
{
    __atomic_store_n(&p->object->data->wp_window_number, number, __ATOMIC_SEQ_CST);
}

void wp_programs_end(struct wp_programs *p)
{
    if (p->object && p->object->data)
        set_window(p, WP_WINDOW_UNWATCHED | 1);
}

static void detach(struct wp_programs *p)
{
    wp_programs_end(p);
    wp_program_links_destroy(&p->links);
    for (unsigned cpu = 0; p->sample_links && cpu < p->cpus; cpu++)
        bpf_link__destroy(p->sample_links[cpu]);
    free(p->sample_links);
    free(p->are_sampled);
    p->sample_links = NULL;
    p->are_sampled = NULL;
}

static void close_object(struct wp_programs *p)
{
    detach(p);
    wp_parallel_load_finish(&p->largest);
    p->largest.is_started = false; /* what is loaded next is loaded in its turn, and a refusal of that explained */
    wakepath_bpf__destroy(p->object);
    wp_core_types_fini(&p->types);
    wp_probe_destroy(p->probe);
    p->object = NULL;
    p->probe = NULL;
}

static int choose_and_load(
    struct wp_programs *p, const struct wp_source_bpf_options *options, bool is_first, struct wp_error *err)
{
    int rc = choose(p, options->left_out, is_first, err);
    if (rc)
        return rc;
    set_options(p, options);
    return load_object(p, err);
}

int wp_programs_load(struct wp_programs **programs, const struct wp_source_bpf_options *options,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_programs *p = calloc(1, sizeof(*p));
    if (!p)
        return wp_error_set(err, -ENOMEM, "out of memory");
    p->logger = p->links.logger = logger;
    p->types.fd = -1;
    p->kernel_log = calloc(1, KERNEL_LOG);
    p->cpus = (unsigned)libbpf_num_possible_cpus();
    libbpf_set_print(NULL); /* it would write to stderr */
    libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
    wp_parallel_load_open(&p->largest, LICENSE, true);
    int rc = choose_and_load(p, options, true, err);
    if (rc == -EAGAIN && p->largest.is_started) { /* load_object's, and nobody else's */
        close_object(p);
        wp_parallel_load_open(&p->largest, LICENSE, false);
        rc = choose_and_load(p, options, false, err);
    }
    if (!rc && options->filter_pid) {
        uint8_t one = 1;
        rc = bpf_map__update_elem(
            p->object->maps.chosen, &options->filter_pid, sizeof(options->filter_pid), &one, 1, BPF_ANY);
        if (rc)
            wp_error_errno(err, rc, "cannot set the process to follow");
    }
    if (rc) {
        wp_programs_destroy(p);
        return rc;
    }
    wp_probe_drop_types(p->probe);
    free(p->kernel_log);
    p->kernel_log = NULL;
    *programs = p;
    return 0;
}

static int attach_samples(struct wp_programs *p, uint32_t frequency_hz, struct wp_error *err)
{
    p->sample_links = calloc(p->cpus, sizeof(struct bpf_link *));
    p->are_sampled = calloc(p->cpus, sizeof(*p->are_sampled));
    if (!p->sample_links || !p->are_sampled)
        return wp_error_set(err, -ENOMEM, "out of memory");
    for (unsigned cpu = 0; cpu < p->cpus; cpu++) {
        int fd = wp_sample_event_open((int)cpu, frequency_hz);
        if (fd == -ENODEV || fd == -ENXIO) /* offline */
            continue;
        if (fd < 0)
            return wp_error_errno(err, fd,
                "cannot sample CPU %u at %u Hz (kernel.perf_event_max_sample_rate is the most)", cpu, frequency_hz);
        p->sample_links[cpu] = bpf_program__attach_perf_event(p->object->progs.wp_sample, fd);
        if (!p->sample_links[cpu]) {
            int rc = -errno;
            close(fd);
            return wp_error_errno(err, rc, "cannot attach the sampler to CPU %u", cpu);
        }
        p->are_sampled[cpu] = true;
    }
    return 0;
}

int wp_programs_attach(struct wp_programs *p, uint32_t frequency_hz, struct wp_error *err)
{
    int rc = attach_hooks(p, PHASE_SWITCHES, PHASE_SWITCHES, err);
    if (!rc && frequency_hz && bpf_program__autoload(p->object->progs.wp_sample))
        rc = attach_samples(p, frequency_hz, err);
    if (!rc)
        set_window(p, 0);
    return rc;
}

/* Runs the program for each thread; 0 or -errno. */
static int iterate(const struct bpf_link *link)
{
    int rc = 0, fd = bpf_iter_create(bpf_link__fd(link));
    char none[64];
    ssize_t got;
    if (fd < 0)
        return fd;
    while ((got = read(fd, none, sizeof(none))) > 0 || (got < 0 && errno == EAGAIN))
        continue;
    rc = got < 0 ? -errno : 0;
    close(fd);
    return rc;
}

int wp_programs_snapshot(struct wp_programs *p, struct wp_error *err)
{
    if (!p->tasks && !(p->tasks = bpf_program__attach_iter(p->object->progs.wp_tasks, NULL)))
        return wp_error_errno(err, -errno, "cannot list the threads that exist");
    bool may_be_short = bpf_program__autoload(p->object->progs.wp_memcg_reclaim_begin) ||
        bpf_program__autoload(p->object->progs.wp_direct_reclaim_begin);
    if (!p->memory && may_be_short)
        p->memory = bpf_program__attach_iter(p->object->progs.wp_memory, NULL);
    int rc = iterate(p->tasks);
    return rc ? wp_error_errno(err, rc, "cannot list the threads that exist") : 0;
}

int wp_programs_introduce(struct wp_programs *p, struct wp_error *err)
{
    p->object->data->wp_introduces = 1;
    int rc = wp_programs_snapshot(p, err);
    p->object->data->wp_introduces = 0;
    return rc;
}

bool wp_programs_is_memory_short(struct wp_programs *p)
{
    return p->memory && p->object->data->wp_memory_is_short;
}

int wp_programs_list_memory(struct wp_programs *p, struct wp_error *err)
{
    p->object->data->wp_memory_is_listed = p->object->data->wp_memory_is_short;
    p->object->data->wp_memory_is_short = 0;
    int rc = p->memory ? iterate(p->memory) : 0;
    return rc ? wp_error_errno(err, rc, "cannot list who has memory") : 0;
}

void wp_programs_pause(struct wp_programs *p, bool is_paused)
{
    uint32_t number = p->object->data->wp_window_number;
    if ((number & 1) == is_paused)
        return;
    if (!is_paused)
        wp_program_links_pause(&p->links, false);
    set_window(p, number + 1);
    if (is_paused)
        wp_program_links_pause(&p->links, true);
}

void wp_programs_want_cmdlines(struct wp_programs *p, bool is_wanted)
{
    __atomic_store_n(&p->object->data->wp_wants_cmdline, is_wanted, __ATOMIC_SEQ_CST);
}

void wp_programs_direct_io(struct wp_programs *p, uint64_t address)
{
    __atomic_store_n(&p->object->bss->wp_direct_io_end, address, __ATOMIC_SEQ_CST);
}

void wp_programs_destroy(struct wp_programs *p)
{
    if (!p)
        return;
    bpf_link__destroy(p->tasks);
    bpf_link__destroy(p->memory);
    close_object(p);
    free(p->kernel_log);
    free(p);
}

const struct wp_probe *wp_programs_probe(const struct wp_programs *p)
{
    return p->probe;
}

void wp_programs_records(const struct wp_programs *p, struct wp_records_options *options)
{
    *options = (struct wp_records_options){.ring_fd = bpf_map__fd(p->object->maps.ring),
        .ring_bytes = bpf_map__max_entries(p->object->maps.ring),
        .buffers = {.cursors_fd = bpf_map__fd(p->object->maps.cpu_cursors),
            .slots_fd = bpf_map__fd(p->object->maps.cpu_slots),
            .cpus = p->object->rodata->wp_buffer_cpus,
            .slots = p->object->rodata->wp_buffer_slots}};
}

unsigned wp_programs_cpus(const struct wp_programs *p)
{
    return p->cpus;
}

int wp_programs_drops(const struct wp_programs *p, struct wp_record_drops *drops)
{
    uint32_t zero = 0;
    return bpf_map__lookup_elem(p->object->maps.drops, &zero, sizeof(zero), drops, p->cpus * sizeof(*drops), 0);
}

bool wp_programs_unwinding(const struct wp_programs *p, struct wp_unwinder_options *options)
{
    if (!p->object->rodata->wp_unwinds)
        return false;
    *options = (struct wp_unwinder_options){.files_fd = bpf_map__fd(p->object->maps.unwind_files),
        .pages_fd = bpf_map__fd(p->object->maps.unwind_pages),
        .pages_room = bpf_map__max_entries(p->object->maps.unwind_pages),
        .generation = &p->object->data->wp_unwind_generation,
        .logger = p->logger};
    return true;
}

void wp_programs_unwind_counts(const struct wp_programs *p, struct wp_unwind_counts *counts)
{
    uint32_t zero = 0;
    struct wp_unwind_counts *all = calloc(p->cpus, sizeof(*all));
    *counts = (struct wp_unwind_counts){0};
    if (all &&
        !bpf_map__lookup_elem(p->object->maps.unwind_counts, &zero, sizeof(zero), all, p->cpus * sizeof(*all), 0))
        for (unsigned cpu = 0; cpu < p->cpus; cpu++)
            for (unsigned i = 0; i < WP_UNWIND_ENDS; i++)
                counts->ends[i] += all[cpu].ends[i];
    free(all);
}

int wp_programs_interp_files(const struct wp_programs *p)
{
    return p->object->rodata->wp_interps ? bpf_map__fd(p->object->maps.interp_files) : -1;
}

void wp_programs_interp_counts(const struct wp_programs *p, struct wp_interp_counts *counts)
{
    uint32_t zero = 0;
    struct wp_interp_counts *all = calloc(p->cpus, sizeof(*all));
    *counts = (struct wp_interp_counts){0};
    if (all &&
        !bpf_map__lookup_elem(p->object->maps.interp_counts, &zero, sizeof(zero), all, p->cpus * sizeof(*all), 0))
        for (unsigned cpu = 0; cpu < p->cpus; cpu++) {
            for (unsigned i = 0; i < WP_INTERP_LANGUAGES * WP_INTERP_ENDS; i++)
                counts->ends[i / WP_INTERP_ENDS][i % WP_INTERP_ENDS] +=
                    all[cpu].ends[i / WP_INTERP_ENDS][i % WP_INTERP_ENDS];
            counts->held_back += all[cpu].held_back;
        }
    free(all);
}

void wp_programs_run_time(const struct wp_programs *p, uint64_t *runs, uint64_t *ns)
{
    *runs = *ns = 0;
    for (unsigned cpu = 0; cpu < WP_WORK_CPUS && cpu < p->cpus; cpu++) {
        *runs += p->object->bss->wp_work[cpu].runs;
        *ns += p->object->bss->wp_work[cpu].taken_ns * WP_WORK_ONE_IN;
    }
}

uint64_t wp_programs_unwalked(const struct wp_programs *p)
{
    uint64_t count = 0;
    for (unsigned cpu = 0; cpu < WP_WORK_CPUS && cpu < p->cpus; cpu++)
        count += p->object->bss->wp_work[cpu].unwalked;
    return count;
}

unsigned wp_programs_unsampled(struct wp_programs *p)
{
    return p->are_sampled ? wp_sample_event_without(p->are_sampled, p->cpus) : 0;
}

void wp_programs_thin(struct wp_programs *p, uint32_t walk_one_in)
{
    p->object->data->wp_walk_one_in = walk_one_in;
}

void wp_programs_forget_stacks(struct wp_programs *p)
{
    p->object->data->wp_stack_epoch++;
}
