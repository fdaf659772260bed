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
  wakepath.tables();

  // On paper everything is unfolded and light, whatever the screen shows.
  var folded = [], theme = null;
  window.addEventListener('beforeprint', function () {
    folded = Array.from(document.querySelectorAll('details:not([open])'));
    folded.forEach(function (details) {
      details.open = true;
    });
    theme = document.documentElement.getAttribute('data-theme');
    document.documentElement.setAttribute('data-theme', 'light');
    document.dispatchEvent(new Event('wakepath-print'));
  });
  window.addEventListener('afterprint', function () {
    folded.forEach(function (details) {
      details.open = false;
    });
    if (theme) document.documentElement.setAttribute('data-theme', theme);
    else document.documentElement.removeAttribute('data-theme');
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
