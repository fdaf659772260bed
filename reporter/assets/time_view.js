// SPDX-License-Identifier: Apache-2.0
// What the two views of a window over time share: tools, keys and pointers of the axis, the address, and what was not kept.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, palette = wakepath.palette;
  var Surface = wakepath.Surface, TimeAxis = wakepath.TimeAxis;
  var BURST = 900, REST = 160; // ms in which changes are one step back; after which a view that moved stands still

  // A view calls TimeView.call(this, data, gutter, kinds), makes its layout, then start(); it has draw(), hover(), click(), cut().
  // It draws rows of those kinds ("piece", "run", "sleep").
  function TimeView(data, gutter, kinds) {
    var self = this;
    this.data = data;
    this.showLinks = true;
    this.shift = 0; // what addresses call 0, in ns of this data
    this.blanks = blanks(data, kinds);
    this.axis = new TimeAxis(data.length, gutter, function () {
      self.moved();
    });
  }

  // Stretches of a window of which nothing that the view draws was kept, since it did not fit.
  function blanks(data, kinds) {
    var rows = [], found = [], last = 0;
    if (!data.omitted) return found;
    kinds.forEach(function (kind) {
      data[kind + '_start'].forEach(function (start, i) {
        rows.push([start, start + data[kind + '_length'][i]]);
      });
    });
    rows.sort(function (a, b) {
      return a[0] - b[0];
    });
    rows.push([data.length, data.length]);
    rows.forEach(function (row) {
      if (row[0] > last) found.push([last, row[0]]);
      if (row[1] > last) last = row[1];
    });
    return rows.length > 1 ? found : [];
  }

  // "hatched is ...": what of the window is blank.
  function tellBlanks(data, blanks) {
    var ns = 0;
    blanks.forEach(function (blank) {
      ns += blank[1] - blank[0];
    });
    return 'Of this window ' + units.count(data.omitted) + ' pieces did not fit; hatched is the time of which nothing was kept: ' +
      units.duration(ns) + ', ' + units.share(ns, data.length) + '.';
  }

  // Tools (extra(bar) adds the view's own), the drawing, a line to speak, the legend; then what the address says.
  TimeView.prototype.start = function (place, label, legend, extra) {
    var self = this;
    this.buildTools(place, extra);
    this.surface = new Surface(place, label + '. Plus and minus zoom, arrow keys move, m marks what is in sight, Escape shows all.', this.acts());
    this.say = view.say(place);
    view.legend(place, this.blanks.length ? legend.concat([['f-blank', 'not kept: it did not fit']]) : legend);
    this.tip = new wakepath.Tip();
    this.brush = new wakepath.Brush(this, place);
    this.surface.setHeight(this.total);
    if (this.blanks.length) this.say(tellBlanks(this.data, this.blanks));
    window.addEventListener('hashchange', function () {
      if (self.surface.stage.offsetParent) self.fromHash(); // in a single file another view may be in sight
    });
  };

  TimeView.prototype.buildTools = function (place, extra) {
    var self = this, bar = view.element('div', 'tools');
    place.appendChild(bar);
    view.button(bar, '+', 'Zoom in', function () {
      self.axis.zoom((self.axis.gutter + self.surface.width) / 2, 2);
    }).setAttribute('aria-label', 'Zoom in');
    view.button(bar, '−', 'Zoom out', function () {
      self.axis.zoom((self.axis.gutter + self.surface.width) / 2, 0.5);
    }).setAttribute('aria-label', 'Zoom out');
    view.button(bar, 'Show all', 'The whole window (Escape)', function () {
      self.axis.show(0, self.axis.length);
    });
    if (extra) extra(bar);
    view.toggle(bar, 'Links', 'Lines from what set a thread going to where it went on', true, function (on) {
      self.showLinks = on;
      self.surface.paint();
    });
    this.range = view.element('output', 'found');
    bar.appendChild(this.range);
    bar.appendChild(view.element('span', 'hint', 'Wheel zooms, drag moves, Shift and drag sums up, ? shows all keys'));
  };

  TimeView.prototype.acts = function () {
    var self = this;
    return {
      head: TimeAxis.HEIGHT,
      draw: function (ctx, width, height, top) {
        self.axis.width = width;
        self.colours = palette.read();
        self.drawn = 0;
        self.move(top);
        self.drawBlanks(ctx, height);
        self.draw(ctx, width, height, top);
        self.axis.draw(ctx, self.colours, width, 4);
        self.brush.draw(ctx, self.colours, height);
        self.tellRange();
      },
      hover: function (x, y, event) {
        self.hover(x, y, event);
      },
      leave: function () {
        self.tip.hide();
        if (!self.hoveredRow) return;
        self.hoveredRow = null;
        self.surface.paint();
      },
      click: function (x, y) {
        self.surface.canvas.focus({preventScroll: true});
        self.click(x, y);
      },
      drag: function (dx, dy) {
        self.surface.stage.scrollTop -= dy;
        self.axis.pan(dx);
      },
      press: function (x, y, event) {
        return self.brush.press(x, y, event);
      },
      mark: function (x, isEnd) {
        self.brush.drag(x, isEnd);
      },
      wheel: function (x, event) {
        self.axis.wheel(x, event);
      },
      pinch: function (x, factor) {
        self.axis.zoom(x, factor);
      },
      key: function (event) {
        if (!self.brush.key(event) && !(self.ownKey && self.ownKey(event))) self.axis.key(event);
      },
      cut: function (y) {
        return self.cut(y);
      }
    };
  };

  // Hatched, behind everything else, and said where there is room.
  TimeView.prototype.drawBlanks = function (ctx, height) {
    var self = this, axis = this.axis, STEP = 9;
    this.blanks.forEach(function (blank) {
      var x0 = Math.max(axis.gutter, axis.x(blank[0])), x1 = Math.min(axis.width, axis.x(blank[1]));
      if (x1 - x0 < 1) return;
      ctx.save();
      ctx.beginPath();
      ctx.rect(x0, TimeAxis.HEIGHT, x1 - x0, height);
      ctx.clip();
      ctx.strokeStyle = self.colours.line;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (var x = Math.floor((x0 - height) / STEP) * STEP; x < x1; x += STEP) {
        ctx.moveTo(x, TimeAxis.HEIGHT + height);
        ctx.lineTo(x + height, TimeAxis.HEIGHT);
      }
      ctx.stroke();
      var text = 'not kept: it did not fit';
      ctx.font = '600 12px ' + self.colours.sans;
      ctx.textBaseline = 'middle';
      var wide = ctx.measureText(text).width, y = TimeAxis.HEIGHT + 16;
      if (wide + 20 < x1 - x0) {
        ctx.fillStyle = self.colours.surface;
        ctx.fillRect(x0 + 4, y - 9, wide + 12, 18);
        ctx.fillStyle = self.colours.muted;
        ctx.fillText(text, x0 + 10, y);
      }
      ctx.restore();
    });
  };

  // Another stretch is in sight. The address follows at once where that is a step, else when the view stands still: browsers bound
  // how often it may change.
  TimeView.prototype.moved = function () {
    if (this.isRestoring || !(Date.now() - this.lastChange < BURST)) {
      this.changed();
      return;
    }
    this.lastChange = Date.now();
    this.isUnwritten = true;
    this.surface.paint();
    this.settle();
  };

  // When a movement is over the address says where, and the view is painted once more, with all that it has.
  TimeView.prototype.settle = function () {
    var self = this;
    window.clearTimeout(this.resting);
    this.resting = window.setTimeout(function () {
      if (self.isUnwritten) self.changed();
      else self.surface.paint();
    }, REST);
  };

  // The tools are laid out anew for it: while the view moves ten times a second at most.
  TimeView.prototype.tellRange = function () {
    var now = performance.now();
    if (this.isMoving && now - this.lastTold < 100) return;
    this.lastTold = now;
    this.range.textContent = units.duration(this.axis.to - this.axis.from) + ' in sight';
  };

  // Whether this frame is one of a movement.
  TimeView.prototype.move = function (top) {
    var place = [this.axis.from, this.axis.to, top].join();
    this.isMoving = !this.surface.onPaper && Boolean(this.lastPlace) && place !== this.lastPlace;
    this.lastPlace = place;
    if (this.isMoving) this.settle();
  };

  TimeView.prototype.changed = function () {
    var state = {}, whole = this.axis.from === 0 && this.axis.to === this.axis.length, now = Date.now(), isStep = !this.isUnwritten && !(now - this.lastChange < BURST);
    if (!this.isRestoring) this.lastChange = now;
    this.isUnwritten = false;
    if (!whole) {
      state.from = Math.round(this.axis.from - this.shift);
      state.to = Math.round(this.axis.to - this.shift);
    }
    if (this.brush) state.mark = this.brush.state();
    if (this.keep) this.keep(state);
    if (!this.isRestoring) view.writeHash(state, isStep);
    if (this.surface) this.surface.paint();
  };

  TimeView.prototype.fromHash = function () {
    var state = view.readHash(), isPart = state.from && state.to;
    this.isRestoring = true;
    if (this.restore) this.restore(state);
    if (isPart) this.axis.show((Number(state.from) || 0) + this.shift, (Number(state.to) || this.data.length) + this.shift);
    else this.axis.show(0, this.data.length);
    this.brush.restore(state.mark);
    this.isRestoring = false;
  };

  // An instant of the window in ns since 1970, which a number does not hold.
  TimeView.prototype.wall = function (ns) {
    return String(BigInt(this.data.start) + BigInt(Math.round(ns)));
  };

  // Where the flame of an interval is; "": there is none, as of a window that is not the aggregate's own.
  TimeView.prototype.flameOf = function (from, to) {
    var isOwn = wakepath.isSingle ? this.data === wakepath.payloads.trace : document.querySelector('script[src="trace-data.js"]');
    return isOwn && wakepath.stretch ? wakepath.stretch.address(from - this.shift, to - this.shift) : '';
  };

  wakepath.TimeView = TimeView;
})();
