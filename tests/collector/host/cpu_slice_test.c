/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/cpu_slice.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#define SLICE 24u /* where struct sched_attr has it */

static uint64_t slice_ns(void)
{
    uint64_t words[16] = {0};
    assert_int_equal(syscall(SYS_sched_getattr, 0, words, sizeof(words), 0), 0);
    return words[SLICE / sizeof(words[0])];
}

static void others_keep_what_they_have(void **state)
{
    (void)state;
    struct utsname name;
    unsigned major = 0, minor = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}), 0);
    wp_cpu_slice_shorten();
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice);
    assert_int_equal(uname(&name), 0);
    assert_int_equal(sscanf(name.release, "%u.%u", &major, &minor), 2);
    if (major > 6 || (major == 6 && minor >= 12))
        assert_int_equal(slice_ns(), 100000);
    wp_cpu_slice_yield();
}

static void an_idle_one_stays_idle(void **state)
{
    (void)state;
    assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}), 0);
    wp_cpu_slice_shorten();
    assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_keep_what_they_have), cmocka_unit_test(an_idle_one_stays_idle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
