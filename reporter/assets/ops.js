// SPDX-License-Identifier: Apache-2.0
// What happened beside the threads: rows of processors, of block requests by device, of messages by connection, of interrupts.
(function () {
  'use strict';
  var wakepath = window.wakepath, LANES = 4;
  var KINDS = [null, ['block', 'Block requests', 'cat-blocking_io'], ['network', 'Network', 'cat-message_in_flight'],
    ['interrupt', 'Interrupts', 'cat-hardware_wait']];

  function ascending(starts) {
    return Array.from(starts, function (start, i) {
      return i;
    }).sort(function (a, b) {
      return starts[a] - starts[b] || a - b;
    });
  }

  // [{cpu, list: {start, end, what: row of the run}}], the processors in their order.
  function processors(data) {
    var lists = [];
    if (!data.run_cpu) return [];
    ascending(data.run_start).forEach(function (run) {
      var cpu = data.run_cpu[run] - 1;
      if (cpu < 0) return;
      var list = lists[cpu] || (lists[cpu] = {start: [], end: [], what: []});
      if (list.end.length && list.end[list.end.length - 1] > data.run_start[run]) list.end[list.end.length - 1] = data.run_start[run]; // one at a time
      list.start.push(data.run_start[run]);
      list.end.push(data.run_start[run] + data.run_length[run]);
      list.what.push(run);
    });
    return lists.map(function (list, cpu) {
      return {cpu: cpu, list: list};
    }).filter(Boolean);
  }

  // The lane that an operation fits into, so that none hides another; the last one takes what is left.
  function laneOf(place, start) {
    for (var lane = 0; lane < LANES - 1; lane++) {
      var list = place.lanes[lane];
      if (!list || !list.end.length || list.end[list.end.length - 1] <= start) return lane;
    }
    return LANES - 1;
  }

  // [{kind, name, count, lanes: [{start, end, what: row of the operation}...]}], by kind, those with most first.
  function places(data) {
    var found = new Map();
    if (!data.op_kind) return [];
    ascending(data.op_start).forEach(function (op) {
      var key = data.op_kind[op] + '/' + data.op_place[op], place = found.get(key), lane, list;
      if (!place) {
        place = {kind: data.op_kind[op], name: data.names[data.op_place[op]], count: 0, lanes: []};
        found.set(key, place);
      }
      place.count++;
      lane = laneOf(place, data.op_start[op]);
      list = place.lanes[lane] || (place.lanes[lane] = {start: [], end: [], what: []});
      list.start.push(data.op_start[op]);
      list.end.push(Math.max(data.op_start[op] + data.op_length[op], list.end.length ? list.end[list.end.length - 1] : 0));
      list.what.push(op);
    });
    return Array.from(found.values()).sort(function (a, b) {
      return a.kind - b.kind || b.count - a.count || (a.name < b.name ? -1 : 1);
    });
  }

  wakepath.ops = {KINDS: KINDS, processors: processors, places: places};
})();
