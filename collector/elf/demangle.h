/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_DEMANGLE_H
#define WP_COLLECTOR_ELF_DEMANGLE_H
/*
 * Names as the programmer wrote them: C++ (Itanium ABI) and Rust (v0 and legacy), by libiberty. Names are hostile: a
 * short one may unfold to any length, so what comes out is bounded and the unfolding is broken off. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

enum wp_demangled {
    WP_DEMANGLE_PLAIN, /* not mangled, or not well: `out` is as it was */
    WP_DEMANGLE_DONE,
    WP_DEMANGLE_BOMB, /* broken off; what was unfolded by then may be lost memory, so do not ask again of its object */
};

/* Without parameters, return types, a Rust name's hash and what compilers append (".cold"); cut with "..." where `room`
 * or 4 KiB ends. `out` is terminated when the answer is DONE. */
enum wp_demangled wp_demangle(const char *name, char *out, size_t room);

#endif
