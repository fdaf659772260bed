/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/new_connections.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/ask_counts.h"
#include "reporter/facts/stack_text.h"
#include "reporter/causes/own_requests.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 20u /* connections, and requests */
#define SURE 100u
#define LEAST_TENTHS 8u     /* connections for ten requests */
#define HANDSHAKE_SHARE 50u /* less than this part of the total is not told */

static bool is_handshake(const char *name)
{
    static const char *const names[] = {"SSL_do_handshake", "SSL_connect", "SSL_accept", "ngx_ssl_handshake",
        "gnutls_handshake", "mbedtls_ssl_handshake", "crypto/tls.(*Conn).HandshakeContext",
        "crypto/tls.(*Conn).Handshake", "crypto/tls.(*Conn).clientHandshake", "crypto/tls.(*Conn).serverHandshake",
        "_ssl__SSLSocket_do_handshake", "SSLSocket.do_handshake", "php_openssl_enable_crypto",
        "sun.security.ssl.SSLSocketImpl.startHandshake", "rustls::conn::ConnectionCommon<T>::complete_io",
        "ossl_statem_connect", "ossl_statem_accept", "state_machine.part.0"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

struct handshakes {
    uint64_t ns;
    uint32_t frame; /* the function with most of it, 0 none */
};

/* Time in TLS handshakes, of who is waited for, too. */
static struct handshakes find_handshakes(struct wp_facts *facts)
{
    const struct wp_flame *flame = &facts->flame;
    struct handshakes found = {0};
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    uint32_t *outermost = calloc(flame->count + 1u, sizeof(*outermost));
    uint64_t *by_frame = calloc(frames + 1u, sizeof(*by_frame));
    for (uint32_t i = 1; outermost && by_frame && i < flame->count; i++) { /* parents come first */
        uint32_t above = outermost[flame->nodes[i].parent], frame = flame->nodes[i].frame;
        outermost[i] = above ? above : frame < frames && is_handshake(wp_facts_frame_name(facts, frame)) ? frame : 0;
    }
    for (uint32_t i = 0; outermost && by_frame && i < flame->cell_count; i++) {
        uint32_t frame = outermost[flame->cells[i].node];
        if (!frame)
            continue;
        found.ns += flame->cells[i].ns;
        by_frame[frame] += flame->cells[i].ns;
        found.frame = by_frame[frame] > by_frame[found.frame] ? frame : found.frame;
    }
    facts->pool.failed |= !outermost || !by_frame;
    free(outermost);
    free(by_frame);
    return found;
}

static const char *handshake_text(struct wp_facts *facts)
{
    struct wp_pool *pool = &facts->pool;
    struct handshakes handshakes = find_handshakes(facts);
    if (!handshakes.frame || handshakes.ns < facts->total_ns / HANDSHAKE_SHARE)
        return "";
    return wp_pool_printf(pool, ", with TLS handshakes that take %s (%s) in `%s`",
        wp_human_duration(pool, handshakes.ns), wp_human_share(pool, handshakes.ns, facts->total_ns),
        wp_stack_plain_function(pool, wp_facts_frame_name(facts, handshakes.frame)));
}

static bool opens_for_each(const struct wp_ask_fact *ask, const struct wp_own_requests *served)
{
    return ask->opens >= LEAST && served->count >= LEAST && ask->opens * 10 >= served->count * LEAST_TENTHS;
}

bool wp_new_connections(struct wp_facts *facts, uint32_t process, const char *peer, struct wp_pattern *pattern)
{
    struct wp_pool *pool = &facts->pool;
    const struct wp_ask_fact *ask = wp_ask_counts_of(facts, process, peer);
    if (!ask || ask->opens < LEAST)
        return false;
    struct wp_own_requests served = wp_own_requests_of(facts, process);
    if (!opens_for_each(ask, &served))
        return false;
    uint64_t each = (ask->opens + served.count / 2) / served.count;
    pattern->sure = ask->opens >= SURE ? WP_SURETY_LIKELY : WP_SURETY_POSSIBLE;
    pattern->evidence = wp_pool_printf(pool,
        "it opens %s to %s for each request on %s (%s for %s)%s; a pool, or keep-alive, keeps them open",
        each > 1 ? wp_human_many(pool, each, "connection") : "a connection", wp_pool_clip(pool, peer, 80),
        wp_pool_clip(pool, served.service, 60), wp_human_count(pool, ask->opens), wp_human_count(pool, served.count),
        handshake_text(facts));
    return true;
}

uint64_t wp_new_connections_handshake_ns(struct wp_facts *facts)
{
    return find_handshakes(facts).ns;
}
