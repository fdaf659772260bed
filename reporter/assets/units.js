// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them; reporter/display/humanize.c says the same numbers the same way.
(function () {
  'use strict';

  function digits(value) {
    return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
  }

  function two(number) {
    return (number < 10 ? '0' : '') + number;
  }

  function duration(ns) {
    if (ns < 1000) return Math.round(ns) + ' ns';
    if (ns < 999.5e3) return digits(ns / 1e3) + ' µs';
    if (ns < 999.5e6) return digits(ns / 1e6) + ' ms';
    if (ns < 119.5e9) return digits(ns / 1e9) + ' s';
    var seconds = Math.round(ns / 1e9);
    if (seconds < 7200) return Math.floor(seconds / 60) + ' min ' + two(seconds % 60) + ' s';
    return Math.floor(seconds / 3600) + ' h ' + two(Math.floor(seconds / 60) % 60) + ' min';
  }

  function percent(value) {
    if (!(value > 0)) return '0 %';
    if (value < 0.05) return '< 0.1 %';
    if (value > 99.9 && value < 100) return '> 99.9 %';
    if (value < 9.95 || (value > 90 && value < 100)) return value.toFixed(1) + ' %';
    return value.toFixed(0) + ' %';
  }

  function share(part, whole) {
    return percent(whole ? 100 * part / whole : 0);
  }

  function count(number) {
    return String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
  }

  // A moment on an axis whose ticks are `step` ns apart: as many digits as it needs to differ from its neighbours.
  function moment(ns, step) {
    var unit = step >= 1e9 ? [1e9, ' s'] : step >= 1e6 ? [1e6, ' ms'] : step >= 1e3 ? [1e3, ' µs'] : [1, ' ns'];
    return (ns / unit[0]).toFixed(0) + unit[1];
  }

  // A heading's words inside of a sentence: "in blocking I/O", but "I/O queue".
  function within(title) {
    return /^[A-Z][a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title;
  }

  window.wakepath.units = {within: within, duration: duration, percent: percent, share: share, count: count, moment: moment};
})();
