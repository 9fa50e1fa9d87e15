// A participant's page: an error is read out first, a code can be copied, and the researcher sees that it is open.
import { copy } from "./copy.js";

document.getElementById("refusal")?.focus();

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  copy(source.textContent.trim(), button, source);
});

const EVERY_MS = 10_000;
const here = document.body.dataset.here;
const csrf = document.querySelector("[name=csrfmiddlewaretoken]")?.value;

// Whoever has gone on in another window, or into the game, is told; what is typed here stays.
async function beat() {
  const headers = { "X-CSRFToken": csrf, "X-Requested-With": "room" };
  const answer = await fetch(here, { method: "POST", headers }).catch(() => null);
  if (!answer?.ok) return;
  const { stage } = await answer.json();
  document.getElementById("moved").hidden = stage === document.body.dataset.stage;
}

if (here && csrf) {
  beat();
  setInterval(beat, EVERY_MS);
}
