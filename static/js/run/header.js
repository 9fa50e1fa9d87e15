// The head of the page: status and why, clock, progress, what may be done, and whether the page is up to date.

import { setText, slot } from "./slots.js";

const STUCK_MS = 15_000;
const ALARM_MS = 10_000;
const MOST_NAMED = 3;
const REFUSED = 409; // with a sentence why
const clockOf = (date) => date.toLocaleTimeString("en-GB");

export function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

const dateOf = (date) =>
  date.toLocaleString("en-GB", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

const inText = (time) => (new Date(time) > Date.now() ? `, in ${duration(new Date(time) - Date.now())}` : "");

function waitingText(waiting) {
  const named = waiting.slice(0, MOST_NAMED).map(({ who, since }) => `${who}, ${duration(Date.now() - new Date(since))}`);
  const others = waiting.length - named.length;
  return named.join("; ") + (others > 0 ? ` and ${others} more` : "");
}

function troubleText(waiting) {
  const troubled = waiting.filter(({ trouble }) => trouble);
  return troubled.map(({ who, trouble, again }) => `${who}: ${trouble}${again ? ` Asked again at ${clockOf(new Date(again))}${inText(again)}.` : ""}`).join(" ");
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]; // day 0 is a Monday
const eveningOf = (day) => `Day ${day} · ${WEEKDAYS[day % 7]} 19:00`;

export class Header {
  constructor(look, state) {
    this.look = look;
    this.element = document.getElementById("run-header");
    this.offline = document.getElementById("offline");
    this.alarm = document.getElementById("alarm");
    this.dialog = document.getElementById("cancel-dialog");
    document.getElementById("cancel").addEventListener("click", () => this.dialog.showModal());
    this.dialog.querySelector("[data-close]").addEventListener("click", () => this.dialog.close());
    this.dialog.querySelector("form").addEventListener("submit", () => this.dialog.close());
    this.element.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
      this.say(xhr.status === REFUSED ? xhr.responseText : "The server could not do it.");
    });
    this.element.addEventListener("htmx:sendError", () => this.say("The server does not answer. Nothing was changed."));
    new ResizeObserver(() => this.measure()).observe(this.element);
    this.show(state);
    look.addEventListener("change", () => this.showClock());
    setInterval(() => this.tick(), 1000);
  }

  // What sticks below the header must know how high it is.
  measure() {
    const isSticky = getComputedStyle(this.element).position === "sticky";
    document.documentElement.style.setProperty("--header-block", isSticky ? `${this.element.offsetHeight}px` : "0px");
  }

  show(state) {
    this.movedAt = Date.now();
    if (this.standsStill) this.beSilent();
    this.state = state;
    const status = this.element.querySelector(".status");
    status.dataset.status = state.status;
    setText(slot(status, "label"), state.label);
    setText(slot(this.element, "reason"), state.reason);
    setText(slot(this.element, "advice"), state.advice);
    this.showClock();
    setText(slot(this.element, "trouble"), troubleText(state.waiting));
    slot(this.element, "progress").value = state.percent;
    this.showSpend(state.spend);
    this.showVerbs(state.verbs);
    const pace = document.getElementById("pace");
    if (document.activeElement !== pace) pace.value = String(state.pace);
    if (!state.verbs.includes("cancel")) this.dialog.close();
    this.tick();
  }

  // Whoever has just pressed Pause finds Resume under the same key.
  showVerbs(verbs) {
    const focused = document.activeElement;
    for (const control of this.element.querySelectorAll("[data-verb]")) control.hidden = !verbs.includes(control.dataset.verb);
    if (focused.closest("[data-verb]")?.hidden) this.element.querySelector(".run-verbs :is([data-verb]:not([hidden]) button, a)").focus();
  }

  // The moment that the page shows; in the past also where the run is meanwhile, whose place is kept in the present.
  showClock() {
    const { day, isLive } = this.look;
    setText(slot(this.element, "clock"), isLive ? this.state.clock : eveningOf(day));
    setText(slot(this.element, "meanwhile"), ` · the run is at ${this.state.clock}`);
  }

  // What the models cost; a run that only scripts play has no place for it.
  showSpend(spend) {
    if (!spend) return;
    for (const name of ["spent", "forecast", "warning"]) setText(slot(this.element, name), spend[name]);
    setText(slot(this.element, "left"), spend.ends ? `ends about ${dateOf(new Date(spend.ends))}` : spend.left);
    const budget = slot(this.element, "budget");
    if (budget) budget.value = spend.percent ?? 0;
  }

  // What changes with the clock on the wall alone.
  tick() {
    const { started, ended, is_over: isOver, waiting: waitingFor, again } = this.state;
    const until = isOver && ended ? new Date(ended) : new Date();
    setText(slot(this.element, "elapsed"), started ? ` · wall time ${duration(until - new Date(started))}` : "");
    const waiting = slot(this.element, "waiting");
    waiting.hidden = !waitingFor.length;
    setText(waiting, (this.state.status === "running" ? "waiting for " : "") + waitingText(waitingFor));
    waiting.title = waiting.textContent;
    slot(this.element, "again").hidden = !again;
    setText(slot(this.element, "again"), again ? `It tries again at ${clockOf(new Date(again))}${inText(again)}.` : "");
    this.lookForWorkers();
  }

  // A run that should move and does not: is there anybody to move it? Those who ask models do not. Said until it moves.
  async lookForWorkers() {
    const restMs = STUCK_MS + 1000 * this.state.pace;
    const stuck = this.state.status === "running" && Date.now() - this.movedAt > restMs;
    if (!stuck || document.hidden || !this.offline.hidden) return;
    this.movedAt = Date.now();
    const answer = await fetch("/healthz").catch(() => null);
    const health = await answer?.json().catch(() => null);
    this.standsStill = Boolean(health?.workers?.every((name) => name.startsWith("llm@")));
    if (this.standsStill) this.say("No worker is alive, so the run stands still. It goes on once one is started.", 2 * restMs);
  }

  say(text, ms = ALARM_MS) {
    setText(this.alarm, text);
    this.alarm.hidden = false;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.beSilent(), ms);
  }

  beSilent() {
    this.alarm.hidden = true;
    this.standsStill = false;
  }

  connected() {
    this.offline.hidden = true;
    setText(this.offline, "");
  }

  lost(heardAt) {
    this.offline.hidden = false;
    setText(this.offline, `Reconnecting… what you see is from ${clockOf(heardAt)}.`);
  }

  ended(why) {
    this.offline.hidden = false;
    setText(this.offline, why);
  }
}
