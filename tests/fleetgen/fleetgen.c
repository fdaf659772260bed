/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleetgen --out DIR [--seed N] [--world N] [--seconds S] [--plan FILE] [--release ID] [--frequency HZ] [--window
 * WINDOW]: a fleet that never was. Writes a capture a host (DIR/hN.capture), as its collector would have, and
 * DIR/truth.json: where the time of the base service really went, what was read from whom, how the clocks stood. The
 * same seed and plan give the same bytes; the same world, the same hosts, clocks and connections. gen_plan.h says what
 * a plan is.
 */
#include "collector/send/capture_writer.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"
#include "tests/fleetgen/gen_fleet.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_BYTES 65536

static const char default_plan[] = "hosts 3 cpus=4\n"
                                   "service web hosts=1 threads=4 base pause=4000\n busy 200\n call api\n busy 100\n"
                                   "service api hosts=1 threads=6\n busy 500\n sleep 800\n call db\n"
                                   "service db hosts=1 threads=6\n busy 200\n disk 600\n";

struct writer {
    const char *folder;
    struct gen_fleet *fleet;
    struct wp_capture_writer **captures; /* by host */
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    uint64_t resolution_ns; /* times are rounded down to a multiple of it, as a collector does; a power of two */
};

static void check(int rc, const struct wp_error *err)
{
    if (!rc)
        return;
    fprintf(stderr, "fleetgen: %s\n", err->text);
    exit(1);
}

static void write_batch(void *context, struct gen_host *host, const struct wp_batch *batch)
{
    struct writer *writer = context;
    struct wp_error err = {0};
    struct wp_hello hello = gen_fleet_hello(writer->fleet, host);
    struct wp_capture_writer **capture = &writer->captures[host->number];
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.capture", writer->folder, host->name);
    if (!*capture)
        check(wp_capture_writer_open(capture, path, &hello, &err), &err);
    struct wp_batch whole = *batch;
    memcpy(whole.session, hello.session, 16);
    whole.watermark_ns &= ~(writer->resolution_ns - 1);
    for (uint32_t i = 0; i < whole.event_count; i++)
        whole.events[i].time_ns &= ~(writer->resolution_ns - 1);
    wp_buffer_clear(&writer->raw);
    wp_buffer_clear(&writer->frame);
    check(wp_batch_encode(&whole, &writer->raw, &err), &err);
    check(
        wp_frame_write(writer->frames, WP_FRAME_BATCH, writer->raw.data, writer->raw.size, &writer->frame, &err), &err);
    check(wp_capture_writer_batch(*capture, writer->frame.data, writer->frame.size, &err), &err);
    if (!batch->is_last)
        return;
    struct wp_bye bye = {.last_seq = batch->seq, .events = host->events + batch->event_count, .dropped = host->dropped};
    check(wp_capture_writer_finish(*capture, &bye, &err), &err);
    *capture = NULL;
}

static void read_plan(struct gen_plan *plan, const char *path)
{
    static char text[PLAN_BYTES];
    char why[300];
    FILE *in = path ? fopen(path, "r") : NULL;
    if (path && !in) {
        perror(path);
        exit(1);
    }
    if (in)
        text[fread(text, 1, sizeof(text) - 1, in)] = 0;
    if (in)
        fclose(in);
    if (!gen_plan_parse(plan, in ? text : default_plan, why, sizeof(why))) {
        fprintf(stderr, "fleetgen: %s\n", why);
        exit(64);
    }
}

int main(int argc, char **argv)
{
    static const struct option table[] = {{"out", 1, 0, 'o'}, {"seed", 1, 0, 's'}, {"seconds", 1, 0, 't'},
        {"plan", 1, 0, 'p'}, {"release", 1, 0, 'r'}, {"world", 1, 0, 'w'}, {"frequency", 1, 0, 'f'},
        {"window", 1, 0, 'i'}, {"resolution", 1, 0, 'q'}, {0}};
    struct gen_fleet_options options = {.seed = 1, .duration_ns = 5000000000u, .sample_hz = 99};
    struct writer writer = {.resolution_ns = 1};
    const char *plan_path = NULL;
    struct wp_error err = {0};
    struct gen_plan plan;
    for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        switch (c) {
        case 'o':
            writer.folder = optarg;
            break;
        case 's':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'w':
            options.world = strtoull(optarg, NULL, 10);
            break;
        case 't':
            options.duration_ns = (uint64_t)(strtod(optarg, NULL) * 1e9);
            break;
        case 'p':
            plan_path = optarg;
            break;
        case 'r':
            options.release = optarg;
            break;
        case 'i':
            check(wp_window_parse(&options.window, optarg, &err), &err);
            break;
        case 'q':
            writer.resolution_ns = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            options.sample_hz = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        default:
            return 64;
        }
    }
    if (!writer.folder || !options.duration_ns || !writer.resolution_ns ||
        writer.resolution_ns & (writer.resolution_ns - 1))
        return 64;
    read_plan(&plan, plan_path);
    writer.fleet = gen_fleet_create(&plan, &options);
    writer.captures = gen_new(sizeof(struct wp_capture_writer *) * plan.hosts);
    writer.frames = wp_frame_writer_create(1);
    for (uint32_t i = 0; i < plan.hosts; i++) {
        writer.fleet->hosts[i]->uplink = write_batch;
        writer.fleet->hosts[i]->context = &writer;
    }
    gen_fleet_run(writer.fleet);
    char path[4096];
    snprintf(path, sizeof(path), "%s/truth.json", writer.folder);
    int rc = gen_truth_write(writer.fleet, path);
    if (rc)
        fprintf(stderr, "fleetgen: %s: %s\n", path, strerror(-rc));
    gen_fleet_destroy(writer.fleet);
    wp_frame_writer_destroy(writer.frames);
    wp_buffer_fini(&writer.raw);
    wp_buffer_fini(&writer.frame);
    free(writer.captures);
    return rc ? 1 : 0;
}
