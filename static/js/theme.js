// The theme: what the system says, unless the visitor chose. Loaded before the page is drawn, so that nothing flashes.
(() => {
  const KEY = "coffeebench-theme";
  const NAMES = { auto: "follows the system", light: "light", dark: "dark" };
  const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

  const kept = () => {
    try {
      return localStorage.getItem(KEY) in NAMES ? localStorage.getItem(KEY) : "auto";
    } catch {
      return "auto"; // a browser that keeps nothing
    }
  };
  const keep = (theme) => {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // then it lasts as long as the page
    }
  };
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new Event("themechange"));
  };
  const label = (button, theme) => {
    button.setAttribute("aria-label", `Theme: ${NAMES[theme]}`);
    button.title = `Theme: ${NAMES[theme]}`;
    button.firstElementChild.textContent = SIGNS[theme];
  };

  apply(kept());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(kept()));
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    label(button, kept());
    button.addEventListener("click", () => {
      const themes = Object.keys(NAMES);
      const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
      keep(next);
      apply(next);
      label(button, next);
    });
  });
})();
