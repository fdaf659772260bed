// SPDX-License-Identifier: Apache-2.0
// What a thread was doing at a moment, in the words and colours of the Timeline.
(function () {
  'use strict';

  // [key, title, colour, what it is]
  var STATES = [
    ['cpu', 'On-CPU', 'cat-understood_functions', 'It ran on a processor'],
    ['runnable', 'Runnable', 'cat-scheduler', 'It could have run, but others had the processors: preempted, or woken and not yet running'],
    ['disk', 'Disk', 'cat-blocking_io', 'It waited for a block device, or for its queue'],
    ['lock', 'Lock', 'cat-kernel_block', 'It waited in a futex: a mutex, a condition, a semaphore'],
    ['network', 'Network', 'cat-message_in_flight', 'It waited for a message'],
    ['timer', 'Timer', 'cat-deliberate_sleep', 'It slept until a time it had asked for'],
    ['other', 'Other wait', 'cat-other_path', 'It waited for another thread, a child, a pipe, or in the kernel']];
  var BY_CATEGORY = {understood_functions: 'cpu', running_not_sampled: 'cpu', scheduler: 'runnable', involuntary: 'runnable', blocking_io: 'disk',
    io_queue: 'disk', message_in_flight: 'network', remote_not_traced: 'network', deliberate_sleep: 'timer', timeout: 'timer'};
  var LOCK = /futex|mutex|lll_lock|rwlock|pthread_cond|pthread_barrier|sem_(?:timed|clock)?wait|_sem_wait/;
  var PLACE = {}, GAP = 100000; // ns; RUNNABLE_NS in aggregator/account/exemplar.c
  STATES.forEach(function (state, i) {
    PLACE[state[0]] = i;
  });

  // The number of a sleep's state, from its category's key and its label. A kernel thread in no call ("kernel") has nothing to do,
  // whatever wakes it.
  function ofSleep(category, label) {
    var known = label === 'kernel' && PLACE[BY_CATEGORY[category]] !== PLACE.disk && category !== 'scheduler' && category !== 'involuntary' ? 'other'
      : BY_CATEGORY[category];
    return PLACE[known || (LOCK.test(label) ? 'lock' : 'other')];
  }

  // Every thread's intervals in the order of time: {start, end, state, what: rows of the sleeps, -1 of others}. What lies between a
  // sleep's end and the run after it is the wait for a processor, where it is short: longer ones are rows, and of some there is none left.
  function byThread(data, runs, sleeps) {
    var memo = new Map();
    function stateOf(row) {
      var key = data.sleep_category[row] * 1048576 + data.sleep_label[row];
      if (!memo.has(key)) memo.set(key, ofSleep((data.categories[data.sleep_category[row]] || [''])[0], data.names[data.sleep_label[row]] || ''));
      return memo.get(key);
    }
    return runs.map(function (run, thread) {
      var sleep = sleeps[thread], list = {start: [], end: [], state: [], what: []}, r = 0, s = 0, woken = -1;
      function add(start, end, state, what) {
        if (end <= start && state !== PLACE.cpu) return;
        list.start.push(start);
        list.end.push(end);
        list.state.push(state);
        list.what.push(what);
      }
      while (r < run.start.length || s < sleep.start.length) {
        if (s < sleep.start.length && (r >= run.start.length || sleep.start[s] < run.start[r])) {
          add(sleep.start[s], sleep.end[s], stateOf(sleep.what[s]), sleep.what[s]);
          woken = sleep.end[s++];
        } else {
          if (woken >= 0 && run.start[r] - woken < GAP) add(woken, run.start[r], PLACE.runnable, -1);
          add(run.start[r], run.end[r], PLACE.cpu, -1);
          woken = -1;
          r++;
        }
      }
      return list;
    });
  }

  // Time by state of an interval of such a list.
  function sums(list, from, to, into) {
    for (var i = Math.max(0, window.wakepath.traceModel.after(list.start, from) - 1); i < list.start.length && list.start[i] < to; i++)
      if (list.end[i] > from) into[list.state[i]] += Math.min(list.end[i], to) - Math.max(list.start[i], from);
    return into;
  }

  window.wakepath.states = {STATES: STATES, PLACE: PLACE, ofSleep: ofSleep, byThread: byThread, sums: sums};
})();
