/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/recording_cost.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU ".recorder.cpu_ns"

/* "host.NAME" and `what`, of the key that ends with CPU. */
static uint64_t beside(const struct wp_metadata *release, const char *key, size_t size, const char *what)
{
    char name[700];
    if ((size_t)snprintf(name, sizeof(name), "%.*s%s", (int)size, key, what) >= sizeof(name))
        return 0;
    const char *text = wp_metadata_text(release, name);
    return text ? strtoull(text, NULL, 10) : 0;
}

struct wp_recording_cost wp_recording_cost(const struct wp_metadata *release)
{
    struct wp_recording_cost cost = {0};
    for (size_t i = wp_metadata_find(release, "host.");
         i < release->count && !strncmp(release->rows[i].key, "host.", 5); i++) {
        const char *key = release->rows[i].key;
        size_t size = strlen(key);
        bool is_older = i && !strcmp(release->rows[i - 1].key, key);
        if (is_older || size <= strlen(CPU) || strcmp(key + size - strlen(CPU), CPU))
            continue;
        size -= strlen(CPU);
        cost.cpu_ns += strtoull(release->rows[i].value, NULL, 10);
        cost.programs_ns += beside(release, key, size, ".recorder.programs_ns");
        cost.machine_ns += beside(release, key, size, ".recorder.of_ns") * beside(release, key, size, ".cpus");
    }
    return cost;
}

double wp_recording_cost_percent(const struct wp_recording_cost *cost)
{
    return cost->machine_ns ? 100.0 * (double)cost->cpu_ns / (double)cost->machine_ns : 0;
}
