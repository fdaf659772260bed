// SPDX-License-Identifier: Apache-2.0
// What a flame leaves out: the kernel and what starts a program unless they are asked for, and any object file on demand. The time
// of what is left out counts for who called it.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, models = wakepath.flameModel, folding = wakepath.folding;

  // `defaults`: what is left out of that view at first (folding.DEFAULTS, or nothing where figures must be whole).
  function Folds(flame, bar, defaults) {
    var self = this;
    this.flame = flame;
    this.defaults = defaults;
    this.switches = new folding.Switches(bar, function (hidden) {
      self.set(hidden);
    });
    this.kernel = this.switches.buttons[0];
    this.startUp = this.switches.buttons[1];
    this.fold = view.button(bar, 'Fold module', 'Leave out all functions of the zoomed one’s module', function () {
      self.set(self.objects.concat(self.candidate()));
    });
    this.keep(defaults.slice());
  }

  Folds.prototype.keep = function (objects) {
    this.objects = objects;
    this.switches.show(objects);
  };

  Folds.prototype.others = function (object) {
    return this.objects.filter(function (one) {
      return one !== object;
    });
  };

  // The file of the zoomed function, when it has one that is not the kernel's.
  Folds.prototype.candidate = function () {
    var flame = this.flame, frame = flame.zoom ? flame.model.frames[flame.model.frame[flame.zoom]] : null;
    var object = frame ? folding.objectOf(frame) : '';
    return object === folding.KERNEL ? '' : object;
  };

  Folds.prototype.set = function (objects) {
    this.keep(objects);
    this.flame.refold();
    this.flame.toHash(true);
  };

  // `spared`: up to this depth frames are kept, whatever they are.
  Folds.prototype.apply = function (model, spared) {
    return this.objects.length ? models.fold(model, this.objects, spared) : model;
  };

  // Buttons that unfold, behind the trail.
  Folds.prototype.show = function (trail) {
    var self = this;
    this.fold.disabled = !this.candidate();
    this.objects.forEach(function (object) {
      if (folding.DEFAULTS.indexOf(object) >= 0) return;
      trail.appendChild(document.createTextNode('  without '));
      view.button(trail, object + ' ×', 'Show its functions again', function () {
        self.set(self.others(object));
      }).className = 'step';
    });
  };

  Folds.prototype.state = function () {
    return folding.state(this.objects, this.defaults);
  };

  Folds.prototype.restore = function (state) {
    this.keep(folding.restore(state, this.defaults));
  };

  wakepath.FlameFolds = Folds;
})();
