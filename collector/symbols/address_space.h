/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_ADDRESS_SPACE_H
#define WP_COLLECTOR_SYMBOLS_ADDRESS_SPACE_H
/*
 * What code is mapped where in each process, now. The caller feeds it in order of time; a process that existed before
 * is read from /proc. Objects (a file and its build id) are distinguished once and have dense numbers from 0.
 */
#include "collector/host/mapped_file.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_address_spaces;

/* A range of a process' addresses that shows a part of an object. */
struct wp_mapping {
    uint64_t start, end, file_offset; /* of `start` in the object */
    uint32_t object;
    uint32_t maker, maker_program; /* the process that mapped it, itself or before a fork, and its program (a number) */
};

/* What can be mapped: a file with its build id, or memory. The address spaces own its texts. */
struct wp_object {
    const char *path; /* a file, "[vdso]", or "[jit]" for memory that is no file's */
    uint8_t build_id[20];
    uint32_t build_id_size; /* 0: unknown */
    uint64_t inode;         /* of a file without a build id that was seen in /proc; 0: unknown */
};

/* Without any process. NULL: out of memory. */
struct wp_address_spaces *wp_address_spaces_create(void);
/* Frees all processes and objects with what was returned of them. NULL is allowed. */
void wp_address_spaces_destroy(struct wp_address_spaces *spaces);

/* What was mapped there before is gone. -ENOMEM; -E2BIG past 65536 mappings: the new one is left out. */
int wp_address_spaces_map(struct wp_address_spaces *spaces, const struct wp_mapped_file *file);
/* Everything that was mapped is gone. */
int wp_address_spaces_exec(struct wp_address_spaces *spaces, uint32_t pid);
/* The child begins with what its parent has. */
int wp_address_spaces_fork(struct wp_address_spaces *spaces, uint32_t parent, uint32_t child);
/* The process is gone: forgets its mappings, but no object. An unknown process is ignored. */
void wp_address_spaces_exit(struct wp_address_spaces *spaces, uint32_t pid);
/* Takes what /proc/PID/maps says instead of what is known. Memory that is no file's and that the parent has at the same
 * place is the parent's, who is read too if it is not known. -ENOENT when there is no such process. */
int wp_address_spaces_read(struct wp_address_spaces *spaces, uint32_t pid);

/* Forgets processes that are gone without an exit that was told: those of which `is_there` says so now and has said so
 * at the call before, which is to be longer ago than an exit may be on its way. `gone` is told each. */
void wp_address_spaces_sweep(struct wp_address_spaces *spaces, bool (*is_there)(void *context, uint32_t pid),
    void (*gone)(void *context, uint32_t pid), void *context);
/* Forgets objects that no process has mapped, if they have become many: true, and all objects have other numbers now. A
 * host that compiles maps new ones for ever. */
bool wp_address_spaces_forget_objects(struct wp_address_spaces *spaces);
/* How many objects have numbers, whether a process has them mapped or not. */
uint32_t wp_address_spaces_objects(const struct wp_address_spaces *spaces);

/* Changes whenever an answer of wp_address_spaces_find may have; 0: nothing is known of the process. */
uint32_t wp_address_spaces_generation(const struct wp_address_spaces *spaces, uint32_t pid);
/* The mapping around an address, NULL when it is in none. Valid until the next change. */
const struct wp_mapping *wp_address_spaces_find(const struct wp_address_spaces *spaces, uint32_t pid, uint64_t address);
/* Whom process `pid` has a mapping from: an ancestor that mapped it before a fork and still runs the same program; 0:
 * it mapped it itself, or that ancestor is gone. Of memory that is no file's, which the ancestor's map may name. */
uint32_t wp_address_spaces_maker(
    const struct wp_address_spaces *spaces, uint32_t pid, const struct wp_mapping *mapping);
/* How many there are. */
uint32_t wp_address_spaces_mappings(const struct wp_address_spaces *spaces, uint32_t pid);
/* The mapping of a file called "jit-NUMBER.dump", which is how a process says that it writes one (jit_dump.h); NULL. */
const struct wp_mapping *wp_address_spaces_jit_dump(const struct wp_address_spaces *spaces, uint32_t pid);
/* An object's name; valid until the next call that maps or reads. */
struct wp_object wp_address_spaces_object(const struct wp_address_spaces *spaces, uint32_t object);

#endif
