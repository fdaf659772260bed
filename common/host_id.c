/* SPDX-License-Identifier: Apache-2.0 */
#include "common/host_id.h"

#include "common/path.h"

#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

void wp_host_id(uint8_t host[16], const char *hostname, const char *part)
{
    static const uuid_t wakepath = {
        0x5d, 0x2f, 0x1c, 0x8e, 0x63, 0x0b, 0x4e, 0x5a, 0x9c, 0x41, 0x77, 0x8a, 0x1d, 0x90, 0x33, 0xe2};
    struct wp_buffer text = {0};
    char id[64] = "", name[512];
    if (!wp_file_read("/etc/machine-id", 4096, &text, NULL) && text.size)
        snprintf(id, sizeof(id), "%.*s", (int)strcspn((const char *)text.data, "\n"), (const char *)text.data);
    wp_buffer_fini(&text);
    int size = snprintf(
        name, sizeof(name), "%.255s%s%.200s", strlen(id) == 32 ? id : hostname, part ? " " : "", part ? part : "");
    uuid_generate_sha1(host, wakepath, name, (size_t)size);
}
