/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The same programs for kernels without the functions that wakepath.bpf.c calls: to learn that one is not there, libbpf
 * asks for the BTF of all modules, and may not without CAP_SYS_ADMIN.
 */
#define WP_PLAIN
#include "wakepath.bpf.c"
