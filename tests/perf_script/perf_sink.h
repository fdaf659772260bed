/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_PERF_SINK_H
#define WP_TESTS_PERF_SINK_H
/* A sink that writes what it is given as lines of text, and checks what every source promises on the way. */
#include "collector/host/source.h"
#include "common/buffer.h"

struct perf_sink {
    struct wp_buffer text; /* a fact a line: see perf_sink.c */
    uint64_t counts[WP_EVENT_KINDS];
    uint64_t causes[WP_CAUSES];
    uint64_t facts, drops, lost;
    uint64_t last_ns, watermark_ns;
    uint64_t broken;  /* promises: times that go back, names that are not there */
    uint64_t fail_at; /* the fact with this number (from 1) is refused with -EIO */
};

struct wp_fact_sink perf_sink_sink(struct perf_sink *sink);
void perf_sink_fini(struct perf_sink *sink);
/* Runs a whole source over `size` bytes, given as a file; what the last poll returned. */
int perf_sink_run(struct perf_sink *sink, const char *bytes, size_t size, uint64_t *skipped, struct wp_error *err);
/* True when the text has this line (without its end). */
bool perf_sink_has(const struct perf_sink *sink, const char *line);

#endif
