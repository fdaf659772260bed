/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "collector/perf_script/source_perf_script.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int on_fact(void *context, const struct wp_fact *fact, struct wp_error *err)
{
    uint64_t *last = context;
    (void)err;
    if (fact->event.kind >= WP_EVENT_KINDS || fact->event.time_ns < *last)
        abort(); /* facts have kinds and come in order */
    *last = fact->event.time_ns;
    return 0;
}

static int on_drops(void *context, const struct wp_drop *drop, struct wp_error *err)
{
    (void)context, (void)drop, (void)err;
    return 0;
}

static int on_watermark(void *context, uint64_t time_ns, struct wp_error *err)
{
    (void)context, (void)time_ns, (void)err;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool is_open; /* one file for all inputs, and it is the standard input: to open files costs more than to read
                            a text */
    uint64_t last = 0;
    struct wp_source *source;
    struct wp_error err = {0};
    struct wp_fact_sink sink = {.fact = on_fact, .drops = on_drops, .watermark = on_watermark, .context = &last};
    is_open = is_open || dup2(memfd_create("text", 0), STDIN_FILENO) == STDIN_FILENO;
    /* its page stays: to empty the file first would give it back each time */
    if (!is_open || pwrite(STDIN_FILENO, bytes, size, 0) != (ssize_t)size || ftruncate(STDIN_FILENO, (off_t)size) ||
        lseek(STDIN_FILENO, 0, SEEK_SET))
        abort();
    if (!wp_source_perf_script_create(&source, "-", &err)) {
        int more = 1;
        while (more > 0)
            more = source->ops->poll(source, 0, &sink, &err);
        source->ops->destroy(source);
    }
    return 0;
}
