// SPDX-License-Identifier: Apache-2.0
// Which object files a flame leaves out: the kernel, or any library; what ran there counts for who called it.
(function () {
  'use strict';
  var wakepath = window.wakepath, view = wakepath.view, models = wakepath.flameModel, STYLE = wakepath.palette.STYLE;
  var KERNEL = '[kernel]';

  function objectOf(frame) {
    return frame[0] === STYLE.KERNEL ? KERNEL : frame[0] === STYLE.USER ? frame[2] : '';
  }

  function Folds(flame, bar) {
    var self = this;
    this.flame = flame;
    this.objects = [];
    this.kernel = view.toggle(bar, 'Kernel', 'Show the functions of the kernel', true, function (on) {
      self.set(on ? self.others(KERNEL) : self.objects.concat(KERNEL));
    });
    this.fold = view.button(bar, 'Fold module', 'Leave out all functions of the zoomed one’s module', function () {
      self.set(self.objects.concat(self.candidate()));
    });
  }

  Folds.prototype.others = function (object) {
    return this.objects.filter(function (one) {
      return one !== object;
    });
  };

  // The file of the zoomed function, when it has one that is not the kernel's.
  Folds.prototype.candidate = function () {
    var flame = this.flame, frame = flame.zoom ? flame.model.frames[flame.model.frame[flame.zoom]] : null;
    var object = frame ? objectOf(frame) : '';
    return object === KERNEL ? '' : object;
  };

  Folds.prototype.set = function (objects) {
    this.objects = objects;
    this.kernel.setAttribute('aria-pressed', String(objects.indexOf(KERNEL) < 0));
    this.flame.refold();
    this.flame.toHash();
  };

  Folds.prototype.apply = function (model) {
    var gone = new Set(this.objects), frames = model.frames;
    if (!gone.size) return model;
    return models.without(model, function (frame) {
      return gone.has(objectOf(frames[frame]));
    });
  };

  // Buttons that unfold, behind the trail.
  Folds.prototype.show = function (trail) {
    var self = this;
    this.fold.disabled = !this.candidate();
    this.others(KERNEL).forEach(function (object) {
      trail.appendChild(document.createTextNode('  without '));
      view.button(trail, object + ' ×', 'Show its functions again', function () {
        self.set(self.others(object));
      }).className = 'step';
    });
  };

  Folds.prototype.state = function () {
    return {hide: this.objects.join('|')};
  };

  Folds.prototype.restore = function (state) {
    this.objects = state.hide ? state.hide.split('|') : [];
    this.kernel.setAttribute('aria-pressed', String(this.objects.indexOf(KERNEL) < 0));
  };

  wakepath.FlameFolds = Folds;
})();
