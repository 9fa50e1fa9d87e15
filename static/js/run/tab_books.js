// The tab Firm: a number that was clicked leads to its transfers, further down on the page.

let goesTo = "";

export function opened(panel) {
  panel.addEventListener("click", remember);
}

function remember(event) {
  goesTo = event.target.closest("a[data-asks]")?.hash ?? "";
}

export function updated(panel) {
  const place = goesTo && panel.querySelector(goesTo);
  goesTo = "";
  if (!place) return;
  place.scrollIntoView({ block: "start" });
  const title = place.querySelector("h3");
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
}

export function closed(panel) {
  panel.removeEventListener("click", remember);
}
