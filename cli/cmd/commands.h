/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_CMD_COMMANDS_H
#define WP_CLI_CMD_COMMANDS_H
/* The sub-commands of `wakepath`: one table, and the way through it. */

/* Runs the sub-command that argv names; returns the exit status. Prints usage and exits 64 on a bad command line. */
int wp_commands_run(int argc, char **argv);

#endif
