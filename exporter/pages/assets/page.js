// SPDX-License-Identifier: Apache-2.0
// Makes the page live: reads api/v1/snapshot?view=page while the tab is visible, and api/v1/doctor when the missing
// features change. The exporter's own model decides what counts; this only draws it. Everything from outside becomes text nodes and attributes, never markup.
'use strict';

(() => {
  const kPeriod = 1000;     // ms between two readings
  const kMostWait = 15000;  // ms between two attempts while there is no answer
  const kTimeout = 12000;   // ms for one answer
  const kHistory = 300;     // seconds of the lines
  const kRows = 10;         // of a table, unless all are asked for
  const kClasses = ['render', 'copy', 'video', 'video_enhance', 'compute'];  // as in docs/words.md
  const kIdle = 0.0005;  // shown as 0.0 %

  // --- elements ---

  // A process may call itself anything: what hides or turns text becomes '?'.
  const kUnsafe = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  const clean = (text) => String(text).replace(kUnsafe, '?');

  // el('p', {class: 'about'}, 'text', child, ...)
  function el(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    element.append(...children.map((child) => typeof child === 'string' ? clean(child) : child));
    return element;
  }

  function setText(element, text) {
    text = clean(text);
    if (element.textContent !== text) element.textContent = text;
  }

  function setAttribute(element, name, value) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }

  // Puts the children in this order, without touching those that are in place.
  function arrange(parent, children) {
    children.forEach((child, i) => {
      if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] || null);
    });
    while (parent.children.length > children.length) parent.lastElementChild.remove();
  }

  // What was made for a key, kept until a round passes without it.
  class Kept {
    constructor(make) {
      this.make = make;
      this.items = new Map();
    }
    get(key) {
      let item = this.items.get(key);
      if (!item) this.items.set(key, item = this.make(key));
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
  function bytes(value) {
    let unit = 0;
    for (; value >= 1024 && unit + 1 < kUnits.length; ++unit) value /= 1024;
    return value.toFixed(unit === 0 || value >= 100 ? 0 : 1) + ' ' + kUnits[unit];
  }
  const percent = (ratio) => (ratio * 100).toFixed(ratio >= 0.0995 || ratio < kIdle ? 0 : 1) + '\u00a0%';
  const watts = (value) => value.toFixed(value >= 99.5 ? 0 : 1) + ' W';
  const hertz = (value) => value >= 1e9 ? (value / 1e9).toFixed(2) + ' GHz' : (value / 1e6).toFixed(0) + ' MHz';
  const celsius = (degrees) => degrees.toFixed(0) + ' °C';
  const words = (name) => name.replaceAll('_', ' ');

  function ago(seconds) {
    if (seconds < 90) return Math.max(0, Math.round(seconds)) + ' s ago';
    if (seconds < 5400) return Math.round(seconds / 60) + ' min ago';
    return seconds < 129600 ? Math.round(seconds / 3600) + ' h ago' : Math.round(seconds / 86400) + ' days ago';
  }

  // --- a reading ---

  const sum = (list) => list.reduce((total, one) => total + one, 0);

  function enginesOf(gpu) {
    const several = new Set(gpu.engines.map((one) => one.gt)).size > 1;
    const engines = gpu.engines.map((one) => ({
                                      name: (several && one.gt !== undefined ? 'gt' + one.gt + ' ' : '') + one.name,
                                      class: one.class,
                                      busy: one.busy
                                    }));
    const place = (engine) => (kClasses.indexOf(engine.class) + kClasses.length + 1) % (kClasses.length + 1);
    return engines.sort((a, b) => place(a) - place(b) || a.name.localeCompare(b.name, 'en', {numeric: true}));
  }

  // Rows of "who uses it", with the sum of their shares.
  function usersOf(list, id) {
    return list.map((one) => ({...one, id: id(one), total: sum(Object.values(one.busy))}));
  }

  // An NPU as a GPU with one engine, of which less is known.
  function gpuOfNpu(npu) {
    const list = (value, row) => value === undefined ? [] : [row];
    return {
      device: npu.device,
      name: npu.name || 'NPU',
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

  // --- lines of the last minutes ---

  class Line {
    constructor(text) {
      this.text = text;  // of a value, for those who do not see the line
      this.points = [];
      this.stroke = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      this.area = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      this.svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      this.svg.setAttribute('viewBox', '0 0 300 24');
      this.svg.setAttribute('preserveAspectRatio', 'none');
      this.svg.setAttribute('role', 'img');
      this.svg.append(this.stroke, this.area);
    }
    // most: the value at the upper edge; without it, the highest of the line.
    add(now, value, most) {
      const points = this.points;
      if (points.length === 0 || now > points[points.length - 1][0]) points.push([now, value]);
      while (points[0][0] < now - kHistory) points.shift();
      let low = Infinity, high = -Infinity;
      for (const point of points) {
        low = Math.min(low, point[1]);
        high = Math.max(high, point[1]);
      }
      const top = Math.max(most || 0, high) || 1;
      let stroke = '', area = '', begin = 0, last;
      const close = () => {
        if (last !== undefined) area += 'L' + last + ',24L' + begin + ',24Z';
      };
      points.forEach(([time, y], i) => {
        const x = ((time - now) / kHistory * 300 + 300).toFixed(1);
        const step = x + ',' + (23 - y / top * 22).toFixed(1);
        const gap = i === 0 || time - points[i - 1][0] > 10;  // hidden, or no answer
        if (gap) {
          close();
          begin = x;
        }
        stroke += (gap ? 'M' : 'L') + step;
        area += (gap ? 'M' : 'L') + step;
        last = x;
      });
      close();
      this.stroke.setAttribute('d', stroke);
      this.area.setAttribute('d', area);
      setAttribute(this.svg, 'aria-label', 'last five minutes: ' + this.text(low) + ' to ' + this.text(high));
    }
  }

  // --- one GPU ---

  class Engine {
    constructor() {
      this.name = el('b');
      this.class = el('span', {class: 'class dim'});
      this.fill = el('i');
      this.bar = el('div', {class: 'bar', role: 'meter', 'aria-valuemin': '0', 'aria-valuemax': '100'}, this.fill);
      this.text = el('span', {class: 'n'});
      this.line = new Line(percent);
      this.root = el('div', {class: 'engine'}, this.name, this.class, this.bar, this.text, this.line.svg);
    }
    show(engine, now) {
      const one = engine.name !== engine.class;  // otherwise all of the class together, as the processes used them
      setText(this.name, one ? engine.name : words(engine.name));
      setText(this.class, one ? words(engine.class) : 'of processes');
      setAttribute(this.root, 'class', 'engine ' + (kClasses.includes(engine.class) ? engine.class : 'other'));
      const text = percent(engine.busy);
      this.fill.style.width = engine.busy * 100 + '%';
      setText(this.text, text);
      setAttribute(this.bar, 'aria-label', (one ? engine.name + ' ' : '') + words(engine.class) + ' busy');
      setAttribute(this.bar, 'aria-valuenow', (engine.busy * 100).toFixed(0));
      setAttribute(this.bar, 'aria-valuetext', text);
      this.line.add(now, engine.busy, 1);
    }
  }

  class Tile {
    constructor(name) {
      this.value = el('dd', {class: 'v'});
      this.note = el('dd', {class: 'why'});
      this.root = el('div', {}, el('dt', {}, name), this.value, this.note);
    }
    show(tile, now) {
      setText(this.value, tile.value);
      setText(this.note, tile.note || '');
      setAttribute(this.root, 'class', tile.warn ? 'warn' : '');
      if (tile.line === undefined) return;
      if (!this.line) {
        this.line = new Line(tile.text);
        this.root.append(el('dd', {}, this.line.svg));
      }
      this.line.add(now, tile.line, tile.most);
    }
  }

  function powerTile(gpu) {
    const [main, ...others] = gpu.power || [];
    if (!main) return;
    const notes = main.limit ? ['of ' + watts(main.limit)] : [];
    for (const one of others) notes.push(one.domain + ' ' + watts(one.watts));
    if (!notes.length) notes.push(main.domain);
    return {value: watts(main.watts), note: notes.join(' · '), line: main.watts, most: main.limit, text: watts};
  }

  function frequencyTile(gpu) {
    const all = gpu.clocks || [];
    if (!all.length) return;
    const main = all.reduce((a, b) => b.hertz > a.hertz ? b : a);
    const reasons = gpu.throttle_reasons;
    const notes = main.limit ? ['of ' + hertz(main.limit)] : [];
    if (main.hardware_limit > main.limit) notes.push('hardware ' + hertz(main.hardware_limit));
    for (const one of all)
      if (one !== main) notes.push('gt' + one.gt + ' ' + (one.hertz ? hertz(one.hertz) : 'parked'));
    if (reasons.length) notes.push('limited by ' + reasons.map(words).join(', '));
    return {
      value: main.hertz ? hertz(main.hertz) : 'parked',
      note: notes.join(' · '),
      warn: reasons.length > 0,
      line: main.hertz,
      most: main.limit,
      text: hertz
    };
  }

  function temperatureTile(gpu) {
    const all = (gpu.temperatures || []).filter((one) => one.celsius !== undefined);
    if (!all.length) return;
    const main = all.find((one) => one.sensor === 'package') || all[0];
    const notes = main.limit ? ['of ' + celsius(main.limit)] : all.length > 1 ? [] : [main.sensor];
    const others = all.filter((one) => one !== main).sort((a, b) => b.celsius - a.celsius);
    for (const one of others.slice(0, 3)) notes.push(one.sensor + ' ' + celsius(one.celsius));
    if (others.length > 3) notes.push(others.length - 3 + ' more');
    return {
      value: celsius(main.celsius),
      note: notes.join(' · '),
      warn: all.some((one) => one.limit && one.celsius >= one.limit - 5),
      line: main.celsius,
      most: main.limit || 100,
      text: celsius
    };
  }

  function fanTile(gpu) {
    const all = (gpu.fans || []).map((one) => one.rpm).filter((rpm) => rpm !== undefined);
    if (!all.length) return;
    const main = Math.max(...all);
    const others = all.filter((one, i) => i !== all.indexOf(main)).map((one) => one.toFixed(0));
    return {
      value: main ? main.toFixed(0) + ' rpm' : 'stopped',
      note: others.length ? 'others ' + others.join(', ') : ''
    };
  }

  function memoryTile(gpu) {
    const memory = gpu.memory;
    if (!memory) return;
    const {used, size, own} = memory;
    if (used === undefined) return {value: bytes(size), note: own ? 'size' : 'shared with the system'};
    if (size === undefined) return {value: bytes(used), note: 'system memory', line: used, text: bytes};
    return {
      value: bytes(used),
      note: 'of ' + bytes(size) + ' · ' + percent(used / size),
      warn: used > 0.95 * size,
      line: used,
      most: size,
      text: bytes
    };
  }

  function asleepTile(gpu) {
    const [first, ...others] = gpu.rc6;
    if (!first) return;
    return {
      value: percent(first.ratio),
      note: others.length ? others.map((one) => 'gt' + one.gt + ' ' + percent(one.ratio)).join(' · ') : 'RC6'
    };
  }

  const kTiles = {
    power: powerTile,
    frequency: frequencyTile,
    temperature: temperatureTile,
    fan: fanTile,
    memory: memoryTile,
    'power saving': asleepTile
  };

  // Of a section of the reading that is text.
  function textTile([first, ...others]) {
    return {value: first.value, note: [first.name, ...others.map((one) => one.name + ' ' + one.value)].join(' · ')};
  }

  // A table of those who use the GPU. Rows keep their place for as long as their load is about the same.
  class Users {
    constructor(caption, columns) {
      this.columns = columns;
      this.all = false;
      this.body = el('tbody');
      const head = columns.map((column) => el('th', {scope: 'col', class: column.class || ''}, column.name));
      this.root = el('table', {}, el('caption', {}, caption), el('thead', {}, el('tr', {}, ...head)), this.body);
      this.more = el('button', {type: 'button', 'aria-expanded': 'false'});
      this.more.addEventListener('click', () => {
        this.all = !this.all;
        setAttribute(this.more, 'aria-expanded', String(this.all));
        this.show(this.users);
      });
      this.box = el('div', {class: 'users'}, this.root, this.more);
      this.rows = new Kept(() => {
        const cells = columns.map((column) => el('td', {class: column.class || ''}));
        return {cells, root: el('tr', {}, ...cells), smooth: 0};
      });
    }
    show(users) {
      this.users = users;
      this.rows.begin();
      const rows = users.map((user) => {
        const row = this.rows.get(user.id);
        row.smooth = user === row.user ? row.smooth : row.smooth * 0.8 + user.total * 0.2;
        row.user = user;
        return row;
      });
      this.rows.end();
      const load = (row) => Math.round(row.smooth * 50);  // steps of 2 %
      rows.sort(
          (a, b) =>
              load(b) - load(a) || (b.user.memory || 0) - (a.user.memory || 0) || (a.user.id < b.user.id ? -1 : 1));
      const shown = this.all ? rows : rows.slice(0, kRows);
      for (const row of shown) this.columns.forEach((column, i) => column.show(row.cells[i], row.user));
      arrange(this.body, shown.map((row) => row.root));
      this.box.hidden = rows.length === 0;
      this.more.hidden = rows.length <= kRows;
      setText(this.more, this.all ? 'Show the busiest ' + kRows : 'Show all ' + rows.length);
    }
  }

  function showLoads(cell, user) {
    const loads = Object.entries(user.busy).filter(([, ratio]) => ratio >= kIdle).sort((a, b) => b[1] - a[1]);
    while (cell.children.length > loads.length) cell.lastElementChild.remove();
    loads.forEach(([name, ratio], i) => {
      const load = cell.children[i] || cell.appendChild(el('span'));
      setAttribute(load, 'class', 'load ' + (kClasses.includes(name) ? name : 'other'));
      setText(load, words(name) + ' ' + percent(ratio));
    });
  }

  // Cut off by the style sheet if it is long.
  function showName(cell, name) {
    setText(cell, name);
    setAttribute(cell, 'title', clean(name));
  }

  const kMemoryColumn = {
    name: 'Memory',
    class: 'n',
    show: (cell, user) => setText(cell, user.memory === undefined ? '' : bytes(user.memory))
  };
  const kLoadColumn = {name: 'Engines', show: showLoads};
  const kProcessColumns = [
    {name: 'PID', class: 'pid n', show: (cell, user) => setText(cell, user.pid)},
    {name: 'Process', class: 'who', show: (cell, user) => showName(cell, user.comm)},
    {name: 'Where', class: 'where dim', show: (cell, user) => showName(cell, user.place || '')}, kMemoryColumn,
    kLoadColumn
  ];
  const kWorkloadColumns = [
    {name: 'Workload', class: 'who', show: (cell, user) => showName(cell, user.workload || '')}, kMemoryColumn,
    kLoadColumn
  ];

  const kFunctionColumns = [
    {name: 'VF', class: 'pid n', show: (cell, user) => setText(cell, user.vf)},
    {name: 'Held by', class: 'who', show: (cell, user) => showName(cell, user.workload || '')},
    {name: 'Driver', class: 'where dim', show: (cell, user) => showName(cell, user.driver)}, kLoadColumn
  ];

  class Gpu {
    constructor(device) {
      const id = 'gpu-' + device.replace(/[^0-9a-z]/gi, '-');
      this.device = device;
      this.name = el('h3', {id});
      this.state = el('span', {class: 'state'});
      this.about = el('p', {class: 'dim'});
      this.note = el('p', {class: 'dim'});
      this.list = el('div', {class: 'engines'});
      this.tiles = el('dl', {class: 'tiles'});
      this.processes = new Users('Processes', kProcessColumns);
      this.workloads = new Users('Workloads', kWorkloadColumns);
      this.functions = new Users('Virtual functions', kFunctionColumns);
      this.left = el('p', {class: 'dim'});
      this.engine = new Kept(() => new Engine());
      this.tile = new Kept((name) => new Tile(name));
      this.root =
          el('section', {class: 'gpu', 'aria-labelledby': id}, el('header', {}, this.name, this.state, this.about),
             this.note, el('div', {class: 'now'}, this.list, this.tiles), this.functions.box, this.processes.box,
             this.left, this.workloads.box);
    }

    show(gpu, now) {
      this.title = gpu.name || '(unknown name)';
      setText(this.name, this.title);
      const about = [gpu.device, gpu.kind, gpu.driver, gpu.card, gpu.render_node, pcie(gpu)];
      setText(this.about, about.filter(Boolean).join(' · '));
      const asleep = gpu.suspended === true, broken = gpu.out_of_service, limited = gpu.throttle_reasons.length > 0;
      setText(this.state, broken || (asleep ? 'asleep' : limited ? 'throttled' : 'awake'));
      setAttribute(
          this.state, 'class',
          'state ' +
              (broken      ? 'broken' :
                   asleep  ? 'asleep' :
                   limited ? 'limited' :
                             'awake'));

      const engines = enginesOf(gpu);
      const notes = asleep ? ['Asleep. Values appear when a program wakes it.'] : [];
      const tiles = this.showTiles(gpu, now);
      if (!asleep && !engines.length && !tiles)
        notes.push('None of its values can be read here; what to do about it stands above.');
      if (gpu.engines.some((engine) => engine.of_processes))
        notes.push('Engine time is that of the visible processes only.');
      setText(this.note, notes.join(' '));
      this.note.hidden = notes.length === 0;
      this.engine.begin();
      arrange(this.list, engines.map((engine) => {
        const row = this.engine.get(engine.name + ' ' + engine.class);
        row.show(engine, now);
        return row.root;
      }));
      this.engine.end();

      this.functions.show(usersOf(gpu.functions, (one) => one.vf));
      this.processes.show(usersOf(gpu.processes || [], (one) => one.pid + ' ' + one.comm));
      const dropped = gpu.processes_dropped || 0;
      this.left.hidden = dropped === 0;
      setText(this.left, dropped + ' smaller ones have no row (--collector.fdinfo.max-processes).');
      this.workloads.show(usersOf(gpu.workloads, (one) => one.workload));
    }

    // How many there are.
    showTiles(gpu, now) {
      const tiles = [];
      const add = (name, shown) => {
        if (!shown) return;
        const tile = this.tile.get(name);
        tile.show(shown, now);
        tiles.push(tile.root);
      };
      this.tile.begin();
      for (const name in kTiles) add(name, kTiles[name](gpu));
      for (const section of gpu.more) add(section.title, textTile(section.rows));
      this.tile.end();
      arrange(this.tiles, tiles);
      return tiles.length;
    }
  }

  function pcie({pcie}) {
    return pcie ? 'PCIe ' + pcie.transfers_per_second / 1e9 + ' GT/s x' + pcie.lanes : '';
  }

  // --- faults ---

  const kOutOfService = {
    wedged: ' is wedged: the driver gave it up, and nothing runs on it until it is reset or the machine restarts.',
    'in survivability mode': ' is in survivability mode: only its firmware can be updated.'
  };

  // Sentences about what went wrong with a GPU, the worst first.
  function faultsOf(gpu, name, now) {
    const faults = [];
    if (gpu.out_of_service) faults.push(name + (kOutOfService[gpu.out_of_service] || ' is ' + gpu.out_of_service + '.'));
    const times = new Map(gpu.faults.map((one) => [one.kind, one.time]));
    const since = (kind) => times.has(kind) ? ', the last ' + ago(now - times.get(kind)) : '';
    const causes = gpu.hang_causes.filter((one) => one.hangs > 0)
                       .sort((a, b) => b.hangs - a.hangs)
                       .slice(0, 3)
                       .map((one) => one.comm + ' (' + one.pid + ')');
    for (const one of gpu.hangs.filter((one) => one.count > 0)) {
      faults.push(
          name + ': ' + one.count + ' × ' + words(one.kind || 'hang') + (one.class ? ' of ' + words(one.class) : '') +
          since(one.kind) + (causes.length ? '. Caused by ' + causes.join(', ') : '') + '.');
    }
    if (gpu.resets) faults.push(name + ': ' + gpu.resets + ' resets of the whole GPU since the exporter started.');
    if (gpu.uncorrectable_pcie_errors)
      faults.push(name + ': ' + gpu.uncorrectable_pcie_errors + ' uncorrectable PCIe errors.');
    if (gpu.hang_captured)
      faults.push(
          name + ': the kernel holds the record of a GPU hang (error_state); it may be older than the exporter.');
    return faults;
  }

  // --- what to do ---

  async function copy(text, element) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const range = document.createRange();  // plain HTTP from another machine
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (!document.execCommand('copy')) throw new Error();
  }

  function addCopyButtons(box) {
    for (const code of box.querySelectorAll('.command > code')) {
      const button = el('button', {type: 'button'}, 'Copy');
      button.addEventListener('click', () => {
        copy(code.textContent, code).then(() => setText(button, 'Copied'), () => setText(button, 'Press Ctrl+C'));
        setTimeout(() => setText(button, 'Copy'), 2000);
      });
      code.after(button);
    }
  }

  // The same as the page has without this script.
  function fixBox(fix, meanings) {
    const names = [...new Set(fix.brings.map((one) => words(one.feature)))];
    const box = el('div', {class: 'fix'}, el('strong', {}, 'Missing: ' + names.join(', ')));
    for (const cause of fix.causes)
      if (cause) box.append(el('p', {}, 'Why: ' + cause));
    box.append(el('p', {}, fix.hint ? 'Needs: ' + fix.hint : 'Nothing can be done here about this.'));
    const list = fix.brings.map((one) => {
      const known = meanings.get(one.feature) || {};
      return el(
          'li', {},
          one.feature + (one.device ? ' of ' + one.device : '') + ' (' + known.reason + '): ' + known.meaning);
    });
    box.append(el('details', {}, el('summary', {}, 'What it brings'), el('ul', {}, ...list)));
    return box;
  }

  // Grants at once what the fixes below ask for. What is copied is commands only.
  function grantsBox(place) {
    const box = el('div', {class: 'fix'}, el('strong', {}, place.title));
    for (const step of place.steps) {
      if (step.text) box.append(el('p', {}, step.text));
      if (step.lines.length) box.append(el('div', {class: 'command'}, el('code', {}, step.lines.join('\n'))));
    }
    return box;
  }

  function showDoctor(doctor) {
    const meanings = new Map();
    for (const place of [doctor.machine, ...doctor.gpus]) {
      for (const one of place.features)
        if (!one.available) meanings.set(one.feature, one);
    }
    const boxes = doctor.fixes.map((fix) => fixBox(fix, meanings));
    if (doctor.place.steps.length) boxes.unshift(grantsBox(doctor.place));
    if (doctor.gpus.length + (doctor.npus || []).length === 0)
      boxes.unshift(el('p', {class: 'fix'}, 'No Intel GPU bound to i915 or xe is here now. One that comes is found.'));
    for (const gpu of doctor.unbound || []) {
      const text = gpu.device + ' · ' + (gpu.name || '(unknown name)') + ': ' + gpu.why;
      if (gpu.reason === 'guest') {
        boxes.push(el('p', {}, text));
        continue;
      }
      const box = el('div', {class: 'fix'}, el('strong', {}, text));
      if (gpu.command) box.append(el('div', {class: 'command'}, el('code', {}, gpu.command)));
      if (gpu.hint) box.append(el('p', {}, gpu.hint));
      boxes.unshift(box);
    }
    if (doctor.failed_collectors.length)
      boxes.push(el('p', {class: 'fix'}, 'Failed: ' + doctor.failed_collectors.join(', ') + '. The log says why.'));
    if (boxes.length === 0)
      boxes.push(el('p', {class: 'ok'}, 'Everything readable is being read.'));
    arrange(todo, [todo.firstElementChild, ...boxes]);
    addCopyButtons(todo);
    placeToDo();
  }

  // First what somebody can act on.
  function placeToDo() {
    if (todo.querySelector('.ok'))
      still.after(todo);
    else
      live.before(todo);
  }

  // --- the page ---

  const status = document.getElementById('status');
  const live = el('div', {class: 'gpus'});
  const faults = el('div', {'aria-live': 'polite'});
  const gpus = new Kept((device) => new Gpu(device));
  let missing;    // features that are missing, as text
  let diagnose = 0;  // after so many readings the doctor is asked: its answer may be as old as theirs
  let timer = 0;  // of the next reading
  let under_way;  // AbortController of the one that is under way
  let failures = 0;

  function show(reading) {
    gpus.begin();
    const cards = [], found = [];
    let users = 0, power = 0;
    for (const gpu of [...reading.gpus, ...reading.npus.map(gpuOfNpu)]) {
      const card = gpus.get(gpu.device);
      card.show(gpu, reading.time);
      cards.push(card.root);
      found.push(...faultsOf(gpu, card.title, reading.time));
      users += gpu.process_count || 0;
    }
    for (const gpu of reading.gpus) power += gpu.power && gpu.power.length ? gpu.power[0].watts : 0;
    gpus.end();
    arrange(live, cards);
    arrange(faults, found.map((text, i) => {
      const box = faults.children[i] || el('p', {class: 'fault'});
      setText(box, text);
      return box;
    }));
    document.getElementById('still').hidden = true;
    const counted = (list, one, several) => list.length === 1 ? '1 ' + one : list.length + ' ' + several;
    const parts = [counted(reading.gpus, 'GPU', 'GPUs')];
    if (reading.npus.length) parts.push(counted(reading.npus, 'NPU', 'NPUs'));
    if (users) parts.push(users === 1 ? '1 process' : users + ' processes');
    if (power) parts.push(watts(power));
    setText(document.getElementById('summary'), parts.join(' · '));

    const lacking = [...reading.missing];
    for (const gpu of reading.gpus) lacking.push(...gpu.missing.map((feature) => gpu.device + feature));
    lacking.push(...(reading.unbound || []).map((gpu) => gpu.device + gpu.reason));
    const now = cards.length + ' ' + lacking.sort().join();
    if (missing !== undefined && missing !== now) diagnose = 4;
    missing = now;
  }

  async function read(what) {
    const response = await fetch('api/v1/' + what, {cache: 'no-store', signal: under_way.signal});
    if (!response.ok)
      throw new Error('it answers ' + response.status + ' ' + (await response.text()).trim().slice(0, 200));
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
      const reading = await read('snapshot?view=page');
      if (reading.version !== 1) throw new Error('it was updated: reload this page');
      show(reading);
      failures = 0;
      say('');
      if (diagnose > 1) --diagnose;
      else if (diagnose === 1) {
        showDoctor(await read('doctor'));
        diagnose = 0;
      }
    } catch (error) {
      if (under_way !== controller) return;  // hidden meanwhile
      ++failures;
      const why = controller.signal.aborted ? 'no answer in time' :
          error instanceof TypeError        ? 'no connection' :
                                              error.message;
      if (failures > 1 || !(error instanceof TypeError)) say('These values are old: ' + why + '. It is asked again.');
    } finally {
      clearTimeout(limit);
      if (under_way === controller) {
        under_way = undefined;
        const pause = failures === 0 ? kPeriod : Math.min(kMostWait, kPeriod * 2 ** failures);
        schedule(pause);
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
      if (controller) controller.abort();
    } else if (!under_way) {
      failures = 0;
      poll();
    }
  });

  const host = location.hostname || 'this machine';
  document.title = host + ' · Intel GPUs';
  setText(document.querySelector('h1'), host);
  const still = document.getElementById('still');
  still.before(live);
  const todo = document.getElementById('todo');
  todo.before(faults);
  placeToDo();
  addCopyButtons(todo);
  if (!document.hidden) poll();
})();
