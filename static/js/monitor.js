// The monitor: every few seconds its live parts are fetched again, and only what has changed is put in its place.
// Nothing moves under the pointer, and nothing that somebody is using, typing into or marking is touched.

import { copy } from "./study/copy.js";

const EVERY_MS = 3000;
const SAID_MS = 6000;
const known = new WeakMap(); // cell → how the server wrote it last
const acted = new Set(); // cells in which something was just done: they may change under the pointer that did it
let asked = 0;
let skew = 0; // how far this clock is ahead of the server's
let lostAt = null;

const partsOf = () => document.querySelectorAll("[data-part]");
const cellsOf = (root) => new Map([...root.querySelectorAll("[data-cell]")].map((cell) => [cell.dataset.cell, cell]));
const rowsOf = (list) => new Map([...list.querySelectorAll("[data-row]")].map((row) => [row.dataset.row, row]));

// Ages run on by themselves and every answer masks its form keys anew: neither is news.
function plain(cell) {
  const copied = cell.cloneNode(true);
  for (const age of copied.querySelectorAll("[data-since], [data-until]")) age.textContent = "";
  for (const key of copied.querySelectorAll("[name=csrfmiddlewaretoken]")) key.setAttribute("value", "");
  return copied.innerHTML;
}

function isChanged(field) {
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  if (field.tagName === "SELECT") return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.type !== "hidden" && field.value !== field.defaultValue;
}

// Something typed, marked or opened, which a change would spoil.
function isBusy(element) {
  const marked = getSelection();
  return (
    Boolean(element.querySelector("details[open]")) ||
    (!marked.isCollapsed && element.contains(marked.anchorNode)) ||
    [...element.querySelectorAll("input, select")].some(isChanged)
  );
}

const isInUse = (element) => element.contains(document.activeElement) || isBusy(element);
const isUnderPointer = (element) => element.matches(":hover") && Boolean(element.querySelector("a, button, input"));

function mergeCells(part, news) {
  const had = cellsOf(part);
  for (const [name, fresh] of cellsOf(news)) {
    const cell = had.get(name);
    if (!cell) continue;
    const written = plain(fresh);
    if (!known.has(cell)) known.set(cell, plain(cell));
    const mustStay = !acted.has(cell) && (isInUse(cell) || isUnderPointer(cell));
    if (known.get(cell) === written || mustStay) continue;
    const hadFocus = cell.contains(document.activeElement);
    cell.replaceChildren(...fresh.childNodes);
    known.set(cell, written);
    window.htmx?.process(cell);
    if (hadFocus) cell.querySelector("button")?.focus();
  }
}

function mergeRows(part, news) {
  const [list, fresh] = [part.querySelector("[data-rows]"), news.querySelector("[data-rows]")];
  if (!list || !fresh) return;
  const [had, wanted] = [rowsOf(list), rowsOf(fresh)];
  for (const [key, row] of wanted) if (had.has(key)) had.get(key).className = row.className;
  const isSame = [...had.keys()].join() === [...wanted.keys()].join();
  const mustWait = !isSame && (list.matches(":hover") || isBusy(list));
  part.querySelector("[data-pending]")?.toggleAttribute("hidden", !mustWait);
  if (isSame || mustWait) return;
  const focused = document.activeElement;
  list.replaceChildren(...[...wanted].map(([key, row]) => had.get(key) ?? row));
  window.htmx?.process(list);
  if (list.contains(focused)) focused.focus({ preventScroll: true });
}

function merge(part, html) {
  const news = document.createElement("template");
  news.innerHTML = html;
  keepTime(news.content);
  const isOther = Boolean(part.querySelector("[data-rows]")) !== Boolean(news.content.querySelector("[data-rows]"));
  if (!part.firstElementChild || (isOther && !isInUse(part))) {
    part.replaceChildren(...news.content.childNodes);
    window.htmx?.process(part);
  } else {
    mergeCells(part, news.content);
    mergeRows(part, news.content);
  }
  tick();
}

function keepTime(root) {
  const moment = root.querySelector("[data-now]")?.dataset.now;
  if (moment) skew = Date.now() - Date.parse(moment);
}

function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${two(hours % 24)}:${two(minutes)}`;
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function tick() {
  const now = Date.now() - skew;
  const show = (age, text) => age.textContent !== text && (age.textContent = text);
  for (const age of document.querySelectorAll("[data-since]")) show(age, span(now - Date.parse(age.dataset.since)));
  for (const age of document.querySelectorAll("[data-until]")) show(age, span(Date.parse(age.dataset.until) - now));
}

async function refresh(part) {
  const address = part.dataset.part;
  const turn = ++asked;
  try {
    const answer = await fetch(address, {
      headers: { "X-Requested-With": "monitor" },
      redirect: "error",
      signal: AbortSignal.timeout(10000),
    });
    if (!answer.ok) throw new Error(String(answer.status));
    const html = await answer.text();
    // An answer that was overtaken by a later one is old.
    if (part.dataset.part === address && !(part.shown > turn)) {
      part.shown = turn;
      merge(part, html);
    }
    lostAt = null;
  } catch {
    lostAt ??= new Date();
  }
  showLost();
}

function showLost() {
  const line = document.getElementById("monitor-lost");
  if (!line) return;
  line.hidden = !lostAt;
  if (lostAt) line.textContent = `No answer since ${lostAt.toLocaleTimeString()}. What you see is from before.`;
}

const refreshAll = () => Promise.all([...partsOf()].map(refresh));

async function watch() {
  if (!document.hidden) await refreshAll();
  setTimeout(watch, EVERY_MS);
}

// What was done, or why not.

function say(id, words) {
  const line = document.getElementById(id);
  if (!line) return;
  line.textContent = words;
  line.hidden = false;
  clearTimeout(line.timer);
  line.timer = setTimeout(() => (line.hidden = true), SAID_MS);
}

function isOurs(form) {
  return form instanceof HTMLFormElement && Boolean(form.closest("[data-part]"));
}

document.body.addEventListener("monitor-done", (event) => say("monitor-said", event.detail.words));
document.body.addEventListener("htmx:afterRequest", async (event) => {
  const form = event.detail.elt;
  if (!isOurs(form)) return;
  const cell = form.closest("[data-cell]");
  if (event.detail.successful) {
    form.reset();
    const menu = form.closest("details");
    if (menu) menu.open = false;
    acted.add(cell);
    document.getElementById("monitor-refused")?.setAttribute("hidden", "");
  } else {
    const words = event.detail.xhr?.status === 409 ? event.detail.xhr.responseText : "";
    say("monitor-refused", words || "That did not reach the site. Nothing was changed; please try again.");
  }
  await refreshAll();
  acted.delete(cell);
});

// Links, and a seat that is opened over the list of people.

const dialog = document.getElementById("seat-dialog");
const dialogPart = document.getElementById("seat-dialog-part");

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button.previousElementSibling.value, button, button.previousElementSibling);
  const opener = event.target.closest("[data-open-seat]");
  if (!opener || !dialog || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  dialogPart.dataset.part = `${opener.pathname}?part=live`;
  refresh(dialogPart).then(() => dialogPart.firstElementChild && dialog.showModal());
});

dialog?.addEventListener("close", () => {
  delete dialogPart.dataset.part;
  dialogPart.replaceChildren();
});

keepTime(document);
setInterval(tick, 1000);
setTimeout(watch, EVERY_MS);
