// Typed requirements: sliders for the logits, and what the layer computes from them.
import { find, h, joined, list, livePost, milliseconds, rounded, sigmoid, tag } from "/static/ui.js";
import { REQUIREMENTS } from "/static/examples.js";

const TYPING_MS = 250;
const LOGITS = { min: "-5", max: "5", step: "0.1" };

export async function startRequirements(about) {
  const text = find("requirements-text"), example = find("requirements-example");
  const panel = find("requirements-columns"), answers = find("requirements-answer"), listing = find("requirements-program");
  const source = find("requirements-source");
  const state = { logits: {}, given: new Set(), symbols: "", rows: null, shown: "" };
  const { limits } = about;
  find("requirements-limits").textContent = `At most ${limits.text.toLocaleString("en")} characters, ${limits.columns} columns, ${limits.seconds}\u00a0s and ` +
    `${limits.memory_mb}\u00a0MB. Solved in a separate process that cannot access files. The text is never executed.`;

  const send = livePost("requirements", answers, (answer, request) => {
    if (request.text !== text.value) return; // a newer text is on its way
    const symbols = JSON.stringify(answer.symbols);
    if (state.symbols !== symbols) state.rows = drawColumns(panel, answer.symbols, state, update);
    state.symbols = symbols;
    panel.classList.remove("waiting");
    state.rows.show(answer);
    const shown = JSON.stringify([answer.repair, answer.core]);
    if (state.shown !== shown || answers.querySelector(".error")) showAnswers(answers, answer);
    state.shown = shown;
    source.textContent = sourceOf(answer);
    listing.textContent = answer.program;
  });
  const request = () => ({ text: text.value, logits: { ...state.logits }, given: [...state.given] });
  const update = () => send(request());
  let typing;
  function edited() {
    panel.classList.add("waiting");
    clearTimeout(typing);
    typing = setTimeout(update, TYPING_MS);
  }
  function choose() {
    const chosen = REQUIREMENTS[example.value];
    text.value = chosen.text;
    Object.assign(state, { logits: { ...chosen.logits }, given: new Set(chosen.given), symbols: "" });
    clearTimeout(typing);
    update();
  }
  example.append(...Object.keys(REQUIREMENTS).map((name) => h("option", {}, name)));
  example.addEventListener("change", choose);
  text.addEventListener("input", edited);
  find("requirements-zero").addEventListener("click", () => {
    Object.assign(state, { logits: {}, given: new Set(), symbols: "" });
    update();
  });
  find("requirements-copy").addEventListener("click", () => copy(listing, find("requirements-copied")));
  choose();
}

/** Draws one row per column. Returns `show`, which fills in an answer. */
function drawColumns(panel, symbols, state, update) {
  const rows = new Map();
  const groups = symbols.map((symbol) => {
    const own = symbol.columns.map((column) => row(symbol, column, state, changed));
    for (const one of own) rows.set(one.column, one);
    const changedRead = () => read(symbol, state).forEach((probability, i) => own[i].showRead(probability));
    function changed() {
      changedRead();
      update();
    }
    if (symbol.is_input) changedRead();
    const several = symbol.columns.length > 1;
    return { symbol, element: h("div", { class: several ? "symbol" : "symbol single" }, several ? h("h3", { class: "mono" }, symbol.name) : null, own.map((one) => one.element)) };
  });
  const elements = (isInput) => groups.filter(({ symbol }) => symbol.is_input === isInput).map(({ element }) => element);
  const heads = h("div", { class: "knob heads", "aria-hidden": "true" },
    ["", "logit", "", "", "read", "given the requirements"].map((word) => h("span", {}, word)));
  const outputs = elements(false);
  panel.replaceChildren(heads, ...elements(true), ...(outputs.length ? [h("h2", {}, "Outputs, which the network does not set"), ...outputs] : []));
  return { show: (answer) => showColumns(rows, answer) };
}

/** The probabilities that logits give to the columns of a symbol, before the requirements are considered. */
function read(symbol, state) {
  const logits = symbol.columns.map((column) => state.logits[column] ?? 0);
  if (logits.length === 1) return state.given.has(symbol.name) && logits[0] ? [logits[0] > 0 ? 1 : 0] : [sigmoid(logits[0])];
  const weights = logits.map((logit) => Math.exp(logit - Math.max(...logits)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** A row: the name, the slider with its logit, whether it is a fact, and two probabilities. */
function row(symbol, column, state, changed) {
  const single = symbol.columns.length === 1;
  const name = h("span", { class: "name mono", title: column }, single ? column : column.slice(symbol.name.length + 1));
  const logit = h("span", { class: "logit" }), before = h("span", { class: "percent" });
  const bar = h("i", {}), tick = h("u", { hidden: !symbol.is_input }), after = h("b", {}), marks = h("span", { class: "marks" });
  const chance = h("span", { class: "chance" }, h("span", { class: "track" }, bar, tick), after);
  const slider = symbol.is_input ? h("input", { type: "range", ...LOGITS, "aria-label": `Logit of ${column}` }) : h("span", {});
  const fact = single && symbol.is_input ? h("input", { type: "checkbox", "aria-label": `${column} is a fact` }) : null;
  const one = {
    column,
    element: h("div", { class: symbol.is_input ? "knob" : "knob output", "data-column": column }, name, slider, logit, fact ? h("label", { class: "fact" }, fact, "fact") : h("span", {}), before, chance, marks),
    showRead(probability) {
      logit.textContent = signed(Number(slider.value));
      before.textContent = share(probability);
      tick.style.left = `${100 * probability}%`;
      one.read = probability;
    },
    showAnswer(probability, words) {
      chance.hidden = probability === null;
      if (probability !== null) {
        bar.style.width = `${100 * probability}%`;
        after.textContent = share(probability);
      }
      marks.replaceChildren(...words.map(([kind, word]) => tag(kind, word)));
      if (!symbol.is_input) return;
      const given = probability === null ? [] : [`${share(probability)} given the requirements`];
      slider.setAttribute("aria-valuetext", [`${signed(Number(slider.value))}, read ${share(one.read)}`, ...given, ...words.map(([, word]) => word)].join(", "));
    },
  };
  if (symbol.is_input) {
    slider.value = String(state.logits[column] ?? 0);
    slider.addEventListener("input", () => {
      state.logits[column] = Number(slider.value);
      changed();
    });
  }
  if (fact) {
    fact.checked = state.given.has(column);
    fact.addEventListener("change", () => {
      if (fact.checked) state.given.add(column);
      else state.given.delete(column);
      changed();
    });
  }
  return one;
}

function showColumns(rows, { probabilities, repair, core }) {
  const words = new Map([...rows.keys()].map((column) => [column, []]));
  const mark = (name, value, kind, word) => words.get(typeof value === "boolean" ? name : `${name}=${value}`)?.push([kind, word]);
  for (const { name, read, taken } of repair.overruled) {
    mark(name, read, "over", "overruled");
    if (typeof taken !== "boolean") mark(name, taken, "fits", "taken");
  }
  for (const { name, value } of core ? [...core.inputs, ...core.given] : []) mark(name, value, "core", "conflict");
  for (const [column, one] of rows) one.showAnswer(probabilities ? probabilities[column] : null, words.get(column));
}

function showAnswers(panel, { repair, core }) {
  panel.replaceChildren(h("h2", {}, "Repair"), ...repaired(repair), ...(core ? conflict(core) : []));
}

function sourceOf({ all_hold: certain, backend, ms }) {
  const chance = certain === null ? "There are too many models for exact probabilities." : `With these logits alone, all requirements hold with probability ${share(certain)}.`;
  return `${chance} Solved by ${backend} in ${milliseconds(ms)}.`;
}

function repaired({ status, overruled, cost, proved }) {
  if (status === "fits") return [h("p", {}, tag("fits", "nothing overruled"), " The logits satisfy all requirements.")];
  if (status === "contradicts") return [h("p", {}, tag("core", "none"), " The facts break a requirement, and facts are never overruled.")];
  if (status === "unknown") return [h("p", {}, tag("quiet", "unknown"), " The solver found no answer in time.")];
  const change = ({ name, read, taken, cost: own }) => h("li", { class: "chip overruled" }, h("span", { class: "mono" }, name), `${read === null ? "" : ` ${read}`} → ${taken} `, h("small", {}, rounded(own)));
  return [h("p", {}, tag("over", "overruled"), ` at a cost of ${rounded(cost)}, the least ${proved ? "possible" : "found in time"}:`),
    h("ul", { class: "chips" }, overruled.map(change))];
}

function conflict({ inputs, given, requirements, minimal }) {
  const equation = ({ name, value }) => (value === true ? name : value === false ? `not ${name}` : `${name} = ${value}`);
  const sides = [...inputs.map(equation), ...given.map((part) => `${equation(part)} (fact)`)];
  return [
    h("p", {}, tag("core", "conflict"), ` ${joined(sides)} ${sides.length > 1 ? "together break" : "breaks"}${minimal ? "" : " some of"}:`),
    list(requirements.map((line) => h("code", {}, line))),
  ];
}

const signed = (logit) => `${logit > 0 ? "+" : logit < 0 ? "−" : ""}${Math.abs(logit).toFixed(1)}`;

/** A probability as text; only what is certain is 0 % or 100 %. */
function share(probability) {
  const rounding = 1e-6; // of 32-bit numbers
  if (probability < rounding) return "0 %";
  if (probability > 1 - rounding) return "100 %";
  if (probability < 0.001) return "< 0.1 %";
  if (probability < 0.005) return `${(100 * probability).toPrecision(1)} %`;
  return probability > 0.995 ? "> 99 %" : `${Math.round(100 * probability)} %`;
}

/** Copies the program. Without access to the clipboard, as on other hosts, it selects the text and tries the older way. */
async function copy(listing, status) {
  let done = true;
  try {
    await navigator.clipboard.writeText(listing.textContent);
  } catch {
    listing.closest("details").open = true;
    getSelection().selectAllChildren(listing);
    done = document.execCommand("copy");
  }
  status.textContent = done ? "Copied." : "Press Ctrl-C to copy the selected text.";
  setTimeout(() => (status.textContent = ""), 4000);
}
