/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_ERROR_H
#define WP_COMMON_ERROR_H
/*
 * An error is a stack of causes: the innermost says what went wrong, each outer one what was being done. Functions
 * return 0 or -errno and, when they take a `struct wp_error *`, fill it; NULL is allowed and means "do not care".
 * The struct has a fixed size, owns nothing and may live on the stack. Not thread safe: one struct a thread.
 */
#include <stddef.h>

#define WP_ERROR_TEXT 1024

struct wp_error {
    int code;                 /* -errno of the innermost cause, 0: none */
    char text[WP_ERROR_TEXT]; /* "outermost: ...: innermost", always terminated */
};

/* Starts an error afresh. Returns `code` (a negative errno), so that `return wp_error_set(err, -EINVAL, "...")` reads
 * well. */
int wp_error_set(struct wp_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* As wp_error_set, and ends the text with strerror(-code). */
int wp_error_errno(struct wp_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts "format: " before what is there. Returns `code`. */
int wp_error_wrap(struct wp_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__ /* what it cannot see from here: they return the rc that they are given */
#define wp_error_set(err, rc, ...) ((void)(wp_error_set)(err, rc, __VA_ARGS__), (rc))
#define wp_error_errno(err, rc, ...) ((void)(wp_error_errno)(err, rc, __VA_ARGS__), (rc) ? (rc) : -1)
#endif

#endif
