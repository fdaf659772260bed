/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Both wakepath_plain.bpf.c and wakepath_uncounted.bpf.c: neither the functions nor the variable. */
#define WP_PLAIN
#define WP_UNCOUNTED
#include "wakepath.bpf.c"
