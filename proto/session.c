/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/session.h"

#include "common/clock.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 256u
#define MESSAGE_BYTES 65536u
#define UPTIME_NS ((uint64_t)100 * 366 * 86400 * WP_NS_PER_S)

static int bad(struct wp_error *err, const char *message, const char *what)
{
    return wp_error_set(err, -EINVAL, "bad %s: %s", message, what);
}

static char *text_or_empty(const char *text)
{
    return (char *)(text ? text : "");
}

bool wp_session_is_named(const uint8_t id[16])
{
    static const uint8_t none[16];
    return memcmp(id, none, 16) != 0;
}

static ProtobufCBinaryData id_or_empty(const uint8_t id[16])
{
    return (ProtobufCBinaryData){wp_session_is_named(id) ? 16 : 0, (uint8_t *)(uintptr_t)id};
}

/* What is no id is none: who says it may be newer. */
static void copy_id(uint8_t to[16], const ProtobufCBinaryData *from)
{
    if (from->len == 16)
        memcpy(to, from->data, 16);
}

/* Packs into `out`; the size is known before. */
static int pack(const ProtobufCMessage *message, struct wp_buffer *out, struct wp_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (wp_buffer_reserve(out, size))
        return wp_error_set(err, -ENOMEM, "out of memory for a message");
    out->size += protobuf_c_message_pack(message, out->data + out->size);
    return 0;
}

/* What no peer would take is not sent: its refusal would say less. */
static int check_texts(const struct wp_hello *hello, struct wp_error *err)
{
    const char *const texts[] = {hello->hostname, hello->kernel, hello->machine, hello->boot_id, hello->version,
        hello->source, hello->release, hello->no_samples};
    bool is_long = false;
    if (hello->label_count > WP_LABELS)
        return bad(err, "hello", "too many labels");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        is_long |= texts[i] && strlen(texts[i]) > TEXT_BYTES;
    for (uint32_t i = 0; i < hello->label_count; i++)
        is_long |= strlen(text_or_empty(hello->labels[i].key)) > TEXT_BYTES ||
            strlen(text_or_empty(hello->labels[i].value)) > TEXT_BYTES;
    return is_long ? bad(err, "hello", "a text is too long") : 0;
}

int wp_hello_encode(const struct wp_hello *hello, struct wp_buffer *out, struct wp_error *err)
{
    Wakepath__Wire__Hello m = WAKEPATH__WIRE__HELLO__INIT;
    Wakepath__Wire__Label labels[WP_LABELS], *views[WP_LABELS];
    int rc = check_texts(hello, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < hello->label_count; i++) {
        wakepath__wire__label__init(&labels[i]);
        labels[i].key = text_or_empty(hello->labels[i].key);
        labels[i].value = text_or_empty(hello->labels[i].value);
        views[i] = &labels[i];
    }
    m.wire_major = hello->wire_major;
    m.wire_minor = hello->wire_minor;
    m.host = (ProtobufCBinaryData){16, (uint8_t *)hello->host};
    m.session = (ProtobufCBinaryData){16, (uint8_t *)hello->session};
    m.hostname = text_or_empty(hello->hostname);
    m.kernel = text_or_empty(hello->kernel);
    m.machine = text_or_empty(hello->machine);
    m.boot_id = text_or_empty(hello->boot_id);
    m.version = text_or_empty(hello->version);
    m.source = text_or_empty(hello->source);
    m.release = text_or_empty(hello->release);
    m.cpus = hello->cpus;
    m.start_mono_ns = hello->start_mono_ns;
    m.start_real_ns = hello->start_real_ns;
    m.sample_period_ns = hello->sample_period_ns;
    m.samples = hello->samples;
    m.no_samples = text_or_empty(hello->no_samples);
    m.window_ns = hello->window.length_ns;
    m.window_every_ns = hello->window.every_ns;
    m.continues = id_or_empty(hello->continues);
    m.n_labels = hello->label_count;
    m.labels = views;
    return pack(&m.base, out, err);
}

static int copy_text(char **to, const char *from, struct wp_error *err)
{
    if (strlen(from) > TEXT_BYTES)
        return bad(err, "hello", "a text is too long");
    *to = strdup(from);
    return *to ? 0 : wp_error_set(err, -ENOMEM, "out of memory for a hello");
}

static int copy_texts(struct wp_hello *hello, const Wakepath__Wire__Hello *m, struct wp_error *err)
{
    char **const to[] = {&hello->hostname, &hello->kernel, &hello->machine, &hello->boot_id, &hello->version,
        &hello->source, &hello->release, &hello->no_samples};
    const char *const from[] = {
        m->hostname, m->kernel, m->machine, m->boot_id, m->version, m->source, m->release, m->no_samples};
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof(to) / sizeof(to[0]); i++)
        rc = copy_text(to[i], from[i], err);
    if (!rc && m->n_labels > WP_LABELS)
        return bad(err, "hello", "too many labels");
    for (size_t i = 0; !rc && i < m->n_labels; i++) {
        hello->label_count++;
        rc = copy_text(&hello->labels[i].key, m->labels[i]->key, err);
        if (!rc)
            rc = copy_text(&hello->labels[i].value, m->labels[i]->value, err);
    }
    return rc;
}

int wp_hello_decode(struct wp_hello *hello, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    *hello = (struct wp_hello){0};
    Wakepath__Wire__Hello *m = size > MESSAGE_BYTES ? NULL : wakepath__wire__hello__unpack(NULL, size, bytes);
    if (!m)
        return bad(err, "hello", "not a message");
    int rc = 0;
    if (m->wire_major != WP_WIRE_MAJOR)
        rc = wp_error_set(err, -EPROTONOSUPPORT, "a peer of wire version %u.%u, this side speaks %u.%u", m->wire_major,
            m->wire_minor, WP_WIRE_MAJOR, WP_WIRE_MINOR);
    else if (m->host.len != 16 || m->session.len != 16)
        rc = bad(err, "hello", "no host or no session");
    else if (wp_window_check(&(struct wp_window){m->window_ns, m->window_every_ns}))
        rc = bad(err, "hello", "an invalid window");
    if (!rc) {
        memcpy(hello->host, m->host.data, 16);
        memcpy(hello->session, m->session.data, 16);
        hello->wire_major = m->wire_major;
        hello->wire_minor = m->wire_minor;
        hello->cpus = m->cpus;
        hello->start_mono_ns = m->start_mono_ns;
        hello->start_real_ns = m->start_real_ns;
        hello->sample_period_ns = m->sample_period_ns;
        hello->samples = m->samples > WP_SAMPLES_IMPOSSIBLE ? WP_SAMPLES_UNSAID : m->samples;
        hello->window = (struct wp_window){m->window_ns, m->window_every_ns};
        copy_id(hello->continues, &m->continues);
        rc = copy_texts(hello, m, err);
    }
    wakepath__wire__hello__free_unpacked(m, NULL);
    if (rc)
        wp_hello_fini(hello);
    return rc;
}

int wp_hello_copy(struct wp_hello *to, const struct wp_hello *from)
{
    *to = *from;
    char **const texts[] = {&to->hostname, &to->kernel, &to->machine, &to->boot_id, &to->version, &to->source,
        &to->release, &to->no_samples};
    const char *const old[] = {from->hostname, from->kernel, from->machine, from->boot_id, from->version, from->source,
        from->release, from->no_samples};
    bool has_failed = false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        has_failed = !(*texts[i] = strdup(text_or_empty(old[i]))) || has_failed;
    for (uint32_t i = 0; i < from->label_count; i++) {
        to->labels[i].key = strdup(text_or_empty(from->labels[i].key));
        to->labels[i].value = strdup(text_or_empty(from->labels[i].value));
        has_failed = !to->labels[i].key || !to->labels[i].value || has_failed;
    }
    if (has_failed)
        wp_hello_fini(to);
    return has_failed ? -ENOMEM : 0;
}

int wp_hello_check_clock(const struct wp_hello *hello, uint64_t now_real_ns, struct wp_error *err)
{
    if (hello->start_mono_ns > UPTIME_NS)
        return bad(err, "hello", "a host that has been up for more than a century");
    if (hello->start_real_ns > now_real_ns && hello->start_real_ns - now_real_ns > WP_AHEAD_NS)
        return bad(
            err, "hello", "the host's clock is more than a day ahead of the aggregator's; set one of them right");
    return 0;
}

void wp_hello_fini(struct wp_hello *hello)
{
    free(hello->hostname);
    free(hello->kernel);
    free(hello->machine);
    free(hello->boot_id);
    free(hello->version);
    free(hello->source);
    free(hello->release);
    free(hello->no_samples);
    for (uint32_t i = 0; i < hello->label_count; i++) {
        free(hello->labels[i].key);
        free(hello->labels[i].value);
    }
    *hello = (struct wp_hello){0};
}

int wp_welcome_encode(const struct wp_welcome *welcome, struct wp_buffer *out, struct wp_error *err)
{
    Wakepath__Wire__Welcome m = WAKEPATH__WIRE__WELCOME__INIT;
    m.wire_major = welcome->wire_major;
    m.wire_minor = welcome->wire_minor;
    m.resume_seq = welcome->resume_seq;
    m.credit = welcome->credit;
    m.window_ns = welcome->window.length_ns;
    m.window_every_ns = welcome->window.every_ns;
    return pack(&m.base, out, err);
}

int wp_welcome_decode(struct wp_welcome *welcome, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    Wakepath__Wire__Welcome *m = size > MESSAGE_BYTES ? NULL : wakepath__wire__welcome__unpack(NULL, size, bytes);
    if (!m)
        return bad(err, "welcome", "not a message");
    struct wp_window window = {m->window_ns, m->window_every_ns};
    *welcome = (struct wp_welcome){m->wire_major, m->wire_minor, m->resume_seq, m->credit,
        wp_window_check(&window) ? (struct wp_window){0} : window};
    wakepath__wire__welcome__free_unpacked(m, NULL);
    return 0;
}

int wp_bye_encode(const struct wp_bye *bye, struct wp_buffer *out, struct wp_error *err)
{
    Wakepath__Wire__Bye m = WAKEPATH__WIRE__BYE__INIT;
    m.last_seq = bye->last_seq;
    m.events = bye->events;
    m.dropped = bye->dropped;
    m.successor = id_or_empty(bye->successor);
    return pack(&m.base, out, err);
}

int wp_bye_decode(struct wp_bye *bye, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    Wakepath__Wire__Bye *m = size > MESSAGE_BYTES ? NULL : wakepath__wire__bye__unpack(NULL, size, bytes);
    if (!m)
        return bad(err, "bye", "not a message");
    *bye = (struct wp_bye){.last_seq = m->last_seq, .events = m->events, .dropped = m->dropped};
    copy_id(bye->successor, &m->successor);
    wakepath__wire__bye__free_unpacked(m, NULL);
    return 0;
}
