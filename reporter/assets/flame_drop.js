// SPDX-License-Identifier: Apache-2.0
// A second report that a reader drops on a flame, or chooses: its flame-data.js, its folder, or one file of HTML. It is read here and
// compared with what is shown; nothing of it is run.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, models = wakepath.flameModel;
  // This script stands in a page of one file, too: the words are not to be found in it.
  var BEGIN = ['wakepath.data("flame"', ''].join(','), END = '\n"end":0});', BYTES = 268435456, NODES = 8388608, ENTRIES = 20000;
  var ROWS = ['depth', 'frame', 'link'], CELLS = ['cell_node', 'cell_category', 'cell_ns', 'cell_pieces'];

  function bad() {
    throw new Error('no flame of a report is in this file');
  }

  function isText(value) {
    return typeof value === 'string';
  }

  // The flame's data in a text that reporter/data/view_data.c wrote, checked; throws an Error.
  function parse(text) {
    var from = text.indexOf(BEGIN), to = from < 0 ? -1 : text.indexOf(END, from), data;
    if (to < 0) bad();
    data = JSON.parse(text.slice(from + BEGIN.length, to).replace(/:wakepath\.column\((\d{1,8}),("[A-Za-z0-9+/]*")\)/g, ':[$1,$2]') + '\n"end":0}');
    ROWS.concat(CELLS).forEach(function (name) {
      var column = data[name];
      if (!Array.isArray(column) || !(column[0] <= NODES) || !isText(column[1])) bad();
      data[name] = wakepath.column(column[0], column[1]);
    });
    check(data);
    return data;
  }

  function check(data) {
    var frames = data.frames, count = data.depth.length, before = 0;
    if (!Array.isArray(frames) || !Array.isArray(data.categories) || !frames.every(function (frame) {
      return Array.isArray(frame) && Number.isInteger(frame[0]) && isText(frame[1]) && isText(frame[2]);
    })) bad();
    [[ROWS, count], [CELLS, data.cell_node.length]].forEach(function (group) {
      group[0].forEach(function (name) {
        if (data[name].length !== group[1]) bad();
      });
    });
    data.depth.forEach(function (depth, i) {
      if (!(depth >= 1 && depth <= before + 1) || !(data.frame[i] >= 0 && data.frame[i] < frames.length)) bad();
      before = depth;
    });
    data.inlined = [];
  }

  var SAME = 0, FEW = 1, WORSE = 2, BETTER = 3; // enum wp_verdict

  // One sum against another is no test: what differs by less than a tenth of itself or a thousandth of the whole is not marked.
  function verdict(is, was, whole) {
    var by = Math.abs(is - was);
    if (Math.max(is, was) < 0.001 * whole) return FEW;
    return by < 0.001 * whole || by < 0.1 * was ? SAME : is > was ? WORSE : BETTER;
  }

  // `own` as a difference flame against `other`: a stack has the same link in both.
  function against(own, other, names, isOlder) {
    var mine = models.decode(own), theirs = models.decode(other), totals = new Map(), whole = Math.max(mine.total[0], theirs.total[0]), was, i;
    for (i = 1; i < theirs.count; i++) totals.set(theirs.link[i], theirs.total[i]);
    was = mine.total.map(function (ns, node) {
      return node ? totals.get(mine.link[node]) || 0 : theirs.total[0];
    });
    return Object.assign({}, own, {was: was, own: names[0], before: names[1], older: isOlder ? 1 : 0, mark: Array.from(was, function (before, node) {
      return isOlder ? verdict(before, mine.total[node], whole) : verdict(mine.total[node], before, whole);
    })});
  }

  function compare(flame, place, other, name) {
    var box = place.querySelector('.dropped') || place.appendChild(view.element('section', 'dropped')), own = wakepath.payloads.flame;
    var Flame = flame.constructor, below;
    box.textContent = '';
    box.appendChild(view.element('h2', '', 'This report against ' + name));
    box.appendChild(view.element('p', 'sub', units.duration(flame.all.total[0]) + ' here, ' + units.duration(models.decode(other).total[0]) +
      ' there. One sum against another: what differs is marked, no test says that it is sure.'));
    flame.other = new Flame(box.appendChild(view.element('div')), against(own, other, ['this report', name], false), flame);
    below = box.appendChild(view.element('div', 'older'));
    below.appendChild(view.element('h3', '', 'The same by ' + name + ', with what only that has'));
    flame.other.other = new Flame(below, against(other, own, [name, 'this report'], true), flame);
    box.scrollIntoView();
  }

  // The file of a dropped folder that has a flame: of this page's aggregate if there is one. done(file or null)
  function find(entry, done) {
    var folders = [entry], best = null, seen = 0, wanted = window.location.pathname.split('/').slice(-2)[0];
    function next() {
      var folder = folders.shift();
      if (!folder || seen > ENTRIES) {
        if (best) best.file(done, done.bind(null, null));
        else done(null);
        return;
      }
      read(folder.createReader());
    }
    function read(reader) {
      reader.readEntries(function (entries) {
        seen += entries.length;
        entries.forEach(function (one) {
          if (one.isDirectory) folders.push(one);
          else if (one.name === 'flame-data.js' && (!best || one.fullPath.split('/').slice(-2)[0] === wanted)) best = one;
        });
        if (entries.length) read(reader);
        else next();
      }, next);
    }
    next();
  }

  function readFile(flame, place, file) {
    if (!file || file.size > BYTES) {
      flame.say(file ? 'This file is too large to be a report.' : 'No flame-data.js is in this folder.');
      return;
    }
    file.text().then(function (text) {
      compare(flame, place, parse(text), file.name === 'flame-data.js' ? 'the other report' : file.name);
    }).catch(function (error) {
      flame.say(file.name + ': ' + (error instanceof SyntaxError ? 'no flame of a report is in this file' : error.message));
    });
  }

  wakepath.acceptReports = function (flame, bar, place) {
    var input = view.element('input');
    input.type = 'file';
    input.hidden = true;
    input.setAttribute('aria-label', 'Another report: its flame-data.js, or one file of HTML');
    bar.appendChild(input);
    view.button(bar, 'Compare …', 'With another report: choose its flame-data.js or its file of HTML, or drop it here, or its folder', function () {
      input.click();
    });
    input.addEventListener('change', function () {
      if (input.files[0]) readFile(flame, place, input.files[0]);
      input.value = '';
    });
    place.addEventListener('dragover', function (event) {
      event.preventDefault();
      place.classList.add('dragged');
    });
    place.addEventListener('dragleave', function () {
      place.classList.remove('dragged');
    });
    place.addEventListener('drop', function (event) {
      var item = event.dataTransfer.items[0], entry = item && item.webkitGetAsEntry && item.webkitGetAsEntry();
      event.preventDefault();
      place.classList.remove('dragged');
      if (entry && entry.isDirectory) find(entry, function (file) {
        readFile(flame, place, file);
      });
      else if (event.dataTransfer.files[0]) readFile(flame, place, event.dataTransfer.files[0]);
    });
  };

  // For whoever has the text already.
  wakepath.compareWith = function (flame, place, text, name) {
    compare(flame, place, parse(text), name);
  };
})();
