// SPDX-License-Identifier: Apache-2.0
// Sorting by a click on a column's head, and a filter over long tables. The tables stand without it.
(function () {
  'use strict';

  function valueOf(row, column) {
    var cell = row.cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent.trim().toLowerCase();
  }

  function compare(a, b) {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
  }

  function sortBy(table, column, down) {
    var body = table.tBodies[0];
    var rows = Array.from(body.rows).map(function (row, place) {
      return {row: row, value: valueOf(row, column), place: place};
    });
    rows.sort(function (a, b) {
      return (down ? compare(b.value, a.value) : compare(a.value, b.value)) || a.place - b.place;
    });
    rows.forEach(function (entry) {
      body.appendChild(entry.row);
    });
  }

  function makeSortable(table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener('click', function () {
        var numeric = table.tBodies[0].rows[0].cells[column].dataset.v !== undefined;
        var before = head.getAttribute('aria-sort');
        var down = before ? before === 'ascending' : numeric;
        Array.from(table.tHead.rows[0].cells).forEach(function (other) {
          other.removeAttribute('aria-sort');
        });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        sortBy(table, column, down);
      });
    });
  }

  function makeSearchable(table) {
    var box = document.createElement('input');
    box.type = 'search';
    box.className = 'filter';
    box.placeholder = 'Filter ' + table.tBodies[0].rows.length + ' rows';
    box.title = 'Words that a row must have; -word: must not have';
    box.setAttribute('aria-label', 'Filter the table');
    box.addEventListener('input', function () {
      // Words that a row must have; those with a minus before them it must not have.
      var words = box.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) {
          return word.length > 1 && word[0] === '-' ? text.indexOf(word.slice(1)) < 0 : text.indexOf(word) >= 0;
        });
      });
    });
    table.parentNode.parentNode.insertBefore(box, table.parentNode);
  }

  // A table wider than the screen can be scrolled with keys as well; one that is not is no stop on a reader's way.
  function makeReachable() {
    Array.from(document.querySelectorAll('.scroll')).forEach(function (place) {
      if (place.scrollWidth > place.clientWidth) {
        place.tabIndex = 0;
        place.setAttribute('role', 'group');
        place.setAttribute('aria-label', 'A table that scrolls sideways');
      } else {
        place.removeAttribute('tabindex');
        place.removeAttribute('role');
        place.removeAttribute('aria-label');
      }
    });
  }

  window.wakepath.tables = function () {
    makeReachable();
    window.addEventListener('resize', makeReachable);
    Array.from(document.querySelectorAll('table.sortable')).forEach(function (table) {
      makeSortable(table);
      if (table.hasAttribute('data-search')) makeSearchable(table);
    });
  };
})();
