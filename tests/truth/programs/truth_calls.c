/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that end the program where they fail. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void truth_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

int truth_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        truth_die(folder);
    return fd;
}

void truth_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

void truth_pin_always(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        truth_die("sched_setaffinity");
}

void truth_pin(unsigned cpu)
{
    if (!getenv("TRUTH_FREE"))
        truth_pin_always(cpu);
}

void truth_put(int fd, const void *bytes, unsigned size)
{
    for (unsigned done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);
        if (n < 0)
            truth_die("write");
        done += (unsigned)n;
    }
}

int truth_get(int fd, void *bytes, unsigned size)
{
    for (unsigned done = 0; done < size;) {
        ssize_t n = read(fd, (char *)bytes + done, size - done);
        if (n < 0)
            truth_die("read");
        if (!n)
            return 0;
        done += (unsigned)n;
    }
    return 1;
}
