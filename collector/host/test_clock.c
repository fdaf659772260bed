/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/test_clock.h"

#include "common/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define LONGER_UP_NS (200000 * WP_NS_PER_S)

int wp_test_clock_parse(struct wp_test_clock *clock, const char *text, struct wp_error *err)
{
    long long offset_ms = 0, ppm = 0, after_s = 0, step_ms = 0;
    int fields, end = -1;
    fields = sscanf(text, "%lld%n,%lld%n,%lld:%lld%n", &offset_ms, &end, &ppm, &end, &after_s, &step_ms, &end);
    if (fields < 1 || fields == 3 || text[end] || offset_ms > 100000000 || offset_ms < -100000000 || ppm > 100000 ||
        ppm < -100000 || after_s < 0 || after_s > 1000000 || step_ms < 0 || step_ms > 1000000000)
        return wp_error_set(
            err, -EINVAL, "a test clock is OFFSET_MS[,DRIFT_PPM[,STEP_AFTER_S:STEP_MS]], not '%s'", text);
    /* A monotonic clock has no times before 0: this host has been up for longer. */
    *clock = (struct wp_test_clock){.offset_ns = offset_ms * WP_NS_PER_MS,
        .real_offset_ns = offset_ms * WP_NS_PER_MS,
        .drift_ppm = ppm,
        .start_ns = wp_clock_ns(),
        .step_after_ns = (uint64_t)after_s * WP_NS_PER_S,
        .step_ns = (uint64_t)step_ms * WP_NS_PER_MS};
    if (clock->offset_ns < 0)
        clock->offset_ns += LONGER_UP_NS;
    return 0;
}

uint64_t wp_test_clock_at(const struct wp_test_clock *clock, uint64_t time_ns)
{
    if (!clock->start_ns || !time_ns || time_ns > UINT64_MAX / 4)
        return time_ns;
    int64_t since = (int64_t)(time_ns - clock->start_ns);
    int64_t shifted = (int64_t)time_ns + clock->offset_ns + (int64_t)((__int128)since * clock->drift_ppm / 1000000);
    if (clock->step_ns && since >= (int64_t)clock->step_after_ns)
        shifted += (int64_t)clock->step_ns;
    return shifted > 1 ? (uint64_t)shifted : 1;
}

uint64_t wp_test_clock_real(const struct wp_test_clock *clock, uint64_t real_ns)
{
    return clock->start_ns ? real_ns + (uint64_t)clock->real_offset_ns : real_ns;
}

void wp_test_clock_hello(const struct wp_test_clock *clock, struct wp_hello *hello)
{
    hello->start_mono_ns = wp_test_clock_at(clock, hello->start_mono_ns);
    hello->start_real_ns = wp_test_clock_real(clock, hello->start_real_ns);
}

void wp_test_clock_batch(const struct wp_test_clock *clock, struct wp_batch *batch)
{
    batch->watermark_ns = wp_test_clock_at(clock, batch->watermark_ns);
    batch->anchor_mono_ns = wp_test_clock_at(clock, batch->anchor_mono_ns);
    batch->anchor_real_ns = wp_test_clock_real(clock, batch->anchor_real_ns);
    for (uint32_t i = 0; i < batch->event_count; i++) {
        struct wp_event *event = &batch->events[i];
        event->time_ns = wp_test_clock_at(clock, event->time_ns);
        if (event->kind == WP_EVENT_STATE)
            event->a = wp_test_clock_at(clock, event->a);
    }
    for (uint32_t i = 0; i < batch->thread_count; i++)
        batch->threads[i].start_ns = wp_test_clock_at(clock, batch->threads[i].start_ns);
    for (uint32_t i = 0; i < batch->drop_count; i++) {
        batch->drops[i].from_ns = wp_test_clock_at(clock, batch->drops[i].from_ns);
        batch->drops[i].to_ns = wp_test_clock_at(clock, batch->drops[i].to_ns);
    }
}
