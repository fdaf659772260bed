/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_plan.h"

#include <stdlib.h>
#include <string.h>

#define LINE 256
#define WORDS 24

/* The value of KEY=VALUE among the words. */
static uint64_t value_of(char *const *words, uint32_t count, const char *key, uint64_t otherwise)
{
    size_t length = strlen(key);
    for (uint32_t i = 0; i < count; i++)
        if (!strncmp(words[i], key, length) && words[i][length] == '=')
            return strtoull(words[i] + length + 1, NULL, 10);
    return otherwise;
}

static bool has_word(char *const *words, uint32_t count, const char *word)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(words[i], word))
            return true;
    return false;
}

int gen_plan_find(const struct gen_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->service_count; i++)
        if (!strcmp(plan->services[i].name, name))
            return (int)i;
    return -1;
}

static struct gen_service *add_service(struct gen_plan *plan, const char *name)
{
    if (plan->service_count == GEN_SERVICES)
        return NULL;
    struct gen_service *service = &plan->services[plan->service_count++];
    snprintf(service->name, sizeof(service->name), "%s", name);
    return service;
}

static bool parse_service(struct gen_plan *plan, char *const *words, uint32_t count)
{
    int known = count > 1 ? gen_plan_find(plan, words[1]) : -1;
    struct gen_service *service = known >= 0 ? &plan->services[known] : count > 1 ? add_service(plan, words[1]) : NULL;
    if (!service)
        return false;
    service->hosts = (uint32_t)value_of(words, count, "hosts", 1);
    service->threads = (uint32_t)value_of(words, count, "threads", 4);
    service->pause_ns = value_of(words, count, "pause", 1000) * 1000;
    service->quiet_ns = value_of(words, count, "quiet", 0) * 1000000;
    service->outside_per_mille = (uint32_t)value_of(words, count, "outside", 0);
    service->answer_bytes = value_of(words, count, "answer", 500);
    service->is_base = has_word(words, count, "base");
    return service->hosts && service->threads;
}

static bool parse_call(struct gen_plan *plan, struct gen_doing *doing, char *names)
{
    for (char *rest = NULL, *name = strtok_r(names, "+", &rest); name; name = strtok_r(NULL, "+", &rest)) {
        int target = gen_plan_find(plan, name);
        if (target < 0) {
            target = (int)plan->service_count;
            if (!add_service(plan, name))
                return false;
        }
        if (doing->target_count == GEN_TARGETS)
            return false;
        doing->targets[doing->target_count++] = (uint32_t)target;
    }
    return doing->target_count;
}

static bool parse_doing(struct gen_plan *plan, struct gen_service *service, char **words, uint32_t count)
{
    static const char *const names[] = {"busy", "sleep", "disk", "fork", "call"};
    if (!service || service->doing_count == GEN_DOINGS || count < 2)
        return false;
    struct gen_doing *doing = &service->doings[service->doing_count++];
    for (uint32_t kind = 0; kind < 5; kind++) {
        if (strcmp(words[0], names[kind]))
            continue;
        *doing = (struct gen_doing){.kind = (enum gen_doing_kind)kind, .bytes = value_of(words, count, "bytes", 200)};
        if (kind == GEN_CALL)
            return parse_call(plan, doing, words[1]);
        doing->mean_ns = strtoull(words[1], NULL, 10) * 1000;
        return doing->mean_ns;
    }
    return false;
}

static void parse_links(struct gen_plan *plan, char *const *words, uint32_t count)
{
    plan->fan = (uint32_t)value_of(words, count, "fan", plan->fan);
    plan->delay_ns = value_of(words, count, "delay", plan->delay_ns / 1000) * 1000;
    plan->jitter_ns = value_of(words, count, "jitter", plan->jitter_ns / 1000) * 1000;
    plan->old_per_mille = (uint32_t)value_of(words, count, "old", plan->old_per_mille);
    plan->nat_per_mille = (uint32_t)value_of(words, count, "nat", plan->nat_per_mille);
    plan->v6_per_mille = (uint32_t)value_of(words, count, "v6", plan->v6_per_mille);
    plan->retransmit_per_mille = (uint32_t)value_of(words, count, "retransmit", plan->retransmit_per_mille);
    plan->coalesce_per_mille = (uint32_t)value_of(words, count, "coalesce", plan->coalesce_per_mille);
    plan->asymmetric_per_mille = (uint32_t)value_of(words, count, "asymmetric", plan->asymmetric_per_mille);
    plan->read_limit = (uint32_t)value_of(words, count, "read", plan->read_limit);
    plan->reconnect = (uint32_t)value_of(words, count, "reconnect", plan->reconnect);
}

static bool parse_hosts(struct gen_plan *plan, char *const *words, uint32_t count)
{
    plan->hosts = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) : 0;
    plan->cpus = (uint32_t)value_of(words, count, "cpus", plan->cpus);
    plan->skew_ns = value_of(words, count, "skew", plan->skew_ns / 1000000) * 1000000;
    plan->drift_ppm = (uint32_t)value_of(words, count, "drift", plan->drift_ppm);
    plan->steps = (uint32_t)value_of(words, count, "steps", plan->steps);
    plan->losses = (uint32_t)value_of(words, count, "losses", plan->losses);
    plan->stagger_ns = value_of(words, count, "stagger", plan->stagger_ns / 1000000) * 1000000;
    plan->spread_percent = (uint32_t)value_of(words, count, "spread", plan->spread_percent);
    return plan->hosts && plan->hosts < 60000 && plan->cpus && plan->cpus < 256;
}

bool gen_plan_parse(struct gen_plan *plan, const char *text, char *why, uint32_t room)
{
    struct gen_service *service = NULL;
    *plan = (struct gen_plan){.hosts = 3,
        .cpus = 4,
        .fan = 2,
        .skew_ns = 3600000000000u,
        .drift_ppm = 200,
        .delay_ns = 60000,
        .jitter_ns = 30000,
        .stagger_ns = 100000000,
        .spread_percent = 30};
    while (*text) {
        char line[LINE], *words[WORDS], *rest = NULL;
        uint32_t count = 0;
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)(length < LINE ? length : LINE - 1), text);
        line[strcspn(line, "#")] = 0;
        for (char *word = strtok_r(line, " \t", &rest); word && count < WORDS; word = strtok_r(NULL, " \t", &rest))
            words[count++] = word;
        bool is_good = true;
        if (count && !strcmp(words[0], "service")) {
            is_good = parse_service(plan, words, count);
            int number = count > 1 ? gen_plan_find(plan, words[1]) : -1;
            service = number >= 0 ? &plan->services[number] : NULL;
        } else if (count && !strcmp(words[0], "links")) {
            parse_links(plan, words, count);
        } else if (count && !strcmp(words[0], "hosts")) {
            is_good = parse_hosts(plan, words, count);
        } else if (count) {
            is_good = parse_doing(plan, service, words, count);
        }
        if (!is_good) {
            snprintf(why, room, "not understood: %.*s", (int)length, text);
            return false;
        }
        text += length + (text[length] == '\n');
    }
    for (uint32_t i = 0; i < plan->service_count; i++)
        if (!plan->services[i].hosts) {
            snprintf(why, room, "'%s' is called and is no service", plan->services[i].name);
            return false;
        }
    return add_service(plan, "helper");
}
