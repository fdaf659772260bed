// SPDX-License-Identifier: Apache-2.0
// First of all scripts, in the head: the shared name space, and the colour scheme before anything is painted.
(function () {
  'use strict';
  var root = document.documentElement;
  var key = 'wakepath-theme';

  // Storage may be forbidden (a page opened from a disk): the choice then lasts as long as the page.
  function remembered() {
    try {
      return window.localStorage.getItem(key);
    } catch (error) {
      return null;
    }
  }

  function remember(theme) {
    try {
      window.localStorage.setItem(key, theme);
    } catch (error) {
      // Nothing to do.
    }
  }

  function isDark() {
    var chosen = root.getAttribute('data-theme');
    return chosen ? chosen === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
  }

  var wakepath = window.wakepath = {
    payloads: {},
    views: {},
    // Called by the data files.
    data: function (name, payload) {
      wakepath.payloads[name] = payload;
    },
    // Called by a page's scripts once it stands as its reader shall see it.
    ready: function (what) {
      document.body.dataset.ready = what;
      performance.mark('wakepath-ready');
    },
    // To another page of the same aggregate.
    go: function (file, fragment) {
      window.location.href = file + '#' + fragment;
    },
    isDark: isDark,
    toggleTheme: function () {
      var theme = isDark() ? 'light' : 'dark';
      root.setAttribute('data-theme', theme);
      remember(theme);
      document.dispatchEvent(new Event('wakepath-theme'));
    }
  };

  var theme = remembered();
  if (theme === 'dark' || theme === 'light') root.setAttribute('data-theme', theme);
  root.classList.add('js');
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', function () {
    document.dispatchEvent(new Event('wakepath-theme'));
  });
})();
