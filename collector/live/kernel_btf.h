/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_KERNEL_BTF_H
#define WP_COLLECTOR_LIVE_KERNEL_BTF_H
/*
 * The types that the running kernel describes itself with (BTF), by name. libbpf looks a name up by going through all
 * of them, a hundred thousand; a start asks for a hundred names.
 */
#include <stdint.h>

struct btf;
struct wp_kernel_btf;

/* Reads /sys/kernel/btf/vmlinux. -ENOENT: the kernel describes itself nowhere; -ENOMEM. */
int wp_kernel_btf_create(struct wp_kernel_btf **types);
/* NULL is allowed. */
void wp_kernel_btf_destroy(struct wp_kernel_btf *types);
/* The number of the first type with that name and kind (BTF_KIND_*); 0: there is none. */
uint32_t wp_kernel_btf_find(const struct wp_kernel_btf *types, const char *name, uint32_t kind);
/* For libbpf's own questions; borrowed. */
const struct btf *wp_kernel_btf_all(const struct wp_kernel_btf *types);

#endif
