// SPDX-License-Identifier: Apache-2.0
// Lists of intervals that do not overlap, {start, end, ...} in the order of time, drawn at any scale: what is narrower than a pixel is
// drawn once, and blocks of 8 to 4096 intervals that are narrower than that are passed over whole.
(function () {
  'use strict';
  var after = window.wakepath.traceModel.after, SIZES = [8, 64, 512, 4096];

  // For each block the place of its first interval of the highest rank, by level of SIZES.
  function blocks(list, ranks) {
    var before = null;
    return SIZES.map(function (size, level) {
      var best = new Int32Array(Math.floor(list.start.length / size)), parts = level ? size / SIZES[level - 1] : size, i, k, one;
      for (k = 0; k < best.length; k++) {
        best[k] = before ? before[k * parts] : k * parts;
        for (i = k * parts + 1; ranks && i < (k + 1) * parts; i++) {
          one = before ? before[i] : i;
          if (ranks[one] > ranks[best[k]]) best[k] = one;
        }
      }
      before = best;
      return best;
    });
  }

  // Makes a list ready for each(), once: its columns typed, which makes all lists alike to the compiler, and its blocks. isFirst(place):
  // of what shares a pixel such an interval is seen; without it whatever comes first is.
  function prepare(list, isFirst) {
    var ranks = isFirst ? new Uint8Array(list.start.length) : null, i;
    list.start = Float64Array.from(list.start);
    list.end = Float64Array.from(list.end);
    list.what = Int32Array.from(list.what);
    if (list.state) list.state = Uint8Array.from(list.state);
    for (i = 0; ranks && i < ranks.length; i++) ranks[i] = isFirst(i) ? 1 : 0;
    list.ranks = ranks;
    list.blocks = list.start.length >= SIZES[0] ? blocks(list, ranks) : null;
  }

  // The level of the largest block that begins at place i and is under a pixel; -1: none is.
  function levelAt(list, i, scale) {
    var level = list.blocks ? SIZES.length - 1 : -1, size, ends = list.end, most = ends.length;
    for (; level >= 0; level--) {
      size = SIZES[level];
      if (!(i & (size - 1)) && i + size <= most && (ends[i + size - 1] - list.start[i]) * scale < 1) break;
    }
    return level;
  }

  // Calls paint(x0, x1, place) for what of a prepared list is in sight; of things under a pixel that share one the first of those that
  // are to be seen first. Returns how many intervals it looked at.
  function each(list, axis, paint) {
    var starts = list.start, ends = list.end, ranks = list.ranks, count = starts.length, i = Math.max(0, after(starts, axis.from) - 1), last = -2, best = -1;
    var looked = 0, scale = axis.scale(), from = axis.from, to = axis.to, gutter = axis.gutter, level, place, size, x0, x1;
    while (i < count && starts[i] < to) {
      level = levelAt(list, i, scale);
      size = level < 0 ? 1 : SIZES[level];
      place = level < 0 ? i : list.blocks[level][i / size];
      looked++;
      x0 = gutter + (starts[i] - from) * scale;
      x1 = gutter + (ends[i + size - 1] - from) * scale;
      i += size;
      if (ends[i - 1] < from) continue;
      if (x1 - x0 < 1 && Math.floor(x0) === last && best >= 0) {
        if (ranks && ranks[place] > ranks[best]) best = place;
        continue;
      }
      if (best >= 0) paint(last, last + 1, best);
      best = -1;
      if (x1 - x0 >= 1) {
        paint(x0, x1, place);
      } else {
        last = Math.floor(x0);
        best = place;
      }
    }
    if (best >= 0) paint(last, last + 1, best);
    return looked;
  }

  // The interval at a time, or within `slack` of it; -1: none is.
  function at(list, time, slack) {
    var place = after(list.start, time + slack) - 1;
    return place >= 0 && list.end[place] + slack >= time ? place : -1;
  }

  // Fills rectangles; neighbours of one look that touch at a whole pixel, as all under a pixel do, are one.
  function Filler(ctx) {
    this.ctx = ctx;
    this.colour = '';
    this.x0 = this.x1 = this.y = this.height = 0;
  }

  Filler.prototype.add = function (colour, x0, x1, y, height) {
    if (x0 === this.x1 && x0 === Math.floor(x0) && colour === this.colour && y === this.y && height === this.height) {
      this.x1 = x1;
      return;
    }
    this.flush();
    this.colour = colour;
    this.x0 = x0;
    this.x1 = x1;
    this.y = y;
    this.height = height;
  };

  Filler.prototype.flush = function () {
    if (this.x1 > this.x0) {
      this.ctx.fillStyle = this.colour;
      this.ctx.fillRect(this.x0, this.y, this.x1 - this.x0, this.height);
    }
    this.x1 = this.x0 = 0;
  };

  // How many intervals of all lists hold each moment: {time, count} at each change, the most, and the most of each block of changes.
  function depth(lists) {
    var total = lists.reduce(function (sum, list) {
      return sum + list.start.length;
    }, 0), starts = new Float64Array(total), ends = new Float64Array(total), at = 0;
    lists.forEach(function (list) {
      for (var i = 0; i < list.start.length; i++) {
        if (!(list.end[i] > list.start[i])) continue;
        starts[at] = list.start[i];
        ends[at++] = list.end[i];
      }
    });
    return merge(starts.subarray(0, at).sort(), ends.subarray(0, at).sort());
  }

  function merge(starts, ends) {
    var found = {time: [], count: [], most: 0, blocks: []}, s = 0, e = 0, now;
    while (e < ends.length) {
      now = s < starts.length && starts[s] < ends[e] ? starts[s] : ends[e];
      while (e < ends.length && ends[e] === now) e++;
      while (s < starts.length && starts[s] === now) s++;
      found.time.push(now);
      found.count.push(s - e);
      if (s - e > found.most) found.most = s - e;
    }
    for (s = 0; s < found.count.length; s++) found.blocks[s >> 6] = Math.max(found.blocks[s >> 6] || 0, found.count[s]);
    return found;
  }

  // Calls paint(x0, x1, count) for what is in sight of such a depth, the most of what shares a pixel.
  function eachDepth(found, axis, paint) {
    var times = found.time, i = Math.max(0, after(times, axis.from) - 1), scale = axis.scale(), size, most, x0, x1, last = -2, best = 0;
    function flush() {
      if (best) paint(last, last + 1, best);
      best = 0;
    }
    while (i < times.length && times[i] < axis.to) {
      size = i % 64 === 0 && i + 64 < times.length && (times[i + 64] - times[i]) * scale < 1 ? 64 : 1;
      most = size > 1 ? found.blocks[i >> 6] : found.count[i];
      x0 = axis.x(times[i]);
      x1 = i + size < times.length ? axis.x(times[i + size]) : x0;
      i += size;
      if (x1 - x0 >= 1) {
        flush();
        if (most) paint(x0, x1, most);
      } else if (Math.floor(x0) !== last) {
        flush();
        last = Math.floor(x0);
        best = most;
      } else {
        best = Math.max(best, most);
      }
    }
    flush();
  }

  window.wakepath.spans = {Filler: Filler, each: each, prepare: prepare, at: at, depth: depth, eachDepth: eachDepth};
})();
