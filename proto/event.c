/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/event.h"

const char *wp_event_kind_name(unsigned kind)
{
    static const char *const names[WP_EVENT_KINDS] = {[WP_EVENT_SWITCH] = "switch",
        [WP_EVENT_WAKING] = "waking",
        [WP_EVENT_FORK] = "fork",
        [WP_EVENT_EXEC] = "exec",
        [WP_EVENT_EXIT] = "exit",
        [WP_EVENT_RENAME] = "rename",
        [WP_EVENT_STATE] = "state",
        [WP_EVENT_BLOCK_INSERT] = "block_insert",
        [WP_EVENT_BLOCK_ISSUE] = "block_issue",
        [WP_EVENT_BLOCK_COMPLETE] = "block_complete",
        [WP_EVENT_SOCK_SEND] = "sock_send",
        [WP_EVENT_SOCK_ARRIVE] = "sock_arrive",
        [WP_EVENT_SOCK_RECV] = "sock_recv",
        [WP_EVENT_SOCK_STATE] = "sock_state",
        [WP_EVENT_SOCK_RETRANSMIT] = "sock_retransmit",
        [WP_EVENT_SAMPLE] = "sample",
        [WP_EVENT_SOCK_LEAVE] = "sock_leave",
        [WP_EVENT_WINDOW] = "window",
        [WP_EVENT_LOCAL] = "local",
        [WP_EVENT_REASON] = "reason"};
    return kind < WP_EVENT_KINDS && names[kind] ? names[kind] : "unknown";
}
