// The keyboard: letters and digits where nobody is typing, Ctrl+Enter anywhere.

const TYPING = "input:not([type=checkbox]), textarea, select";

export class Keys {
  // `deeds`: send, enqueue, wait, repeat, queue, open(dialog), tool(name), group(number), rows(column id).
  constructor(rules, deeds) {
    this.deeds = deeds;
    this.tools = Object.fromEntries(Object.entries(rules.tools).map(([name, tool]) => [tool.key, name]));
    addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    const done = this.held(event) || this.anywhere(event) || (!event.ctrlKey && !event.metaKey && !event.altKey && this.here(event));
    if (done) event.preventDefault();
  }

  // A key held down is one deed; the browser would click the button again, or the one that has come in its place.
  held({ target, key, repeat }) {
    return repeat && key === "Enter" && Boolean(target.closest?.("button"));
  }

  anywhere(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return false;
    if (!event.repeat) (event.shiftKey ? this.deeds.enqueue : this.deeds.send)();
    return true;
  }

  here(event) {
    const { target, key } = event;
    if (target.closest?.(TYPING)) return this.typing(event);
    if (key === "ArrowDown" || key === "ArrowUp") return this.step(target, key === "ArrowDown" ? 1 : -1);
    if (key === "ArrowRight" || key === "ArrowLeft") return this.besides(target, key === "ArrowRight" ? 1 : -1);
    if (event.repeat) return false; // a key held down is one deed
    if (/^[1-6]$/.test(key)) return this.deeds.group(Number(key));
    const deed = {
      w: () => this.deeds.wait(),
      r: () => this.deeds.repeat(),
      q: () => this.deeds.queue(),
      n: () => this.deeds.open("notes"),
      h: () => this.deeds.open("keys"),
      "?": () => this.deeds.open("briefing"),
      ",": () => this.deeds.rows("know-column"),
      ".": () => this.deeds.rows("did-column"),
    }[key];
    if (deed) deed();
    else if (key in this.tools && key) this.deeds.tool(this.tools[key]);
    else return false;
    return true;
  }

  typing(event) {
    const { target, key } = event;
    if (key === "Escape") {
      document.getElementById("do-column").focus({ preventScroll: true });
      return true;
    }
    if (key !== "Enter" || event.shiftKey || target.tagName === "TEXTAREA") return false;
    if (!target.closest("[data-form]") || event.repeat) return false;
    this.deeds.send();
    return true;
  }

  // Up and down through the buttons of a column's rows.
  step(target, by) {
    const column = target.closest("#know-column, #did-column");
    if (!column) return false;
    const stops = [...column.querySelectorAll("button, summary")].filter((one) => one.checkVisibility());
    const next = stops[stops.indexOf(target) + by];
    next?.focus();
    return Boolean(next);
  }

  // Left and right through groups and tools.
  besides(target, by) {
    const bar = target.closest(".groups, .tools");
    if (!bar) return false;
    const stops = [...bar.querySelectorAll("button")];
    const next = stops[(stops.indexOf(target) + by + stops.length) % stops.length];
    next.focus();
    if (next.dataset.group) next.click();
    next.focus();
    return true;
  }
}
