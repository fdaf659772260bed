// SPDX-License-Identifier: Apache-2.0
// Time from left to right: what is in sight, zooming around a point, dragging, ticks. Shared by the two time views.
(function () {
  'use strict';
  var wakepath = window.wakepath, units = wakepath.units;
  var HEIGHT = 24, ROOM = 150; // pixels in which any number fits

  function TimeAxis(length, gutter, changed) {
    this.length = Math.max(1, length);
    this.gutter = gutter;
    this.from = 0;
    this.to = this.length;
    this.width = 1;
    this.changed = changed;
  }

  TimeAxis.prototype.scale = function () {
    return (this.width - this.gutter) / (this.to - this.from);
  };

  TimeAxis.prototype.x = function (ns) {
    return this.gutter + (ns - this.from) * this.scale();
  };

  TimeAxis.prototype.time = function (x) {
    return this.from + (x - this.gutter) / this.scale();
  };

  TimeAxis.prototype.show = function (from, to) {
    var span = Math.min(this.length, Math.max(200, to - from));
    from = Math.min(Math.max(0, from), this.length - span);
    this.from = from;
    this.to = from + span;
    this.changed();
  };

  TimeAxis.prototype.zoom = function (x, factor) {
    var at = this.time(Math.max(this.gutter, x)), span = Math.min(this.length, Math.max(200, (this.to - this.from) / factor));
    var share = (at - this.from) / (this.to - this.from);
    this.show(at - share * span, at - share * span + span);
  };

  TimeAxis.prototype.pan = function (dx) {
    var move = dx / this.scale();
    this.show(this.from - move, this.to - move);
  };

  // The wheel zooms; with shift, or sideways, it moves.
  TimeAxis.prototype.wheel = function (x, event) {
    event.preventDefault();
    var unit = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      this.pan(-(event.deltaX || event.deltaY) * unit);
    else this.zoom(x, Math.exp(-event.deltaY * unit * 0.0016));
  };

  TimeAxis.prototype.key = function (event) {
    var middle = (this.gutter + this.width) / 2, step = (this.width - this.gutter) / 8;
    switch (event.key) {
    case '+': case '=': case 'w': this.zoom(middle, 1.5); break;
    case '-': case 's': this.zoom(middle, 1 / 1.5); break;
    case 'ArrowLeft': case 'a': this.pan(step); break;
    case 'ArrowRight': case 'd': this.pan(-step); break;
    case '0': case 'Escape': this.show(0, this.length); break;
    default: return false;
    }
    event.preventDefault();
    return true;
  };

  TimeAxis.prototype.step = function () {
    var wanted = 90 / this.scale(), step = Math.pow(10, Math.floor(Math.log10(wanted)));
    if (step * 5 < wanted) return step * 10;
    return step * 2 < wanted ? step * 5 : step < wanted ? step * 2 : step;
  };

  TimeAxis.prototype.draw = function (ctx, colours, width, height) {
    var step = Math.max(1, this.step()), first = Math.ceil(this.from / step) * step;
    ctx.fillStyle = colours.surface;
    ctx.fillRect(0, 0, width, HEIGHT);
    ctx.font = '11px ' + colours.sans;
    ctx.textBaseline = 'middle';
    for (var at = first; at <= this.to; at += step) {
      var x = Math.round(this.x(at)) + 0.5;
      ctx.fillStyle = colours.line;
      ctx.fillRect(x, HEIGHT - 5, 1, height);
      ctx.fillStyle = colours.muted;
      var text = units.moment(at, step);
      if (x + ROOM <= width || x + 4 + ctx.measureText(text).width <= width) ctx.fillText(text, x + 4, HEIGHT / 2); // half a number is a wrong one
    }
    ctx.fillStyle = colours.line;
    ctx.fillRect(0, HEIGHT - 1, width, 1);
  };

  TimeAxis.HEIGHT = HEIGHT;
  wakepath.TimeAxis = TimeAxis;
})();
