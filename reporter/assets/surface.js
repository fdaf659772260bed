// SPDX-License-Identifier: Apache-2.0
// A canvas in a scrolling stage: sharp on every screen, painted once a frame at most, only the part in sight. Pointer,
// wheel and pinch come out as plain calls.
(function () {
  'use strict';

  var widths = new Map(); // the mean of a character, by font
  var PAPER = 1100, SHEETS = 24; // pixels of a drawing on one page of paper, where it is made to fit, and pages at most

  // acts: draw(ctx, width, height, top), hover(x, y, event), leave(), click(x, y, event), drag(dx, dy), press(x, y, event): whether
  // the drag that begins marks, mark(x, isEnd), wheel(x, event),
  // pinch(x, factor), key(event), cut(y): where at or above y a page may end; y counts from the top of the content. head: pixels of
  // an axis that stands above what is scrolled. All but draw may be missing.
  function Surface(place, label, acts) {
    this.acts = acts;
    this.stage = document.createElement('div');
    this.stage.className = 'stage';
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-label', label);
    this.spacer = document.createElement('div');
    this.stage.appendChild(this.canvas);
    this.stage.appendChild(this.spacer);
    place.appendChild(this.stage);
    this.contentHeight = 0;
    this.width = this.height = 0;
    this.pending = false;
    this.pointers = new Map();
    this.listen();
  }

  Surface.prototype.listen = function () {
    var self = this;
    this.stage.addEventListener('scroll', function () {
      self.paint();
    });
    document.addEventListener('wakepath-theme', function () {
      self.paint();
    });
    document.addEventListener('wakepath-print', function (event) {
      self.onPaper = event.detail;
      self.resize();
      self.paintNow(); // there is no next frame before the paper
      self.layPages();
    });
    new ResizeObserver(function () {
      if (self.resize()) self.paintNow(); // after this frame's painting: not a frame without a picture
    }).observe(this.stage);
    window.addEventListener('resize', function () {
      if (self.resize()) self.paint();
    });
    this.canvas.addEventListener('keydown', function (event) {
      if (self.acts.key) self.acts.key(event);
    });
    this.canvas.addEventListener('wheel', function (event) {
      if (self.acts.wheel) self.acts.wheel(self.at(event).x, event);
    }, {passive: false});
    this.listenPointer();
  };

  Surface.prototype.listenPointer = function () {
    var self = this, canvas = this.canvas, moved = 0, marks = false;
    canvas.addEventListener('pointerdown', function (event) {
      if (event.button) return;
      self.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
      moved = self.pointers.size > 1 ? 100 : 0;
      marks = self.pointers.size === 1 && self.acts.press && self.acts.press(self.at(event).x, self.at(event).y, event);
    });
    canvas.addEventListener('pointermove', function (event) {
      var before = self.pointers.get(event.pointerId);
      if (!before) {
        if (self.acts.hover) self.acts.hover(self.at(event).x, self.at(event).y, event);
        return;
      }
      var dx = event.clientX - before.x, dy = event.clientY - before.y;
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 4) return;
      if (!canvas.hasPointerCapture(event.pointerId)) canvas.setPointerCapture(event.pointerId);
      if (marks) self.acts.mark(self.at(event).x, false);
      else if (self.pointers.size === 2 && self.acts.pinch) self.pinch(event);
      else if (self.acts.drag) self.acts.drag(dx, dy);
      self.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    });
    function up(event) {
      if (marks && moved >= 4) self.acts.mark(self.at(event).x, true);
      marks = false;
      if (self.pointers.delete(event.pointerId) && moved < 4 && event.type === 'pointerup' && self.acts.click)
        self.acts.click(self.at(event).x, self.at(event).y, event);
    }
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', function () {
      if (self.acts.leave) self.acts.leave();
    });
  };

  Surface.prototype.pinch = function (event) {
    var other = null;
    this.pointers.forEach(function (point, id) {
      if (id !== event.pointerId) other = point;
    });
    var before = this.pointers.get(event.pointerId);
    var was = Math.abs(before.x - other.x) || 1, is = Math.abs(event.clientX - other.x) || 1;
    var left = this.canvas.getBoundingClientRect().left;
    this.acts.pinch((event.clientX + other.x) / 2 - left, is / was);
  };

  Surface.prototype.at = function (event) {
    var box = this.canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top + this.stage.scrollTop};
  };

  // How tall the content is; the stage grows with it down to the window's lower edge and scrolls beyond that.
  Surface.prototype.setHeight = function (height) {
    this.contentHeight = height;
    this.resize();
    this.paint();
  };

  // True when the canvas has another size, which empties it.
  Surface.prototype.resize = function () {
    var above = this.stage.getBoundingClientRect().top + window.scrollY;
    var most = this.onPaper ? PAPER : Math.max(320, Math.round(window.innerHeight - above - 20)); // paper does not scroll
    var height = Math.max(120, Math.min(this.contentHeight, most));
    var atEnd = this.height && this.stage.scrollTop + this.height >= this.contentHeight - 1; // what stands on the ground stays in sight
    this.stage.style.height = height + 'px';
    var width = this.stage.clientWidth, ratio = this.onPaper ? 1 : window.devicePixelRatio || 1;
    if (!width) return false;
    if (this.onPaper) width = Math.max(width, Math.round(height * 1.2)); // scaled to a page: what is tall would leave most of its width blank
    this.spacer.style.height = Math.max(0, this.contentHeight - height) + 'px';
    if (atEnd) this.stage.scrollTop = this.contentHeight;
    if (this.width === width && this.height === height && this.ratio === ratio) return false;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = width + 'px';
    this.canvas.style.height = height + 'px';
    return true;
  };

  Surface.prototype.paint = function () {
    var self = this;
    if (this.pending || !this.width) return;
    this.pending = true;
    window.requestAnimationFrame(function () {
      self.pending = false;
      self.paintNow();
    });
  };

  Surface.prototype.paintNow = function () {
    var ctx = this.canvas.getContext('2d');
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    this.acts.draw(ctx, this.width, this.height, this.onPaper ? 0 : this.stage.scrollTop);
    if (this.onPaper) ctx.clearRect(0, this.sheetEnd(0), this.width, this.height); // a later painting, too, ends where the next page begins
    else this.shade(ctx);
  };

  // Where the page that begins at `top` of the content ends: between two rows.
  Surface.prototype.sheetEnd = function (top) {
    var y = Math.min(top + this.height, this.contentHeight), cut = y < this.contentHeight && this.acts.cut ? this.acts.cut(y) : y;
    return this.contentHeight <= this.height ? this.height : cut > top + (this.acts.head || 0) ? cut : y;
  };

  // Paper does not scroll: what is taller than a page goes on on further ones, each with the axis, and no row is cut in two.
  Surface.prototype.layPages = function () {
    var head = this.acts.head || 0, top, pages, note;
    this.stage.classList.remove('sheets');
    this.stage.querySelectorAll('.sheet-more').forEach(function (page) {
      page.remove();
    });
    if (!this.onPaper || !this.width || this.contentHeight <= this.height) return;
    this.stage.classList.add('sheets');
    for (top = this.sheetEnd(0) - head, pages = 1; top + head < this.contentHeight && pages < SHEETS; top = this.sheetEnd(top) - head, pages++) {
      var canvas = document.createElement('canvas'), ctx = canvas.getContext('2d');
      canvas.className = 'sheet-more';
      canvas.width = this.canvas.width;
      canvas.height = this.canvas.height;
      ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      this.acts.draw(ctx, this.width, this.height, top);
      ctx.clearRect(0, this.sheetEnd(top) - top, this.width, this.height);
      this.stage.appendChild(canvas);
    }
    if (top + head >= this.contentHeight) return;
    note = document.createElement('p');
    note.className = 'sheet-more';
    note.textContent = 'On paper are the first ' + Math.round((top + head) / this.contentHeight * 100) + ' % of this drawing; the page has all of it.';
    this.stage.appendChild(note);
  };

  // A shadow along the edge beyond which there is more.
  Surface.prototype.shade = function (ctx) {
    var self = this, top = this.stage.scrollTop, SHADE = 12;
    function edge(from, to) {
      var paint = ctx.createLinearGradient(0, from, 0, to);
      paint.addColorStop(0, 'rgb(0 0 0 / 22%)');
      paint.addColorStop(1, 'rgb(0 0 0 / 0%)');
      ctx.fillStyle = paint;
      ctx.fillRect(0, Math.min(from, to), self.width, SHADE);
    }
    var head = this.acts.head || 0;
    if (top > 1) edge(head, head + SHADE);
    if (this.contentHeight - top - this.height > 1) edge(this.height, this.height - SHADE);
  };

  // As much of `text` as fits into `room` pixels, by the mean width of a character in the font in use.
  Surface.fit = function (ctx, text, room) {
    var wide = widths.get(ctx.font);
    if (!wide) widths.set(ctx.font, wide = ctx.measureText('abcdefghijklmnopqrstuvwxyz_:[]0123456789').width / 40);
    var most = Math.floor(room / wide);
    if (text.length <= most) return text;
    return most < 3 ? '' : text.slice(0, most - 1) + '…';
  };

  window.wakepath.Surface = Surface;
})();
