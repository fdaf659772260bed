/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The same programs for kernels without the function that wakepath.bpf.c reads addresses with. */
#define WP_PLAIN
#include "wakepath.bpf.c"
