// SPDX-License-Identifier: Apache-2.0
// What every page does as a reader expects of one: a slash searches, a question mark shows the keys, texts can be copied and saved,
// and moments are those of the reader's clock.
(function () {
  'use strict';
  var wakepath = window.wakepath;

  // Calls say(text) when it is done. Where a page may not write to the clipboard by itself, a selection is copied.
  wakepath.copy = function (text, what, say) {
    function bySelection() {
      var area = document.createElement('textarea'), done;
      area.value = text;
      area.className = 'unseen';
      document.body.appendChild(area);
      area.select();
      done = document.execCommand('copy');
      area.remove();
      say(done ? what + ' is on the clipboard.' : 'This browser does not let a page copy.');
    }
    wakepath.copied = text;
    if (!navigator.clipboard) bySelection();
    else navigator.clipboard.writeText(text).then(function () {
      say(what + ' is on the clipboard.');
    }, bySelection);
  };

  wakepath.download = function (name, content, type) {
    var link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([content], {type: type}));
    link.download = name;
    link.click();
    window.setTimeout(function () {
      URL.revokeObjectURL(link.href);
    }, 10000);
  };

  var KEYS = [['/', 'search, or filter a table'], ['?', 'these keys'], ['Back', 'undo a zoom or a choice'], ['t', 'light or dark'], ['', 'Flame'],
    ['arrows', 'from frame to frame'], ['Enter', 'zoom; again on “path:”: go there'], ['Escape', 'out of the zoom'], ['c', 'copy the stack'],
    ['k', 'kernel and start-up frames'], ['', 'Chronology, Timeline'], ['+ −', 'zoom; the wheel, too'], ['← →', 'move; drag, too'], ['0, Escape', 'all of it'],
    ['Shift + drag', 'sum up an interval; on the axis, too'], ['m', 'sum up what is in sight'], ['z', 'zoom to the interval']];

  function help() {
    var old = document.querySelector('dialog.keys'), box, list;
    if (old) {
      old.close();
      return;
    }
    box = document.createElement('dialog');
    box.className = 'keys';
    box.setAttribute('aria-label', 'Keys');
    box.appendChild(document.createElement('h2')).textContent = 'Keys';
    list = box.appendChild(document.createElement('dl'));
    KEYS.forEach(function (key) {
      if (!key[0]) {
        list = (box.appendChild(document.createElement('h3')).textContent = key[1]) && box.appendChild(document.createElement('dl'));
        return;
      }
      list.appendChild(document.createElement('dt')).appendChild(document.createElement('kbd')).textContent = key[0];
      list.appendChild(document.createElement('dd')).textContent = key[1];
    });
    box.addEventListener('close', function () {
      box.remove();
    });
    box.addEventListener('click', function (event) {
      if (event.target === box) box.close();
    });
    document.body.appendChild(box);
    box.showModal();
  }

  // The first search or filter in sight; what is folded is none.
  function searchBox() {
    return Array.from(document.querySelectorAll('main input[type=search]')).find(function (box) {
      return box.offsetParent;
    });
  }

  function key(event) {
    var target = event.target, box;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    if (event.key === '?') help();
    else if (event.key === 't') wakepath.toggleTheme();
    else if (event.key === '/' && (box = searchBox())) box.focus();
    else return;
    event.preventDefault();
  }

  function two(number) {
    return (number < 10 ? '0' : '') + number;
  }

  // "2026-11-22 20:54:25" on the reader's clock, with its distance from UTC.
  wakepath.localTime = function (date) {
    var ahead = -date.getTimezoneOffset(), size = Math.abs(ahead);
    return date.getFullYear() + '-' + two(date.getMonth() + 1) + '-' + two(date.getDate()) + ' ' + two(date.getHours()) + ':' +
      two(date.getMinutes()) + ':' + two(date.getSeconds()) + (ahead ? ' UTC' + (ahead < 0 ? '−' : '+') + Math.floor(size / 60) +
      (size % 60 ? ':' + two(size % 60) : '') : ' UTC');
  };

  // Pages are written in UTC: that is what they say when the pointer rests on a moment.
  function localTimes() {
    document.querySelectorAll('time[datetime]').forEach(function (time) {
      var date = new Date(time.getAttribute('datetime')), utc = time.textContent;
      if (isNaN(date)) return;
      time.title = utc;
      time.textContent = wakepath.localTime(date);
    });
    document.querySelectorAll('[data-moment]').forEach(function (text) { // on a chart's axis: without the day
      var date = new Date(text.dataset.moment.replace(' UTC', 'Z').replace(' ', 'T'));
      if (!isNaN(date)) text.textContent = wakepath.localTime(date).slice(11);
    });
  }

  wakepath.manners = function () {
    var button = document.createElement('button'), theme = document.getElementById('theme');
    button.type = 'button';
    button.id = 'keys';
    button.textContent = '?';
    button.title = 'Keys (?)';
    button.setAttribute('aria-label', 'Keys');
    button.addEventListener('click', help);
    theme.parentNode.insertBefore(button, theme);
    document.addEventListener('keydown', key);
    localTimes();
  };
})();
