// SPDX-License-Identifier: Apache-2.0
// What to do about what is missing: the same as the page has without scripts, and kept up to date.
import {arrange, el, setText, words} from './dom.js';

async function copy(text, element) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const range = document.createRange();  // plain HTTP from another machine
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  if (!document.execCommand('copy')) throw new Error();
}

export function addCopyButtons(box) {
  for (const code of box.querySelectorAll('.command > code')) {
    const button = el('button', {type: 'button'}, 'Copy');
    button.addEventListener('click', () => {
      copy(code.textContent, code).then(() => setText(button, 'Copied'), () => setText(button, 'Press Ctrl+C'));
      setTimeout(() => setText(button, 'Copy'), 2000);
    });
    code.after(button);
  }
}

function fixBox(fix, meanings) {
  const names = [...new Set(fix.brings.map((one) => words(one.feature)))];
  const box = el('div', {class: 'fix'}, el('strong', {}, 'Missing: ' + names.join(', ')));
  for (const cause of fix.causes)
    if (cause) box.append(el('p', {}, 'Why: ' + cause));
  box.append(el('p', {}, fix.hint ? 'Needs: ' + fix.hint : 'Nothing can be done here about this.'));
  const list = fix.brings.map((one) => {
    const known = meanings.get(one.feature) || {};
    return el('li', {}, one.feature + (one.device ? ' of ' + one.device : '') + ' (' + known.reason + '): ' + known.meaning);
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

function unboundBox(gpu) {
  const box = el('div', {class: 'fix'}, el('strong', {}, gpu.device + ' · ' + (gpu.name || '(unknown name)') + ': ' + gpu.why));
  if (gpu.command) box.append(el('div', {class: 'command'}, el('code', {}, gpu.command)));
  if (gpu.hint) box.append(el('p', {}, gpu.hint));
  return box;
}

// doctor: an answer of api/v1/doctor.
export function showDoctor(todo, doctor) {
  const meanings = new Map();
  for (const place of [doctor.machine, ...doctor.gpus])
    for (const one of place.features)
      if (!one.available) meanings.set(one.feature, one);
  const boxes = doctor.fixes.map((fix) => fixBox(fix, meanings));
  if (doctor.place.steps.length) boxes.unshift(grantsBox(doctor.place));
  const unbound = doctor.unbound || [];
  if (doctor.gpus.length + (doctor.npus || []).length + unbound.length === 0)
    boxes.unshift(el('p', {class: 'fix'}, 'No Intel GPU found. Plug one in and it appears here.'));
  boxes.unshift(...unbound.filter((gpu) => gpu.reason !== 'guest').map(unboundBox));
  for (const gpu of unbound.filter((one) => one.reason === 'guest'))
    boxes.push(el('p', {}, gpu.device + ' · ' + (gpu.name || '(unknown name)') + ': ' + gpu.why));
  if (doctor.failed_collectors.length)
    boxes.push(el('p', {class: 'fix'}, 'Failed: ' + doctor.failed_collectors.join(', ') + '. The log says why.'));
  todo.firstElementChild.hidden = boxes.length === 0;
  if (boxes.length === 0) boxes.push(el('p', {class: 'ok'}, 'Everything readable is being read.'));
  arrange(todo, [todo.firstElementChild, ...boxes]);
  addCopyButtons(todo);
}
