// Elements, requests and number formats that all pages share.

/** Creates an element: h("p", { class: "note" }, "text", child, ...). Functions are event listeners. */
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

/** Sends a request to the server. Throws an Error with the server's message if it is rejected. */
export async function post(name, request, signal) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not respond. Is `smtlayer demo` still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { busy: response.status === 503 });
  return answer;
}

/**
 * Returns a debounced `post`: it waits for a pause in the input, shows only the answer to the latest
 * request, and shows errors in `panel`. Its `cancel` drops a request that has not been answered.
 */
export function debouncedPost(name, panel, show, wait = 150) {
  let timer, controller;
  function setBusy(busy) {
    panel.classList.toggle("waiting", busy);
    if (busy) panel.setAttribute("aria-busy", "true");
    else panel.removeAttribute("aria-busy");
  }
  function cancel() {
    clearTimeout(timer);
    controller?.abort();
    setBusy(false);
  }
  function send(makeRequest) {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      controller?.abort();
      const { signal } = (controller = new AbortController());
      setBusy(true);
      try {
        show(await post(name, makeRequest(), signal));
      } catch (error) {
        if (error.name === "AbortError") return;
        panel.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
      }
      setBusy(false);
    }, wait);
  }
  return Object.assign(send, { cancel });
}

const RETRY_MS = 500;

/**
 * Returns a `post` for input that changes all the time. One request is under way at most: it is not
 * cancelled, because the server would go on with it. The next one has the newest input.
 */
export function livePost(name, panel, show) {
  let next = null, sending = false;
  async function sendAll() {
    while (next) {
      const request = next;
      next = null;
      try {
        show(await post(name, request), request);
      } catch (error) {
        if (!next) panel.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
        if (!error.busy) continue;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        next ??= request;
      }
    }
  }
  return async function send(request) {
    next = request;
    if (sending) return;
    sending = true;
    panel.setAttribute("aria-busy", "true");
    await sendAll();
    sending = false;
    panel.removeAttribute("aria-busy");
  };
}

export const sigmoid = (logit) => 1 / (1 + Math.exp(-logit));

/** Formats a probability. Less than certain is never rounded to 100 %. */
export function percent(probability) {
  const value = 100 * probability;
  return value > 99.5 ? "> 99 %" : `${Math.round(value)} %`;
}

export const rounded = (value) => (value < 0.095 ? value.toPrecision(1) : value.toFixed(1));

export function milliseconds(value) {
  return value < 10 ? `${value.toFixed(1)} ms` : value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

export const tag = (kind, text) => h("span", { class: `tag ${kind}` }, text);

export const list = (items) => h("ul", { class: "plain-list" }, items.map((item) => h("li", {}, item)));

/** "a", "a and b", "a, b and c". */
export const joined = (words) => new Intl.ListFormat("en-GB").format(words.map(String));

/** Describes the network of a page, and the handwritten digits that the page offers. */
export function source(run, images) {
  const accuracy = run.scores.representation;
  return `Network: ${run.folder}${run.data ? `, trained on ${run.data}` : ""}.` +
    (accuracy === undefined ? "" : ` Symbol accuracy on the test set: ${(100 * accuracy).toFixed(1)} %.`) +
    (images ? ` Handwritten digits: test set of ${images}.` : "");
}
