/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_GVL_CODE_H
#define WP_COLLECTOR_ELF_GVL_CODE_H
/*
 * Where CRuby waits for its lock (the GVL), in a libruby that names only what it exports, as Debian's. Waits with a
 * timeout, which are those of its only waiter, have the same named callers as sleeps on purpose (gvl_acquire_common()
 * and native_cond_sleep(), thread_pthread.c of CRuby 3.1). The function that takes the lock is the one that
 * rb_thread_call_with_gvl() calls and that waits on a condition. Of x86-64.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_gvl_search {
    const uint8_t *code; /* of a section, which begins at that address */
    size_t size;
    uint64_t address;
    uint64_t caller, caller_size; /* rb_thread_call_with_gvl() */
    uint64_t waits[2];            /* rb_native_cond_wait() and its stub; 0: there is none */
};

/* The function's address and size in bytes; false: there is no such function. The code is hostile. */
bool wp_gvl_code_find(const struct wp_gvl_search *search, uint64_t *address, size_t *size);
/* As that, of the only function of its section that the caller goes on in or calls. Since CRuby 3.3 threads wait for
 * the lock and sleep in one function, but rb_thread_check_ints() goes on in the one in which a thread yields. */
bool wp_gvl_code_yield(const struct wp_gvl_search *search, uint64_t *address, size_t *size);

#endif
