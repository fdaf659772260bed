/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's verifier walks of the programs before it takes them: its limit is a million, and every recording
 * waits for it. */
#include "collector/live/bpf_programs.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define MOST_INSNS 150000ul

/* Of the program that this descriptor is of (proc_pid_fdinfo(5)); 0: it is of none. */
static unsigned long verified_insns(const char *fd)
{
    char path[300], line[200];
    unsigned long insns = 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", fd);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "verified_insns:", 15))
            insns = strtoul(line + 15, NULL, 10);
    if (file)
        fclose(file);
    return insns;
}

static const struct wp_logger logger = {.program = "test", .level = WP_LOG_ERROR, .fd = 2};

static struct wp_programs *load(void)
{
    struct wp_programs *programs = NULL;
    struct wp_error err = {0};
    if (wp_programs_load(&programs, &(struct wp_source_bpf_options){0}, &logger, &err))
        fail_msg("%s", err.text);
    return programs;
}

static void walks_are_short(void **state)
{
    (void)state;
    unsigned long most = 0;
    unsigned seen = 0;
    struct wp_programs *programs = load();
    DIR *folder = opendir("/proc/self/fdinfo");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        unsigned long insns = verified_insns(entry->d_name);
        seen += insns > 0;
        most = insns > most ? insns : most;
    }
    closedir(folder);
    wp_programs_destroy(programs);
    assert_true(seen > 10);
    if (most > MOST_INSNS)
        fail_msg("the verifier walks %lu instructions of a program", most);
}

/* libbpf's list of handlers outlives each. */
static void programs_load_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct wp_programs *programs = load();
        wp_programs_destroy(programs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(walks_are_short), cmocka_unit_test(programs_load_again)};
    if (geteuid() != 0) {
        print_message("skipped: loading programs needs root\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
