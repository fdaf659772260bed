// SPDX-License-Identifier: Apache-2.0
// Lists of intervals that do not overlap, {start, end, ...} in the order of time, drawn at any scale: what is narrower than a pixel is
// drawn once, and blocks of 8 to 4096 intervals that are narrower than that are passed over whole.
(function () {
  'use strict';
  var after = window.wakepath.traceModel.after, SIZES = [8, 64, 512, 4096];

  // For each block the place of its first interval of the highest rank(place); once a list, and again for another way to rank.
  function blocks(list, rank) {
    if (list.blocks && list.blocks.rank === rank) return list.blocks;
    var before = null;
    list.blocks = SIZES.map(function (size, level) {
      var best = new Int32Array(Math.floor(list.start.length / size)), parts = level ? size / SIZES[level - 1] : size, i, k, one;
      for (k = 0; k < best.length; k++) {
        best[k] = before ? before[k * parts] : k * parts;
        for (i = k * parts + 1; i < (k + 1) * parts; i++) {
          one = before ? before[i] : i;
          if (rank(one) > rank(best[k])) best[k] = one;
        }
      }
      before = best;
      return best;
    });
    list.blocks.rank = rank;
    return list.blocks;
  }

  // Calls paint(x0, x1, place) for what is in sight; of things under a pixel that share one the first of the highest rank(place), which
  // is one function as long as the list lives. Returns how many intervals it looked at.
  function each(list, axis, rank, paint) {
    var starts = list.start, ends = list.end, count = starts.length, i = Math.max(0, after(starts, axis.from) - 1), last = -2, best = -1, looked = 0;
    var made = count >= SIZES[0] ? blocks(list, rank) : null, scale = axis.scale(), place, level, size, x0, x1;
    function flush() {
      if (best >= 0) paint(last, last + 1, best);
      best = -1;
    }
    while (i < count && starts[i] < axis.to) {
      place = i;
      size = 1;
      for (level = made ? SIZES.length - 1 : -1; level >= 0; level--) {
        size = SIZES[level];
        if (i % size === 0 && i + size <= count && (ends[i + size - 1] - starts[i]) * scale < 1) {
          place = made[level][i / size];
          break;
        }
        size = 1;
      }
      looked++;
      x0 = axis.x(starts[i]);
      x1 = axis.x(ends[i + size - 1]);
      i += size;
      if (ends[i - 1] < axis.from) continue;
      if (x1 - x0 >= 1) {
        flush();
        paint(x0, x1, place);
      } else if (Math.floor(x0) !== last || best < 0) {
        flush();
        last = Math.floor(x0);
        best = place;
      } else if (rank(place) > rank(best)) {
        best = place;
      }
    }
    flush();
    return looked;
  }

  // The interval at a time, or within `slack` of it; -1: none is.
  function at(list, time, slack) {
    var place = after(list.start, time + slack) - 1;
    return place >= 0 && list.end[place] + slack >= time ? place : -1;
  }

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

  window.wakepath.spans = {each: each, prepare: blocks, at: at, depth: depth, eachDepth: eachDepth};
})();
