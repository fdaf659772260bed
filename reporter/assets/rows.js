// SPDX-License-Identifier: Apache-2.0
// Tables that a page makes of what it has loaded: sorted by the reader's choice, the first so many, twenty a page.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units;

  function share(part, whole) {
    var box = document.createDocumentFragment(), bar = view.element('span', 'meter');
    bar.setAttribute('aria-hidden', 'true');
    bar.appendChild(view.element('span')).style.width = Math.min(100, whole ? 100 * part / whole : 0) + '%';
    box.appendChild(bar);
    box.appendChild(view.element('span', 'pct', units.share(part, whole)));
    return box;
  }

  // column: {title, hint, kind: name|text|duration|share|count, value(row), link(row), note(row), swatch(row)}
  function cell(column, row, whole) {
    var made = view.element('td', 'k-' + column.kind), value = column.value(row), link = column.link && column.link(row), text;
    if (column.swatch) made.appendChild(view.element('span', 'sw ' + column.swatch(row)));
    if (column.kind === 'share') {
      made.appendChild(share(value, whole));
      return made;
    }
    text = column.kind === 'duration' ? units.duration(value) : column.kind === 'count' ? units.count(value) : value;
    if (value === null) text = '–';
    var place = made;
    if (link) {
      place = view.element('a');
      place.href = link;
      made.appendChild(place);
    }
    place.appendChild(view.element('bdi', '', text));
    if (column.note && column.note(row)) {
      made.appendChild(document.createTextNode(' '));
      made.appendChild(view.element('small')).appendChild(view.element('bdi', '', column.note(row)));
    }
    if (!value && column.kind !== 'name' && column.kind !== 'text') made.className += ' faint';
    return made;
  }

  // Fills `place`: options {columns, rows (in order), whole, empty, label}. Turning a page keeps the focus.
  function table(place, options) {
    var first = 0, PAGE = options.page || 20, rows = options.rows, scroll = view.element('div', 'scroll'), made = view.element('table'), head = view.element('tr');
    var body = view.element('tbody'), bar, back, next, where;
    place.textContent = '';
    if (!rows.length) {
      place.appendChild(view.element('p', 'empty', options.empty));
      return;
    }
    made.setAttribute('aria-label', options.label);
    options.columns.forEach(function (column) {
      var th = view.element('th', 'k-' + column.kind, column.title);
      th.scope = 'col';
      if (column.hint) th.title = column.hint;
      head.appendChild(th);
    });
    made.appendChild(view.element('thead')).appendChild(head);
    made.appendChild(body);
    scroll.appendChild(made);
    place.appendChild(scroll);
    function show() {
      body.textContent = '';
      rows.slice(first, first + PAGE).forEach(function (row) {
        var line = view.element('tr');
        options.columns.forEach(function (column) {
          line.appendChild(cell(column, row, options.whole));
        });
        body.appendChild(line);
      });
      if (!bar) return;
      where.textContent = (first + 1) + ' to ' + Math.min(first + PAGE, rows.length) + ' of ' + units.count(rows.length);
      back.disabled = !first;
      next.disabled = first + PAGE >= rows.length;
    }
    if (rows.length > PAGE) {
      bar = view.element('div', 'tools pages');
      back = view.button(bar, '‹', 'The rows before these', function () {
        first -= PAGE;
        show();
      });
      back.setAttribute('aria-label', 'The rows before these');
      next = view.button(bar, '›', 'The next rows', function () {
        first += PAGE;
        show();
      });
      next.setAttribute('aria-label', 'The next rows');
      where = bar.appendChild(view.element('output', 'found'));
      place.appendChild(bar);
    }
    show();
  }

  wakepath.rows = {table: table};
})();
