/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_SIM_H
#define WP_TESTS_GEN_SIM_H
/* What happens when, in true time, and chance: all of it follows from the seed. */
#include <stdbool.h>
#include <stdint.h>

typedef void (*gen_act)(void *context, uint64_t argument);

struct gen_due {
    uint64_t time_ns, number; /* number: first come, first served */
    gen_act act;
    void *context;
    uint64_t argument;
};

struct gen_sim {
    uint64_t now_ns, seed, number;
    struct gen_due *due; /* a heap, owned */
    uint32_t count, room;
};

void gen_sim_fini(struct gen_sim *sim);
/* `act` at that time, or now if that is over. */
void gen_at(struct gen_sim *sim, uint64_t time_ns, gen_act act, void *context, uint64_t argument);
void gen_run_until(struct gen_sim *sim, uint64_t until_ns);

uint64_t gen_random(struct gen_sim *sim);
uint32_t gen_below(struct gen_sim *sim, uint32_t limit);
bool gen_chance(struct gen_sim *sim, uint32_t per_mille);
/* About `mean`: a fixed part and an exponential one of `percent` of it, so that the mean stays. */
uint64_t gen_about(struct gen_sim *sim, uint64_t mean, uint32_t percent);

/* Grown zeroed memory, or the end of the program. */
void *gen_grow(void *rows, uint32_t *room, uint32_t wanted, uint64_t size);
void *gen_new(uint64_t size);

#endif
