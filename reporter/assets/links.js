// SPDX-License-Identifier: Apache-2.0
// The links of a Timeline: what set a thread going, and where. Between two rows a line; within one (a timer, an interrupt, a preemption)
// an arc over the time that the thread was away. Each kind has its colour and can be switched off.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, MOST = 2000, MOVING = 400, ARCS = 1500, WIDE = 14, NEAR = 4;

  // [key, title, what it is], by enum wp_link_kind; what leads from a thread to itself is read from its sleeps.
  var KINDS = [null, ['waking', 'waking', 'One thread set another going'], ['fork', 'fork', 'A thread made another one'],
    ['exec', 'exec', 'A process became another program'], ['message', 'message', 'What was sent here was read there'],
    ['completion', 'completion', 'A block request was asked for here, and its end set that thread going'],
    ['preemption', 'preemption', 'It was taken off its processor, and went on'], ['timer', 'timer', 'A timer ended its sleep'],
    ['interrupt', 'interrupt', 'A device’s interrupt ended its sleep']];
  var COMPLETION = 5, PREEMPTION = 6;
  var OWN = {involuntary: PREEMPTION, deliberate_sleep: 7, timeout: 7, hardware_wait: 8, blocking_io: COMPLETION, io_queue: COMPLETION};

  // The link that each sleep is, by its category: a kind, 0 none.
  function kindsOfSleeps(data) {
    var ofCategory = data.categories.map(function (category) {
      return OWN[category[0]] || 0;
    });
    return Uint8Array.from(data.sleep_category, function (category) {
      return ofCategory[category] || 0;
    });
  }

  function Links(data) {
    var self = this, places = Array.from(data.link_kind, function (kind, i) {
      return i;
    }).filter(function (i) {
      return data.link_kind[i] !== PREEMPTION && data.link_from[i] !== data.link_to[i]; // the sleep between says it
    });
    places.sort(function (a, b) {
      return data.link_start[a] - data.link_start[b] || a - b;
    });
    this.data = data;
    this.off = new Set();
    this.counts = new Array(KINDS.length).fill(0);
    [['kind', Uint8Array], ['from', Int32Array], ['to', Int32Array], ['start', Float64Array], ['end', Float64Array]].forEach(function (column) {
      self[column[0]] = column[1].from(places, function (i) {
        return data['link_' + column[0]][i];
      });
    });
    this.longest = 0;
    this.kind.forEach(function (kind, i) {
      self.counts[kind]++;
      self.longest = Math.max(self.longest, self.end[i] - self.start[i]);
    });
    this.ownKind = kindsOfSleeps(data);
    this.ownKind.forEach(function (kind) {
      self.counts[kind]++;
    });
    this.indexThreads(data.thread_tid.length);
    this.drawn = [];
  }

  // A switch for each kind that there is.
  Links.prototype.addTools = function (place, changed) {
    var self = this, bar = view.element('div', 'tools link-kinds');
    bar.setAttribute('role', 'group');
    bar.setAttribute('aria-label', 'Kinds of links');
    this.buttons = [];
    KINDS.forEach(function (kind, number) {
      if (!kind || !self.counts[number]) return;
      var button = view.toggle(bar, kind[1], kind[2], true, function (on) {
        if (on) self.off.delete(number);
        else self.off.add(number);
        changed();
      });
      button.insertBefore(view.element('span', 'sw l-' + kind[0]), button.firstChild);
      self.buttons[number] = button;
    });
    if (bar.firstChild) {
      this.note = bar.appendChild(view.element('output', 'found'));
      place.appendChild(bar);
    }
  };

  // How many of those in sight are not drawn.
  Links.prototype.count = function (undrawn) {
    var text = undrawn ? wakepath.units.count(undrawn) + ' more when zoomed in' : '';
    if (this.note && this.note.textContent !== text) this.note.textContent = text;
  };

  Links.prototype.state = function () {
    return Array.from(this.off, function (number) {
      return KINDS[number][0];
    }).sort().join(',');
  };

  Links.prototype.restore = function (text) {
    var self = this, off = new Set((text || '').split(','));
    (this.buttons || []).forEach(function (button, number) {
      if (off.has(KINDS[number][0]) !== self.off.has(number)) button.click();
    });
  };

  // Where the rows of threads begin, -1 those that are not shown; of a layout.
  Links.prototype.place = function (rowOf) {
    this.tops = Int32Array.from(rowOf, function (row) {
      return row ? row.top : -1;
    });
  };

  // The links of each thread, those that lead to it, too, in the order of time: places in ofThread from firstOf[thread] on.
  Links.prototype.indexThreads = function (threads) {
    var first = new Int32Array(threads + 2), ofThread = new Int32Array(2 * this.kind.length), i;
    for (i = 0; i < this.kind.length; i++) {
      first[this.from[i] + 2]++;
      first[this.to[i] + 2]++;
    }
    for (i = 2; i < first.length; i++) first[i] += first[i - 1];
    for (i = 0; i < this.kind.length; i++) {
      ofThread[first[this.from[i] + 1]++] = i;
      ofThread[first[this.to[i] + 1]++] = i;
    }
    this.firstOf = first;
    this.ofThread = ofThread;
    this.found = new Uint32Array(Math.ceil(this.kind.length / 32)); // a bit a link; zero between calls
  };

  // Marks those of a thread that are in sight and have rows at both ends.
  Links.prototype.markThread = function (thread, axis) {
    var places = this.ofThread, low = this.firstOf[thread], high = this.firstOf[thread + 1], end = high, since = axis.from - this.longest, middle, i;
    while (low < high) {
      middle = (low + high) >> 1;
      if (this.start[places[middle]] < since) low = middle + 1;
      else high = middle;
    }
    for (; low < end; low++) {
      i = places[low];
      if (this.start[i] > axis.to) break;
      if (this.end[i] >= axis.from && this.tops[this.from[i]] >= 0 && this.tops[this.to[i]] >= 0 && !this.off.has(this.kind[i]))
        this.found[i >> 5] |= 1 << (i & 31);
    }
  };

  // Those in sight with a row in sight at one of their ends, as places in the order of time.
  Links.prototype.inSight = function (owner, top, height) {
    var self = this, places = [], word, bits;
    owner.visible.forEach(function (row) {
      if (row.thread >= 0 && row.top >= top && row.top < top + height) self.markThread(row.thread, owner.axis);
    });
    for (word = 0; word < this.found.length; word++) {
      bits = this.found[word];
      this.found[word] = 0;
      for (; bits; bits &= bits - 1) places.push(word * 32 + 31 - Math.clz32(bits & -bits));
    }
    return places;
  };

  // Draws them, of too many every so many, of more than a few hundred while the view moves; returns how many of those in sight are not drawn.
  Links.prototype.draw = function (ctx, owner, top, height) {
    var axis = owner.axis, places = this.inSight(owner, top, height), step = Math.ceil(places.length / (owner.isMoving ? MOVING : MOST)), seen = new Set(), self = this;
    var byKind = KINDS.map(function () {
      return [];
    });
    this.drawn = [];
    for (var n = 0; n < places.length; n += Math.max(1, step)) {
      var i = places[n], from = owner.rowOf[this.from[i]], to = owner.rowOf[this.to[i]];
      var line = {place: i, kind: this.kind[i], x0: axis.x(this.start[i]), x1: axis.x(this.end[i]), y0: from.top + from.height / 2 - top,
        y1: to.top + to.height / 2 - top};
      var key = ((Math.round(line.x0) + 8192) * 16384 + Math.round(line.x1) + 8192) * 4194304 + (this.from[i] % 2048) * 2048 + this.to[i] % 2048;
      if (seen.has(key)) continue;
      seen.add(key);
      byKind[line.kind].push(line);
      this.drawn.push(line);
    }
    byKind.forEach(function (lines, kind) {
      if (lines.length) self.stroke(ctx, owner.colours['l-' + KINDS[kind][0]], lines, seen.size);
    });
    return step > 1 ? places.length - Math.ceil(places.length / step) : 0;
  };

  Links.prototype.stroke = function (ctx, colour, lines, all) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1;
    ctx.globalAlpha = all > 1500 ? 0.25 : all > 300 ? 0.6 : 0.9;
    ctx.beginPath();
    lines.forEach(function (line) {
      ctx.moveTo(line.x0, line.y0);
      ctx.lineTo(line.x1, line.y1);
    });
    ctx.stroke();
    ctx.globalAlpha = 1;
  };

  // Arcs over the sleeps of a row that a timer or an interrupt ended, and over preemptions, where there is room for one: a stroke a kind.
  Links.prototype.drawOwn = function (ctx, owner, top) {
    var self = this, firstOwn = this.drawn.length, byKind = KINDS.map(function () {
      return [];
    });
    owner.visible.forEach(function (row) {
      if (row.thread >= 0) self.addOwn(owner, row, owner.states[row.thread], row.top - top);
    });
    this.drawn.slice(firstOwn).forEach(function (arc) {
      byKind[arc.kind].push(arc);
    });
    ctx.lineWidth = 1;
    byKind.forEach(function (arcs, kind) {
      if (!arcs.length) return;
      ctx.strokeStyle = owner.colours['l-' + KINDS[kind][0]];
      ctx.beginPath();
      arcs.forEach(function (arc) {
        ctx.moveTo(arc.x0, arc.floor);
        ctx.quadraticCurveTo((arc.x0 + arc.x1) / 2, arc.y0 - 7, arc.x1, arc.floor);
      });
      ctx.stroke();
    });
  };

  Links.prototype.addOwn = function (owner, row, list, y) {
    var axis = owner.axis, wide = owner.isMoving ? 3 * WIDE : WIDE, i = Math.max(0, wakepath.traceModel.after(list.start, axis.from) - 1), looked = 0, kind, x0, x1;
    if (axis.scale() * (axis.to - axis.from) / Math.max(1, list.start.length) < 0.02) return; // all of them are dust
    for (; i < list.start.length && list.start[i] < axis.to && looked++ < ARCS; i++) {
      kind = list.what[i] < 0 ? 0 : this.ownKind[list.what[i]];
      x0 = axis.x(list.start[i]);
      x1 = axis.x(list.end[i]);
      if (!kind || this.off.has(kind) || x1 - x0 < wide) continue;
      this.drawn.push({own: true, kind: kind, thread: row.thread, start: list.start[i], end: list.end[i], x0: x0, x1: x1, y0: y + 4, y1: y + 4,
        floor: y + row.height - 5});
    }
  };

  function distance(line, x, y) {
    var dx = line.x1 - line.x0, dy = line.y1 - line.y0, length = dx * dx + dy * dy;
    var share = length ? Math.max(0, Math.min(1, ((x - line.x0) * dx + (y - line.y0) * dy) / length)) : 0;
    return Math.hypot(x - line.x0 - share * dx, y - line.y0 - share * dy);
  }

  // The drawn link nearest to a place of the canvas, or null.
  Links.prototype.at = function (x, y) {
    var best = null, least = NEAR;
    this.drawn.forEach(function (line) {
      var far = distance(line, x, y);
      if (far < least) {
        least = far;
        best = line;
      }
    });
    return best;
  };

  // The end of a drawn link that is farther from a place: {thread, time}.
  Links.prototype.otherEnd = function (line, x, y) {
    var isFirst = line.own ? Math.abs(x - line.x0) < Math.abs(x - line.x1)
      : Math.hypot(x - line.x0, y - line.y0) < Math.hypot(x - line.x1, y - line.y1);
    if (line.own) return {thread: line.thread, time: isFirst ? line.end : line.start};
    return isFirst ? {thread: this.to[line.place], time: this.end[line.place]} : {thread: this.from[line.place], time: this.start[line.place]};
  };

  Links.prototype.describe = function (line, name) {
    var kind = KINDS[line.kind], start = line.own ? line.start : this.start[line.place], end = line.own ? line.end : this.end[line.place];
    return {title: kind[1].charAt(0).toUpperCase() + kind[1].slice(1), lines: [kind[2], line.own ? name(line.thread)
      : name(this.from[line.place]) + ' → ' + name(this.to[line.place]), 'Click goes to its other end'],
      rows: [['From', wakepath.units.duration(start)], [line.own ? 'Away for' : 'Took', wakepath.units.duration(end - start)]]};
  };

  Links.KINDS = KINDS;
  wakepath.Links = Links;
})();
