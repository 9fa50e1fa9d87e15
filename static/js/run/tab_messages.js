// A thread is read from its newest text upwards: its box opens at the end, and stays there while it is watched.

const NEAR_PX = 24;

let seen = null; // which thread is in the box
let isAtEnd = true;

const boxOf = (panel) => panel.querySelector("#mail-box");

function note(event) {
  if (event.target.id !== "mail-box") return;
  const { scrollHeight, scrollTop, clientHeight } = event.target;
  isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX;
}

export function opened(panel) {
  seen = null;
  panel.addEventListener("scroll", note, { capture: true, passive: true });
  updated(panel);
}

export function updated(panel) {
  const box = boxOf(panel);
  if (!box) return;
  const isOther = box.dataset.thread !== seen;
  seen = box.dataset.thread;
  if ((isOther || isAtEnd) && "newest" in box.dataset) box.scrollTop = box.scrollHeight;
  else if (isOther) box.scrollTop = 0;
}

export function closed(panel) {
  panel.removeEventListener("scroll", note, { capture: true });
}
