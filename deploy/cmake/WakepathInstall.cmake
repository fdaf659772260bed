# SPDX-License-Identifier: Apache-2.0
# What is installed where, a component a package.
include(GNUInstallDirs)
set(made ${CMAKE_BINARY_DIR}/generated)
set(deploy ${CMAKE_SOURCE_DIR}/deploy)

# wp_install(COMPONENT PROGRAM...): programs with their pages (of the same name, any section) and completions.
function(wp_install component)
  foreach(program ${ARGN})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    install(FILES ${made}/completion/bash/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
      COMPONENT ${component})
    install(FILES ${made}/completion/zsh/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
      COMPONENT ${component})
    install(FILES ${made}/completion/fish/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
      COMPONENT ${component})
  endforeach()
endfunction()

function(wp_install_manuals component)
  foreach(page ${ARGN})
    string(REGEX MATCH "[0-9]$" section ${page})
    install(FILES ${made}/man.gz/${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
  endforeach()
endfunction()

wp_install(collector wakepath-collector)
wp_install(aggregator wakepath-aggregator wakepath-store)
wp_install(reporter wakepath-reporter)
wp_install(cli wakepath)
wp_install_manuals(collector wakepath-collector.8 wakepath-capture.5 wakepath-spool.5)
wp_install_manuals(aggregator wakepath-aggregator.8 wakepath-store.1 wakepath-dump.5 wakepath-store.5)
wp_install_manuals(reporter wakepath-reporter.1 wakepath-export.5)
wp_install_manuals(cli wakepath.1 wakepath-record.1 wakepath-top.1 wakepath-view.1 wakepath-measure.1 wakepath-bisect.1 wakepath-status.1 wakepath-doctor.1 wakepath-perf-events.1 wakepath-keygen.1 wakepath-enroll.1
  wakepath-keys.5)
wp_install_manuals(doc wakepath.conf.5 wakepath-metrics.5)

foreach(name collector aggregator reporter)
  install(FILES ${made}/etc/wakepath/${name}.conf DESTINATION /etc/wakepath COMPONENT ${name})
  install(FILES ${deploy}/systemd/wakepath-${name}.service DESTINATION /lib/systemd/system COMPONENT ${name})
  install(FILES ${deploy}/systemd/wakepath-${name}.sysusers DESTINATION /usr/lib/sysusers.d RENAME wakepath-${name}.conf
    COMPONENT ${name})
  if(EXISTS ${deploy}/systemd/wakepath-${name}.tmpfiles)
    install(FILES ${deploy}/systemd/wakepath-${name}.tmpfiles DESTINATION /usr/lib/tmpfiles.d RENAME wakepath-${name}.conf
      COMPONENT ${name})
  endif()
endforeach()
install(FILES ${deploy}/systemd/wakepath-reporter.timer DESTINATION /lib/systemd/system COMPONENT reporter)
install(FILES ${deploy}/systemd/wakepath-prune.timer ${deploy}/systemd/wakepath-prune.service DESTINATION /lib/systemd/system COMPONENT aggregator)
install(FILES ${deploy}/cron/wakepath-prune DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wakepath-aggregator/examples
  RENAME wakepath-prune.cron COMPONENT aggregator)
install(FILES ${deploy}/cron/wakepath-reporter DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wakepath-reporter/examples
  RENAME wakepath-reporter.cron COMPONENT reporter)

install(PROGRAMS ${deploy}/kubernetes/image/entry.sh DESTINATION /usr/lib/wakepath/kubernetes COMPONENT cli)
install(PROGRAMS ${deploy}/fleet/fleet.sh ${deploy}/fleet/host.sh DESTINATION /usr/lib/wakepath/fleet COMPONENT cli)
install(PROGRAMS ${deploy}/slurm/job.sh DESTINATION /usr/lib/wakepath/slurm COMPONENT collector)
install(PROGRAMS ${deploy}/slurm/report.sh DESTINATION /usr/lib/wakepath/slurm COMPONENT reporter)
install(FILES ${deploy}/slurm/slurm-job.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wakepath-collector/examples COMPONENT collector)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wakepath-doc COMPONENT doc
  FILES_MATCHING PATTERN "*.md" PATTERN "man" EXCLUDE)
install(DIRECTORY ${deploy}/kubernetes DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wakepath-doc COMPONENT doc USE_SOURCE_PERMISSIONS)
install(DIRECTORY ${deploy}/monitoring DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wakepath-doc COMPONENT doc)
foreach(name collector aggregator reporter cli doc)
  install(FILES ${deploy}/debian/copyright ${made}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/wakepath-${name} COMPONENT ${name})
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/wakepath-${name} COMPONENT ${name})
endforeach()
