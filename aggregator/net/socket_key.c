/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/socket_key.h"

#include <string.h>
#include <sys/socket.h>

static bool is_mapped(const uint8_t *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return !memcmp(address, mapped, sizeof(mapped));
}

struct wp_intkey wp_socket_key(const struct wp_socket_entry *entry, bool mirrored, uint32_t netns)
{
    uint8_t bytes[40] = {0};
    const uint8_t *ends[2] = {mirrored ? entry->remote : entry->local, mirrored ? entry->local : entry->remote};
    for (int i = 0; i < 2; i++) {
        bool is_v4 = entry->family == AF_INET || is_mapped(ends[i]);
        const uint8_t *from = is_v4 && entry->family != AF_INET ? ends[i] + 12 : ends[i];
        memcpy(bytes + 16 * i, from, is_v4 ? 4 : 16);
    }
    uint16_t ports[2] = {
        mirrored ? entry->remote_port : entry->local_port, mirrored ? entry->local_port : entry->remote_port};
    memcpy(bytes + 32, ports, 4);
    uint64_t h[2] = {0xcbf29ce484222325u ^ netns, 0x84222325cbf29ce4u + entry->protocol};
    for (size_t i = 0; i < sizeof(bytes); i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        for (int j = 0; j < 2; j++) {
            h[j] = (h[j] ^ word) * (0x9e3779b97f4a7c15u + 2 * (uint64_t)j);
            h[j] ^= h[j] >> 31;
        }
    }
    return (struct wp_intkey){h[0], h[1]};
}

bool wp_socket_is_loopback(const struct wp_socket_entry *entry)
{
    static const uint8_t one[16] = {[15] = 1};
    if (entry->family == AF_INET)
        return entry->remote[0] == 127;
    return is_mapped(entry->remote) ? entry->remote[12] == 127 : !memcmp(entry->remote, one, 16);
}
