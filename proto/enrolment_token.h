/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_ENROLMENT_TOKEN_H
#define WP_PROTO_ENROLMENT_TOKEN_H
/* The tokens by which hosts enrol (proto/enrolment.h), in a file of lines. */
#include "common/error.h"

#define WP_TOKEN_LEAST 32u
#define WP_TOKEN_ROOM 129u /* 32 to 128 characters and a terminator */

/* The first token of a file of lines; '#' begins a comment. The file is as secret as a key. */
int wp_token_read(const char *path, char token[WP_TOKEN_ROOM], struct wp_error *err);

/* Each token of a file, until the call returns other than 0. 0, or -errno: the file, or the call. */
typedef int wp_token_call(void *context, const char *token);
/* `token` is valid during the call; the text is wiped from memory afterwards. -EINVAL: a line is not a token, or there
 * is none; -EPERM as wp_secret_read. */
int wp_token_each(const char *path, wp_token_call *call, void *context, struct wp_error *err);

#endif
