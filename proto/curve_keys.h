/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_CURVE_KEYS_H
#define WP_PROTO_CURVE_KEYS_H
/*
 * CURVE key pairs (ZeroMQ RFC 26; Curve25519) and their files, which are text. NAME.key has the secret half and is for
 * its owner alone; NAME.pub is a line of an allowlist (proto/allowlist.h): public key, the host that the key speaks for
 * (or `shard`), a name.
 */
#include "common/error.h"
#include "common/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_KEY_TEXT 41u /* 32 bytes in Z85 (ZeroMQ RFC 32) and a terminator */
#define WP_KEY_BYTES 32u
#define WP_HOST_TEXT 37u /* a UUID as text */

/* Both halves as Z85 text, each ends with 0. */
struct wp_key_pair {
    char public_key[WP_KEY_TEXT], secret_key[WP_KEY_TEXT];
};

/* Who a key speaks for. */
enum wp_key_host {
    WP_KEY_OF_NONE,
    WP_KEY_OF_HOST,
    WP_KEY_OF_ANY,
    WP_KEY_OF_SHARD /* another aggregator: for no host */
};

/* A public key and what it may do: a line of an allowlist. */
struct wp_public_key {
    char text[WP_KEY_TEXT];
    uint8_t bytes[WP_KEY_BYTES];
    enum wp_key_host kind;
    uint8_t host[16];      /* of WP_KEY_OF_HOST */
    char name[WP_ID_ROOM]; /* as wp_id_valid has it; "" when the line has none */
};

/* -ENOTSUP when this libzmq has no CURVE. */
int wp_key_pair_make(struct wp_key_pair *pair, struct wp_error *err);
void wp_key_pair_forget(struct wp_key_pair *pair); /* wipes it */

/* Where a key pair is written, and for whom. */
struct wp_key_files {
    const char *dir, *name; /* DIR/NAME.key, DIR/NAME.pub; the folder is made (0700) when it is missing */
    enum wp_key_host kind;
    const uint8_t *host; /* of WP_KEY_OF_HOST */
    bool may_replace;    /* else -EEXIST when either file is there */
};
/* Writes the secret file (0600), then the public one, and syncs the folder. -EINVAL: not a valid name; -ENAMETOOLONG;
 * -EEXIST; -EISDIR. On error neither is there, or with may_replace both are as they were; both are new where only the
 * folder could not be synced. */
int wp_key_files_write(const struct wp_key_files *files, const struct wp_key_pair *pair, struct wp_error *err);
/* Reads a NAME.key. -EPERM when others than its owner can get at it; the text then says what to do. */
int wp_key_pair_read(struct wp_key_pair *pair, const char *path, struct wp_error *err);
/* What the text of a file with a secret is, 0 at its end: of less than `room` bytes, and with a mode as above. */
int wp_secret_read(const char *path, char *text, size_t room, struct wp_error *err);
/* Reads the one key of a NAME.pub. */
int wp_public_key_read(struct wp_public_key *key, const char *path, struct wp_error *err);
/* One line of `size` bytes: 1 and *key, 0 when it is empty or a comment, -EINVAL. A comment begins with '#': no key
 * does, for 84 * 85^4 is more than the 32 bits that five characters of Z85 stand for. */
int wp_public_key_parse(struct wp_public_key *key, const char *line, size_t size, struct wp_error *err);

/* "xxxxxxxx-xxxx-...", with or without the hyphens. -EINVAL. */
int wp_host_parse(uint8_t host[16], const char *text, struct wp_error *err);
/* The UUID in lower case with hyphens, 0 at its end. */
void wp_host_format(const uint8_t host[16], char text[WP_HOST_TEXT]);

#endif
