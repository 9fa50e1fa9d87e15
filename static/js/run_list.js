// Fetches the rows of the list again when a run has moved, at most once a second and only while somebody looks.

import { Socket } from "./socket.js";

const REFRESH_MS = 1000;
let due = false;
let waiting = false;

function refresh() {
  due = true;
  if (waiting || document.hidden) return;
  due = false;
  waiting = true;
  window.htmx.trigger(document.getElementById("runs"), "refresh");
  setTimeout(() => {
    waiting = false;
    if (due) refresh();
  }, REFRESH_MS);
}

document.addEventListener("visibilitychange", () => due && refresh());
new Socket(() => "/ws/runs/", {
  onMessage: (message) => message.type === "runs" && refresh(),
  onOpen: refresh, // whatever happened while the line was down
  onLost: () => {},
  onEnd: () => {},
});
