/* SPDX-License-Identifier: Apache-2.0 */
/* Where a task of tokio begins in a stack, the outermost function first, and what it is called. */
#include "common/task_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BINARY "/usr/bin/shop"
#define POLL "tokio::runtime::task::harness::Harness<T,S>::poll"

/* Where a task begins, the last one. */
static const char *first_of(const char *const *functions)
{
    struct wp_task_place place = {0};
    const char *found = "";
    for (; *functions; functions++)
        if (wp_task_place_add(&place, *functions, BINARY))
            found = *functions;
    return found;
}

static void begins_at_the_programs_first_function(void **state)
{
    (void)state;
    assert_string_equal(
        first_of((const char *[]){"start_thread", "tokio::runtime::blocking::pool::Inner::run", POLL,
            "tokio::runtime::scheduler::multi_thread::worker::run", POLL, "tokio::runtime::task::core::Core<T,S>::poll",
            "shop::serve::{{closure}}", "shop::price_order", NULL}),
        "shop::serve::{{closure}}");
    assert_string_equal(
        first_of((const char *[]){
            "<tokio::runtime::task::harness::Harness<shop::serve::{closure#0}, alloc::sync::Arc<H>>>::poll",
            "<tracing::instrument::Instrumented<shop::serve::{closure#0}> as core::future::future::Future>::poll",
            "<F as core::future::future::Future>::poll", "<core::pin::Pin<P> as core::future::future::Future>::poll",
            "<&mut F as core::future::future::Future>::poll", "shop::serve::{closure#0}", "shop::settle", NULL}),
        "shop::serve::{closure#0}");
    assert_string_equal(first_of((const char *[]){"tokio::runtime::task::raw::poll",
                            "hyper::proto::h1::dispatch::Dispatcher::poll_read",
                            "<shop::Handler as tower_service::Service<R>>::call", NULL}),
        "<shop::Handler as tower_service::Service<R>>::call");
}

static void may_stand_in_another(void **state)
{
    (void)state;
    assert_string_equal(first_of((const char *[]){POLL, "shop::page::{{closure}}", "tokio::task::local::LocalSet::tick",
                            "tokio::runtime::task::raw::RawTask::poll", "shop::part::{{closure}}", NULL}),
        "shop::part::{{closure}}");
}

static void is_none(void **state)
{
    (void)state;
    assert_string_equal(first_of((const char *[]){"shop::main", "tokio::runtime::runtime::Runtime::block_on",
                            "shop::run::{{closure}}", NULL}),
        "");
    assert_string_equal(first_of((const char *[]){POLL, "core::ptr::drop_in_place<shop::serve>", NULL}), "");
    struct wp_task_place place = {.is_polled = true};
    assert_false(wp_task_place_add(&place, "write", "/lib/x86_64-linux-gnu/libc.so.6"));
    assert_string_equal(
        first_of((const char *[]){"shop::run::{{closure}}",
            "<tokio::runtime::task::join::JoinHandle<T> as core::future::future::Future>::poll", "shop::wake", NULL}),
        "");
}

/* The first function of an older compiler's, which is inlined where there are lines of source. */
static void is_of_no_name(void **state)
{
    (void)state;
    static const char made[] = "<core::future::from_generator::GenFuture<T> as core::future::future::Future>::poll";
    assert_string_equal(
        first_of((const char *[]){POLL, made, "shop::price_order", "shop::add::{{closure}}", NULL}), "");
    assert_string_equal(first_of((const char *[]){POLL, made, "shop::serve::{{closure}}", "shop::price_order", NULL}),
        "shop::serve::{{closure}}");
}

static void expect_name(const char *function, const char *expected)
{
    char name[100];
    wp_task_place_name(function, name, sizeof(name));
    assert_string_equal(name, expected);
}

static void is_called_without_marks(void **state)
{
    (void)state;
    expect_name("shop::serve::{{closure}}", "task shop::serve");
    expect_name("shop::main::{{closure}}::{{closure}}", "task shop::main");
    expect_name("shop::serve::{closure#0}", "task shop::serve");
    expect_name("shop::serve::<alloc::vec::Vec<u8>>::{closure#1}::{closure#0}", "task shop::serve");
    expect_name("<shop::Server<T>>::handle::{closure#0}", "task <shop::Server<T>>::handle");
    expect_name("<shop::Connection<S> as core::future::future::Future>::poll", "task shop::Connection<S>");
    expect_name("shop::apply::<fn(u8) -> u8>::{closure#0}", "task shop::apply");
    expect_name("shop::reload", "task shop::reload");
    expect_name("{closure#0}", "task {closure#0}");
    expect_name("", "task ");
    char shorter[8];
    wp_task_place_name("shop::serve::{{closure}}", shorter, sizeof(shorter));
    assert_string_equal(shorter, "task sh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_at_the_programs_first_function),
        cmocka_unit_test(may_stand_in_another),
        cmocka_unit_test(is_none),
        cmocka_unit_test(is_of_no_name),
        cmocka_unit_test(is_called_without_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
