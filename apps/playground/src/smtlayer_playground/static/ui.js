// What all pages share: making elements, asking the server, numbers for people.

/** An element: h("p", { class: "note" }, "text", child, ...); functions are listeners. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const find = (id) => document.getElementById(id);

/** Asks the server; what it refuses is an Error with its words. */
export async function ask(name, question, signal) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is `smtlayer demo` still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/**
 * Asks again whenever something changes: waits a moment, lets only the last question count, and
 * shows errors in the place of the answer. Its `cancel` drops a question that has no answer yet.
 */
export function asker(name, place, show, wait = 150) {
  let timer, running;
  function cancel() {
    clearTimeout(timer);
    running?.abort();
    place.classList.remove("waiting");
    place.removeAttribute("aria-busy");
  }
  function send(question) {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      running?.abort();
      const own = (running = new AbortController());
      place.classList.add("waiting");
      place.setAttribute("aria-busy", "true");
      try {
        show(await ask(name, question(), own.signal));
      } catch (error) {
        if (error.name === "AbortError") return;
        place.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
      }
      place.classList.remove("waiting");
      place.removeAttribute("aria-busy");
    }, wait);
  }
  return Object.assign(send, { cancel });
}

/** The probability that a logit stands for, of being true. */
export const chance = (logit) => 1 / (1 + Math.exp(-logit));

/** A share as people read it; certainty is never rounded up to all. */
export function percent(share) {
  const value = 100 * share;
  return value > 99.5 ? "> 99 %" : `${Math.round(value)} %`;
}

export const rounded = (value) => (value < 0.095 ? value.toPrecision(1) : value.toFixed(1));

export function milliseconds(value) {
  return value < 10 ? `${value.toFixed(1)} ms` : value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

export const tag = (kind, text) => h("span", { class: `tag ${kind}` }, text);

export const list = (items) => h("ul", { class: "plain-list" }, items.map((item) => h("li", {}, item)));

/** "a", "a and b", "a, b and c". */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Where the network of a page comes from. */
export function source(run, images) {
  const read = run.scores.representation;
  const told = read === undefined ? "" : ` It reads ${(100 * read).toFixed(1)} % of test symbols right.`;
  return `Network: ${run.folder}${run.data ? `, trained on ${run.data}` : ""}.${told}` +
    (images ? ` Offered digits: test images of ${images}.` : "");
}
