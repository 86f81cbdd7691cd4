// SPDX-License-Identifier: Apache-2.0
// One GPU: its chip in the strip, and its card.
import {
  arrange, bytes, bytesOf, celsius, classOf, clean, duration, el, hertz, kClasses, Kept, kShort, number, percent, setAttribute,
  setCut, setNumber, setParts, setText, watts, words
} from './dom.js';
import {Line} from './lines.js';

const kHigh = 0.7, kFull = 0.9;
const kRecent = 600;  // seconds for which a fault is news
const heat = (ratio) => ratio >= kFull ? ' full' : ratio >= kHigh ? ' high' : '';

// In the order of classes, numbered where a class has several: "video 1".
export function enginesOf(gpu) {
  const place = (engine) => (kClasses.indexOf(engine.class) + kClasses.length + 1) % (kClasses.length + 1);
  const gt = (engine) => engine.gt === undefined ? '' : 'gt' + engine.gt + ' ';
  const sorted = gpu.engines.slice().sort(
      (a, b) => place(a) - place(b) || (gt(a) + a.name).localeCompare(gt(b) + b.name, 'en', {numeric: true}));
  return sorted.map((one, i) => {
    const several = sorted.filter((other) => other.class === one.class);
    const number = several.length > 1 ? ' ' + several.indexOf(one) : '';
    return {
      of: 'engine ' + (one.gt === undefined ? '' : one.gt + ' ') + one.name,
      name: words(kShort[one.class] || one.class) + number,
      kernel: one.name === one.class ? 'of the visible processes' : gt(one) + one.name,
      class: one.class,
      busy: one.busy
    };
  });
}

// [{class, engines, busy}], the fullest first.
function loadsOf(engines) {
  const loads = new Map();
  for (const one of engines) {
    const load = loads.get(one.class) || {class: one.class, engines: 0, busy: 0};
    load.engines += 1;
    load.busy += one.busy;
    loads.set(one.class, load);
  }
  return [...loads.values()].sort((a, b) => b.busy / b.engines - a.busy / a.engines);
}

function freeOf(loads) {
  const load = loads.find((one) => one.class === 'video') || loads[0];
  if (!load) return '';
  const free = Math.max(0, load.engines - load.busy).toFixed(1);
  return `${free} of ${load.engines} ${words(load.class)} engine${load.engines === 1 ? '' : 's'} free`;
}

// "DG2 [Arc A770]" is Arc A770 to people.
const shortName = (gpu) => ((gpu.name || '').match(/\[(.+)\]$/) || [])[1] || gpu.name || '(unknown name)';
export const idOf = (device) => 'gpu-' + device.replace(/[^0-9a-z]/gi, '-');

// --- the strip ---

const kWords = {
  OK: 'ok',
  BUSY: 'busy',
  LIMITED: 'limited',
  'NO PERMISSION': 'lacking',
  'NO DRIVER': 'lacking',
  ASLEEP: 'asleep',
  HUNG: 'hung'
};

export class Chip {
  constructor(device) {
    this.name = el('b');
    this.word = el('span', {class: 'word'});
    this.cells = ['busy', 'power', 'temperature', 'memory'].map((name) => {
      const label = el('dt', {}, name), value = el('dd');
      return {label, value, root: el('div', {}, label, value)};
    });
    this.list = el('dl', {}, ...this.cells.map((cell) => cell.root));
    this.free = el('span', {class: 'free'});
    this.root = el('a', {class: 'chip', href: '#' + idOf(device)}, this.name, this.word, this.list, this.free);
  }
  show(gpu, now) {
    const {word, why, since} = gpu.state;
    setCut(this.name, shortName(gpu));
    const detail = word === 'LIMITED' && why ? ': ' + why : word === 'HUNG' && since ? ' ' + duration(now - since) + ' ago' : '';
    setCut(this.word, word + detail);
    setAttribute(this.root, 'class', 'chip ' + (kWords[word] || 'busy'));
    const loads = loadsOf(gpu.engines), fullest = loads[0];
    const main = (gpu.power || [])[0], temperature = mainTemperature(gpu), memory = gpu.memory;
    this.set(0, fullest ? words(kShort[fullest.class] || fullest.class) : 'busy', fullest ? percent(fullest.busy / fullest.engines) : '–',
             fullest ? heat(fullest.busy / fullest.engines) : '');
    this.set(1, 'power', !main ? '–' : main.limit ? number(main.watts) + ' / ' + watts(main.limit) : watts(main.watts),
             main && main.limit ? heat(main.watts / main.limit) : '');
    this.set(2, 'temperature', temperature ? celsius(temperature.celsius) : '–',
             temperature && temperature.limit ? heat(temperature.celsius / temperature.limit) : '');
    const shared = memory && !memory.own;
    this.set(3, 'memory',
             !memory                             ? '–' :
                 shared                          ? 'shared' :
                 memory.used === undefined       ? bytes(memory.size) :
                 memory.size === undefined       ? bytes(memory.used) :
                                                   bytesOf(memory.used, memory.size),
             memory && !shared && memory.used !== undefined ? heat(memory.used / memory.size) : '');
    const asleep = word === 'ASLEEP' ? 'Values appear when a program wakes it' : '';
    setText(this.free, asleep || (gpu.missing.length && !loads.length ? 'What grants it stands below' : freeOf(loads)));
  }
  set(i, label, value, kind) {
    setText(this.cells[i].label, label);
    setCut(this.cells[i].value, value);
    setAttribute(this.cells[i].value, 'class', kind.trim());
  }
}

// A GPU without a driver: nothing but why.
export class UnboundChip {
  constructor() {
    this.name = el('b');
    this.why = el('span', {class: 'free'});
    this.root = el('div', {class: 'chip lacking'}, this.name, el('span', {class: 'word'}, 'NO DRIVER'), this.why);
  }
  show(gpu) {
    setCut(this.name, gpu.name ? shortName(gpu) : gpu.device);
    setCut(this.why, gpu.why || words(gpu.reason));
    setAttribute(this.root, 'class', 'chip ' + (gpu.reason === 'guest' ? 'asleep' : 'lacking'));
    setText(this.root.children[1], gpu.reason === 'guest' ? 'IN A GUEST' : 'NO DRIVER');
  }
}

// --- the card ---

class Engine {
  constructor(device, of) {
    this.name = el('span', {class: 'name'});
    this.fill = el('i');
    this.bar = el('span', {class: 'bar', role: 'meter', 'aria-valuemin': '0', 'aria-valuemax': '100'}, this.fill);
    this.text = el('span', {class: 'n'});
    this.line = new Line(device, of, percent);
    this.root = el('div', {}, this.name, this.bar, this.text, this.line.svg);
  }
  show(engine, now) {
    setText(this.name, engine.name);
    setAttribute(this.name, 'title', clean(engine.kernel));
    setAttribute(this.root, 'class', 'engine ' + classOf(engine.class));
    const text = percent(engine.busy);
    this.fill.style.width = engine.busy * 100 + '%';
    setNumber(this.text, text);
    setAttribute(this.bar, 'class', 'bar' + heat(engine.busy));
    setAttribute(this.bar, 'aria-label', clean(engine.name) + ' busy');
    setAttribute(this.bar, 'aria-valuenow', (engine.busy * 100).toFixed(0));
    setAttribute(this.bar, 'aria-valuetext', text + heat(engine.busy).replace(' ', ', '));
    this.line.add(now, engine.busy, 1);
  }
}

class Tile {
  constructor(device, name) {
    this.device = device;
    this.value = el('dd', {class: 'value'});
    this.note = el('dd', {class: 'sub'});
    this.root = el('div', {}, el('dt', {}, name), this.value, this.note);
  }
  show(tile, now) {
    setNumber(this.value, tile.value);
    setParts(this.note, tile.notes);
    setAttribute(this.root, 'class', 'tile' + (tile.warn ? ' high' : ''));
    if (!tile.of) return;
    if (!this.line) {
      this.line = new Line(this.device, tile.of, tile.text);
      this.root.append(el('dd', {class: 'line'}, this.line.svg));
    }
    this.line.add(now, tile.line, tile.most);
  }
}

function powerTile(gpu) {
  const [main, ...others] = gpu.power || [];
  if (!main) return;
  const notes = main.limit ? ['limit ' + watts(main.limit)] : others.length ? [] : [main.domain];
  for (const one of others) notes.push(one.domain + ' ' + watts(one.watts));
  return {
    value: watts(main.watts),
    notes,
    warn: main.limit && main.watts >= kFull * main.limit,
    of: 'power',
    line: main.watts,
    most: main.limit,
    text: watts
  };
}

function frequencyTile(gpu) {
  const all = gpu.clocks || [];
  if (!all.length) return;
  const main = all.reduce((a, b) => b.hertz > a.hertz ? b : a);
  const reasons = gpu.throttle_reasons;
  const notes = main.limit ? ['of ' + hertz(main.limit)] : [];
  if (reasons.length) notes.unshift('held by ' + reasons.map(words).join(', '));
  if (main.hardware_limit > main.limit) notes.push('hardware ' + hertz(main.hardware_limit));
  for (const one of all)
    if (one !== main) notes.push('gt' + one.gt + ' ' + (one.hertz ? hertz(one.hertz) : 'parked'));
  return {
    value: main.hertz ? hertz(main.hertz) : 'parked',
    notes,
    warn: reasons.length > 0,
    of: 'clock',
    line: main.hertz,
    most: main.limit,
    text: hertz
  };
}

function mainTemperature(gpu) {
  const all = (gpu.temperatures || []).filter((one) => one.celsius !== undefined);
  return all.find((one) => one.sensor === 'package') || all[0];
}

function temperatureTile(gpu) {
  const main = mainTemperature(gpu);
  if (!main) return;
  const all = gpu.temperatures.filter((one) => one.celsius !== undefined);
  const notes = main.limit ? ['limit ' + celsius(main.limit)] : all.length > 1 ? [] : [main.sensor];
  const others = all.filter((one) => one !== main).sort((a, b) => b.celsius - a.celsius);
  for (const one of others.slice(0, 3)) notes.push(one.sensor + ' ' + celsius(one.celsius));
  if (others.length > 3) notes.push(others.length - 3 + ' more');
  return {
    value: celsius(main.celsius),
    notes,
    warn: all.some((one) => one.limit && one.celsius >= one.limit - 5),
    of: 'temperature',
    line: main.celsius,
    most: main.limit || 100,
    text: celsius
  };
}

function memoryTile(gpu) {
  const memory = gpu.memory;
  if (!memory) return;
  const {used, size, own} = memory;
  if (used === undefined) return {value: bytes(size), notes: [own ? 'size' : 'shared']};
  const tile = {value: bytes(used), notes: ['of the system'], of: 'memory', line: used, text: bytes};
  if (size === undefined) return tile;
  return {
    ...tile,
    notes: ['of ' + bytes(size), own ? percent(used / size) : 'shared'],
    warn: own && used >= kFull * size,
    most: size
  };
}

function fanTile(gpu) {
  const all = (gpu.fans || []).map((one) => one.rpm).filter((rpm) => rpm !== undefined);
  if (!all.length) return;
  const main = Math.max(...all);
  const others = all.filter((one, i) => i !== all.indexOf(main)).map((one) => one.toFixed(0));
  return {
    value: main ? main.toFixed(0) + ' rpm' : 'stopped',
    notes: others.length ? ['others ' + others.join(', ')] : [],
    of: 'fan',
    line: main,
    text: (rpm) => rpm.toFixed(0) + ' rpm'
  };
}

function idleTile(gpu) {
  const [first, ...others] = gpu.rc6;
  if (!first) return;
  const notes = others.map((one) => 'gt' + one.gt + ' ' + percent(one.ratio));
  return {
    value: percent(first.ratio),
    notes: notes.length ? notes : ['of the window'],
    of: 'idle',
    line: first.ratio,
    most: 1,
    text: percent
  };
}

const kTiles = {
  power: powerTile,
  frequency: frequencyTile,
  temperature: temperatureTile,
  memory: memoryTile,
  fan: fanTile,
  'idle (RC6)': idleTile
};

function pcieOf({pcie}) {
  if (!pcie) return '';
  const generation = {2.5: '1.0', 5: '2.0', 8: '3.0', 16: '4.0', 32: '5.0', 64: '6.0'}[pcie.transfers_per_second / 1e9];
  const lanes = pcie.lanes + (pcie.slot_lanes > pcie.lanes ? ' of x' + pcie.slot_lanes : '');
  return 'PCIe ' + (generation || pcie.transfers_per_second / 1e9 + ' GT/s') + ' x' + lanes;
}

export class Card {
  constructor(device) {
    const id = idOf(device);
    this.device = device;
    this.name = el('h3', {});
    this.id = el('span', {class: 'dim'});
    this.about = el('p', {class: 'sub'});
    this.note = el('p', {class: 'dim'});
    this.list = el('div', {class: 'engines'});
    this.tiles = el('dl', {class: 'tiles'});
    this.more = el('dl', {class: 'rest'});
    this.rest = el('details', {}, el('summary', {}, 'More values'), this.more);
    this.engine = new Kept((of) => new Engine(device, of));
    this.tile = new Kept((name) => new Tile(device, name));
    this.root = el(
        'section', {class: 'gpu', id, tabindex: '-1'}, el('header', {}, this.name, this.id), this.about, this.note, this.list,
        this.tiles, this.rest);
  }

  show(gpu, now) {
    this.title = shortName(gpu);
    setCut(this.name, this.title);
    setAttribute(this.root, 'aria-label', this.title + (gpu.card ? ' ' + gpu.card : ''));
    setText(this.id, gpu.card || '');
    setParts(this.about, [gpu.kind, gpu.driver, gpu.device, pcieOf(gpu), gpu.render_node].filter(Boolean));

    const engines = enginesOf(gpu);
    const tiles = this.tilesOf(gpu, now);
    const notes = [];
    if (!engines.length && !tiles.length)
      notes.push(
          gpu.suspended ? 'Asleep. Values appear when a program wakes it.' :
                          'None of its values can be read here; what to do about it stands on this page.');
    if (gpu.engines.some((engine) => engine.of_processes)) notes.push('Engine time is that of the visible processes only.');
    const dropped = gpu.processes_dropped || 0;
    if (dropped) notes.push(dropped + ' smaller processes have no row (--collector.fdinfo.max-processes).');
    setText(this.note, notes.join(' '));
    this.note.hidden = notes.length === 0;
    this.engine.begin();
    arrange(this.list, engines.map((engine) => {
      const row = this.engine.get(engine.of);
      row.show(engine, now);
      return row.root;
    }));
    this.engine.end();
    arrange(this.tiles, tiles);
    arrange(this.more, gpu.more.flatMap((section, i) => {
      const rows = section.rows.map((row) => row.name + ' ' + row.value).join(' · ');
      const name = this.more.children[2 * i] || el('dt'), value = this.more.children[2 * i + 1] || el('dd');
      setText(name, words(section.title));
      setText(value, rows);
      return [name, value];
    }));
    this.rest.hidden = gpu.more.length === 0;
  }

  tilesOf(gpu, now) {
    const tiles = [];
    this.tile.begin();
    for (const name in kTiles) {
      const shown = kTiles[name](gpu);
      if (!shown) continue;
      const tile = this.tile.get(name);
      tile.show(shown, now);
      tiles.push(tile.root);
    }
    this.tile.end();
    return tiles;
  }
}

// An NPU as a GPU with one engine, of which less is known.
export function gpuOfNpu(npu) {
  const list = (value, row) => value === undefined ? [] : [row];
  return {
    device: npu.device,
    name: npu.name || 'NPU',
    kind: 'NPU',
    state: {word: npu.suspended ? 'ASLEEP' : npu.busy >= kFull ? 'BUSY' : 'OK'},
    suspended: npu.suspended,
    engines: list(npu.busy, {name: 'npu', class: 'compute', busy: npu.busy}),
    power: list(npu.watts, {domain: '', watts: npu.watts}),
    clocks: list(npu.hertz, {hertz: npu.hertz, limit: npu.limit}),
    temperatures: list(npu.celsius, {sensor: '', celsius: npu.celsius}),
    fans: [],
    memory: npu.memory === undefined ? undefined : {used: npu.memory},
    rc6: [],
    processes: [],
    workloads: [],
    functions: [],
    throttle_reasons: [],
    faults: [],
    hangs: [],
    hang_causes: [],
    more: npu.more,
    missing: []
  };
}

// --- faults ---

const kOutOfService = {
  wedged: ' is wedged: the driver gave it up, and nothing runs on it until it is reset or the machine restarts.',
  'in survivability mode': ' is in survivability mode: only its firmware can be updated.'
};

// What went wrong with a GPU, the worst first: [what, details].
export function faultsOf(gpu, now) {
  const name = shortName(gpu), faults = [];
  if (gpu.out_of_service) faults.push([name + (kOutOfService[gpu.out_of_service] || ' is ' + gpu.out_of_service + '.'), '']);
  const times = new Map(gpu.faults.map((one) => [one.kind, one.time]));
  // Whoever hears the page is not told every second.
  const since = (time) => now - time < 90 ? 'less than two minutes ago' : duration(now - time) + ' ago';
  const causes = gpu.hang_causes.filter((one) => one.hangs > 0)
                     .sort((a, b) => b.hangs - a.hangs)
                     .slice(0, 3)
                     .map((one) => one.comm + ', PID ' + one.pid);
  for (const one of gpu.hangs.filter((one) => one.count > 0)) {
    const when = times.has(one.kind) ? ' ' + since(times.get(one.kind)) : '';
    const what = name + ': ' + words(one.kind || 'hang') + (one.class ? ' of ' + words(one.class) : '') + when;
    const by = causes.length ? '(' + causes.join('; ') + '). ' : '';
    faults.push([what, by + one.count + (one.count === 1 ? ' time' : ' times') + ' since the exporter started.']);
  }
  const counted = new Set(gpu.hangs.filter((one) => one.count > 0).map((one) => one.kind));
  for (const one of gpu.faults)  // what the log tells, and no counter
    if (!counted.has(one.kind) && now - one.time < kRecent) faults.push([name + ': ' + words(one.kind) + ' ' + since(one.time), '']);
  if (gpu.resets) faults.push([name + ': ' + gpu.resets + ' resets of the whole GPU since the exporter started.', '']);
  if (gpu.uncorrectable_pcie_errors)
    faults.push([name + ': ' + gpu.uncorrectable_pcie_errors + ' uncorrectable PCIe errors.', '']);
  if (gpu.hang_captured)
    faults.push([name + ': the kernel holds the record of a GPU hang (error_state); it may be older than the exporter.', '']);
  return faults;
}
