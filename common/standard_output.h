/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_STANDARD_OUTPUT_H
#define WP_COMMON_STANDARD_OUTPUT_H
/* What a program prints reaches its reader, or its exit status says that it did not. */
#include <stdio.h>

/*
 * For main(), before anything is printed: at exit what waits in stdout is written, and a program whose output was not
 * written (a full disk) says so on stderr and ends with WP_EXIT_FAILURE, whatever its status was. This holds for
 * --help and --version, too, after which argp ends the program. One thread.
 */
void wp_standard_output_check_at_exit(void);
/* What could not be written is dropped, and so is the mark of it: for who has told the error, or has no reader any
 * more, so that the check at exit does not tell it again. One thread. */
void wp_standard_output_drop(FILE *out);

#endif
