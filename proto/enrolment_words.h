/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_ENROLMENT_WORDS_H
#define WP_PROTO_ENROLMENT_WORDS_H
/* What both ends of an enrolment (proto/enrolment.h) share: the layout of a request, and the tokens of a file. */
#include "proto/enrolment.h"

#define WP_TOKEN_LEAST 32u
#define WP_ENROLMENT_WORD "WPENROL1"
#define WP_ENROLMENT_WORD_BYTES 8u
#define WP_ENROLMENT_HEAD (WP_ENROLMENT_WORD_BYTES + 16u)
#define WP_ENROLMENT_REQUEST (WP_ENROLMENT_HEAD + WP_TOKEN_ROOM)

/* Each token of a file, until the call returns other than 0. 0, or -errno: the file, or the call. */
typedef int wp_token_call(void *context, const char *token);
int wp_token_each(const char *path, wp_token_call *call, void *context, struct wp_error *err);

#endif
