/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath: records here and now, and is the door to the other programs. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return wp_commands_run(argc, argv);
}
