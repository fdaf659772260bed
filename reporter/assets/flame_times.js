// SPDX-License-Identifier: Apache-2.0
// A stretch of time for the flame: a strip of what was when, loaded when it is asked for. What is chosen becomes a model
// like any other. The strip shows the zoomed frame's share of each column.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, models = wakepath.flameModel;
  var palette = wakepath.palette, HEIGHT = 64;

  function Times(flame, bar, place) {
    var self = this;
    this.flame = flame;
    this.range = null;
    this.data = null;
    this.toggle = view.toggle(bar, 'Times', 'Choose an interval of time', false, function (on) {
      self.stretch = null;
      if (on) self.open(null);
      else self.close();
    });
    this.box = view.element('div', 'times');
    this.box.hidden = true;
    this.canvas = view.element('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'slider');
    this.canvas.setAttribute('aria-label', 'Stretch of time. Arrow keys move, with Shift they widen, Escape takes all.');
    this.text = view.element('p', 'trail');
    this.box.appendChild(this.canvas);
    this.box.appendChild(this.text);
    place.appendChild(this.box);
    this.listen();
  }

  // then(true) runs once the strip is there; then(false) without data (all at once, an old recording), which it says.
  Times.prototype.open = function (then) {
    var self = this;
    view.load('flame-times.js', 'times', function (data) {
      if (!data || data.start.length < 2) {
        self.toggle.setAttribute('aria-pressed', 'false');
        self.flame.say(data ? 'All of it was at one time.' : 'When it was could not be loaded.');
        if (then) then(false);
        return;
      }
      if (!self.data) self.prepare(data);
      self.toggle.setAttribute('aria-pressed', 'true');
      self.box.hidden = false;
      self.paint();
      if (then) then(true);
      self.flame.layout();
    });
  };

  Times.prototype.prepare = function (data) {
    var firstSample = new Int32Array(data.cells.length + 1), i;
    for (i = 0; i < data.cells.length; i++) firstSample[i + 1] = firstSample[i] + data.cells[i];
    this.data = data;
    this.everybody = {first: firstSample, place: data.place, ns: data.ns};
    this.sums = this.sum([[0, data.cells.length]]);
  };

  // Whose times: of the chosen hosts, or of all.
  Times.prototype.source = function () {
    return this.chosen ? this.chosen.samples : this.everybody;
  };

  // Time of stretches of the flame's cells, [[from, to)...], by column.
  Times.prototype.sum = function (ranges, source) {
    var sums = new Float64Array(this.data.start.length);
    source = source || this.source();
    ranges.forEach(function (range) {
      for (var i = source.first[range[0]]; i < source.first[range[1]]; i++) sums[source.place[i]] += source.ns[i];
    });
    return sums;
  };

  // The cells of what is zoomed.
  Times.prototype.mine = function () {
    return this.flame.ranges();
  };

  // Only the time of these hosts (flame_hosts.js): cells, samples; null: of all.
  Times.prototype.setHosts = function (chosen) {
    this.chosen = chosen;
    if (this.data) this.sums = this.sum([[0, this.data.cells.length]]);
    this.choose(this.range);
  };

  // The time of each cell in the chosen stretch, of the chosen hosts; null: all of it.
  Times.prototype.cells = function () {
    var range = this.range, source, cells, i, sample;
    if (this.stretch) return this.stretch.cells;
    if (!range) return this.chosen ? this.chosen.cells : null;
    source = this.source();
    cells = new Float64Array(source.first.length - 1);
    for (i = 0; i < cells.length; i++)
      for (sample = source.first[i]; sample < source.first[i + 1]; sample++)
        if (source.place[sample] >= range[0] && source.place[sample] <= range[1]) cells[i] += source.ns[sample];
    return cells;
  };

  Times.prototype.close = function () {
    this.box.hidden = true;
    this.choose(null);
    this.flame.layout();
  };

  // [first, last] columns, or null for all.
  Times.prototype.choose = function (range) {
    var flame = this.flame, cells;
    this.range = range;
    cells = this.cells();
    flame.setWhole(cells ? models.during(flame.all, cells) : flame.all);
    flame.toHash(true);
    this.paint();
  };

  // On the reader's clock; to tenths of a second where columns are narrower than one.
  function moment(ms, width) {
    var text = wakepath.localTime(new Date(ms)), tenth = Math.floor(ms / 100) % 10;
    return width < 1000 ? text.slice(0, 19) + '.' + tenth + text.slice(19) : text;
  }

  Times.prototype.describe = function () {
    var data = this.data, range = this.range || [0, data.start.length - 1], sum = 0;
    for (var i = range[0]; i <= range[1]; i++) sum += this.sums[i];
    return moment(data.start[range[0]], data.width).replace(/ UTC.*/, '') + ' to ' +
      moment(data.start[range[1]] + data.width, data.width).slice(11) + ': ' + units.duration(sum) +
      (this.range ? ', ' + units.share(sum, this.flame.all.total[0]) + ' of the whole. Escape takes all.' : '. Drag to choose a stretch of it.');
  };

  Times.prototype.paint = function () {
    if (!this.data || this.box.hidden) return;
    var colours = palette.read(), width = this.box.clientWidth, ratio = window.devicePixelRatio || 1, count = this.sums.length;
    var mine = this.sum(this.mine()), most = Math.max.apply(null, this.sums) || 1, i, x;
    var ctx = this.canvas.getContext('2d'), step = width / count;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(HEIGHT * ratio);
    this.canvas.style.width = width + 'px';
    this.canvas.style.height = HEIGHT + 'px';
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (i = 0; i < count; i++) {
      x = i * step;
      ctx.globalAlpha = !this.range || i >= this.range[0] && i <= this.range[1] ? 1 : 0.3;
      ctx.fillStyle = colours['f-process'];
      ctx.fillRect(x, HEIGHT - (HEIGHT - 6) * this.sums[i] / most, Math.max(1, step - 1), HEIGHT);
      ctx.fillStyle = colours['f-both'];
      ctx.fillRect(x, HEIGHT - (HEIGHT - 6) * mine[i] / most, Math.max(1, step - 1), HEIGHT);
    }
    ctx.globalAlpha = 1;
    this.text.textContent = this.describe();
    this.canvas.setAttribute('aria-valuetext', this.text.textContent);
    this.canvas.setAttribute('aria-valuemin', '0');
    this.canvas.setAttribute('aria-valuemax', String(count - 1));
    this.canvas.setAttribute('aria-valuenow', String(this.range ? this.range[0] : 0));
  };

  Times.prototype.column = function (event) {
    var box = this.canvas.getBoundingClientRect(), count = this.sums.length;
    return Math.max(0, Math.min(count - 1, Math.floor((event.clientX - box.left) / box.width * count)));
  };

  Times.prototype.listen = function () {
    var self = this, began = -1;
    this.canvas.addEventListener('pointerdown', function (event) {
      began = self.column(event);
      self.canvas.setPointerCapture(event.pointerId);
      self.range = [began, began];
      self.paint();
    });
    this.canvas.addEventListener('pointermove', function (event) {
      if (began < 0) return;
      var now = self.column(event);
      self.range = [Math.min(began, now), Math.max(began, now)];
      self.paint();
    });
    this.canvas.addEventListener('pointerup', function () {
      if (began < 0) return;
      began = -1;
      self.choose(self.range);
    });
    this.canvas.addEventListener('keydown', function (event) {
      self.key(event);
    });
    document.addEventListener('wakepath-theme', function () {
      self.paint();
    });
    window.addEventListener('resize', function () {
      self.paint();
    });
  };

  Times.prototype.key = function (event) {
    var last = this.sums.length - 1, range = this.range, by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (event.key === 'Escape') this.choose(null);
    else if (by && !range) this.choose(by > 0 ? [0, 0] : [last, last]);
    else if (by && event.shiftKey) this.choose([range[0], Math.max(range[0], Math.min(last, range[1] + by))]);
    else if (by && range[0] + by >= 0 && range[1] + by <= last) this.choose([range[0] + by, range[1] + by]);
    else if (!by) return;
    event.preventDefault();
  };

  // For the address: ms since 1970, [from, to).
  Times.prototype.state = function () {
    if (this.stretch) return {stretch: this.stretch.text};
    if (!this.range) return {};
    return {from: Math.round(this.data.start[this.range[0]]), to: Math.round(this.data.start[this.range[1]] + this.data.width)};
  };

  // The columns that an address names, once they are there; then().
  Times.prototype.restore = function (state, then) {
    var self = this, from = Number(state.from), to = Number(state.to), before = this.stretch;
    if (wakepath.stretch.restore(this, state, then)) return;
    if (!(from >= 0) || !(to > from)) {
      if (this.range || before) this.choose(null);
      then();
      return;
    }
    this.open(function (isThere) {
      if (!isThere) {
        then();
        return;
      }
      var starts = self.data.start, first = 0, last = starts.length - 1;
      while (first < last && starts[first] + self.data.width <= from + 1) first++;
      while (last > first && starts[last] >= to - 1) last--;
      self.choose([first, last]);
      then();
    });
  };

  wakepath.FlameTimes = Times;
})();
