// SPDX-License-Identifier: Apache-2.0
// Behind a figure: of a frame, a process, a function, a file or a wait, whose time it is, when and where it passed, what it was, what is
// in it and who leads to it, and windows that show it. The address says what is looked at; everything is summed up here.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, models = wakepath.flameModel, sums = wakepath.sums;
  var STYLE = wakepath.palette.STYLE, KEYS = wakepath.figure.KEYS;
  var LIMITS = [['20', 'first 20'], ['100', 'first 100'], ['1%', '1 % and more'], ['0.1%', '0.1 % and more'], ['1ms', '1 ms and more'],
    ['1s', '1 s and more'], ['all', 'all']];
  var MEASURES = [['total', 'with all on it'], ['own', 'by itself'], ['run', 'by itself, running'], ['wait', 'by itself, waiting'],
    ['pieces', 'pieces'], ['each', 'a piece']];

  function Behind(place, data) {
    this.data = data;
    this.all = this.during = this.whole = this.model = models.decode(data);
    this.zoom = 0;
    this.figure = {};
    this.options = {what: 'functions', by: 'total', top: '20', from: 'functions'};
    this.build(place);
    var self = this;
    window.addEventListener('hashchange', function () {
      if (place.offsetParent) self.fromHash();
    });
    this.fromHash();
  }

  // A section of its own with a heading; returns where its content goes.
  function section(place, title, hint) {
    var made = view.element('section', 'part');
    made.appendChild(view.element('h2', '', title));
    if (hint) made.appendChild(view.element('p', 'long-hint', hint));
    place.appendChild(made);
    return made.appendChild(view.element('div'));
  }

  Behind.prototype.build = function (place) {
    var self = this, bar = view.element('div', 'tools'), grid = view.element('div', 'parts');
    place.appendChild(bar);
    this.head = place.appendChild(view.element('p', 'figure'));
    this.trail = place.appendChild(view.element('p', 'trail'));
    this.hosts = new wakepath.FlameHosts(this, bar, place);
    this.times = new wakepath.FlameTimes(this, bar, place);
    this.folds = new wakepath.FlameFolds(this, bar, []);
    this.folds.fold.hidden = true;
    this.clear = view.button(bar, 'Everything', 'Look at all of the aggregate', function () {
      self.figure = {};
      self.show();
      self.toHash();
    });
    this.say = view.say(place);
    place.appendChild(grid);
    this.whose = section(grid, 'Whose time it is', 'Hosts of the process of interest');
    this.where = section(grid, 'Where it passed', 'Hosts of the process that stands on top');
    this.pids = section(grid, 'Its processes by host', 'Time in which they stood in a pseudo-stack, of all hosts and times');
    this.kinds = section(grid, 'What it was');
    this.when = section(grid, 'When it was');
    this.ones = section(place, 'Show me one', 'Windows kept event by event that have it, the ones with most of it first');
    this.inside = section(place, 'What is in it');
    this.insideBar = view.element('div', 'tools');
    this.inside.parentNode.insertBefore(this.insideBar, this.inside);
    this.rootward = section(place, 'Who leads to it', 'Rootward: each row is a way to come here, with the time that came by it');
    this.rootwardBar = view.element('div', 'tools');
    this.rootward.parentNode.insertBefore(this.rootwardBar, this.rootward);
    this.choices();
  };

  Behind.prototype.choices = function () {
    var self = this, bar = this.insideBar;
    function chooser(where, label, entries, key, act) {
      return view.choice(where, label, entries, self.options[key], function (value) {
        self.options[key] = value;
        act.call(self);
        self.toHash();
      });
    }
    this.controls = {
      what: chooser(bar, 'Rows', [['functions', 'Functions'], ['modules', 'Object files'], ['processes', 'Processes'], ['hosts', 'Hosts']], 'what', this.showInside),
      by: chooser(bar, 'Measure', MEASURES, 'by', this.showInside),
      top: chooser(bar, 'How many', LIMITS, 'top', this.showInside),
      from: chooser(this.rootwardBar, 'Rows', [['functions', 'By function'], ['places', 'By call site'], ['modules', 'By object file'],
        ['processes', 'By process'], ['cliques', 'By clique']], 'from', this.showRootward)
    };
  };

  // What FlameTimes and its like ask of a flame.
  Behind.prototype.layout = function () {};
  Behind.prototype.setWhole = function (model) {
    this.during = model;
    this.refold();
  };
  Behind.prototype.refold = function () {
    this.whole = this.model = this.folds.apply(this.during);
    if (this.isThere) this.show();
  };

  // Stretches of the whole flame's cells that are the figure's.
  Behind.prototype.ranges = function () {
    var model = this.all;
    if (!this.roots) return [[0, model.cellNs.length]];
    return this.roots.map(function (node) {
      return [model.firstCell[node], model.firstCell[model.end[node]]];
    });
  };

  // Time of the figure's cells: add(cell, ns). `cells`: times to use for those of the flame.
  Behind.prototype.each = function (cells, add) {
    var model = this.all, category = this.category;
    this.ranges().forEach(function (range) {
      for (var cell = range[0]; cell < range[1]; cell++)
        if (cells[cell] && (category < 0 || model.cellCategory[cell] === category)) add(cell, cells[cell]);
    });
  };

  Behind.prototype.sum = function (cells) {
    var sum = 0;
    this.each(cells, function (cell, ns) {
      sum += ns;
    });
    return sum;
  };

  // --- the sections ---

  Behind.prototype.show = function () {
    var figure = this.figure, self = this, cells = this.times.cells() || this.all.cellNs;
    this.category = this.data.categories.findIndex(function (row) {
      return row[0] === figure.category;
    });
    this.roots = wakepath.figure.roots(this.all, figure);
    this.cells = cells;
    this.total = this.sum(cells);
    this.clear.disabled = !KEYS.some(function (key) {
      return figure[key];
    });
    var title = wakepath.figure.title(figure, this.all, this.roots), kind = this.category < 0 ? '' : this.data.categories[this.category][1];
    this.head.textContent = '';
    this.head.appendChild(view.element('bdi', 'what', title && kind ? title + ', ' + units.within(kind) : title || kind));
    this.head.appendChild(view.element('strong', '', units.duration(this.total)));
    this.head.appendChild(view.element('span', '', units.share(this.total, this.all.total[0]) + ' of the aggregate'));
    var flame = view.element('a', '', 'In the flame');
    flame.href = this.flameAddress();
    this.head.appendChild(flame);
    this.trail.textContent = '';
    this.folds.show(this.trail);
    if (this.roots && !this.roots.length) this.say('Nothing like this is in the flame.');
    this.folded = this.gathered();
    this.showKinds();
    this.showWhere();
    this.showPids();
    this.showInside();
    this.showRootward();
    this.showOnes();
    this.times.paint();
    this.showWhose(function () {
      self.showWhen(function () {
        wakepath.ready('behind:' + (self.total > 0 ? 1 : 0));
      });
    });
  };

  // Only what the flame can show: a wait, or several places, are shown by the first of them.
  Behind.prototype.flameAddress = function (from, to) {
    var figure = this.figure, state = Object.assign({}, this.hosts.state(), this.times.state(), this.folds.state());
    ['process', 'host', 'gather', 'file', 'node', 'category'].forEach(function (key) {
      state[key] = figure[key];
    });
    if ((figure.nodes || figure.waiter) && this.roots.length) state.node = ('0000000' + this.all.link[this.roots[0]].toString(16)).slice(-8);
    if (figure.module) state.search = figure.module;
    if (from !== undefined) {
      state.from = from;
      state.to = to;
    }
    return view.address('flame.html', state);
  };

  // The figure as a flame of its own, without what is folded; and its roots in the folded flame.
  Behind.prototype.gathered = function () {
    var model = this.whole, category = this.category, cells;
    if (category >= 0) {
      cells = model.cellNs.map(function (ns, cell) {
        return model.cellCategory[cell] === category ? ns : 0;
      });
      model = models.during(model, cells);
    }
    this.base = model;
    this.baseRoots = wakepath.figure.roots(model, this.figure);
    return this.baseRoots ? models.gatherAt(model, this.baseRoots) : model;
  };

  var SHARE = {title: 'Share', hint: 'Of this figure', kind: 'share', value: function (row) {
    return row.ns;
  }};
  var TIME = {title: 'Time', kind: 'duration', value: function (row) {
    return row.ns;
  }};
  function nameOf(row) {
    return row.name;
  }
  function byTime(a, b) {
    return b.ns - a.ns || (a.name < b.name ? -1 : 1);
  }

  Behind.prototype.showKinds = function () {
    var model = this.all, data = this.data, list = new Map(), self = this;
    this.each(this.cells, function (cell, ns) {
      var category = model.cellCategory[cell];
      if (!list.has(category)) list.set(category, {name: data.categories[category][1], key: data.categories[category][0], ns: 0});
      list.get(category).ns += ns;
    });
    wakepath.rows.table(this.kinds, {label: 'What it was', whole: this.total, empty: 'No time.', rows: Array.from(list.values()).sort(byTime),
      columns: [{title: 'Category', kind: 'text', value: nameOf, swatch: function (row) {
        return 'c-' + row.key;
      }, link: function (row) {
        return view.address('behind.html', Object.assign(self.state(), {category: row.key}));
      }}, TIME, SHARE]});
  };

  // This page with another figure; what is chosen stays.
  Behind.prototype.address = function (figure) {
    return view.address('behind.html', Object.assign({}, this.hosts.state(), this.times.state(), this.folds.state(), figure));
  };

  Behind.prototype.showWhere = function () {
    var model = this.all, hosts = new Array(model.count).fill(''), list = new Map(), i, self = this;
    for (i = 1; i < model.count; i++) {
      var frame = model.frames[model.frame[i]];
      hosts[i] = frame[0] === STYLE.PROCESS ? sums.hostOf(frame) : hosts[model.parent[i]];
    }
    if (!this.nodeOfCell) {
      this.nodeOfCell = new Int32Array(model.cellNs.length);
      for (i = 0; i < model.count; i++) this.nodeOfCell.fill(i, model.firstCell[i], model.firstCell[i + 1]);
    }
    var nodes = this.nodeOfCell;
    this.each(this.cells, function (cell, ns) {
      list.set(hosts[nodes[cell]], (list.get(hosts[nodes[cell]]) || 0) + ns);
    });
    wakepath.origins.list(function (rows) {
      var home = rows && rows.length === 1 && !rows[0][1] ? rows[0][0] : ''; // the only host that it can be
      wakepath.rows.table(self.where, {label: 'Where it passed', whole: self.total, empty: 'No time.', rows: Array.from(list, function (row) {
        return {name: row[0], ns: row[1]};
      }).sort(byTime), columns: [{title: 'Host', kind: 'name', value: function (row) {
        return row.name || home || 'the host itself';
      }, note: function (row) {
        return row.name || home ? '' : 'of the process of interest';
      }, link: function (row) {
        return row.name ? self.address({host: row.name}) : '';
      }}, TIME, SHARE]});
    });
  };

  // A report tells processes of one name apart by host, even where it sums up their stacks.
  Behind.prototype.showPids = function () {
    var self = this, name = (this.figure.process || '').replace(/^\[|\]$/g, '');
    wakepath.origins.list(function (rows, processes) {
      var list = processes.filter(function (row) {
        return name && row[0] === name;
      }).map(function (row) {
        return {name: row[1], ns: row[2], run: row[3], count: row[4]};
      });
      self.pids.parentNode.hidden = !list.length;
      wakepath.rows.table(self.pids, {label: 'Its processes by host', page: 8, rows: list, empty: '', columns: [{title: 'Host', kind: 'name', value: nameOf, note: function (row) {
        return row.count > 1 ? units.count(row.count) + ' processes' : '';
      }}, {title: 'On paths', kind: 'duration', value: function (row) {
        return row.ns;
      }}, {title: 'Running', kind: 'duration', value: function (row) {
        return row.run;
      }}]});
    });
  };

  Behind.prototype.showWhose = function (then) {
    var self = this, count = this.all.cellNs.length, range = this.times.range;
    wakepath.origins.list(function (rows) {
      var places = [];
      (rows || []).forEach(function (row, i) {
        if (row[3] && (!self.hosts.chosen.length || self.hosts.chosen.indexOf(i) >= 0)) places.push(i);
      });
      wakepath.origins.loadAll(places, function (all) {
        var list = places.map(function (place, i) {
          var joined = all[i] && wakepath.origins.join([all[i]], count), cells = joined && joined.cells;
          if (joined && range) cells = self.times.cells.call({range: range, source: function () {
            return joined.samples;
          }});
          return {name: rows[place][0], note: rows[place][1], ns: cells ? self.sum(cells) : 0};
        }).filter(function (row) {
          return row.ns;
        }).sort(byTime);
        if (!places.length && rows && rows.length === 1) list = [{name: rows[0][0], note: rows[0][1] && rows[0][1] + ': one sum, not told apart', ns: self.total}];
        if (!self.total) list = [];
        wakepath.rows.table(self.whose, {label: 'Whose time it is', whole: self.total, rows: list,
          empty: rows ? 'The times by host are on the site, not in this file.' : 'Which hosts it was could not be loaded.',
          columns: [{title: 'Host', kind: 'name', value: nameOf, note: function (row) {
            return row.note;
          }, link: function (row) {
            return places.length < 2 ? '' : view.address('behind.html', Object.assign(self.state(), {hosts: row.name}));
          }}, TIME, SHARE]});
        then();
      });
    });
  };

  Behind.prototype.showWhen = function (then) {
    var self = this;
    view.load('flame-times.js', 'times', function (data) {
      if (data && !self.times.data) self.times.prepare(data);
      var list = [], nodes = self.all, range = self.times.range, source = data && self.times.source();
      var sum = data ? new Float64Array(data.start.length) : [];
      self.ranges().forEach(function (cells) {
        for (var cell = cells[0]; source && cell < cells[1]; cell++) {
          if (self.category >= 0 && nodes.cellCategory[cell] !== self.category) continue;
          for (var i = source.first[cell]; i < source.first[cell + 1]; i++) sum[source.place[i]] += source.ns[i];
        }
      });
      sum.forEach(function (ns, i) {
        if (ns && (!range || i >= range[0] && i <= range[1])) list.push({start: data.start[i], ns: ns, name: new Date(data.start[i]).toISOString().replace('T', ' ').slice(0, data.width < 1000 ? 21 : 19)});
      });
      wakepath.rows.table(self.when, {label: 'When it was', whole: self.total, page: 8, rows: list.sort(byTime),
        empty: data ? 'When it was is not known.' : 'When it was could not be loaded.',
        columns: [{title: 'From (UTC)', hint: 'A bucket of the report; a click shows it alone', kind: 'text', value: nameOf, link: function (row) {
          return view.address('behind.html', Object.assign(self.state(), {from: Math.round(row.start), to: Math.round(row.start + data.width)}));
        }}, TIME, SHARE]});
      then();
    });
  };

  Behind.prototype.showOnes = function () {
    var self = this, figure = this.figure;
    view.load('exemplars-data.js', 'exemplars', function (exemplars) {
      var list = wakepath.windowsWith(exemplars ? exemplars.windows : [], function (model) {
        return wakepath.figure.roots(model, figure);
      }, self.category).filter(function (row) {
        return self.hasWindow(row);
      });
      wakepath.rows.table(self.ones, {label: 'Windows that have it', whole: self.total, rows: list,
        empty: exemplars && exemplars.windows.length ? 'No window that was kept event by event has it.' : 'No window was kept event by event.',
        columns: [{title: 'Window', kind: 'text', value: nameOf, note: function (row) {
          return row.why;
        }, link: function (row) {
          return row.link;
        }}, {title: 'Of it', hint: 'The window’s time on this', kind: 'duration', value: function (row) {
          return row.ns;
        }}, {title: 'Window', hint: 'How long it is', kind: 'duration', value: function (row) {
          return row.length;
        }}]});
    });
  };

  // Whether a window began in the chosen time, on a chosen host; where a shard names only some of its hosts, any may be.
  Behind.prototype.hasWindow = function (row) {
    var range = this.times.range, starts = range && this.times.data.start, rows = this.hosts.rows, chosen = this.hosts.chosen;
    if (range && (row.start < Math.floor(starts[range[0]]) || row.start > starts[range[1]] + this.times.data.width)) return false;
    return !chosen.length || chosen.some(function (place) {
      return rows[place][1] ? rows[place][1].indexOf(row.why) >= 0 || / more$/.test(rows[place][1]) : rows[place][0] === row.why;
    });
  };

  // As many as the reader asked for: the first so many, or those of a share or a time and more.
  function limit(rows, top, whole, value) {
    var number = parseFloat(top);
    if (top === 'all' || !(number > 0)) return rows;
    if (/%$/.test(top)) return rows.filter(function (row) {
      return value(row) >= whole * number / 100;
    });
    if (/s$/.test(top)) return rows.filter(function (row) {
      return value(row) >= number * (/ms$/.test(top) ? 1e6 : 1e9);
    });
    return rows.slice(0, number);
  }

  function measure(row, by) {
    if (by === 'own') return row.run + row.wait;
    if (by === 'each') return row.pieces ? (row.run + row.wait) / row.pieces : 0;
    return row[by];
  }

  Behind.prototype.showInside = function () {
    var self = this, options = this.options, kind = options.what, total = this.folded.total[0];
    var rows = sums.by(this.folded, kind).sort(function (a, b) {
      return measure(b, options.by) - measure(a, options.by) || b.total - a.total || (a.name < b.name ? -1 : 1);
    });
    // Pieces and their length have no share; a part of them is a part of the largest.
    var whole = options.by === 'pieces' ? rows.reduce(function (sum, row) {
      return sum + row.pieces;
    }, 0) : total;
    rows = limit(rows, options.top, whole, function (row) {
      return measure(row, options.by);
    });
    var key = {functions: 'gather', modules: 'module', processes: 'process', hosts: 'host'}[kind];
    function time(title, hint, by) {
      return {title: title, hint: hint, kind: 'duration', value: function (row) {
        return measure(row, by);
      }};
    }
    var columns = [{title: kind === 'modules' ? 'Object file' : kind.charAt(0).toUpperCase() + kind.slice(1, -1), kind: 'name', value: nameOf, note: function (row) {
      return row.file;
    }, link: function (row) {
      var figure = {};
      figure[key] = row.name;
      if (kind === 'functions') figure.file = row.file;
      return row.name === '(its own)' || row.name === '(no file)' ? '' : self.address(figure);
    }}, time('With all on it', 'On any stack, once each, with all that stands on it', 'total'),
      {title: 'Share', hint: 'Of this figure', kind: 'share', value: function (row) {
        return row.total;
      }}, time('Running', 'It was on top of a run', 'run'), time('Waiting', 'It was on top of a wait', 'wait'),
      {title: 'Pieces', hint: 'Runs and waits in which it was on top; not known of chosen hosts or times', kind: 'count', value: function (row) {
        return row.pieces || null;
      }}, {title: 'A piece', hint: 'Running and waiting, on average', kind: 'duration', value: function (row) {
        return row.pieces ? measure(row, 'each') : null;
      }}];
    if (kind === 'modules') columns.push({title: 'Leave out', kind: 'text', value: function () {
      return 'leave out';
    }, link: function (row) {
      return view.address('behind.html', Object.assign(self.state(), {hide: self.folds.objects.concat(row.name).join('|')}));
    }});
    wakepath.rows.table(this.inside, {label: 'What is in it', whole: total, rows: rows, columns: columns, empty: 'No row is this large.'});
  };

  Behind.prototype.showRootward = function () {
    var self = this, roots = this.baseRoots, base = this.base;
    this.rootward.parentNode.hidden = !roots;
    if (!roots) return;
    var kind = this.options.from;
    var rows = sums.callers(base, roots, kind).sort(function (a, b) {
      return b.total - a.total || (a.name < b.name ? -1 : 1);
    });
    rows.forEach(function (row) {
      row.ns = row.total;
    });
    wakepath.rows.table(this.rootward, {label: 'Who leads to it', whole: this.folded.total[0], rows: rows, empty: 'Nothing was found.',
      columns: [{title: 'From', kind: kind === 'places' ? 'stack' : 'name', value: nameOf, note: function (row) {
        return row.file;
      }, link: function (row) {
        var frame = row.frame < 0 ? null : base.frames[row.frame];
        if (!frame) return '';
        if (kind === 'places') return self.address({node: ('0000000' + base.link[row.node].toString(16)).slice(-8)});
        if (kind === 'modules' && sums.moduleOf(frame)) return self.address({module: sums.moduleOf(frame)});
        return self.address(frame[0] === STYLE.PROCESS ? {process: frame[1]} : {gather: frame[1], file: row.file});
      }}, TIME, SHARE]});
  };

  // --- the address ---

  Behind.prototype.state = function () {
    var state = Object.assign({}, this.figure, this.hosts.state(), this.times.state(), this.folds.state());
    if (this.options.what !== 'functions') state.what = this.options.what;
    if (this.options.by !== 'total') state.by = this.options.by;
    if (this.options.top !== '20') state.top = this.options.top;
    if (this.options.from !== 'functions') state.rootward = this.options.from;
    return state;
  };

  Behind.prototype.toHash = function () {
    if (this.isThere) view.writeHash(this.state());
  };

  Behind.prototype.fromHash = function () {
    var self = this, state = view.readHash(), options = this.options;
    this.isThere = false;
    this.figure = {};
    KEYS.forEach(function (key) {
      if (state[key]) self.figure[key] = state[key];
    });
    options.what = state.what || 'functions';
    options.by = state.by || 'total';
    options.top = state.top || '20';
    options.from = state.rootward || 'functions';
    Object.keys(this.controls).forEach(function (key) {
      self.controls[key].value = options[key];
      if (!self.controls[key].value) self.controls[key].value = options[key] = self.controls[key].options[0].value;
    });
    this.folds.restore(state);
    this.hosts.restore(state, function () {
      self.times.restore(state, function () {
        self.isThere = true;
        self.whole = self.model = self.folds.apply(self.during);
        self.show();
      });
    });
  };

  wakepath.views.behind = function (place, data) {
    wakepath.behind = new Behind(place, data);
  };
})();
