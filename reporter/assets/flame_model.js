// SPDX-License-Identifier: Apache-2.0
// The consolidated flame as arrays in preorder, siblings by descending time: node 0 is the root, end[i] is one past the
// last node on i. Gathering makes a model of the same shape, so the drawing never knows which one it has.
(function () {
  'use strict';
  var palette = window.wakepath.palette, STYLE = palette.STYLE;

  function allocate(count, cells) {
    return {
      count: count, maxDepth: 0,
      parent: new Int32Array(count), end: new Int32Array(count), depth: new Int32Array(count),
      frame: new Int32Array(count).fill(-1), link: new Uint32Array(count),
      total: new Float64Array(count), left: new Float64Array(count), flags: new Uint8Array(count),
      firstCell: new Int32Array(count + 1),
      cellCategory: new Uint8Array(cells), cellNs: new Float64Array(cells), cellPieces: new Float64Array(cells)
    };
  }

  // From parent[], depth[] and the cells: ends, totals, flags and left edges.
  function finish(model, frames) {
    var i, cell, parent;
    for (i = 0; i < model.count; i++) {
      model.end[i] = i + 1;
      if (model.depth[i] > model.maxDepth) model.maxDepth = model.depth[i];
      for (cell = model.firstCell[i]; cell < model.firstCell[i + 1]; cell++) model.total[i] += model.cellNs[cell];
      if (model.total[i] > 0) model.flags[i] = palette.RUNS;
    }
    for (i = model.count - 1; i > 0; i--) {
      parent = model.parent[i];
      model.total[parent] += model.total[i];
      if (model.end[i] > model.end[parent]) model.end[parent] = model.end[i];
      var style = frames[model.frame[i]][0];
      if (style === STYLE.SLEEP) model.flags[parent] |= palette.SLEEPS;
      else if (style === STYLE.USER || style === STYLE.KERNEL) model.flags[parent] |= model.flags[i];
    }
    var next = new Float64Array(model.count);
    for (i = 1; i < model.count; i++) {
      parent = model.parent[i];
      model.left[i] = next[i] = next[parent];
      next[parent] += model.total[i];
    }
    return model;
  }

  function decode(data) {
    var count = data.depth.length + 1, model = allocate(count, data.cell_ns.length);
    var open = [0], i, cell = 0;
    model.frames = data.frames;
    model.inlined = new Set(); // links: they stay where frames are gathered
    model.depth.set(data.depth, 1);
    model.frame.set(data.frame, 1);
    model.link.set(data.link, 1);
    model.cellCategory.set(data.cell_category);
    model.cellNs.set(data.cell_ns);
    model.cellPieces.set(data.cell_pieces);
    for (i = 1; i < count; i++) {
      model.parent[i] = open[model.depth[i] - 1] || 0;
      open[model.depth[i]] = i;
    }
    for (i = 0; i < count; i++) {
      model.firstCell[i] = cell;
      while (cell < data.cell_node.length && data.cell_node[cell] === i) cell++;
    }
    model.firstCell[count] = cell;
    (data.inlined || []).reduce(function (before, step) {
      model.inlined.add(model.link[before + step]);
      return before + step;
    }, 0);
    return finish(model, data.frames);
  }

  // The outermost nodes that `wanted(frame id)` accepts: nothing on an accepted node is looked at.
  function outermost(model, wanted) {
    var found = [], i = 1;
    while (i < model.count) {
      if (wanted(model.frame[i])) {
        found.push(i);
        i = model.end[i];
      } else {
        i++;
      }
    }
    return found;
  }

  function hasTime(group) {
    return group.total > 0;
  }

  // With those that are left out and stand directly on them, or on such: their time is taken by what they stand on.
  function members(model, nodes, leaveOut) {
    if (!leaveOut) return nodes;
    var all = nodes.slice();
    for (var i = 0; i < all.length; i++)
      for (var child = all[i] + 1; child < model.end[all[i]]; child = model.end[child])
        if (leaveOut(model.frame[child])) all.push(child);
    return all;
  }

  function childGroups(model, nodes, leaveOut) {
    var groups = new Map();
    nodes.forEach(function (node) {
      for (var child = node + 1; child < model.end[node]; child = model.end[child]) {
        if (leaveOut && leaveOut(model.frame[child])) continue;
        var group = groups.get(model.frame[child]);
        if (group) {
          group.nodes.push(child);
          group.total += model.total[child];
        } else {
          groups.set(model.frame[child], {frame: model.frame[child], nodes: [child], total: model.total[child]});
        }
      }
    });
    return Array.from(groups.values()).filter(hasTime).sort(function (a, b) {
      return b.total - a.total || (model.frames[a.frame][1] < model.frames[b.frame][1] ? -1 : 1);
    });
  }

  function addCells(model, nodes, rows) {
    var sums = new Map();
    nodes.forEach(function (node) {
      for (var cell = model.firstCell[node]; cell < model.firstCell[node + 1]; cell++) {
        var sum = sums.get(model.cellCategory[cell]) || [model.cellCategory[cell], 0, 0];
        sum[1] += model.cellNs[cell];
        sum[2] += model.cellPieces[cell];
        sums.set(sum[0], sum);
      }
    });
    sums.forEach(function (sum) {
      rows.push(sum);
    });
  }

  // One tree of all that stands on the frames that `wanted` accepts, wherever they are; without those frames that `leaveOut`
  // (if there is one) accepts.
  function gather(model, wanted, leaveOut) {
    return gatherAt(model, outermost(model, wanted), leaveOut);
  }

  // The same of nodes of which none stands on another.
  function gatherAt(model, roots, leaveOut) {
    var made = {parent: [], depth: [], frame: [], link: [], firstCell: []}, cells = [];
    var stack = [{nodes: [], parent: 0, depth: 0, frame: -1}];
    while (stack.length) {
      var group = stack.pop(), at = made.parent.length, inside = members(model, group.nodes, leaveOut);
      made.parent.push(group.parent);
      made.depth.push(group.depth);
      made.frame.push(group.frame);
      made.link.push(group.nodes.length ? model.link[group.nodes[0]] : 0);
      made.firstCell.push(cells.length);
      addCells(model, inside, cells);
      var children = at ? childGroups(model, inside, leaveOut) : rootGroups(model, roots);
      for (var i = children.length - 1; i >= 0; i--)
        stack.push({nodes: children[i].nodes, parent: at, depth: group.depth + 1, frame: children[i].frame});
    }
    return build(model, made, cells);
  }

  // The same flame with other times on its cells: frames without any are left out, siblings stand by size again.
  function during(model, cellNs) {
    var other = {frames: model.frames, inlined: model.inlined, parent: model.parent, depth: model.depth, frame: model.frame, link: model.link,
      firstCell: model.firstCell, end: model.end, count: model.count, cellCategory: model.cellCategory, cellNs: cellNs,
      cellPieces: new Float64Array(cellNs.length), total: new Float64Array(model.count)};
    for (var i = model.count - 1; i >= 0; i--) {
      for (var cell = model.firstCell[i]; cell < model.firstCell[i + 1]; cell++) other.total[i] += cellNs[cell];
      if (i) other.total[model.parent[i]] += other.total[i];
    }
    return gather(other, function () {
      return true;
    });
  }

  // Contours: frames that `leaveOut` accepts are gone, and their time stands on the nearest one below that is left.
  function without(model, leaveOut) {
    return gather(model, function () {
      return true;
    }, leaveOut);
  }

  function rootGroups(model, roots) {
    var groups = new Map();
    roots.forEach(function (node) {
      var group = groups.get(model.frame[node]) || {frame: model.frame[node], nodes: [], total: 0};
      group.nodes.push(node);
      group.total += model.total[node];
      groups.set(group.frame, group);
    });
    return Array.from(groups.values()).filter(hasTime).sort(function (a, b) {
      return b.total - a.total;
    });
  }

  function build(from, made, cells) {
    var model = allocate(made.parent.length, cells.length);
    model.frames = from.frames;
    model.inlined = from.inlined;
    model.parent.set(made.parent);
    model.depth.set(made.depth);
    model.frame.set(made.frame);
    model.link.set(made.link);
    model.firstCell.set(made.firstCell.concat([cells.length]));
    cells.forEach(function (cell, i) {
      model.cellCategory[i] = cell[0];
      model.cellNs[i] = cell[1];
      model.cellPieces[i] = cell[2];
    });
    return finish(model, from.frames);
  }

  // Time under a node by category, largest first: [[category, ns]...]; a subtree's cells stand together.
  function categories(model, node) {
    var sums = [];
    for (var cell = model.firstCell[node]; cell < model.firstCell[model.end[node]]; cell++)
      sums[model.cellCategory[cell]] = (sums[model.cellCategory[cell]] || 0) + model.cellNs[cell];
    return sums.map(function (ns, category) {
      return [category, ns];
    }).filter(function (row) {
      return row && row[1] > 0;
    }).sort(function (a, b) {
      return b[1] - a[1];
    });
  }

  function pieces(model, node) {
    var sum = 0;
    for (var cell = model.firstCell[node]; cell < model.firstCell[model.end[node]]; cell++) sum += model.cellPieces[cell];
    return sum;
  }

  window.wakepath.flameModel = {decode: decode, gather: gather, gatherAt: gatherAt, outermost: outermost, during: during, without: without, categories: categories, pieces: pieces};
})();
