/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The same programs for kernels without the variable __preempt_count (x86: Linux 6.2 to 6.14; others have none): libbpf
 * looks for what is not in the kernel's BTF in that of all modules, and may not without CAP_SYS_ADMIN.
 */
#define WP_UNCOUNTED
#include "wakepath.bpf.c"
