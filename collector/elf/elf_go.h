/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_ELF_GO_H
#define WP_COLLECTOR_ELF_ELF_GO_H
/*
 * Functions of a Go program without a symbol table (`go build -ldflags=-s`, strip), and their frames: the table by
 * which Go's runtime finds both stays in it, in .gopclntab. Layouts of Go 1.2, 1.16, 1.18 and 1.20, which later ones
 * keep (src/internal/abi/symtab.go, src/debug/gosym/pclntab.go of Go).
 */
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Calls `add` for each; addresses as the file says them. The answer of `add` that was not 0, else 0, also when there is
 * no table or one that contradicts itself: what comes before the contradiction counts. */
int wp_elf_go_functions(
    Elf *elf, int (*add)(void *context, uint64_t address, uint64_t size, const char *name), void *context);

/* Is it a Go program at all? */
bool wp_elf_go_has(Elf *elf);
/* Whether addresses are sure: where Go is linked with C into code that may be anywhere, the table does not say where
 * Go's begins. */
bool wp_elf_go_is_placed(Elf *elf);
/* Calls `add` for each range of those functions that are wanted: from the address on, until the next, the caller's
 * frame is at sp + frame; -1: unknown. Nothing when addresses are not sure. Answers as above. */
int wp_elf_go_frames(Elf *elf, bool (*wants)(void *context, uint64_t address),
    int (*add)(void *context, uint64_t address, int64_t frame), void *context);

#endif
