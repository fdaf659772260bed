// SPDX-License-Identifier: Apache-2.0
// Last of all scripts: everything is loaded, so put the page to work.
(function () {
  'use strict';
  var wakepath = window.wakepath;
  var button = document.getElementById('theme');

  function nameButton() {
    button.textContent = wakepath.isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', 'Switch to ' + (wakepath.isDark() ? 'light' : 'dark') + ' colours');
  }

  button.hidden = false;
  button.addEventListener('click', wakepath.toggleTheme);
  document.addEventListener('wakepath-theme', nameButton);
  nameButton();
  var tabs = document.querySelector('.tabs'), tab = tabs && tabs.querySelector('[aria-current]');
  if (tab) tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2; // on a phone it may be out of sight
  wakepath.manners();
  wakepath.tables();

  // What was folded is unfolded on paper, of a long table its beginning.
  var PAPER_ROWS = 40;
  function shorten(details) {
    details.querySelectorAll('table').forEach(function (table) {
      var more = table.tBodies.length ? table.tBodies[0].rows.length - PAPER_ROWS : 0, note;
      if (more <= 0) return;
      note = document.createElement('p');
      note.className = 'paper-note';
      note.textContent = wakepath.units.count(more) + ' more rows are on the page; unfold the table there to have them on paper.';
      table.classList.add('paper-short');
      table.parentNode.insertBefore(note, table.nextSibling);
    });
  }

  // On paper everything is unfolded and light, whatever the screen shows.
  var folded = [], theme = null;
  function print(on) {
    document.dispatchEvent(new CustomEvent('wakepath-print', {detail: on}));
  }
  window.addEventListener('beforeprint', function () {
    folded = Array.from(document.querySelectorAll('details:not([open])'));
    folded.forEach(function (details) {
      details.open = true;
      shorten(details);
    });
    theme = document.documentElement.getAttribute('data-theme');
    document.documentElement.setAttribute('data-theme', 'light');
    print(true);
  });
  window.addEventListener('afterprint', function () {
    folded.forEach(function (details) {
      details.open = false;
    });
    document.querySelectorAll('.paper-short').forEach(function (table) {
      table.classList.remove('paper-short');
    });
    document.querySelectorAll('.paper-note').forEach(function (note) {
      note.remove();
    });
    if (theme) document.documentElement.setAttribute('data-theme', theme);
    else document.documentElement.removeAttribute('data-theme');
    print(false);
    document.dispatchEvent(new Event('wakepath-theme'));
  });

  var place = document.getElementById('view');
  if (!place) {
    wakepath.ready('page');
    return;
  }
  var view = place.dataset.view;
  var payload = wakepath.payloads[view === 'flame' || view === 'behind' ? 'flame' : view === 'difference' ? 'compare' : 'trace'];
  if (payload && wakepath.views[view]) {
    place.textContent = '';
    wakepath.views[view](place, payload);
  } else {
    place.querySelector('.waiting').textContent = 'The data of this view could not be loaded. The table below tells the same.';
  }
})();
