// SPDX-License-Identifier: Apache-2.0
// Lines of the last minutes: the exporter has the history, the readings of this page continue it.
import {clean, el, setAttribute, setText} from './dom.js';

const kMost = 900;    // seconds that are kept
const kColumns = 150;  // of a line: more points share one, the highest counts
const kWidth = 300, kHeight = 24;

// Points of every line, by device and what it is of: [[time, value], ...], and times of faults by device.
const points = new Map();
const faults = new Map();
const keyOf = (device, of) => device + '\n' + of;
let span = kMost;  // seconds that are shown
let now = 0;       // of the last reading
const lines = new Set();

export function setSpan(seconds) {
  span = seconds;
  for (const line of lines) line.draw();
}

// The member "history" of a reading replaces what is known.
export function useHistory(history, time) {
  points.clear();
  faults.clear();
  for (const one of history.series) {
    const known = [];
    one.values.forEach((value, i) => {
      if (value !== null) known.push([time + history.times[i], value]);
    });
    points.set(keyOf(one.device, one.of), known);
  }
  for (const one of history.faults) addFault(one.device, one.kind, one.time);
}

export function addFault(device, kind, time) {
  const known = faults.get(device) || [];
  if (!known.some((one) => one.time === time && one.kind === kind)) known.push({kind, time});
  faults.set(device, known.slice(-64));
}

// Ends a reading: drops lines that left the page, and what was read longer ago than is shown.
export function forgetHidden() {
  for (const line of lines)
    if (!line.svg.isConnected) lines.delete(line);
  for (const [key, known] of points)
    if (!known.length || known[known.length - 1][0] < now - kMost) points.delete(key);
}

const kSvg = 'http://www.w3.org/2000/svg';
function shape(name, attributes) {
  const element = document.createElementNS(kSvg, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  return element;
}

// What is under the pointer, for all lines.
const tip = el('div', {class: 'tip', hidden: ''});
document.body.append(tip);

export class Line {
  // text: of a value, for people.
  constructor(device, of, text) {
    this.device = device;
    this.key = keyOf(device, of);
    this.text = text;
    this.stroke = shape('path', {class: 'stroke'});
    this.area = shape('path', {class: 'area'});
    this.peak = shape('path', {class: 'peak'});
    this.marks = shape('path', {class: 'mark'});
    this.at = shape('path', {class: 'at'});
    this.svg = shape('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: 'none', role: 'img'});
    this.svg.append(this.area, this.stroke, this.peak, this.marks, this.at);
    this.svg.addEventListener('pointermove', (event) => this.point(event));
    this.svg.addEventListener('pointerleave', () => this.leave());
  }
  // most: the value at the upper edge; without it, the highest of the line.
  add(time, value, most) {
    now = time;
    this.most = most;
    let known = points.get(this.key);
    if (!known) points.set(this.key, known = []);
    if (value !== undefined && (known.length === 0 || time > known[known.length - 1][0])) known.push([time, value]);
    while (known.length && known[0][0] < time - kMost) known.shift();
    lines.add(this);
    this.draw();
  }
  // One point for each column: the highest.
  shown() {
    const begin = now - span, columns = [];
    for (const [time, value] of points.get(this.key) || []) {
      if (time < begin) continue;
      const column = Math.floor((time - begin) / span * kColumns);
      const last = columns[columns.length - 1];
      if (last && last.column === column) {
        if (value > last.value) Object.assign(last, {time, value});
      } else {
        columns.push({column, time, value});
      }
    }
    return columns;
  }
  draw() {
    const shown = this.columns = this.shown();
    const high = shown.reduce((most, one) => Math.max(most, one.value), 0);
    const low = shown.reduce((least, one) => Math.min(least, one.value), high);
    const top = Math.max(this.most || 0, high) || 1;
    const x = (time) => ((time - now) / span * kWidth + kWidth).toFixed(1);
    const y = (value) => (kHeight - 1 - value / top * (kHeight - 2)).toFixed(1);
    let stroke = '', area = '', begin = 0, last, peak = '';
    const close = () => {
      if (last !== undefined) area += `L${last},${kHeight}L${begin},${kHeight}Z`;
    };
    const pause = Math.max(20, span / kColumns * 4);  // hidden, asleep, no answer
    shown.forEach((one, i) => {
      const step = x(one.time) + ',' + y(one.value);
      const gap = i === 0 || one.time - shown[i - 1].time > pause;
      if (gap) {
        close();
        begin = x(one.time);
      }
      stroke += (gap ? 'M' : 'L') + step;
      area += (gap ? 'M' : 'L') + step;
      last = x(one.time);
      if (!peak && high > 0 && one.value === high) peak = 'M' + step + 'h0';
    });
    close();
    const marks = (faults.get(this.device) || []).filter((one) => one.time > now - span && one.time <= now);
    setAttribute(this.stroke, 'd', stroke);
    setAttribute(this.area, 'd', area);
    setAttribute(this.peak, 'd', peak);
    setAttribute(this.marks, 'd', marks.map((one) => `M${x(one.time)},0V${kHeight}`).join(''));
    const minutes = span >= 120 ? 'last ' + span / 60 + ' minutes' : 'last minute';
    setAttribute(this.svg, 'aria-label', clean(minutes + ': ' + this.text(low) + ' to ' + this.text(high)));
  }
  point(event) {
    const box = this.svg.getBoundingClientRect();
    const time = now - span + (event.clientX - box.left) / box.width * span;
    let nearest;
    for (const one of this.columns)
      if (!nearest || Math.abs(one.time - time) < Math.abs(nearest.time - time)) nearest = one;
    if (!nearest) return;
    const x = (nearest.time - now) / span * kWidth + kWidth;
    setAttribute(this.at, 'd', `M${x.toFixed(1)},0V${kHeight}`);
    const near = (faults.get(this.device) || []).filter((one) => Math.abs(one.time - time) < span / 60);
    const peak = this.columns.reduce((most, one) => one.value > most.value ? one : most, nearest);
    const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString();
    setText(tip, [
      clock(nearest.time) + ' ' + this.text(nearest.value), 'peak ' + this.text(peak.value) + ' at ' + clock(peak.time),
      ...near.map((one) => one.kind.replaceAll('_', ' ') + ' at ' + clock(one.time))
    ].join(' · '));
    tip.hidden = false;
    const left = Math.min(Math.max(event.clientX - tip.offsetWidth / 2, 4), innerWidth - tip.offsetWidth - 4);
    tip.style.left = left + scrollX + 'px';
    tip.style.top = box.top + scrollY - tip.offsetHeight - 6 + 'px';
  }
  leave() {
    tip.hidden = true;
    setAttribute(this.at, 'd', '');
  }
}
