// SPDX-License-Identifier: Apache-2.0
// The process running view: time to the right, a row a thread, by host and process. Bars are runs, lines are links, boxes
// are sleeps when asked for.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, models = wakepath.traceModel;
  var palette = wakepath.palette, Surface = wakepath.Surface, TimeAxis = wakepath.TimeAxis;
  var ROW = 22, HEAD = 26;

  function Running(place, data) {
    var self = this;
    wakepath.TimeView.call(this, data, window.innerWidth < 620 ? 110 : 190, ['run', 'sleep']);
    this.runs = models.byThread(data.thread_tid.length, data.run_thread, data.run_start, data.run_length);
    this.sleeps = models.byThread(data.thread_tid.length, data.sleep_thread, data.sleep_start, data.sleep_length);
    this.showSleeps = false;
    this.layout();
    this.start(place, 'Process running view', [['f-bar', 'runs'], ['f-sleep', 'sleeps (on demand)'], ['f-link', 'link: one run set the other going']],
      function (bar) {
        self.sleepButton = view.toggle(bar, 'Sleeps', 'Draw what each thread slept in', false, function (on) {
          self.showSleeps = on;
          self.changed();
        });
      });
    this.fromHash();
  }

  Running.prototype = Object.create(wakepath.TimeView.prototype);

  Running.prototype.click = function (x, y) {
    var row = this.rowAt(y);
    if (row && x < this.axis.gutter && row.comm)
      wakepath.go('flame.html', 'process=' + encodeURIComponent('[' + row.comm + ']'));
  };

  Running.prototype.keep = function (state) {
    if (this.showSleeps) state.sleeps = '1';
  };

  Running.prototype.restore = function (state) {
    if (state.sleeps && !this.showSleeps) this.sleepButton.click();
  };

  // Hosts, in them processes, in them threads: those of interest first, then by who was seen first.
  Running.prototype.groups = function () {
    var data = this.data, self = this, groups = new Map();
    data.thread_tid.forEach(function (tid, thread) {
      var key = data.thread_host[thread] + '/' + data.thread_pid[thread], group = groups.get(key);
      var first = Math.min(self.runs[thread].start[0] === undefined ? Infinity : self.runs[thread].start[0],
        self.sleeps[thread].start[0] === undefined ? Infinity : self.sleeps[thread].start[0]);
      if (!group) {
        group = {host: data.names[data.thread_host[thread]], pid: data.thread_pid[thread], threads: [], first: Infinity, base: 0};
        groups.set(key, group);
      }
      group.threads.push(thread);
      group.first = Math.min(group.first, first);
      group.base = Math.max(group.base, data.thread_base[thread]);
    });
    var home = {}; // hosts with processes of interest come first
    groups.forEach(function (group) {
      home[group.host] = Math.max(home[group.host] || 0, group.base);
    });
    return Array.from(groups.values()).sort(function (a, b) {
      return home[b.host] - home[a.host] || (a.host < b.host ? -1 : a.host > b.host ? 1 : 0) || b.base - a.base || a.first - b.first || a.pid - b.pid;
    });
  };

  Running.prototype.layout = function () {
    var data = this.data, rows = [], y = TimeAxis.HEIGHT + 4, host = null, several;
    var groups = this.groups();
    several = groups.some(function (group) {
      return group.host !== groups[0].host;
    });
    this.rowOf = new Array(data.thread_tid.length);
    groups.forEach(function (group) {
      if (several && group.host !== host) {
        rows.push({top: y, height: HEAD, title: group.host, thread: -1});
        y += HEAD;
      }
      host = group.host;
      group.threads.forEach(function (thread, place) {
        var comm = data.names[data.thread_comm[thread]];
        rows.push({top: y, height: ROW, thread: thread, comm: comm, base: data.thread_base[thread], more: place > 0,
          label: (place ? '  ' : '') + (comm || '?'), number: data.thread_tid[thread]});
        this.rowOf[thread] = rows[rows.length - 1];
        y += ROW;
      }, this);
      y += 3;
    }, this);
    this.rows = rows;
    this.total = y + 6;
  };

  Running.prototype.rowAt = function (y) {
    return this.rows.find(function (row) {
      return y >= row.top && y < row.top + row.height;
    });
  };

  Running.prototype.cut = function (y) {
    var row = this.rowAt(y);
    return row ? row.top : y;
  };

  Running.prototype.draw = function (ctx, width, height, top) {
    var self = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(this.axis.gutter, 0, width, height);
    ctx.clip();
    this.visible = this.rows.filter(function (row) {
      return row.top + row.height > top && row.top < top + height;
    });
    this.visible.forEach(function (row) {
      if (row.thread < 0) return;
      ctx.fillStyle = self.colours.line;
      ctx.fillRect(self.axis.gutter, row.top - top + ROW - 1, width, 1);
      if (self.showSleeps) self.drawSleeps(ctx, row, row.top - top);
    });
    if (this.showLinks) this.drawLinks(ctx, top, height);
    this.visible.forEach(function (row) {
      if (row.thread >= 0) self.drawRuns(ctx, row, row.top - top);
    });
    ctx.restore();
    this.drawLabels(ctx, top);
    wakepath.ready('running:' + this.drawn);
  };

  Running.prototype.drawLabels = function (ctx, top) {
    var self = this, gutter = this.axis.gutter;
    ctx.textBaseline = 'middle';
    this.visible.forEach(function (row) {
      var y = row.top - top + row.height / 2;
      if (row.thread < 0) {
        ctx.font = '600 12px ' + self.colours.sans;
        ctx.fillStyle = self.colours.muted;
        ctx.fillText(Surface.fit(ctx, row.title, gutter * 2), 6, y + 2);
        return;
      }
      ctx.font = (row.base ? '600 ' : '') + '12px ' + self.colours.font;
      ctx.fillStyle = row === self.hoveredRow ? self.colours.accent : self.colours.ink;
      ctx.fillText(Surface.fit(ctx, row.label, gutter - 64), 6, y);
      ctx.font = '11px ' + self.colours.font;
      ctx.fillStyle = self.colours.muted;
      ctx.textAlign = 'right';
      ctx.fillText(String(row.number), gutter - 8, y);
      ctx.textAlign = 'left';
    });
  };

  // Calls paint(x0, x1, place) for what is in sight, things under a pixel together.
  Running.prototype.eachSpan = function (list, paint) {
    var axis = this.axis, i = Math.max(0, models.after(list.start, axis.from) - 1), last = -2;
    for (; i < list.start.length && list.start[i] < axis.to; i++) {
      if (list.end[i] < axis.from) continue;
      var x0 = axis.x(list.start[i]), x1 = axis.x(list.end[i]);
      if (x1 - x0 < 1) {
        if (Math.floor(x0) === last) continue;
        last = Math.floor(x0);
        x1 = x0 + 1;
      }
      paint(x0, x1, i);
    }
  };

  Running.prototype.drawRuns = function (ctx, row, y) {
    var self = this;
    ctx.fillStyle = this.colours.bar;
    this.eachSpan(this.runs[row.thread], function (x0, x1) {
      ctx.fillRect(x0, y + 5, x1 - x0, ROW - 11);
      self.drawn++;
    });
  };

  Running.prototype.drawSleeps = function (ctx, row, y) {
    var self = this, data = this.data, list = this.sleeps[row.thread];
    ctx.font = '10.5px ' + this.colours.font;
    ctx.textBaseline = 'middle';
    this.eachSpan(list, function (x0, x1, i) {
      ctx.fillStyle = self.colours['f-sleep'];
      ctx.fillRect(x0, y + 3, Math.max(1, x1 - x0 - 0.75), ROW - 7);
      self.drawn++;
      var left = Math.max(x0, self.axis.gutter);
      if (x1 - left < 30) return;
      ctx.fillStyle = self.colours['frame-ink'];
      ctx.fillText(Surface.fit(ctx, data.names[data.sleep_label[list.what[i]]] || '', x1 - left - 8), left + 4, y + ROW / 2);
    });
  };

  Running.prototype.drawLinks = function (ctx, top, height) {
    var data = this.data, axis = this.axis, seen = new Set(), count = data.link_kind.length;
    ctx.strokeStyle = this.colours['link-line'];
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (var i = 0; i < count; i++) {
      var from = this.rowOf[data.link_from[i]], to = this.rowOf[data.link_to[i]];
      if (!from || !to || data.link_end[i] < axis.from || data.link_start[i] > axis.to) continue;
      var y0 = from.top + ROW / 2 - top, y1 = to.top + ROW / 2 - top;
      if (from === to || Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) continue;
      var x0 = axis.x(data.link_start[i]), x1 = axis.x(data.link_end[i]);
      var key = Math.round(x0) + ' ' + Math.round(x1) + ' ' + y0 + ' ' + y1;
      if (seen.has(key)) continue;
      seen.add(key);
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
    }
    ctx.globalAlpha = seen.size > 1500 ? 0.12 : seen.size > 300 ? 0.5 : 0.85;
    ctx.stroke();
    ctx.globalAlpha = 1;
    this.drawn += seen.size;
  };

  Running.prototype.spanAt = function (list, x) {
    var slack = 1.5 / this.axis.scale(), time = this.axis.time(x), at = models.after(list.start, time + slack) - 1;
    return at >= 0 && list.end[at] + slack >= time ? at : -1;
  };

  Running.prototype.hover = function (x, y, event) {
    var row = this.rowAt(y), data = this.data, list, at;
    var name = row && row.thread >= 0 && x < this.axis.gutter;
    this.surface.canvas.style.cursor = name ? 'pointer' : 'grab';
    if (this.hoveredRow !== (name ? row : null)) {
      this.hoveredRow = name ? row : null;
      this.surface.paint();
    }
    this.tip.hide();
    if (!row || row.thread < 0) return;
    if (name) {
      this.tip.show(event.clientX, event.clientY, {title: row.comm, lines: ['thread ' + row.number + ' of process ' +
        data.thread_pid[row.thread] + ' on ' + data.names[data.thread_host[row.thread]], 'Click to open its flame']});
      return;
    }
    list = this.runs[row.thread];
    at = this.spanAt(list, x);
    if (at >= 0) {
      this.tip.show(event.clientX, event.clientY, {title: data.names[data.run_comm[list.what[at]]] || row.comm, lines: ['runs'],
        rows: [['From', units.duration(list.start[at])], ['Length', units.duration(list.end[at] - list.start[at])]]});
      return;
    }
    list = this.sleeps[row.thread];
    at = this.spanAt(list, x);
    if (at < 0) return;
    var category = data.categories[data.sleep_category[list.what[at]]];
    this.tip.show(event.clientX, event.clientY, {title: data.names[data.sleep_label[list.what[at]]] || 'sleep',
      lines: [row.comm + ' sleeps', category ? category[1] : ''],
      rows: [['From', units.duration(list.start[at])], ['Length', units.duration(list.end[at] - list.start[at])]]});
  };

  wakepath.views.running = function (place, data) {
    wakepath.running = new Running(place, data);
  };
})();
