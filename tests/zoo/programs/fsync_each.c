/* SPDX-License-Identifier: Apache-2.0 */
/* Each record is made durable by itself. */
#include "zoo.h"

static __attribute__((noinline)) void append_record(int log)
{
    static char record[1 << 12];
    if (write(log, record, sizeof(record)) != (ssize_t)sizeof(record) || fsync(log))
        abort();
}

int main(void)
{
    int log = open("records.log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 3000; i++)
        append_record(log);
    return close(log);
}
