// What the page shows: which tab, the run as of which day, as which firm knew it, and the tab's own questions. The
// page's address always says the same, so that a link opens what was looked at.

const SHARED = ["firm"]; // a question that means the same in every tab
const WRITE_MS = 300; // browsers refuse an address that changes many times a second

const dayIn = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

export class Look extends EventTarget {
  constructor(tabs) {
    super();
    this.tabs = tabs;
    this.read();
    addEventListener("popstate", () => {
      clearTimeout(this.timer);
      this.timer = null;
      this.read();
      this.dispatchEvent(new CustomEvent("change", { detail: { tab: true, day: true, as: true, asked: true } }));
    });
    addEventListener("pagehide", () => this.write());
  }

  read() {
    const asked = new URLSearchParams(location.search);
    this.tab = this.tabs.includes(asked.get("tab")) ? asked.get("tab") : this.tabs[0];
    this.day = dayIn(asked.get("day"));
    this.as = asked.get("as") ?? "";
    for (const name of ["tab", "day", "as"]) asked.delete(name);
    this.asked = asked;
  }

  get isLive() {
    return this.day === null;
  }

  // Changes some of it. A new tab is a new place in the browser's history; all else only corrects the address.
  change(changes) {
    const asked = changes.asked ?? this.asked;
    const detail = {
      tab: "tab" in changes && changes.tab !== this.tab,
      day: "day" in changes && changes.day !== this.day,
      as: "as" in changes && changes.as !== this.as,
      asked: asked.toString() !== this.asked.toString(),
    };
    if (!Object.values(detail).some(Boolean)) return;
    if (detail.tab) this.write();
    Object.assign(this, changes);
    if (detail.tab && !changes.asked) this.asked = this.keptFor();
    if (detail.tab) history.pushState(null, "", this.address());
    else this.timer ??= setTimeout(() => this.write(), WRITE_MS);
    this.dispatchEvent(new CustomEvent("change", { detail }));
  }

  keptFor() {
    return new URLSearchParams(SHARED.filter((name) => this.asked.has(name)).map((name) => [name, this.asked.get(name)]));
  }

  // A form or a link of a tab asks for something: empty answers are left out.
  ask(entries) {
    const asked = new URLSearchParams(this.asked);
    for (const name of new Set([...entries].map(([name]) => name))) asked.delete(name);
    for (const [name, value] of entries) if (value !== "") asked.append(name, value);
    this.change({ asked });
  }

  // A link within the page: everything it says, and nothing else.
  go(query) {
    const asked = new URLSearchParams(query);
    const [tab, day, as] = ["tab", "day", "as"].map((name) => asked.get(name));
    for (const name of ["tab", "day", "as"]) asked.delete(name);
    this.change({ tab: this.tabs.includes(tab) ? tab : this.tab, day: dayIn(day), as: as ?? "", asked });
  }

  write() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    history.replaceState(null, "", this.address());
  }

  address() {
    const query = this.query();
    if (this.tab !== this.tabs[0] || query.size) query.set("tab", this.tab);
    return query.size ? `?${query}` : location.pathname;
  }

  // What a tab's tables are fetched with.
  query() {
    const query = new URLSearchParams();
    if (this.day !== null) query.set("day", this.day);
    if (this.as) query.set("as", this.as);
    for (const [name, value] of this.asked) query.append(name, value);
    return query;
  }

  // What a tab's figures are fetched with: those of all days, whichever is shown.
  figuresQuery() {
    const query = this.query();
    query.delete("day");
    return query;
  }
}
