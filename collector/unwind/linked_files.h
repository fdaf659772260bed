/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_LINKED_FILES_H
#define WP_COLLECTOR_UNWIND_LINKED_FILES_H
/*
 * The files whose code a program has when it starts: its own and those of the libraries that it is linked with, found
 * as ld.so(8) finds them without variables (DT_RPATH and DT_RUNPATH with $ORIGIN, /etc/ld.so.cache, the usual folders);
 * of a script its interpreter's. What is loaded later (dlopen) is not among them. A file that cannot be read, or is
 * none of ours, ends its branch.
 */

/* `path` is valid during the call. At most 256 files. */
void wp_linked_files(const char *program, void (*take)(void *context, const char *path), void *context);

#endif
