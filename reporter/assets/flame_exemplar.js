// SPDX-License-Identifier: Apache-2.0
// "Show me one": the longest stretch in the window kept event by event that stands on a frame of the flame.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view;

  // [style, name] of a node's frames, the outermost first.
  function chain(model, node) {
    var frames = [];
    for (; node; node = model.parent[node]) frames.unshift(model.frames[model.frame[node]]);
    return frames;
  }

  // By node of the trace: how many frames of `wanted` its stack has matched, -1 when it cannot. A gathered flame's frames
  // may begin anywhere in a stack.
  function match(data, wanted, anywhere) {
    var count = data.node_parent.length, matched = new Int32Array(count);
    for (var i = 1; i < count; i++) {
      var below = matched[data.node_parent[i]], frame = data.frames[data.node_frame[i]] || [0, ''];
      var fits = below >= 0 && below < wanted.length && frame[0] === wanted[below][0] && frame[1] === wanted[below][1];
      if (below === wanted.length) matched[i] = below;
      else if (fits) matched[i] = below + 1;
      else if (anywhere) matched[i] = frame[0] === wanted[0][0] && frame[1] === wanted[0][1] ? 1 : 0;
      else matched[i] = -1;
    }
    return matched;
  }

  function longest(data, wanted, anywhere) {
    var matched = match(data, wanted, anywhere), best = -1;
    for (var i = 0; i < data.piece_node.length; i++)
      if (matched[data.piece_node[i]] === wanted.length && (best < 0 || data.piece_length[i] > data.piece_length[best])) best = i;
    return best;
  }

  // Calls say(text) when there is none.
  wakepath.showOne = function (model, node, anywhere, say) {
    var wanted = chain(model, node);
    view.load('trace-data.js', 'trace', function (data) {
      var best = data && wanted.length ? longest(data, wanted, anywhere) : -1;
      if (best < 0) {
        say(data ? 'No stretch of the window kept event by event stands on this.' : 'No window was kept event by event.');
        return;
      }
      var start = data.piece_start[best], length = data.piece_length[best], margin = length * 0.5 + 1000;
      wakepath.go('chronology.html', 'from=' + Math.max(0, Math.floor(start - margin)) + '&to=' +
        Math.min(data.length, Math.ceil(start + length + margin)));
    });
  };
})();
