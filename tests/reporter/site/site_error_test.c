/* SPDX-License-Identifier: Apache-2.0 */
/* A page that cannot be made is a page that says so, and the run goes on. The linker puts a builder of ours (--wrap)
 * before the page of disks, and before the data of the flame. */
#include "tests/reporter/sample.h"

#include "common/path.h"
#include "reporter/site/site.h"
#include "reporter/page/page.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static int fails; /* of this test alone */

void __real_wp_page_io(struct wp_display *display, const struct wp_facts *facts);
void __wrap_wp_page_io(struct wp_display *display, const struct wp_facts *facts);
int __real_wp_view_data_flame(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);
int __wrap_wp_view_data_flame(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

void __wrap_wp_page_io(struct wp_display *display, const struct wp_facts *facts)
{
    __real_wp_page_io(display, facts);
    if (fails)
        display->pool.failed = true;
}

int __wrap_wp_view_data_flame(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    int rc = __real_wp_view_data_flame(out, facts, err);
    return fails ? wp_error_set(err, -ENOMEM, "nothing left") : rc;
}

static struct wp_buffer page(const char *folder, const char *name)
{
    char path[512];
    struct wp_buffer text = {0};
    snprintf(path, sizeof(path), "%s/site/v1/main/%s", folder, name);
    assert_int_equal(wp_file_read(path, 1u << 24, &text, NULL), 0);
    return text;
}

static void a_page_that_fails(void **state)
{
    (void)state;
    char folder[] = "/tmp/wp-site-error-XXXXXX", store[64], out[64], data[128];
    assert_non_null(mkdtemp(folder));
    snprintf(store, sizeof(store), "%s/store", folder);
    snprintf(out, sizeof(out), "%s/site", folder);
    assert_int_equal(sample_put(store, "v1", "main", 1790000000, sample_report(), sample_trace(), NULL), 0);
    const char *stores[] = {store};
    struct wp_site_options options = {
        .stores = stores, .store_count = 1, .out = out, .wait_s = -1, .compare = WP_COMPARE_DEFAULTS};
    struct wp_site_result result;
    fails = 1;
    assert_int_equal(wp_site_write(&options, &result, NULL), 0);
    assert_int_equal(result.failed, 2);
    struct wp_buffer io = page(folder, "io.html"), waits = page(folder, "waits.html");
    assert_non_null(strstr((const char *)io.data, "This page could not be made: out of memory"));
    assert_non_null(strstr((const char *)io.data, "href=\"../../v1/main/waits.html\""));
    assert_null(strstr((const char *)waits.data, "could not be made"));
    snprintf(data, sizeof(data), "%s/site/v1/main/flame-data.js", folder);
    assert_int_equal(access(data, F_OK), -1);
    wp_buffer_fini(&io);
    wp_buffer_fini(&waits);
    fails = 0; /* it is made as soon as it can be, though the store is as it was */
    assert_int_equal(wp_site_write(&options, &result, NULL), 0);
    assert_int_equal(result.failed, 0);
    io = page(folder, "io.html");
    assert_null(strstr((const char *)io.data, "could not be made"));
    assert_int_equal(access(data, F_OK), 0);
    wp_buffer_fini(&io);
    assert_int_equal(wp_path_remove(folder, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_page_that_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
