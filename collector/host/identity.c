/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/identity.h"

#include "common/clock.h"
#include "common/host_id.h"
#include "common/path.h"
#include "common/version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

/* One line of a small file, "" when there is none. */
static void read_line(const char *path, char *line, size_t room)
{
    struct wp_buffer text = {0};
    *line = 0;
    if (!wp_file_read(path, 4096, &text, NULL) && text.size) {
        size_t size = 0;
        while (size < text.size && size < room - 1 && text.data[size] != '\n')
            size++;
        memcpy(line, text.data, size);
        line[size] = 0;
    }
    wp_buffer_fini(&text);
}

void wp_identity_host(uint8_t host[16], const char *part)
{
    struct utsname name;
    uname(&name);
    wp_host_id(host, name.nodename, part);
}

int wp_identity_hello(struct wp_hello *hello, const struct wp_host_identity *identity, struct wp_error *err)
{
    struct utsname name;
    char boot[64];
    uname(&name);
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    *hello = (struct wp_hello){.wire_major = WP_WIRE_MAJOR,
        .wire_minor = WP_WIRE_MINOR,
        .hostname = strdup(identity->hostname ? identity->hostname : name.nodename),
        .kernel = strdup(name.release),
        .machine = strdup(name.machine),
        .boot_id = strdup(boot),
        .version = strdup(wp_version()),
        .source = strdup(identity->source),
        .release = strdup(identity->release ? identity->release : ""),
        .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
        .sample_period_ns = identity->frequency_hz ? WP_NS_PER_S / identity->frequency_hz : 0};
    if (!hello->hostname || !hello->kernel || !hello->machine || !hello->boot_id || !hello->version || !hello->source ||
        !hello->release) {
        wp_hello_fini(hello);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    wp_host_id(hello->host, hello->hostname, identity->part);
    uuid_generate_random(hello->session);
    hello->start_mono_ns = wp_clock_of_ns(CLOCK_MONOTONIC);
    hello->start_real_ns = wp_clock_of_ns(CLOCK_REALTIME);
    return 0;
}

void wp_identity_renew(struct wp_hello *hello)
{
    memcpy(hello->continues, hello->session, sizeof(hello->continues));
    uuid_generate_random(hello->session);
    hello->start_mono_ns = wp_clock_of_ns(CLOCK_MONOTONIC);
    hello->start_real_ns = wp_clock_of_ns(CLOCK_REALTIME);
}

int wp_identity_label(struct wp_hello *hello, const char *text, struct wp_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text > 255 || strlen(equals + 1) > 255)
        return wp_error_set(err, -EINVAL, "a label is KEY=VALUE of at most 255 bytes each, not '%s'", text);
    if (hello->label_count == WP_LABELS)
        return wp_error_set(err, -EINVAL, "more than %u labels", WP_LABELS);
    struct wp_label *label = &hello->labels[hello->label_count];
    label->key = strndup(text, (size_t)(equals - text));
    label->value = strdup(equals + 1);
    if (!label->key || !label->value) {
        free(label->key);
        free(label->value);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    hello->label_count++;
    return 0;
}
