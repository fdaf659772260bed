# SPDX-License-Identifier: Apache-2.0

# syscall_rows(TARGET table): generated/common/syscall_rows.h of the table: WP_SYSCALL_NAMES by number, WP_SYSCALL_NUMBERS by sorted name,
# WP_SYSCALLS_OF_ARM64 (numbers + 1) by arm64's number.
function(syscall_rows target table)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${table})
  file(STRINGS ${table} lines REGEX "^[0-9]")
  foreach(line ${lines})
    string(REGEX REPLACE " +" ";" words "${line}")
    list(POP_FRONT words number arm64)
    list(GET words 0 name)
    list(APPEND names " [${number}] = \"${name}\",")
    if(NOT arm64 STREQUAL "-")
      list(APPEND of_arm64 " [${arm64}] = ${number} + 1,")
    endif()
    foreach(name ${words})
      list(APPEND numbers " {\"${name}\", ${number}},")
    endforeach()
  endforeach()
  list(SORT numbers)
  list(JOIN names "\\\n" names)
  list(JOIN numbers "\\\n" numbers)
  list(JOIN of_arm64 "\\\n" of_arm64)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/common/syscall_rows.h @ONLY
    CONTENT "/* Made of ${table} by WakepathSyscalls.cmake. */\n#define WP_SYSCALL_NAMES\\\n@names@\n#define WP_SYSCALL_NUMBERS\\\n@numbers@\n#define WP_SYSCALLS_OF_ARM64\\\n@of_arm64@\n")
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()
