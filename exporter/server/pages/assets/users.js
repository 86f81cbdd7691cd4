// SPDX-License-Identifier: Apache-2.0
// Who uses the GPUs, one table over all of them; and the video channels.
import {arrange, bytes, classOf, duration, el, kClasses, Kept, kIdle, kShort, number, percent, setAttribute, setCut, setNumber, setText, words} from './dom.js';
import {Line} from './lines.js';

const kRows = 50;     // unless all are asked for
const kDiffers = 0.1;  // rows change places only if they differ by a tenth for so many seconds:
const kPatience = 5;

const cardOf = (gpu) => gpu.card || gpu.device;

// One row for each workload, process or virtual function, over all GPUs.
export function usersOf(reading) {
  const users = new Map();
  const user = (id, make) => {
    let known = users.get(id);
    if (!known) users.set(id, known = {id, cards: [], busy: {}, processes: new Set(), ...make()});
    return known;
  };
  const add = (one, gpu, row) => {
    if (!one.cards.includes(cardOf(gpu))) one.cards.push(cardOf(gpu));
    for (const name in row.busy) one.busy[name] = (one.busy[name] || 0) + row.busy[name];
    if (row.memory !== undefined) one.memory = (one.memory || 0) + row.memory;
  };
  for (const gpu of reading.gpus) {
    for (const row of gpu.workloads) add(user('w' + row.workload, () => ({name: row.workload})), gpu, row);
    for (const row of gpu.processes || []) {
      const of = row.workload && users.get('w' + row.workload);
      if (of) {  // its use is in the workload's
        of.processes.add(row.comm + '\n' + row.pid);
        of.since = Math.min(of.since || Infinity, row.since || Infinity);
        continue;
      }
      const one = user('p' + row.pid + ' ' + row.comm, () => ({name: row.place || row.comm, since: row.since}));
      one.processes.add(row.comm + '\n' + row.pid);
      add(one, gpu, row);
    }
    for (const row of gpu.functions) {
      const name = row.workload || cardOf(gpu) + ' vf' + row.vf;
      const one = user('v' + gpu.device + row.vf, () => ({name, text: 'vf' + row.vf + ' · ' + row.driver}));
      add(one, gpu, row);
    }
  }
  return [...users.values()];
}

// "ffmpeg 4711", "ffmpeg ×2"
function processesOf(user) {
  if (user.text) return user.text;
  const all = [...user.processes].map((one) => one.split('\n'));
  if (all.length === 1) return all[0].join(' ');
  const counts = new Map();
  for (const [comm] of all) counts.set(comm, (counts.get(comm) || 0) + 1);
  return [...counts].map(([comm, count]) => count > 1 ? comm + ' ×' + count : comm).join(', ');
}

const compareNames = (a, b) => a.name.localeCompare(b.name, 'en', {numeric: true}) || (a.id < b.id ? -1 : 1);

class Column {
  constructor(name, title, value, show) {
    Object.assign(this, {name, title, value, show});
  }
}

const kName = new Column('name', 'Workload', undefined, (cell, user) => setCut(cell, user.name));
const kFixed = [
  kName,
  new Column('process', 'Process', (user) => processesOf(user), (cell, user) => setCut(cell, processesOf(user))),
  new Column(
      'cards', 'GPU', (user) => user.cards.join(),
      (cell, user) => {
        if (cell.shown === user.cards.join()) return;
        cell.shown = user.cards.join();
        // Two fit; who uses more has the rest in the title, so that no tag is cut.
        const shown = user.cards.length > 2 ? [user.cards[0], '+' + (user.cards.length - 1)] : user.cards;
        cell.replaceChildren(...shown.map((card) => el('span', {class: 'tag'}, card)));
        setAttribute(cell, 'title', user.cards.join(', '));
      })
];
const kLast = [
  new Column('memory', 'Memory', (user) => user.memory || 0, (cell, user) => setNumber(cell, user.memory === undefined ? '–' : bytes(user.memory))),
  new Column(
      'since', 'Since', (user) => -(user.since || 0),
      (cell, user, now) => setText(cell, user.since && user.since < Infinity ? duration(now - user.since) : '–'))
];

function classColumn(name) {
  return new Column(name, kShort[name] || name, (user) => user.busy[name] || 0, (cell, user) => showBusy(cell, user.busy[name], name));
}

function showBusy(cell, ratio, name, title = '') {
  if (!cell.firstElementChild) cell.append(el('span', {class: 'cell'}, el('small'), el('span'), el('i')));
  const [small, text, bar] = cell.firstElementChild.children;
  const idle = !(ratio >= kIdle);
  setAttribute(cell.firstElementChild, 'class', 'cell ' + classOf(name) + (idle ? ' zero' : ''));
  setText(small, idle ? '' : title);
  setNumber(text, idle ? '–' : percent(ratio));
  bar.style.width = Math.min(100, (idle ? 0 : ratio) * 100) + '%';
}

// The fullest class, where a phone has no room for all.
const fullest = (user) => kClasses.reduce((most, name) => (user.busy[name] || 0) > (user.busy[most] || 0) ? name : most);
const kBusy = new Column(
    'busy', 'Busiest', (user) => user.busy[fullest(user)] || 0,
    (cell, user) => showBusy(cell, user.busy[fullest(user)], fullest(user), (kShort[fullest(user)] || fullest(user)) + ' '));

export class Users {
  constructor() {
    this.sort = kName;
    this.order = [];  // ids, as shown
    this.due = new Map();
    this.all = false;
    this.filter = el('input', {type: 'search', placeholder: 'filter', 'aria-label': 'Filter users'});
    this.filter.addEventListener('input', () => this.draw());
    this.head = el('tr');
    this.body = el('tbody');
    this.more = el('button', {type: 'button', 'aria-expanded': 'false'});
    this.more.addEventListener('click', () => {
      this.all = !this.all;
      setAttribute(this.more, 'aria-expanded', String(this.all));
      this.draw();
    });
    this.title = el('h2', {id: 'users-title'}, 'Users');
    this.root = el(
        'section', {class: 'panel users', 'aria-labelledby': 'users-title'}, el('header', {}, this.title, this.filter),
        el('table', {'aria-labelledby': 'users-title'}, el('thead', {}, this.head), this.body), this.more);
    this.rows = new Kept(() => ({cells: [], root: el('tr')}));
  }

  // The columns stay as they are while the machine has the same classes.
  setClasses(classes) {
    const key = classes.join();
    if (key === this.key) return;
    this.key = key;
    this.columns = [...kFixed, ...classes.map(classColumn), kBusy, ...kLast];
    this.rows = new Kept(() => {
      const cells = this.columns.map((column) => el('td', {class: this.classOf(column)}));
      return {cells, root: el('tr', {}, ...cells)};
    });
    arrange(this.head, this.columns.map((column) => {
      const button = el('button', {type: 'button'}, column.title);
      button.addEventListener('click', () => {
        this.sort = column;
        this.order = [];
        this.markSort();
        this.draw();
      });
      column.head = el('th', {scope: 'col', class: this.classOf(column)}, button);
      return column.head;
    }));
    if (!this.columns.includes(this.sort)) this.sort = kName;
    this.markSort();
  }
  classOf(column) {
    return 'c-' + column.name + (kFixed.includes(column) ? '' : ' r');
  }
  markSort() {
    for (const column of this.columns)
      setAttribute(column.head, 'aria-sort', column !== this.sort ? 'none' : column === kName ? 'ascending' : 'descending');
  }

  show(users, classes, now) {
    this.setClasses(classes);
    this.users = users;
    this.now = now;
    this.draw();
  }

  // By the chosen column. Who is in place moves only after it differed from its neighbour by a tenth for five seconds.
  sorted(users) {
    if (this.sort === kName) return users.sort(compareNames);
    const value = this.sort.value;
    const before = (a, b) => {
      const [x, y] = [value(a), value(b)];
      return (typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : y - x) || compareNames(a, b);
    };
    const place = new Map(this.order.map((id, i) => [id, i]));
    const known = users.filter((user) => place.has(user.id)).sort((a, b) => place.get(a.id) - place.get(b.id));
    const differs = (a, b) => typeof value(a) === 'string' || value(b) - value(a) > kDiffers * Math.max(Math.abs(value(a)), Math.abs(value(b)));
    const due = new Map();
    for (let i = 1; i < known.length; ++i) {
      for (let k = i; k > 0 && before(known[k - 1], known[k]) > 0 && differs(known[k - 1], known[k]); --k) {
        const pair = known[k - 1].id + '\n' + known[k].id;
        const since = this.due.get(pair) || this.now;
        if (this.now - since < kPatience) {
          due.set(pair, since);
          break;
        }
        [known[k - 1], known[k]] = [known[k], known[k - 1]];
      }
    }
    this.due = due;
    for (const user of users.filter((one) => !place.has(one.id)).sort(before)) {
      const at = known.findIndex((one) => before(user, one) < 0);
      known.splice(at < 0 ? known.length : at, 0, user);
    }
    return known;
  }

  draw() {
    if (!this.users) return;
    const wanted = this.filter.value.trim().toLowerCase();
    const matching = this.users.filter(
        (user) => !wanted || (user.name + ' ' + processesOf(user) + ' ' + user.cards.join(' ')).toLowerCase().includes(wanted));
    const sorted = this.sorted(matching);
    this.order = sorted.map((user) => user.id);
    const shown = this.all ? sorted : sorted.slice(0, kRows);
    this.rows.begin();
    arrange(this.body, shown.map((user) => {
      const row = this.rows.get(user.id);
      this.columns.forEach((column, i) => column.show(row.cells[i], user, this.now));
      return row.root;
    }));
    this.rows.end();
    this.root.hidden = this.users.length === 0;
    this.more.hidden = sorted.length <= kRows;
    setText(this.more, this.all ? 'Show ' + kRows : 'Show all ' + sorted.length);
  }
}

class ChannelRow {
  constructor(name) {
    this.line = new Line('channel', name, (rate) => number(rate) + ' a second');
    this.name = el('td');
    this.cards = el('td', {class: 'c-cards'});
    this.rate = el('td', {class: 'r'});
    this.root = el('tr', {class: 'video'}, this.name, this.cards, this.rate, el('td', {class: 'c-line'}, this.line.svg));
  }
  show(channel, now) {
    setCut(this.name, channel.name);
    kFixed[2].show(this.cards, channel);
    const of = channel.nominal ? ' of ' + number(channel.nominal) : '';
    const stalled = channel.stalled !== undefined;
    const rate = channel.rate === undefined ? '–' : number(channel.rate);
    setNumber(this.rate, stalled ? 'stalled ' + duration(channel.stalled).replace(' ', '\u00a0') : rate + of.replaceAll(' ', '\u00a0').replace('\u00a0', ' '));
    setAttribute(this.rate, 'class', 'r' + (stalled ? ' badword' : ''));
    this.line.add(now, channel.rate, channel.nominal);
  }
}

export class Channels {
  constructor() {
    const head = [['Channel', ''], ['GPU', 'c-cards'], ['Pictures / s', 'r'], ['', 'c-line']];
    this.title = el('h2', {id: 'channels-title'}, 'Channels');
    this.span = el('th', {scope: 'col', class: 'c-line'}, '15 min');
    this.body = el('tbody');
    this.root = el(
        'section', {class: 'panel channels', 'aria-labelledby': 'channels-title'}, el('header', {}, this.title),
        el('table', {'aria-labelledby': 'channels-title'},
           el('thead', {}, el('tr', {}, ...head.slice(0, 3).map(([text, kind]) => el('th', {scope: 'col', class: kind}, text)), this.span)),
           this.body));
    this.rows = new Kept((name) => new ChannelRow(name));
  }
  show(channels, now) {
    this.rows.begin();
    arrange(this.body, channels.map((channel) => {
      const row = this.rows.get(channel.name);
      row.show(channel, now);
      return row.root;
    }));
    this.rows.end();
    this.root.hidden = channels.length === 0;
  }
}
