// SPDX-License-Identifier: Apache-2.0
// Which frames a view leaves out until they are asked for: the kernel's, what a language does before a program's own code, and all
// but one of those without a name that stand on each other.
(function () {
  'use strict';
  var STYLE = window.wakepath.palette.STYLE, KERNEL = '[kernel]', START = '[start-up]', DEFAULTS = [KERNEL, START];

  // The C library, loaders, CPython, Go, Rust, Node, the JVM; the longest list of names is in reporter/facts/stack_ends.c.
  var START_UP = new RegExp('^(?:' + ['_start', '_dl_start(?:_user|_final)?', '(?:__GI_*)?(?:__)?clone3?', 'start_thread', 'thread_start',
    '(?:__)?libc_start_(?:call_)?main.*', 'generic_start_main.*', 'ret_from_fork(?:_asm)?', '_rt0_\\w+', 'rt0_go(?:\\.abi0)?',
    'runtime\\.(?:main|goexit|mstart[01]?|mcall|morestack|clone|systemstack|rt0_go|asmcgocall)(?:\\.abi0)?',
    'Py_BytesMain', 'Py_RunMain', 'pymain_\\w+', '_?PyRun_\\w+', 'pyrun_\\w+', 'run_mod', 'run_eval_code_obj', 'PyEval_EvalCode',
    'pythread_wrapper', 'thread_run', 't_bootstrap', '(?:Thread\\.)?_bootstrap(?:_inner)?', '_run_module_as_main', 'std::rt::lang_start.*', 'std::sys(?:_common)?::backtrace::__rust_begin_short_backtrace.*',
    'core::ops::function::FnOnce::call_once.*', 'node::(?:Start|LoadEnvironment|SpinEventLoop|NodeMainInstance).*',
    'JavaMain', 'ThreadJavaMain', 'thread_native_entry', 'call_start_thread'].join('|') + ')$');

  function objectOf(frame) {
    return frame[0] === STYLE.KERNEL ? KERNEL : frame[0] === STYLE.USER ? frame[2] : '';
  }

  // An interpreter's own code is left out where it stands on what it interprets, whose object is a source file.
  var INTERPRETER = /(?:^|\/)(?:lib)?(?:python|ruby|perl|php(?:-fpm|-cgi)?)[-\d.]*(?:\.so[\d.]*)?$/, isScript = window.wakepath.palette.isScript;

  function isNameless(frame) {
    return frame[0] === STYLE.USER && frame[1][0] === '[';
  }

  function isSame(frame, other) {
    return frame === other || frame[0] === other[0] && frame[1] === other[1] && frame[2] === other[2];
  }

  // rule(frame, below): whether a frame is left out that stands on `below`, the nearest that is kept (null: on the ground). Frames
  // are [style, name, object]; `hidden` has object files, KERNEL and START.
  function rule(hidden) {
    var gone = new Set(hidden), start = gone.has(START);
    return function (frame, below) {
      if (gone.has(objectOf(frame))) return true;
      if (!start || frame[0] !== STYLE.USER) return false;
      if (below && isScript(below) && INTERPRETER.test(frame[2])) return true;
      if (isNameless(frame)) return Boolean(below) && isSame(frame, below);
      return (!below || below[0] === STYLE.PROCESS) && START_UP.test(frame[1]);
    };
  }

  var GONE = 1, STARTS = 2, NAMELESS = 3, RUNTIME = 4, PROCESS = 5, SCRIPT = 6;

  // By number of a frame what rule() asks of it; null: none of them is ever left out.
  function kinds(frames, hidden) {
    var gone = new Set(hidden), start = gone.has(START), any = false;
    var found = Uint8Array.from(frames, function (frame) {
      var kind = gone.has(objectOf(frame)) ? GONE : frame[0] === STYLE.PROCESS ? PROCESS : !start || frame[0] !== STYLE.USER ? 0
        : isNameless(frame) ? NAMELESS : isScript(frame) ? START_UP.test(frame[1]) ? STARTS : SCRIPT
          : START_UP.test(frame[1]) ? STARTS : INTERPRETER.test(frame[2]) ? RUNTIME : 0;
      any = any || kind > 0 && kind < PROCESS;
      return kind;
    });
    return any ? found : null;
  }

  // By node of a tree in which parents come first, frames by number: the node itself, or where it is left out the nearest kept one
  // that it stands on; null: none is left out. Nodes up to the depth `spared` are kept, since they were asked for by name.
  function mark(tree, hidden, spared) {
    var kind = kinds(tree.frames, hidden), count = tree.parent.length, base = new Int32Array(count), found = 0;
    for (var i = 1; kind && i < count; i++) {
      var below = base[tree.parent[i]], frame = tree.frame[i], own = kind[frame];
      var gone = own === GONE || own === STARTS && (!below || kind[tree.frame[below]] === PROCESS) ||
        own === NAMELESS && below > 0 && tree.frame[below] === frame ||
        own >= STARTS && own <= RUNTIME && below > 0 && kind[tree.frame[below]] === SCRIPT && INTERPRETER.test(tree.frames[frame][2]);
      if (gone && spared && tree.depth[i] <= spared) gone = false;
      base[i] = gone ? below : i;
      found += gone;
    }
    return found ? base : null;
  }

  // Switches for what is left out unless asked for; set(hidden) is called when one is used.
  function Switches(bar, set) {
    var self = this, view = window.wakepath.view;
    this.hidden = DEFAULTS.slice();
    this.buttons = [['Kernel', 'Show the functions of the kernel; otherwise their time counts for who called them', KERNEL],
      ['Start-up', 'Show what runs before the program’s own code, an interpreter’s own functions, and each frame without a name', START]].map(function (one) {
      return view.toggle(bar, one[0], one[1], false, function (on) {
        self.hidden = self.hidden.filter(function (object) {
          return object !== one[2];
        }).concat(on ? [] : [one[2]]);
        set(self.hidden);
      });
    });
  }

  Switches.prototype.show = function (hidden) {
    this.hidden = hidden;
    this.buttons.forEach(function (button, i) {
      button.setAttribute('aria-pressed', String(hidden.indexOf(DEFAULTS[i]) < 0));
    });
  };

  // For the address: what is shown of the defaults, and what is left out besides. `defaults`: those of the view.
  function state(hidden, defaults) {
    return {show: defaults.filter(function (object) {
      return hidden.indexOf(object) < 0;
    }).join('|'), hide: hidden.filter(function (object) {
      return defaults.indexOf(object) < 0;
    }).join('|')};
  }

  function restore(address, defaults) {
    var shown = address.show ? address.show.split('|') : [], more = address.hide ? address.hide.split('|') : [];
    return defaults.filter(function (object) {
      return shown.indexOf(object) < 0;
    }).concat(more.filter(function (object) {
      return defaults.indexOf(object) < 0;
    }));
  }

  window.wakepath.folding = {KERNEL: KERNEL, START: START, DEFAULTS: DEFAULTS, objectOf: objectOf, rule: rule, mark: mark, Switches: Switches,
    state: state, restore: restore};
})();
