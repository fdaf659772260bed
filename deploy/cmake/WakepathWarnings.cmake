# SPDX-License-Identifier: Apache-2.0
# One interface target that every library and program links: warnings, include root, sanitizer and coverage flags.
# And of the optimised build with gcc: what is optimised across files.
option(WP_WERROR "warnings are errors" OFF)
set(WP_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")
option(WP_COVERAGE "gcov instrumentation" OFF)

add_library(wp_warnings INTERFACE)
target_include_directories(wp_warnings INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(wp_warnings INTERFACE _GNU_SOURCE WP_VERSION="${PROJECT_VERSION}")
target_compile_options(wp_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
  -Wstrict-prototypes -Wmissing-prototypes -Wvla)
if(WP_WERROR)
  target_compile_options(wp_warnings INTERFACE -Werror)
endif()
if(WP_SANITIZE)
  target_compile_options(wp_warnings INTERFACE -fsanitize=${WP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(wp_warnings INTERFACE -fsanitize=${WP_SANITIZE})
endif()
if(WP_COVERAGE)
  target_compile_options(wp_warnings INTERFACE --coverage)
  target_link_options(wp_warnings INTERFACE --coverage)
endif()
if(WP_FUZZ)
  target_compile_options(wp_warnings INTERFACE -fsanitize=fuzzer-no-link)
endif()

set(WP_WHOLE_PROGRAM $<AND:$<CONFIG:RelWithDebInfo>,$<C_COMPILER_ID:GNU>>)

# What is in that library may be optimised together with the program that it is in; other programs take it as it is.
function(wp_library_of_whole_program target)
  target_compile_options(${target} PRIVATE $<${WP_WHOLE_PROGRAM}:-flto>
    $<${WP_WHOLE_PROGRAM}:-ffat-lto-objects>)
endfunction()

# Such a program. A text's bound, which is that of the longest text, is more than many a text has: no fault.
function(wp_whole_program target)
  target_compile_options(${target} PRIVATE $<${WP_WHOLE_PROGRAM}:-flto>)
  set_target_properties(${target} PROPERTIES WP_IS_WHOLE_PROGRAM ON)
  target_link_options(${target} PRIVATE $<${WP_WHOLE_PROGRAM}:-flto=auto> $<${WP_WHOLE_PROGRAM}:-Wno-stringop-overread>)
endfunction()
add_link_options($<$<AND:${WP_WHOLE_PROGRAM},$<NOT:$<BOOL:$<TARGET_PROPERTY:WP_IS_WHOLE_PROGRAM>>>>:-fno-lto>)
