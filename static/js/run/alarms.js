// What the page asks about alarms, whichever tab is open: how many stand beside the name of the tab Behaviour, and what
// the cards of a past day said.

const OPEN_MS = 1500; // first of all the page opens
const SETTLE_MS = 400; // a slider that is still moving asks nothing
const REST_MS = 10_000; // evenings that pass faster are looked at together

export class Alarms {
  constructor(look, run, { cards, tabs }) {
    Object.assign(this, { look, run, cards, tabs });
    look.addEventListener("change", ({ detail }) => (detail.day || detail.as) && this.askIn(SETTLE_MS));
    document.addEventListener("visibilitychange", () => this.isDue && this.askIn(SETTLE_MS));
    this.askIn(OPEN_MS);
  }

  // An evening has passed.
  update() {
    if (this.look.isLive) this.timer ??= setTimeout(() => this.ask(), REST_MS);
  }

  askIn(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), ms);
  }

  async ask() {
    this.timer = null;
    this.isDue = document.hidden;
    if (this.isDue) return;
    const { day, as } = this.look;
    const query = new URLSearchParams({ day: day ?? "", as });
    const answer = await fetch(`/runs/${this.run}/alarms.json?${query}`, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer?.ok || day !== this.look.day || as !== this.look.as) return;
    const { count, firms } = await answer.json();
    this.tabs.countAlarms(String(count), "behaviour");
    if (day !== null) this.cards.showAlarms(day, firms);
  }
}
