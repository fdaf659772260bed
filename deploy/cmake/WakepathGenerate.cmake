# SPDX-License-Identifier: Apache-2.0

# protobuf_c_library(NAME file.proto...): generated C as a static library; headers are included as "FOLDER/x.pb-c.h", where the file is FOLDER/x.proto.
function(protobuf_c_library name)
  find_program(PROTOC_C protoc-c REQUIRED)
  set(sources)
  foreach(file ${ARGN})
    get_filename_component(base ${file} NAME_WE)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/${file} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
    set(out ${CMAKE_BINARY_DIR}/generated/${folder}/${base}.pb-c)
    add_custom_command(OUTPUT ${out}.c ${out}.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated/${folder}
      COMMAND ${PROTOC_C} --c_out=${CMAKE_BINARY_DIR}/generated --proto_path=${CMAKE_SOURCE_DIR}
              ${CMAKE_CURRENT_SOURCE_DIR}/${file}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file} VERBATIM)
    list(APPEND sources ${out}.c ${out}.h)
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PUBLIC PkgConfig::PROTOBUF_C)
endfunction()

# bpf_object(TARGET name.bpf.c): CO-RE object and skeleton header "name.skel.h"; needs no BTF of the build host.
function(bpf_object target source)
  find_program(CLANG clang REQUIRED)
  find_program(BPFTOOL bpftool REQUIRED PATHS /usr/sbin /sbin)
  find_program(LLVM_STRIP NAMES llvm-strip llvm-strip-14)
  get_filename_component(base ${source} NAME_WE)
  set(dir ${CMAKE_BINARY_DIR}/generated/bpf)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-multiarch OUTPUT_VARIABLE multiarch
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    set(arch arm64)
  else()
    set(arch x86)
  endif()
  file(GLOB bpf_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/collector/bpf/*.h ${CMAKE_CURRENT_SOURCE_DIR}/bpf/*.bpf.c)
  add_custom_command(OUTPUT ${dir}/${base}.skel.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}
    COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${CLANG} -g -O2 -target bpf -D__TARGET_ARCH_${arch} -I${CMAKE_SOURCE_DIR} -I/usr/include/${multiarch}
            -Wall -Wno-unused-function -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${dir}/${base}.bpf.o
    COMMAND ${LLVM_STRIP} -g ${dir}/${base}.bpf.o
    COMMAND ${BPFTOOL} gen skeleton ${dir}/${base}.bpf.o name ${base}_bpf > ${dir}/${base}.skel.h
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${bpf_headers} VERBATIM)
  target_sources(${target} PRIVATE ${dir}/${base}.skel.h)
  target_include_directories(${target} PRIVATE ${dir})
endfunction()
