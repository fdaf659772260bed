/* SPDX-License-Identifier: Apache-2.0 */
/* jit_fixture N [FOLDER]: makes code as a JIT does, says so in /tmp/perf-PID.map (after the first calls: late, as JITs
 * do) and sleeps through it, then in a child as often. With a folder it goes to live in it first, as a container would.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(void)
{
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    /* push rbp; mov rbp,rsp; call rdi; pop rbp; ret */
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    int n = argc > 1 ? atoi(argv[1]) : 1;
    if (argc > 2 && (chroot(argv[2]) || chdir("/")))
        return 2;
    uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 3;
    memcpy(memory + 64, code, sizeof(code));
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    void (*call)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)(memory + 64);
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        return 4;
    dprintf(fd, "%lx 10 other thing\n", (unsigned long)memory);
    for (int i = 0; i < n; i++) {
        if (i == 1)
            dprintf(fd, "%lx %zx JS:*made /app/shop.js:7\n", (unsigned long)(memory + 64), sizeof(code));
        call(pause_ms);
    }
    pid_t child = fork();
    for (int i = 0; !child && i < n; i++)
        call(pause_ms);
    if (!child)
        _exit(0);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 5;
    unlink(path);
    return status != 0;
}
