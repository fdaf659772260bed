// SPDX-License-Identifier: Apache-2.0
// Pages of a process or thread of its own, with it as the process of interest: those that the recording made are files, others are made
// by `wakepath view`, and a page that is read from a disk says how. "#own=pid-4711" in the address, or wakepath.own, opens the choice.
(function () {
  'use strict';
  var wakepath = window.wakepath, TABS = [['', 'Overview'], ['flame', 'Flame'], ['chronology', 'Chronology'], ['running', 'Timeline']];
  var isServed = /^https?:$/.test(window.location.protocol);

  // From here to the folder of the report.
  function rootOf() {
    var script = document.querySelector('script[src$="assets/own.js"]');
    return script ? script.getAttribute('src').slice(0, -'assets/own.js'.length) : '../';
  }

  function load(file, done) {
    var script = document.createElement('script');
    script.src = file;
    script.onload = script.onerror = done;
    document.head.appendChild(script);
  }

  function add(place, tag, text) {
    var made = place.appendChild(document.createElement(tag));
    made.textContent = text;
    return made;
  }

  function quoted(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
  }

  // The report's folder as the shell knows it.
  function command() {
    var place = document.createElement('a');
    place.href = rootOf();
    return 'wakepath view ' + (isServed ? 'DIR' : quoted(decodeURIComponent(place.pathname).replace(/\/$/, '')));
  }

  function putCommand(place, why, text) {
    add(place, 'p', why);
    add(place, 'pre', text).className = 'own-command';
    var button = add(place, 'button', 'Copy'), said = add(place, 'span', '');
    button.type = 'button';
    said.setAttribute('role', 'status');
    button.addEventListener('click', function () {
      wakepath.copy(text, 'The command', function (done) {
        said.textContent = ' ' + done;
      });
    });
  }

  function putTabs(place, addressOf) {
    var list = add(place, 'p', '');
    TABS.forEach(function (tab, i) {
      if (i) list.appendChild(document.createTextNode(' · '));
      add(list, 'a', tab[1]).href = rootOf() + addressOf(tab[0]);
    });
  }

  function isReady(one) {
    return (wakepath.payloads.own || []).indexOf(one) >= 0;
  }

  function putLinks(place, one, name) {
    putTabs(place, function (tab) {
      return isReady(one) ? 'store/~own-' + one + '.html' + (tab ? '#page=' + tab : '')
        : '~own/' + one + '?name=' + encodeURIComponent(name || '') + (tab ? '&page=' + tab : '');
    });
  }

  // The selector's terms but for an interval; a comma in a value stands behind a backslash.
  function termsOf(selector) {
    return (selector.match(/(?:\\.|[^,\\])+/g) || []).filter(function (term) {
      return !/^between=/.test(term);
    });
  }

  // Of what the selector picks, in an interval of ns since 1970.
  function putInterval(place, selector, between, name) {
    var text = termsOf(selector).concat('between=' + between).join(',');
    add(place, 'h2', 'In the marked interval');
    if (!wakepath.payloads.served)
      putCommand(place, 'Pages of an interval are not made with a recording. This command makes them:', command() + ' --aggregate ' + quoted('interval=' + text));
    else
      putTabs(place, function (tab) {
        return '~own/of?selector=' + encodeURIComponent(text) + '&name=' + encodeURIComponent(name || '') + (tab ? '&page=' + tab : '');
      });
  }

  // Whatever a selector picks is made by a server alone.
  function putAny(place, what) {
    if (!wakepath.payloads.served) return;
    var form = add(place, 'form', ''), label = add(form, 'label', 'Of a selector '), field = label.appendChild(document.createElement('input'));
    field.placeholder = 'comm=cc1';
    field.size = 24;
    field.name = 'selector';
    add(form, 'button', 'Open');
    form.addEventListener('submit', function (event) {
      var typed = field.value.trim();
      var text = what.between && !/(^|,)between=/.test(typed) ? typed + ',between=' + what.between : typed; // a typed one counts
      event.preventDefault();
      if (typed) window.location.href = rootOf() + '~own/of?selector=' + encodeURIComponent(text);
    });
  }

  // Several as one are made by a server alone.
  function putTogether(place, kind, id) {
    if (!wakepath.payloads.served) return;
    var form = add(place, 'form', ''), label = add(form, 'label', 'Together with '), field = label.appendChild(document.createElement('input'));
    field.placeholder = kind === 'pid' ? 'PIDs' : 'thread ids';
    field.size = 16;
    add(form, 'button', 'Open');
    form.addEventListener('submit', function (event) {
      var others = field.value.match(/\d{1,7}/g);
      event.preventDefault();
      if (others) window.location.href = rootOf() + '~own/' + kind + '-' + [id].concat(others).join('+');
    });
  }

  // Of a process and a thread of it; one command makes the pages of both.
  function putKinds(place, what, name) {
    var missing = [];
    [['pid', 'Process '], ['tid', 'Thread ']].forEach(function (kind) {
      var one = kind[0] + '-' + what[kind[0]];
      if (!what[kind[0]]) return;
      if (!isReady(one) && !wakepath.payloads.served) {
        missing.push(kind);
        return;
      }
      add(place, 'h2', kind[1] + what[kind[0]] + name);
      putLinks(place, one, what.name);
      putTogether(place, kind[0], what[kind[0]]);
      if (what.between) putInterval(place, kind[0] + '=' + what[kind[0]], what.between, what.name);
    });
    if (!missing.length) return;
    add(place, 'h2', missing.map(function (kind, i) {
      return (i ? kind[1].toLowerCase() : kind[1]) + what[kind[0]] + (i ? '' : name);
    }).join(', '));
    putCommand(place, (missing.length > 1 ? 'Their' : 'Its') + ' pages were not made with the recording. This command makes them when they are asked for:', command());
    if (what.between) missing.forEach(function (kind) {
      putInterval(place, kind[0] + '=' + what[kind[0]], what.between, what.name);
    });
  }

  function show(what) {
    var old = document.querySelector('dialog.own'), box = document.createElement('dialog'), name = what.name ? ' ' + what.name : '';
    if (old) old.close();
    box.className = 'keys own';
    box.setAttribute('aria-label', 'Pages of its own');
    putKinds(box, what, name);
    if (what.selector) putInterval(box, what.selector, what.between, '');
    putAny(box, what);
    if (what.flame) add(add(box, 'p', ''), 'a', 'Where' + name + ' stands in this flame').href = what.flame;
    box.addEventListener('close', function () {
      box.remove();
    });
    box.addEventListener('click', function (event) {
      if (event.target === box) box.close();
    });
    document.body.appendChild(box);
    box.showModal();
    wakepath.ready('own:' + (what.pid || what.tid || what.between));
  }

  // {pid, tid, name, flame, selector, between}: what there is of them; flame is an address, between "FROM-TO".
  wakepath.own = function (what) {
    load(rootOf() + 'store/~own.js', function () {
      if (!isServed) show(what);
      else load(rootOf() + '~view.js', function () {
        show(what);
      });
    });
  };

  function fromHash() {
    var found = /[#&]own=(pid|tid)-(\d{1,7})(&|$)/.exec(window.location.hash), what = {};
    var name = /[#&]name=([^&]{1,200})/.exec(window.location.hash);
    if (!found) return;
    what[found[1]] = Number(found[2]);
    if (name) {
      try {
        what.name = decodeURIComponent(name[1]);
        what.flame = 'flame.html#process=' + encodeURIComponent('[' + what.name + ']');
      } catch (error) {
        // A damaged address says nothing.
      }
    }
    wakepath.own(what);
  }

  window.addEventListener('hashchange', fromHash);
  fromHash();
})();
