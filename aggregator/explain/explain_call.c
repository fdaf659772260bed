/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_call.h"

bool wp_wait_is_sending(const struct wp_slice *slice)
{
    switch (slice->syscall - 1) { /* write, writev, sendfile, sendto, sendmsg, splice, sendmmsg */
    case 1:
    case 20:
    case 40:
    case 44:
    case 46:
    case 275:
    case 307:
        return true;
    default:
        return false;
    }
}

bool wp_wait_is_choosing(const struct wp_slice *slice)
{
    switch (
        slice->syscall - 1) { /* poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, io_uring_enter, epoll_pwait2 */
    case 7:
    case 23:
    case 232:
    case 270:
    case 271:
    case 281:
    case 426:
    case 441:
        return true;
    default:
        return false;
    }
}

bool wp_wait_is_for_child(const struct wp_slice *slice)
{
    return slice->syscall == 61 + 1 || slice->syscall == 247 + 1; /* wait4, waitid */
}

bool wp_wait_is_for_outcome(const struct wp_slice *slice)
{
    switch (slice->syscall - 1) { /* connect, fcntl, flock */
    case 42:
    case 72:
    case 73:
        return true;
    default:
        return slice->state == WP_STATE_UNINTERRUPTIBLE || wp_wait_is_sending(slice) || wp_wait_is_for_child(slice);
    }
}
