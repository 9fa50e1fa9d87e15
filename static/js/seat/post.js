// Asking the server. An action that gets no answer is sent again, with the same turn's number, until it is answered: the
// server answers the same action as the first time and never does it twice. It survives a reload in the outbox.

import { base, drafts } from "./kept.js";

const PATIENCE_MS = 15_000;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 5_000;

const csrf = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";

async function ask(path, options = {}) {
  const headers = { "X-Requested-With": "console", ...(options.body ? { "X-CSRFToken": csrf() } : {}) };
  const answer = await fetch(base + path, { ...options, headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  const isJson = answer.headers.get("Content-Type")?.startsWith("application/json");
  return { status: answer.status, data: isJson ? await answer.json() : null };
}

export const get = (path) => ask(path);

export const post = (path, values, options = {}) =>
  ask(path, { method: "POST", body: new URLSearchParams(values), ...options });

export async function getText(path) {
  const answer = await fetch(base + path, { headers: { "X-Requested-With": "console" }, cache: "no-store" });
  return answer.ok ? answer.text() : null;
}

// Posts until there is an answer. `onTrouble(attempts)` is told of each time there was none.
export async function deliver(path, values, onTrouble) {
  drafts.set("outbox", { path, values });
  for (let attempts = 1; ; attempts += 1) {
    const answer = await post(path, values).catch(() => null);
    if (answer && answer.status < 500) {
      drafts.set("outbox", null);
      return answer;
    }
    onTrouble(attempts);
    await new Promise((resolve) => setTimeout(resolve, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1))));
  }
}

export const undelivered = () => drafts.get("outbox");
