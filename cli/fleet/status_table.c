/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/status_table.h"

#include "common/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOSTS 50u /* the busiest; --json has them all */
#define REASONS 5u

/* A figure as text, in a buffer of the caller's. */
struct text {
    char text[48];
};

static const char *bytes_text(double bytes, struct text *out)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1000;
        unit++;
    }
    snprintf(out->text, sizeof(out->text), "%.*f %s", unit && bytes < 100 ? 1 : 0, bytes, units[unit]);
    return out->text;
}

static const char *time_text(double s, struct text *out)
{
    if (s < 0)
        snprintf(out->text, sizeof(out->text), "-");
    else if (s < 1e-3)
        snprintf(out->text, sizeof(out->text), "%.0f us", s * 1e6);
    else if (s < 1)
        snprintf(out->text, sizeof(out->text), "%.*f ms", s < 0.1, s * 1e3);
    else if (s < 120)
        snprintf(out->text, sizeof(out->text), "%.1f s", s);
    else if (s < 7200)
        snprintf(out->text, sizeof(out->text), "%.0f min", s / 60);
    else if (s < 172800)
        snprintf(out->text, sizeof(out->text), "%.0f h", s / 3600);
    else
        snprintf(out->text, sizeof(out->text), "%.0f days", s / 86400);
    return out->text;
}

/* 1234567 as 1,234,567. */
static const char *count_text(double value, struct text *out)
{
    char digits[32];
    size_t used = 0;
    int size = snprintf(digits, sizeof(digits), "%.0f", fmin(fmax(value, 0), 1e18));
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            out->text[used++] = ',';
        out->text[used++] = digits[i];
    }
    out->text[used] = 0;
    return out->text;
}

static void line(FILE *out, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void line(FILE *out, const char *what, const char *format, ...)
{
    va_list args;
    fprintf(out, "  %-12s ", what);
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
    fputc('\n', out);
}

static double age_of(const struct wp_samples *samples)
{
    double now = (double)(wp_clock_of_ns(CLOCK_REALTIME) / WP_NS_PER_S);
    double start = wp_samples_value(samples, "process_start_time_seconds", now);
    return now > start ? now - start : 0;
}

static void put_events(const struct wp_samples *samples, const char *events, const char *drops, FILE *out)
{
    struct text all, rate, dropped;
    double sum = wp_samples_sum(samples, events), lost = wp_samples_sum(samples, drops), age = age_of(samples);
    line(out, "events", "%s, %s a second since it started; %s dropped%s", count_text(sum, &all),
        count_text(age > 0 ? sum / age : 0, &rate), count_text(lost, &dropped),
        lost > 0 ? ": a larger --ring-size keeps more" : "");
}

static void put_cost(const struct wp_samples *samples, FILE *out)
{
    struct text memory, age_text;
    double age = age_of(samples), cpu = wp_samples_value(samples, "process_cpu_seconds_total", 0);
    double bpf = wp_samples_value(samples, "wakepath_collector_bpf_seconds_total", -1);
    line(out, "cost", "%.1f %% of a CPU over %s, %s of memory", age > 0 ? 100 * cpu / age : 0,
        time_text(age, &age_text), bytes_text(wp_samples_value(samples, "process_resident_memory_bytes", 0), &memory));
    if (bpf >= 0)
        line(out, "", "%.1f %% of a CPU in its BPF programs", age > 0 ? 100 * bpf / age : 0);
    double before = wp_samples_value(samples, "wakepath_collector_thinning_level", 0); /* its deprecated name */
    double level = wp_samples_value(samples, "wakepath_collector_shedding_level", before);
    if (level > 0)
        line(out, "", "leaves out %s to stay within %.3g %% of a CPU (--overhead-limit)",
            level >= 3 ? "intervals of time" : "stacks",
            100 * wp_samples_value(samples, "wakepath_collector_overhead_limit_ratio", 0));
}

static void put_collector(const struct wp_samples *samples, FILE *out)
{
    struct text one, two, three;
    double welcome = wp_samples_value(samples, "wakepath_collector_welcome", -1);
    double limit = wp_samples_value(samples, "wakepath_collector_spool_limit_bytes", 0);
    double walks = wp_samples_sum(samples, "wakepath_collector_stack_walks_total");
    const struct wp_metric_sample *complete =
        wp_samples_find(samples, "wakepath_collector_stack_walks_total", "end", "complete");
    if (welcome >= 0)
        line(out, "aggregator", "%s%s; %s batches unacknowledged, the oldest for %s",
            welcome > 0 ? "accepts batches" : "unreachable for ",
            welcome > 0 ? "" : time_text(wp_samples_value(samples, "wakepath_collector_absence_seconds", 0), &one),
            count_text(wp_samples_value(samples, "wakepath_collector_unacknowledged_batches", 0), &two),
            time_text(wp_samples_value(samples, "wakepath_collector_lag_seconds", 0), &three));
    if (wp_samples_value(samples, "wakepath_collector_sampling", 1) < 1)
        line(out, "samples", "not available: functions that run stay unknown; wakepath doctor says what to do");
    double unsampled = wp_samples_value(samples, "wakepath_collector_unsampled_cpus", 0);
    if (unsampled > 0)
        line(out, "samples", "none of %s CPUs that came online since it started: restart it",
            count_text(unsampled, &one));
    put_events(samples, "wakepath_collector_events_total", "wakepath_collector_dropped_events_total", out);
    line(out, "sent", "%s batches, %s",
        count_text(wp_samples_value(samples, "wakepath_collector_batches_total", 0), &one),
        bytes_text(wp_samples_value(samples, "wakepath_collector_batch_bytes_total", 0), &two));
    if (limit > 0)
        line(out, "spool", "%s of %s; %s batches lost",
            bytes_text(wp_samples_value(samples, "wakepath_collector_spool_bytes", 0), &one), bytes_text(limit, &two),
            count_text(wp_samples_value(samples, "wakepath_collector_spool_lost_batches_total", 0), &three));
    if (complete && walks > 0)
        line(out, "stacks", "%.0f %% walked to their end", 100 * complete->value / walks);
}

/* --- an aggregator --- */

static double of_host(const struct wp_samples *samples, const char *name, const char *host, double none)
{
    const struct wp_metric_sample *sample = wp_samples_find(samples, name, "host", host);
    return sample ? sample->value : none;
}

static int by_value(const void *left, const void *right)
{
    const struct wp_metric_sample *const *a = left, *const *b = right;
    return (*a)->value < (*b)->value ? 1 : (*a)->value > (*b)->value ? -1 : strcmp((*a)->name, (*b)->name);
}

/* The lines of a metric, the greatest first; owned by the caller. */
static const struct wp_metric_sample **sorted(const struct wp_samples *samples, const char *name, size_t *count)
{
    const struct wp_metric_sample **all = calloc(samples->count + 1, sizeof(*all));
    *count = 0;
    for (size_t i = 0; all && i < samples->count; i++)
        if (!strcmp(samples->items[i].name, name))
            all[(*count)++] = &samples->items[i];
    if (all)
        qsort(all, *count, sizeof(const struct wp_metric_sample *), by_value);
    return all;
}

static void put_host(const struct wp_samples *samples, const char *host, FILE *out)
{
    struct text events, lag, silence, bound;
    double known = of_host(samples, "wakepath_aggregator_host_clock_known", host, -1);
    double usable = of_host(samples, "wakepath_aggregator_host_clock_usable", host, -1);
    fprintf(out, "    %-24.64s %15s %9s %9s %11s  %s\n", host,
        count_text(of_host(samples, "wakepath_aggregator_host_events_total", host, 0), &events),
        time_text(of_host(samples, "wakepath_aggregator_host_lag_seconds", host, -1), &lag),
        time_text(of_host(samples, "wakepath_aggregator_host_silence_seconds", host, -1), &silence),
        time_text(of_host(samples, "wakepath_aggregator_host_clock_bound_seconds", host, -1), &bound),
        known < 0         ? "gone"
            : usable == 0 ? "contradicts itself"
            : known > 0   ? "known"
                          : "not compared");
}

static void put_hosts(const struct wp_samples *samples, FILE *out)
{
    size_t count, told = 0;
    const struct wp_metric_sample **all = sorted(samples, "wakepath_aggregator_host_events_total", &count);
    if (!all || !count) {
        free(all);
        return;
    }
    fprintf(out, "    %-24s %15s %9s %9s %11s  %s\n", "host", "events", "lag", "silent", "clock +/-", "clock");
    for (; told < count && told < HOSTS; told++) {
        const char *host = wp_sample_label(all[told], "host");
        if (host)
            put_host(samples, host, out);
    }
    if (count > told)
        fprintf(out, "    ... and %zu more: --json has them\n", count - told);
    free(all);
}

static void put_refusals(const struct wp_samples *samples, FILE *out)
{
    size_t count;
    struct text times;
    const struct wp_metric_sample **all = sorted(samples, "wakepath_aggregator_refused_total", &count);
    for (size_t i = 0; all && i < count && i < REASONS; i++) {
        const char *reason = wp_sample_label(all[i], "reason");
        line(out, i ? "" : "refused", "%s times: %s", count_text(all[i]->value, &times), reason ? reason : "?");
    }
    free(all);
}

static void put_aggregator(const struct wp_samples *samples, FILE *out)
{
    static const char sent[] = "wakepath_aggregator_messages_total";
    struct text one, two, three, four;
    const struct wp_metric_sample *matched = wp_samples_find(samples, sent, "sender", "matched");
    const struct wp_metric_sample *ambiguous = wp_samples_find(samples, sent, "sender", "ambiguous");
    double failures = wp_samples_value(samples, "wakepath_aggregator_commit_failures_total", 0),
           all = wp_samples_sum(samples, sent);
    line(out, "hosts", "%s in %s sessions (%s silent, %s sessions ended); %s pairs talk",
        count_text(wp_samples_value(samples, "wakepath_aggregator_hosts", 0), &one),
        count_text(wp_samples_value(samples, "wakepath_aggregator_sessions", 0), &two),
        count_text(wp_samples_value(samples, "wakepath_aggregator_hosts_silent", 0), &three),
        count_text(wp_samples_value(samples, "wakepath_aggregator_sessions_ended_total", 0), &four),
        count_text(wp_samples_value(samples, "wakepath_aggregator_edges", 0), &(struct text){""}));
    put_events(samples, "wakepath_aggregator_events_total", "wakepath_aggregator_dropped_events_total", out);
    if (all > 0)
        line(out, "messages", "%s between hosts, %.1f %% matched, %.2f %% ambiguous", count_text(all, &one),
            matched ? 100 * matched->value / all : 0, ambiguous ? 100 * ambiguous->value / all : 0);
    line(out, "store", "%s in %s releases, %s free; the last commit took %s",
        bytes_text(wp_samples_value(samples, "wakepath_aggregator_store_bytes", 0), &one),
        count_text(wp_samples_value(samples, "wakepath_aggregator_store_releases", 0), &two),
        bytes_text(wp_samples_value(samples, "wakepath_aggregator_store_free_bytes", 0), &three),
        time_text(wp_samples_value(samples, "wakepath_aggregator_commit_last_seconds", 0), &four));
    if (failures > 0)
        line(out, "", "%s commits could not be written", count_text(failures, &one));
    put_refusals(samples, out);
    put_hosts(samples, out);
}

void wp_status_table(const struct wp_daemon_probe *daemon, FILE *out)
{
    const struct wp_samples *samples = &daemon->samples;
    bool is_collector = daemon->kind == WP_DAEMON_PROBE_COLLECTOR,
         is_aggregator = daemon->kind == WP_DAEMON_PROBE_AGGREGATOR;
    if (!is_collector && !is_aggregator) {
        fprintf(out, "%s: %s\n", daemon->address, daemon->trouble);
        return;
    }
    const struct wp_metric_sample *info =
        wp_samples_find(samples, is_collector ? "wakepath_collector_info" : "wakepath_aggregator_info", NULL, NULL);
    const char *version = wp_sample_label(info, "version"),
               *who = wp_sample_label(info, is_collector ? "host" : "shard");
    fprintf(out, "%s %s of %s at %s: %s%s\n", wp_daemon_probe_name(daemon), version ? version : "?", who ? who : "?",
        daemon->address, daemon->is_well ? "well" : "NOT WELL: ", daemon->trouble);
    if (is_collector)
        put_collector(samples, out);
    else
        put_aggregator(samples, out);
    put_cost(samples, out);
}
