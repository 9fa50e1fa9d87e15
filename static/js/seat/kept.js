// What the browser keeps for this seat: drafts for as long as the tab lives, wishes for good. One that keeps nothing works.

const token = location.pathname.split("/")[2];
const seat = token.split(".")[0]; // the same behind every link to it

function box(storage, prefix) {
  return {
    get(name) {
      try {
        return JSON.parse(storage().getItem(prefix + name));
      } catch {
        return null;
      }
    },
    set(name, value) {
      try {
        if (value === null) storage().removeItem(prefix + name);
        else storage().setItem(prefix + name, JSON.stringify(value));
      } catch {
        // then it lasts as long as the page
      }
    },
  };
}

export const drafts = box(() => sessionStorage, `seat-${seat}-`);
export const wishes = box(() => localStorage, "coffeebench-seat-");
export const base = `/seat/${token}/`;
export const socketPath = `/ws/seat/${token}/`;
