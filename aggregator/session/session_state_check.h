/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_SESSION_STATE_CHECK_H
#define WP_AGGREGATOR_SESSION_SESSION_STATE_CHECK_H
/*
 * Whether a checkpoint can be what an aggregator wrote: its rows are there, its values are of their kinds, its times in
 * order. A file that was written whole and with garbage passes its checksum; what is read from it indexes and is
 * subtracted from.
 */
#include "common/error.h"
#include "proto/resume.pb-c.h"

struct wp_host_session;

/* Before anything is taken from it, by the session's dictionary. -EBADMSG, and `err` says what is wrong. */
int wp_session_state_check(
    const struct wp_host_session *session, const Wakepath__Resume__Checkpoint *m, struct wp_error *err);

#endif
