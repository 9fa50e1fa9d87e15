// The tape: newest line on top. Lines slide in only while the list is at its top and nothing in it is being read;
// otherwise they wait, counted on a button, so that nothing moves under a reader.

import { scrolledIn } from "./live_rows.js";
import { paint, setText, slot } from "./slots.js";

const MOST_IN_LIST = 600;
const MOST_WAITING = 500;
const MOST_REMEMBERED = 500;
const SETTLE_MS = 250;

export class Tape {
  // `onPast` is told what each firm did last, once the lines up to the evening of a day are there.
  constructor({ look, run, styles, since, publicKinds, toldBodies }, onPast) {
    Object.assign(this, { look, run, styles, publicKinds, toldBodies, onPast });
    this.upto = since; // the list is complete up to this number; what is above it comes by `add`
    this.waiting = [];
    this.recent = []; // the newest lines, to add to a list that was fetched a moment ago
    this.box = document.getElementById("tape");
    this.list = document.getElementById("tape-lines");
    this.button = document.getElementById("tape-new");
    this.filter = document.getElementById("tape-filter");
    this.template = document.getElementById("tape-line").content.firstElementChild;
    this.button.addEventListener("click", () => this.toTop());
    this.box.addEventListener("scroll", () => this.isAtTop() && this.release(), { passive: true });
    this.list.addEventListener("toggle", () => this.isAtTop() && this.release(), true);
    this.list.addEventListener("htmx:afterSwap", (event) => event.target === this.list && this.fetched());
    look.addEventListener("change", ({ detail }) => (detail.day || detail.as) && this.follow());
    this.isPast = !look.isLive;
    this.setLook();
    if (this.isPast) onPast(this.lastActions());
  }

  // Another day, or other eyes: the lines up to its evening, once the slider rests.
  follow() {
    this.waiting = [];
    this.isPast = !this.look.isLive;
    this.setLook();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetchAgain(), SETTLE_MS);
  }

  setLook() {
    const { day, as } = this.filter.elements;
    day.value = this.look.day ?? "";
    as.value = this.look.as;
  }

  add(lines) {
    if (!lines.length) return;
    this.recent = [...this.recent, ...lines].slice(-MOST_REMEMBERED);
    this.waiting.push(...lines.filter((line) => line.number > this.upto && this.wants(line)));
    if (this.isAtTop()) this.release();
    else this.count();
  }

  // A firm was told of what it took part in, and of what all are told.
  wants({ kind, group, firm, other }) {
    const { group: wanted, firm: whose } = this.filter.elements;
    const isOf = (name) => !name || [firm, other].includes(name);
    const isTold = isOf(this.look.as) || this.publicKinds.includes(kind);
    return !this.isPast && isTold && (!wanted.value || wanted.value === group) && isOf(whose.value);
  }

  // As `body_of` in dashboards/tape.py: a letter must be read first, and a return's reason is never told.
  isTold({ kind, firm }) {
    return [firm, ""].includes(this.look.as) || this.toldBodies.includes(kind);
  }

  isAtTop() {
    return this.box.scrollTop < 4 && !this.list.querySelector("details[open]");
  }

  toTop() {
    for (const open of this.list.querySelectorAll("details[open]")) open.open = false;
    this.box.scrollTop = 0;
    this.release();
  }

  count() {
    this.button.hidden = !this.waiting.length;
    setText(this.button, `${this.waiting.length} new`);
  }

  release() {
    if (this.waiting.length > MOST_WAITING) return this.fetchAgain();
    const rows = this.waiting.reverse().map((line) => this.rowOf(line));
    this.waiting = [];
    scrolledIn(this.box, () => this.list.prepend(...rows));
    this.trim();
    this.count();
  }

  // Too many to put in one by one, and nobody will read them all: the newest page instead.
  fetchAgain() {
    this.waiting = [];
    window.htmx.trigger(this.filter, "change");
  }

  fetched() {
    this.upto = Number(document.getElementById("tape-earlier").dataset.upto);
    this.waiting = this.recent.filter((line) => line.number > this.upto && this.wants(line));
    this.box.scrollTop = 0;
    this.release();
    if (this.isPast) this.onPast(this.lastActions());
  }

  lastActions() {
    const lasts = new Map();
    for (const row of this.list.querySelectorAll(".line:has(a[href])")) {
      const firm = row.querySelector(".firm").textContent;
      const words = (selector) => row.querySelector(selector).textContent.trim();
      const [day, clock] = [words(".line-day").match(/\d+/)[0], slot(row, "clock").lastChild.textContent.trim()];
      if (!lasts.has(firm)) lasts.set(firm, { day, weekday: words(".line-weekday"), clock, text: words("[data-slot=text]") });
    }
    return lasts;
  }

  trim() {
    const lines = this.list.getElementsByClassName("line");
    if (lines.length <= MOST_IN_LIST) return;
    while (lines.length > MOST_IN_LIST) lines[lines.length - 1].remove();
    const earlier = document.getElementById("tape-earlier");
    earlier.hidden = false;
    const before = lines[lines.length - 1].dataset.number;
    earlier.firstElementChild.setAttribute("hx-vals", JSON.stringify({ before }));
  }

  rowOf(line) {
    const row = this.template.cloneNode(true);
    Object.assign(row.dataset, { number: line.number, kind: line.kind, group: line.group });
    setText(row.querySelector(".line-day"), `Day ${line.day} ·`);
    setText(row.querySelector(".line-weekday"), line.weekday);
    slot(row, "clock").append(line.clock);
    if (line.is_action && [line.firm, ""].includes(this.look.as)) this.linkTurn(slot(row, "clock"), line);
    const [firm, other] = row.querySelectorAll(".firm");
    this.nameFirm(firm, line.firm);
    this.nameFirm(other, line.other);
    if (!line.other) row.querySelector(".line-to").remove();
    setText(slot(row, "text"), line.text);
    if (line.body && this.isTold(line)) setText(slot(row, "body"), line.body);
    else row.querySelector("details").remove();
    return row;
  }

  linkTurn(link, line) {
    link.href = `/runs/${this.run}/events/${line.number}/turn/`;
    link.title = "The turn behind it";
  }

  nameFirm(element, name) {
    setText(element, name);
    paint(element, this.styles[name]);
  }
}
