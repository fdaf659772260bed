/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked without a build id. */
int unmarked(void);

int unmarked(void)
{
    return 7;
}
