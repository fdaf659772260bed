# SPDX-License-Identifier: Apache-2.0
# Manual pages, completions and installed files of settings, all made from what the programs' --help says (deploy/options).
find_program(SCDOC scdoc REQUIRED)

set(WP_PROGRAMS wakepath wakepath-collector wakepath-aggregator wakepath-reporter wakepath-store)
set(WP_MANUALS wakepath.1 wakepath-record.1 wakepath-top.1 wakepath-view.1 wakepath-measure.1 wakepath-bisect.1 wakepath-status.1 wakepath-doctor.1 wakepath-perf-events.1 wakepath-keygen.1 wakepath-enroll.1 wakepath-reporter.1 wakepath-store.1 wakepath-capture.5
  wakepath-dump.5 wakepath-export.5 wakepath-spool.5 wakepath-store.5 wakepath-keys.5 wakepath-metrics.5 wakepath.conf.5
  wakepath-aggregator.8 wakepath-collector.8)
set(made ${CMAKE_BINARY_DIR}/generated)
set(options ${CMAKE_SOURCE_DIR}/deploy/options)
file(MAKE_DIRECTORY ${made}/options ${made}/man ${made}/man.gz ${made}/completion/bash ${made}/completion/zsh ${made}/completion/fish
  ${made}/etc/wakepath)

# wakepath runs its siblings, so every table waits for all programs.
foreach(program ${WP_PROGRAMS})
  set(table ${made}/options/${program}.tsv)
  add_custom_command(OUTPUT ${table}
    COMMAND sh ${options}/crawl.sh $<TARGET_FILE:${program}> > ${table}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${table}.new ${table}
    DEPENDS ${WP_PROGRAMS} ${options}/crawl.sh ${options}/help.awk VERBATIM)
  list(APPEND tables ${table})
  foreach(pair bash:${program} zsh:_${program} fish:${program}.fish)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 shell)
    list(GET pair 1 file)
    set(out ${made}/completion/${shell}/${file})
    add_custom_command(OUTPUT ${out} COMMAND awk -f ${options}/${shell}.awk ${table} > ${out}
      DEPENDS ${table} ${options}/${shell}.awk VERBATIM)
    list(APPEND outputs ${out})
  endforeach()
endforeach()

add_custom_command(OUTPUT ${made}/options/all.tsv COMMAND cat ${tables} > ${made}/options/all.tsv DEPENDS ${tables} VERBATIM)
foreach(page ${WP_MANUALS})
  set(out ${made}/man/${page})
  set(source ${CMAKE_SOURCE_DIR}/docs/man/${page}.scd)
  # The date of a page is not the date of a build.
  add_custom_command(OUTPUT ${out}
    COMMAND awk -v table=${made}/options/all.tsv -f ${options}/scdoc.awk ${source} > ${out}.scd
    COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=0 ${SCDOC} < ${out}.scd > ${out}
    DEPENDS ${source} ${made}/options/all.tsv ${options}/scdoc.awk VERBATIM)
  set(installed ${made}/man.gz/${page}.gz)
  add_custom_command(OUTPUT ${installed} COMMAND gzip -9nc ${out} > ${installed} DEPENDS ${out} VERBATIM)
  list(APPEND outputs ${out} ${installed})
endforeach()

foreach(name collector aggregator reporter)
  set(out ${made}/etc/wakepath/${name}.conf)
  set(source ${CMAKE_SOURCE_DIR}/deploy/etc/wakepath/${name}.conf)
  add_custom_command(OUTPUT ${out}
    COMMAND sh ${options}/settings.sh $<TARGET_FILE:wakepath-${name}> ${source} > ${out}
    DEPENDS wakepath-${name} ${source} ${options}/settings.sh VERBATIM)
  list(APPEND outputs ${out})
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/deploy/debian/changelog.in ${made}/changelog @ONLY)
add_custom_command(OUTPUT ${made}/changelog.gz COMMAND gzip -9nc ${made}/changelog > ${made}/changelog.gz DEPENDS ${made}/changelog VERBATIM)
list(APPEND outputs ${made}/changelog.gz)
add_custom_target(wp_manuals ALL DEPENDS ${outputs})
