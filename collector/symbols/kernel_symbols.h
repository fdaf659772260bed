/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_KERNEL_SYMBOLS_H
#define WP_COLLECTOR_SYMBOLS_KERNEL_SYMBOLS_H
/* The functions of the running kernel and its modules, from a file in the form of /proc/kallsyms. */
#include "common/error.h"

#include <stdint.h>

struct wp_kernel_symbols;

/* The function at an address of the kernel. The symbols own the texts. */
struct wp_kernel_function {
    const char *name;
    const char *module; /* "" the kernel itself, else "[name]" */
    uint64_t offset;    /* from _text (kernel) or from the function (module) */
};

/* -EACCES when the kernel hides its addresses (kernel.kptr_restrict). */
int wp_kernel_symbols_read(struct wp_kernel_symbols **symbols, const char *path, struct wp_error *err);
/* Frees them with all texts that were returned. NULL is allowed. */
void wp_kernel_symbols_destroy(struct wp_kernel_symbols *symbols);
/* -ENOENT when no function is near below the address. Texts are borrowed. */
int wp_kernel_symbols_find(
    const struct wp_kernel_symbols *symbols, uint64_t address, struct wp_kernel_function *function);
/* The lowest address of a function of the kernel or a module with that name; 0: there is none. */
uint64_t wp_kernel_symbols_address(const struct wp_kernel_symbols *symbols, const char *name);

#endif
