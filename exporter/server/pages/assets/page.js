// SPDX-License-Identifier: Apache-2.0
// Makes the page live: reads api/v1/snapshot?view=page while the tab is visible, the first time with the history, and
// api/v1/doctor when the missing features change. The exporter's own model decides what counts; this only draws it.
import {arrange, el, kClasses, Kept, setAttribute, setText, sum, watts} from './dom.js';
import {addCopyButtons, showDoctor} from './doctor.js';
import {Card, Chip, faultsOf, gpuOfNpu, UnboundChip} from './gpu.js';
import {addFault, forgetHidden, setSpan, useHistory} from './lines.js';
import {Channels, Users, usersOf} from './users.js';

const kPeriod = 1000;     // ms between two readings
const kMostWait = 15000;  // ms between two attempts while there is no answer
const kTimeout = 12000;   // ms for one answer
const kNoConnection = 'no connection';
const kSpans = [['15 min', 900], ['1 min', 60]];

const status = document.getElementById('status');
const still = document.getElementById('still');
const todo = document.getElementById('todo');
const strip = el('section', {class: 'strip', 'aria-label': 'GPUs at a glance'});
const faults = el('div', {class: 'faults', 'aria-live': 'polite'});
const live = el('section', {class: 'gpus', 'aria-labelledby': 'gpus-title'});
const channels = new Channels();
const users = new Users();
const chips = new Kept((device) => new Chip(device));
const unboundChips = new Kept(() => new UnboundChip());
const cards = new Kept((device) => new Card(device));
let missing;       // features that are missing, as text
let diagnose = 0;  // after so many readings the doctor is asked: its answer may be as old as theirs
let timer = 0;     // of the next reading
let under_way;     // AbortController of the one that is under way
let failures = 0;
let has_history = false;

function faultBox([what, details], i, flights) {
  const box = faults.children[i] || el('p', {class: 'fault'}, el('strong'), el('span'), el('a', {href: 'api/v1/flights', hidden: ''}, 'What happened before it'));
  setText(box.children[0], what);
  setText(box.children[1], details);
  box.children[2].hidden = !flights;
  return box;
}

// First what somebody can act on; that all is well, last.
function placeToDo() {
  const lacks = !todo.querySelector('.ok') && todo.children.length > 1;
  const before = lacks ? live : still;
  if (todo.nextElementSibling !== before) before.before(todo);
}

function counted(count, one, several) {
  return count === 1 ? '1 ' + one : count + ' ' + several;
}

function showSummary(reading) {
  const parts = [];
  if (reading.gpus.length || !reading.npus.length) parts.push(counted(reading.gpus.length, 'GPU', 'GPUs'));
  if (reading.npus.length) parts.push(counted(reading.npus.length, 'NPU', 'NPUs'));
  if ((reading.channels || []).length) parts.push(counted(reading.channels.length, 'channel', 'channels'));
  const processes = sum(reading.gpus.map((gpu) => gpu.process_count || 0));
  if (processes) parts.push(counted(processes, 'process', 'processes'));
  const power = sum(reading.gpus.map((gpu) => gpu.power && gpu.power.length ? gpu.power[0].watts : 0));
  if (power) parts.push(watts(power));
  setText(document.getElementById('summary'), parts.join(' · '));
}

function show(reading) {
  const now = reading.time, gpus = [...reading.gpus, ...reading.npus.map(gpuOfNpu)];
  if (reading.history) useHistory(reading.history, now);
  for (const gpu of gpus)
    for (const fault of gpu.faults) addFault(gpu.device, fault.kind, fault.time);
  for (const kept of [chips, unboundChips, cards]) kept.begin();
  const drawn = (kept, rows) => rows.map((row) => {
    const one = kept.get(row.device);
    one.show(row, now);
    return one.root;
  });
  arrange(strip, [...drawn(chips, gpus), ...drawn(unboundChips, reading.unbound || [])]);
  arrange(live, [live.firstElementChild, ...drawn(cards, gpus)]);
  for (const kept of [chips, unboundChips, cards]) kept.end();
  const found = gpus.flatMap((gpu) => faultsOf(gpu, now));
  arrange(faults, found.map((fault, i) => faultBox(fault, i, reading.flights)));
  channels.show(reading.channels || [], now);
  const classes = new Set(gpus.flatMap((gpu) => [...gpu.engines.map((one) => one.class), ...(gpu.functions.flatMap((one) => Object.keys(one.busy)))]));
  users.show(usersOf(reading), kClasses.filter((name) => classes.has(name)), now);
  still.hidden = true;
  showSummary(reading);
  forgetHidden();

  const lacking = [...reading.missing];
  for (const gpu of reading.gpus) lacking.push(...gpu.missing.map((feature) => gpu.device + feature));
  lacking.push(...(reading.unbound || []).map((gpu) => gpu.device + gpu.reason));
  const text = gpus.length + ' ' + lacking.sort().join();
  if (missing !== undefined && missing !== text) diagnose = 4;
  missing = text;
}

async function read(what) {
  const response = await fetch('api/v1/' + what, {cache: 'no-store', signal: under_way.signal}).catch((error) => {
    throw error instanceof TypeError ? new Error(kNoConnection) : error;
  });
  if (!response.ok) throw new Error('it answers ' + response.status + ' ' + (await response.text()).trim().slice(0, 200));
  return response.json();
}

function say(text) {
  setText(status, text);
  status.hidden = text === '';
}

async function poll() {
  timer = 0;
  const controller = under_way = new AbortController();
  const limit = setTimeout(() => controller.abort(), kTimeout);
  try {
    const reading = await read('snapshot?view=page' + (has_history ? '' : '&history=1'));
    if (reading.version !== 1) throw new Error('it was updated: reload this page');
    show(reading);
    has_history = true;
    failures = 0;
    say('');
    if (diagnose > 1) {
      --diagnose;
    } else if (diagnose === 1) {
      showDoctor(todo, await read('doctor'));
      placeToDo();
      diagnose = 0;
    }
  } catch (error) {
    if (under_way !== controller) return;  // hidden meanwhile
    ++failures;
    has_history = false;  // the exporter has what this page misses
    const why = controller.signal.aborted ? 'no answer in time' : error.message;
    if (failures > 1 || why !== kNoConnection) say('These values are old: ' + why + '. It is asked again.');
  } finally {
    clearTimeout(limit);
    if (under_way === controller) {
      under_way = undefined;
      schedule(failures === 0 ? kPeriod : Math.min(kMostWait, kPeriod * 2 ** failures));
    }
  }
}

function schedule(pause) {
  clearTimeout(timer);
  timer = document.hidden ? 0 : setTimeout(poll, pause);
}

// A hidden tab asks for nothing.
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  timer = 0;
  if (document.hidden) {
    const controller = under_way;
    under_way = undefined;
    has_history = false;
    if (controller) controller.abort();
  } else if (!under_way) {
    failures = 0;
    poll();
  }
});

function addSpans() {
  const buttons = kSpans.map(([text, seconds], i) => {
    const button = el('button', {type: 'button', 'aria-pressed': String(i === 0)}, text);
    button.addEventListener('click', () => {
      buttons.forEach((one) => setAttribute(one, 'aria-pressed', String(one === button)));
      setText(channels.span, text);
      setSpan(seconds);
    });
    return button;
  });
  document.querySelector('nav').before(el('div', {class: 'range', role: 'group', 'aria-label': 'Lines of the last'}, ...buttons));
}

// "/" begins to filter, as in other lists.
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  users.filter.focus();
});

live.append(el('h2', {id: 'gpus-title', class: 'unseen'}, 'GPUs'));
still.before(strip, faults, live, el('div', {class: 'two'}, channels.root, users.root));
channels.root.hidden = users.root.hidden = true;
addSpans();
placeToDo();
addCopyButtons(todo);
if (!document.hidden) poll();
