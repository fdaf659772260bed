// SPDX-License-Identifier: Apache-2.0
// What the drawn views share: tool bars, the state kept in the address, a line that screen readers speak.
(function () {
  'use strict';

  // The part of the address behind '#': a=b&c=d. It is the permalink of what is shown.
  function readHash() {
    var state = {};
    window.location.hash.replace(/^#/, '').split('&').forEach(function (part) {
      var at = part.indexOf('=');
      if (at <= 0) return;
      try {
        state[decodeURIComponent(part.slice(0, at))] = decodeURIComponent(part.slice(at + 1));
      } catch (error) {
        // A damaged address says nothing.
      }
    });
    return state;
  }

  // A step is one that Back undoes; other changes take the place of what was there.
  function writeHash(state, isStep) {
    var parts = Object.keys(state).filter(function (key) {
      return state[key] !== undefined && state[key] !== null && state[key] !== '';
    }).map(function (key) {
      return encodeURIComponent(key) + '=' + encodeURIComponent(state[key]);
    });
    var hash = parts.length ? '#' + parts.join('&') : ' ';
    if (hash.trim() !== window.location.hash) {
      try {
        window.history[isStep ? 'pushState' : 'replaceState'](null, '', hash.trim() || window.location.pathname + window.location.search);
      } catch (error) {
        window.location.hash = hash.trim();
      }
    }
  }

  function element(tag, className, text) {
    var made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function button(bar, text, hint, act) {
    var made = element('button', '', text);
    made.type = 'button';
    made.title = hint;
    made.addEventListener('click', act);
    bar.appendChild(made);
    return made;
  }

  function toggle(bar, text, hint, on, act) {
    var made = button(bar, text, hint, function () {
      var now = made.getAttribute('aria-pressed') !== 'true';
      made.setAttribute('aria-pressed', String(now));
      act(now);
    });
    made.setAttribute('aria-pressed', String(on));
    return made;
  }

  // A choice of one: entries are [value, text].
  function choice(bar, label, entries, value, act) {
    var made = element('select');
    made.setAttribute('aria-label', label);
    entries.forEach(function (entry) {
      var option = element('option', '', entry[1]);
      option.value = entry[0];
      made.appendChild(option);
    });
    made.value = value;
    made.addEventListener('change', function () {
      act(made.value);
    });
    bar.appendChild(made);
    return made;
  }

  // Of another page of the aggregate in that state, for a link.
  function address(file, state) {
    var fragment = Object.keys(state).filter(function (key) {
      return state[key];
    }).map(function (key) {
      return key + '=' + encodeURIComponent(state[key]);
    }).join('&');
    if (window.wakepath.isSingle) return '#page=' + file.replace(/\.html$/, '') + (fragment ? '&' + fragment : '');
    return file + (fragment ? '#' + fragment : '');
  }

  function search(bar, hint, act) {
    var box = element('input');
    box.type = 'search';
    box.placeholder = hint;
    box.setAttribute('aria-label', hint);
    var timer = 0;
    box.addEventListener('input', function () {
      window.clearTimeout(timer);
      timer = window.setTimeout(function () {
        act(box.value);
      }, 120);
    });
    bar.appendChild(box);
    return box;
  }

  // What a search asks for: a part of a name in whatever case, or /a regular expression/; null: nothing. One that is not whole yet, or
  // too long, is looked for as it stands.
  function matcher(text) {
    var needle = text.trim().toLowerCase(), pattern = /^\/(.{1,200})\/$/.exec(text.trim());
    try {
      pattern = pattern && new RegExp(pattern[1], 'i');
    } catch (error) {
      pattern = null;
    }
    return !needle ? null : function (name) {
      return pattern ? pattern.test(name) : name.toLowerCase().indexOf(needle) >= 0;
    };
  }

  function legend(place, entries) {
    var list = element('ul', 'legend');
    entries.forEach(function (entry) {
      var item = element('li');
      item.appendChild(element('span', 'sw ' + entry[0]));
      item.appendChild(document.createTextNode(entry[1]));
      if (entry[2]) item.title = entry[2];
      list.appendChild(item);
    });
    place.appendChild(list);
  }

  function say(place) {
    var line = element('p', 'status');
    line.setAttribute('role', 'status');
    place.appendChild(line);
    return function (text) {
      if (line.textContent !== text) line.textContent = text;
    };
  }

  // Data that few ask for: done(payload), or done(null) when there is no such file.
  function load(file, name, done) {
    var payloads = window.wakepath.payloads;
    if (payloads[name] || window.wakepath.isSingle) {
      done(payloads[name] || null);
      return;
    }
    var script = element('script');
    script.src = file;
    script.onload = script.onerror = function () {
      done(payloads[name] || null);
    };
    document.head.appendChild(script);
  }

  window.wakepath.view = {load: load, readHash: readHash, writeHash: writeHash, element: element, button: button, toggle: toggle,
    choice: choice, address: address, search: search, matcher: matcher, legend: legend, say: say};
})();
