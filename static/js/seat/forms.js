// The forms: one for each tool, one of them open. What is typed is kept as a draft until it has been sent.

import { costLine } from "./cost.js";
import { drafts } from "./kept.js";
import { setText } from "../run/slots.js";

export class Forms {
  // `facts()` gives what the cost line needs; `onChange()` is told when another tool is opened or something is typed.
  constructor(rules, facts, onChange) {
    Object.assign(this, { rules, facts, onChange });
    this.cost = document.getElementById("cost");
    this.rationale = document.getElementById("rationale");
    this.problem = document.getElementById("form-problem");
    this.deed = document.querySelector('#send [data-slot="deed"]');
    this.tool = null;
    for (const form of document.querySelectorAll("[data-form]")) {
      this.restore(form);
      form.addEventListener("input", () => this.typed(form));
      form.addEventListener("submit", (event) => event.preventDefault());
    }
    this.rationale.value = drafts.get("rationale") ?? "";
    this.rationale.addEventListener("input", () => {
      drafts.set("rationale", this.rationale.value || null);
      this.clearProblem(this.rationale.closest(".field"));
    });
  }

  // The form that was open when the page was left, if any.
  begin() {
    const kept = drafts.get("tool");
    if (kept in this.rules.tools) this.open(kept, { focus: false });
    else this.update();
  }

  form(tool = this.tool) {
    return tool ? document.getElementById(`form-${tool}`) : null;
  }

  inputs(tool = this.tool) {
    return [...(this.form(tool)?.querySelectorAll("[name]") ?? [])];
  }

  // The values as text, by argument; of a box that is not ticked nothing.
  values(tool = this.tool) {
    return Object.fromEntries(this.inputs(tool).map((input) => [input.name.slice(4), textOf(input)]));
  }

  isDirty(tool) {
    return this.inputs(tool).some((input) => textOf(input) !== input.dataset.default);
  }

  dirtyTools() {
    return Object.keys(this.rules.tools).filter((tool) => this.isDirty(tool));
  }

  open(tool, { focus = true } = {}) {
    this.tool = tool;
    drafts.set("tool", tool);
    for (const form of document.querySelectorAll("[data-form]")) form.hidden = form.dataset.form !== tool;
    this.showGroup(this.rules.tools[tool].group);
    for (const button of document.querySelectorAll("[data-tool].tool")) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    }
    this.showChoices();
    this.update();
    if (focus) (this.inputs()[0] ?? document.getElementById("send")).focus();
  }

  showGroup(group) {
    for (const tab of document.querySelectorAll("[data-group]")) {
      const isShown = tab.dataset.group === group;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
    }
    for (const tools of document.querySelectorAll("[data-tools]")) tools.hidden = tools.dataset.tools !== group;
  }

  // Puts a former or suggested call into its form. Arguments it does not name get their defaults.
  fill(tool, values, rationale) {
    for (const input of this.inputs(tool)) {
      const name = input.name.slice(4);
      const value = name in values && values[name] !== null ? values[name] : input.dataset.default;
      if (input.type === "checkbox") input.checked = value === true || value === "true";
      else input.value = asTyped(input, value);
    }
    if (rationale) this.rationale.value = rationale;
    this.clearProblems();
    this.keep(tool);
    this.open(tool, { focus: false });
    const first = this.inputs().find((input) => input.getAttribute("aria-required") && !input.value) ?? this.inputs()[1];
    (first ?? document.getElementById("send")).focus();
    first?.select?.();
  }

  reset(tool) {
    for (const input of this.inputs(tool)) {
      if (input.type === "checkbox") input.checked = input.dataset.default === "true";
      else input.value = input.dataset.default;
    }
    this.keep(tool);
    this.clearProblems();
    this.update();
  }

  dropRationale() {
    this.rationale.value = "";
    drafts.set("rationale", null);
  }

  typed(form) {
    this.clearProblem(document.activeElement?.closest(".field"));
    this.problem.hidden = true;
    this.keep(form.dataset.form);
    this.update();
  }

  keep(tool) {
    drafts.set(`draft-${tool}`, this.isDirty(tool) ? this.values(tool) : null);
  }

  restore(form) {
    const kept = drafts.get(`draft-${form.dataset.form}`);
    for (const input of this.inputs(form.dataset.form)) {
      const value = kept?.[input.name.slice(4)] ?? input.dataset.default;
      if (input.type === "checkbox") input.checked = value === "true";
      else input.value = value;
    }
  }

  // The known listings, offers, invoices, messages, as choices of the fields that take one.
  showChoices() {
    const { known } = this.facts();
    for (const [name, field] of Object.entries(this.rules.tools[this.tool]?.fields ?? {})) {
      const list = document.getElementById(`${this.tool}-${name}-known`);
      if (!list || !field.list) continue;
      const options = Object.entries(known[field.list] ?? {}).map(([id, row]) => {
        const option = document.createElement("option");
        option.value = id;
        option.label = `${id} · ${row.label}`;
        return option;
      });
      list.replaceChildren(...options);
    }
  }

  update() {
    if (this.tool) {
      const line = costLine(this.tool, this.values(), this.facts());
      setText(this.cost, line.charAt(0).toUpperCase() + line.slice(1));
      setText(this.deed, this.deedText());
    }
    document.querySelector(".forms").classList.toggle("nothing-open", !this.tool);
    this.onChange();
  }

  // Roast 48 kg green coffee: the tool's sentence with what stands in the form, or its name while something is missing.
  deedText() {
    const { deed, title } = this.rules.tools[this.tool];
    let isWhole = true;
    const text = deed.replace(/{(\w+)}/g, (_, name) => {
      const input = this.form().querySelector(`[name="arg.${name}"]`);
      const value = input?.tagName === "SELECT" ? (input.value ? input.selectedOptions[0].text : "") : input?.value.trim();
      isWhole &&= Boolean(value);
      return (value ?? "").slice(0, 30);
    });
    return isWhole ? text : title;
  }

  // What the server found wrong, each beside its field.
  showProblems(problems) {
    this.clearProblems();
    const left = [];
    for (const [name, text] of Object.entries(problems)) {
      const field = document.querySelector(
        name === "rationale" ? '.send [data-field="rationale"]' : `#form-${this.tool} [data-field="${CSS.escape(name)}"]`,
      );
      if (!field) left.push(text);
      else this.showProblem(field, text);
    }
    if (left.length) this.showTrouble(left.join(" "));
    document.querySelector(".field-wrong :is(input, select, textarea)")?.focus();
  }

  showProblem(field, text) {
    field.classList.add("field-wrong");
    field.querySelector(":is(input, select, textarea)").setAttribute("aria-invalid", "true");
    const label = field.querySelector("label").firstChild.textContent.trim();
    const wrong = field.querySelector(".wrong");
    setText(wrong, /^(is|must|choose)/.test(text) ? `${label || "This"} ${text.replace(/^choose/, "must be chosen:")}` : text);
    wrong.hidden = false;
  }

  showTrouble(text) {
    setText(this.problem, text);
    this.problem.hidden = !text;
  }

  clearProblems() {
    for (const field of document.querySelectorAll(".field-wrong")) this.clearProblem(field);
    this.showTrouble("");
  }

  clearProblem(field) {
    if (!field?.classList.contains("field-wrong")) return;
    field.classList.remove("field-wrong");
    field.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
    field.querySelector(".wrong").hidden = true;
  }
}

// A price as people write it: to the cent, or to the hundredth of a cent where it has one.
const asTyped = ({ dataset }, value) =>
  dataset.kind === "price" && typeof value === "number" ? value.toFixed(Number(value.toFixed(2)) === value ? 2 : 4) : String(value);

const textOf = (input) => (input.type === "checkbox" ? (input.checked ? "true" : "") : input.value);
