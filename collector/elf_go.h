/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_GO_H
#define WP_COLLECTOR_ELF_GO_H
/*
 * Functions of a Go program without a symbol table (`go build -ldflags=-s`, strip): the table by which Go's runtime finds functions
 * stays in it, in .gopclntab. Layouts of Go 1.2, 1.16, 1.18 and 1.20, which later ones keep (src/internal/abi/symtab.go,
 * src/debug/gosym/pclntab.go of Go).
 */
#include "collector/elf_file.h"

/* Calls `add` for each; addresses as the file says them. The answer of `add` that was not 0, else 0, also when there is no table or
 * one that contradicts itself: what comes before the contradiction counts. */
int wp_elf_go_read(const struct wp_elf_file *file, int (*add)(void *context, uint64_t address, uint64_t size, const char *name),
    void *context);

#endif
