wakepath-collector: unwind rows are known file=[vdso] from=memory rows=48 pages=4 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libpthread.so.0 from=cache rows=6 pages=1 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/root/.pyenv/versions/3.11.7/bin/python3.11 from=cache rows=9 pages=1 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libprotobuf-c.so.1.0.0 from=cache rows=331 pages=25 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/sleep from=cache rows=715 pages=38 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libcmocka.so.0.7.0 from=cache rows=997 pages=42 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/env from=cache rows=757 pages=43 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/timeout from=cache rows=738 pages=41 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/x86_64-linux-gnu-ranlib from=cache rows=447 pages=28 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/x86_64-linux-gnu-ar from=cache rows=447 pages=28 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/xargs from=cache rows=1314 pages=70 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/rm from=cache rows=1372 pages=79 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/tail from=cache rows=1253 pages=71 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libxxhash.so.0.8.1 from=cache rows=833 pages=59 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/gcc/x86_64-linux-gnu/12/liblto_plugin.so from=cache rows=1530 pages=83 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/xz from=cache rows=1217 pages=46 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/liblmdb.so.0.0.0 from=cache rows=1314 pages=60 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/root/.pyenv/versions/3.11.7/lib/python3.11/lib-dynload/_posixsubprocess.cpython-311-x86_64-linux-gnu.so from=cache rows=156 pages=12 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/root/.pyenv/versions/3.11.7/lib/python3.11/lib-dynload/select.cpython-311-x86_64-linux-gnu.so from=cache rows=377 pages=14 crowded=0 odd=2
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libelf-0.188.so from=cache rows=1592 pages=68 crowded=0 odd=4
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libgcc_s.so.1 from=cache rows=1416 pages=91 crowded=0 odd=4
wakepath-collector: unwind rows are known file=/usr/bin/dash from=cache rows=2538 pages=95 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/sed from=cache rows=2029 pages=123 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/llvm-14/bin/clang from=cache rows=886 pages=77 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/dpkg-query from=cache rows=4070 pages=159 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/liblzma.so.5.4.1 from=cache rows=3611 pages=172 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/grep from=cache rows=3160 pages=181 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 from=cache rows=2451 pages=161 crowded=0 odd=10
wakepath-collector: unwind rows are known file=/usr/bin/ninja from=cache rows=5961 pages=261 crowded=0 odd=6
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libbpf.so.1.1.2 from=cache rows=6318 pages=279 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/ops-more/build/tsan/bin/fleetgen from=cache rows=1527 pages=115 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/x86_64-linux-gnu-objdump from=cache rows=3819 pages=255 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/sbin/bpftool from=cache rows=9435 pages=439 crowded=0 odd=8
wakepath-collector: unwind rows are known file=/tmp/wt/site/build/dev/bin/reporter_sample from=cache rows=2303 pages=149 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libuv.so.1.0.0 from=cache rows=4114 pages=181 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/gcc/x86_64-linux-gnu/12/collect2 from=cache rows=12694 pages=606 crowded=0 odd=4
wakepath-collector: unwind rows are known file=/usr/lib/llvm-14/bin/llvm-objcopy from=cache rows=9004 pages=528 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4 from=cache rows=9277 pages=728 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libzmq.so.5.2.4 from=cache rows=18101 pages=732 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libdw-0.188.so from=cache rows=7652 pages=405 crowded=0 odd=2
wakepath-collector: unwind rows are known file=/usr/bin/x86_64-linux-gnu-as from=cache rows=5174 pages=322 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/bash from=cache rows=20757 pages=1011 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/x86_64-linux-gnu-gcc-12 from=cache rows=18048 pages=883 crowded=0 odd=4
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libm.so.6 from=cache rows=6297 pages=473 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/store/build/dev/bin/engine_window_test from=cache rows=5657 pages=326 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libbfd-2.40-system.so from=cache rows=18358 pages=1070 crowded=2 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/x86_64-linux-gnu-ld.bfd from=cache rows=4858 pages=314 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/work/main/build/dev/bin/wakepath-collector from=cache rows=6256 pages=331 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/site-tmp/bin/wakepath-collector from=cache rows=6181 pages=328 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/truth/build/dev/bin/engine_resume_test from=cache rows=7199 pages=441 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/site/build/dev/bin/wakepath-reporter from=cache rows=6525 pages=439 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/store/build/dev/bin/aggregator_vital_hosts_test from=cache rows=6868 pages=417 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/store/build/fuzz/bin/fuzz_session from=cache rows=20874 pages=1197 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/site-tmp/bin/wakepath-aggregator from=cache rows=7794 pages=471 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/work/main/build/dev/bin/wakepath-aggregator from=cache rows=8143 pages=495 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libc.so.6 from=cache rows=28615 pages=1673 crowded=0 odd=6
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30 from=cache rows=35032 pages=1646 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/bin/perl from=cache rows=31391 pages=1869 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/tmp/wt/speed/build/fuzz/bin/fuzz_engine from=cache rows=26923 pages=2513 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libtsan.so.2.0.0 from=cache rows=25009 pages=1175 crowded=0 odd=2
wakepath-collector: unwind rows are known file=/usr/bin/cmake from=cache rows=114005 pages=8005 crowded=0 odd=2
wakepath-collector: unwind rows are known file=/usr/bin/ctest from=cache rows=128636 pages=9313 crowded=0 odd=2
wakepath-collector: unwind rows are known file=/root/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0 from=cache rows=63705 pages=3214 crowded=1 odd=4
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libz3.so.4 from=cache rows=393001 pages=21613 crowded=0 odd=0
wakepath-collector: collecting source=bpf
wakepath-collector: warn: mappings were lost, some functions will have no names lost=2545
wakepath-collector: unwind rows are known file=/proc/8600/exe from=file rows=650 pages=33 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/proc/9014/exe from=file rows=150 pages=8 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libmagic.so.1.0.0 from=file rows=2258 pages=121 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/gcc/x86_64-linux-gnu/12/cc1 from=cache rows=480896 pages=28016 crowded=12 odd=4
wakepath-collector: unwind rows are known file=/usr/bin/cpack from=file rows=114852 pages=8266 crowded=0 odd=2
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libgnutls.so.30.34.3 from=file rows=28297 pages=1339 crowded=0 odd=245
wakepath-collector: unwind rows are known file=/usr/lib/llvm-14/lib/libclang-cpp.so.14 from=cache rows=1002927 pages=45842 crowded=99 odd=14
wakepath-collector: unwind rows are known file=/proc/16441/exe from=file rows=940 pages=48 crowded=0 odd=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/perl/5.36.0/auto/Storable/Storable.so from=file rows=1291 pages=88 crowded=0 odd=0
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libc.so.6 functions=3722 debug_bytes=10013701 ms=3568
wakepath-collector: functions are known file=/tmp/wt/site/build/dev/bin/wakepath-reporter functions=1776 debug_bytes=985486 ms=493
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libzmq.so.5.2.4 functions=312 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/tmp/wt/speed-tmp/base-bin/wakepath-collector functions=1138 debug_bytes=991172 ms=152
wakepath-collector: functions are known file=/memfd:sealed-91173221a7ea functions=2012 debug_bytes=0 ms=0
wakepath-collector: unwind rows are known file=/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1 from=cache rows=950845 pages=55229 crowded=12 odd=96
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 functions=296 debug_bytes=1078166 ms=1131
wakepath-collector: unwind rows are known file=/usr/lib/llvm-14/bin/clang-tidy from=file rows=155499 pages=7265 crowded=9 odd=0
wakepath-collector: functions are known file=/root/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/lib/libLLVM.so.22.1-rust-1.95.0-stable functions=145405 debug_bytes=0 ms=785
wakepath-collector: functions are known file=/tmp/wt/site-tmp/bin/wakepath-collector functions=1564 debug_bytes=583338 ms=11
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/liblmdb.so.0.0.0 functions=134 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/tmp/wt/truth/build/dev/bin/engine_resume_test functions=1903 debug_bytes=1032212 ms=5
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libcmocka.so.0.7.0 functions=96 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/xargs functions=84 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/dash functions=85 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/root/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0 functions=6777 debug_bytes=16625939 ms=51
wakepath-collector: functions are known file=/root/.pyenv/versions/3.11.7/bin/python3.11 functions=10 debug_bytes=999 ms=11
wakepath-collector: functions are known file=/tmp/wt/site-tmp/bin/wakepath-aggregator functions=2130 debug_bytes=1106344 ms=18
wakepath-collector: functions are known file=/work/main/build/dev/bin/wakepath-aggregator functions=2216 debug_bytes=1167476 ms=4
wakepath-collector: functions are known file=/tmp/wt/cost/build/release/bin/wakepath-collector functions=1142 debug_bytes=1002596 ms=3
wakepath-collector: functions are known file=/usr/lib/gcc/x86_64-linux-gnu/12/cc1 functions=26795 debug_bytes=0 ms=238
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libbfd-2.40-system.so functions=1362 debug_bytes=0 ms=18
wakepath-collector: functions are known file=/usr/bin/x86_64-linux-gnu-ld.bfd functions=263 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/cmake functions=544 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/liblzma.so.5.4.1 functions=193 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/xz functions=103 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/tmp/wt/store/build/fuzz/bin/fuzz_session functions=3335 debug_bytes=52543 ms=21
wakepath-collector: functions are known file=/usr/bin/x86_64-linux-gnu-gcc-12 functions=144 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/bash functions=1894 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libdw-0.188.so functions=408 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/work/main/build/dev/bin/wakepath-collector functions=1583 debug_bytes=591988 ms=16
wakepath-collector: functions are known file=/usr/bin/sleep functions=48 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/grep functions=134 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/ninja functions=149 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/root/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/lib/librustc_driver-6108105cd7e839cf.so functions=93061 debug_bytes=0 ms=943
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libprotobuf-c.so.1.0.0 functions=34 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1 functions=34327 debug_bytes=0 ms=263
wakepath-collector: functions are known file=/usr/bin/x86_64-linux-gnu-as functions=140 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/llvm-14/lib/libclang-cpp.so.14 functions=23582 debug_bytes=0 ms=152
wakepath-collector: functions are known file=/usr/bin/cpack functions=539 debug_bytes=0 ms=60
wakepath-collector: functions are known file=/usr/bin/x86_64-linux-gnu-ranlib functions=87 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/gcc/x86_64-linux-gnu/12/collect2 functions=131 debug_bytes=0 ms=28
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libtsan.so.2.0.0 functions=2874 debug_bytes=6557571 ms=96
wakepath-collector: functions are known file=/tmp/wt/ops-more/build/tsan/bin/fleetgen functions=410 debug_bytes=159927 ms=0
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30 functions=4901 debug_bytes=0 ms=17
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libmagic.so.1.0.0 functions=137 debug_bytes=0 ms=13
wakepath-collector: functions are known file=/usr/bin/basename functions=44 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libelf-0.188.so functions=161 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/file functions=42 debug_bytes=0 ms=0
wakepath-collector: functions are known file=[vdso] functions=6 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libgnutls.so.30.34.3 functions=2242 debug_bytes=0 ms=7
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4 functions=296 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/gcc/x86_64-linux-gnu/12/liblto_plugin.so functions=65 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/bin/perl functions=2014 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/llvm-14/bin/clang-tidy functions=6664 debug_bytes=0 ms=448
wakepath-collector: functions are known file=/usr/lib/x86_64-linux-gnu/perl/5.36.0/auto/Storable/Storable.so functions=101 debug_bytes=0 ms=0
wakepath-collector: functions are known file=/usr/lib/llvm-14/bin/clang functions=463 debug_bytes=0 ms=0
wakepath-collector: user stacks complete=5197 not_yet=548 no_rows=4 not_code=35 unreadable=1 too_deep=0
