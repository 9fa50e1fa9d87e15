// The player's console: sends actions, shows what came of them, and follows the seat's state.
//
// The server's socket says where the seat stands; whenever that is news, the pieces of the desk are fetched anew. Every
// action carries the number of the turn that the page shows, so that two tabs, or a repeated request, cannot act twice.

import { Socket } from "../socket.js";
import { setText } from "../run/slots.js";
import { fetchUnfoldedDays } from "./days.js";
import { Forms } from "./forms.js";
import { Header } from "./header.js";
import { drafts, socketPath } from "./kept.js";
import { Keys } from "./keys.js";
import { swap } from "./parts.js";
import { deliver, get, post, undelivered } from "./post.js";
import { Sound } from "./sound.js";

const BEAT_MS = 10_000;
const LOOK_MS = 3_000;
const IMPATIENT_MS = [700, 1_500, 3_000, 6_000];
const AT_ONCE_MS = 1_500;
const BETWEEN_MS = 400;
const TOLD_MS = 6_000;
const WAIT = "wait_for_next_day";

const json = (id) => JSON.parse(document.getElementById(id).textContent);
const find = (id) => document.getElementById(id);
const rules = json("rules");
const desk = json("start");
const title = document.querySelector("h1").textContent.replace("You run ", "");

const header = new Header(title);
const sound = new Sound();
let underWay = null; // the action that is being sent
let queueing = null; // the action that is being added to the queue, the newest of several
let queued = Promise.resolve();
let isConnected = false;
let isGone = false;
let heardAt = new Date();
let sentAt = 0;
let wasActive = true;
let fetching = null;
let isStale = false;
let refreshTimer = 0;
let stamp = desk.state.now;
const forms = new Forms(rules, () => ({ ...desk, recipes: rules.recipes, time: desk.state.time }), showButtons);

// What the server says

function take(told) {
  if (told.state.now < stamp) {
    if (differs(told.state, desk.state)) return; // what has overtaken it brings its own pieces
    told = { ...told, state: desk.state };
  }
  stamp = told.state.now ?? stamp;
  const before = desk.state;
  Object.assign(desk, told);
  heardAt = new Date();
  header.show(desk.state);
  if (desk.state.nudged_at !== before.nudged_at && desk.state.nudge) sound.beep();
  if (desk.state.is_over && !before.is_over) return setTimeout(() => location.reload(), 1200);
  if (told.pieces) showPieces(told);
  showButtons();
}

function showPieces(told) {
  for (const [name, html] of Object.entries(told.pieces)) swap(find(name), html);
  setText(find("age"), told.age ? `as of ${told.age}` : "");
  forms.showChoices();
  forms.update();
  find("content").dataset.turn = desk.state.turn ?? "";
  find("content").dataset.shown = String(desk.state.last_turn);
  tellTurn();
}

let toldTurn = turnToTell();

// Says once that a turn has come, to eyes, ears and readers of the screen.
function tellTurn() {
  const { time } = desk.state;
  const turn = turnToTell();
  if (turn === toldTurn) return;
  toldTurn = turn;
  if (!turn) return say(header.turnWords());
  if (find("content").dataset.tab !== "did") tabOf("did").dataset.news = "";
  const newest = document.querySelector("#did .call");
  const result = newest ? newest.innerText.replace(/[↻✎\s]+/g, " ").slice(0, 240) : "";
  const woken = desk.woken_by.length ? `Woken: ${desk.woken_by.join("; ")}. ` : "";
  say(`${woken}Your turn: Day ${time.day} ${time.clock}, ${time.calls_left_today} slots left. ${result}`);
  if (desk.woken_by.length && (document.hidden || Date.now() - sentAt > AT_ONCE_MS)) sound.beep();
}

// A turn that a stand-in plays is no news to the person.
function turnToTell() {
  return desk.state.status === "stand_in" ? null : desk.state.turn;
}

function say(text) {
  setText(find("live"), text);
}

// A press that cannot be taken now: says why, to eyes as well. What was typed stays where it is.
let toldTimer = 0;
function tellNotTaken(text) {
  const place = find("not-taken");
  setText(place, text);
  place.hidden = false;
  clearTimeout(toldTimer);
  toldTimer = setTimeout(() => (place.hidden = true), TOLD_MS);
}

// Fetches the pieces; whoever asks while they are on their way gets them once more afterwards.
function refresh() {
  isStale = true;
  fetching ??= (async () => {
    while (isStale) {
      isStale = false;
      const answer = await get("parts/").catch(() => null);
      if (answer?.status === 200) take(answer.data);
      else if (answer) refuse(answer);
    }
  })().finally(() => (fetching = null));
  return fetching;
}

function hear(state) {
  const isNews = differs(state, desk.state);
  take({ state });
  if (!isNews) return;
  // Against scripts the next turn follows at once: to fetch the moment between would only hold it up.
  const isBetween = state.turn === null && Date.now() - sentAt < AT_ONCE_MS;
  clearTimeout(refreshTimer);
  if (isBetween) refreshTimer = setTimeout(refresh, BETWEEN_MS);
  else refresh();
}

const differs = (one, other) => JSON.stringify({ ...one, now: "" }) !== JSON.stringify({ ...other, now: "" });

// A link that is void by now, or a page that is too old to be heard.
function refuse({ status, data }) {
  if (status === 410 || status === 404) leave(data?.error ?? "This link no longer opens a seat.");
  if (status === 403) header.ended("This page is too old to be heard. Load it again: what you typed stays.");
}

function leave(why) {
  isGone = true;
  socket.end(why);
  showButtons();
}

// Acting

function isMyTurn() {
  return desk.state.status === "your_turn";
}

function mayAct() {
  return isMyTurn() && !underWay && !isGone;
}

// Why nothing is sent just now; empty if something may be.
function whyNot() {
  if (underWay) return `${titleOf(underWay)} is still being sent; nothing else was. What you typed stays.`;
  if (!isMyTurn()) return `Not sent: ${header.turnWords()}. What you typed stays; you can queue it.`;
  return "";
}

const titleOf = ({ tool }) => rules.tools[tool]?.title ?? tool;

function showButtons() {
  const send = find("send");
  send.disabled = !mayAct() || !forms.tool;
  find("enqueue").disabled = isGone || !forms.tool;
  document.body.classList.toggle("not-my-turn", !mayAct());
  for (const button of document.querySelectorAll("[data-act][data-sends]")) button.setAttribute("aria-disabled", String(!mayAct()));
}

const asPosted = (values) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`arg.${name}`, value === false ? "" : String(value ?? "")]));

async function send(tool, values, rationale) {
  if (isGone) return;
  if (whyNot()) return tellNotTaken(whyNot());
  await deliverAction({ turn: desk.state.turn, tool, rationale, ...asPosted(values) });
}

async function deliverAction(values) {
  setSending(values);
  sentAt = Date.now();
  forms.clearProblems();
  find("not-taken").hidden = true;
  const answer = await deliver("act/", values, (attempts) =>
    header.banner("sending", `No answer yet (${attempts} ${attempts === 1 ? "try" : "tries"}). Sending the same action again; it is never done twice.`),
  );
  header.banner("sending", "");
  setSending(null);
  answered(answer, values);
}

function answered(answer, values) {
  const { status, data } = answer;
  if (status === 200 && data.is_taken) {
    clearWhatWasSent(values);
    if (!document.activeElement?.closest("#know-column, #did-column")) find("do-column").focus({ preventScroll: true });
    if (desk.state.turn === Number(values.turn)) take({ state: { ...desk.state, turn: null, status: "waiting", waiting_since: data.now, now: data.now } });
    lookSoon(Number(values.turn));
  } else if (status === 200 && data.problems) {
    showProblems(values, data.problems);
  } else if (status === 200) {
    forms.showTrouble(data.error);
    take({ state: data.state });
    refresh();
  } else {
    forms.showTrouble("The action was not taken. Load the page again; what you typed stays.");
    refuse(answer);
  }
}

function showProblems({ tool }, problems) {
  if (forms.tool !== tool) forms.open(tool);
  forms.showProblems(problems);
  say(Object.values(problems).join("; "));
}

// Whoever types on while an action is under way keeps what they typed.
function clearWhatWasSent(values) {
  const isAsSent = Object.entries(asPosted(forms.values(values.tool))).every(([name, text]) => values[name] === text);
  if (isAsSent) forms.reset(values.tool);
  if (forms.rationale.value === values.rationale) forms.dropRationale();
}

// The socket brings the next turn; should it be slow or lost, the page looks by itself.
function lookSoon(turn) {
  for (const delay of IMPATIENT_MS) setTimeout(() => desk.state.last_turn === turn && refresh(), delay);
}

function setSending(action) {
  underWay = action;
  header.isSending = Boolean(action);
  header.tick();
  showButtons();
}

const sendForm = () => forms.tool && send(forms.tool, forms.values(), forms.rationale.value);

// Actions are added one after the other, each as it stood when the key was pressed.
function enqueue() {
  if (!forms.tool || isGone) return;
  const values = { tool: forms.tool, rationale: forms.rationale.value, ...asPosted(forms.values()) };
  const isSame = JSON.stringify(values) === JSON.stringify(queueing);
  if (isSame) return tellNotTaken(`${titleOf(values)} is being added to the queue already.`);
  queueing = values;
  queued = queued.then(() => addToQueue(values));
}

async function addToQueue(values) {
  const answer = await post("queue/add/", values).catch(() => null);
  if (queueing === values) queueing = null;
  if (answer?.data?.state) {
    clearWhatWasSent(values);
    say("Added to the queue.");
    hearQueue(answer);
  } else if (answer?.data?.problems) showProblems(values, answer.data.problems);
  else forms.showTrouble(`${titleOf(values)} was not queued. ${answer?.data?.error ?? "The queue could not be reached; try again."}`);
}

async function changeQueue(change, values = {}) {
  const answer = await post(`queue/${change}/`, { change, ...values }).catch(() => null);
  if (answer?.data?.state) hearQueue(answer);
  else {
    forms.showTrouble(answer?.data?.error ?? "The queue could not be reached; try again.");
    refresh();
  }
}

function hearQueue(answer) {
  take({ state: answer.data.state });
  refresh();
}

// A button in a row: sends its call, or fills the form for it where something is left to say.
function actFromRow(button) {
  const values = JSON.parse(button.dataset.arguments);
  const rationale = forms.rationale.value || button.dataset.reason || "";
  const mustFill = !("sends" in button.dataset) || !isMyTurn() || (desk.state.wants_rationale && !rationale.trim());
  if (!mustFill) return send(button.dataset.act, values, rationale);
  if (!(button.dataset.act in rules.tools)) return;
  showTab("do");
  forms.fill(button.dataset.act, values, rationale);
  if (desk.state.wants_rationale && !rationale.trim() && "sends" in button.dataset) forms.rationale.focus();
}

async function wait() {
  if (whyNot()) return tellNotTaken(whyNot());
  if (desk.state.wants_rationale && !forms.rationale.value.trim()) {
    forms.open(WAIT, { focus: false });
    return forms.rationale.focus();
  }
  const unsent = forms.dirtyTools().map((tool) => rules.tools[tool].title);
  if (unsent.length && !(await isSure(`You have not sent what you typed under ${unsent.join(", ")}. It stays there.`))) return;
  send(WAIT, {}, forms.rationale.value);
}

function isSure(text) {
  const dialog = find("sure");
  setText(find("sure-text"), text);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

function repeat() {
  if (!desk.last) return say("There is nothing to repeat yet.");
  const { tool, arguments: values, rationale } = desk.last;
  if (!mayAct()) {
    tellNotTaken(`Not sent: ${header.turnWords()}. It is in its form.`);
    return forms.fill(tool, values, rationale);
  }
  send(tool, values, forms.rationale.value || rationale);
}

// Getting about

function openSheet(name) {
  const dialog = find(name === "keys" ? "briefing" : name);
  dialog.showModal();
  if (name === "keys") find("keys").scrollIntoView({ block: "start" });
  else dialog.querySelector("textarea, [tabindex]")?.focus();
}

function openGroup(number) {
  const tab = document.querySelector(`[data-number="${number}"]`);
  if (!tab) return false;
  showTab("do");
  forms.showGroup(tab.dataset.group);
  const tools = document.querySelectorAll(`[data-tools="${tab.dataset.group}"] [data-tool]`);
  if (tools.length === 1) forms.open(tools[0].dataset.tool);
  else tools[0]?.focus();
  return true;
}

function goToRows(column) {
  showTab(column.replace("-column", ""));
  const stops = [...find(column).querySelectorAll("button, summary")].filter((one) => one.checkVisibility());
  (stops.find((one) => one.matches(".row-act")) ?? stops[0] ?? find(column)).focus();
}

function showTab(name) {
  delete tabOf(name).dataset.news;
  if (find("content").dataset.tab === name) return;
  find("content").dataset.tab = name;
  scrollTo(0, 0); // on a narrow screen, where it is another page
  for (const button of document.querySelectorAll(".desk-tabs [data-tab]")) {
    button.setAttribute("aria-pressed", String(button.dataset.tab === name));
  }
}

const tabOf = (name) => document.querySelector(`.desk-tabs [data-tab=${name}]`);

// The second click of a double one sends nothing: the row that it was meant for may be gone, and another in its place.
document.addEventListener(
  "click",
  (event) => {
    if (event.detail > 1 && event.target.closest("#send, #enqueue, [data-sends]")) event.stopImmediatePropagation();
  },
  true,
);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button || button.disabled) return;
  const { act, queue, tool, group, open, tab } = button.dataset;
  if (act) actFromRow(button);
  else if (queue) changeQueue(queue, { from_end: button.dataset.fromEnd ?? "", tool: tool ?? "" });
  else if (tool) forms.open(tool);
  else if (group) openGroup(Number(button.dataset.number));
  else if (open) openSheet(open);
  else if (tab) showTab(tab);
  else if ("close" in button.dataset) button.closest("dialog").close();
});
async function pause(isOn) {
  const answer = await post("pause/", { is_on: String(isOn) }).catch(() => null);
  if (!answer?.data?.state) return tellNotTaken(answer?.data?.error ?? "The server could not be reached; try again.");
  take({ state: answer.data.state });
}
find("pause").addEventListener("click", () => pause(true));
find("go-on").addEventListener("click", () => pause(false));
find("send").addEventListener("click", sendForm);
find("enqueue").addEventListener("click", enqueue);

fetchUnfoldedDays();

new Keys(rules, {
  send: sendForm,
  enqueue,
  wait,
  repeat,
  queue: () => document.querySelector("#queue [data-queue=start], #queue [data-queue=stop]")?.click(),
  open: openSheet,
  tool: (name) => {
    showTab("do");
    forms.open(name);
  },
  group: openGroup,
  rows: goToRows,
});

// Notes

const notes = find("notes-text");
let notesTimer = 0;
notes.addEventListener("input", () => {
  setText(find("notes-state"), "…");
  drafts.set("notes", notes.value);
  clearTimeout(notesTimer);
  notesTimer = setTimeout(saveNotes, 800);
});
async function saveNotes(options = {}) {
  const text = notes.value;
  const answer = await post("notes/", { notes: text }, options).catch(() => null);
  const isSaved = Boolean(answer?.data?.is_saved);
  if (isSaved && notes.value === text) drafts.set("notes", null);
  setText(find("notes-state"), isSaved ? "Saved" : (answer?.data?.error ?? "Not saved yet; trying again"));
  clearTimeout(notesTimer);
  if (!isSaved && !isGone) notesTimer = setTimeout(saveNotes, 4000);
}
addEventListener("pagehide", () => drafts.get("notes") !== null && saveNotes({ keepalive: true }));
if (drafts.get("notes") !== null) {
  notes.value = drafts.get("notes");
  saveNotes();
}

// The line to the server

const socket = new Socket(() => socketPath, {
  onMessage: (message) => {
    heardAt = new Date();
    if (message.type === "state") hear(message.state);
  },
  onOpen: () => {
    isConnected = true;
    document.body.dataset.connected = "true";
    header.connected();
    giveSign();
  },
  onLost: () => {
    isConnected = false;
    document.body.dataset.connected = "false";
    header.lost(heardAt, false);
    look();
  },
  onEnd: (why) => {
    isGone = true;
    header.ended(why);
    showButtons();
  },
  final: { 4400: "This link opens no seat.", 4410: "This link is no longer valid. Ask the researcher for the new one." },
});

// While the socket is lost.
async function look() {
  if (isConnected || isGone) return;
  const answer = await get("state/").catch(() => null);
  if (answer?.status === 200) hear(answer.data);
  else if (answer) refuse(answer);
  if (!isConnected && !isGone) header.lost(heardAt, answer?.status === 200);
}
setInterval(look, LOOK_MS);

for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"]) {
  addEventListener(kind, () => (wasActive = true), { passive: true });
}
function giveSign() {
  if (isGone) return;
  const isActive = wasActive && !document.hidden;
  wasActive = false;
  if (isConnected) socket.send({ beat: isActive });
  else post("beat/", { active: String(isActive) }).catch(() => null);
}
setInterval(giveSign, BEAT_MS);

// On a narrow screen the tabs stick below the header, whose height depends on what it has to say.
new ResizeObserver(([entry]) => {
  document.documentElement.style.setProperty("--head", `${entry.borderBoxSize[0].blockSize}px`);
}).observe(find("head"));

header.show(desk.state);
forms.begin();
find("content").dataset.turn = desk.state.turn ?? "";
find("content").dataset.shown = String(desk.state.last_turn);

// What was on its way when the page was closed is asked about once more; its turn decides whether it still counts.
const left = undelivered();
if (left?.path === "act/") deliverAction(left.values);
