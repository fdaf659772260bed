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
      if (!head.textContent.trim()) return;
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
        show(table);
        remember(table, 'sort', column + (down ? 'd' : 'a'));
      });
    });
  }

  // Which columns and rows a reader chose is kept in the address, as "functions.sort=3d&functions.top=20", unless the page draws a
  // view: that has the address for itself.
  function hash() {
    return window.location.hash.replace(/^#/, '').split('&').filter(function (part) {
      return /^[a-z0-9-]+\.(sort|top|rows)=/.test(part);
    });
  }

  function remember(table, key, value) {
    if (document.querySelector('.view') || window.wakepath.isSingle) return;
    var name = table.id + '.' + key + '=', parts = hash().filter(function (part) {
      return part.indexOf(name) !== 0;
    });
    if (value) parts.push(name + encodeURIComponent(value));
    try {
      window.history.replaceState(null, '', parts.length ? '#' + parts.join('&') : window.location.pathname + window.location.search);
    } catch (error) {
      // A page opened from a disk may have to do without.
    }
  }

  function recall(table, key) {
    var name = table.id + '.' + key + '=', found = hash().find(function (part) {
      return part.indexOf(name) === 0;
    });
    try {
      return found ? decodeURIComponent(found.slice(name.length)) : '';
    } catch (error) {
      return '';
    }
  }

  var LIMITS = [['', 'all rows'], ['20', 'first 20'], ['100', 'first 100'], ['1%', '1 % and more'], ['0.1%', '0.1 % and more'], ['1ms', '1 ms and more'],
    ['1s', '1 s and more']];

  // The column that a limit is of: the one the table is sorted by, else its first time. -1: none has numbers.
  function limited(table) {
    var heads = Array.from(table.tHead.rows[0].cells), sorted = heads.findIndex(function (head) {
      return head.hasAttribute('aria-sort') && /k-(duration|share|count|value)/.test(head.className);
    });
    return sorted >= 0 ? sorted : heads.findIndex(function (head) {
      return /k-duration/.test(head.className);
    });
  }

  // Whether a row is one of those that the reader asked for; `place` counts those that fit otherwise.
  function within(table, row, place) {
    var top = table.dataset.top || '', number = parseFloat(top), column = limited(table), cell = column < 0 ? null : row.cells[column];
    if (!(number > 0)) return true;
    if (/^[0-9]+$/.test(top)) return place < number;
    if (!cell || cell.dataset.v === undefined) return true;
    if (/s$/.test(top)) return !/k-(duration|share)/.test(cell.className) || Number(cell.dataset.v) >= number * (/ms$/.test(top) ? 1e6 : 1e9);
    return Number(cell.dataset.v) >= wholeOf(table, column) * number / 100;
  }

  // What a percent is of: the total behind the table's shares where there is one, else the column's sum.
  function wholeOf(table, column) {
    var rows = Array.from(table.tBodies[0].rows);
    if (table.dataset.whole && /k-(duration|share)/.test(table.tHead.rows[0].cells[column].className)) return Number(table.dataset.whole);
    return rows.reduce(function (sum, row) {
      return sum + Number(row.cells[column].dataset.v || 0);
    }, 0);
  }

  // "/a regular expression/" of a filter, null when it is none.
  function expression(filter) {
    var found = /^\/(.{1,200})\/$/.exec(filter);
    try {
      return found && new RegExp(found[1], 'i');
    } catch (error) {
      return null;
    }
  }

  function quoted(text) {
    text = text.replace(/\s+/g, ' ').trim();
    if (/^[=+@-]/.test(text)) text = '\'' + text; // no spreadsheet shall compute a name
    return /[",]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  // The rows in sight with their numbers as they are: times in nanoseconds.
  function csv(table) {
    var lines = [Array.from(table.tHead.rows[0].cells, function (head) {
      return quoted(head.textContent + (/k-(duration|share)/.test(head.className) ? ' (ns)' : ''));
    }).join(',')];
    Array.from(table.tBodies[0].rows).forEach(function (row) {
      if (!row.hidden) lines.push(Array.from(row.cells, function (cell) {
        return cell.dataset.v !== undefined ? cell.dataset.v : quoted(cell.textContent);
      }).join(','));
    });
    return lines.join('\n') + '\n';
  }

  function makeCopied(table) {
    var bar = document.createElement('div'), button = document.createElement('button');
    bar.className = 'table-tools';
    button.type = 'button';
    button.className = 'csv';
    button.textContent = 'CSV';
    button.title = 'Copy the rows in sight as comma-separated values, times in nanoseconds';
    button.addEventListener('click', function () {
      window.wakepath.copy(csv(table), 'The table', function (text) {
        button.textContent = /clipboard/.test(text) ? 'Copied' : 'Not copied';
        window.setTimeout(function () {
          button.textContent = 'CSV';
        }, 2000);
      });
    });
    bar.appendChild(button);
    table.parentNode.parentNode.insertBefore(bar, table.parentNode);
  }

  // Rows with the words of the filter, as many as the limit says.
  function show(table) {
    var filter = (table.dataset.words || '').trim(), pattern = expression(filter), words = pattern ? [] : filter.toLowerCase().split(/\s+/).filter(Boolean);
    var place = 0;
    Array.from(table.tBodies[0].rows).forEach(function (row) {
      var text = words.length ? row.textContent.toLowerCase() : '';
      var fits = pattern ? pattern.test(row.textContent) : words.every(function (word) {
        return word.length > 1 && word[0] === '-' ? text.indexOf(word.slice(1)) < 0 : text.indexOf(word) >= 0;
      });
      row.hidden = !fits || !within(table, row, place);
      if (fits) place++;
    });
  }

  function makeSearchable(table) {
    var bar = document.createElement('div'), box = document.createElement('input'), limit = document.createElement('select');
    bar.className = 'tools';
    box.type = 'search';
    box.className = 'filter';
    box.placeholder = 'Filter ' + table.tBodies[0].rows.length + ' rows';
    box.title = 'Words that a row must have; -word: must not have; /regular expression/';
    box.setAttribute('aria-label', 'Filter the table');
    box.addEventListener('input', function () {
      table.dataset.words = box.value;
      show(table);
      remember(table, 'rows', box.value.trim());
    });
    limit.setAttribute('aria-label', 'How many rows');
    limit.title = 'By the column that the table is sorted by, else by its first time';
    LIMITS.forEach(function (entry) {
      var option = document.createElement('option');
      option.value = entry[0];
      option.textContent = entry[1];
      limit.appendChild(option);
    });
    limit.addEventListener('change', function () {
      table.dataset.top = limit.value;
      show(table);
      remember(table, 'top', limit.value);
    });
    box.value = table.dataset.words = recall(table, 'rows');
    limit.value = recall(table, 'top');
    table.dataset.top = limit.value;
    bar.appendChild(box);
    bar.appendChild(limit);
    table.parentNode.parentNode.insertBefore(bar, table.parentNode);
  }

  // What the address says of a table.
  function restore(table) {
    var sort = /^([0-9]+)([ad])$/.exec(recall(table, 'sort')), head = sort && table.tHead.rows[0].cells[Number(sort[1])];
    if (head) {
      head.setAttribute('aria-sort', sort[2] === 'd' ? 'descending' : 'ascending');
      sortBy(table, Number(sort[1]), sort[2] === 'd');
    }
    if (table.dataset.words || table.dataset.top) show(table);
  }

  var FOLDED = 'details:not([open])', COPIED = 4; // rows from which on a table can be copied

  // A table wider than the screen can be scrolled with keys as well; one that is not is no stop on a reader's way.
  function makeReachable() {
    Array.from(document.querySelectorAll('.scroll')).forEach(function (place) {
      if (place.closest(FOLDED)) return; // to ask how wide it is would lay it out
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

  function prepare(table) {
    makeSortable(table);
    if (table.hasAttribute('data-search')) makeSearchable(table);
    if (table.tBodies[0].rows.length >= COPIED) makeCopied(table);
    restore(table);
  }

  // What is folded is made ready when it is unfolded: a table of a thousand rows takes longer than the drawing above it.
  window.wakepath.tables = function () {
    makeReachable();
    window.addEventListener('resize', makeReachable);
    Array.from(document.querySelectorAll('table.sortable')).forEach(function (table) {
      var folded = table.closest(FOLDED);
      if (!folded) {
        prepare(table);
        return;
      }
      folded.addEventListener('toggle', function () {
        prepare(table);
        makeReachable();
      }, {once: true});
    });
  };
})();
