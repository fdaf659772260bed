// SPDX-License-Identifier: Apache-2.0
// Instead of page.js where all pages of an aggregate are one file: shows one section at a time, by the part of the address
// behind '#' (page=flame&node=...), and draws a view when its section is first shown.
(function () {
  'use strict';
  var wakepath = window.wakepath;
  var button = document.getElementById('theme');
  var sections = Array.from(document.querySelectorAll('main > section[data-page]'));
  var tabs = Array.from(document.querySelectorAll('nav.tabs a'));
  var shown = null;

  function nameButton() {
    button.textContent = wakepath.isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', 'Switch to ' + (wakepath.isDark() ? 'light' : 'dark') + ' colours');
  }

  // The views keep their state in the address: the page stands before it there.
  var writeHash = wakepath.view.writeHash;
  wakepath.view.writeHash = function (state, isStep) {
    writeHash(Object.assign({page: shown}, state), isStep);
  };
  wakepath.isSingle = true;
  wakepath.go = function (file, fragment) {
    window.location.hash = '#page=' + file.replace(/\.html$/, '') + (fragment ? '&' + fragment : '');
  };

  function draw(section) {
    var place = section.querySelector('.view');
    if (!place || section.dataset.drawn) return;
    section.dataset.drawn = 'yes';
    var view = place.dataset.view;
    var payload = wakepath.payloads[section.dataset.payload] || wakepath.payloads[view === 'flame' || view === 'behind' ? 'flame' : view === 'difference' ? 'compare' : 'trace'];
    if (payload && wakepath.views[view]) {
      place.textContent = '';
      wakepath.views[view](place, payload);
    }
  }

  function show() {
    var wanted = wakepath.view.readHash().page || (document.getElementById('page=compare') ? 'compare' : 'overview');
    var section = sections.find(function (one) {
      return one.dataset.page === wanted;
    }) || sections[0];
    if (shown === section.dataset.page) return;
    shown = section.dataset.page;
    sections.forEach(function (one) {
      one.hidden = one !== section;
    });
    tabs.forEach(function (tab) {
      if (tab.getAttribute('href') === '#page=' + shown) tab.setAttribute('aria-current', 'page');
      else tab.removeAttribute('aria-current');
    });
    document.body.classList.toggle('wide', section.querySelector('.view') !== null);
    draw(section);
    window.scrollTo(0, 0);
    wakepath.ready('page:' + shown);
  }

  button.hidden = false;
  button.addEventListener('click', wakepath.toggleTheme);
  document.addEventListener('wakepath-theme', nameButton);
  nameButton();
  wakepath.manners();
  wakepath.tables();
  // Before the views hear of it: a new address is theirs only where it is of their page.
  window.addEventListener('hashchange', function (event) {
    show();
    if (!document.querySelector('main > section:not([hidden]) .view')) event.stopImmediatePropagation();
  });
  show();
  window.addEventListener('load', function () {
    window.scrollTo(0, 0); // where the browser has gone to the section by its name
  });
})();
