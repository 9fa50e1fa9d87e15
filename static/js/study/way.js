// A participant's page: an error is read out first, a code can be copied, and the researcher sees that it is open.
import { copy } from "./copy.js";

document.getElementById("refusal")?.focus();

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  copy(source.textContent.trim(), button, source);
});

const here = document.body.dataset.here;
const csrf = document.querySelector("[name=csrfmiddlewaretoken]")?.value;

function beat() {
  fetch(here, { method: "POST", headers: { "X-CSRFToken": csrf, "X-Requested-With": "room" } }).catch(() => {});
}

if (here && csrf) {
  beat();
  setInterval(beat, 10000);
}
