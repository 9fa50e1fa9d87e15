// The waiting room: its socket says how many are there and whether it begins. While the socket is lost, the page asks.

import { Socket } from "../socket.js";

const BEAT_MS = 10_000;
const LOOK_MS = 3_000;
const room = document.getElementById("room");
const lost = room.querySelector("[data-lost]");
const bell = document.getElementById("bell");
const time = room.querySelector("[data-time]");
const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;
let audio = null;
let isConnected = false;

const local = new Date(time.dateTime);
time.textContent = local.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

// Browsers let a page sound only after a click on it, so the ticked box is what opens the way.
bell.addEventListener("change", () => {
  if (!bell.checked) return;
  audio ??= new AudioContext();
  ring(0.05);
});

function ring(volume = 0.25) {
  if (!audio || !bell.checked) return;
  const tone = audio.createOscillator();
  const gain = audio.createGain();
  tone.frequency.value = 660;
  gain.gain.setValueAtTime(volume, audio.currentTime);
  gain.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.8);
  tone.connect(gain).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.8);
}

function show(counts) {
  for (const slot of room.querySelectorAll("[data-room]")) {
    const text = String(counts[slot.dataset.room]);
    if (slot.textContent !== text) slot.textContent = text;
  }
  const places = room.querySelector("[data-places]");
  if (counts.places > 24) return;
  places.replaceChildren(
    ...Array.from({ length: counts.places }, (_, place) => {
      const dot = document.createElement("i");
      dot.classList.toggle("is-taken", place < counts.taken);
      return dot;
    }),
  );
}

function hear({ stage, room: counts }) {
  if (stage === room.dataset.stage) return show(counts);
  document.title = "● The game begins";
  ring();
  setTimeout(() => location.reload(), bell.checked ? 700 : 0);
}

const socket = new Socket(() => `/ws${location.pathname}`, {
  onMessage: (message) => message.type === "state" && hear(message.state),
  onOpen: () => {
    isConnected = true;
    lost.hidden = true;
    giveSign();
  },
  onLost: () => {
    isConnected = false;
    look();
  },
  onEnd: () => location.reload(), // the page says why the link opens nothing
  final: { 4400: "", 4410: "" },
});

// It keeps the place, as well as saying that somebody is here.
const giveSign = () => socket.send({ beat: true });
setInterval(giveSign, BEAT_MS);

// While the socket is lost.
async function look() {
  if (isConnected) return;
  try {
    const answer = await fetch(room.dataset.here, {
      method: "POST",
      headers: { "X-CSRFToken": csrf, "X-Requested-With": "room" },
      signal: AbortSignal.timeout(10000),
    });
    if (answer.status === 404 || answer.status === 410 || answer.status === 403) return location.reload();
    if (!answer.ok) throw new Error(String(answer.status));
    hear(await answer.json());
    lost.hidden = true;
  } catch {
    lost.hidden = isConnected;
  }
}
setInterval(look, LOOK_MS);

show(Object.fromEntries([...room.querySelectorAll("[data-room]")].map((slot) => [slot.dataset.room, Number(slot.textContent)])));
