// SPDX-License-Identifier: Apache-2.0
// The chronological flame: time to the right, pseudo-stacks upwards, one control path under the other.
(function () {
  'use strict';
  var wakepath = window.wakepath, units = wakepath.units, models = wakepath.traceModel;
  var palette = wakepath.palette, Surface = wakepath.Surface, TimeAxis = wakepath.TimeAxis, folding = wakepath.folding;
  var ROW = 18, LABEL = 22, GAP = 14;

  function Chronology(place, data) {
    var self = this;
    wakepath.TimeView.call(this, data, 0, ['piece']);
    this.arrange(folding.DEFAULTS);
    this.start(place, 'Chronological flame', palette.LEGEND, function (bar) {
      self.switches = new folding.Switches(bar, function (hidden) {
        self.fold(hidden);
        self.changed();
      });
    });
    this.toGround();
    this.fromHash();
  }

  Chronology.prototype = Object.create(wakepath.TimeView.prototype);

  // Paths, their rows and links without what is hidden.
  Chronology.prototype.arrange = function (hidden) {
    var model = models.paths(this.data, hidden);
    this.hidden = hidden;
    this.paths = model.paths;
    this.info = model.info;
    this.flags = model.info.flags;
    this.layout();
    this.links = this.placeLinks();
  };

  // Stacks stand on the ground: that of the path with most time is what a reader sees first.
  Chronology.prototype.toGround = function () {
    if (this.paths.length) this.surface.stage.scrollTop = Math.max(0, this.paths[0].bottom + GAP - this.surface.height);
  };

  Chronology.prototype.fold = function (hidden) {
    this.switches.show(hidden);
    this.arrange(hidden);
    this.surface.setHeight(this.total);
    this.toGround();
  };

  Chronology.prototype.keep = function (state) {
    Object.assign(state, folding.state(this.hidden, folding.DEFAULTS));
  };

  Chronology.prototype.restore = function (state) {
    var hidden = folding.restore(state, folding.DEFAULTS);
    if (hidden.join('|') !== this.hidden.join('|')) this.fold(hidden);
  };

  Chronology.prototype.ownKey = function (event) {
    if (event.key !== 'k') return false;
    this.fold(this.hidden.length ? [] : folding.DEFAULTS.slice());
    this.changed();
    return true;
  };

  // What an interval of the paths of interest consists of: by category, and by what stood on top.
  Chronology.prototype.sumUp = function (from, to) {
    var data = this.data, self = this, categories = [], tops = new Map(), whole = 0;
    data.piece_start.forEach(function (start, i) {
      var ns = Math.min(start + data.piece_length[i], to) - Math.max(start, from);
      if (ns <= 0 || !data.path_base[data.piece_path[i]]) return;
      var name = self.frame(self.info.shown[data.piece_node[i]])[1];
      categories[data.piece_category[i]] = (categories[data.piece_category[i]] || 0) + ns;
      tops.set(name, (tops.get(name) || 0) + ns);
      whole += ns;
    });
    return {whole: whole, heads: ['On top', 'Time'], rows: Array.from(tops).sort(function (a, b) {
      return b[1] - a[1];
    }), parts: categories.map(function (ns, category) {
      return ['c-' + data.categories[category][0], data.categories[category][1], ns];
    }).filter(Boolean).sort(function (a, b) {
      return b[2] - a[2];
    })};
  };

  Chronology.prototype.click = function (x, y) {
    var found = this.at(x, y);
    if (found) this.axis.show(found.start - (found.end - found.start) * 0.05, found.end + (found.end - found.start) * 0.05);
  };

  Chronology.prototype.layout = function () {
    var y = TimeAxis.HEIGHT + 6;
    this.paths.forEach(function (path) {
      path.top = y;
      path.bottom = y + LABEL + path.rows.length * ROW;
      y = path.bottom + GAP;
    });
    this.total = y;
  };

  // Between two rows; a path's name stays with its highest row.
  Chronology.prototype.cut = function (y) {
    var path = this.paths.find(function (one) {
      return y >= one.top && y < one.bottom;
    });
    if (!path) return y;
    var at = path.bottom - Math.ceil((path.bottom - y) / ROW) * ROW;
    return at <= path.top + LABEL ? path.top : at;
  };

  Chronology.prototype.label = function (path) {
    var data = this.data, thread = data.path_thread[path.index], base = data.path_base[path.index];
    var name = thread !== undefined && data.names[data.thread_comm[thread]];
    return (name ? name + ' ' + data.thread_tid[thread] : 'control path ' + path.index) + (base ? '' : ' (waited for)');
  };

  Chronology.prototype.frame = function (node) {
    return this.data.frames[this.data.node_frame[node]] || [0, '?', ''];
  };

  Chronology.prototype.draw = function (ctx, width, height, top) {
    var self = this;
    this.texts = [];
    this.paths.forEach(function (path) {
      if (path.bottom < top || path.top > top + height) return;
      ctx.font = '600 12px ' + self.colours.sans;
      ctx.textBaseline = 'middle';
      ctx.fillStyle = self.colours.muted;
      ctx.fillText(self.label(path), 6, path.top - top + LABEL / 2);
      ctx.font = '11.5px ' + self.colours.font;
      path.rows.forEach(function (row, depth) {
        var y = path.bottom - (depth + 1) * ROW - top;
        if (y < height && y + ROW > TimeAxis.HEIGHT) self.drawRow(ctx, row, y, width);
      });
    });
    if (this.showLinks) this.drawLinks(ctx, width, top, height);
    ctx.font = '11.5px ' + this.colours.font;
    ctx.fillStyle = this.colours['frame-ink'];
    this.texts.forEach(function (text) { // over the links: a name that lines cross must be readable
      ctx.fillText(text[0], text[1], text[2]);
    });
    wakepath.ready('chronology:' + this.drawn);
  };

  // Equal neighbours are one rectangle until the gap between them is a pixel wide.
  Chronology.prototype.drawRow = function (ctx, row, y, width) {
    var axis = this.axis, i = Math.max(0, models.after(row.start, axis.from) - 1), node = -1, x0 = 0, x1 = 0;
    while (i > 0 && row.end[i - 1] > axis.from) i--;
    for (; i < row.start.length && row.start[i] < axis.to; i++) {
      var start = axis.x(row.start[i]), end = axis.x(row.end[i]);
      if (end < 0) continue;
      if (row.node[i] === node && start - x1 < 1) {
        x1 = Math.max(x1, end);
        continue;
      }
      if (node >= 0) this.drawRect(ctx, node, x0, x1, y, width);
      node = row.node[i];
      x0 = start;
      x1 = end;
    }
    this.lastPixel = -1;
    if (node >= 0) this.drawRect(ctx, node, x0, x1, y, width);
    this.lastPixel = -1;
  };

  Chronology.prototype.drawRect = function (ctx, node, x0, x1, y, width) {
    x0 = Math.max(x0, -1);
    x1 = Math.min(x1, width + 1);
    var wide = x1 - x0, frame = this.frame(node);
    if (wide < 1) {
      // Many rectangles in one pixel: the first stands for them.
      if (Math.floor(x0) === this.lastPixel) return;
      this.lastPixel = Math.floor(x0);
      wide = 1;
    }
    this.drawn++;
    ctx.fillStyle = this.colours[palette.colourName(frame, this.flags[node])];
    ctx.fillRect(x0, y, wide > 3 ? wide - 0.75 : wide, ROW - 1);
    if (wide > 26) this.texts.push([Surface.fit(ctx, frame[1], wide - 8), Math.max(x0, 0) + 4, y + ROW / 2]);
  };

  // Where a thread stands at a moment: the path and the row of its layer's top, or null.
  Chronology.prototype.locate = function (comm, time, candidates) {
    for (var i = 0; i < candidates.length; i++) {
      var path = candidates[i], at = models.after(path.starts, time) - 1;
      if (at < 0 || path.ends[at] + 1000 < time) continue;
      var stack = models.chain(this.info, this.data.piece_node[path.tops[at]]), inside = false;
      for (var depth = 0; depth < stack.length; depth++) {
        var frame = this.frame(stack[depth]);
        if (frame[0] !== palette.STYLE.PROCESS) continue;
        if (inside) break;
        inside = frame[1] === comm;
      }
      if (inside) return {path: path, row: depth, time: time};
    }
    return null;
  };

  // Which paths a process name stands in.
  Chronology.prototype.pathsByName = function () {
    var self = this, names = new Map();
    this.paths.forEach(function (path) {
      path.rows.forEach(function (row) {
        row.node.forEach(function (node) {
          var frame = self.frame(node);
          if (frame[0] !== palette.STYLE.PROCESS) return;
          var list = names.get(frame[1]) || [];
          if (list[list.length - 1] !== path && list.indexOf(path) < 0) list.push(path);
          names.set(frame[1], list);
        });
      });
    });
    return names;
  };

  // Links inside a path are where the stack changes and need no line: those between paths are kept.
  Chronology.prototype.placeLinks = function () {
    var data = this.data, names = this.pathsByName(), placed = [];
    for (var i = 0; i < data.link_kind.length; i++) {
      var fromName = '[' + data.names[data.thread_comm[data.link_from[i]]] + ']';
      var toName = '[' + data.names[data.thread_comm[data.link_to[i]]] + ']';
      var from = this.locate(fromName, data.link_start[i], names.get(fromName) || []);
      var to = from && this.locate(toName, data.link_end[i], names.get(toName) || []);
      if (to && to.path !== from.path) placed.push({from: from, to: to, kind: data.link_kind[i]});
    }
    return placed;
  };

  // Those that fall on the same pixels are one line; where lines stand close they are faint, so that what they cross is seen.
  Chronology.prototype.drawLinks = function (ctx, width, top, height) {
    var axis = this.axis, seen = new Set();
    ctx.strokeStyle = this.colours['link-line'];
    ctx.lineWidth = 1;
    ctx.beginPath();
    this.links.forEach(function (link) {
      if (link.to.time < axis.from || link.from.time > axis.to) return;
      var y0 = link.from.path.bottom - link.from.row * ROW - top, y1 = link.to.path.bottom - link.to.row * ROW - top;
      if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) return;
      var x0 = Math.round(axis.x(link.from.time)) + 0.5, x1 = Math.round(axis.x(link.to.time)) + 0.5, key = [x0, x1, y0, y1].join(' ');
      if (seen.has(key)) return;
      seen.add(key);
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
    });
    ctx.globalAlpha = Math.max(0.15, Math.min(0.6, width / 30 / seen.size));
    ctx.stroke();
    ctx.globalAlpha = 1;
  };

  Chronology.prototype.at = function (x, y) {
    var time = this.axis.time(x), i;
    for (i = 0; i < this.paths.length; i++) {
      var path = this.paths[i], depth = Math.floor((path.bottom - y) / ROW);
      if (y < path.top + LABEL || y >= path.bottom || !path.rows[depth]) continue;
      var row = path.rows[depth], slack = 1 / this.axis.scale(), at = models.after(row.start, time + slack) - 1;
      if (at >= 0 && row.end[at] + slack >= time)
        return {path: path, node: row.node[at], start: row.start[at], end: row.end[at]};
    }
    return null;
  };

  Chronology.prototype.hover = function (x, y, event) {
    var found = this.at(x, y);
    this.surface.canvas.style.cursor = found ? 'pointer' : 'grab';
    if (!found) {
      this.tip.hide();
      return;
    }
    var frame = this.frame(found.node);
    this.tip.show(event.clientX, event.clientY, {title: frame[1],
      lines: [palette.describe(frame), 'on ' + this.label(found.path)],
      rows: [['From', units.duration(found.start)], ['Length', units.duration(found.end - found.start)]]});
  };

  wakepath.views.chronology = function (place, data) {
    wakepath.chronology = new Chronology(place, data);
  };
})();
