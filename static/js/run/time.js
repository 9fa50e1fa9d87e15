// The days: a slider, a player, steps by arrow keys, and through whose eyes. Nothing here fetches or draws: it changes
// the look, and whoever shows something follows.

import { setText } from "./slots.js";

const TYPES_WITH_ARROWS = "input, select, textarea, pre, [role=tab], [contenteditable], [data-arrows]";

export class Time {
  constructor(look, state, onPlay) {
    Object.assign(this, { look, state, onPlay });
    const find = (id) => document.getElementById(id);
    Object.assign(this, { slider: find("day"), text: find("day-text"), play: find("play"), speed: find("speed") });
    Object.assign(this, { live: find("live"), knower: find("knower"), back: find("day-back"), on: find("day-on") });
    this.slider.addEventListener("input", () => this.to(this.slider.valueAsNumber, { stop: true }));
    this.back.addEventListener("click", () => this.step(-1));
    this.on.addEventListener("click", () => this.step(1));
    this.live.addEventListener("click", () => this.to(Infinity, { stop: true }));
    this.play.addEventListener("click", () => (this.isPlaying ? this.stop() : this.start()));
    this.knower.addEventListener("change", () => look.change({ as: this.knower.value }));
    addEventListener("keydown", (event) => this.key(event));
    look.addEventListener("change", () => this.show());
    document.addEventListener("visibilitychange", () => document.hidden && this.stop());
    this.show();
  }

  get isPlaying() {
    return Boolean(this.playing);
  }

  // The day of the run's clock; that of a finished run is its last.
  get today() {
    return this.state.today;
  }

  update(state) {
    this.state = state;
    this.show();
  }

  // A day of the past, or the present for any day that is not over.
  to(day, { stop = false } = {}) {
    if (stop) this.stop();
    this.look.change({ day: day >= this.today ? null : Math.max(0, day) });
    if (this.look.isLive) this.stop();
    this.show();
  }

  step(days) {
    this.to((this.look.day ?? this.today) + days, { stop: true });
  }

  key(event) {
    const days = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!days || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.defaultPrevented || event.target.closest(TYPES_WITH_ARROWS)) return;
    event.preventDefault();
    this.step(days);
  }

  start() {
    if (this.look.isLive) this.to(0);
    if (this.look.isLive) return; // nothing is past yet
    this.rebase();
    this.playing = requestAnimationFrame(() => this.advance());
    this.shown();
  }

  // By the clock, not by the frames: a slow browser leaves days out and keeps the pace.
  advance() {
    const days = Math.floor(((performance.now() - this.startedAt) / 1000) * Number(this.speed.value));
    if (Number(this.speed.value) !== this.rate) this.rebase();
    else if (this.startedDay + days !== this.look.day) this.to(this.startedDay + days);
    if (!this.look.isLive && this.playing) this.playing = requestAnimationFrame(() => this.advance());
  }

  rebase() {
    this.rate = Number(this.speed.value);
    this.startedAt = performance.now();
    this.startedDay = this.look.day;
  }

  stop() {
    if (!this.playing) return;
    cancelAnimationFrame(this.playing);
    this.playing = null;
    this.shown();
    this.onPlay(false);
  }

  shown() {
    this.play.setAttribute("aria-pressed", String(this.isPlaying));
    setText(this.play.querySelector("span"), this.isPlaying ? "❚❚" : "▶");
    this.play.setAttribute("aria-label", this.isPlaying ? "Pause the player" : "Play the days");
    this.play.title = this.play.getAttribute("aria-label");
    if (this.isPlaying) this.onPlay(true);
  }

  show() {
    if (this.look.day !== null && this.look.day >= this.today) this.look.change({ day: null });
    const day = this.look.day ?? this.today;
    this.slider.value = day;
    this.slider.style.setProperty("--played", `${(100 * this.today) / Math.max(1, Number(this.slider.max))}%`);
    const { status } = this.state;
    const isMoving = ["running", "waiting"].includes(status);
    const words = this.look.isLive ? (isMoving ? "live" : status === "finished" ? "the end" : "now") : "its evening";
    // Days that pass by themselves are not read out one by one.
    this.text.setAttribute("aria-live", this.look.isLive || this.isPlaying ? "off" : "polite");
    setText(this.text, `Day ${day} · ${words}`);
    this.slider.setAttribute("aria-valuetext", `Day ${day}, ${words}`);
    setText(this.live, isMoving ? "Live" : status === "finished" ? "End" : "Now");
    this.live.setAttribute("aria-pressed", String(this.look.isLive));
    this.back.disabled = day <= 0;
    this.on.disabled = this.look.isLive;
    this.play.disabled = this.today <= 0;
    this.knower.value = this.look.as;
    const root = document.getElementById("run");
    root.toggleAttribute("data-past", !this.look.isLive);
    root.dataset.shown = day;
  }
}
