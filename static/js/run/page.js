// The run's page: goes on from the snapshot in it, event by event, in the order of their numbers and each once.
//
// What the socket brings is taken in at once (`seq`), and put on the page with the next frame the browser draws: a
// thousand events that were missed are one change of the page. `data-seq` is the last event that the page shows.

import { Socket } from "../socket.js";
import { Alarms } from "./alarms.js";
import { Cards } from "./cards.js";
import { Header } from "./header.js";
import { Look } from "./look.js";
import { reloadSoon } from "./reload.js";
import { Tabs } from "./tabs.js";
import { Tape } from "./tape.js";
import { Time } from "./time.js";

const snapshot = JSON.parse(document.getElementById("snapshot").textContent);
const root = document.getElementById("run");
const look = new Look(snapshot.tabs.map(({ name }) => name));
const header = new Header(look, snapshot.state);
const cards = new Cards(look, snapshot);
const tabs = new Tabs({ look, ...snapshot });
const time = new Time(look, snapshot.state, (isPlaying) => (tabs.isPlaying = isPlaying));
const alarms = new Alarms(look, snapshot.run, { cards, tabs });
const tape = new Tape({ look, ...snapshot }, (lasts) => cards.showLasts(lasts));

// What is downloaded is what is looked at.
function followBooks() {
  const { day, as } = look;
  for (const link of document.querySelectorAll("a[data-books]")) link.search = new URLSearchParams({ day: day ?? "", as });
}
look.addEventListener("change", followBooks);
followBooks();

let seq = snapshot.since;
let drawing = false;
const news = { lines: [], evenings: [], standings: {}, state: null };

const socket = new Socket(() => `/ws/runs/${snapshot.run}/?since=${seq}`, {
  onMessage: (message) => ({ page: take, reload: reloadSoon })[message.type]?.(message),
  onOpen: () => {
    root.dataset.connected = "true";
    header.connected();
    tabs.retry();
  },
  onLost: (heardAt) => {
    root.dataset.connected = "false";
    header.lost(heardAt);
  },
  onEnd: (why) => {
    root.dataset.connected = "false";
    header.ended(why);
  },
});

function take(page) {
  const lines = page.lines.filter((line) => line.number > seq);
  if (lines.some((line, index) => line.number !== seq + 1 + index)) return socket.again();
  seq += lines.length;
  news.lines.push(...lines);
  news.evenings.push(...page.evenings);
  Object.assign(news.standings, page.standings);
  news.state = page.state;
  socket.send({ have: seq });
  if (!drawing) requestAnimationFrame(show);
  drawing = true;
}

function show() {
  drawing = false;
  if (news.state) {
    header.show(news.state);
    time.update(news.state);
  }
  tape.add(news.lines);
  cards.update(news);
  tabs.update(news);
  tabs.feed(news.evenings);
  if (news.evenings.length) alarms.update();
  Object.assign(news, { lines: [], evenings: [], standings: {}, state: null });
  root.dataset.seq = seq;
}

// The buttons' answers, which need not wait for the socket.
document.body.addEventListener("run-state", (event) => {
  header.show(event.detail);
  time.update(event.detail);
});
