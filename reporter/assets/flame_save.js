// SPDX-License-Identifier: Apache-2.0
// What is shown of a flame, as other tools read it: its stack as text, folded stacks, speedscope, pprof. Nothing is sent anywhere.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view;
  var SCHEMA = ['https', '//www.speedscope.app/file-format-schema.json'].join(':'); // the format's name: nothing is asked for there

  function stack(flame, node) {
    var names = [];
    for (; node; node = flame.model.parent[node]) names.push(flame.name(node));
    return names;
  }

  // Calls add(frames, ns, cell) for each stack and category with time under the zoomed frame, the outermost frame first.
  function eachStack(flame, add) {
    var model = flame.model, open = [], node;
    for (node = flame.zoom; node; node = model.parent[node]) open[model.depth[node] - 1] = model.frame[node];
    for (node = flame.zoom; node < model.end[flame.zoom]; node++) {
      if (node) open[model.depth[node] - 1] = model.frame[node];
      open.length = model.depth[node];
      for (var cell = model.firstCell[node]; cell < model.firstCell[node + 1]; cell++)
        if (model.cellNs[cell] > 0) add(open, model.cellNs[cell], cell);
    }
  }

  // A line a stack: names between semicolons, and microseconds, as flamegraph.pl takes them.
  function folded(flame) {
    var lines = [], model = flame.model;
    eachStack(flame, function (frames, ns) {
      lines.push(frames.map(function (frame) {
        return wakepath.palette.frameName(model.frames[frame]).replace(/[;\s]+/g, ' ') || '?';
      }).join(';') + ' ' + Math.round(ns / 1000));
    });
    return lines.join('\n') + '\n';
  }

  function speedscope(flame, name) {
    var model = flame.model, samples = [], weights = [], total = 0;
    eachStack(flame, function (frames, ns) {
      samples.push(frames.slice());
      weights.push(ns);
      total += ns;
    });
    return JSON.stringify({$schema: SCHEMA, exporter: 'wakepath', name: name,
      shared: {frames: model.frames.map(function (frame) {
        return frame[2] ? {name: wakepath.palette.frameName(frame), file: frame[2]} : {name: wakepath.palette.frameName(frame)};
      })},
      profiles: [{type: 'sampled', name: name, unit: 'nanoseconds', startValue: 0, endValue: total, samples: samples, weights: weights}]});
  }

  // Protocol buffers: numbers of seven bits a byte; a field is its number, its kind and its content.
  function varint(bytes, value) {
    for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
    bytes.push(value);
  }

  function number(bytes, field, value) {
    varint(bytes, field * 8);
    varint(bytes, value);
  }

  function block(bytes, field, content) {
    varint(bytes, field * 8 + 2);
    varint(bytes, content.length);
    for (var i = 0; i < content.length; i++) bytes.push(content[i]);
  }

  function message(fields) {
    var bytes = [];
    fields.forEach(function (field) {
      if (typeof field[1] === 'number') number(bytes, field[0], field[1]);
      else block(bytes, field[0], field[1]);
    });
    return bytes;
  }

  function packed(values) {
    var bytes = [];
    values.forEach(function (value) {
      varint(bytes, value);
    });
    return bytes;
  }

  // pprof's Profile, as reporter/export/profile.proto has it: pieces and times by category, a function and a location a frame.
  function pprof(flame) {
    var model = flame.model, texts = new Map([['', 0]]), bytes = [];
    function text(value) {
      if (!texts.has(value)) texts.set(value, texts.size);
      return texts.get(value);
    }
    [['pieces', 'count'], ['time', 'nanoseconds']].forEach(function (type) {
      block(bytes, 1, message([[1, text(type[0])], [2, text(type[1])]]));
    });
    eachStack(flame, function (frames, ns, cell) {
      var category = flame.data.categories[model.cellCategory[cell]];
      block(bytes, 2, message([[1, packed(frames.slice().reverse().map(function (frame) {
        return frame + 1;
      }))], [2, packed([Math.round(model.cellPieces[cell]), Math.round(ns)])],
      [3, message([[1, text('category')], [2, text(category ? category[0] : 'other')]])]]));
    });
    model.frames.forEach(function (frame, i) {
      var name = text(wakepath.palette.frameName(frame));
      block(bytes, 4, message([[1, i + 1], [4, message([[1, i + 1]])]]));
      block(bytes, 5, message([[1, i + 1], [2, name], [3, name], [4, text(frame[2])]]));
    });
    number(bytes, 14, text('time')); // what is shown at first
    texts.forEach(function (at, value) {
      block(bytes, 6, new TextEncoder().encode(value));
    });
    return new Uint8Array(bytes);
  }

  var FORMATS = {folded: ['folded', folded, 'text/plain'], speedscope: ['speedscope.json', speedscope, 'application/json'],
    pprof: ['pprof', pprof, 'application/octet-stream']};

  function Save(flame, bar) {
    var self = this;
    this.flame = flame;
    this.menu = view.choice(bar, 'Copy or save what is shown', [['', 'Copy, save …'], ['stack', 'Copy the stack (c)'], ['link', 'Copy a link'],
      ['folded', 'Save folded stacks'], ['pprof', 'Save for pprof'], ['speedscope', 'Save for speedscope']], '', function (what) {
      self.menu.value = '';
      self.act(what);
    });
  }

  Save.prototype.act = function (what) {
    var flame = this.flame, name = document.title.replace(/[^\w.-]+/g, '-').slice(0, 80);
    if (what === 'stack') wakepath.copy(stack(flame, flame.selected || flame.zoom).join('\n') + '\n', 'The stack', flame.say);
    else if (what === 'link') wakepath.copy(window.location.href, 'The link', flame.say);
    else if (FORMATS[what]) wakepath.download(name + '.' + FORMATS[what][0], this.make(what), FORMATS[what][2]);
  };

  // The content of a file of that format.
  Save.prototype.make = function (what) {
    return FORMATS[what][1](this.flame, document.title);
  };

  wakepath.FlameSave = Save;
})();
