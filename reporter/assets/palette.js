// SPDX-License-Identifier: Apache-2.0
// Colours of the drawn views, read from the style sheet so that both follow the same theme.
(function () {
  'use strict';

  // enum wp_frame_style in storage/report/report.h
  var STYLE = {PROCESS: 1, USER: 2, KERNEL: 3, SLEEP: 4, IO: 5, NET: 6, SCHED: 7, WAIT: 8};
  var RUNS = 1, SLEEPS = 2;
  var WORDS = ['', 'process', 'function', 'kernel function', 'sleep', 'block I/O', 'network', 'scheduler', 'wait'];
  var NAMES = ['run', 'sleep', 'both', 'run-script', 'sleep-script', 'both-script', 'process', 'io', 'net', 'sched', 'wait', 'unaccounted', 'worse', 'worse-weak',
    'better', 'better-weak', 'same'];

  // Read once for each look of the page: a style sheet is slow to ask, and a drawing asks before each frame.
  var last = null;
  ['wakepath-theme', 'wakepath-print'].forEach(function (change) {
    document.addEventListener(change, function () {
      last = null;
    });
  });

  function read() {
    return last || (last = readStyle());
  }

  function readStyle() {
    var style = window.getComputedStyle(document.documentElement);
    var palette = {};
    NAMES.map(function (name) {
      return 'f-' + name;
    }).concat(['ink', 'muted', 'line', 'surface', 'bg', 'bar', 'accent', 'hit', 'frame-ink', 'link-line', 'cat-understood_functions', 'cat-scheduler',
      'cat-blocking_io', 'cat-kernel_block', 'cat-message_in_flight', 'cat-deliberate_sleep', 'cat-other_path', 'cat-hardware_wait', 'l-waking', 'l-fork', 'l-exec', 'l-message', 'l-completion',
      'l-preemption', 'l-timer', 'l-interrupt']).forEach(function (name) {
      palette[name] = style.getPropertyValue('--' + name).trim();
    });
    palette.font = style.getPropertyValue('--mono').trim() || 'monospace';
    palette.sans = window.getComputedStyle(document.body).fontFamily;
    return palette;
  }

  // A function of an interpreted language: its object is a source file, or text that was compiled ('<string>').
  var SOURCE = /\.(?:py|rb|php|p[lm])$|^<.+>$/;
  function isScript(frame) {
    if (frame.isScript === undefined) frame.isScript = frame[0] === STYLE.USER && SOURCE.test(frame[2]);
    return frame.isScript;
  }

  // The name of a frame's colour: functions take theirs from what stands on them in their own layer.
  function colourName(frame, flags) {
    switch (frame[0]) {
    case STYLE.PROCESS: return 'f-process';
    case STYLE.SLEEP: return 'f-sleep';
    case STYLE.IO: return 'f-io';
    case STYLE.NET: return 'f-net';
    case STYLE.SCHED: return 'f-sched';
    case STYLE.WAIT: return 'f-wait';
    default:
      return (flags === (RUNS | SLEEPS) ? 'f-both' : flags === SLEEPS ? 'f-sleep' : 'f-run') + (isScript(frame) ? '-script' : '');
    }
  }

  var LEGEND = [['f-run', 'runs', 'Functions that were on a processor'], ['f-sleep', 'sleeps', 'Functions that slept, and the call they slept in'],
    ['f-both', 'both', 'Functions that ran at times and slept at others'], ['f-process', 'process', 'What stands on it happened in that process'],
    ['f-io', 'block I/O', 'A block device had a request'], ['f-net', 'network', 'A message was under way, or its peer is not traced'],
    ['f-sched', 'scheduler', 'It could have run: preempted, or waiting for a processor'],
    ['f-wait', 'other wait', 'Another control path, a device’s interrupt, a signal, or nothing that is known']];

  var SCRIPT = [['f-run-script', 'interpreted', 'Functions of an interpreted language: deeper colours of what runs, sleeps, or does both']];

  // What a flame of these frames has.
  function legend(frames) {
    return LEGEND.concat(frames.some(isScript) ? SCRIPT : []);
  }

  // enum wp_verdict in reporter/compare/compare.h; a small change is pale.
  var VERDICTS = ['no sure change', 'too small to tell', 'takes longer', 'takes less'];
  function changeName(mark, is, was) {
    if (mark !== 2 && mark !== 3) return 'f-same';
    return (mark === 2 ? 'f-worse' : 'f-better') + (Math.abs(is - was) < 0.2 * was ? '-weak' : '');
  }

  var CHANGES = [['f-worse', 'takes longer'], ['f-worse-weak', 'by less than a fifth'], ['f-better', 'takes less'],
    ['f-better-weak', 'by less than a fifth'], ['f-same', 'no sure change, or too small to tell']];

  // What a frame is, and of what: a function of a file, a thread that names itself of its process.
  function describe(frame) {
    if (frame[0] === STYLE.PROCESS && frame[2]) return 'thread of ' + frame[2];
    return WORDS[frame[0]] + (frame[2] ? ', ' + frame[2] : '');
  }

  // A thread that names itself stands under its process.
  function frameName(frame) {
    return frame[0] === STYLE.PROCESS && frame[2] ? '[' + frame[2] + ' › ' + frame[1].slice(1) : frame[1];
  }

  window.wakepath.palette = {describe: describe, frameName: frameName, CHANGES: CHANGES, VERDICTS: VERDICTS, changeName: changeName, STYLE: STYLE, RUNS: RUNS, SLEEPS: SLEEPS, WORDS: WORDS, LEGEND: LEGEND, isScript: isScript, legend: legend, read: read,
    colourName: colourName};
})();
