/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clocks.h"
#include <errno.h>
#include <stdlib.h>
#define N 64
struct wp_clocks { uint32_t count; int64_t up[N][N]; bool has[N][N]; };
int wp_clocks_create(struct wp_clocks **c) { *c = calloc(1, sizeof(**c)); return *c ? 0 : -ENOMEM; }
void wp_clocks_destroy(struct wp_clocks *c) { free(c); }
int wp_clocks_add(struct wp_clocks *c, uint32_t *n) { if (c->count == N) c->count = N - 1; *n = c->count++; return 0; }
void wp_clocks_remove(struct wp_clocks *c, uint32_t n) { for (int i = 0; i < N; i++) c->has[n][i] = c->has[i][n] = false; }
void wp_clocks_message(struct wp_clocks *c, uint32_t f, uint64_t s, uint32_t t, uint64_t r)
{
    int64_t d = (int64_t)(r - s);
    if (!c->has[f][t] || d < c->up[f][t]) { c->up[f][t] = d; c->has[f][t] = true; }
}
void wp_clocks_step(struct wp_clocks *c, uint32_t n, uint64_t at) { (void)at; wp_clocks_remove(c, n); }
static bool edge(struct wp_clocks *c, uint32_t f, uint32_t t, int64_t *up) { *up = c->up[f][t]; return c->has[f][t]; }
static bool best(struct wp_clocks *c, uint32_t f, uint32_t t, int64_t *up)
{
    bool ok = edge(c, f, t, up);
    for (uint32_t k = 0; k < c->count; k++) {
        int64_t a, b;
        if (edge(c, f, k, &a) && edge(c, k, t, &b) && (!ok || a + b < *up)) { *up = a + b; ok = true; }
    }
    return ok;
}
bool wp_clocks_map(struct wp_clocks *c, uint32_t from, uint64_t at, uint32_t to, struct wp_offset *o)
{
    int64_t up, down;
    (void)at;
    if (!best(c, from, to, &up) || !best(c, to, from, &down))
        return false;
    o->offset_ns = (up - down) / 2;
    o->bound_ns = (uint64_t)((up + down + 1) / 2);
    return true;
}
