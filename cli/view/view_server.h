/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_VIEW_VIEW_SERVER_H
#define WP_CLI_VIEW_VIEW_SERVER_H
/*
 * Pages by HTTP for one reader on this host: 127.0.0.1, a secret in each address, requests of another Host refused, GET
 * and HEAD only. Files come from one folder, whatever is asked for; pages of single processes from who serves them.
 * Nothing runs by itself: the caller waits for the descriptor and calls the round.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <limits.h>

struct wp_view_server;

/* What is answered to a request for a process' page. */
struct wp_view_answer {
    unsigned status;       /* of HTTP */
    char location[128];    /* behind the secret, of a page that is there; "": none */
    struct wp_buffer html; /* else this; freed by the server */
};

/* A request for it; texts are "" where it has none. */
struct wp_view_request {
    const char *path;        /* what stands behind "~own/" in the address */
    const char *name, *page; /* of it, for people; the tab that is opened */
    const char *selector;    /* whose pages, where the path does not say it */
};

/* Borrowed for the server's life. */
struct wp_view_server_options {
    const char *folder; /* of the pages */
    const char *made;   /* folder of what is asked for as "~made/FILE" */
    unsigned port;      /* 0: a free one */
    void (*own)(void *context, const struct wp_view_request *request, struct wp_view_answer *answer);
    void *context;
};

/* -EADDRINUSE or another -errno of the port or the folder. */
int wp_view_server_open(
    struct wp_view_server **server, const struct wp_view_server_options *options, struct wp_error *err);
/* "http://127.0.0.1:PORT/SECRET/" */
const char *wp_view_server_address(const struct wp_view_server *server);
/* Readable when there is something to do. */
int wp_view_server_fd(const struct wp_view_server *server);
/* In how many ms the next round is due, whether or not the descriptor is readable; `most` at most. */
unsigned wp_view_server_due_ms(const struct wp_view_server *server, unsigned most);
/* Answers what has come. */
void wp_view_server_round(struct wp_view_server *server);
/* NULL is allowed. */
void wp_view_server_close(struct wp_view_server *server);

#endif
