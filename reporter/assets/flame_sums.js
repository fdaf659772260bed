// SPDX-License-Identifier: Apache-2.0
// Sums over a flame's stacks: by function, object file, process and host, with what stands on them or alone; and who leads to a frame.
(function () {
  'use strict';
  var wakepath = window.wakepath, STYLE = wakepath.palette.STYLE, KERNEL = '[kernel]';

  function isFunction(frame) {
    return frame[0] === STYLE.USER || frame[0] === STYLE.KERNEL;
  }

  function moduleOf(frame) {
    return frame[0] === STYLE.KERNEL ? KERNEL : frame[0] === STYLE.USER ? frame[2] || '(no file)' : '';
  }

  // The host in "[comm]@host"; '' where the frame names none: that of the process of interest.
  function hostOf(frame) {
    var at = frame[0] === STYLE.PROCESS ? frame[1].lastIndexOf(']@') : -1;
    return at < 0 ? '' : frame[1].slice(at + 2);
  }

  // What a frame counts for, by kind of row; null: for nothing. Functions and files end with the layer of their process.
  var KINDS = {
    functions: function (frame) {
      return isFunction(frame) ? frame[0] + frame[1] + '\n' + frame[2] : null;
    },
    modules: function (frame) {
      return moduleOf(frame) || null;
    },
    processes: function (frame) {
      return frame[0] === STYLE.PROCESS ? frame[1] : null;
    },
    hosts: function (frame) {
      return frame[0] === STYLE.PROCESS ? hostOf(frame) || '(its own)' : null;
    }
  };

  function row(rows, key, frame) {
    var made = rows.get(key);
    if (!made) rows.set(key, made = {key: key, frame: frame, total: 0, run: 0, wait: 0, pieces: 0, open: 0, name: '', file: ''});
    return made;
  }

  // Rows of a kind over all that stands in the model: total once a stack, run and wait where it was on top.
  function by(model, kind) {
    var frames = model.frames, keyOf = KINDS[kind], rows = new Map(), owner = new Array(model.count), mine = new Array(model.count);
    var top = 0, i, cell;
    var keys = frames.map(keyOf), stays = kind === 'processes' || kind === 'hosts';
    for (i = 1; i < model.count; i++) {
      for (; top && model.end[top] <= i; top = model.parent[top]) if (mine[top]) mine[top].open--;
      top = i;
      var key = keys[model.frame[i]];
      mine[i] = key === null ? null : row(rows, key, model.frame[i]);
      if (mine[i] && !mine[i].open++) mine[i].total += model.total[i];
      owner[i] = mine[i] || (frames[model.frame[i]][0] === STYLE.PROCESS && !stays ? null : owner[model.parent[i]] || null);
      for (cell = model.firstCell[i]; owner[i] && cell < model.firstCell[i + 1]; cell++) {
        owner[i][model.cellCategory[cell] === 0 ? 'run' : 'wait'] += model.cellNs[cell];
        owner[i].pieces += model.cellPieces[cell];
      }
    }
    rows.forEach(function (made) {
      var frame = frames[made.frame];
      made.name = kind === 'functions' ? frame[1] : made.key;
      made.file = kind === 'functions' ? moduleOf(frame) : '';
    });
    return Array.from(rows.values());
  }

  // Functions that call each other in a circle: by frame, the number of their clique, -1 none (Tarjan's algorithm, without recursion).
  function cliques(model) {
    var count = model.frames.length, calls = [], index = new Int32Array(count).fill(-1), low = new Int32Array(count);
    var clique = new Int32Array(count).fill(-1), isOpen = new Uint8Array(count), open = [], next = 0, made = 0, i;
    var itself = new Uint8Array(count), members = [];
    for (i = 0; i < count; i++) calls.push(new Set());
    for (i = 1; i < model.count; i++) {
      var parent = model.parent[i], from = model.frame[parent], to = model.frame[i];
      if (!parent || !isFunction(model.frames[from]) || !isFunction(model.frames[to])) continue;
      if (model.frames[from][1].charAt(0) === '[' || model.frames[to][1].charAt(0) === '[') continue; // many functions under one name
      if (from === to) itself[from] = 1;
      else calls[from].add(to);
    }
    function visit(start) {
      var work = [[start, calls[start].values()]];
      index[start] = low[start] = next++;
      open.push(start);
      isOpen[start] = 1;
      while (work.length) {
        var at = work[work.length - 1], step = at[1].next(), one;
        if (!step.done) {
          one = step.value;
          if (index[one] < 0) {
            index[one] = low[one] = next++;
            open.push(one);
            isOpen[one] = 1;
            work.push([one, calls[one].values()]);
          } else if (isOpen[one]) {
            low[at[0]] = Math.min(low[at[0]], index[one]);
          }
          continue;
        }
        work.pop();
        if (work.length) low[work[work.length - 1][0]] = Math.min(low[work[work.length - 1][0]], low[at[0]]);
        if (low[at[0]] !== index[at[0]]) continue;
        var group = [];
        do {
          one = open.pop();
          isOpen[one] = 0;
          group.push(one);
        } while (one !== at[0]);
        if (group.length < 2 && !itself[at[0]]) continue;
        group.forEach(function (member) {
          clique[member] = made;
        });
        members[made++] = group;
      }
    }
    for (i = 0; i < count; i++) if (index[i] < 0) visit(i);
    return {of: clique, members: members};
  }

  function place(model, node) {
    var names = [];
    for (; node && names.length < 3; node = model.parent[node]) names.unshift(model.frames[model.frame[node]][1]);
    return (node ? '… › ' : '') + names.join(' › ');
  }

  // Rootward: what leads to the nodes (of which none stands on another), each with the time that came from there. `kind`: "functions",
  // "places" (each pseudo-stack by itself), "modules" (the first file that is another one), "processes", "cliques".
  function callers(model, roots, kind) {
    var rows = new Map(), frames = model.frames, found = kind === 'cliques' ? cliques(model) : null;
    roots.forEach(function (root) {
      var file = moduleOf(frames[model.frame[root]]), at = model.parent[root], key, name, group;
      while (at && (kind === 'processes' ? frames[model.frame[at]][0] !== STYLE.PROCESS
        : kind === 'modules' ? frames[model.frame[at]][0] !== STYLE.PROCESS && (!moduleOf(frames[model.frame[at]]) || moduleOf(frames[model.frame[at]]) === file)
          : !isFunction(frames[model.frame[at]]) && frames[model.frame[at]][0] !== STYLE.PROCESS)) at = model.parent[at];
      var frame = at ? frames[model.frame[at]] : null;
      key = name = !frame ? '(the stack begins there)' : frame[1];
      if (frame && kind === 'modules') key = name = moduleOf(frame) || frame[1];
      else if (frame && kind === 'places') {
        key = at;
        name = place(model, at);
      } else if (frame && found && found.of[model.frame[at]] >= 0) {
        group = found.members[found.of[model.frame[at]]];
        key = '\n' + found.of[model.frame[at]];
        name = group.slice(0, 3).map(function (member) {
          return frames[member][1];
        }).sort().join(' ⇄ ') + (group.length > 3 ? ' and ' + (group.length - 3) + ' more' : '');
      } else if (frame && kind === 'functions') key = frame[1] + '\n' + frame[2];
      var made = row(rows, key, frame ? model.frame[at] : -1);
      made.name = name;
      made.file = frame && kind !== 'modules' ? moduleOf(frame) : '';
      made.node = at;
      made.total += model.total[root];
    });
    return Array.from(rows.values());
  }

  wakepath.sums = {by: by, callers: callers, cliques: cliques, moduleOf: moduleOf, hostOf: hostOf, KERNEL: KERNEL};
})();
