// SPDX-License-Identifier: Apache-2.0
// A window kept event by event: the rectangles of the chronological flame, the rows of the running view.
(function () {
  'use strict';
  var palette = window.wakepath.palette, STYLE = palette.STYLE;

  // The tree without what is hidden (folding.js): by node, the one that stands for it, what that stands on, how deep, and whether its
  // functions run, sleep or do both in their own layer.
  function nodes(data, hidden) {
    var count = data.node_parent.length, info = {flags: new Uint8Array(count), depth: new Int32Array(count), parent: new Int32Array(count),
      shown: new Int32Array(count)}, byFrame = new Map(), i, below, key;
    var base = window.wakepath.folding.mark({parent: data.node_parent, frame: data.node_frame, frames: data.frames}, hidden);
    for (i = 1; i < count; i++) {
      below = info.shown[data.node_parent[i]];
      key = below * 2097152 + data.node_frame[i];
      if (base && base[i] !== i) {
        info.shown[i] = below;
        continue;
      }
      if (base && byFrame.has(key)) {
        info.shown[i] = byFrame.get(key);
        continue;
      }
      byFrame.set(key, i);
      info.shown[i] = i;
      info.parent[i] = below;
      info.depth[i] = info.depth[below] + 1;
    }
    findFlags(data, info);
    return info;
  }

  function findFlags(data, info) {
    data.piece_node.forEach(function (node) {
      info.flags[info.shown[node]] |= palette.RUNS;
    });
    for (var i = data.node_parent.length - 1; i > 0; i--) {
      if (info.shown[i] !== i) continue;
      var style = (data.frames[data.node_frame[i]] || [0])[0], parent = info.parent[i];
      if (style === STYLE.SLEEP) info.flags[parent] |= palette.SLEEPS;
      else if (style === STYLE.USER || style === STYLE.KERNEL) info.flags[parent] |= info.flags[i];
    }
  }

  // The nodes of a stack from the base up.
  function chain(info, node) {
    node = info.shown[node];
    var up = new Array(info.depth[node]);
    for (var i = up.length - 1; i >= 0; i--) {
      up[i] = node;
      node = info.parent[node];
    }
    return up;
  }

  function order(data) {
    var places = data.piece_node.map(function (node, i) {
      return i;
    });
    return places.sort(function (a, b) {
      return data.piece_path[a] - data.piece_path[b] || data.piece_start[a] - data.piece_start[b] || a - b;
    });
  }

  function newPath(index) {
    return {index: index, rows: [], starts: [], ends: [], tops: []};
  }

  function close(path, open, from) {
    while (open.length > from) {
      var rect = open.pop(), row = path.rows[open.length] || (path.rows[open.length] = {start: [], end: [], node: []});
      row.start.push(rect.start);
      row.end.push(rect.end);
      row.node.push(rect.node);
    }
  }

  // Pieces that touch and share their lower frames share their rectangles there.
  function addPiece(path, open, stack, start, end) {
    var same = 0;
    while (same < open.length && same < stack.length && open[same].node === stack[same] && start <= open[same].end) same++;
    close(path, open, same);
    for (var i = 0; i < same; i++) open[i].end = Math.max(open[i].end, end);
    for (i = same; i < stack.length; i++) open.push({node: stack[i], start: start, end: end});
  }

  // [{rows: [{start, end, node}...] by depth, starts, ends, tops: the pieces themselves}] by control path
  function paths(data, hidden) {
    var info = nodes(data, hidden), made = [], open = [], path = null;
    order(data).forEach(function (piece) {
      if (!path || path.index !== data.piece_path[piece]) {
        if (path) close(path, open, 0);
        path = newPath(data.piece_path[piece]);
        made.push(path);
      }
      var start = data.piece_start[piece], end = start + data.piece_length[piece], node = data.piece_node[piece];
      addPiece(path, open, chain(info, node), start, end);
      path.starts.push(start);
      path.ends.push(end);
      path.tops.push(piece);
    });
    if (path) close(path, open, 0);
    made.forEach(sortRows);
    return {paths: mainFirst(data, made), info: info};
  }

  // The path of interest with most time comes first; the others stay as they are.
  function mainFirst(data, made) {
    var best = -1, most = -1;
    made.forEach(function (path, place) {
      var ns = data.path_base[path.index] ? path.starts.reduce(function (sum, start, i) {
        return sum + path.ends[i] - start;
      }, 0) : -1;
      if (ns > most) {
        most = ns;
        best = place;
      }
    });
    return best > 0 ? made.splice(best, 1).concat(made) : made;
  }

  function sortRows(path) {
    for (var depth = 0; depth < path.rows.length; depth++) {
      var row = path.rows[depth] || (path.rows[depth] = {start: [], end: [], node: []});
      var places = row.start.map(function (start, i) {
        return i;
      }).sort(function (a, b) {
        return row.start[a] - row.start[b] || a - b;
      });
      path.rows[depth] = {start: Float64Array.from(places, pick(row.start)), end: Float64Array.from(places, pick(row.end)),
        node: Int32Array.from(places, pick(row.node))};
    }
  }

  function pick(list) {
    return function (i) {
      return list[i];
    };
  }

  // The first place in a sorted list whose value is greater than `value`.
  function after(list, value) {
    var low = 0, high = list.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (list[middle] > value) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Runs and sleeps by thread, in time order: [{start, end, what: row numbers}]
  function byThread(count, threads, starts, lengths) {
    var rows = [], i;
    for (i = 0; i < count; i++) rows.push([]);
    for (i = 0; i < threads.length; i++) if (rows[threads[i]]) rows[threads[i]].push(i);
    function before(a, b) {
      return starts[a] - starts[b] || a - b;
    }
    return rows.map(function (row) {
      var isSorted = row.every(function (one, i) {
        return !i || before(row[i - 1], one) < 0;
      });
      if (!isSorted) row.sort(before);
      return {what: Int32Array.from(row), start: Float64Array.from(row, pick(starts)), end: Float64Array.from(row, function (i) {
        return starts[i] + lengths[i];
      })};
    });
  }

  window.wakepath.traceModel = {paths: paths, chain: chain, after: after, byThread: byThread};
})();
