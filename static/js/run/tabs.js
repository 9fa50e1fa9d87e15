// The tabs: which is open, its tables as they stood on the day that is shown, its charts, and what is new in both.
//
// Tables are fetched for the day that is shown, the newest wish only; charts have all days at once and are cut here.
// A tab may have a script of its own, `tab_<name>.js`, with `opened(panel, tabs)`, `updated(panel, tabs)` after its
// tables have changed, and `closed(panel)`.

import { appended } from "./figure_data.js";
import { liveRows } from "./live_rows.js";
import { Plot } from "./plot.js";

const SETTLE_MS = 120; // a slider that is still moving fetches nothing
const REFRESH_MS = 1000;
const EVENING_MS = 2000;
const FRAME_MS = 14;
const LOADING_MS = 250;
const GONE = 404;
const FAILURES = { 400: "This address asks for something that is not there.", [GONE]: "This run is no longer there." };

export class Tabs {
  constructor({ look, run, tabs, figures, state }) {
    Object.assign(this, { look, run, state });
    this.panel = document.getElementById("panel");
    this.list = document.getElementById("tabs");
    this.buttons = [...this.list.querySelectorAll("[role=tab]")];
    this.scripts = Object.fromEntries(tabs.map(({ name, script }) => [name, script]));
    this.kept = new Map(); // what figures there are, by tab and question
    this.plots = new Map();
    this.news = false;
    this.resting = false;
    this.list.addEventListener("click", (event) => this.choose(event.target.closest("[role=tab]"), event));
    this.list.addEventListener("keydown", (event) => this.step(event));
    this.panel.addEventListener("change", (event) => this.askForm(event));
    this.panel.addEventListener("submit", (event) => this.askForm(event));
    this.panel.addEventListener("click", (event) => this.askLink(event));
    document.addEventListener("themechange", () => this.redrawAll());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redrawAll());
    document.addEventListener("visibilitychange", () => !document.hidden && this.wake());
    look.addEventListener("change", ({ detail }) => this.follow(detail));
    if (figures) this.keep(figures, this.todayIn(state));
    this.placed();
  }

  todayIn({ today, is_over: isOver }) {
    return isOver ? Infinity : today;
  }

  // The last day of which nothing more will come: figures are fetched after it.
  keep(figures, today) {
    this.kept.set(this.key(), { figures, complete: today - 1 });
  }

  key() {
    return `${this.look.tab}?${this.look.figuresQuery()}`;
  }

  address(what, query) {
    const text = query.toString();
    return `/runs/${this.run}/tabs/${this.look.tab}/${what}${text ? `?${text}` : ""}`;
  }

  // Which tab

  choose(button, event) {
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.look.change({ tab: button.dataset.tab });
  }

  step(event) {
    const at = this.buttons.indexOf(event.target.closest("[role=tab]"));
    const count = this.buttons.length;
    const to = { ArrowRight: (at + 1) % count, ArrowLeft: (at + count - 1) % count, Home: 0, End: count - 1 }[event.key];
    if (event.key === " ") this.choose(this.buttons[at], event);
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    this.buttons[to].focus();
    this.look.change({ tab: this.buttons[to].dataset.tab });
  }

  follow(changed) {
    if (changed.tab) this.open();
    else if (changed.as || changed.asked) this.load({ afresh: true });
    else if (changed.day) this.showDay();
  }

  open() {
    for (const button of this.buttons) {
      const isOpen = button.dataset.tab === this.look.tab;
      button.setAttribute("aria-selected", String(isOpen));
      button.tabIndex = isOpen ? 0 : -1;
      if (isOpen) this.panel.setAttribute("aria-labelledby", button.id);
    }
    this.script?.then((script) => script?.closed?.(this.panel));
    this.script = null;
    for (const plot of this.plots.values()) plot.leave();
    this.plots.clear();
    this.panel.dataset.tab = this.look.tab;
    document.getElementById("run").dataset.tab = this.look.tab;
    this.panel.style.minBlockSize = `${Math.min(this.panel.offsetHeight, innerHeight)}px`;
    this.panel.replaceChildren();
    this.load({ afresh: true });
  }

  // Tables

  load({ afresh = false } = {}) {
    clearTimeout(this.timer);
    this.controller?.abort();
    if (afresh) this.loadFigures();
    return this.loadFragment();
  }

  showDay() {
    this.draw();
    clearTimeout(this.timer);
    // While days are played the answer to an earlier day is still worth showing.
    if (this.controller && this.isPlaying) this.again = true;
    else this.timer = setTimeout(() => this.load(), this.isPlaying ? 0 : SETTLE_MS);
  }

  async loadFragment() {
    const controller = (this.controller = new AbortController());
    const loading = setTimeout(() => this.panel.setAttribute("aria-busy", "true"), LOADING_MS);
    const html = await this.fetchText(this.address("", this.look.query()), controller.signal);
    clearTimeout(loading);
    if (this.controller !== controller) return;
    this.controller = null;
    this.panel.removeAttribute("aria-busy");
    if (html !== null) this.swap(html);
    if (this.again) {
      this.again = false;
      this.load();
    }
  }

  async fetchText(address, signal) {
    try {
      const answer = await fetch(address, { signal, headers: { "HX-Request": "true" } });
      if (answer.headers.has("HX-Redirect")) location.assign(answer.headers.get("HX-Redirect"));
      if (answer.ok) return await answer.text();
      this.fail(FAILURES[answer.status] ?? "The server could not make this tab.", { isFinal: answer.status === GONE });
    } catch (error) {
      if (error.name !== "AbortError") this.fail("The server does not answer.");
    }
    return null;
  }

  // What is there stays, with a word above it; an empty place says it instead.
  fail(text, { isFinal = false } = {}) {
    this.panel.querySelector(":scope > .tab-failed")?.remove();
    const note = Object.assign(document.createElement("p"), { className: "tab-failed", textContent: `${text} ` });
    const again = Object.assign(document.createElement("button"), { className: "button small", type: "button", textContent: "Try again" });
    again.addEventListener("click", () => this.load({ afresh: true }));
    note.setAttribute("role", "alert");
    if (!isFinal) note.append(again);
    this.panel.prepend(note);
  }

  // The line is up again: what could not be fetched is tried again.
  retry() {
    if (this.panel.querySelector(":scope > .tab-failed")) this.load({ afresh: true });
  }

  // The server renders and escapes a fragment; charts and what a reader has opened stay as they are.
  swap(html) {
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    for (const place of fresh.content.querySelectorAll("[data-figure]")) {
      const plot = this.plots.get(place.dataset.figure);
      if (!plot) continue;
      for (const name of ["from", "whole", "empty"]) {
        if (name in place.dataset) plot.place.dataset[name] = place.dataset[name];
        else delete plot.place.dataset[name];
      }
      place.replaceWith(plot.place);
    }
    const before = this.remember();
    this.panel.replaceChildren(fresh.content);
    this.restore(before);
    window.htmx.process(this.panel);
    this.placed();
  }

  remember() {
    const marked = [...this.panel.querySelectorAll("[id]")];
    const focused = this.panel.contains(document.activeElement) ? document.activeElement : null;
    return {
      focus: focused?.id,
      caret: focused?.matches("input[type=search], input[type=text]") ? focused.selectionStart : null,
      open: marked.filter((element) => element.matches("details")).map(({ id, open }) => [id, open]),
      scrolled: marked.filter(({ scrollTop, scrollLeft }) => scrollTop || scrollLeft).map(({ id, scrollTop, scrollLeft }) => [id, scrollTop, scrollLeft]),
    };
  }

  restore({ focus, caret, open, scrolled }) {
    const find = (id) => this.panel.querySelector(`#${CSS.escape(id)}`);
    for (const [id, isOpen] of open) if (find(id)) find(id).open = isOpen;
    for (const [id, top, left] of scrolled) find(id)?.scrollTo(left, top);
    const field = focus ? find(focus) : null;
    field?.focus({ preventScroll: true });
    if (field && caret !== null) field.setSelectionRange(caret, caret);
  }

  // The panel's content is in place: its charts are made, its script begins.
  placed() {
    const places = new Map([...this.panel.querySelectorAll("[data-figure]")].map((place) => [place.dataset.figure, place]));
    for (const [name, plot] of this.plots) {
      if (places.get(name) === plot.place) continue;
      plot.leave();
      this.plots.delete(name);
    }
    for (const [name, place] of places) {
      if (this.plots.has(name)) continue;
      this.plots.set(name, new Plot(place, name, {
        address: (what, { dataset }) => this.figureAddress(name, what, dataset.from),
        onHover: (day) => this.pointAt(day),
        onSize: (plot) => this.redraw(plot),
      }));
    }
    const alarms = this.panel.querySelector("[data-alarms]");
    if (alarms) this.countAlarms(alarms.dataset.alarms);
    this.stoppedLive?.();
    this.stoppedLive = liveRows(this.panel);
    if (!this.kept.has(this.key())) this.loadFigures();
    this.draw();
    this.startScript();
  }

  startScript() {
    const address = this.scripts[this.look.tab];
    if (this.script) return this.script.then((script) => script?.updated?.(this.panel, this));
    this.script = address ? import(address) : Promise.resolve(null);
    const { tab } = this.look;
    return this.script.then((script) => this.look.tab === tab && script?.opened?.(this.panel, this));
  }

  countAlarms(text, tab = this.look.tab) {
    const button = this.buttons.find(({ dataset }) => dataset.tab === tab);
    const badge = button.querySelector(".tab-count");
    badge.textContent = text === "0" ? "" : text;
    badge.setAttribute("aria-label", text === "0" ? "" : `${text} alarms`);
  }

  figureAddress(name, what, from) {
    const query = this.look.query();
    if (from) query.set("from", from);
    return this.address(`${name}${what}`, query);
  }

  // A form or a link in the tab changes what the tab is asked.
  askForm(event) {
    const form = event.target.closest("form[data-asks]") ?? event.target.form;
    if (!form?.matches?.("[data-asks]")) return;
    event.preventDefault();
    this.look.ask([...new FormData(form, event.submitter)].filter(([, value]) => typeof value === "string"));
  }

  askLink(event) {
    const link = event.target.closest("a[data-asks]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.look.go(new URL(link.href).search);
  }

  // Charts

  async loadFigures() {
    const [key, today] = [this.key(), this.todayIn(this.state)];
    const kept = this.kept.get(key);
    if (this.fetching === key || kept?.complete === Infinity) return;
    this.fetching = key;
    await this.fetchFigures(key, today, kept);
    if (this.fetching === key) this.fetching = null;
  }

  async fetchFigures(key, today, kept) {
    const query = this.look.figuresQuery();
    if (kept && kept.complete >= 0) query.set("after", kept.complete);
    const text = await this.fetchText(this.address("figures.json", query));
    if (text === null) return;
    const news = JSON.parse(text);
    const figures = kept ? appended(kept.figures, news, kept.complete) : news;
    this.kept.delete(key);
    this.kept.set(key, { figures, complete: today - 1 });
    if (this.kept.size > 12) this.kept.delete(this.kept.keys().next().value);
    if (key === this.key()) this.draw();
  }

  get figures() {
    return this.kept.get(this.key())?.figures;
  }

  // Hand every chart its figure and the day, and let the browser draw them one after the other, a few in each frame.
  draw() {
    const { figures } = this;
    const { today } = this.state;
    for (const [name, plot] of this.plots) if (figures?.[name]) plot.show(figures[name], this.look.day ?? today, today);
    this.drawSoon();
  }

  redraw(plot) {
    plot.isDirty = true;
    this.drawSoon();
  }

  redrawAll() {
    for (const plot of this.plots.values()) this.redraw(plot);
  }

  drawSoon() {
    if (this.drawing || document.hidden) return;
    this.drawing = true;
    requestAnimationFrame(() => this.drawSome());
  }

  async drawSome() {
    const start = performance.now();
    for (const plot of this.plots.values()) {
      if (!plot.isDue) continue;
      await plot.draw();
      if (performance.now() - start > FRAME_MS) break;
    }
    this.drawing = false;
    if ([...this.plots.values()].some((plot) => plot.isDue)) this.drawSoon();
    else this.drawFurtherDown();
  }

  // Charts that are out of sight are drawn once, after those in sight, and afterwards only in sight. One at a time: what
  // a reader does meanwhile comes between two of them.
  drawFurtherDown() {
    const plot = [...this.plots.values()].find((each) => each.figure && !each.isDrawn);
    if (!plot || this.isIdling) return;
    this.isIdling = true;
    setTimeout(async () => {
      this.isIdling = false;
      if (!plot.isDrawn && !document.hidden) await plot.draw();
      plot.isDrawn = true;
      if (!this.drawing) this.drawFurtherDown();
    });
  }

  pointAt(day) {
    for (const plot of this.plots.values()) plot.pointAt(day);
  }

  // What is new: at most one look a second, and none while nobody sees the page.

  update({ lines, evenings, state }) {
    if (state) this.state = state;
    if (!lines.length && !evenings.length) return;
    this.news = true;
    this.evenings = this.evenings || evenings.length > 0;
    this.refresh();
  }

  wake() {
    this.redrawAll();
    this.refresh();
  }

  async refresh() {
    if (!this.news || this.resting || document.hidden) return;
    this.news = false;
    this.resting = true;
    setTimeout(() => {
      this.resting = false;
      this.refresh();
    }, REFRESH_MS);
    await Promise.all([this.isFed() || this.loadFigures(), this.look.isLive && this.refreshFragment()]);
  }

  // The socket itself brings the points of the charts of books.
  isFed() {
    return this.look.tab === "overview";
  }

  // Evenings from the socket: a point that is drawn already, from the snapshot, is replaced.
  feed(evenings) {
    if (!this.isFed() || !this.figures) return;
    for (const { day, firms } of evenings) {
      for (const [firm, { points }] of Object.entries(firms)) {
        for (const [measure, amount] of Object.entries(points)) setPoint(this.figures[measure], firm, day, amount);
      }
    }
    if (evenings.length) this.draw();
  }

  async refreshFragment() {
    const live = this.panel.querySelector("[data-live]");
    const isDue = live || (this.evenings && performance.now() - (this.refreshedAt ?? 0) > EVENING_MS && this.isAtRest());
    if (!isDue || this.isFed() || this.controller) return;
    this.evenings = false;
    this.refreshedAt = performance.now();
    if (!live) return this.loadFragment();
    const key = this.key();
    const answer = await fetch(this.address("", this.look.query()), { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer?.ok || key !== this.key() || !this.look.isLive) return;
    const fresh = document.createElement("template");
    fresh.innerHTML = await answer.text();
    this.stoppedLive.take(fresh.content);
    const alarms = fresh.content.querySelector("[data-alarms]");
    if (alarms) this.countAlarms(alarms.dataset.alarms);
    this.script?.then((script) => script?.updated?.(this.panel, this));
  }

  // Nothing moves under the pointer, nor under a field that is being filled in.
  isAtRest() {
    return !this.panel.matches(":hover") && !this.panel.contains(document.activeElement);
  }
}

function setPoint(figure, firm, day, amount) {
  const line = figure?.data.find(({ meta }) => meta.key === firm);
  if (!line) return;
  const at = line.x.lastIndexOf(day);
  if (at >= 0) line.y[at] = amount;
  else if (!line.x.length || day > line.x.at(-1)) {
    line.x.push(day);
    line.y.push(amount);
  }
}
