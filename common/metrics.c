/* SPDX-License-Identifier: Apache-2.0 */
#include "common/metrics.h"

#include "common/clock.h"
#include "common/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LABEL_BYTES 256u

void wp_metric_clean(const char *text, char *out, size_t room)
{
    size_t used = 0;
    for (const char *at = text; *at;) {
        uint32_t c;
        size_t size = wp_utf8_decode(at, WP_UTF8_MOST, &c), step = size && !wp_utf8_is_control(c) ? size : 1;
        if (used + step >= room)
            break;
        if (size == step && !wp_utf8_is_control(c))
            memcpy(out + used, at, size);
        else
            out[used] = '?';
        used += step;
        at += step;
    }
    out[used] = 0;
}

static void put_label(struct wp_buffer *out, const struct wp_metric_label *label)
{
    char clean[LABEL_BYTES + 1];
    wp_metric_clean(label->value ? label->value : "", clean, sizeof(clean));
    wp_buffer_printf(out, "%s=\"", label->name);
    for (const char *c = clean; *c; c++) {
        if (*c == '"' || *c == '\\')
            wp_buffer_putc(out, '\\');
        wp_buffer_putc(out, *c);
    }
    wp_buffer_putc(out, '"');
}

void wp_metric_begin(struct wp_buffer *out, const char *name, enum wp_metric_type type, const char *help)
{
    wp_buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type == WP_COUNTER ? "counter" : "gauge");
}

void wp_metric_line(
    struct wp_buffer *out, const char *name, const struct wp_metric_label *labels, size_t count, double value)
{
    wp_buffer_puts(out, name);
    for (size_t i = 0; i < count; i++) {
        wp_buffer_putc(out, i ? ',' : '{');
        put_label(out, &labels[i]);
    }
    if (count)
        wp_buffer_putc(out, '}');
    bool is_whole = fabs(value) < 1e15 && value == (double)(int64_t)value;
    wp_buffer_printf(out, is_whole ? " %.0f\n" : " %.15g\n", value);
}

void wp_metric_labelled(
    struct wp_buffer *out, const char *name, const char *label, const char *label_value, double value)
{
    wp_metric_line(out, name, &(struct wp_metric_label){label, label_value}, 1, value);
}

void wp_metric_put(struct wp_buffer *out, const char *name, enum wp_metric_type type, const char *help, double value)
{
    wp_metric_begin(out, name, type, help);
    wp_metric_line(out, name, NULL, 0, value);
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* The n-th number of a file of one line, counted from 0 behind the last ')': a process' name may hold anything. */
static double number_in(const char *path, unsigned index)
{
    char text[1024];
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    const char *at = strrchr(text, ')');
    at = at ? at + 1 : text;
    for (unsigned i = 0; i <= index; i++) {
        at += strspn(at, " ");
        if (i < index)
            at += strcspn(at, " ");
    }
    return strtod(at, NULL);
}

static double started_at(void)
{
    double booted = (double)(wp_clock_of_ns(CLOCK_REALTIME) - wp_clock_of_ns(CLOCK_BOOTTIME)) / WP_NS_PER_S;
    double ticks = number_in("/proc/self/stat", 19); /* field 22, proc(5) */
    return floor((booted + ticks / (double)sysconf(_SC_CLK_TCK)) * 10) / 10;
}

void wp_metric_process(struct wp_buffer *out)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    wp_metric_put(out, "process_cpu_seconds_total", WP_COUNTER, "Processor time of this process, user and system.",
        seconds(&usage.ru_utime) + seconds(&usage.ru_stime));
    wp_metric_put(out, "process_resident_memory_bytes", WP_GAUGE, "Memory of this process.",
        number_in("/proc/self/statm", 1) * (double)sysconf(_SC_PAGESIZE));
    wp_metric_put(
        out, "process_start_time_seconds", WP_GAUGE, "When this process started, since the epoch.", started_at());
}
