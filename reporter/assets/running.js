// SPDX-License-Identifier: Apache-2.0
// The timeline: time to the right; rows of processors, of threads by host, group and process, of what happened beside them. Colours say
// what a thread did, links what set it going.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, models = wakepath.traceModel, spans = wakepath.spans;
  var Surface = wakepath.Surface, ROW = wakepath.timelineRows.ROW, BUSY = wakepath.timelineRows.BUSY, KINDS = wakepath.ops.KINDS;
  var states = wakepath.states, STATES = states.STATES, PLACE = states.PLACE, FEW = 24, CROWD = 8;

  // What all threads did, where a recording has that, else the window of the aggregate.
  function dataFor(data) {
    var system = wakepath.payloads.system;
    return system && data === wakepath.payloads.trace ? system : data;
  }

  function Running(place, own) {
    var self = this, data = dataFor(own);
    this.isSystem = Boolean(data.run_cpu);
    wakepath.TimeView.call(this, data, window.innerWidth < 620 ? 110 : 210, this.isSystem ? [] : ['run', 'sleep']);
    if (data !== own) this.shift = Number(BigInt(own.start) - BigInt(data.start));
    this.runs = models.byThread(data.thread_tid.length, data.run_thread, data.run_start, data.run_length);
    this.sleeps = models.byThread(data.thread_tid.length, data.sleep_thread, data.sleep_start, data.sleep_length);
    this.states = states.byThread(data, this.runs, this.sleeps);
    this.busy = spans.depth(this.runs);
    this.processors = wakepath.ops.processors(data);
    this.places = wakepath.ops.places(data);
    this.links = new wakepath.Links(data);
    this.strips = new wakepath.Strips();
    this.onPaths = new Set(data.path_thread);
    this.prepare();
    this.folded = new Set(this.processors.length > CROWD ? ['cpus'] : []);
    this.showAll = this.isSystem;
    this.layout();
    this.start(place, 'Timeline', STATES.map(function (state) {
      return ['s-' + state[0], state[1], state[3]];
    }), function (bar) {
      self.addTools(bar);
    });
    this.tell();
    this.fromHash();
  }

  Running.prototype = Object.create(wakepath.TimeView.prototype);

  // Lists as they are drawn; of what shares a pixel a run is seen.
  Running.prototype.prepare = function () {
    var self = this;
    this.states.forEach(function (list) {
      spans.prepare(list, function (i) {
        return list.state[i] === PLACE.cpu;
      });
    });
    this.processors.forEach(function (one) {
      spans.prepare(one.list);
    });
    this.places.forEach(function (place) {
      place.lanes.forEach(function (list) {
        spans.prepare(list);
      });
    });
    this.isNear = Uint8Array.from(this.data.thread_base, function (base, thread) {
      return base || self.isOnPath(thread) ? 1 : 0;
    });
  };

  Running.prototype.addTools = function (bar) {
    var self = this;
    this.fold = view.toggle(bar, 'All threads', this.isSystem ? 'Also those that no control path held'
      : 'Also those that are not of the processes of interest and ran for less than a hundredth of the window', this.showAll, function (on) {
      self.showAll = on;
      self.layAgain();
    });
    this.fold.hidden = !this.leftOut && !this.isSystem;
    this.box = view.search(bar, 'Find thread, PID', function (text) {
      self.search(text);
    });
    this.links.addTools(bar.parentNode, function () {
      self.changed();
    });
  };

  Running.prototype.tell = function () {
    var data = this.data, text = '';
    if (!this.isSystem) return;
    if (data.omitted) text = units.count(data.omitted) + ' rows did not fit and are not drawn' + (data.grain ? ': the runs and sleeps shorter than ' +
      units.duration(data.grain) + ', and links' : '') + '.';
    this.say(text);
  };

  Running.prototype.layAgain = function () {
    this.layout();
    this.surface.setHeight(this.total);
    this.changed();
  };

  Running.prototype.search = function (text) {
    this.text = text.trim();
    this.wanted = view.matcher(text);
    this.layAgain();
    this.say(this.wanted ? units.count(this.shown) + (this.shown === 1 ? ' thread' : ' threads') : '');
  };

  Running.prototype.isWantedText = function (text) {
    return !this.wanted || this.wanted(text);
  };

  Running.prototype.isWanted = function (thread, process) {
    var data = this.data;
    return !this.wanted || this.wanted(data.names[data.thread_comm[thread]] || '') || this.wanted(process.group) ||
      this.text === String(data.thread_tid[thread]) || this.text === String(process.pid);
  };

  Running.prototype.isOnPath = function (thread) {
    return Boolean(this.onPaths.has(thread) || this.data.thread_path && this.data.thread_path[thread]);
  };

  Running.prototype.name = function (thread) {
    return (this.data.names[this.data.thread_comm[thread]] || '?') + ' ' + this.data.thread_tid[thread];
  };

  Running.prototype.click = function (x, y) {
    var row = this.rowAt(y), top = this.surface.stage.scrollTop, link = x >= this.axis.gutter && this.showLinks ? this.links.at(x, y - top) : null, run;
    if (link) {
      this.goTo(this.links.otherEnd(link, x, y - top));
    } else if (row && row.fold) {
      if (!this.folded.delete(row.fold)) this.folded.add(row.fold);
      this.layAgain();
    } else if (row && row.cpu !== undefined && x >= this.axis.gutter) {
      run = this.inLanes(row, x, y);
      if (run >= 0) this.goTo({thread: this.data.run_thread[run], time: this.data.run_start[run]});
    } else if (row && x < this.axis.gutter && row.comm) {
      this.openPages(row);
    }
  };

  Running.prototype.openPages = function (row) {
    if (wakepath.own)
      wakepath.own({pid: this.data.thread_pid[row.thread], tid: row.number, name: row.comm,
        between: this.brush.range ? this.wall(this.brush.range[0]) + '-' + this.wall(this.brush.range[1]) : '',
        flame: view.address('flame.html', {process: '[' + row.comm + ']'})});
    else
      wakepath.go('flame.html', 'process=' + encodeURIComponent('[' + row.comm + ']'));
  };

  // Brings a thread at a time into sight and marks it: {thread, time}.
  Running.prototype.goTo = function (end) {
    var axis = this.axis, span = axis.to - axis.from, row;
    if (!this.rowOf[end.thread]) {
      this.folded.clear();
      this.wanted = null;
      this.text = '';
      this.box.value = '';
      if (!this.showAll) this.fold.click();
      this.layAgain();
    }
    row = this.rowOf[end.thread];
    this.marked = end;
    if (end.time < axis.from || end.time > axis.to) axis.show(end.time - span / 2, end.time + span / 2);
    if (row) {
      var stage = this.surface.stage, above = row.top - stage.scrollTop;
      if (above < wakepath.TimeAxis.HEIGHT || above + row.height > this.surface.height) stage.scrollTop = row.top - this.surface.height / 2;
    }
    this.say(this.name(end.thread) + ' at ' + units.duration(end.time));
    this.surface.paint();
  };

  Running.prototype.keep = function (state) {
    if (this.showAll !== this.isSystem) state.all = this.showAll ? '1' : '0';
    if (this.text) state.find = this.text;
    state.unlinked = this.links.state();
  };

  Running.prototype.restore = function (state) {
    if ((state.all ? state.all === '1' : this.isSystem) !== this.showAll) this.fold.click();
    this.links.restore(state.unlinked);
    if ((state.find || '') === (this.text || '')) return;
    this.box.value = state.find || '';
    this.search(state.find || '');
  };

  // Time that a thread ran.
  Running.prototype.ranFor = function (thread) {
    var list = this.runs[thread];
    return list.start.reduce(function (sum, start, i) {
      return sum + list.end[i] - start;
    }, 0);
  };

  // Threads that are seen at first: those of interest, those on a path, and all that ran for a hundredth of the window; of a whole
  // system all.
  Running.prototype.seen = function () {
    var data = this.data, self = this, every = this.showAll || data.thread_tid.length <= FEW && !this.isSystem;
    return Array.from(data.thread_tid, function (tid, thread) {
      return every || data.thread_base[thread] > 0 || self.isOnPath(thread) || !self.isSystem && self.ranFor(thread) > 0.01 * data.length;
    });
  };

  Running.prototype.layout = function () {
    wakepath.timelineRows.lay(this);
    this.links.place(this.rowOf);
  };

  // By state and by thread, of an interval.
  Running.prototype.sumUp = function (from, to) {
    var all = new Float64Array(STATES.length), rows = [], lists = this.states, self = this;
    lists.forEach(function (list, thread) {
      if (self.wanted && !self.rowOf[thread]) return;
      var own = states.sums(list, from, to, new Float64Array(STATES.length));
      own.forEach(function (ns, state) {
        all[state] += ns;
      });
      if (own.some(Boolean)) rows.push([self.name(thread)].concat(Array.from(own)));
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

  // --- drawing ---

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
      if (row.thread < 0 && !row.lanes) return;
      ctx.fillStyle = self.colours.line;
      ctx.fillRect(self.axis.gutter, row.top - top + row.height - 1, width, 1);
    });
    this.stateColours = STATES.map(function (state) {
      return self.strips.colour(self.colours[state[2]]);
    });
    this.undrawn = this.showLinks ? this.links.draw(ctx, this, top, height) : 0;
    this.drawn += this.showLinks ? this.links.drawn.length : 0;
    this.drawRows(ctx, top);
    this.drawMarked(ctx, top);
    ctx.restore();
    this.drawLabels(ctx, top);
    if (!this.isMoving) this.links.count(this.undrawn);
    wakepath.ready('running:' + this.drawn);
  };

  // Rectangles of all rows at once, then what is written on them and arcs over them.
  Running.prototype.drawRows = function (ctx, top) {
    var self = this;
    this.strips.begin(this.axis.gutter, this.axis.width, ctx.getTransform().a);
    this.texts = [];
    this.visible.forEach(function (row) {
      var y = row.top - top;
      if (row.thread >= 0) self.stripStates(row, y);
      else if (row.isBusy) self.drawBusy(ctx, row, y);
      else if (row.lanes) self.stripLanes(row, y);
    });
    this.strips.draw(ctx);
    ctx.font = '10.5px ' + this.colours.font;
    ctx.textBaseline = 'middle';
    ctx.fillStyle = this.colours['frame-ink'];
    this.texts.forEach(function (one) {
      ctx.globalAlpha = one.alpha;
      ctx.fillText(Surface.fit(ctx, one.text, one.room), one.x, one.y);
    });
    ctx.globalAlpha = 1;
    if (this.showLinks) this.links.drawOwn(ctx, this, top);
  };

  Running.prototype.drawLabels = function (ctx, top) {
    var self = this, gutter = this.axis.gutter;
    ctx.textBaseline = 'middle';
    this.visible.forEach(function (row) {
      var y = row.top - top + row.height / 2;
      if (row.thread < 0 && !row.lanes) {
        ctx.font = '600 12px ' + self.colours.sans;
        ctx.fillStyle = row === self.hoveredRow ? self.colours.accent : self.colours.muted;
        ctx.fillText((row.fold ? row.isFolded ? '▸ ' : '▾ ' : '') + Surface.fit(ctx, row.title, row.isBusy ? gutter - 12 : gutter * 2), 6, y + 2);
        return;
      }
      self.drawName(ctx, row, y);
    });
  };

  // Of a thread, with a bar before it where a control path held it; of a processor, a device, a connection.
  Running.prototype.drawName = function (ctx, row, y) {
    var gutter = this.axis.gutter, isFaint = this.isSystem && row.thread >= 0 && !row.base && !row.onPath;
    if (this.isSystem && (row.base || row.onPath)) {
      ctx.fillStyle = row.base ? this.colours.accent : this.colours['cat-understood_functions'];
      ctx.fillRect(0, y - row.height / 2 + 3, 3, row.height - 6);
    }
    ctx.font = (row.base ? '600 ' : '') + '12px ' + this.colours.font;
    ctx.fillStyle = row === this.hoveredRow ? this.colours.accent : isFaint ? this.colours.muted : this.colours.ink;
    ctx.fillText(Surface.fit(ctx, row.label, gutter - 64), 6, y);
    ctx.font = '11px ' + this.colours.font;
    ctx.fillStyle = this.colours.muted;
    ctx.textAlign = 'right';
    ctx.fillText(row.lanes ? row.note || '' : String(row.number), gutter - 8, y);
    ctx.textAlign = 'left';
  };

  Running.prototype.addText = function (text, x0, x1, y, alpha) {
    var left = Math.max(x0, this.axis.gutter);
    if (x1 - left >= 44 && text) this.texts.push({text: text, room: x1 - left - 8, x: left + 4, y: y, alpha: alpha});
  };

  // What a thread did, by colour: full rows for what ran, waited for a processor, a device, a lock, a message or the time; a thin line
  // for waits for other threads. Paler where no control path ever held it.
  Running.prototype.stripStates = function (row, y) {
    var self = this, list = this.states[row.thread], colours = this.stateColours, data = this.data, strips = this.strips;
    var alpha = this.isSystem && !row.base && !row.onPath ? 0.5 : 1, edge = strips.line(), middle = strips.line(), thin = ROW / 2 - 2;
    spans.each(list, this.axis, function (x0, x1, i) {
      var state = list.state[i], end = x1 - (x1 - x0 > 3 ? 0.75 : 0);
      strips.add(middle, colours[state], x0, end);
      self.drawn++;
      if (state === PLACE.other) return;
      strips.add(edge, colours[state], x0, end);
      if (x1 - x0 >= 44 && list.what[i] >= 0) self.addText(data.names[data.sleep_label[list.what[i]]], x0, x1, y + ROW / 2, alpha);
    });
    strips.place(edge, y + 3, thin - 3, alpha);
    strips.place(middle, y + thin, 3, alpha);
    strips.place(edge, y + thin + 3, ROW - 7 - thin, alpha);
  };

  // Of a place one; of a processor those of threads that no control path held, and of others.
  Running.prototype.laneColours = function (row) {
    return (row.cpu === undefined ? [KINDS[row.op][2]] : ['cat-other_path', 'cat-understood_functions']).map(function (name) {
      return this.strips.colour(this.colours[name]);
    }, this);
  };

  Running.prototype.laneText = function (row, what) {
    var data = this.data;
    return row.cpu === undefined ? data.names[data.op_label[what]] : data.names[data.thread_comm[data.run_thread[what]]];
  };

  // Of a processor whoever ran there; of a place its operations, in lanes where several were under way.
  Running.prototype.stripLanes = function (row, y) {
    var self = this, height = (row.height - 7) / row.lanes.length, strips = this.strips, kinds = this.laneColours(row);
    row.lanes.forEach(function (list, lane) {
      var line = strips.line();
      spans.each(list, self.axis, function (x0, x1, i) {
        strips.add(line, kinds[row.cpu === undefined ? 0 : self.isNear[self.data.run_thread[list.what[i]]]], x0, x1 - (x1 - x0 > 3 ? 0.75 : 0));
        self.drawn++;
        if (height > 10 && x1 - x0 >= 44) self.addText(self.laneText(row, list.what[i]), x0, x1, y + 3 + height / 2, 1);
      });
      strips.place(line, y + 3 + lane * height, Math.max(2, height - (row.lanes.length > 1 ? 1 : 0)), 1);
    });
  };

  // How many threads ran at once, of those that are in the window.
  Running.prototype.drawBusy = function (ctx, row, y) {
    var busy = this.busy, gutter = this.axis.gutter, floor = y + BUSY - 4, height = BUSY - 10, filler = new spans.Filler(ctx), colour = this.colours[STATES[PLACE.cpu][2]];
    spans.eachDepth(busy, this.axis, function (x0, x1, count) {
      x0 = Math.max(gutter, x0);
      filler.add(colour, x0, Math.max(x1, x0 + 0.5), floor - height * count / busy.most, height * count / busy.most);
    });
    filler.flush();
  };

  Running.prototype.drawMarked = function (ctx, top) {
    var row = this.marked && this.rowOf[this.marked.thread], x = row ? this.axis.x(this.marked.time) : 0;
    if (!row) return;
    ctx.strokeStyle = this.colours.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(this.axis.gutter, row.top - top + 1, this.axis.width - this.axis.gutter - 1, row.height - 2);
    ctx.fillStyle = this.colours.accent;
    ctx.fillRect(x - 1, row.top - top, 2, row.height);
  };

  // --- the pointer ---

  // What of a row of lanes is there; -1: nothing.
  Running.prototype.inLanes = function (row, x, y) {
    var lane = Math.min(row.lanes.length - 1, Math.max(0, Math.floor((y - row.top - 3) / ((row.height - 7) / row.lanes.length))));
    var list = row.lanes[lane], at = spans.at(list, this.axis.time(x), 1.5 / this.axis.scale());
    return at < 0 ? -1 : list.what[at];
  };

  Running.prototype.hover = function (x, y, event) {
    var row = this.rowAt(y), top = this.surface.stage.scrollTop, self = this, link = null, tip = null;
    var name = row && (row.thread >= 0 || row.fold) && (x < this.axis.gutter || row.fold);
    if (x >= this.axis.gutter && this.showLinks) link = this.links.at(x, y - top);
    this.surface.canvas.style.cursor = name || link || row && row.cpu !== undefined && x >= this.axis.gutter ? 'pointer' : 'grab';
    if (this.hoveredRow !== (name ? row : null)) {
      this.hoveredRow = name ? row : null;
      this.surface.paint();
    }
    this.tip.hide();
    if (link) tip = this.links.describe(link, function (thread) {
      return self.name(thread);
    });
    else if (row) tip = this.describe(row, x, y);
    if (tip) this.tip.show(event.clientX, event.clientY, tip);
  };

  Running.prototype.describe = function (row, x, y) {
    var data = this.data, list, at;
    if (row.isBusy) return {title: 'Threads that ran at once', lines: [this.isSystem ? '' : 'of those in this window']};
    if (row.lanes) return x >= this.axis.gutter ? this.describeLane(row, this.inLanes(row, x, y)) : null;
    if (row.thread < 0) return row.hint ? {title: row.hint, lines: ['Click folds and unfolds']} : null;
    if (x < this.axis.gutter) return {title: row.comm, lines: ['thread ' + row.number + ' of process ' + data.thread_pid[row.thread] + ' on ' +
      data.names[data.thread_host[row.thread]], row.base ? 'of interest' : row.onPath ? 'on a control path' : '',
      wakepath.own ? 'Click for pages of its own' : 'Click to open its flame']};
    list = this.states[row.thread];
    at = spans.at(list, this.axis.time(x), 1.5 / this.axis.scale());
    if (at < 0) return null;
    var state = STATES[list.state[at]], what = list.what[at], category = what < 0 ? null : data.categories[data.sleep_category[what]];
    return {title: (what < 0 ? '' : data.names[data.sleep_label[what]]) || row.comm,
      lines: [state[1] + ': ' + units.within(state[3]), category ? category[1] : ''],
      rows: [['From', units.duration(list.start[at])], ['Length', units.duration(list.end[at] - list.start[at])]]};
  };

  Running.prototype.describeLane = function (row, what) {
    var data = this.data, thread = row.cpu === undefined ? data.op_thread[what] - 1 : data.run_thread[what];
    if (what < 0) return null;
    if (row.cpu !== undefined) return {title: this.name(thread), lines: ['on ' + row.label, 'Click goes to its row'],
      rows: [['From', units.duration(data.run_start[what])], ['Length', units.duration(data.run_length[what])]]};
    return {title: data.names[data.op_label[what]] || row.label, lines: [row.label, thread >= 0 ? this.name(thread) : ''],
      rows: [['From', units.duration(data.op_start[what])], ['Length', units.duration(data.op_length[what])]]};
  };

  wakepath.views.running = function (place, data) {
    wakepath.running = new Running(place, data);
  };
})();
