// SPDX-License-Identifier: Apache-2.0
// "Show me one": a window kept event by event in which time stands on a frame of the flame, the slowest or a typical one;
// else the longest such stretch of the first window.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view;

  // [style, name] of a node's frames, the outermost first.
  function chain(model, node) {
    var frames = [];
    for (; node; node = model.parent[node]) frames.unshift(model.frames[model.frame[node]]);
    return frames;
  }

  // By node of the trace: how many frames of `wanted.frames` its stack has matched, -1 when it cannot. A gathered flame's frames
  // may begin anywhere in a stack; what wanted.isGone(frame, below) leaves out of the flame is passed over.
  function match(data, wanted) {
    var frames = wanted.frames;
    var count = data.node_parent.length, matched = new Int32Array(count);
    for (var i = 1; i < count; i++) {
      var below = matched[data.node_parent[i]], frame = data.frames[data.node_frame[i]] || [0, '', ''];
      var fits = below >= 0 && below < frames.length && frame[0] === frames[below][0] && frame[1] === frames[below][1];
      if (below === frames.length) matched[i] = below;
      else if (fits) matched[i] = below + 1;
      else if (below >= 0 && wanted.isGone(frame, frames[below - 1] || null)) matched[i] = below;
      else if (wanted.isAnywhere) matched[i] = frame[0] === frames[0][0] && frame[1] === frames[0][1] ? 1 : 0;
      else matched[i] = -1;
    }
    return matched;
  }

  function longest(data, wanted) {
    var matched = match(data, wanted), best = -1;
    for (var i = 0; i < data.piece_node.length; i++)
      if (matched[data.piece_node[i]] === wanted.frames.length && (best < 0 || data.piece_length[i] > data.piece_length[best])) best = i;
    return best;
  }

  // The window's time that stands on the wanted frames, and its longest piece there; null when there is none.
  function standing(window, wanted) {
    var matched = match(window, wanted), sum = 0, best = null;
    window.times.forEach(function (time, node) {
      if (!time || matched[node] !== wanted.frames.length) return;
      sum += time[0];
      if (!best || time[2] > best[2]) best = time;
    });
    return sum ? {window: window, ns: sum, start: best[1], length: best[2]} : null;
  }

  // Slowest: the window with most time on the frame. Typical: of those that were sampled at random (of all, when none of them
  // has it) the one with the median of their times on it.
  function choose(windows, wanted, isTypical) {
    var found = windows.map(function (window) {
      return standing(window, wanted);
    }).filter(Boolean).sort(function (a, b) {
      return b.ns - a.ns || a.window.number - b.window.number;
    });
    var drawn = found.filter(function (one) {
      return one.window.typical;
    });
    if (!isTypical) return found[0];
    if (drawn.length) found = drawn;
    return found[found.length >> 1];
  }

  // The stretch of a window that is shown around one of its pieces.
  function around(start, length, whole) {
    var margin = length * 0.5 + 1000;
    return {from: String(Math.max(0, Math.floor(start - margin))), to: String(Math.min(whole, Math.ceil(start + length + margin)))};
  }

  function show(file, start, length, whole) {
    var stretch = around(start, length, whole);
    wakepath.go(file, 'from=' + stretch.from + '&to=' + stretch.to);
  }

  // FNV-1a over style and name, as flame_tree.c has it: the same stack has the same link here and there.
  function hash(parent, frame) {
    var link = Math.imul(parent ^ frame[0], 16777619);
    new TextEncoder().encode(frame[1] + '\0').forEach(function (byte) {
      link = Math.imul(link ^ byte, 16777619);
    });
    return link >>> 0;
  }

  wakepath.frameHash = hash;

  // A window's tree in preorder, as a flame's, with the place of each node in the window.
  function modelOf(window) {
    var count = window.node_parent.length, first = new Int32Array(count).fill(-1), next = new Int32Array(count).fill(-1), i;
    var model = {count: count, frames: window.frames, parent: new Int32Array(count), end: new Int32Array(count), frame: new Int32Array(count),
      link: new Uint32Array(count), depth: new Int32Array(count), total: new Float64Array(count), firstCell: new Int32Array(count + 1),
      cellCategory: [], cellNs: [], cellPieces: [], place: new Int32Array(count)};
    for (i = count - 1; i > 0; i--) {
      next[i] = first[window.node_parent[i]];
      first[window.node_parent[i]] = i;
    }
    var at = 0, work = [[0, 0]];
    while (work.length) {
      var one = work.pop(), node = one[0];
      if (node < 0) {
        model.end[one[1]] = at;
        continue;
      }
      model.place[at] = node;
      model.parent[at] = one[1];
      model.frame[at] = node ? window.node_frame[node] : -1;
      model.link[at] = node ? hash(model.link[one[1]], window.frames[window.node_frame[node]]) : 2166136261;
      model.total[at] = window.times[node] ? window.times[node][0] : 0;
      work.push([-1, at]);
      var children = [];
      for (var child = first[node]; child >= 0; child = next[child]) children.push([child, at]);
      at++;
      while (children.length) work.push(children.pop());
    }
    for (i = count - 1; i > 0; i--) model.total[model.parent[i]] += model.total[i];
    return model;
  }

  // In a single file only as many windows are there as a mail can carry.
  function isThere(window) {
    return !wakepath.isSingle || Boolean(wakepath.payloads['exemplar-' + window.number]);
  }

  // Windows with time on what rootsOf(model) finds (null: on anything), of that category (-1: any): those with most of it first.
  wakepath.windowsWith = function (windows, rootsOf, category) {
    return windows.filter(isThere).map(function (window) {
      var model = modelOf(window), roots = rootsOf(model), ns = 0, best = null;
      (roots || [0]).forEach(function (root) {
        for (var i = root; i < model.end[root]; i++) {
          var time = window.times[model.place[i]];
          if (!time || category >= 0 && time[3] !== category) continue;
          ns += time[0];
          if (!best || time[2] > best[2]) best = time;
        }
      });
      return ns ? {name: window.title, why: window.host, start: window.start, ns: ns, length: window.length, number: window.number,
        link: view.address('exemplar-' + window.number + '.html', around(best[1], best[2], window.length))} : null;
    }).filter(Boolean).sort(function (a, b) {
      return b.ns - a.ns || a.number - b.number;
    });
  };

  // The slowest window, or a typical one, with what is zoomed in a flame; it says when there is none.
  wakepath.showOne = function (flame, isTypical) {
    var frames = chain(flame.model, flame.zoom), wanted = {frames: frames, isAnywhere: Boolean(flame.gathered),
      isGone: wakepath.folding.rule(flame.folds.objects)};
    view.load('exemplars-data.js', 'exemplars', function (exemplars) {
      var one = exemplars && frames.length ? choose(exemplars.windows.filter(isThere), wanted, isTypical) : null;
      if (one) {
        show('exemplar-' + one.window.number + '.html', one.start, one.length, one.window.length);
        return;
      }
      view.load('trace-data.js', 'trace', function (data) {
        var best = data && frames.length ? longest(data, wanted) : -1;
        if (best >= 0) show('chronology.html', data.piece_start[best], data.piece_length[best], data.length);
        else flame.say(data || exemplars ? 'No window that was kept event by event has this frame.' : 'No window was kept event by event.');
      });
    });
  };
})();
