<?php
// SPDX-License-Identifier: Apache-2.0
// Four processes write a report, one at a time: each holds the file's lock while it sleeps for a slow upload.
function write_report(int $turn): void
{
    $lock = fopen("report.lock", "c");
    flock($lock, LOCK_EX);
    usleep(40000);
    flock($lock, LOCK_UN);
    fclose($lock);
}

$children = [];
for ($i = 0; $i < 4; $i++) {
    $child = pcntl_fork();
    if ($child == 0) {
        for ($turn = 0; $turn < 10; $turn++) {
            write_report($turn);
        }
        exit(0);
    }
    $children[] = $child;
}
foreach ($children as $child) {
    pcntl_waitpid($child, $status);
}
