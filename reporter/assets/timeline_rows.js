// SPDX-License-Identifier: Apache-2.0
// Which rows a Timeline has, and where: the processors, threads by host, control group and process, and what happened beside them.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, ROW = 22, HEAD = 26, BUSY = 40;

  function firstOf(list) {
    return list.start.length ? list.start[0] : Infinity;
  }

  // A container or a unit as people call it: "nginx.service" of its path.
  function groupName(path) {
    return path.replace(/\/+$/, '').split('/').slice(-2).join('/').replace(/^\//, '') || path;
  }

  // Processes with their threads, [{host, group, pid, threads, first, base}]: those of interest first, then those on a path, then by who
  // was seen first. A process that executed several programs has their rows one behind the other.
  function processes(owner) {
    var data = owner.data, found = new Map();
    data.thread_tid.forEach(function (tid, thread) {
      var key = data.thread_host[thread] + '/' + data.thread_pid[thread], one = found.get(key);
      if (!one) {
        one = {host: data.names[data.thread_host[thread]], group: '', pid: data.thread_pid[thread], threads: [], first: Infinity, base: 0};
        found.set(key, one);
      }
      one.threads.push(thread);
      if (data.thread_group && data.thread_group[thread]) one.group = data.names[data.thread_group[thread]];
      one.first = Math.min(one.first, firstOf(owner.runs[thread]), firstOf(owner.sleeps[thread]));
      one.base = Math.max(one.base, data.thread_base[thread] ? 2 : owner.isOnPath(thread) ? 1 : 0);
    });
    found.forEach(function (one) {
      if (data.run_cpu) one.threads.sort(function (a, b) {
        return (data.thread_tid[a] !== one.pid) - (data.thread_tid[b] !== one.pid) || data.thread_tid[a] - data.thread_tid[b] ||
          firstOf(owner.states[a]) - firstOf(owner.states[b]) || a - b;
      });
    });
    return Array.from(found.values());
  }

  // What comes first: the most that any process of a host, then of a group, is of interest.
  function sorted(owner) {
    var list = processes(owner), home = {}, within = {}, first = {};
    list.forEach(function (one) {
      var key = one.host + '\0' + one.group;
      home[one.host] = Math.max(home[one.host] || 0, one.base);
      within[key] = Math.max(within[key] || 0, one.base);
      first[key] = Math.min(first[key] === undefined ? Infinity : first[key], one.first);
    });
    function text(a, b) {
      return a < b ? -1 : a > b ? 1 : 0;
    }
    return list.sort(function (a, b) {
      var ka = a.host + '\0' + a.group, kb = b.host + '\0' + b.group;
      return home[b.host] - home[a.host] || text(a.host, b.host) || within[kb] - within[ka] ||
        (a.group === '') - (b.group === '') || first[ka] - first[kb] || text(ka, kb) ||
        b.base - a.base || a.first - b.first || a.pid - b.pid;
    });
  }

  function Rows(owner) {
    this.owner = owner;
    this.list = [];
    this.y = wakepath.TimeAxis.HEIGHT + 4;
  }

  Rows.prototype.add = function (row, height) {
    row.top = this.y;
    row.height = height;
    if (row.thread === undefined) row.thread = -1;
    this.list.push(row);
    this.y += height;
    return row;
  };

  Rows.prototype.head = function (title, key) {
    return this.add({title: title, fold: key, isFolded: this.owner.folded.has(key)}, HEAD);
  };

  Rows.prototype.addProcessors = function () {
    var self = this, owner = this.owner, list = owner.processors;
    if (owner.busy.most > 0)
      this.add({title: owner.busy.most + (owner.busy.most === 1 ? ' thread' : ' threads') + ' at once', isBusy: true}, BUSY);
    if (!list.length || owner.wanted || this.head(list.length + (list.length === 1 ? ' processor' : ' processors'), 'cpus').isFolded) return;
    list.forEach(function (one) {
      self.add({label: 'CPU ' + one.cpu, lanes: [one.list], cpu: one.cpu}, ROW);
    });
    this.y += 3;
  };

  Rows.prototype.addThread = function (thread, place) {
    var owner = this.owner, data = owner.data, comm = data.names[data.thread_comm[thread]];
    owner.rowOf[thread] = this.add({thread: thread, comm: comm, base: data.thread_base[thread], onPath: owner.isOnPath(thread), more: place > 0,
      label: (place ? '  ' : '') + (comm || '?'), number: data.thread_tid[thread]}, ROW);
  };

  // Threads that the search and the choice of threads leave; owner.leftOut: how many others there are.
  Rows.prototype.addThreads = function () {
    var owner = this.owner, data = owner.data, self = this, seen = owner.seen(), list = sorted(owner), host = null, group = '', isFolded = false, several;
    several = list.some(function (one) {
      return one.host !== list[0].host;
    });
    list.forEach(function (one) {
      var threads = one.threads.filter(function (thread) {
        return seen[thread] && owner.isWanted(thread, one);
      }), key;
      owner.leftOut += one.threads.length - threads.length;
      if (!threads.length) return;
      if (several && one.host !== host) self.head(one.host, 'host ' + one.host).fold = undefined;
      key = one.host + '\0' + one.group;
      if (data.run_cpu && (one.host !== host || key !== group)) {
        isFolded = self.head(one.group ? groupName(one.group) : 'kernel and others', 'group ' + key).isFolded;
        self.list[self.list.length - 1].hint = one.group || 'threads of the kernel, and what was over before it could be looked at';
      }
      host = one.host;
      group = key;
      owner.shown += threads.length;
      if (isFolded) return;
      threads.forEach(function (thread, place) {
        self.addThread(thread, place);
      });
      self.y += 3;
    });
  };

  Rows.prototype.addPlaces = function () {
    var self = this, owner = this.owner, kind = 0, isFolded = false;
    owner.places.forEach(function (place) {
      if (!owner.isWantedText(place.name)) return;
      if (place.kind !== kind) isFolded = self.head(wakepath.ops.KINDS[place.kind][1], 'ops ' + place.kind).isFolded;
      kind = place.kind;
      if (!isFolded) self.add({label: place.name, note: units.count(place.count), lanes: place.lanes, op: place.kind},
        Math.max(ROW, 8 * place.lanes.length + 4));
    });
  };

  // Fills owner.rows, rowOf (by thread), total, leftOut and shown.
  function lay(owner) {
    var rows = new Rows(owner);
    owner.rowOf = new Array(owner.data.thread_tid.length);
    owner.leftOut = owner.shown = 0;
    rows.addProcessors();
    rows.addThreads();
    rows.addPlaces();
    owner.rows = rows.list;
    owner.total = rows.y + 6;
  }

  wakepath.timelineRows = {lay: lay, ROW: ROW, BUSY: BUSY, groupName: groupName};
})();
