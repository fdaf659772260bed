# SPDX-License-Identifier: Apache-2.0
"""How far a share of trials tells the share that it was drawn from: the interval of Clopper and Pearson (Biometrika 26, 1934), which has the true
one in at least 95 of 100 such experiments, whatever it is."""
import math


def at_most(count, trials, share):
    """The chance of `count` or fewer of `trials`."""
    return sum(math.comb(trials, i) * share ** i * (1 - share) ** (trials - i) for i in range(count + 1))


def solve(rises):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rises(middle) else (middle, high)
    return (low + high) / 2


def of_share(count, trials, confidence=0.95):
    """[lowest, highest] share, each rounded outwards to a tenth of a percent."""
    if not trials:
        return [0, 1]
    tail = (1 - confidence) / 2
    low = solve(lambda share: 1 - at_most(count - 1, trials, share) >= tail) if count else 0
    high = solve(lambda share: at_most(count, trials, share) <= tail) if count < trials else 1
    return [math.floor(low * 1000) / 1000, math.ceil(high * 1000) / 1000]
