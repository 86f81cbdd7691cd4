// SPDX-License-Identifier: Apache-2.0
// Elements, and numbers as text. Everything from outside becomes text nodes and attributes, never markup.

// A process may call itself anything: what hides or turns text becomes '?'.
const kUnsafe = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
export const clean = (text) => String(text).replace(kUnsafe, '?');

// el('p', {class: 'about'}, 'text', child, ...)
export function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  element.append(...children.map((child) => typeof child === 'string' ? clean(child) : child));
  return element;
}

export function setText(element, text) {
  text = clean(text);
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// Text that the style sheet cuts off if it is long.
export function setCut(element, text) {
  setText(element, text);
  setAttribute(element, 'title', clean(text));
}

// Parts of which the style sheet shows those that fit.
export function setParts(element, parts) {
  if (element.title === parts.join(' · ')) return;
  setAttribute(element, 'title', clean(parts.join(' · ')));
  element.replaceChildren(...parts.map((part) => el('span', {}, part)));
}

// A number with a small unit: "108 W".
export function setNumber(element, text) {
  if (element.shown === text) return;
  element.shown = text;
  const space = text.lastIndexOf(' ');
  if (space < 0)
    element.replaceChildren(clean(text));
  else
    element.replaceChildren(clean(text.slice(0, space)), el('small', {}, text.slice(space)));
}

// Puts the children in this order, without touching those that are in place.
export function arrange(parent, children) {
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] || null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

// What was made for a key, kept until a round passes without it.
export class Kept {
  constructor(make) {
    this.make = make;
    this.items = new Map();
  }
  get(key, ...given) {
    let item = this.items.get(key);
    if (!item) this.items.set(key, item = this.make(key, ...given));
    item.round = this.round;
    return item;
  }
  begin() {
    this.round = {};
  }
  end() {
    for (const [key, item] of this.items)
      if (item.round !== this.round) this.items.delete(key);
  }
}

// --- numbers ---

const kUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
function scaled(value) {
  let unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.length; ++unit) value /= 1024;
  return [value.toFixed(unit === 0 || value >= 100 || value === Math.round(value) ? 0 : 1), kUnits[unit]];
}
export const bytes = (value) => scaled(value).join(' ');
// "7.3 / 16 GiB"
export function bytesOf(used, size) {
  const [value, unit] = scaled(size);
  return (used / 1024 ** kUnits.indexOf(unit)).toFixed(1) + ' / ' + value + ' ' + unit;
}
export const kIdle = 0.0005;  // shown as 0 %
export const percent = (ratio) => (ratio * 100).toFixed(ratio >= 0.0995 || ratio < kIdle ? 0 : 1) + ' %';
export const number = (value) => value.toFixed(value >= 99.5 ? 0 : 1);
export const watts = (value) => number(value) + ' W';
export const hertz = (value) => value >= 1e9 ? (value / 1e9).toFixed(2) + ' GHz' : (value / 1e6).toFixed(0) + ' MHz';
export const celsius = (degrees) => degrees.toFixed(0) + ' °C';
export const words = (name) => name.replaceAll('_', ' ');
export const sum = (list) => list.reduce((total, one) => total + one, 0);

export function duration(seconds) {
  if (seconds < 90) return Math.max(0, Math.round(seconds)) + ' s';
  if (seconds < 5400) return Math.round(seconds / 60) + ' min';
  return seconds < 129600 ? Math.round(seconds / 3600) + ' h' : Math.round(seconds / 86400) + ' d';
}

// Engine classes in the order of docs/words.md.
export const kClasses = ['render', 'copy', 'video', 'video_enhance', 'compute'];
export const kShort = {video_enhance: 'enhance'};
export const classOf = (name) => kClasses.includes(name) ? name : 'other';
