// SPDX-License-Identifier: Apache-2.0
// Whose time: the hosts of the process of interest, as far as the store tells them apart (each shard is one sum). Loaded when it is
// asked for; what is chosen becomes a model like any other, and the strip of times shows only it.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units;

  // `flame` has all (a model), times, say(), toHash(), layout(); a Behind has them too.
  function Hosts(flame, bar, place) {
    var self = this;
    this.flame = flame;
    this.chosen = [];
    this.toggle = view.toggle(bar, 'Hosts', 'Choose whose time is shown', false, function (on) {
      if (on) self.open(null);
      else self.close();
    });
    this.box = view.element('fieldset', 'choices');
    this.box.hidden = true;
    this.box.appendChild(view.element('legend', '', 'Whose time is shown'));
    place.appendChild(this.box);
  }

  // then(rows, processes): [name, hosts, total, whether it has a file], or null; [name, host, on paths, running, how many].
  function list(then) {
    view.load('origins-data.js', 'origins', function (data) {
      then(data && data.rows.length ? data.rows : null, data ? data.processes : []);
    });
  }

  // Data of the origins at these places, in their order; null for one that is not there.
  function loadAll(places, then) {
    var made = [], left = places.length;
    if (!left) then(made);
    places.forEach(function (place, i) {
      view.load('origin-' + (place + 1) + '-data.js', 'origin-' + (place + 1), function (data) {
        made[i] = data;
        if (!--left) then(made);
      });
    });
  }

  // Time by cell of the flame of one.
  function cellsOf(data, count) {
    var cells = new Float64Array(count), at = 0;
    data.cell.forEach(function (step, i) {
      at += step;
      cells[at] = data.ns[i];
    });
    return cells;
  }

  // Time by cell of some together, and when it was.
  function join(all, count) {
    var cells = new Float64Array(count), first = new Int32Array(count + 1), next, place, ns;
    all.forEach(function (data) {
      var at = 0;
      data.cell.forEach(function (step, i) {
        at += step;
        cells[at] += data.ns[i];
        first[at + 1] += data.samples[i];
      });
    });
    for (var i = 0; i < count; i++) first[i + 1] += first[i];
    next = first.slice();
    place = new Uint8Array(first[count]);
    ns = new Float64Array(first[count]);
    all.forEach(function (data) {
      var at = 0, sample = 0;
      data.cell.forEach(function (step, i) {
        at += step;
        for (var end = sample + data.samples[i]; sample < end; sample++) {
          place[next[at]] = data.place[sample];
          ns[next[at]++] = data.time[sample];
        }
      });
    });
    return {cells: cells, samples: {first: first, place: place, ns: ns}};
  }

  Hosts.prototype.open = function (then) {
    var self = this;
    list(function (rows) {
      if (!rows || rows.length < 2 || !rows[0][3] || wakepath.isSingle && !wakepath.payloads['origin-1']) {
        self.toggle.setAttribute('aria-pressed', 'false');
        self.flame.say(!rows ? 'Which hosts it was could not be loaded.' : rows.length > 1 ? 'The times by host are not in this file, but on the site.'
          : rows[0][1] ? 'One aggregator has summed up ' + rows[0][1] + ': their times are not told apart.' : 'All of it is the time of ' + rows[0][0] + '.');
        if (then) then(false);
        return;
      }
      if (!self.rows) self.build(rows);
      self.toggle.setAttribute('aria-pressed', 'true');
      self.box.hidden = false;
      if (then) then(true);
      self.flame.layout();
    });
  };

  Hosts.prototype.build = function (rows) {
    var self = this;
    this.rows = rows;
    this.marks = rows.map(function (row) {
      var label = view.element('label'), mark = view.element('input');
      mark.type = 'checkbox';
      mark.checked = true;
      mark.addEventListener('change', function () {
        self.take();
      });
      label.appendChild(mark);
      label.appendChild(view.element('bdi', '', row[0]));
      label.appendChild(view.element('small', '', (row[1] ? row[1] + ', ' : '') + units.duration(row[2]) + ', ' +
        units.share(row[2], self.flame.all.total[0])));
      self.box.appendChild(label);
      return mark;
    });
  };

  Hosts.prototype.take = function () {
    var places = [];
    this.marks.forEach(function (mark, place) {
      if (mark.checked) places.push(place);
    });
    if (!places.length) {
      this.flame.say('Choose one host at least.');
      return;
    }
    this.choose(places.length === this.rows.length ? [] : places, null);
  };

  // Places of rows; none: all of them.
  Hosts.prototype.choose = function (places, then) {
    var self = this, flame = this.flame;
    this.chosen = places;
    this.marks.forEach(function (mark, place) {
      mark.checked = !places.length || places.indexOf(place) >= 0;
    });
    loadAll(places, function (all) {
      if (self.chosen !== places) return; // chosen anew meanwhile
      if (all.indexOf(null) >= 0) flame.say('The times of some of these hosts could not be loaded.');
      flame.times.setHosts(places.length ? join(all.filter(Boolean), flame.all.cellNs.length) : null);
      flame.toHash(true);
      if (then) then();
    });
  };

  Hosts.prototype.close = function () {
    this.box.hidden = true;
    if (this.chosen.length) this.choose([], null);
    this.flame.layout();
  };

  Hosts.prototype.names = function () {
    var rows = this.rows;
    return this.chosen.map(function (place) {
      return rows[place][0];
    });
  };

  Hosts.prototype.state = function () {
    return {hosts: this.names().join('|')};
  };

  // The hosts that an address names; then().
  Hosts.prototype.restore = function (state, then) {
    var self = this, names = state.hosts ? state.hosts.split('|') : [];
    if (!names.length && !this.chosen.length) {
      then();
      return;
    }
    this.open(function (isThere) {
      if (!isThere) {
        then();
        return;
      }
      var places = [];
      self.rows.forEach(function (row, place) {
        if (names.indexOf(row[0]) >= 0) places.push(place);
      });
      self.choose(places.length === self.rows.length ? [] : places, then);
    });
  };

  wakepath.FlameHosts = Hosts;
  wakepath.origins = {list: list, loadAll: loadAll, cellsOf: cellsOf, join: join};
})();
