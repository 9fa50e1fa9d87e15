// The header and the banners: the day, the slots, whose turn it is, and what is not as usual.

import { setText, slot } from "../run/slots.js";
import { wishes } from "./kept.js";

const STATES = {
  paused: "Paused",
  draft: "Not started yet",
  failed: "Halted by a fault",
  finished: "Finished",
  stopped: "Ended",
};
const TITLES = { ...STATES, your_turn: "● Your turn", waiting: "Waiting", stand_in: "A stand-in plays" };
const DRIVERS = { script: "A script", model: "A language model" };

export class Header {
  constructor(title) {
    this.title = title;
    this.head = document.getElementById("head");
    this.skewMs = 0;
    this.state = null;
    this.isSending = false;
    document.getElementById("nudge-seen").addEventListener("click", () => {
      wishes.set("nudge-seen", this.state.nudged_at);
      this.show(this.state);
    });
    setInterval(() => this.tick(), 1000);
  }

  show(state) {
    this.state = state;
    if (state.now) this.skewMs = new Date(state.now) - Date.now();
    this.head.dataset.status = state.status;
    setText(slot(this.head, "moment"), state.moment);
    this.showSlots(state.time);
    this.tick();
    this.showStandIn(state);
    const isOwnPause = state.pause === "on";
    const pause = document.getElementById("pause");
    pause.hidden = !state.pause;
    pause.disabled = isOwnPause;
    this.banner("own-pause", isOwnPause ? state.status_text : "", "own-pause");
    this.banner("status", isOwnPause ? "" : state.status_text);
    this.rest(isOwnPause);
    const isNew = state.nudge && wishes.get("nudge-seen") !== state.nudged_at;
    this.banner("nudge", isNew ? `From the researcher: ${state.nudge}` : "", "nudge");
  }

  // Nobody thinks off the clock: the desk is out of reach, and whoever was at it finds the way back under their finger.
  rest(isResting) {
    const desk = document.getElementById("content");
    if (desk.inert === isResting) return;
    desk.inert = isResting;
    document.getElementById(isResting ? "go-on" : "do-column").focus({ preventScroll: true });
  }

  showSlots(time) {
    const place = slot(this.head, "slots");
    const [left, all] = time ? [time.calls_left_today, time.calls_per_day] : [0, 0];
    if (place.childElementCount !== all) place.replaceChildren(...Array.from({ length: all }, () => document.createElement("i")));
    [...place.children].forEach((piece, index) => piece.classList.toggle("left", index >= all - left));
    place.setAttribute("aria-label", time ? `${left} of ${all} slots left today` : "no slots yet");
    setText(slot(this.head, "slots-text"), time ? `slots ${left} of ${all}` : "");
  }

  tick() {
    if (!this.state) return;
    setText(slot(this.head, "turn"), this.turnWords());
    setText(slot(this.head, "waited"), this.waitedText());
    const mark = TITLES[this.state.status];
    const text = `${mark} · ${this.title}`;
    if (document.title !== text) document.title = text;
  }

  // How long a wait has lasted.
  waitedText() {
    const { status, waiting_since: since } = this.state;
    const isWaiting = status === "waiting" && !this.isSending && since;
    return isWaiting ? `· ${duration(Date.now() + this.skewMs - new Date(since))}` : "";
  }

  turnWords() {
    const { status, waiting_for: names, driver } = this.state;
    if (this.isSending) return "sending…";
    if (status === "stand_in") return `${DRIVERS[driver].toLowerCase()} plays`;
    if (status === "your_turn") return "your turn";
    if (status !== "waiting") return STATES[status] ?? status;
    return names.length ? `waiting for ${listed(names)}` : "the table moves on…";
  }

  showStandIn(state) {
    const plays = state.driver !== "owner" && !state.is_over;
    const since = wallClock(new Date(state.driver_since)).slice(0, 5);
    const text = `${DRIVERS[state.driver]} has played ${this.title} since ${since}. ${
      state.may_take_back ? "You were away." : "The researcher has arranged it."
    }`;
    this.banner("stand-in", plays ? text : "", "stand-in");
    document.getElementById("back").hidden = !state.may_take_back;
  }

  banner(id, text, name) {
    const place = document.getElementById(id);
    setText(name ? slot(place, name) : place, text || "");
    place.hidden = !text;
  }

  lost(heardAt, isPolling) {
    const when = wallClock(heardAt);
    const how = isPolling ? " Meanwhile the page looks by itself every few seconds." : "";
    this.banner("offline", `Reconnecting… what you see is from ${when}.${how}`);
  }

  connected() {
    this.banner("offline", "");
  }

  ended(why) {
    this.banner("offline", why);
  }
}

const listed = (names) => (names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", "));

// 14:30:12, of the clock where the player sits.
const wallClock = (date) => date.toLocaleTimeString("en-GB");

function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
