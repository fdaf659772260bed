/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_ENROLMENT_WORDS_H
#define WP_PROTO_ENROLMENT_WORDS_H
/* The layout of a request to enrol (proto/enrolment.h), which both ends share. */
#include "proto/enrolment_token.h"

#define WP_ENROLMENT_WORD "WPENROL1"
#define WP_ENROLMENT_WORD_BYTES 8u
#define WP_ENROLMENT_HEAD (WP_ENROLMENT_WORD_BYTES + 16u)
#define WP_ENROLMENT_REQUEST (WP_ENROLMENT_HEAD + WP_TOKEN_ROOM)

#endif
