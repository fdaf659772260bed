// SPDX-License-Identifier: Apache-2.0
// The small panel beside the pointer. Texts go in as text, never as markup.
(function () {
  'use strict';

  function Tip() {
    this.box = document.createElement('div');
    this.box.className = 'tip';
    this.box.hidden = true;
    this.box.setAttribute('aria-hidden', 'true');
    document.body.appendChild(this.box);
  }

  function line(box, className, text) {
    var element = document.createElement('div');
    element.className = className;
    element.textContent = text;
    box.appendChild(element);
  }

  // content: {title, lines: [text...], rows: [[label, value]...]}
  Tip.prototype.show = function (x, y, content) {
    var box = this.box;
    box.textContent = '';
    line(box, 'tip-title', content.title);
    (content.lines || []).forEach(function (text) {
      if (text) line(box, 'tip-line', text);
    });
    if (content.rows && content.rows.length) {
      var list = document.createElement('dl');
      content.rows.forEach(function (row) {
        var name = document.createElement('dt');
        var value = document.createElement('dd');
        name.textContent = row[0];
        value.textContent = row[1];
        list.appendChild(name);
        list.appendChild(value);
      });
      box.appendChild(list);
    }
    box.hidden = false;
    var size = box.getBoundingClientRect();
    var left = x + 16 + size.width > window.innerWidth - 8 ? x - size.width - 12 : x + 16;
    var top = y + 18 + size.height > window.innerHeight - 8 ? y - size.height - 12 : y + 18;
    box.style.left = Math.max(8, left) + 'px';
    box.style.top = Math.max(8, top) + 'px';
  };

  Tip.prototype.hide = function () {
    this.box.hidden = true;
  };

  window.wakepath.Tip = Tip;
})();
