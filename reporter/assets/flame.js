// SPDX-License-Identifier: Apache-2.0
// The consolidated flame: width is time, height is the pseudo-stack. Click to zoom, search to highlight; the address
// keeps what is shown.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, units = wakepath.units, models = wakepath.flameModel;
  var palette = wakepath.palette, Surface = wakepath.Surface;
  var ROW = 21, LEAST = 0.5, PARTS = 300; // links in an address at most

  function hex(link) {
    return ('0000000' + link.toString(16)).slice(-8);
  }

  // data.was and data.mark, by node: a difference flame, which is coloured by change and not gathered.
  // A flame with a leader is the same comparison by the other side: it searches what the leader does and has no address of its own.
  function Flame(place, data, leader) {
    this.data = data;
    this.leader = leader || null;
    this.other = null;
    this.differs = Boolean(data.was);
    // All of it; of the chosen time; of that without what is folded; what is drawn.
    this.all = this.during = this.whole = this.model = models.decode(data);
    this.zoom = this.selected = 0;
    this.up = true;
    this.hits = this.category = null;
    this.drawn = 0;
    this.buildTools(place);
    this.surface = new Surface(place, (this.differs ? 'Difference flame' : 'Consolidated flame') + '. Arrow keys move, Enter zooms, Escape goes back, slash searches, a question mark shows all keys.',
      this.acts());
    this.say = view.say(place);
    view.legend(place, (this.differs ? palette.CHANGES : palette.legend(this.all.frames)).concat(this.all.inlined.size ? [['f-inlined', 'inlined']] : []));
    this.tip = new wakepath.Tip();
    this.fromHash();
    var self = this;
    window.addEventListener('hashchange', function () {
      if (self.surface.stage.offsetParent) self.fromHash(); // in a single file another view may be in sight
    });
  }

  Flame.prototype.buildTools = function (place) {
    var self = this, bar = view.element('div', 'tools');
    place.appendChild(bar);
    this.box = this.leader ? this.leader.box : view.search(bar, 'Search or /regex/', function (text) {
      self.search(text, null);
      self.toHash(false);
    });
    this.found = view.element('output', 'found');
    bar.appendChild(this.found);
    this.back = view.button(bar, 'Show all', 'Leave the zoom (Escape)', function () {
      self.reset();
    });
    this.flip = view.toggle(bar, 'Icicle', 'Let the stacks hang from the top', false, function (on) {
      self.up = !on;
      self.layout();
      self.toHash(false);
    });
    this.gatherButton = this.differs ? document.createElement('button') : view.button(bar, 'Sandwich', 'Put together all that stands on this frame, wherever it occurs', function () {
      self.gatherSelected();
    });
    this.one = this.differs ? [] : [false, true].map(function (isTypical) {
      var hint = isTypical ? 'A typical window with this frame, event by event' : 'The window with most time on this frame, event by event';
      return view.button(bar, isTypical ? 'Typical' : 'Slowest', hint, function () {
        wakepath.showOne(self, isTypical);
      });
    });
    this.folds = this.differs ? null : new wakepath.FlameFolds(this, bar, wakepath.folding.DEFAULTS);
    view.button(bar, 'Main path', 'Follow the largest part until it has nine tenths at most', function () {
      self.zoomTo(self.mainPath());
    });
    this.hosts = this.differs ? null : new wakepath.FlameHosts(this, bar, place);
    this.times = this.differs ? null : new wakepath.FlameTimes(this, bar, place);
    if (!this.differs) view.button(bar, 'Behind it', 'The hosts, the times and the examples behind what is shown', function () {
      wakepath.go('behind.html', view.address('', self.behind()).replace(/^.*?#(page=&)?/, ''));
    });
    if (!this.leader) this.save = new wakepath.FlameSave(this, bar);
    if (!this.differs) wakepath.acceptReports(this, bar, place);
    bar.appendChild(view.element('span', 'hint long', 'Click zooms, Escape goes back, / searches'));
    this.trail = view.element('p', 'trail');
    place.appendChild(this.trail);
  };

  Flame.prototype.acts = function () {
    var self = this;
    return {
      draw: function (ctx, width, height, top) {
        self.draw(ctx, width, height, top);
      },
      cut: function (y) {
        var ground = self.rowTop(self.firstRow());
        return y - ((y - ground) % ROW + ROW) % ROW;
      },
      hover: function (x, y, event) {
        self.hover(x, y, event);
      },
      leave: function () {
        self.tip.hide();
        if (self.hovered) {
          self.hovered = 0;
          self.surface.paint();
        }
      },
      click: function (x, y) {
        var node = self.nodeAt(x, y);
        self.surface.canvas.focus({preventScroll: true});
        if (node > 0 && node === self.zoom && self.waitsOn(node)) self.follow(node);
        else if (node >= 0) self.zoomTo(node);
      },
      drag: function (dx, dy) {
        self.surface.stage.scrollTop -= dy;
      },
      key: function (event) {
        self.key(event);
      }
    };
  };

  Flame.prototype.name = function (node) {
    return node ? palette.frameName(this.model.frames[this.model.frame[node]]) || '(no name)' : this.gathered || 'everything';
  };

  Flame.prototype.isInlined = function (node) {
    return node > 0 && this.model.inlined.has(this.model.link[node]);
  };

  // The first row that is drawn, counted from the base: a zoomed node's ancestors stay as a stair of at most a few rows.
  Flame.prototype.firstRow = function () {
    return Math.max(0, this.model.depth[this.zoom] - 4);
  };

  Flame.prototype.layout = function () {
    var model = this.model, deepest = model.depth[this.zoom];
    var least = LEAST * (model.total[this.zoom] || 1) / (this.surface.width || 1000);
    for (var i = this.zoom; i < model.end[this.zoom];) {
      if (model.total[i] < least && i !== this.zoom) {
        i = model.end[model.parent[i]];
        continue;
      }
      if (model.depth[i] > deepest) deepest = model.depth[i];
      i++;
    }
    this.rows = deepest + 1 - this.firstRow();
    this.surface.setHeight(this.rows * ROW + 8);
    this.surface.stage.scrollTop = this.up ? this.rows * ROW + 8 : 0;
    this.surface.paint();
  };

  Flame.prototype.rowTop = function (depth) {
    var row = depth - this.firstRow();
    return this.up ? Math.max(this.surface.contentHeight, this.surface.height) - 4 - (row + 1) * ROW : 4 + row * ROW;
  };

  Flame.prototype.edges = function (node) {
    var model = this.model, scale = this.surface.width / (model.total[this.zoom] || 1);
    return {x: (model.left[node] - model.left[this.zoom]) * scale, width: model.total[node] * scale};
  };

  Flame.prototype.draw = function (ctx, width, height, top) {
    var started = window.performance.now(), model = this.model, node;
    this.colours = palette.read();
    this.drawn = 0;
    ctx.font = '12px ' + this.colours.font;
    ctx.textBaseline = 'middle';
    for (node = this.zoom; node; node = model.parent[node])
      if (node !== this.zoom && model.depth[node] >= this.firstRow()) this.drawFrame(ctx, node, 0, width, top, height, true);
    if (this.firstRow() === 0 && this.zoom) this.drawFrame(ctx, 0, 0, width, top, height, true);
    node = this.zoom;
    while (node < model.end[this.zoom]) {
      var edge = this.edges(node);
      if (edge.width < LEAST && node !== this.zoom) {
        // Siblings stand by size: what follows is smaller still, up to the end of the parent.
        node = model.end[model.parent[node]];
        continue;
      }
      this.drawFrame(ctx, node, edge.x, edge.width, top, height, false);
      node++;
    }
    this.drawMs = window.performance.now() - started;
    wakepath.ready('flame:' + this.drawn);
  };

  Flame.prototype.colour = function (node) {
    if (this.differs) return this.colours[palette.changeName(this.data.mark[node], this.model.total[node], this.data.was[node])];
    if (!node) return this.colours['f-process'];
    var frame = this.model.frames[this.model.frame[node]];
    return this.colours[palette.colourName(frame, this.model.flags[node])];
  };

  Flame.prototype.drawFrame = function (ctx, node, x, width, top, height, faded) {
    var y = this.rowTop(this.model.depth[node]) - top;
    this.drawn++;
    if (y > height || y + ROW < 0) return;
    var hit = this.hits && this.hits[node];
    ctx.globalAlpha = faded ? 0.45 : this.hits && !hit ? 0.35 : 1;
    ctx.fillStyle = hit ? this.colours.hit : this.colour(node);
    ctx.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), LEAST), ROW - 1);
    ctx.globalAlpha = faded ? 0.7 : 1;
    if (width > 26) {
      var slants = this.isInlined(node);
      ctx.fillStyle = this.colours['frame-ink'];
      if (slants) ctx.font = 'italic 12px ' + this.colours.font;
      ctx.fillText(Surface.fit(ctx, this.name(node), width - 10), x + 5, y + ROW / 2);
      if (slants) ctx.font = '12px ' + this.colours.font;
    }
    if (node === this.hovered || node === this.selected && node !== this.zoom) {
      ctx.strokeStyle = this.colours.ink;
      ctx.lineWidth = 1.5;
      ctx.strokeRect(x + 0.75, y + 0.75, Math.max(width - 2.5, 1), ROW - 2.5);
    }
    ctx.globalAlpha = 1;
  };

  Flame.prototype.nodeAt = function (x, y) {
    var model = this.model, base = Math.max(this.surface.contentHeight, this.surface.height) - 4;
    var row = Math.floor((this.up ? base - y : y - 4) / ROW), depth = row + this.firstRow(), node;
    if (row < 0) return -1;
    if (depth <= model.depth[this.zoom]) {
      for (node = this.zoom; model.depth[node] > depth; node = model.parent[node]);
      return node;
    }
    var at = model.left[this.zoom] + x * (model.total[this.zoom] || 1) / this.surface.width;
    for (node = this.zoom; model.depth[node] < depth;) {
      var child = node + 1, end = model.end[node];
      while (child < end && at >= model.left[child] + model.total[child]) child = model.end[child];
      if (child >= end) return -1;
      node = child;
    }
    return node;
  };

  Flame.prototype.describe = function (node) {
    var model = this.model, frame = node ? model.frames[model.frame[node]] : null, data = this.data;
    var rows = [['Time', units.duration(model.total[node])],
      ['Of everything', units.share(model.total[node], this.whole.total[0])]];
    if (this.differs) {
      var was = data.was[node], is = model.total[node];
      rows.push(['In ' + data.before, units.duration(was)]);
      if (data.older) { // this flame is the older side's
        is = was;
        was = model.total[node];
      }
      rows.push(['Change', (is < was ? '−' : '+') + units.duration(Math.abs(is - was)) +
          (was ? ', ' + (is < was ? '−' : '+') + Math.abs(100 * (is - was) / was).toFixed(1) + ' %' : ', new')],
        ['', palette.VERDICTS[data.mark[node]]]);
    }
    if (node) rows.push(['Of what it stands on', units.share(model.total[node], model.total[model.parent[node]])]);
    var pieces = models.pieces(model, node); // not known of a part of the time
    if (pieces) rows.push(['Pieces', units.count(pieces)]);
    models.categories(model, node).slice(0, 5).forEach(function (row) {
      rows.push([data.categories[row[0]] ? data.categories[row[0]][1] : 'other',
        units.duration(row[1])]);
    });
    var lines = frame ? [palette.describe(frame)] : [];
    if (this.isInlined(node)) lines.push('inlined into what it stands on');
    if (this.waitsOn(node)) lines.push('another control path: click twice to go there');
    return {title: this.name(node), lines: lines, rows: rows};
  };

  Flame.prototype.hover = function (x, y, event) {
    var node = this.nodeAt(x, y);
    if (node < 0) this.tip.hide();
    else this.tip.show(event.clientX, event.clientY, this.describe(node));
    this.surface.canvas.style.cursor = node < 0 ? 'default' : 'pointer';
    if (this.hovered !== node) {
      this.hovered = node;
      this.surface.paint();
    }
  };

  Flame.prototype.zoomTo = function (node) {
    this.zoom = this.selected = node;
    this.showTrail();
    this.layout();
    this.toHash(true);
    if (this.times) this.times.paint();
  };

  Flame.prototype.showTrail = function () {
    var model = this.model, self = this, chain = [], total = model.total[this.zoom];
    for (var node = this.zoom; node; node = model.parent[node]) chain.unshift(node);
    this.back.disabled = !this.zoom && !this.gathered;
    this.gatherButton.disabled = !this.zoom;
    this.one.forEach(function (button) {
      button.disabled = !self.zoom;
    });
    this.trail.textContent = '';
    [0].concat(chain.length > 6 ? chain.slice(-6) : chain).forEach(function (step, place) {
      if (place) self.trail.appendChild(document.createTextNode(place === 1 && chain.length > 6 ? ' › … › ' : ' › '));
      var button = view.button(self.trail, self.name(step), 'Zoom to this', function () {
        self.zoomTo(step);
      });
      button.className = 'step';
    });
    if (this.waitsOn(this.zoom)) {
      this.trail.appendChild(document.createTextNode(' › '));
      view.button(this.trail, 'its own flame', 'Go to the control path that was waited for', function () {
        self.follow(self.zoom);
      }).className = 'step follow';
    }
    this.trail.appendChild(document.createTextNode('  ' + units.duration(total) + ', ' +
      units.share(total, this.whole.total[0]) + ' of everything'));
    if (this.folds) this.folds.show(this.trail);
  };

  // The process at the base of the control path that "path:[name]" waits on, or ''.
  Flame.prototype.waitsOn = function (node) {
    var frame = node ? this.model.frames[this.model.frame[node]] : [0, ''];
    return frame[0] === palette.STYLE.WAIT && frame[1].indexOf('path:') === 0 ? frame[1].slice(5) : '';
  };

  // To that path: it stands on the ground by itself. One that does not is found in what all of that process does.
  Flame.prototype.follow = function (node) {
    var model = this.whole, name = this.waitsOn(node);
    for (var base = 1; base < model.count; base = model.end[base]) {
      var frame = model.frames[model.frame[base]];
      if (frame[0] === palette.STYLE.PROCESS && frame[1] === name) {
        if (this.model !== model) this.setModel(model, '', null);
        this.zoomTo(base);
        return;
      }
    }
    if (this.gather('process', name)) this.toHash(true);
  };

  Flame.prototype.reset = function () {
    if (this.zoom) {
      this.zoomTo(0);
      return;
    }
    this.setModel(this.whole, '', null);
    this.toHash(true);
  };

  Flame.prototype.setModel = function (model, title, key) {
    this.model = model;
    this.gathered = title;
    this.gatherKey = key;
    this.zoom = this.selected = 0;
    this.hovered = -1;
    this.search(this.box.value, this.category);
    this.showTrail();
    this.layout();
  };

  // Another stretch of time: what was gathered is gathered from it, what was zoomed stays so where it is still there.
  Flame.prototype.setWhole = function (model) {
    if (this.during === model) return;
    this.during = model;
    this.refold();
  };

  Flame.prototype.refold = function () {
    var key = this.gatherKey, link = this.zoom ? this.model.link[this.zoom] : 0, model = this.folds.apply(this.during);
    this.whole = model;
    if (!key || !this.gather(key[0], key[1], key[2])) this.setModel(model, '', null);
    var at = link ? this.nodeOf(link) : -1;
    if (at > 0) this.zoomTo(at);
  };

  // The node of a link: one that was folded into what it stands on has none.
  Flame.prototype.nodeOf = function (link) {
    var model = this.model, at = model.link.indexOf(link, 1), old = at < 0 && model.from ? model.from.link.indexOf(link, 1) : -1;
    return old > 0 && model.isKept[old] === old ? model.home[old] : at;
  };

  // Nodes of the flame before it was folded that the zoomed one consists of, [] where nothing is folded.
  Flame.prototype.parts = function () {
    var model = this.model, zoom = this.zoom, parts = [];
    if (model.from && zoom) model.home.forEach(function (node, old) {
      if (node === zoom && model.isKept[old] === old) parts.push(old);
    });
    return parts;
  };

  // Cells of the whole flame that stand on the zoomed node, [[first, end]...]; all of them where frames are gathered.
  Flame.prototype.ranges = function () {
    var model = this.model, all = this.all, zoom = this.zoom, end = model.end[zoom], from = model.from || model, ranges = [], links = new Set(), i;
    if (!zoom || this.gathered) return [[0, all.cellNs.length]];
    for (i = 1; i < from.count; i++) {
      var node = model.from ? model.home[i] : i;
      if (node < zoom || node >= end) continue;
      if (from === all) ranges.push([all.firstCell[i], all.firstCell[i + 1]]);
      else links.add(from.link[i]);
    }
    for (i = 1; links.size && i < all.count; i++) if (links.has(all.link[i])) ranges.push([all.firstCell[i], all.firstCell[i + 1]]);
    return ranges;
  };

  // Down the largest parts, from what is zoomed to where nine tenths of it or less stand: the deep profiler of Mercury begins so.
  Flame.prototype.mainPath = function () {
    var model = this.model, node = this.zoom;
    while (model.end[node] > node + 1) {
      node++; // siblings stand by size: the first is the largest
      if (model.total[node] <= 0.9 * model.total[this.zoom]) break;
    }
    return node;
  };

  Flame.prototype.gatherSelected = function () {
    if (!this.zoom) return;
    var frame = this.model.frames[this.model.frame[this.zoom]];
    this.gather(frame[0] === palette.STYLE.PROCESS ? 'process' : 'gather', frame[1]);
    this.toHash(true);
  };

  // Everything that stands on the frames of this name; false when there are none.
  Flame.prototype.gather = function (key, name, file) {
    var frames = this.during.frames;
    var model = models.gather(this.during, function (frame) {
      var isProcess = frames[frame][0] === palette.STYLE.PROCESS;
      if (key === 'host') return isProcess && frames[frame][1].endsWith(']@' + name);
      if (file && file !== '(no file)' && frames[frame][2] !== file && !(file === '[kernel]' && frames[frame][0] === palette.STYLE.KERNEL)) return false;
      return frames[frame][1] === name && (key !== 'process' || isProcess) ||
        key === 'process' && isProcess && frames[frame][1].indexOf(name + '@') === 0; // on whatever host
    });
    if (model.count < 2) {
      this.say('Nothing named ' + name + ' is in this flame.');
      return false;
    }
    this.setModel(this.folds ? this.folds.apply(model, 1) : model, (key === 'host' ? 'all on ' : 'all of ') + name, [key, name, file]);
    return true;
  };

  // Nodes with a name or a file that fits: whether each does, and their time, on one of them counted once.
  function matching(model, fits) {
    var hits = new Uint8Array(model.count), sum = 0, until = 0, byFrame = model.frames.map(function (frame) {
      return fits(frame[1]) || fits(frame[2]);
    });
    for (var i = 1; i < model.count; i++) {
      if (!byFrame[model.frame[i]]) continue;
      hits[i] = 1;
      if (i < until) continue;
      sum += model.total[i];
      until = model.end[i];
    }
    return {hits: hits, sum: sum};
  }

  function ofCategory(model, category) {
    var hits = new Uint8Array(model.count), sum = 0;
    for (var i = 1; i < model.count; i++)
      for (var cell = model.firstCell[i]; cell < model.firstCell[i + 1]; cell++)
        if (model.cellCategory[cell] === category) {
          hits[i] = 1;
          sum += model.cellNs[cell];
        }
    return {hits: hits, sum: sum};
  }

  // Marks what matches and tells its share.
  Flame.prototype.search = function (text, category) {
    var model = this.model, fits = view.matcher(text), found, folded = 0;
    this.category = category;
    if (this.other) this.other.search(text, category);
    if (!fits && category === null) {
      this.hits = null;
      this.found.textContent = '';
      this.surface.paint();
      return;
    }
    found = category !== null ? ofCategory(model, category) : matching(model, fits);
    this.hits = found.hits;
    this.found.textContent = units.duration(found.sum) + ', ' + units.share(found.sum, model.total[0]) +
      (category !== null ? ' ' + wakepath.units.within(this.data.categories[category][1]) : ' matches');
    if (!found.sum && category === null && model.from) folded = matching(model.from, fits).sum;
    if (folded) this.found.textContent = units.duration(folded) + ' in frames that are left out: show Kernel or Start-up';
    this.surface.paint();
  };

  Flame.prototype.key = function (event) {
    var model = this.model, node = this.selected, next = -1;
    var upwards = event.key === (this.up ? 'ArrowUp' : 'ArrowDown'), downwards = event.key === (this.up ? 'ArrowDown' : 'ArrowUp');
    if (upwards && model.end[node] > node + 1) next = node + 1;
    else if (downwards && node) next = model.parent[node];
    else if (event.key === 'ArrowRight' && node && model.end[node] < model.end[model.parent[node]]) next = model.end[node];
    else if (event.key === 'ArrowLeft' && node) {
      for (var child = model.parent[node] + 1; child < node; child = model.end[child]) next = child;
    } else if ((event.key === 'Enter' || event.key === ' ') && node === this.zoom && this.waitsOn(node)) this.follow(node);
    else if (event.key === 'Enter' || event.key === ' ') this.zoomTo(node);
    else if (event.key === 'Escape' || event.key === 'Backspace') this.reset();
    else if (event.key === 'c' && !event.ctrlKey && !event.metaKey && this.save) this.save.act('stack');
    else if (event.key === 'k' && this.folds) this.folds.set(this.folds.objects.length ? [] : this.folds.defaults.slice());
    else if (!upwards && !downwards && event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    if (next < 0) return;
    this.selected = next;
    if (model.depth[next] < model.depth[this.zoom]) this.zoomTo(next);
    this.say(this.name(next) + ': ' + units.duration(model.total[next]) + ', ' +
      units.share(model.total[next], this.whole.total[0]) + ' of everything');
    this.surface.paint();
  };

  // What is shown, as an address says it: of which frame, hosts and times.
  Flame.prototype.selection = function () {
    var state = {};
    if (this.category !== null) state.category = this.data.categories[this.category][0];
    if (this.gatherKey) {
      state[this.gatherKey[0]] = this.gatherKey[1];
      state.file = this.gatherKey[2];
    }
    if (this.zoom) state.node = hex(this.model.link[this.zoom]);
    if (this.times) Object.assign(state, this.hosts.state(), this.times.state(), this.folds.state());
    return state;
  };

  // What the flame shows, for the page behind a figure: that knows all frames, and is told what is left out here.
  Flame.prototype.behind = function () {
    var state = this.selection(), model = this.model, parts = this.parts();
    if (parts.length && parts.length <= PARTS) state.node = parts.map(function (old) {
      return hex(model.from.link[old]);
    }).join('.');
    delete state.show;
    state.hide = this.folds.objects.join('|');
    return state;
  };

  // A step is one that Back undoes.
  Flame.prototype.toHash = function (isStep) {
    if (this.leader || this.isRestoring) return;
    var state = Object.assign({search: this.category === null ? this.box.value.trim() : ''}, this.selection());
    if (!this.up) state.down = '1';
    view.writeHash(state, isStep);
  };

  Flame.prototype.fromHash = function () {
    var self = this, state = view.readHash();
    if (this.leader) state = {search: state.search, down: state.down};
    this.isRestoring = true;
    if (!this.times) {
      this.show(state);
      return;
    }
    this.folds.restore(state);
    this.whole = this.folds.apply(this.during);
    this.hosts.restore(state, function () {
      self.times.restore(state, function () {
        self.show(state);
      });
    });
  };

  Flame.prototype.show = function (state) {
    var key = state.process ? 'process' : state.host ? 'host' : state.gather ? 'gather' : '', category = null;
    this.up = state.down !== '1';
    this.flip.setAttribute('aria-pressed', String(!this.up));
    this.data.categories.forEach(function (row, i) {
      if (row[0] === state.category) category = i;
    });
    this.box.value = state.search || '';
    this.category = category;
    if (!key || !this.gather(key, state[key], state.file)) this.setModel(this.whole, '', null);
    if (state.node) this.zoomToLink(parseInt(state.node, 16));
    this.isRestoring = false;
  };

  // Where an address leads: what is left out of the flame is shown when it is asked for.
  Flame.prototype.zoomToLink = function (link) {
    var at = this.nodeOf(link);
    if (at < 0 && this.folds && this.model.from && this.model.from.link.indexOf(link, 1) > 0) {
      this.folds.keep([]);
      this.refold();
      at = this.nodeOf(link);
    }
    if (at > 0) this.zoomTo(at);
  };

  wakepath.views.flame = function (place, data) {
    wakepath.flame = new Flame(place, data);
  };

  // By the newer side, and below it by the older one, where what is gone still stands; one search for both.
  wakepath.views.difference = function (place, data) {
    var older = wakepath.payloads.older;
    wakepath.flame = new Flame(place, data);
    if (!older) return;
    place.appendChild(view.element('h3', '', 'The same by ' + older.own + ', with what only that has'));
    var below = view.element('div', 'older');
    place.appendChild(below);
    wakepath.flame.other = new Flame(below, older, wakepath.flame);
  };
})();
