// Earlier days of the seat: each is fetched when it is unfolded.

import { getText } from "./post.js";

export function fetchUnfoldedDays() {
  document.addEventListener(
    "toggle",
    async (event) => {
      const { dataset, open } = event.target;
      if (!open || !dataset.day || "loaded" in dataset) return;
      const calls = await getText(`days/${dataset.day}/`).catch(() => null);
      if (calls === null) return;
      event.target.querySelector("ol").innerHTML = calls; // rendered and escaped by the server
      dataset.loaded = "";
    },
    true,
  );
}
