/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/reporter/sample_source.h"

#include "storage/report/report_lines.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"

#define START 1790000000000000000ull
#define MS 1000000ull

#define TILL "/build/shop/src/till.c"
#define MONEY "/build/shop/src/money.h"
#define ORDER "/build/shop/src/order.y"
#define FSYNC "../sysdeps/unix/sysv/linux/fsync.c"
#define START_C "../csu/libc-start.c"

/* ms of a line; what is neither run nor wait on the disk is none. */
static const struct {
    const char *file;
    uint32_t line;
    const char *function;
    uint64_t self, run, disk;
} lines[] = {
    {START_C, 360, "__libc_start_main", 0, 800, 300},
    {TILL, 47, "main", 0, 560, 0},
    {TILL, 48, "main", 0, 200, 0},
    {TILL, 49, "main", 0, 40, 300},
    {TILL, 12, "settle", 10, 410, 0},
    {TILL, 13, "settle", 120, 120, 0},
    {TILL, 15, "settle", 30, 30, 0},
    {MONEY, 7, "cents", 400, 400, 0},
    {ORDER, 31, "parse", 200, 200, 0},
    {TILL, 23, "book", 0, 40, 300},
    {FSYNC, 27, "fsync", 0, 40, 300},
};

static const struct {
    unsigned line; /* in `lines` */
    const char *callee;
    enum wp_frame_style style;
    bool is_inlined;
    uint64_t ms, run;
} calls[] = {
    {0, "main", WP_STYLE_USER, false, 1100, 800},
    {1, "settle", WP_STYLE_USER, false, 560, 560},
    {2, "parse", WP_STYLE_USER, false, 200, 200},
    {3, "book", WP_STYLE_USER, false, 340, 40},
    {4, "cents", WP_STYLE_USER, true, 400, 400},
    {9, "fsync", WP_STYLE_USER, false, 340, 40},
    {10, "entry_SYSCALL_64_after_hwframe", WP_STYLE_KERNEL, false, 340, 40},
};

static void add_stack(
    struct wp_report *report, const char *stack, enum wp_category category, uint64_t at_ms, uint64_t ms)
{
    wp_report_add_at(report, sample_node(report, stack), category, START + at_ms * MS, START + (at_ms + ms) * MS);
}

struct wp_report *sample_source_report(void)
{
    struct wp_report *report = wp_report_create();
    uint32_t sites[sizeof(lines) / sizeof(*lines)];
    if (!report)
        return NULL;
    add_stack(report, "[till];__libc_start_main@libc.so.6;main@till;settle@till", WP_UNDERSTOOD_FUNCTIONS, 0, 160);
    add_stack(report, "[till];__libc_start_main@libc.so.6;main@till;settle@till;cents@till", WP_UNDERSTOOD_FUNCTIONS,
        160, 400);
    add_stack(report, "[till];__libc_start_main@libc.so.6;main@till;parse@till", WP_UNDERSTOOD_FUNCTIONS, 560, 200);
    add_stack(report, "[till];__libc_start_main@libc.so.6;main@till;book@till;fsync@libc.so.6", WP_UNDERSTOOD_FUNCTIONS,
        760, 40);
    add_stack(report, "[till];__libc_start_main@libc.so.6;main@till;book@till;fsync@libc.so.6;sleep:fsync;io:vda write",
        WP_BLOCKING_IO, 800, 300);
    for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        sites[i] = wp_report_site(report, lines[i].file, lines[i].line, lines[i].function);
        wp_report_line_add(report,
            &(struct wp_report_line){
                sites[i], WP_UNDERSTOOD_FUNCTIONS, lines[i].run * MS, lines[i].run * MS, lines[i].self * MS});
        wp_report_line_add(report, &(struct wp_report_line){sites[i], WP_BLOCKING_IO, lines[i].disk * MS, 0, 0});
    }
    for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        wp_report_call_add(report,
            &(struct wp_report_call){sites[calls[i].line], wp_report_string(report, calls[i].callee), calls[i].style,
                calls[i].is_inlined, calls[i].ms * MS, calls[i].run * MS});
    wp_report_process_add(report, wp_report_process(report, "shop-1", "till", 4711, START), 1100 * MS, 800 * MS);
    wp_report_activity(report, START, START + 1100 * MS);
    wp_report_host(report, "shop-1");
    return report;
}
