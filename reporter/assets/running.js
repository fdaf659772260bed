// SPDX-License-Identifier: Apache-2.0
// The timeline: time to the right, a row a thread, by host and process; colours say what it did, lines are wakings between threads.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, models = wakepath.traceModel;
  var palette = wakepath.palette, Surface = wakepath.Surface, TimeAxis = wakepath.TimeAxis;
  var states = wakepath.states, STATES = states.STATES, PLACE = states.PLACE, ROW = 22, HEAD = 26, BUSY = 40, FEW = 24;

  // How many threads ran at once: {time, count} at each change, and the most.
  function busyOf(runs) {
    var steps = [], found = {time: [], count: [], most: 0}, now = 0;
    runs.forEach(function (list) {
      list.start.forEach(function (start, i) {
        if (list.end[i] > start) steps.push([start, 1], [list.end[i], -1]);
      });
    });
    steps.sort(function (a, b) {
      return a[0] - b[0] || a[1] - b[1];
    });
    steps.forEach(function (step, i) {
      now += step[1];
      if (i + 1 < steps.length && steps[i + 1][0] === step[0]) return;
      found.time.push(step[0]);
      found.count.push(now);
      if (now > found.most) found.most = now;
    });
    return found;
  }

  function Running(place, data) {
    var self = this;
    wakepath.TimeView.call(this, data, window.innerWidth < 620 ? 110 : 190, ['run', 'sleep']);
    this.runs = models.byThread(data.thread_tid.length, data.run_thread, data.run_start, data.run_length);
    this.sleeps = models.byThread(data.thread_tid.length, data.sleep_thread, data.sleep_start, data.sleep_length);
    this.states = states.byThread(data, this.runs, this.sleeps);
    this.busy = busyOf(this.runs);
    this.layout();
    this.start(place, 'Timeline', STATES.map(function (state) {
      return ['s-' + state[0], state[1], state[3]];
    }).concat([['f-link', 'waking', 'One thread set another going']]), function (bar) {
      self.fold = view.toggle(bar, 'All threads', 'Also those that are not of the processes of interest and ran for less than a hundredth of the window', false, function (on) {
        self.showAll = on;
        self.layout();
        self.surface.setHeight(self.total);
        self.changed();
      });
      self.fold.hidden = !self.leftOut;
    });
    this.fromHash();
  }

  Running.prototype = Object.create(wakepath.TimeView.prototype);

  Running.prototype.click = function (x, y) {
    var row = this.rowAt(y);
    if (!row || x >= this.axis.gutter || !row.comm) return;
    if (wakepath.own)
      wakepath.own({pid: this.data.thread_pid[row.thread], tid: row.number, name: row.comm,
        flame: view.address('flame.html', {process: '[' + row.comm + ']'})});
    else
      wakepath.go('flame.html', 'process=' + encodeURIComponent('[' + row.comm + ']'));
  };

  Running.prototype.keep = function (state) {
    if (this.showAll) state.all = '1';
  };

  Running.prototype.restore = function (state) {
    if (Boolean(state.all) !== Boolean(this.showAll)) this.fold.click();
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

  // Time that a thread ran, by thread.
  Running.prototype.ranFor = function (thread) {
    var list = this.runs[thread];
    return list.start.reduce(function (sum, start, i) {
      return sum + list.end[i] - start;
    }, 0);
  };

  // Threads that are seen at first: those of interest, those on a path, and all that ran for a hundredth of the window.
  Running.prototype.seen = function () {
    var data = this.data, self = this, onPath = new Set(data.path_thread), every = data.thread_tid.length <= FEW;
    return Array.from(data.thread_tid, function (tid, thread) {
      return every || self.showAll || data.thread_base[thread] > 0 || onPath.has(thread) || self.ranFor(thread) > 0.01 * data.length;
    });
  };

  Running.prototype.layout = function () {
    var data = this.data, rows = [], y = TimeAxis.HEIGHT + 4, host = null, several, seen = this.seen();
    var groups = this.groups();
    several = groups.some(function (group) {
      return group.host !== groups[0].host;
    });
    this.leftOut = 0;
    if (this.busy.most > 0) {
      rows.push({top: y, height: BUSY, title: this.busy.most + (this.busy.most === 1 ? ' thread' : ' threads') + ' at once', thread: -1, isBusy: true});
      y += BUSY;
    }
    this.rowOf = new Array(data.thread_tid.length);
    groups.forEach(function (group) {
      var threads = group.threads.filter(function (thread) {
        return seen[thread];
      });
      this.leftOut += group.threads.length - threads.length;
      if (!threads.length) return;
      if (several && group.host !== host) {
        rows.push({top: y, height: HEAD, title: group.host, thread: -1});
        y += HEAD;
      }
      host = group.host;
      threads.forEach(function (thread, place) {
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

  // By state and by thread, of an interval.
  Running.prototype.sumUp = function (from, to) {
    var data = this.data, all = new Float64Array(STATES.length), rows = [], lists = this.states;
    lists.forEach(function (list, thread) {
      var own = states.sums(list, from, to, new Float64Array(STATES.length));
      own.forEach(function (ns, state) {
        all[state] += ns;
      });
      if (own.some(Boolean)) rows.push([data.names[data.thread_comm[thread]] + ' ' + data.thread_tid[thread]].concat(Array.from(own)));
    });
    return {whole: all.reduce(function (sum, ns) {
      return sum + ns;
    }, 0), parts: STATES.map(function (state, i) {
      return ['s-' + state[0], state[1], all[i]];
    }), heads: ['Thread'].concat(STATES.map(function (state) {
      return state[1];
    })), rows: rows.sort(function (a, b) {
      return b[1] - a[1] || b[2] - a[2];
    })};
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
    });
    this.stateColours = STATES.map(function (state) {
      return self.colours[state[2]];
    });
    if (this.showLinks) this.drawLinks(ctx, top, height);
    this.visible.forEach(function (row) {
      if (row.thread >= 0) self.drawStates(ctx, row, row.top - top);
      else if (row.isBusy) self.drawBusy(ctx, row, row.top - top);
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
        ctx.fillText(Surface.fit(ctx, row.title, row.isBusy ? gutter - 12 : gutter * 2), 6, y + 2);
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

  // Calls paint(x0, x1, place) for what is in sight; of things under a pixel that share one the first of the highest rank(place).
  Running.prototype.eachSpan = function (list, paint, rank) {
    var axis = this.axis, i = Math.max(0, models.after(list.start, axis.from) - 1), last = -2, best = -1;
    function flush() {
      if (best >= 0) paint(last, last + 1, best);
      best = -1;
    }
    for (; i < list.start.length && list.start[i] < axis.to; i++) {
      if (list.end[i] < axis.from) continue;
      var x0 = axis.x(list.start[i]), x1 = axis.x(list.end[i]), pixel = Math.floor(x0);
      if (x1 - x0 >= 1) {
        flush();
        paint(x0, x1, i);
      } else if (pixel !== last || best < 0) {
        flush();
        last = pixel;
        best = i;
      } else if (rank(i) > rank(best)) {
        best = i;
      }
    }
    flush();
  };

  // What a thread did, by colour: full rows for what ran, waited for a processor, a device, a lock, a message or the time; a thin line
  // for waits for other threads.
  Running.prototype.drawStates = function (ctx, row, y) {
    var self = this, list = this.states[row.thread], colours = this.stateColours, data = this.data;
    ctx.font = '10.5px ' + this.colours.font;
    ctx.textBaseline = 'middle';
    this.eachSpan(list, function (x0, x1, i) {
      var state = list.state[i], thin = state === PLACE.other, left;
      ctx.fillStyle = colours[state];
      ctx.fillRect(x0, y + (thin ? ROW / 2 - 2 : 3), Math.max(1, x1 - x0 - (x1 - x0 > 3 ? 0.75 : 0)), thin ? 3 : ROW - 7);
      self.drawn++;
      left = Math.max(x0, self.axis.gutter);
      if (thin || list.what[i] < 0 || x1 - left < 44) return;
      ctx.fillStyle = self.colours['frame-ink'];
      ctx.fillText(Surface.fit(ctx, data.names[data.sleep_label[list.what[i]]] || '', x1 - left - 8), left + 4, y + ROW / 2);
    }, function (i) {
      return list.state[i] === PLACE.cpu ? 1 : 0; // of what shares a pixel a run is seen
    });
  };

  // How many threads ran at once, of those that are in the window.
  Running.prototype.drawBusy = function (ctx, row, y) {
    var axis = this.axis, busy = this.busy, i = Math.max(0, models.after(busy.time, axis.from) - 1), floor = y + BUSY - 4, height = BUSY - 10;
    ctx.fillStyle = this.stateColours[PLACE.cpu];
    for (; i < busy.time.length && busy.time[i] < axis.to; i++) {
      var x0 = Math.max(axis.gutter, axis.x(busy.time[i])), x1 = i + 1 < busy.time.length ? axis.x(busy.time[i + 1]) : x0;
      if (busy.count[i]) ctx.fillRect(x0, floor - height * busy.count[i] / busy.most, Math.max(x1 - x0, 0.5), height * busy.count[i] / busy.most);
    }
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
    if (row && row.isBusy) this.tip.show(event.clientX, event.clientY, {title: 'Threads that ran at once', lines: ['of those in this window']});
    if (!row || row.thread < 0) return;
    if (name) {
      this.tip.show(event.clientX, event.clientY, {title: row.comm, lines: ['thread ' + row.number + ' of process ' +
        data.thread_pid[row.thread] + ' on ' + data.names[data.thread_host[row.thread]], wakepath.own ? 'Click for pages of its own' : 'Click to open its flame']});
      return;
    }
    list = this.states[row.thread];
    at = this.spanAt(list, x);
    if (at < 0) return;
    var state = STATES[list.state[at]], what = list.what[at], category = what < 0 ? null : data.categories[data.sleep_category[what]];
    this.tip.show(event.clientX, event.clientY, {title: (what < 0 ? '' : data.names[data.sleep_label[what]]) || row.comm,
      lines: [state[1] + ': ' + wakepath.units.within(state[3]), category ? category[1] : ''],
      rows: [['From', units.duration(list.start[at])], ['Length', units.duration(list.end[at] - list.start[at])]]});
  };

  wakepath.views.running = function (place, data) {
    wakepath.running = new Running(place, data);
  };
})();
