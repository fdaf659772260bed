// SPDX-License-Identifier: Apache-2.0
// Columns of numbers in the data files: differences in base64 VLQ, as reporter/display/number_column.h writes them.
(function () {
  'use strict';
  var DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', values = new Uint8Array(128);
  for (var i = 0; i < DIGITS.length; i++) values[DIGITS.charCodeAt(i)] = i;

  // Bit 0 of a number's first digit is its sign; bit 5 of each digit says that another follows. Sums, not shifts: there are 53 bits.
  window.wakepath.column = function (count, text) {
    var column = new Float64Array(count), value = 0, at = 0;
    for (var row = 0; row < count; row++) {
      var digit = values[text.charCodeAt(at++)], isNegative = digit & 1, size = digit >> 1 & 15, scale = 16;
      while (digit & 32) {
        digit = values[text.charCodeAt(at++)];
        size += (digit & 31) * scale;
        scale *= 32;
      }
      value += isNegative ? -size : size;
      column[row] = value;
    }
    return column;
  };
})();
