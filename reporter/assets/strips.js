// SPDX-License-Identifier: Apache-2.0
// Rows of rectangles over time, composed here and drawn as pictures: a line of pixels for each row, stretched to its height. A canvas
// takes a microsecond and more for each rectangle, and a row may have one in every column.
(function () {
  'use strict';

  function Strips() {
    this.canvas = document.createElement('canvas');
    this.canvas.width = this.canvas.height = 1;
    this.ctx = this.canvas.getContext('2d', {willReadFrequently: true});
    this.known = new Map(); // red, green, blue and alpha of a colour of the style sheet
  }

  // Lines from now on have a pixel for each of the screen from `left` to `right`; ratio: pixels of the screen in one of the page.
  Strips.prototype.begin = function (left, right, ratio) {
    this.ratio = ratio;
    this.left = Math.floor(left * ratio);
    this.width = Math.max(1, Math.ceil(right * ratio) - this.left);
    this.lines = 0;
    this.pieces = [];
    if (!this.image || this.image.width !== this.width) this.room(64);
    this.words.fill(0);
  };

  Strips.prototype.room = function (lines) {
    var before = this.words && this.image.width === this.width ? this.words : null;
    this.image = new ImageData(this.width, lines);
    this.words = new Uint32Array(this.image.data.buffer);
    if (before) this.words.set(before);
  };

  // A line more, empty, for add() and place().
  Strips.prototype.line = function () {
    if (this.lines === this.image.height) this.room(2 * this.lines);
    return {number: this.lines++, colour: null, x0: 0, x1: 0};
  };

  Strips.prototype.parse = function (colour) {
    var one = new Uint8ClampedArray(4);
    this.ctx.clearRect(0, 0, 1, 1);
    this.ctx.fillStyle = colour;
    this.ctx.fillRect(0, 0, 1, 1);
    one.set(this.ctx.getImageData(0, 0, 1, 1).data);
    return {bytes: one, word: new Uint32Array(one.buffer)[0]};
  };

  // For add(): a colour as the style sheet has it.
  Strips.prototype.colour = function (text) {
    var found = this.known.get(text);
    if (!found) this.known.set(text, found = this.parse(text));
    return found;
  };

  // A part of a pixel over what is there.
  Strips.prototype.blend = function (pixel, colour, part) {
    var data = this.image.data, at = pixel * 4, under = data[at + 3] / 255 * (1 - part), over = part + under, i;
    for (i = 0; i < 3; i++) data[at + i] = (colour.bytes[i] * part + data[at + i] * under) / over;
    data[at + 3] = over * 255;
  };

  // A rectangle from x0 to x1 of the page; neighbours of one colour that touch are one.
  Strips.prototype.add = function (line, colour, x0, x1) {
    if (x0 !== line.x1 || colour !== line.colour) {
      this.fill(line);
      line.x0 = x0;
      line.colour = colour;
    }
    line.x1 = x1;
  };

  // What a rectangle covers of a pixel in part shows in part.
  Strips.prototype.fill = function (line) {
    var from = Math.max(0, line.x0 * this.ratio - this.left), to = Math.min(this.width, line.x1 * this.ratio - this.left);
    var first = Math.floor(from), last = Math.floor(to), base = line.number * this.width, colour = line.colour;
    if (to <= from || !colour) return;
    if (first === last) {
      this.blend(base + first, colour, to - from);
      return;
    }
    if (from > first) this.blend(base + first, colour, ++first - from);
    if (last - first < 16) for (var i = first; i < last; i++) this.words[base + i] = colour.word;
    else this.words.fill(colour.word, base + first, base + last);
    if (to > last) this.blend(base + last, colour, to - last);
  };

  // A line shall be seen from y on, so high; nothing is added to it after that.
  Strips.prototype.place = function (line, y, height, alpha) {
    this.fill(line);
    line.colour = null;
    this.pieces.push([line.number, y, height, alpha]);
  };

  // Draws what was placed.
  Strips.prototype.draw = function (ctx) {
    var self = this, x = this.left / this.ratio, width = this.width / this.ratio;
    if (!this.lines) return;
    if (this.canvas.width !== this.width || this.canvas.height !== this.image.height) {
      this.canvas.width = this.width;
      this.canvas.height = this.image.height;
    }
    this.ctx.putImageData(this.image, 0, 0, 0, 0, this.width, this.lines);
    ctx.imageSmoothingEnabled = false;
    this.pieces.forEach(function (piece) {
      ctx.globalAlpha = piece[3];
      ctx.drawImage(self.canvas, 0, piece[0], self.width, 1, x, piece[1], width, piece[2]);
    });
    ctx.globalAlpha = 1;
  };

  window.wakepath.Strips = Strips;
})();
