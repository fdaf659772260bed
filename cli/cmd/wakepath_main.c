/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath: records here and now, and is the door to the other programs. */
#include "cli/cmd/commands.h"
#include "common/standard_output.h"

int main(int argc, char **argv)
{
    wp_standard_output_check_at_exit();
    return wp_commands_run(argc, argv);
}
