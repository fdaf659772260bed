/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/model_fit.h"

#include <math.h>
#include <string.h>

#define LEAST_POINTS 4u
#define WORTH                                                                                                          \
    0.02 /* a curve that grows more must explain so much more: with a parameter more it always explains a little */

const char *wp_model_key(enum wp_model_kind kind)
{
    static const char *const keys[] = {"constant", "logarithmic", "linear", "quadratic", "power", "exponential"};
    return keys[kind];
}

double wp_model_at(const struct wp_model *model, double x)
{
    const double *b = model->b;
    switch (model->kind) {
    case WP_MODEL_LOGARITHMIC:
        return b[0] + b[1] * log(x);
    case WP_MODEL_LINEAR:
        return b[0] + b[1] * x;
    case WP_MODEL_QUADRATIC:
        return b[0] + b[1] * x + b[2] * x * x;
    case WP_MODEL_POWER:
        return b[0] * pow(x, b[1]);
    case WP_MODEL_EXPONENTIAL:
        return b[0] * exp(b[1] * x);
    default:
        return b[0];
    }
}

/* Cramer's rule on the normal equations of 1, u, u²; `terms` 2 or 3. */
static bool solve(const double s[5], const double t[3], int terms, double b[3])
{
    b[2] = 0;
    if (terms == 2) {
        double det = s[0] * s[2] - s[1] * s[1];
        if (!(fabs(det) > 1e-12 * fabs(s[0] * s[2])))
            return false;
        b[0] = (t[0] * s[2] - t[1] * s[1]) / det;
        b[1] = (s[0] * t[1] - s[1] * t[0]) / det;
        return true;
    }
    double det =
        s[0] * (s[2] * s[4] - s[3] * s[3]) - s[1] * (s[1] * s[4] - s[3] * s[2]) + s[2] * (s[1] * s[3] - s[2] * s[2]);
    if (!(fabs(det) > 1e-12 * fabs(s[0] * s[2] * s[4])))
        return false;
    b[0] =
        (t[0] * (s[2] * s[4] - s[3] * s[3]) - s[1] * (t[1] * s[4] - s[3] * t[2]) + s[2] * (t[1] * s[3] - s[2] * t[2])) /
        det;
    b[1] =
        (s[0] * (t[1] * s[4] - t[2] * s[3]) - t[0] * (s[1] * s[4] - s[3] * s[2]) + s[2] * (s[1] * t[2] - t[1] * s[2])) /
        det;
    b[2] =
        (s[0] * (s[2] * t[2] - t[1] * s[3]) - s[1] * (s[1] * t[2] - t[1] * s[2]) + t[0] * (s[1] * s[3] - s[2] * s[2])) /
        det;
    return true;
}

static bool fit(struct wp_model *model, const double *x, const double *y, size_t count)
{
    bool is_log_x = model->kind == WP_MODEL_LOGARITHMIC || model->kind == WP_MODEL_POWER;
    bool is_log_y = model->kind == WP_MODEL_POWER || model->kind == WP_MODEL_EXPONENTIAL;
    double s[5] = {0}, t[3] = {0};
    for (size_t i = 0; i < count; i++) {
        double u = is_log_x ? log(x[i]) : x[i], v = is_log_y ? log(y[i]) : y[i], power = 1;
        if (!isfinite(u) || !isfinite(v))
            return false; /* a logarithm of nothing */
        for (int k = 0; k < 5; k++, power *= u) {
            s[k] += power;
            if (k < 3)
                t[k] += power * v;
        }
    }
    if (!solve(s, t, model->kind == WP_MODEL_QUADRATIC ? 3 : 2, model->b))
        return false;
    if (is_log_y)
        model->b[0] = exp(model->b[0]);
    return isfinite(model->b[0]) && isfinite(model->b[1]) && isfinite(model->b[2]);
}

static double r_square(const struct wp_model *model, const double *x, const double *y, size_t count, double mean)
{
    double rest = 0, whole = 0;
    for (size_t i = 0; i < count; i++) {
        double off = y[i] - wp_model_at(model, x[i]);
        rest += off * off;
        whole += (y[i] - mean) * (y[i] - mean);
    }
    return whole > 0 ? 1 - rest / whole : 0;
}

bool wp_model_best(struct wp_model *best, const double *x, const double *y, size_t count)
{
    double mean = 0, most = 0;
    memset(best, 0, sizeof(*best));
    if (count < LEAST_POINTS)
        return false;
    for (size_t i = 0; i < count; i++)
        mean += y[i] / (double)count;
    struct wp_model grown = {0};
    for (int kind = WP_MODEL_LOGARITHMIC; kind < WP_MODELS; kind++) {
        struct wp_model model = {.kind = (enum wp_model_kind)kind};
        if (!fit(&model, x, y, count))
            continue;
        model.r_square = r_square(&model, x, y, count, mean);
        if (model.r_square > most + WORTH) {
            most = model.r_square;
            grown = model;
        }
    }
    *best = (struct wp_model){.kind = WP_MODEL_CONSTANT, .b = {mean}, .r_square = 1 - most};
    if (most > best->r_square)
        *best = grown;
    return true;
}

bool wp_model_fit(struct wp_fitted *fitted, const double *x, const double *y, size_t count)
{
    if (!wp_model_best(&fitted->model, x, y, count))
        return false;
    fitted->from = x[0];
    fitted->to = x[count - 1];
    return true;
}

unsigned wp_model_terms(enum wp_model_kind kind)
{
    return kind == WP_MODEL_CONSTANT ? 1 : kind == WP_MODEL_QUADRATIC ? 3 : 2;
}
