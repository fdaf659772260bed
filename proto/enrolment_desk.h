/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_ENROLMENT_DESK_H
#define WP_PROTO_ENROLMENT_DESK_H
/* The aggregator's end of an enrolment (proto/enrolment.h): it judges requests and writes who may. */
#include "common/error.h"
#include "common/log.h"

struct wp_enrolment_desk;

/* Where requests come in and what they are judged by. All texts are borrowed until close. */
struct wp_enrolment_desk_options {
    const char *endpoint;           /* tcp:// */
    const char *key_path;           /* the aggregator's NAME.key */
    const char *token_path;         /* each line's token is good; read at each request */
    const char *allow_path;         /* the allowlist's folder */
    const struct wp_logger *logger; /* borrowed */
};

/* Reads allowlist, token and key, then binds. -EINVAL: the endpoint is not tcp://, or one of these is bad; -EPERM:
 * others may read the key or token; else as wp_endpoint_bind. */
int wp_enrolment_desk_open(
    struct wp_enrolment_desk **desk, const struct wp_enrolment_desk_options *options, struct wp_error *err);
/* Answers what comes until `stop_fd` can be read. */
int wp_enrolment_desk_serve(struct wp_enrolment_desk *desk, int stop_fd, struct wp_error *err);
/* Answers that were not sent yet are dropped. NULL is allowed. */
void wp_enrolment_desk_close(struct wp_enrolment_desk *desk);

#endif
