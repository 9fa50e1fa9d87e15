// Parts of a tab that go on while the run is watched: `data-live="rows"`, whose new rows come in on top while the list
// is at its top and otherwise wait, counted on a button; and `data-live="replace"`, whose content is replaced.

const MOST_ROWS = 500;

export function liveRows(panel) {
  const parts = [...panel.querySelectorAll("[data-live]")].map((element) => partOf(element));
  const stop = () => parts.forEach((part) => part.stop?.());
  stop.take = (fresh) => {
    for (const part of parts) {
      const { id } = part.element;
      const twin = id ? fresh.querySelector(`#${CSS.escape(id)}`) : fresh.querySelector("[data-live]:not([id])");
      if (twin) part.take(twin);
    }
  };
  return stop;
}

// Puts rows on top of a list by scrolling to them: the browser, which anchors what is there unless the box is at its
// very top, takes nothing in the page for having jumped. A list without a box of its own just grows.
export function scrolledIn(box, prepend) {
  if (!box) return prepend();
  box.scrollTop = 1;
  prepend();
  box.getBoundingClientRect(); // makes the browser lay it out, and anchor
  box.scrollTop = 0;
}

const partOf = (element) => (element.dataset.live === "rows" ? new Rows(element) : new Content(element));

class Content {
  constructor(element) {
    this.element = element;
  }

  take(twin) {
    if (this.element.innerHTML === twin.innerHTML) return;
    if (this.element.contains(document.activeElement)) return; // at the next look, when nobody is in it
    this.element.replaceChildren(...twin.childNodes);
    window.htmx.process(this.element);
  }
}

class Rows {
  constructor(element) {
    this.element = element;
    this.waiting = [];
    this.box = element.closest(".scroll") ?? null;
    this.button = Object.assign(document.createElement("button"), { type: "button", className: "button small rows-new", hidden: true });
    this.button.addEventListener("click", () => this.toTop());
    (element.closest("table") ?? element).before(this.button);
    this.onScroll = () => this.isAtTop() && this.release();
    (this.box ?? window).addEventListener("scroll", this.onScroll, { passive: true });
    element.addEventListener("pointerleave", this.onScroll);
  }

  stop() {
    (this.box ?? window).removeEventListener("scroll", this.onScroll);
  }

  // New rows are those above the first one that is known; a known row whose content has changed is replaced.
  take(twin) {
    const known = new Map([...this.waiting, ...this.element.children].map((row) => [row.dataset.key, row]));
    const fresh = [...twin.children].filter((row) => row.dataset.key);
    for (const row of fresh) {
      const old = known.get(row.dataset.key);
      if (old && old.innerHTML !== row.innerHTML && !old.contains(document.activeElement)) {
        old.replaceChildren(...row.cloneNode(true).childNodes);
        for (const { name, value } of row.attributes) old.setAttribute(name, value);
      }
    }
    // So much is new that nothing known is among it: what was there would stand below a gap, and goes.
    this.isGap ||= known.size > 0 && fresh.length > 0 && !fresh.some((row) => known.has(row.dataset.key));
    this.waiting = [...fresh.filter((row) => !known.has(row.dataset.key)), ...(this.isGap ? [] : this.waiting)];
    if (this.isAtTop()) this.release();
    else this.count();
  }

  isAtTop() {
    if (this.element.querySelector("details[open]") || this.element.matches(":hover")) return false;
    if (this.box) return this.box.scrollTop < 4;
    return this.element.getBoundingClientRect().top > 0;
  }

  toTop() {
    for (const open of this.element.querySelectorAll("details[open]")) open.open = false;
    if (this.box) this.box.scrollTop = 0;
    this.release();
  }

  count() {
    this.button.hidden = !this.waiting.length;
    this.button.textContent = `${this.waiting.length} new`;
  }

  release() {
    if (!this.waiting.length) return;
    const empty = this.element.querySelector(":scope > [data-empty]");
    empty?.remove();
    if (this.isGap) this.element.replaceChildren();
    this.isGap = false;
    scrolledIn(this.box, () => this.element.prepend(...this.waiting));
    window.htmx.process(this.element);
    this.waiting = [];
    const rows = [...this.element.children].filter((row) => row.dataset.key);
    for (const row of rows.slice(MOST_ROWS)) row.remove();
    this.count();
  }
}
