#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make of an object that protobuf generates, from a cold page cache (the paper's make).
. "$(dirname "$0")/common.sh"
need build-essential protobuf-c-compiler libprotobuf-c-dev
cat >"$work/message.proto" <<'END'
syntax = "proto3";
message Point { double x = 1; double y = 2; repeated string labels = 3; }
message Path { repeated Point points = 1; repeated int64 counts = 2; }
END
cat >"$work/Makefile" <<'END'
message.pb-c.o: message.pb-c.c
	$(CC) -O2 -c -o $@ $<
message.pb-c.c: message.proto
	protoc-c --c_out=. $<
END
make_cold
record_case make comm=make make -C "$work"
