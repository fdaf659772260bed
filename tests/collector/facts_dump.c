/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts_dump [RING-BYTES [LEFT-OUT]]: what the live source says until standard input ends, one JSON object a line;
 * "ready" on stderr when it is attached.
 */
#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_codes.h"
#include "collector/interp/interp_splice.h"
#include "collector/live/source_bpf.h"
#include "collector/symbols/kernel_symbols.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES (WP_RECORD_USER_DEPTH + WP_INTERP_DEPTH)

/* Of the user's part of a stack, innermost first: [function, file, line], or the address of a native one. */
static void print_frames(struct wp_interp_codes *codes, const struct wp_fact *f)
{
    uint8_t parts[WP_RECORD_USER_DEPTH];
    struct wp_spliced_frame frames[FRAMES];
    const struct wp_interp_stack stack = {parts, f->user_ip_count, f->interp_words, f->interp_word_count};
    for (uint32_t i = 0; i < f->user_ip_count; i++)
        parts[i] = (uint8_t)wp_interp_codes_part(codes, f->pid, f->user_ips[i] - !!i);
    uint32_t count = wp_interp_splice(&stack, frames);
    for (uint32_t i = 0; i < count; i++) {
        struct wp_interp_place places[16] = {{"?", "?", 0}};
        fputs(i ? "," : ",\"frames\":[", stdout);
        if (!frames[i].is_word) {
            printf("%" PRIu64, parts[frames[i].index] ? 0 : f->user_ips[frames[i].index]);
            continue;
        }
        uint32_t places_count = wp_interp_codes_places(codes, f->pid, f->interp_words[frames[i].index], places, 16);
        for (uint32_t j = 0; j < places_count || !j; j++)
            printf("%s[\"%s\",\"%s\",%u]", j ? "," : "", places[j].function, places[j].file, places[j].line);
    }
    if (count)
        putchar(']');
}

static void print_text(const char *name, const char *text)
{
    if (!text || !*text)
        return;
    printf(",\"%s\":\"", name);
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < 32)
            printf("\\u%04x", (unsigned char)*text);
        else
            putchar(*text);
    putchar('"');
}

static int on_fact(void *context, const struct wp_fact *f, struct wp_error *err)
{
    const struct wp_event *e = &f->event;
    struct wp_interp_codes *codes = context;
    (void)err;
    if (f->interp || f->code)
        return f->interp ? wp_interp_codes_process(codes, f->interp) : wp_interp_codes_add(codes, f->code);
    if (!e->kind && f->wait.key) {
        printf("{\"kind\":\"wait\",\"wait\":%" PRIu64 ",\"pid\":%u,\"address\":%" PRIu64, f->wait.key, f->wait.lock.pid,
            f->wait.lock.address);
        print_text("name", f->wait.name);
        puts("}");
        return 0;
    }
    if (!e->kind && !f->stack_key) {
        printf("{\"kind\":\"socket\",\"key\":%" PRIu64
               ",\"protocol\":%u,\"local\":%u,\"remote\":%u,\"netns\":%u,\"opener\":%u}\n",
            f->socket.key, f->socket.entry.protocol, f->socket.entry.local_port, f->socket.entry.remote_port,
            f->socket.entry.netns, f->socket.entry.opener);
        return 0;
    }
    printf("{\"t\":%" PRIu64
           ",\"kind\":\"%s\",\"cpu\":%u,\"tid\":%u,\"pid\":%u,\"other_tid\":%u,\"other_pid\":%u,\"flags\":%u,"
           "\"a\":%" PRIu64 ",\"b\":%" PRIu64 ",\"c\":%u,\"d\":%u,\"key\":%" PRIu64
           ",\"stack\":%u,\"kernel_ips\":%u,\"user_ips\":%u",
        e->time_ns, wp_event_kind_name(e->kind), e->cpu, f->tid, f->pid, f->other_tid, f->other_pid, e->flags, e->a,
        e->b, e->c, e->d, f->socket.key, f->stack_key != 0, f->kernel_ip_count, f->user_ip_count);
    printf(",\"stack_key\":%" PRIu64, f->stack_key);
    if (f->wait.key)
        printf(",\"wait\":%" PRIu64, f->wait.key);
    for (uint32_t i = 0; i < f->user_ip_count; i++)
        printf("%s%" PRIu64, i ? "," : ",\"ips\":[", f->user_ips[i]);
    if (f->user_ip_count)
        putchar(']');
    if (f->interp_word_count)
        print_frames(codes, f);
    print_text("comm", f->comm);
    print_text("other_comm", f->other_comm);
    print_text("exe", f->exe);
    print_text("cmdline", f->cmdline);
    print_text("file", f->file);
    puts("}");
    return 0;
}

static int on_drops(void *context, const struct wp_drop *d, struct wp_error *err)
{
    (void)context, (void)err;
    printf("{\"kind\":\"drop\",\"of\":%u,\"count\":%" PRIu64 ",\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}\n", d->kind,
        d->count, d->from_ns, d->to_ns);
    return 0;
}

static int on_watermark(void *context, uint64_t time_ns, struct wp_error *err)
{
    (void)context, (void)err;
    printf("{\"kind\":\"watermark\",\"t\":%" PRIu64 "}\n", time_ns);
    return 0;
}

static int on_mapped(void *context, const struct wp_mapped_file *file, struct wp_error *err)
{
    (void)context, (void)err;
    printf("{\"t\":%" PRIu64 ",\"kind\":\"mapped\",\"pid\":%u,\"clears\":%u,\"start\":%" PRIu64 ",\"size\":%" PRIu64
           ",\"offset\":%" PRIu64 ",\"build_id\":%u",
        file->time_ns, file->pid, file->is_exec, file->start, file->size, file->file_offset, file->build_id_size);
    print_text("path", file->path);
    puts("}");
    return 0;
}

static void print_counts(const struct wp_source *source)
{
    struct wp_source_counts counts = {0};
    source->ops->count(source, &counts);
    printf("{\"kind\":\"interps\",\"refused\":%" PRIu64 ",\"ends\":[", counts.interps_refused);
    for (unsigned language = 0; language < WP_INTERP_LANGUAGES; language++)
        for (unsigned i = 0; i < WP_INTERP_ENDS; i++)
            printf("%s%" PRIu64, language || i ? "," : "", counts.interps.ends[language][i]);
    puts("]}");
}

/* Whoever recorded has seen the end of what it wanted recorded. */
static bool is_over(void)
{
    char byte;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(int argc, char **argv)
{
    struct wp_source *source;
    struct wp_error err = {0};
    struct wp_logger logger = {"facts_dump", argc > 2 ? WP_LOG_ERROR : WP_LOG_WARN, 2};
    struct wp_source_bpf_options options = {.frequency_hz = 199,
        .wants_cmdline = true,
        .ring_bytes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0,
        .left_out = argc > 2 ? argv[2] : NULL};
    struct wp_fact_sink sink = {on_fact, on_drops, on_watermark, on_mapped, wp_interp_codes_create()};
    if (wp_source_bpf_create(&source, &options, &logger, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct wp_kernel_symbols *kernel = NULL;
    if (!wp_kernel_symbols_read(&kernel, "/proc/kallsyms", &err))
        wp_source_bpf_direct_io(source, wp_kernel_symbols_address(kernel, WP_DIRECT_IO_END));
    wp_kernel_symbols_destroy(kernel);
    fputs("ready\n", stderr);
    bool is_stopped = false;
    int more = 1;
    while (more > 0) {
        if (!is_stopped && is_over()) {
            source->ops->stop(source);
            is_stopped = true;
        }
        more = source->ops->poll(source, 20, &sink, &err);
    }
    print_counts(source);
    source->ops->destroy(source);
    wp_interp_codes_destroy(sink.context);
    if (more < 0)
        fprintf(stderr, "%s\n", err.text);
    return more < 0;
}
