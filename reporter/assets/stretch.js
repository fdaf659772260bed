// SPDX-License-Identifier: Apache-2.0
// The flame of an interval of the window that is kept event by event: its pieces, on the frames of the flame. "#stretch=FROM-TO" in the
// flame's address, in ns of the Chronology.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units;

  // By node of the window the flame's node with the same stack; -1: it has none.
  function nodesIn(model, trace) {
    var byLink = new Map(), links = new Uint32Array(trace.node_parent.length), found = new Int32Array(links.length).fill(-1), i;
    for (i = 0; i < model.count; i++) byLink.set(model.link[i], i);
    links[0] = 2166136261;
    for (i = 1; i < links.length; i++) {
      links[i] = wakepath.frameHash(links[trace.node_parent[i]], trace.frames[trace.node_frame[i]]);
      if (byLink.has(links[i])) found[i] = byLink.get(links[i]);
    }
    return found;
  }

  // {cells: time of each cell of the flame in [from, to), ns: of all, missed: of stacks that the flame has otherwise}
  function cells(model, trace, from, to) {
    var nodes = nodesIn(model, trace), sums = {cells: new Float64Array(model.cellNs.length), ns: 0, missed: 0};
    trace.piece_start.forEach(function (start, i) {
      var ns = Math.min(start + trace.piece_length[i], to) - Math.max(start, from), node = nodes[trace.piece_node[i]], cell;
      if (ns <= 0) return;
      sums.ns += ns;
      for (cell = node < 0 ? 0 : model.firstCell[node]; node >= 0 && cell < model.firstCell[node + 1]; cell++)
        if (model.cellCategory[cell] === trace.piece_category[i]) {
          sums.cells[cell] += ns;
          return;
        }
      sums.missed += ns;
    });
    return sums;
  }

  // For flame_times.js: whether the address names a stretch, which is shown then; then() when it is.
  function restore(times, state, then) {
    var found = /^(\d{1,18})-(\d{1,18})$/.exec(state.stretch || '');
    if (!found) {
      times.stretch = null;
      return false;
    }
    view.load('trace-data.js', 'trace', function (trace) {
      var sums = trace && cells(times.flame.all, trace, Number(found[1]), Number(found[2]));
      times.stretch = sums ? {text: found[0], cells: sums.cells} : null;
      times.choose(null);
      times.flame.say(!sums ? 'No window was kept event by event.' : 'Of ' + units.duration(Number(found[1])) + ' to ' + units.duration(Number(found[2])) +
        ' of the window: ' + units.duration(sums.ns - sums.missed) + ' on control paths' +
        (sums.missed ? ', and ' + units.duration(sums.missed) + ' on stacks that this flame has otherwise' : '') + '. Times shows all again.');
      then();
    });
    return true;
  }

  // The address of the flame of an interval, in ns of the Chronology.
  function address(from, to) {
    return view.address('flame.html', {stretch: Math.max(0, Math.round(from)) + '-' + Math.max(0, Math.round(to))});
  }

  wakepath.stretch = {cells: cells, restore: restore, address: address};
})();
