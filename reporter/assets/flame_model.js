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

  function childGroups(model, nodes) {
    var groups = new Map();
    nodes.forEach(function (node) {
      for (var child = node + 1; child < model.end[node]; child = model.end[child]) {
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

  // One tree of all that stands on the frames that `wanted` accepts, wherever they are.
  function gather(model, wanted) {
    return gatherAt(model, outermost(model, wanted));
  }

  // The same of nodes of which none stands on another.
  function gatherAt(model, roots) {
    var made = {parent: [], depth: [], frame: [], link: [], firstCell: []}, cells = [];
    var stack = [{nodes: [], parent: 0, depth: 0, frame: -1}];
    while (stack.length) {
      var group = stack.pop(), at = made.parent.length;
      made.parent.push(group.parent);
      made.depth.push(group.depth);
      made.frame.push(group.frame);
      made.link.push(group.nodes.length ? model.link[group.nodes[0]] : 0);
      made.firstCell.push(cells.length);
      addCells(model, group.nodes, cells);
      var children = at ? childGroups(model, group.nodes) : rootGroups(model, roots);
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

  // Children of each new node by frame, asked only where two of them may be of one function.
  function Tree(model) {
    this.model = model;
    this.frame = [-1];
    this.parent = [0];
    this.link = [model.link[0]];
    this.first = [0];
    this.next = [0];
    this.isShared = [false];
    this.byFrame = new Map();
  }

  // From now on children of one function are one node: those there are, and those to come.
  Tree.prototype.share = function (node) {
    if (this.isShared[node]) return;
    this.isShared[node] = true;
    for (var child = this.first[node]; child; child = this.next[child]) this.byFrame.set(node * 2097152 + this.frame[child], child);
  };

  Tree.prototype.child = function (node, frame, link) {
    var found = this.isShared[node] && this.byFrame.get(node * 2097152 + frame), made;
    if (found) {
      this.share(found); // two become one: their children, too
      return found;
    }
    made = this.frame.push(frame) - 1;
    this.parent.push(node);
    this.link.push(link);
    this.first.push(0);
    this.next.push(this.first[node]);
    this.first[node] = made;
    this.isShared.push(false);
    if (this.isShared[node]) this.byFrame.set(node * 2097152 + frame, made);
    return made;
  };

  // Cells by new node, those of one category together: [[category, ns, pieces]...], or undefined.
  function cellsOf(model, home, count) {
    var cells = new Array(count);
    for (var i = 0; i < model.count; i++)
      for (var cell = model.firstCell[i]; cell < model.firstCell[i + 1]; cell++) {
        var rows = cells[home[i]] || (cells[home[i]] = []), row = null;
        for (var k = 0; k < rows.length && !row; k++) if (rows[k][0] === model.cellCategory[cell]) row = rows[k];
        if (!row) rows.push(row = [model.cellCategory[cell], 0, 0]);
        row[1] += model.cellNs[cell];
        row[2] += model.cellPieces[cell];
      }
    return cells;
  }

  // Numbers of the tree's nodes in preorder, siblings by descending time.
  function preorder(tree, total) {
    var order = [], work = [0], children, child;
    while (work.length) {
      var node = work.pop();
      order.push(node);
      children = [];
      for (child = tree.first[node]; child; child = tree.next[child]) if (total[child] > 0) children.push(child);
      if (children.length > 1) children.sort(function (a, b) {
        return total[a] - total[b] || b - a;
      });
      for (var i = 0; i < children.length; i++) work.push(children[i]);
    }
    return order;
  }

  // The same flame without what is hidden (folding.js): that time stands on the nearest frame below that is left. `home` of the result
  // has the new node of each old one, `from` the model it was made of.
  function fold(model, hidden, spared) {
    var base = window.wakepath.folding.mark(model, hidden, spared), tree = new Tree(model), home = new Int32Array(model.count), i;
    if (!base) return model;
    for (i = 1; i < model.count; i++) {
      var below = home[model.parent[i]];
      if (base[i] === i) {
        home[i] = tree.child(below, model.frame[i], model.link[i]);
      } else {
        home[i] = below;
        tree.share(below);
      }
    }
    return arrange(model, tree, home, base);
  }

  function arrange(model, tree, home, base) {
    var count = tree.frame.length, cells = cellsOf(model, home, count), total = new Float64Array(count), made, rows = [], i;
    for (i = count - 1; i >= 0; i--) {
      (cells[i] || []).forEach(function (cell) {
        total[i] += cell[1];
      });
      if (i) total[tree.parent[i]] += total[i];
    }
    var order = preorder(tree, total), number = new Int32Array(count);
    order.forEach(function (node, at) {
      number[node] = at;
    });
    made = {parent: [], depth: [], frame: [], link: [], firstCell: []};
    order.forEach(function (node, at) {
      made.parent.push(at ? number[tree.parent[node]] : 0);
      made.depth.push(at ? made.depth[number[tree.parent[node]]] + 1 : 0);
      made.frame.push(tree.frame[node]);
      made.link.push(tree.link[node]);
      made.firstCell.push(rows.length);
      (cells[node] || []).forEach(function (cell) {
        rows.push(cell);
      });
    });
    var folded = build(model, made, rows);
    folded.from = model;
    folded.isKept = base;
    folded.home = home.map(function (node) {
      return number[node];
    });
    return folded;
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

  window.wakepath.flameModel = {decode: decode, gather: gather, gatherAt: gatherAt, outermost: outermost, during: during, fold: fold, categories: categories, pieces: pieces};
})();
