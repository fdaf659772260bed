/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CODE_RANK_H
#define WP_COMMON_CODE_RANK_H
/*
 * How near to the program a function is, by its name and the object file that it lies in. Of code that an interpreter
 * runs the object is its source file.
 */
#include <stdbool.h>

/* 0 no function, 1 libc, runtime or interpreter, 2 another library, 3 the program's own. For any thread. */
unsigned wp_code_rank(const char *name, const char *object);
/* The same of a source file. 0: it is none; 1: the language's own, 2: a package that was installed, 3: any other. */
unsigned wp_code_rank_of_source(const char *object);
/* Files of the C library, of what languages need beneath them, and of interpreters; `base` without its folder. */
bool wp_code_rank_is_runtime(const char *base);
/* Of a script's interpreter: which of its own functions runs the program's says nothing. */
bool wp_code_rank_is_interpreter(const char *base);

#endif
