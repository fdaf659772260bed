/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions around a futex say, the innermost first. */
#include "common/lock_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum wp_lock_call call_of(const char *const *functions)
{
    enum wp_lock_call found = WP_LOCK_CALL_UNKNOWN;
    while (*functions && !wp_lock_call_add(&found, *functions))
        functions++;
    return found;
}

static void innermost_decides(void **state)
{
    (void)state;
    assert_int_equal(call_of((const char *[]){"__lll_lock_wait", "serve", NULL}), WP_LOCK_CALL_LOCK);
    assert_int_equal(call_of((const char *[]){"___pthread_rwlock_wrlock", NULL}), WP_LOCK_CALL_RWLOCK);
    assert_int_equal(call_of((const char *[]){"os::park", "ObjectMonitor::enter", NULL}), WP_LOCK_CALL_LOCK);
    assert_int_equal(
        call_of((const char *[]){"___pthread_cond_wait", "acquire_lock_queue", NULL}), WP_LOCK_CALL_CONDITION);
    assert_int_equal(call_of((const char *[]){"__pthread_clockjoin_ex", "mutex_lock", NULL}), WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"runtime.futex", "runtime.notesleep", NULL}), WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"runtime.notetsleep_internal", NULL}), WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"syscall", "serve", NULL}), WP_LOCK_CALL_UNKNOWN);
}

static void semaphore_may_be_a_lock(void **state)
{
    (void)state;
    assert_int_equal(call_of((const char *[]){"__new_sem_wait", "take_connection", NULL}), WP_LOCK_CALL_SEMAPHORE);
    assert_int_equal(
        call_of((const char *[]){"sem_clockwait", "PyThread_acquire_lock_timed", NULL}), WP_LOCK_CALL_INTERPRETER);
    assert_int_equal(call_of((const char *[]){"sem_wait", "pthread_cond_wait", NULL}), WP_LOCK_CALL_SEMAPHORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(innermost_decides),
        cmocka_unit_test(semaphore_may_be_a_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
