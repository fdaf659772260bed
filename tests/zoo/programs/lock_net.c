/* SPDX-License-Identifier: Apache-2.0 */
/* A session lock is held while a service is asked. */
#include "zoo.h"

static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static int service;

static void answer(void)
{
    usleep(4000);
}

static __attribute__((noinline)) void refresh_token(void)
{
    char byte;
    if (write(service, "r", 1) != 1 || read(service, &byte, 1) != 1)
        abort();
}

static __attribute__((noinline)) void use_session(void)
{
    pthread_mutex_lock(&session_lock);
    refresh_token();
    pthread_mutex_unlock(&session_lock);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 100; i++)
        use_session();
    return arg;
}

int main(void)
{
    struct sockaddr_in at;
    pid_t pid = zoo_server("auth", &at, 1, answer);
    service = zoo_connect(&at);
    zoo_threads(4, worker);
    return kill(pid, SIGKILL);
}
