# SPDX-License-Identifier: Apache-2.0
"""What a page owes to readers who do not see it as others do, as a script for the page itself: names of controls and drawings, the
order of headings, headed tables, a language, and contrast of texts by the formula of WCAG 2.1 (1.4.3: 4.5, large text 3)."""

SCRIPT = r"""(function () {
  var faults = [];
  function say(element, text) {
    faults.push(text + ': ' + element.outerHTML.slice(0, 120));
  }
  function named(element) {
    return element.getAttribute('aria-label') || element.textContent.trim() || element.title || element.placeholder ||
      element.querySelector('title, [aria-label]');
  }
  function seen(element) {
    return element.getClientRects().length && getComputedStyle(element).visibility !== 'hidden';
  }
  if (!document.documentElement.lang) faults.push('no language');
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  if (document.querySelectorAll('main').length !== 1) faults.push('not one main');
  var level = 0;
  document.querySelectorAll('h1, h2, h3').forEach(function (heading) {
    if (+heading.tagName[1] > level + 1) say(heading, 'a level is left out');
    level = +heading.tagName[1];
  });
  document.querySelectorAll('a, button, input, canvas').forEach(function (control) {
    if (seen(control) && !named(control)) say(control, 'no name');
  });
  document.querySelectorAll('svg').forEach(function (drawing) {
    var role = drawing.getAttribute('role');
    if (drawing.getAttribute('aria-hidden') === 'true' || drawing.parentNode.closest('svg')) return;
    if (role !== 'img' && role !== 'group' || !drawing.getAttribute('aria-label')) say(drawing, 'a drawing without a role and a name');
    if (role === 'img' && drawing.querySelector('a')) say(drawing, 'a picture with links in it');
  });
  document.querySelectorAll('table').forEach(function (table) {
    if (!table.querySelector('thead th[scope=col]')) say(table, 'columns without headings');
  });
  document.querySelectorAll('[tabindex]').forEach(function (element) {
    if (element.tabIndex > 0) say(element, 'an order of its own');
  });

  function parse(colour) {
    var numbers = colour.match(/[\d.]+/g).map(Number);
    return numbers.length > 3 ? numbers : numbers.concat(1);
  }
  function light(colour) {
    var parts = colour.slice(0, 3).map(function (value) {
      value /= 255;
      return value <= 0.03928 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }
  function behind(element) {
    for (; element; element = element.parentElement) {
      var colour = parse(getComputedStyle(element).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  }
  var told = {};
  document.querySelectorAll('main *, header *, nav *, footer *').forEach(function (element) {
    var own = Array.from(element.childNodes).some(function (node) {
      return node.nodeType === 3 && node.textContent.trim();
    });
    if (!own || !seen(element) || element.closest('svg, [disabled]')) return;
    var style = getComputedStyle(element), size = parseFloat(style.fontSize);
    var one = light(parse(style.color)), two = light(behind(element));
    var contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    var large = size >= 24 || size >= 18.66 && +style.fontWeight >= 700, key = style.color + behind(element);
    if (contrast < (large ? 3 : 4.5) && !told[key]) {
      told[key] = true;
      say(element, 'contrast ' + contrast.toFixed(2));
    }
  });
  return faults;
})()"""
