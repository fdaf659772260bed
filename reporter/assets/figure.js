// SPDX-License-Identifier: Apache-2.0
// What an address means by a figure: the nodes of a flame that a name, a node, a file or a wait stands for.
(function () {
  'use strict';
  var wakepath = window.wakepath, models = wakepath.flameModel, sums = wakepath.sums, STYLE = wakepath.palette.STYLE;
  var KEYS = ['process', 'host', 'gather', 'file', 'module', 'waiter', 'for', 'nodes', 'node', 'category'];

  function named(model, wanted) {
    return models.outermost(model, function (frame) {
      return wanted(model.frames[frame]);
    });
  }

  // Nodes at the end of a chain of frames that begins on one of the roots.
  function descend(model, roots, chain) {
    return chain.reduce(function (nodes, frame, i) {
      var found = [];
      nodes.forEach(function (node) {
        if (!i) {
          if (model.frame[node] === frame) found.push(node);
          return;
        }
        for (var child = node + 1; child < model.end[node]; child = model.end[child]) if (model.frame[child] === frame) found.push(child);
      });
      return found;
    }, roots);
  }

  // A process that waits for a process, a disk or a peer: the outermost nodes where the second stands on the first.
  function waits(model, waiter, target) {
    var found = [], process = new Int32Array(model.count).fill(-1), i = 1;
    while (i < model.count) {
      var frame = model.frames[model.frame[i]], below = process[model.parent[i]], isProcess = frame[0] === STYLE.PROCESS;
      var fits = isProcess ? frame[1] === '[' + target + ']' || frame[1].indexOf('[' + target + ']@') === 0 || '[' + target === frame[1].replace(']@', '@')
        : (frame[0] === STYLE.IO || frame[0] === STYLE.NET) && frame[1].split(/[ ,]/).some(function (word) {
          return word === target || word === 'io:' + target;
        });
      process[i] = isProcess ? model.frame[i] : below;
      if (fits && below >= 0 && model.frames[below][1].replace(/^\[|\](?=@|$)/g, '') === waiter) {
        found.push(i);
        i = model.end[i];
      } else {
        i++;
      }
    }
    return found;
  }

  // Nodes of a model that a figure's address means, none of them on another.
  function rootsOf(model, figure) {
    var roots = null, links;
    if (model.from) return unfolded(model, rootsOf(model.from, figure));
    if (figure.waiter && figure['for']) roots = waits(model, figure.waiter, figure['for']);
    else if (figure.nodes) {
      links = new Set(figure.nodes.split('.').map(function (link) {
        return parseInt(link, 16);
      }));
      roots = [];
      for (var i = 1; i < model.count; i++) if (links.has(model.link[i])) roots.push(i);
    } else if (figure.process || figure.gather || figure.host || figure.module) {
      roots = named(model, function (frame) {
        if (figure.process) return frame[0] === STYLE.PROCESS && (frame[1] === figure.process || frame[1].indexOf(figure.process + '@') === 0);
        if (figure.gather) return frame[1] === figure.gather && (!figure.file || sums.moduleOf(frame) === figure.file);
        if (figure.host) return sums.hostOf(frame) === figure.host;
        return sums.moduleOf(frame) === figure.module;
      });
    }
    if (!figure.node) return roots;
    return figure.node.split('.').reduce(function (found, link) {
      return found.concat(step(model, roots, parseInt(link, 16)));
    }, []);
  }

  // Nodes of a folded flame that those of the one it was made of are part of; none that is left out, or stands on another.
  function unfolded(model, roots) {
    var until = 0, found = roots && Array.from(new Set(roots.filter(function (node) {
      return model.isKept[node] === node;
    }).map(function (node) {
      return model.home[node];
    }))).sort(function (a, b) {
      return a - b;
    });
    return found && found.filter(function (node) {
      if (node < until) return false;
      until = model.end[node];
      return true;
    });
  }

  // A node by its link: of the flame, or of what is gathered from the roots.
  function step(model, roots, link) {
    if (!roots) {
      var at = model.link.indexOf(link, 1);
      return at > 0 ? [at] : [];
    }
    var gathered = models.gatherAt(model, roots), node = gathered.link.indexOf(link, 1), chain = [];
    for (; node > 0; node = gathered.parent[node]) chain.unshift(gathered.frame[node]);
    return chain.length ? descend(model, roots, chain) : [];
  }

  // In words; '' of a category alone.
  function title(figure, model, roots) {
    var name = figure.process || figure.gather || figure.host || figure.module || '';
    var first = roots && roots.length ? model.frames[model.frame[roots[0]]][1] : '';
    if (figure.node && first) return (name ? name + ': ' : '') + first;
    if (figure.waiter) return figure.waiter + ' waits for ' + figure['for'];
    if (figure.nodes && first) return first;
    if (figure.host) return 'what stands on ' + figure.host;
    if (figure.module) return 'the functions of ' + figure.module;
    return name || (figure.category ? '' : 'the whole aggregate');
  }

  wakepath.figure = {KEYS: KEYS, roots: rootsOf, title: title};
})();
