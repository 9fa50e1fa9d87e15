// Opening the page afresh, when that is quicker than catching up; not again and again, should the server think so twice.

const KEY = "coffeebench-reloaded-at";
const REST_MS = 15_000;

export function reloadSoon() {
  const rested = Number(sessionStorage.getItem(KEY) ?? 0) + REST_MS - Date.now();
  setTimeout(
    () => {
      sessionStorage.setItem(KEY, Date.now());
      location.reload();
    },
    Math.max(0, rested),
  );
}
