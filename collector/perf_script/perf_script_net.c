/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define MOST_BYTES (1u << 30) /* of one call; a stream position has 32 bits */

/* --- fields --- */

/* The value of "KEY=" or "KEY = " up to the next space or comma. False: there is no such key. */
static bool field(struct wp_text text, const char *key, struct wp_text *value)
{
    size_t size = wp_text_of(key).size;
    for (size_t from = 0, at; (at = wp_text_find(wp_text_tail(text, from), key)) != WP_TEXT_NONE; from += at + 1) {
        struct wp_text rest = wp_text_trim(wp_text_tail(text, from + at + size));
        bool begins = !(from + at) || text.at[from + at - 1] == ' ' || text.at[from + at - 1] == ',';
        if (!begins || !wp_text_take(&rest, "="))
            continue;
        rest = wp_text_trim(rest);
        *value = wp_text_take_word(&rest);
        *value = wp_text_head(*value, wp_text_find(*value, ","));
        return true;
    }
    return false;
}

/* The first of these keys that is there; the last one is NULL. */
static bool field_of(struct wp_text text, const char *const *keys, struct wp_text *value)
{
    for (; *keys; keys++)
        if (field(text, *keys, value))
            return true;
    return false;
}

/* Decimal, or hexadecimal with "0x"; false for anything else. */
static bool number_of(struct wp_text value, uint64_t *number)
{
    bool is_number =
        wp_text_take(&value, "0x") ? wp_text_take_hex(&value, number) : wp_text_take_number(&value, number);
    return is_number && !value.size;
}

static bool number_at(struct wp_text text, const char *key, uint64_t *number)
{
    struct wp_text value;
    return field(text, key, &value) && number_of(value, number);
}

/* What tells sockets apart: hexadecimal, with or without "0x", or decimal where it is too long for that. 0: neither. */
static uint64_t identity_of(struct wp_text value)
{
    uint64_t number;
    struct wp_text decimal = value;
    wp_text_take(&value, "0x");
    if (wp_text_take_hex(&value, &number) && !value.size)
        return number;
    return wp_text_take_number(&decimal, &number) && !decimal.size ? number : 0;
}

/* --- ends --- */

static bool address_of(struct wp_text value, uint8_t family, uint8_t address[16])
{
    char text[INET6_ADDRSTRLEN];
    if (value.size >= sizeof(text))
        return false;
    wp_text_copy(value, text, sizeof(text));
    return inet_pton(family, text, address) == 1;
}

static bool port_of(struct wp_text value, uint16_t *port)
{
    uint32_t number;
    if (!wp_text_take_u32(&value, UINT16_MAX, &number) || value.size)
        return false;
    *port = (uint16_t)number;
    return true;
}

/* "10.0.0.1:80" or "[::1]:80" */
static bool end_of(struct wp_text value, uint8_t address[16], uint16_t *port, uint8_t *family)
{
    size_t colon = wp_text_rfind(value, ":");
    if (colon == WP_TEXT_NONE)
        return false;
    struct wp_text host = wp_text_head(value, colon);
    *family = AF_INET;
    if (wp_text_take(&host, "[")) {
        if (!wp_text_ends(host, "]"))
            return false;
        host.size--;
        *family = AF_INET6;
    }
    return address_of(host, *family, address) && port_of(wp_text_tail(value, colon + 1), port);
}

static bool ends_together(struct wp_text text, struct wp_socket_entry *entry)
{
    struct wp_text local, remote;
    uint8_t family;
    return field(text, "src", &local) && field(text, "dest", &remote) &&
        end_of(local, entry->local, &entry->local_port, &entry->family) &&
        end_of(remote, entry->remote, &entry->remote_port, &family) && family == entry->family;
}

/* Old kernels do not say it: an address of IPv4 is mapped in saddrv6. */
static uint8_t family_of(struct wp_text text)
{
    struct wp_text value;
    uint64_t number;
    if (!field(text, "family", &value))
        return field(text, "saddrv6", &value) && !wp_text_take(&value, "::ffff:") ? AF_INET6 : AF_INET;
    if (wp_text_is(value, "AF_INET"))
        return AF_INET;
    if (wp_text_is(value, "AF_INET6"))
        return AF_INET6;
    return number_of(value, &number) && (number == AF_INET || number == AF_INET6) ? (uint8_t)number : 0;
}

static bool ends_apart(struct wp_text text, struct wp_socket_entry *entry)
{
    struct wp_text local, remote, local_port, remote_port;
    entry->family = family_of(text);
    bool is_v6 = entry->family == AF_INET6;
    return entry->family && field(text, is_v6 ? "saddrv6" : "saddr", &local) &&
        field(text, is_v6 ? "daddrv6" : "daddr", &remote) && field(text, "sport", &local_port) &&
        field(text, "dport", &remote_port) && address_of(local, entry->family, entry->local) &&
        address_of(remote, entry->family, entry->remote) && port_of(local_port, &entry->local_port) &&
        port_of(remote_port, &entry->remote_port);
}

/* The low bytes of a number first, as the machine had them in memory. */
static bool bytes_at(struct wp_text text, const char *key, uint8_t *bytes, size_t size)
{
    uint64_t number;
    if (!number_at(text, key, &number))
        return false;
    for (size_t i = 0; i < size; i++, number >>= 8)
        bytes[i] = (uint8_t)number;
    return !number;
}

/* Members of struct sock_common (include/net/sock.h): the remote port is in the network's order. */
static bool ends_in_memory(struct wp_text text, struct wp_socket_entry *entry)
{
    uint64_t family = AF_INET, local_port;
    uint8_t remote_port[2];
    if (!number_at(text, "skc_num", &local_port) || local_port > UINT16_MAX ||
        !bytes_at(text, "skc_dport", remote_port, sizeof(remote_port)))
        return false;
    number_at(text, "skc_family", &family);
    entry->family = family == AF_INET6 ? AF_INET6 : AF_INET;
    entry->local_port = (uint16_t)local_port;
    entry->remote_port = (uint16_t)(remote_port[0] << 8 | remote_port[1]);
    if (entry->family == AF_INET)
        return family == AF_INET && bytes_at(text, "skc_rcv_saddr", entry->local, 4) &&
            bytes_at(text, "skc_daddr", entry->remote, 4);
    return bytes_at(text, "skc_v6_rcv_saddr0", entry->local, 8) &&
        bytes_at(text, "skc_v6_rcv_saddr1", entry->local + 8, 8) && bytes_at(text, "skc_v6_daddr0", entry->remote, 8) &&
        bytes_at(text, "skc_v6_daddr1", entry->remote + 8, 8);
}

/* One end may see the connection as IPv6 and the other as IPv4. */
static void unmap(struct wp_socket_entry *entry)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (entry->family != AF_INET6 || memcmp(entry->local, mapped, sizeof(mapped)) ||
        memcmp(entry->remote, mapped, sizeof(mapped)))
        return;
    entry->family = AF_INET;
    memmove(entry->local, entry->local + 12, 4);
    memmove(entry->remote, entry->remote + 12, 4);
    memset(entry->local + 4, 0, 12);
    memset(entry->remote + 4, 0, 12);
}

static void parse_ends(struct wp_text text, struct wp_socket_entry *entry)
{
    bool (*const forms[])(struct wp_text, struct wp_socket_entry *) = {ends_together, ends_apart, ends_in_memory};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct wp_socket_entry found = {0};
        if (!forms[i](text, &found))
            continue;
        unmap(&found);
        *entry = found;
        return;
    }
    entry->family = AF_INET;
}

/* --- the rest --- */

static uint8_t state_at(struct wp_text text, const char *key)
{
    static const char *const names[] = {"TCP_ESTABLISHED", "TCP_SYN_SENT", "TCP_SYN_RECV", "TCP_FIN_WAIT1",
        "TCP_FIN_WAIT2", "TCP_TIME_WAIT", "TCP_CLOSE", "TCP_CLOSE_WAIT", "TCP_LAST_ACK", "TCP_LISTEN", "TCP_CLOSING",
        "TCP_NEW_SYN_RECV"}; /* include/net/tcp_states.h */
    struct wp_text value;
    if (!field(text, key, &value))
        return 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (wp_text_is(value, names[i]))
            return (uint8_t)(i + 1);
    return 0;
}

static uint8_t protocol_at(struct wp_text text)
{
    struct wp_text value;
    uint64_t number;
    if (!field(text, "protocol", &value))
        return 0;
    if (wp_text_is(value, "IPPROTO_TCP"))
        return IPPROTO_TCP;
    if (wp_text_is(value, "IPPROTO_UDP"))
        return IPPROTO_UDP;
    return number_of(value, &number) && (number == IPPROTO_TCP || number == IPPROTO_UDP) ? (uint8_t)number : UINT8_MAX;
}

bool wp_perf_net_parse(struct wp_text text, struct wp_perf_net *net)
{
    static const char *const sockets[] = {"sk", "skaddr", "sk address", NULL};
    static const char *const sizes[] = {"length", "data_len", "size", "bytes", "len", "copied", NULL};
    struct wp_text value;
    uint64_t bytes = 0;
    *net = (struct wp_perf_net){0};
    if (field_of(text, sockets, &value))
        net->sk = identity_of(value);
    if (field(text, "sock_cookie", &value))
        net->cookie = identity_of(value);
    parse_ends(text, &net->entry);
    net->entry.protocol = protocol_at(text);
    if (field_of(text, sizes, &value)) {
        bool has_failed = wp_text_starts(value, "-");
        net->has_bytes = has_failed || number_of(value, &bytes);
        if (net->has_bytes && !has_failed)
            net->bytes = bytes < MOST_BYTES ? (uint32_t)bytes : MOST_BYTES;
    }
    net->old_state = state_at(text, "oldstate");
    net->new_state = state_at(text, "newstate");
    return net->sk || net->cookie || wp_perf_net_has_ends(&net->entry);
}
