/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_KERNEL_BTF_H
#define WP_COLLECTOR_LIVE_KERNEL_BTF_H
/*
 * The types that the running kernel describes itself with (BTF, Documentation/bpf/btf.rst), by name and by number,
 * where they lie: kernels from 6.16 on let their BTF be mapped. libbpf copies all of it, and looks a name up by going
 * through all types, a hundred thousand; a start asks for a hundred names.
 */
#include <bpf/btf.h>
#include <stdint.h>

struct wp_kernel_btf;

/* Of the file at `path`, /sys/kernel/btf/vmlinux. -errno of opening and reading it; -EINVAL: it is no BTF, or has a
 * kind of type that is not known here; -ENOMEM. */
int wp_kernel_btf_create(struct wp_kernel_btf **types, const char *path);
/* NULL is allowed. */
void wp_kernel_btf_destroy(struct wp_kernel_btf *types);
/* The number of the first type with that name and kind (BTF_KIND_*); 0: there is none. */
uint32_t wp_kernel_btf_find(const struct wp_kernel_btf *types, const char *name, uint32_t kind);
/* The next type with that one's name and kind; 0: there is none. */
uint32_t wp_kernel_btf_next(const struct wp_kernel_btf *types, uint32_t id);
/* All numbers of types are below. */
uint32_t wp_kernel_btf_count(const struct wp_kernel_btf *types);
/* The type with that number, with all that follows it (members, values, parameters); of none, one of BTF_KIND_UNKN
 * without any. Never NULL; borrowed. */
const struct btf_type *wp_kernel_btf_type(const struct wp_kernel_btf *types, uint32_t id);
/* The text at `offset` (name_off), "" past the last. Never NULL; borrowed. */
const char *wp_kernel_btf_text(const struct wp_kernel_btf *types, uint32_t offset);

#endif
