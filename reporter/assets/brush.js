// SPDX-License-Identifier: Apache-2.0
// An interval of a time view that a reader has marked: drawn over it, and summed up below. Shift and drag, or a drag on the axis,
// marks; m marks what is in sight, z zooms to what is marked, Escape unmarks.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, ROWS = 10;

  // owner: a TimeView with sumUp(from, to): {parts: [[swatch, title, ns]...], heads: [title...], rows: [[name, ns...]...], whole: ns}
  function Brush(owner, place) {
    this.owner = owner;
    this.range = null;
    this.box = place.appendChild(view.element('section', 'brushed'));
    this.box.hidden = true;
    this.box.setAttribute('aria-label', 'The marked interval');
  }

  Brush.prototype.mark = function (from, to, isFinal) {
    var axis = this.owner.axis, low = Math.max(0, Math.min(from, to)), high = Math.min(axis.length, Math.max(from, to));
    this.range = high - low > 0 ? [Math.round(low), Math.round(high)] : null;
    if (isFinal) {
      this.show();
      this.owner.changed();
    }
    if (this.owner.surface) this.owner.surface.paint();
  };

  Brush.prototype.clear = function () {
    this.range = null;
    this.show();
    this.owner.changed();
  };

  // Whether a press at that place begins to mark.
  Brush.prototype.press = function (x, y, event) {
    if (!event.shiftKey && y - this.owner.surface.stage.scrollTop > wakepath.TimeAxis.HEIGHT) return false;
    if (x < this.owner.axis.gutter) return false;
    this.began = this.owner.axis.time(x);
    return true;
  };

  Brush.prototype.drag = function (x, isEnd) {
    this.mark(this.began, this.owner.axis.time(Math.max(this.owner.axis.gutter, x)), isEnd);
  };

  Brush.prototype.draw = function (ctx, colours, height) {
    if (!this.range) return;
    var axis = this.owner.axis, x0 = Math.max(axis.gutter, axis.x(this.range[0])), x1 = Math.min(axis.width, axis.x(this.range[1]));
    if (x1 < x0) return;
    ctx.globalAlpha = 0.16;
    ctx.fillStyle = colours.accent;
    ctx.fillRect(x0, 0, Math.max(1, x1 - x0), height);
    ctx.globalAlpha = 1;
    ctx.fillRect(x0, 0, 1, height);
    ctx.fillRect(x1 - 1, 0, 1, height);
  };

  function head(row, title, kind) {
    var cell = row.appendChild(view.element('th', kind, title));
    cell.scope = 'col';
  }

  function table(box, found) {
    var scroll = box.appendChild(view.element('div', 'scroll')), made = scroll.appendChild(view.element('table')), body;
    var row = made.appendChild(view.element('thead')).appendChild(view.element('tr'));
    head(row, found.heads[0], 'k-name');
    found.heads.slice(1).forEach(function (title) {
      head(row, title, 'k-duration');
    });
    body = made.appendChild(view.element('tbody'));
    found.rows.slice(0, ROWS).forEach(function (values) {
      row = body.appendChild(view.element('tr'));
      row.appendChild(view.element('td', 'k-name')).appendChild(view.element('bdi', '', values[0]));
      values.slice(1).forEach(function (ns) {
        row.appendChild(view.element('td', 'k-duration' + (ns ? '' : ' faint'), units.duration(ns)));
      });
    });
    if (found.rows.length > ROWS) box.appendChild(view.element('p', 'left-out', units.count(found.rows.length - ROWS) + ' more'));
  }

  Brush.prototype.show = function () {
    var self = this, range = this.range, box = this.box, found, line, list;
    box.hidden = !range;
    box.textContent = '';
    if (!range) return;
    found = this.owner.sumUp(range[0], range[1]);
    line = box.appendChild(view.element('p', 'figure'));
    line.appendChild(view.element('strong', '', units.duration(range[1] - range[0])));
    line.appendChild(view.element('span', '', 'from ' + units.duration(range[0]) + ' to ' + units.duration(range[1])));
    view.button(line, 'Zoom to it', 'z', function () {
      self.owner.axis.show(range[0], range[1]);
    });
    if (this.owner.flameOf && this.owner.flameOf(range[0], range[1])) line.appendChild(view.element('a', '', 'Its flame')).href = this.owner.flameOf(range[0], range[1]);
    this.putPages(line, range);
    view.button(line, 'Unmark', 'Escape', function () {
      self.clear();
    });
    list = box.appendChild(view.element('ul', 'legend'));
    found.parts.forEach(function (part) {
      if (!part[2]) return;
      var item = list.appendChild(view.element('li'));
      item.appendChild(view.element('span', 'sw ' + part[0]));
      item.appendChild(document.createTextNode(part[1] + ' ' + units.duration(part[2]) + ', ' + units.share(part[2], found.whole)));
    });
    if (found.rows.length) table(box, found);
  };

  // What the engine says of the interval: pages of its own, where they can be made or asked for.
  Brush.prototype.putPages = function (line, range) {
    var interest = wakepath.payloads.interest, owner = this.owner;
    if (!wakepath.own || !interest) return;
    view.button(line, 'Pages of it', '', function () {
      wakepath.own({selector: interest.selector, between: owner.wall(range[0]) + '-' + owner.wall(range[1])});
    });
  };

  // m, z and Escape; true: it was for us.
  Brush.prototype.key = function (event) {
    var axis = this.owner.axis;
    if (event.key === 'm') this.mark(axis.from, axis.to, true);
    else if (event.key === 'z' && this.range) axis.show(this.range[0], this.range[1]);
    else if (event.key === 'Escape' && this.range) this.clear();
    else return false;
    event.preventDefault();
    return true;
  };

  Brush.prototype.state = function () {
    var shift = this.owner.shift;
    return this.range ? this.range.map(function (ns) {
      return ns - shift;
    }).join('-') : '';
  };

  Brush.prototype.restore = function (text) {
    var found = /^(-?\d{1,18})-(-?\d{1,18})$/.exec(text || '');
    this.range = null;
    if (found) this.mark(Number(found[1]) + this.owner.shift, Number(found[2]) + this.owner.shift, false);
    this.show();
  };

  wakepath.Brush = Brush;
})();
