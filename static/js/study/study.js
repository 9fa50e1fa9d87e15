// A study's page: links are copied, and its live part is fetched again every few seconds, unless somebody is using it.
import { copy } from "./copy.js";

const EVERY_MS = 5000;
const live = document.getElementById("live");
let last = "";

document.addEventListener("click", (event) => {
  const one = event.target.closest("[data-copy]");
  if (one) copy(one.previousElementSibling.value, one, one.previousElementSibling);
  const all = event.target.closest("[data-copy-links]");
  if (all) copy(lines(), all, null);
  for (const menu of live.querySelectorAll(".people-verbs details[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && live.querySelector(".people-verbs details[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

function lines() {
  return [...live.querySelectorAll(".copy-link input")].map((input) => `${input.dataset.label}\t${input.value}`).join("\n");
}

function isInUse() {
  return live.contains(document.activeElement) || live.querySelector("details[open]") || live.contains(getSelection().anchorNode);
}

async function refresh() {
  try {
    const answer = await fetch(live.dataset.part, { headers: { "X-Requested-With": "study" }, redirect: "error" });
    const text = answer.ok ? await answer.text() : "";
    // Every answer masks its form keys anew; only what can be seen counts as news.
    const seen = text.replace(/name="csrfmiddlewaretoken" value="[^"]*"/g, "");
    if (text && seen !== last && !isInUse()) {
      live.innerHTML = text;
      last = seen;
    }
  } catch {
    // The next one will do.
  }
  setTimeout(refresh, document.hidden ? EVERY_MS * 6 : EVERY_MS);
}

setTimeout(refresh, EVERY_MS);
