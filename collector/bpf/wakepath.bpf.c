/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Every program of the collector; which of them are loaded is decided by what the running kernel has. */
#include "block.h"
#include "cause.h"
#include "leave.h"
#include "sched.h"
#include "sock.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
