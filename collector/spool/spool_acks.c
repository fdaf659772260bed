/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/spool/spool_acks.h"

#include "common/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANGES 256u /* a session that moves more often forgets who had the oldest: nobody gets them again */
#define FILE_BYTES ((size_t)RANGES * 600)

void wp_spool_acks_fini(struct wp_spool_acks *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        free(a->ranges[i].endpoint);
    free(a->ranges);
    free(a->path);
    *a = (struct wp_spool_acks){0};
}

uint64_t wp_spool_acks_last(const struct wp_spool_acks *a)
{
    return a->count ? a->ranges[a->count - 1].last_seq : 0;
}

static void merge_oldest(struct wp_spool_acks *a)
{
    free(a->ranges[0].endpoint);
    *a->ranges[1].endpoint = 0;
    a->count--;
    memmove(a->ranges, a->ranges + 1, a->count * sizeof(*a->ranges));
}

int wp_spool_acks_add(struct wp_spool_acks *a, uint64_t seq, const char *endpoint, struct wp_error *err)
{
    struct wp_spool_ack *last = a->count ? &a->ranges[a->count - 1] : NULL;
    if (seq <= wp_spool_acks_last(a))
        return 0;
    a->is_dirty = true;
    if (last && !strcmp(last->endpoint, endpoint)) {
        last->last_seq = seq;
        return 0;
    }
    char *copy = strdup(endpoint);
    if (!copy)
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    if (a->count == RANGES)
        merge_oldest(a);
    a->ranges[a->count++] = (struct wp_spool_ack){seq, copy};
    return 0;
}

bool wp_spool_acks_is_foreign(const struct wp_spool_acks *a, uint64_t seq, const char *endpoint)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (seq <= a->ranges[i].last_seq)
            return strcmp(a->ranges[i].endpoint, endpoint) != 0;
    return false;
}

static void take_lines(struct wp_spool_acks *a, char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        char *endpoint;
        *end = 0;
        uint64_t seq = strtoull(line, &endpoint, 10);
        if (*endpoint != ' ' || seq >= UINT64_MAX / 2 || wp_spool_acks_add(a, seq, endpoint + 1, NULL))
            return;
    }
}

int wp_spool_acks_open(struct wp_spool_acks *a, const char *folder, struct wp_error *err)
{
    struct wp_buffer text = {0};
    *a = (struct wp_spool_acks){.ranges = calloc(RANGES, sizeof(*a->ranges))};
    if (!a->ranges || asprintf(&a->path, "%s/acked", folder) < 0) {
        a->path = NULL;
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    }
    if (!wp_file_read(a->path, FILE_BYTES, &text, NULL) && !wp_buffer_putc(&text, 0))
        take_lines(a, (char *)text.data);
    a->is_dirty = false;
    wp_buffer_fini(&text);
    return 0;
}

/* After a crash of the machine an older one is nearly as good, so its name is not waited for; an empty one is not. */
int wp_spool_acks_save(struct wp_spool_acks *a, struct wp_error *err)
{
    char fresh[4096];
    if (!a->is_dirty)
        return 0;
    snprintf(fresh, sizeof(fresh), "%s.new", a->path);
    FILE *file = fopen(fresh, "we");
    for (uint32_t i = 0; file && i < a->count; i++)
        fprintf(file, "%llu %s\n", (unsigned long long)a->ranges[i].last_seq, a->ranges[i].endpoint);
    bool is_bad = !file || ferror(file);
    if (file && !is_bad && (fflush(file) || fdatasync(fileno(file))))
        is_bad = true;
    if (file && fclose(file))
        is_bad = true;
    if (is_bad || rename(fresh, a->path))
        return wp_error_errno(err, -errno, "cannot write '%s'", a->path);
    a->is_dirty = false;
    return 0;
}
